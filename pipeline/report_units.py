"""Units of the report: mm, MPa, N, N·mm, mm², degrees, and how numbers are written for people."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Quantity:
    """How a column in SI units is shown.

    Parameters
    ----------
    key : str
        Name in `report.json`.
    label : str
        Name for people.
    unit : str
        Unit for people.
    factor : float
        From SI to that unit.
    """

    key: str
    label: str
    unit: str
    factor: float

    @property
    def token(self) -> str:
        """The unit as a part of a key, in ASCII."""
        return unit_token(self.unit)


#: The quantities of the error tables, by their columns of the sample tables.
QUANTITIES = {
    "superior_m": Quantity("height", "height", "µm", 1e6),
    "force_x_N": Quantity("force_x", "AP force", "N", 1.0),
    "force_y_N": Quantity("force_y", "axial force", "N", 1.0),
    "force_z_N": Quantity("force_z", "ML force", "N", 1.0),
    "moment_x_Nm": Quantity("moment_x", "moment x", "N·mm", 1e3),
    "moment_y_Nm": Quantity("moment_y", "moment y", "N·mm", 1e3),
    "moment_z_Nm": Quantity("moment_z", "moment z", "N·mm", 1e3),
    "area_m2": Quantity("area", "contact area", "mm²", 1e6),
    "peak_pressure_Pa": Quantity("peak_pressure", "peak pressure", "MPa", 1e-6),
    "mean_pressure_Pa": Quantity("mean_pressure", "mean pressure", "MPa", 1e-6),
    "cop_x_m": Quantity("cop_x", "centre of pressure x", "mm", 1e3),
    "cop_y_m": Quantity("cop_y", "centre of pressure y", "mm", 1e3),
    "cop_z_m": Quantity("cop_z", "centre of pressure z", "mm", 1e3),
}

_TOKENS = {"N·mm": "Nmm", "mm²": "mm2", "µm": "um", "°": "deg"}
_FIRST_NUMBER = re.compile(r"\s*[-+]?(?:\d|\.\d|\binf\b|\bnan\b)")
_OPEN_BRACKET = re.compile(r"\([^()]*$")


def unit_token(unit: str) -> str:
    """Return a unit as a part of a key: letters and digits only."""
    return _TOKENS.get(unit, unit)


def kind_of(reason: str) -> str:
    """Return the kind of a reason: its words before the first number."""
    words = _FIRST_NUMBER.split(reason, maxsplit=1)[0]
    return _OPEN_BRACKET.sub("", words).strip(" :,;") or reason


def plain(value: Any) -> Any:
    """Return a value as strict JSON can hold it; what is not finite becomes None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def scaled(value: float | None, factor: float) -> float | None:
    """Return a value in another unit; None stays None."""
    return None if value is None else factor * float(value)


def number(value: Any, digits: int = 3) -> str:
    """Write a number for people: about `digits` significant digits, never fewer before the point.

    None, which stands for "undefined", is a dash; what is no number is returned as text.
    """
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return _grouped(f"{value:,d}")
    if not math.isfinite(value):
        return "∞" if value == math.inf else "\N{EN DASH}"
    if value == 0.0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    if decimals > digits + 4:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa}×10^{int(exponent)}".replace("-", "\N{MINUS SIGN}")
    return _grouped(f"{value:,.{max(0, decimals)}f}")


def given(value: Any) -> str:
    """Write a number that a user gave: as it was given, without zeros to fill it up."""
    if value == "inf":
        return "∞"
    exact = isinstance(value, float) and math.isfinite(value)
    return _grouped(f"{value:,.10g}") if exact else number(value)


def _grouped(text: str) -> str:
    return text.replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", "\N{MINUS SIGN}")
