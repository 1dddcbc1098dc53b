"""Units of the report: mm, MPa, N, N·mm, mm², degrees, and how numbers are written for people."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from foundation.loads import LOAD_COLUMNS


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
    "force_x_over_axial": Quantity("force_x_over_axial", "AP force over axial force", "%", 100.0),
    "force_z_over_axial": Quantity("force_z_over_axial", "ML force over axial force", "%", 100.0),
    "cop_distance_m": Quantity("cop_distance", "centre of pressure, distance", "mm", 1e3),
}

_SHARES = (
    Quantity("force_x_over_total", "AP force over total axial force", "%", 100.0),
    Quantity("force_y_over_total", "axial force over total axial force", "%", 100.0),
    Quantity("force_z_over_total", "ML force over total axial force", "%", 100.0),
    *(
        Quantity(f"moment_{axis}_over_total", f"moment {axis} over total axial force", "mm", 1e3)
        for axis in "xyz"
    ),
)
_MOMENTS_OVER_AXIAL = tuple(
    Quantity(f"moment_{axis}_over_axial", f"moment {axis} over axial force", "mm", 1e3)
    for axis in "xyz"
)
#: The outputs of a formulation by the name of their group, as cross-validation lists them.
OUTPUTS = {
    "height": (QUANTITIES["superior_m"],),
    "adduction": (Quantity("adduction", "adduction", "°", 180.0 / math.pi),),
    "shares": _SHARES,
    "reference": (Quantity("reference_height", "height at the reference load", "µm", 1e6),),
    "root": (Quantity("root", "root of the load over the largest", "%", 100.0),),
    # Learnt as a logarithm, whose error is the relative one.
    "stiffness": (Quantity("stiffness", "secant stiffness, relative", "%", 100.0),),
    "ratios": (
        *(QUANTITIES["force_x_over_axial"], QUANTITIES["force_z_over_axial"]),
        *_MOMENTS_OVER_AXIAL,
    ),
    # Area and pressures are learnt over a power of the load's root, which is 1 at the largest load.
    "quantities": tuple(
        QUANTITIES[name]
        for name in (
            "area_m2",
            "peak_pressure_Pa",
            "mean_pressure_Pa",
            "cop_x_m",
            "cop_y_m",
            "cop_z_m",
        )
    ),
    "loads": tuple(QUANTITIES[name] for name in LOAD_COLUMNS),
}
#: The formulation "power" learns roots of loads, which have no unit for people.
_ROOTED = 9

_NAMES = {"poly_fourier": "Poly-Fourier"}
_TOKENS = {"N·mm": "Nmm", "mm²": "mm2", "µm": "um", "°": "deg", "%": "percent"}
_FIRST_NUMBER = re.compile(r"\s*[-+]?(?:\d|\.\d|\binf\b|\bnan\b)")
_OPEN_BRACKET = re.compile(r"\([^()]*$")


def unit_token(unit: str) -> str:
    """Return a unit as a part of a key: letters and digits only."""
    return _TOKENS.get(unit, unit)


def shown_name(name: str) -> str:
    """Return the name of a family or formulation as people write it."""
    return _NAMES.get(name, name.replace("_", " "))


def outputs_of(group: str, formulation: str) -> tuple[Quantity, ...]:
    """Return what a group of outputs shows.

    Groups that were fitted together are joined by "+"; what follows a comma tells the kind of
    cross-validation.
    """
    names = group.partition(",")[0].split("+")
    shown = tuple(quantity for name in names for quantity in OUTPUTS[name])
    if formulation not in ("power", "knee_power"):
        return shown
    roots = [Quantity(f"root_{q.key}", f"root of {q.label}", "SI", 1.0) for q in shown[:_ROOTED]]
    return (*roots, *shown[_ROOTED:])


def kind_of(reason: str) -> str:
    """Return the kind of a reason: its words before the first number."""
    words = _FIRST_NUMBER.split(reason, maxsplit=1)[0]
    return _OPEN_BRACKET.sub("", words).strip(" :,;") or reason


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
