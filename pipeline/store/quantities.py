"""The catalogue of quantities of samples, cycles and reports, and the units for people."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from foundation.base.loads import LOAD_COLUMNS
from foundation.base.quantities import QUANTITIES, Quantity

#: Columns of a contact that a study of gait cycles and wear need.
FOR_WEAR = frozenset({"area_m2", "peak_pressure_Pa", "mean_pressure_Pa", "cop_x_m"})
#: Quantities that stand in tables beside poses and loads, by the stem of their column.
OTHERS = {
    row[0]: Quantity(row[0], "", *row[1:], 3)
    for row in (
        ("axial_force", "N", "N", 1.0, "axial force"),
        ("ap_force", "N", "N", 1.0, "AP force on the tibia"),
        ("internal_torque", "N·m", "N·mm", 1e3, "internal torque"),
        ("adduction_torque", "N·m", "N·m", 1.0, "adduction torque"),
        ("load", "N", "N", 1.0, "axial load"),
        ("energy", "J", "J", 1.0, "energy"),
        ("time", "s", "s", 1.0, "time"),
        ("gait", "%", "%", 1.0, "gait cycle"),
    )
}
#: Quantities of error tables alone by column: the height of a compartment, and parts of its force.
_DERIVED = {
    quantity.column: quantity
    for quantity in (
        Quantity("height", "", "m", "µm", 1e6, "height", 3),
        Quantity("force_x_over_axial", "", "", "%", 100.0, "AP force over axial force", 3),
        Quantity("force_z_over_axial", "", "", "%", 100.0, "ML force over axial force", 3),
        Quantity("cop_distance", "", "m", "mm", 1e3, "centre of pressure, distance", 3),
    )
}
#: The quantities of all figures by column.
CATALOGUE = QUANTITIES | {quantity.column: quantity for quantity in OTHERS.values()} | _DERIVED
#: Units in which people read SI units: end of a key, end and factor of the key in those units.
_DISPLAY = {
    "m": ("mm", 1e3),
    "rad": ("deg", QUANTITIES["flexion_rad"].factor),
    "Pa": ("MPa", 1e-6),
    "m2": ("mm2", 1e6),
    "m3": ("mm3", 1e9),
    "share": ("percent", 100.0),
}


def quantity_of(column: str) -> Quantity:
    """Return the quantity of a column such as "anterior_m" or "medial_force_y_N"."""
    if column in CATALOGUE:
        return CATALOGUE[column]
    if column.startswith("input_"):
        return OTHERS[column.removeprefix("input_").rpartition("_")[0]]
    compartment, column = part_of(column)
    quantity = QUANTITIES[column]
    return (
        quantity
        if compartment == "total"
        else replace(quantity, label=f"{compartment} {quantity.label}")
    )


def part_of(column: str) -> tuple[str, str]:
    """Return the compartment, or "total", and the quantity of a column; "" of the whole knee."""
    # A name of a compartment may contain underscores, as the columns of loads do.
    suffix = next((name for name in LOAD_COLUMNS if column.endswith(f"_{name}")), column)
    return column.removesuffix(suffix).removesuffix("_"), suffix


def to_display(content: Any, factor: float = 1.0) -> Any:
    """Return a document, or content of JSON, in SI units in the units in which people read it.

    The unit of a number is that in its key, or in the key of the object or list around it.
    """
    if isinstance(content, BaseModel):
        content = content.model_dump()
    if isinstance(content, dict):
        shown = {}
        for key, value in content.items():
            name, key_factor = display(key)
            shown[name] = to_display(value, factor if key_factor == 1.0 else key_factor)
        return shown
    if isinstance(content, list | tuple):
        return [to_display(value, factor) for value in content]
    if factor == 1.0 or content is None or isinstance(content, str | bool):
        return content
    return factor * content


def display(key: str) -> tuple[str, float]:
    """Return a key with the unit in which people read its number, and the factor to it."""
    if key.endswith("_per_s"):
        name, factor = display(key.removesuffix("_per_s"))
        return f"{name}_per_s", factor
    column = next((name for name in CATALOGUE if f"_{key}".endswith(f"_{name}")), None)
    if column is not None:
        quantity = CATALOGUE[column]
        return key.removesuffix(column) + quantity.column_for_people, quantity.factor
    head, _, unit = key.rpartition("_")
    end, factor = _DISPLAY.get(unit, (unit, 1.0)) if head else (unit, 1.0)
    return f"{head}_{end}" if head else end, factor


def axis_label(quantity: Quantity) -> str:
    """Return the label of an axis, such as "contact area [mm²]"."""
    return f"{quantity.label} [{quantity.unit_for_people}]"
