"""What the columns of a table mean: their units, taken from their names, and a description.

A column is `<quantity>_<unit>`. The stored tables are in SI units and radians; tables of users may
be in units for people, which their names tell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: Units that a column may end with, by the SI unit that they measure: factor to it.
UNITS: dict[str, dict[str, float]] = {
    "rad": {"rad": 1.0, "deg": float(np.pi / 180.0)},
    "m": {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6},
    "N": {"N": 1.0, "kN": 1e3},
    "Nm": {"Nm": 1.0, "Nmm": 1e-3},
    "m2": {"m2": 1.0, "cm2": 1e-4, "mm2": 1e-6},
    "Pa": {"Pa": 1.0, "kPa": 1e3, "MPa": 1e6},
}
#: Units for people, by SI units; the others are left as they are.
PEOPLE = {"rad": "deg", "m": "mm", "Nm": "Nmm", "m2": "mm2", "Pa": "MPa"}
_WORDS = {
    **{"Nm": "N m", "Nmm": "N mm", "m2": "m^2", "cm2": "cm^2", "mm2": "mm^2"},
    **{"percent": "%", "J": "J", "s": "s", "ratio": "1"},
    **{"rad_per_s": "rad/s", "m_per_s": "m/s"},
    "mm3_per_million_cycles": "mm^3 per million cycles",
}
_FORCES = {"x": "AP (anterior)", "y": "axial (superior)", "z": "ML (lateral)"}
_QUANTITIES = {
    "flexion": "flexion of the knee (Grood & Suntay 1983)",
    "adduction": "adduction of the tibia",
    "rotation": "internal rotation of the tibia",
    **{
        name: f"{name} position of the femoral origin in the tibial frame"
        for name in ("anterior", "superior", "lateral")
    },
    **{f"force_{axis}": f"{word} force on the femur" for axis, word in _FORCES.items()},
    **{
        f"moment_{axis}": f"moment on the femur about the tibial origin, {axis} axis"
        for axis in _FORCES
    },
    "area": "contact area",
    "peak_pressure": "largest contact pressure",
    "mean_pressure": "contact pressure averaged over the area",
    **{f"cop_{axis}": f"centre of pressure in the tibial frame, {axis} axis" for axis in _FORCES},
    "load": "axial load drawn for the compartment",
    "energy": "energy stored in the compartment",
    "time": "time in the cycle",
    "gait": "part of the gait cycle",
    "axial_force": "axial force, pressing the femur onto the tibia",
    "ap_force": "AP force on the tibia, anterior positive",
    "internal_torque": "internal torque on the tibia",
}
_PLAIN = {
    "compartment": "medial or lateral",
    "index": "number of the design's point",
    "first": "whether it is evaluated in stage b",
    "status": "ok, or failed",
    "reason": "why it failed",
    "evaluations": "analyses of the original model",
    "screening": "evaluated, kept or dropped by stage e",
    "drop_reason": "why stage e dropped it",
    "weight": "weight in the fit",
    "role": "sample, or reference",
    "model": "original or surrogate",
    "combination": "name of the combination of inputs",
    "run": "number of the run",
}
_PREFIXES = {
    "predicted_": "by the surrogate: ",
    "error_": "predicted standard error: ",
    "input_": "applied: ",
    "medial_": "medial compartment: ",
    "lateral_": "lateral compartment: ",
    "total_": "both compartments: ",
    "wave_": "over the cycle: ",
}


class Unit(NamedTuple):
    """A column's name without its unit, the SI unit, and the factor to it."""

    quantity: str
    si: str
    factor: float


def unit_of(column: str) -> Unit | None:
    """Return what a column measures, None if its name ends with none of `UNITS`."""
    quantity, _, token = column.rpartition("_")
    if not quantity or quantity.endswith("_per"):
        return None
    for si, units in UNITS.items():
        if token in units:
            return Unit(quantity, si, units[token])
    return None


def described(column: str) -> tuple[str, str]:
    """Return the unit of a column and what it holds, "" where its name does not tell."""
    if column in _PLAIN:
        return "", _PLAIN[column]
    unit = next(
        (
            token
            for token in _TOKENS
            if column.endswith(f"_{token}") and not column.endswith(f"_per_{token}")
        ),
        "",
    )
    quantity = column.removesuffix(f"_{unit}") if unit else column
    return _WORDS.get(unit, unit), _meaning(quantity)


def _meaning(quantity: str) -> str:
    if quantity in _QUANTITIES:
        return _QUANTITIES[quantity]
    if quantity.endswith("_rate"):
        return f"rate of change: {_meaning(quantity.removesuffix('_rate'))}"
    for prefix, words in _PREFIXES.items():
        rest = quantity.removeprefix(prefix)
        if rest != quantity and (meaning := _meaning(rest)):
            return words + meaning
    return ""


#: All units, the longest first: "..._mm2" ends with no "m2" of its own.
_TOKENS = sorted({*_WORDS, *(u for units in UNITS.values() for u in units)}, key=len, reverse=True)
