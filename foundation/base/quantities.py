"""Quantities of poses and loads: symbols, units, labels, and units for people."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray

#: Units that a column's name writes otherwise, in ASCII.
_TOKENS = {"N·m": "Nm", "N·mm": "Nmm", "m²": "m2", "mm²": "mm2", "µm": "um", "°": "deg"}
_TOKENS["%"] = "percent"


def unit_token(unit: str) -> str:
    """Return a unit as the end of a column's name: "mm2" for "mm²"."""
    return _TOKENS.get(unit, unit)


@dataclass(frozen=True)
class Quantity:
    """Physical quantity that tables store in SI units and radians."""

    #: Name of the column without the unit, such as "force_x".
    name: str
    #: Symbol, such as "F_x".
    symbol: str
    #: SI unit of the stored values, such as "N·m".
    unit: str
    #: Unit in reports, such as "N·mm".
    unit_for_people: str
    #: Factor from `unit` to `unit_for_people`.
    factor: float
    #: Name in reports and on axes.
    label: str
    #: Decimals to print in `unit_for_people`.
    decimals: int

    @property
    def column(self) -> str:
        """Name of the column in SI units, such as "moment_x_Nm"."""
        return f"{self.name}_{unit_token(self.unit)}" if self.unit else self.name

    @property
    def column_for_people(self) -> str:
        """Name of the column in the unit for people, such as "moment_x_Nmm"."""
        return f"{self.name}_{unit_token(self.unit_for_people)}"

    def for_people(self, values: ArrayLike) -> FloatArray:
        """Return values (any shape) in SI units [any unit] in the unit for people."""
        return self.factor * np.asarray(values, dtype=np.float64)

    def text(self, value: float) -> str:
        """Return a value in SI units as text for people, such as "12.34 mm"."""
        return f"{self.for_people(value):.{self.decimals}f} {self.unit_for_people}"


_TO_DEGREES = 180.0 / math.pi
_ROWS = (
    ("flexion", "α", "rad", "°", _TO_DEGREES, "flexion", 1),
    ("adduction", "β", "rad", "°", _TO_DEGREES, "adduction", 2),
    ("rotation", "γ", "rad", "°", _TO_DEGREES, "internal rotation", 2),
    ("anterior", "x", "m", "mm", 1e3, "anterior position", 2),
    ("superior", "y", "m", "mm", 1e3, "superior position", 3),
    ("lateral", "z", "m", "mm", 1e3, "lateral position", 2),
    ("force_x", "F_x", "N", "N", 1.0, "AP force", 1),
    ("force_y", "F_y", "N", "N", 1.0, "axial force", 1),
    ("force_z", "F_z", "N", "N", 1.0, "ML force", 1),
    ("moment_x", "M_x", "N·m", "N·mm", 1e3, "moment x", 0),
    ("moment_y", "M_y", "N·m", "N·mm", 1e3, "moment y", 0),
    ("moment_z", "M_z", "N·m", "N·mm", 1e3, "moment z", 0),
    ("area", "A", "m²", "mm²", 1e6, "contact area", 1),
    ("peak_pressure", "p_max", "Pa", "MPa", 1e-6, "peak pressure", 2),
    ("mean_pressure", "p_mean", "Pa", "MPa", 1e-6, "mean pressure", 2),
    ("cop_x", "c_x", "m", "mm", 1e3, "centre of pressure x", 2),
    ("cop_y", "c_y", "m", "mm", 1e3, "centre of pressure y", 2),
    ("cop_z", "c_z", "m", "mm", 1e3, "centre of pressure z", 2),
)
#: The quantities of poses and loads by column, such as "moment_x_Nm"; the columns have the order
#: of `foundation.base.pose.POSE_COLUMNS` and `foundation.base.loads.LOAD_COLUMNS`.
QUANTITIES = {quantity.column: quantity for quantity in (Quantity(*row) for row in _ROWS)}
