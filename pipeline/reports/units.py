"""Numbers, names and reasons as the reports write them for people."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from foundation.base.quantities import Quantity, unit_token

_NAMES = {"poly_fourier": "Poly-Fourier"}
_FIRST_NUMBER = re.compile(r"\s*[-+]?(?:\d|\.\d|\binf\b|\bnan\b)")
_OPEN_BRACKET = re.compile(r"\([^()]*$")
#: ASCII characters for a terminal in place of those of units and signs.
ASCII = str.maketrans(
    {"²": "2", "³": "3", "µ": "u", "°": " deg", "−": "-", "±": "+-", "×": "x", "→": "->"}
    | {"\N{NARROW NO-BREAK SPACE}": " "}
)
#: Units by the token that ends a key.
SIGNS = {unit: unit for unit in ("N", "BW", "MPa", "m", "mm", "s", "mg")}
SIGNS |= {"deg": "°", "mm2": "mm²", "mm3": "mm³", "percent": "%", "um": "µm"}
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def head_of(key: str) -> str:
    """Return a key in words, such as "node spacing [mm]" for "node_spacing_mm"."""
    head, _, token = key.rpartition("_")
    words = f"{head} [{SIGNS[token]}]" if head and token in SIGNS else key
    return words.replace("_", " ")


def in_unit(quantity: Quantity, **figures: float | None) -> dict[str, Any]:
    """Return label and unit of a quantity, and figures [SI] in the unit, which ends their keys."""
    token = unit_token(quantity.unit_for_people)
    shown = {f"{key}_{token}": scaled(value, quantity.factor) for key, value in figures.items()}
    return {"label": quantity.label, "unit": quantity.unit_for_people, **shown}


def field(record: Any, key: str) -> Any:
    """Return a value of a record by its key, or by its key with the unit of the record."""
    if isinstance(record, dict) and key not in record and "unit" in record:
        return record[f"{key}_{unit_token(record['unit'])}"]
    return record[key] if isinstance(record, dict) else getattr(record, key)


def shown_name(name: str) -> str:
    """Return the name of a family or formulation as people write it."""
    return _NAMES.get(name, name.replace("_", " "))


def kind_of(reason: str) -> str:
    """Return the kind of a reason: its words before the first number."""
    words = _FIRST_NUMBER.split(reason, maxsplit=1)[0]
    return _OPEN_BRACKET.sub("", words).strip(" :,;") or reason


def scaled(value: float | None, factor: float) -> float | None:
    """Return a value in another unit [any unit]; None stays None."""
    return None if value is None else factor * float(value)


def largest(values: Iterable[float | None]) -> float | None:
    """Return the largest value [unit of `values`], None if a value is None."""
    known = list(values)
    return None if None in known else max(value for value in known if value is not None)


def percent(part: float, whole: float) -> float | None:
    """Return a part of a whole [%], None if the whole is not positive."""
    return 100.0 * part / whole if whole > 0.0 else None


def number(value: Any, digits: int = 3) -> str:
    """Return a number as text with about `digits` significant digits; a dash for None."""
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
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
        power = str(int(exponent)).translate(_SUPERSCRIPTS)
        return f"{mantissa}×10{power}".replace("-", "\N{MINUS SIGN}")
    return _grouped(f"{value:,.{max(0, decimals)}f}")


def given(value: Any) -> str:
    """Return a number of a configuration as text, without added zeros."""
    if value == "inf":
        return "∞"
    exact = isinstance(value, float) and math.isfinite(value)
    return _grouped(f"{value:,.10g}") if exact else number(value)


def determination(value: float | None) -> str:
    """Return a coefficient of determination Q² as text."""
    return number(None) if value is None else _grouped(f"{value:.5f}")


def _grouped(text: str) -> str:
    return text.replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", "\N{MINUS SIGN}")
