"""Units and descriptions of the columns of tables, from the names of the columns.

A column is `<quantity>_<unit>`. The stored tables are in SI units and radians; tables of users may
be in units for people.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foundation.base.loads import LOAD_COLUMNS
from foundation.base.quantities import QUANTITIES, unit_token
from pipeline.store.quantities import OTHERS

#: Units that a column may end with, by the SI unit that they measure: factor to the SI unit.
UNITS: dict[str, dict[str, float]] = {
    "rad": {"rad": 1.0, "deg": float(np.pi / 180.0)},
    "m": {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "inch": 0.0254},
    "N": {"N": 1.0, "kN": 1e3},
    "Nm": {"Nm": 1.0, "Nmm": 1e-3},
    "m2": {"m2": 1.0, "cm2": 1e-4, "mm2": 1e-6},
    "Pa": {"Pa": 1.0, "kPa": 1e3, "MPa": 1e6},
}
#: Units for people, by SI units; the others are the same for people.
PEOPLE = {
    unit_token(quantity.unit): unit_token(quantity.unit_for_people)
    for quantity in QUANTITIES.values()
    if quantity.unit != quantity.unit_for_people
}
_WORDS = {
    **{"Nm": "N m", "Nmm": "N mm", "m2": "m^2", "cm2": "cm^2", "mm2": "mm^2"},
    **{"percent": "%", "J": "J", "s": "s", "ratio": "1"},
    **{"rad_per_s": "rad/s", "m_per_s": "m/s"},
    "mm3_per_million_cycles": "mm^3 per million cycles",
}
_MEANINGS = {q.name: q.description for q in (*QUANTITIES.values(), *OTHERS.values())}
_LOADS = {QUANTITIES[column].name: QUANTITIES[column].description for column in LOAD_COLUMNS}
_PLAIN = {
    "compartment": "medial or lateral, or the name of another compartment",
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
    "total_": "all compartments: ",
    "wave_": "over the cycle: ",
}
#: All units, the longest first: "..._mm2" ends with no "m2" of its own.
_TOKENS = sorted({*_WORDS, *(u for units in UNITS.values() for u in units)}, key=len, reverse=True)


class Unit(NamedTuple):
    """Name of a column without its unit, the SI unit, and the factor to the SI unit."""

    quantity: str
    si: str
    factor: float


def unit_of(column: str) -> Unit | None:
    """Return the unit of a column, None if the name ends with none of `UNITS`."""
    quantity, _, token = column.rpartition("_")
    if not quantity or quantity.endswith("_per"):
        return None
    for si, units in UNITS.items():
        if token in units:
            return Unit(quantity, si, units[token])
    return None


def described(column: str) -> tuple[str, str]:
    """Return the unit and the meaning of a column, "" for what its name does not say."""
    if column in _PLAIN:
        return "", _PLAIN[column]
    ends = (t for t in _TOKENS if column.endswith(f"_{t}") and not column.endswith(f"_per_{t}"))
    unit = next(ends, "")
    return _WORDS.get(unit, unit), _meaning(column.removesuffix(f"_{unit}" if unit else ""))


def _meaning(quantity: str) -> str:
    if quantity in _MEANINGS:
        return _MEANINGS[quantity]
    if quantity.endswith("_rate"):
        return f"rate of change: {_meaning(quantity.removesuffix('_rate'))}"
    for prefix, words in _PREFIXES.items():
        rest = quantity.removeprefix(prefix)
        if rest != quantity and (meaning := _meaning(rest)):
            return words + meaning
    # The loads of a compartment with a name of its own.
    for name, meaning in _LOADS.items():
        if quantity.endswith(f"_{name}"):
            return f"{quantity.removesuffix(f'_{name}')} compartment: {meaning}"
    return ""
