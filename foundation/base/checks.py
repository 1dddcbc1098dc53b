"""Checks of arguments: each function returns the checked value or raises an `InputError`."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.errors import BoundsError, InputError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def check_array(
    name: str,
    value: ArrayLike,
    shape: Sequence[int | None] | None = None,
    *,
    allow_nan: bool = False,
    above: float | None = None,
    at_least: float | None = None,
    unit: str = "",
) -> FloatArray:
    """Return `value`, any shape [any unit], as a new contiguous float64 array, checked."""
    # None in `shape` is any length along that axis; NaN may be allowed, for "undefined", without
    # bounds.
    try:
        array = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: expected numbers, found {value!r}") from error
    if shape is not None:
        fits = array.ndim == len(shape) and all(
            wanted is None or wanted == length
            for wanted, length in zip(shape, array.shape, strict=True)
        )
        if not fits:
            wanted_text = "(" + ", ".join("any" if s is None else str(s) for s in shape) + ")"
            raise InputError(f"{name}: expected shape {wanted_text}, found {array.shape}")
    bad = np.isinf(array) if allow_nan else ~np.isfinite(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            f"{name}: expected finite numbers, found {array[where]} at index {where} "
            f"({int(bad.sum())} of {array.size} are not finite)"
        )
    if array.size and not (above is None and at_least is None):
        check_number(name, array.min(), above=above, at_least=at_least, unit=unit)
    return array


def check_fields(instance: Any, of: str = "", /, **shapes: Sequence[int | None]) -> None:
    """Replace array fields of a frozen dataclass by checked copies, read-only [any unit]."""
    # `of` precedes the names of the fields in messages; a field with the default None may be None.
    optional = {field.name for field in fields(instance) if field.default is None}
    for name, shape in shapes.items():
        value = getattr(instance, name)
        if value is not None or name not in optional:
            object.__setattr__(instance, name, frozen(check_array(f"{of}{name}", value, shape)))


def check_number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    below: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    unit: str = "",
) -> float:
    """Return `value` as a finite float, or raise `BoundsError`, which states `name` and `unit`."""
    try:
        if isinstance(value, str):
            # float("1.0") would succeed, but the caller would keep the text.
            raise TypeError
        number = float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: expected a number, found {value!r}") from error
    inside = (
        math.isfinite(number)
        and (above is None or number > above)
        and (below is None or number < below)
        and (at_least is None or number >= at_least)
        and (at_most is None or number <= at_most)
    )
    if not inside:
        limits = ((">", above), ("<", below), (">=", at_least), ("<=", at_most))
        stated = tuple((sign, bound) for sign, bound in limits if bound is not None)
        raise BoundsError(name, stated, number, unit)
    return number


def check_numbers(
    instance: Any,
    of: str = "",
    /,
    *,
    above: float | None = None,
    at_least: float | None = None,
    **units: str,
) -> None:
    """Replace number fields of a dataclass by checked floats; `units` by name, "" for none."""
    for name, unit in units.items():
        value = getattr(instance, name)
        checked = check_number(f"{of}{name}", value, above=above, at_least=at_least, unit=unit)
        object.__setattr__(instance, name, checked)


def check_count(name: str, value: Any, *, at_least: int = 1) -> int:
    """Return `value` as a whole number of at least a bound; raises `InputError` for others."""
    number = check_number(name, value, at_least=at_least)
    if number % 1.0:
        raise InputError(f"{name}: expected a whole number, found {value!r}")
    return int(number)


def check_unique(name: str, names: Sequence[str], *, some: bool = False) -> None:
    """Raise an InputError if a name is repeated or, with `some`, if there is none."""
    if len(set(names)) < len(names) or (some and not names):
        wanted = "at least one, with unique names" if some else "unique names"
        raise InputError(f"{name}: expected {wanted}, found {', '.join(names) or 'none'}")


def check_in(name: str, value: str, allowed: Collection[str]) -> str:
    """Return `value` if it is one of `allowed`, or raise an `InputError` that lists these."""
    if value not in allowed:
        raise InputError(f"{name}: expected one of {sorted(allowed)}, found {value!r}")
    return value


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array (any shape) [any unit] set read-only, not a copy."""
    array.setflags(write=False)
    return array
