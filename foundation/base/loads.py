"""Loads that the tibia exerts on the femur, in the tibial frame, moments about its origin."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array, check_in, frozen
from foundation.base.errors import InputError
from foundation.base.flags import Flag

if TYPE_CHECKING:
    import pandas as pd

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
    """Return the checked names of compartments: unique identifiers that are no other names."""
    entries = (names,) if isinstance(names, str) else tuple(names)
    wrong = [
        name
        for name in entries
        if not _NAME.fullmatch(str(name))
        or name in _TAKEN
        or name in ContactLoads.__dataclass_fields__
        or hasattr(ContactLoads, name)
    ]
    if not entries or wrong or len(set(entries)) < len(entries):
        raise InputError(
            "{name}: expected one or more distinct names of letters, digits and underscores, "
            f'except "total" and the quantities of the loads, found {list(entries)}; for example '
            '["patellofemoral"]',
            "compartment_names",
        )
    return entries


class _Quantities:
    """The quantities of an array of loads (12,) or (N, 12) by name."""

    derivatives: tuple[FloatArray, ...]
    if TYPE_CHECKING:

        @property
        def array(self) -> FloatArray: ...

    @property
    def force(self) -> FloatArray:
        """Force on the femur, tibial frame, (..., 3) [N]."""
        return self.array[..., FORCE]

    @property
    def moment(self) -> FloatArray:
        """Moment on the femur about the tibial origin, tibial frame, (..., 3) [N m]."""
        return self.array[..., MOMENT]

    @property
    def wrench(self) -> FloatArray:
        """Force and moment about the tibial origin, (..., 6) [N, N m]."""
        return self.array[..., WRENCH]

    @property
    def area(self) -> Any:
        """Contact area, a number or (N,) [m²]."""
        return self.array.T[AREA]

    @property
    def peak_pressure(self) -> Any:
        """Largest pressure, a number or (N,) [Pa]."""
        return self.array.T[PEAK_PRESSURE]

    @property
    def mean_pressure(self) -> Any:
        """Pressure averaged over the contact area, a number or (N,) [Pa]."""
        return self.array.T[MEAN_PRESSURE]

    @property
    def centre_of_pressure(self) -> FloatArray:
        """Pressure-weighted mean position, tibial frame, (..., 3) [m]; NaN out of contact."""
        return self.array[..., CENTRE]

    @property
    def jacobian(self) -> FloatArray:
        """d(wrench [N, N m])/d(pose [rad, m]), (..., 6, 6) or (..., C, 6, 6); needs `order` 1."""
        return self._derivative(1)

    @property
    def hessian(self) -> FloatArray:
        """d2(wrench)/d(pose coordinates)2, one axis more than `jacobian` [SI]; needs `order` 2."""
        return self._derivative(2)

    def _derivative(self, order: int) -> FloatArray:
        if len(self.derivatives) < order:
            raise InputError(
                f"order: expected loads with derivatives of order {order}, found order "
                f"{len(self.derivatives)}; ask for loads(pose, order={order})"
            )
        return self.derivatives[order - 1]


@dataclass(frozen=True, eq=False)
class CompartmentLoads(_Quantities):
    """Loads of one compartment, or of the whole knee, at one pose or at N poses.

    Parameters
    ----------
    array : (12,) or (N, 12) float64
        Loads in the order of `LOAD_COLUMNS` [N, N m, m², Pa, m]. Force and moment act on the femur,
        the moment about the tibial origin; these and the centre of pressure are in the tibial
        frame. The centre of pressure is NaN out of contact.
    derivatives : tuple of (..., 6, 6) and (..., 6, 6, 6) float64
        First and second derivatives of the wrench by the pose coordinates, if known
        [N, N m per rad, m].
    variables : (7,) or (N, 7) float64, optional
        Of a surrogate: the scaled variables of its box, and the extrapolation [1]; beyond 1 in size
        outside the trained domain.
    """

    array: FloatArray
    derivatives: tuple[FloatArray, ...] = ()
    variables: Any = None

    def __post_init__(self) -> None:
        array = check_array("loads", self.array, (*np.shape(self.array)[:-1], 12), allow_nan=True)
        for name, columns in (("wrench", WRENCH), ("area and pressures", slice(AREA, CENTRE_X))):
            check_array(name, array[..., columns])
        object.__setattr__(self, "array", frozen(array))

    @classmethod
    def trusted(
        cls,
        array: FloatArray,
        derivatives: tuple[FloatArray, ...] = (),
        variables: FloatArray | None = None,
    ) -> Self:
        """Return the loads of an array (..., 12) [N, N m, m², Pa, m] without checks.

        The array becomes read-only. For simulations, where the checks would take longer than the
        evaluation of a surrogate.
        """
        array.flags.writeable = False
        loads = object.__new__(cls)
        loads.__dict__.update(array=array, derivatives=derivatives, variables=variables)
        return loads


def check_order(order: int, highest: int = 2) -> int:
    """Return the order of derivatives, 0 to `highest`; raise `InputError` for another."""
    if not isinstance(order, int) or not 0 <= order <= highest:
        raise InputError(f"order: expected a whole number from 0 to {highest}, found {order!r}")
    return order


@dataclass(frozen=True, eq=False, repr=False)
class ContactLoads(_Quantities):
    """Loads per compartment and in total, at one pose or at N poses.

    Each compartment is an attribute and an item: ``loads.medial``, ``loads["patellofemoral"]``. The
    quantities of the whole knee are attributes: ``loads.force``. At N poses all arrays, and the
    flags, have the leading axis N.

    Parameters
    ----------
    values : (C, 12) or (N, C, 12) float64
        Loads of each compartment in the order of `LOAD_COLUMNS` [N, N m, m², Pa, m].
    compartments : tuple of str
        Names of the C compartments.
    flags : tuple of Flag, or tuple of N tuples of Flag
        Why the loads are unreliable, for example a pose outside the domain of a surrogate.
    derivatives : tuple of (..., C, 6, 6) and (..., C, 6, 6, 6) float64
        First and second derivatives of the wrench of each compartment by the pose coordinates, if
        known [N, N m per rad, m].
    variables : (C, 7) or (N, C, 7) float64, optional
        As of `CompartmentLoads`, of each compartment.
    """

    values: FloatArray
    compartments: tuple[str, ...] = COMPARTMENTS
    flags: tuple[Any, ...] = field(default_factory=tuple)
    derivatives: tuple[FloatArray, ...] = ()
    variables: Any = None

    def __post_init__(self) -> None:
        names = check_names(self.compartments)
        shape = np.shape(self.values)
        if len(shape) not in (2, 3) or shape[-2] != len(names):
            raise InputError(
                f"values: expected the loads of {len(names)} compartments "
                f"({', '.join(names)}), found shape {shape}"
            )
        values = check_array("loads", self.values, (*shape[:-1], 12), allow_nan=True)
        derivatives = tuple(
            frozen(check_array("derivatives", derivative, (*shape[:-1], *[6] * order)))
            for order, derivative in enumerate(self.derivatives, 2)
        )
        self.__dict__.update(values=frozen(values), compartments=names, derivatives=derivatives)

    @classmethod
    def from_wrench(
        cls,
        wrench: ArrayLike,
        jacobian: ArrayLike | None = None,
        *,
        compartment: str = "knee",
        flags: tuple[Flag, ...] = (),
    ) -> Self:
        """Return the loads of a contact model that knows only its wrench at a pose.

        Area and pressures are 0, the centre of pressure is NaN.

        Parameters
        ----------
        wrench : (6,) or (N, 6) float64
            Force and moment about the tibial origin on the femur, tibial frame [N, N m].
        jacobian : (6, 6) or (N, 6, 6) float64, optional
            d(wrench)/d(pose coordinates) [N, N m per rad, m].
        compartment : str
            Name of the only compartment.
        flags : tuple of Flag, or tuple of N tuples of Flag
            Why the loads are unreliable.
        """
        known = check_array("wrench", wrench, (*np.shape(wrench)[:-1], 6))
        values = np.zeros((*known.shape[:-1], 1, 12))
        values[..., 0, WRENCH], values[..., CENTRE] = known, np.nan
        derivatives = () if jacobian is None else (np.asarray(jacobian)[..., None, :, :],)
        return cls(values, (compartment,), flags, derivatives)

    @classmethod
    def trusted(cls, **attributes: Any) -> Self:
        """Return the loads of read-only arrays and names, unchecked [SI].

        The attributes are those of the constructor, `total_jacobian`, and, instead of flags,
        `_flags`, a function that returns the flags when they are first asked for.
        """
        loads = object.__new__(cls)
        loads.__dict__.update(attributes)
        return loads

    def __repr__(self) -> str:
        poses = "" if self.values.ndim == 2 else f"{len(self.values)} poses, "
        return f"<{type(self).__name__} {poses}{', '.join(self.compartments)}>"

    def __getitem__(self, name: str) -> CompartmentLoads:
        """Return the loads of a compartment by name; raise `InputError` for another name."""
        loads: CompartmentLoads = getattr(
            self, check_in("compartment", name, (*self.compartments, "total"))
        )
        return loads

    def __getattr__(self, name: str) -> Any:
        known = self.__dict__
        if name == "flags" and "_flags" in known:
            value = known["_flags"]()
        elif name in known.get("compartments", ()):
            k = self.compartments.index(name)
            slopes: list[Any] = [
                derivative.take(k, -2 - n) for n, derivative in enumerate(self.derivatives, 1)
            ]
            variables = None if self.variables is None else self.variables[..., k, :]
            value = CompartmentLoads.trusted(self.values[..., k, :], tuple(slopes), variables)
        else:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        known[name] = value
        return value

    @cached_property
    def array(self) -> FloatArray:
        """Loads of the whole knee in the order of `LOAD_COLUMNS`, (..., 12) [N, N m, m², Pa, m].

        Forces, moments and areas add; the peak pressure is the largest one; the mean pressure is
        weighted by area and the centre of pressure by mean pressure times area.
        """
        values = self.values
        array = _total(values.tolist()) if values.ndim == 2 else total_loads(values)
        array.flags.writeable = False
        return array

    @cached_property
    def total(self) -> CompartmentLoads:
        """Loads of the whole knee."""
        slopes: list[Any] = [
            derivative.sum(axis=-2 - n) for n, derivative in enumerate(self.derivatives, 1)
        ]
        return CompartmentLoads.trusted(self.array, tuple(slopes))

    @cached_property
    def total_jacobian(self) -> FloatArray:
        """d(total wrench)/d(pose coordinates), (..., 6, 6) [N, N m per rad, m]."""
        total: FloatArray = self.jacobian.sum(axis=-3)
        return total

    def to_frame(self) -> pd.DataFrame:
        """Return a table of a row for each pose.

        `flagged` is 1 where the loads are unreliable; `<part>_<column>` are the loads of each
        compartment and "total", with the columns of `LOAD_COLUMNS` [N, N m, m², Pa, m].
        """
        import pandas as pd

        flags = [self.flags] if self.values.ndim == 2 else self.flags
        table = {"flagged": np.array([float(bool(pose_flags)) for pose_flags in flags])}
        for compartment in (*self.compartments, "total"):
            rows = np.atleast_2d(self[compartment].array)
            table |= {f"{compartment}_{name}": rows[:, k] for k, name in enumerate(LOAD_COLUMNS)}
        return pd.DataFrame(table)


def _total(rows: list[list[float]]) -> FloatArray:
    """Return the loads (12,) of all compartments together."""
    # Plain numbers, since operations on arrays of this size are slower than the sums.
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
    """Return loads (N, 12) [N, N m, m², Pa, m] of the knee from compartments (N, C, 12)."""
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
    """State of the tibial surface at one pose, in the order of its triangles; 0 out of contact."""

    #: Overlap of the undeformed surfaces at the middle of each triangle along minus the tibial
    #: normal (F,) [m].
    indentation: FloatArray
    #: At the middle of each triangle (F,) [Pa].
    pressure: FloatArray
