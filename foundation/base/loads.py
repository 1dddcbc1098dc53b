"""Loads of the knee contact: value types shared by the original model and the surrogates.

The tibial side exerts all loads on the femur; they are given in the tibial frame, moments about the
tibial origin. Axial compression is therefore a positive force[1].
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import (
    FloatArray,
    check_array,
    check_fields,
    check_in,
    check_number,
    frozen,
)
from foundation.base.errors import InputError
from foundation.base.flags import Flag

#: Columns of the six components of a wrench, in order.
WRENCH_COLUMNS = (
    *("force_x_N", "force_y_N", "force_z_N"),
    *("moment_x_Nm", "moment_y_Nm", "moment_z_Nm"),
)
#: Columns of the other quantities of a contact, in order.
QUANTITY_COLUMNS = (
    *("area_m2", "peak_pressure_Pa", "mean_pressure_Pa"),
    *("cop_x_m", "cop_y_m", "cop_z_m"),
)
LOAD_COLUMNS = WRENCH_COLUMNS + QUANTITY_COLUMNS
#: Index of each quantity in a row of loads (12,), in the order of `LOAD_COLUMNS`.
AP_FORCE, AXIAL_FORCE, ML_FORCE, MOMENT_X, MOMENT_Y, MOMENT_Z = range(6)
AREA, PEAK_PRESSURE, MEAN_PRESSURE, CENTRE_X, CENTRE_Y, CENTRE_Z = range(6, 12)
FORCE, MOMENT, WRENCH, CENTRE = slice(0, 3), slice(3, 6), slice(0, 6), slice(9, 12)
#: Compressive strain beyond which a layer counts as pressed through. A logarithmic law continues
#: beyond this strain along its tangent, so that trial steps of an integrator stay finite.
STRAIN_LIMIT = 0.99
#: Compartments of a tibiofemoral joint, the default of every contact pair.
COMPARTMENTS = ("medial", "lateral")
#: Names of compartments begin columns of tables, names in C and variables of an FMU.
_NAME = re.compile("[A-Za-z][A-Za-z0-9_]*")
#: Names of other parts in the same tables.
_TAKEN = ("total", "input")


def compartment_index(compartment: str, names: tuple[str, ...] = COMPARTMENTS) -> int:
    """Return the place of a compartment among the names; raise `InputError` for another name."""
    return names.index(check_in("compartment", compartment, names))


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the compartments of a contact pair, checked.

    Raises `InputError` if there is no name, a name occurs twice, is taken ("total", "input", or an
    attribute of `ContactLoads` such as "area") or is not made of letters, digits and underscores
    after a letter.
    """
    found = (names,) if isinstance(names, str) else tuple(names)
    wrong = [
        name
        for name in found
        if not _NAME.fullmatch(str(name)) or name in _TAKEN or hasattr(ContactLoads, name)
    ]
    if not found or wrong or len(set(found)) < len(found):
        raise InputError(
            "{name}: expected one or more distinct names of letters, digits and underscores, "
            f'except "total" and the quantities of the loads, found {list(found)}; for example '
            '["patellofemoral"]',
            "compartment_names",
        )
    return found


@dataclass(frozen=True, eq=False)
class CompartmentLoads:
    """Loads of one compartment, or of the whole knee.

    Parameters
    ----------
    force : (3,) float64
        Force on the femur, tibial frame [N].
    moment : (3,) float64
        Moment on the femur about the tibial origin, tibial frame [N m].
    area : float
        Area of the springs in contact [m²].
    peak_pressure, mean_pressure : float
        Largest pressure, and pressure averaged over the contact area [Pa].
    centre_of_pressure : (3,) float64
        Pressure-weighted mean of the spring positions, tibial frame [m]; NaN out of contact.

    Raises
    ------
    InputError
        If a value has another shape or is not finite.
    """

    force: FloatArray
    moment: FloatArray
    area: float
    peak_pressure: float
    mean_pressure: float
    centre_of_pressure: FloatArray

    def __post_init__(self) -> None:
        check_fields(self, force=(3,), moment=(3,))
        for name in ("area", "peak_pressure", "mean_pressure"):
            object.__setattr__(self, name, check_number(name, getattr(self, name)))
        centre = check_array("centre_of_pressure", self.centre_of_pressure, (3,), allow_nan=True)
        object.__setattr__(self, "centre_of_pressure", frozen(centre))

    @property
    def wrench(self) -> FloatArray:
        """Force and moment about the tibial origin, (6,) [N, N m]."""
        return np.concatenate([self.force, self.moment])

    @property
    def array(self) -> FloatArray:
        """All quantities in the order of `LOAD_COLUMNS`, (12,) [N, N m, m², Pa, m]."""
        scalars = [self.area, self.peak_pressure, self.mean_pressure]
        return np.concatenate([self.force, self.moment, scalars, self.centre_of_pressure])

    @classmethod
    def from_array(cls, values: ArrayLike) -> Self:
        """Return the loads of values (12,) [N, N m, m², Pa, m] in the order of `LOAD_COLUMNS`."""
        v = check_array("loads", values, (12,), allow_nan=True)
        area, peak, mean = v[AREA:CENTRE_X].tolist()
        return cls(v[FORCE], v[MOMENT], area, peak, mean, v[CENTRE])

    @classmethod
    def trusted(cls, values: FloatArray) -> Self:
        """Return the loads of values (12,) [N, N m, m², Pa, m] without checks.

        The array becomes read-only. For simulations, where the checks would take longer than the
        evaluation of a surrogate.
        """
        values.flags.writeable = False
        loads = object.__new__(cls)
        area, peak, mean = values[AREA:CENTRE_X].tolist()
        loads.__dict__.update(
            force=values[FORCE],
            moment=values[MOMENT],
            area=area,
            peak_pressure=peak,
            mean_pressure=mean,
            centre_of_pressure=values[CENTRE],
        )
        return loads


