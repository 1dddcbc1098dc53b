"""Quantities of samples, cycles and reports: those of poses and loads, and those derived of them.

`quantity_of` finds a quantity by the name of a column, `OutputGroup` by the outputs of a regressor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foundation.base.loads import LOAD_COLUMNS
from foundation.base.quantities import QUANTITIES, Quantity

#: Columns of a contact that a study of gait cycles and wear need.
FOR_WEAR = frozenset({"area_m2", "peak_pressure_Pa", "mean_pressure_Pa", "cop_x_m"})
#: Quantities that stand in tables beside poses and loads, by the stem of their column.
OTHERS = {
    row[0]: Quantity(row[0], "", *row[1:3], row[3], row[4], 3, row[5])
    for row in (
        ("axial_force", "N", "N", 1.0, "axial force",
         "axial force, pressing the femur onto the tibia"),
        ("ap_force", "N", "N", 1.0, "AP force on the tibia",
         "AP force on the tibia, anterior positive"),
        ("internal_torque", "N·m", "N·mm", 1e3, "internal torque",
         "internal torque on the tibia"),
        ("adduction_torque", "N·m", "N·m", 1.0, "adduction torque",
         "adduction torque on the tibia, loads the medial compartment"),
        ("load", "N", "N", 1.0, "axial load", "axial load drawn for the compartment"),
        ("energy", "J", "J", 1.0, "energy", "energy stored in the compartment"),
        ("time", "s", "s", 1.0, "time", "time in the cycle"),
        ("gait", "%", "%", 1.0, "gait cycle", "part of the gait cycle"),
    )
}  # fmt: skip


def _derived(name: str, label: str, unit: str, factor: float) -> Quantity:
    """Return a quantity of error tables alone."""
    return Quantity(name, "", "", unit, factor, label, 3)


_HEIGHT = _derived("height", "height", "µm", 1e6)
_RATIOS = (
    _derived("force_x_over_axial", "AP force over axial force", "%", 100.0),
    _derived("force_z_over_axial", "ML force over axial force", "%", 100.0),
    *(
        _derived(f"moment_{axis}_over_axial", f"moment {axis} over axial force", "mm", 1e3)
        for axis in "xyz"
    ),
)
#: Quantities of the error tables by column; the superior position is the height of a compartment.
ERRORS = {
    "superior_m": _HEIGHT,
    **{column: QUANTITIES[column] for column in LOAD_COLUMNS},
    **{ratio.name: ratio for ratio in _RATIOS[:2]},
    "cop_distance_m": _derived("cop_distance", "centre of pressure, distance", "mm", 1e3),
}
#: Outputs of a formulation by the name of their group, as cross-validation lists them.
OUTPUTS = {
    "height": (_HEIGHT,),
    "ratios": _RATIOS,
    # Area and pressures are learnt over a power of the load's root, which is 1 at the largest load.
    "quantities": tuple(QUANTITIES[column] for column in LOAD_COLUMNS[6:]),
    "loads": tuple(QUANTITIES[column] for column in LOAD_COLUMNS),
}


def quantity_of(column: str) -> Quantity:
    """Return the quantity of a column such as "anterior_m" or "medial_force_y_N".

    The label of a compartment's quantity begins with the compartment. Raises `KeyError` if the
    column is no column of poses, loads or simulator inputs.
    """
    if column in QUANTITIES:
        return QUANTITIES[column]
    if column.startswith("input_"):
        return OTHERS[column.removeprefix("input_").rpartition("_")[0]]
    # A name of a compartment may contain underscores, as the columns of loads do.
    rest = next((name for name in LOAD_COLUMNS if column.endswith(f"_{name}")), column)
    quantity, part = QUANTITIES[rest], column.removesuffix(f"_{rest}")
    if part == "total":
        return quantity
    return replace(quantity, label=f"{part} {quantity.label}")


def axis_label(quantity: Quantity) -> str:
    """Return the label of an axis, such as "contact area [mm²]"."""
    return f"{quantity.label} [{quantity.unit_for_people}]"


@dataclass(frozen=True)
class OutputGroup:
    """Outputs of a formulation that were fitted together, and how they were cross-validated."""

    #: Groups of `OUTPUTS`.
    names: tuple[str, ...]
    #: Kind of the cross-validation, "" for that of the fit.
    kind: str = ""

    @classmethod
    def read(cls, key: str) -> OutputGroup:
        """Return the group of a key of `validation.json`, such as "height+ratios, 5 folds"."""
        names, _, kind = key.partition(", ")
        return cls(tuple(names.split("+")), kind)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Quantities of the outputs; raises `KeyError` if a group is not in `OUTPUTS`."""
        return tuple(quantity for name in self.names for quantity in OUTPUTS[name])