@dataclass(frozen=True, eq=False, repr=False)
class ContactLoads:
    """Loads per compartment and in total.

    Each compartment is an attribute and an item: ``loads.medial``, ``loads["patellofemoral"]``. The
    class itself builds the loads of a medial and a lateral compartment; `from_compartments` and
    `from_values` build those of any compartments.

    Parameters
    ----------
    medial, lateral, total : CompartmentLoads
        Loads of each compartment and of the whole knee.
    flags : tuple of Flag
        Why the loads are unreliable, for example a pose outside the domain of a surrogate.
    """

    medial: CompartmentLoads
    lateral: CompartmentLoads
    total: CompartmentLoads
    flags: tuple[Flag, ...] = field(default=())

    def __repr__(self) -> str:
        parts = [f"{name}={self[name]!r}" for name in (*self.compartments, "total")]
        return f"{type(self).__name__}({', '.join(parts)}, flags={self.flags!r})"

    def __getitem__(self, name: str) -> CompartmentLoads:
        """Return the loads of a compartment by name; raise `InputError` for another name."""
        part: CompartmentLoads = getattr(
            self, check_in("compartment", name, (*self.compartments, "total"))
        )
        return part

    @property
    def compartments(self) -> tuple[str, ...]:
        """Names of the compartments, in their order."""
        names: tuple[str, ...] = self.__dict__.get("_names", COMPARTMENTS)
        return names

    @property
    def values(self) -> FloatArray:
        """Loads of the compartments, (C, 12) [N, N m, m², Pa, m], in order of `LOAD_COLUMNS`."""
        return np.array([self[name].array for name in self.compartments])

    @property
    def force(self) -> FloatArray:
        """Total force on the femur, tibial frame, (3,) [N]."""
        return self.total.force

    @property
    def moment(self) -> FloatArray:
        """Total moment on the femur about the tibial origin, tibial frame, (3,) [N m]."""
        return self.total.moment

    @property
    def wrench(self) -> FloatArray:
        """Total force and moment about the tibial origin, (6,) [N, N m]."""
        return self.total.wrench

    @property
    def area(self) -> float:
        """Total contact area [m²]."""
        return self.total.area

    @property
    def peak_pressure(self) -> float:
        """Largest pressure of all compartments [Pa]."""
        return self.total.peak_pressure

    @property
    def mean_pressure(self) -> float:
        """Pressure averaged over the total contact area [Pa]."""
        return self.total.mean_pressure

    @property
    def centre_of_pressure(self) -> FloatArray:
        """Centre of pressure of the whole knee, tibial frame, (3,) [m]."""
        return self.total.centre_of_pressure

    @classmethod
    def from_compartments(
        cls,
        medial: ArrayLike | Mapping[str, ArrayLike],
        lateral: ArrayLike | None = None,
        flags: tuple[Flag, ...] = (),
    ) -> Self:
        """Return the loads of a contact pair from the loads of its compartments.

        Forces, moments and areas add; the peak pressure is the largest one; the mean pressure is
        weighted by area and the centre of pressure by mean pressure times area.

        Parameters
        ----------
        medial, lateral : (12,) float64
            Loads of each compartment in the order of `LOAD_COLUMNS` [N, N m, m², Pa, m]. Instead of
            both, a mapping from the names of the compartments to their loads.
        flags : tuple of Flag
            Why the loads are unreliable.

        Raises
        ------
        InputError
            If an array has another shape or is infinite, or a name is not one.
        """
        if isinstance(medial, Mapping):
            if lateral is not None:
                raise InputError(
                    "lateral: expected None, since `medial` is a mapping of all compartments"
                )
            return cls.from_values(list(medial.values()), tuple(medial), flags)
        if lateral is None:
            raise InputError(
                "lateral: expected the loads of the lateral compartment, found none; give a "
                "mapping for other compartments than medial and lateral"
            )
        return cls.from_values([medial, lateral], COMPARTMENTS, flags)

    @classmethod
    def from_values(
        cls,
        values: ArrayLike | Sequence[ArrayLike],
        names: Sequence[str],
        flags: tuple[Flag, ...] = (),
    ) -> Self:
        """Return the loads of a contact pair as `from_compartments`.

        Parameters
        ----------
        values : (C, 12) float64
            Loads of each compartment in the order of `LOAD_COLUMNS` [N, N m, m², Pa, m].
        names : sequence of str
            Names of the C compartments.
        flags : tuple of Flag
            Why the loads are unreliable.

        Raises
        ------
        InputError
            If an array has another shape or is infinite, or a name is not one (`check_names`).
        """
        checked = check_names(names)
        rows: Sequence[ArrayLike] = list(values)  # type: ignore[arg-type]
        if len(rows) != len(checked):
            raise InputError(
                f"values: expected the loads of {len(checked)} compartments "
                f"({', '.join(checked)}), found the loads of {len(rows)}"
            )
        parts = tuple(check_array("loads", row, (12,), allow_nan=True) for row in rows)
        return cls.trusted_parts(parts, checked, flags)

    @classmethod
    def trusted(cls, medial: FloatArray, lateral: FloatArray, flags: tuple[Flag, ...] = ()) -> Self:
        """Return the loads from (12,) arrays as `from_compartments` [N, N m, m², Pa, m], unchecked.

        The arrays become read-only. The parts are built on first access: a simulation needs the
        wrench alone at most evaluations, and building the parts takes as long as a surrogate.
        """
        return cls.trusted_parts((medial, lateral), COMPARTMENTS, flags)

    @classmethod
    def trusted_parts(
        cls, parts: tuple[FloatArray, ...], names: tuple[str, ...], flags: tuple[Flag, ...] = ()
    ) -> Self:
        """Return the loads from arrays (12,) of named compartments as `trusted`, unchecked [SI]."""
        if parts[0].flags.writeable:  # parts of one array are read-only together
            for part in parts:
                part.flags.writeable = False
        loads = object.__new__(cls)
        loads.__dict__.update(flags=flags, _values=parts, _names=names)
        return loads

    def __getattr__(self, name: str) -> CompartmentLoads:
        names = self.__dict__.get("_names")
        if names is None or name not in (*names, "total"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        values: tuple[FloatArray, ...] = self.__dict__["_values"]
        chosen = _total(values) if name == "total" else values[names.index(name)]
        part = CompartmentLoads.trusted(chosen)
        self.__dict__[name] = part
        return part


def _total(parts: tuple[FloatArray, ...]) -> FloatArray:
    """Return the loads (12,) of all compartments together."""
    # Plain numbers, since operations on arrays of this size are slower than the sums.
    rows = [part.tolist() for part in parts]
    total = rows[0]
    for row in rows[1:]:
        total = [a + b for a, b in zip(total, row, strict=True)]
    carried = [row[AREA] * row[MEAN_PRESSURE] for row in rows]
    whole = carried[0]
    for force in carried[1:]:
        whole += force
    # A compartment out of contact has no centre and no weight.
    centre = [0.0 if whole > 0.0 else math.nan] * 3
    for row, weight in zip(rows, carried, strict=True):
        if weight > 0.0:
            for k in range(3):
                centre[k] += (weight / whole) * row[CENTRE_X + k]
    mean = whole / total[AREA] if total[AREA] > 0.0 else 0.0
    return np.array([*total[:PEAK_PRESSURE], max(r[PEAK_PRESSURE] for r in rows), mean, *centre])


def total_loads(loads: FloatArray) -> FloatArray:
    """Return the loads (N, 12) of the whole knee from those (N, C, 12) of the compartments.

    In the order of `LOAD_COLUMNS` [N, N m, m², Pa, m], combined as in
    `ContactLoads.from_compartments`. The centre of pressure is NaN out of contact.
    """
    total = loads.sum(axis=1)
    total[:, PEAK_PRESSURE] = loads[:, :, PEAK_PRESSURE].max(axis=1)
    carried = loads[:, :, AREA] * loads[:, :, MEAN_PRESSURE]
    whole = carried.sum(axis=1)
    area = total[:, AREA]
    total[:, MEAN_PRESSURE] = np.divide(whole, area, out=np.zeros(len(total)), where=area > 0.0)
    # A compartment out of contact has no centre and no weight.
    centres = np.where(carried[..., None] > 0.0, loads[:, :, CENTRE], 0.0)
    weighted = (carried[..., None] * centres).sum(axis=1)
    share = np.where(whole > 0.0, whole, np.nan)
    total[:, CENTRE] = weighted / share[:, None]
    return total


@dataclass(frozen=True, eq=False)
class SpringState:
    """State of the tibial surface at one pose, in the order of its triangles.

    Parameters
    ----------
    indentation : (F,) float64
        Overlap of the undeformed surfaces at the middle of each triangle along minus the tibial
        normal [m], 0 out of contact.
    pressure : (F,) float64
        Pressure at the middle of each triangle [Pa], 0 out of contact.
    """

    indentation: FloatArray
    pressure: FloatArray
