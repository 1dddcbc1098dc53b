"""Elementary functions of CasADi, JAX or NumPy, and the smooth functions built from these.

Numbers are floats, SX and MX of CasADi, or arrays of JAX. Vectors are columns of CasADi or
one-dimensional arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeAlias

import numpy as np

from foundation.base.errors import InputError

#: A number, vector or matrix: an expression of CasADi, or an array.
Expression: TypeAlias = Any
_OF_CASADI = {"where": "if_else", "minimum": "fmin", "maximum": "fmax"}
_NEEDED = ("sin", "cos", "sqrt", "where")


class Elementary:
    """The elementary functions of a package, of numbers and elementwise of vectors.

    `where` takes a condition, and what holds where the condition is true and elsewhere; `arrays` is
    whether vectors are arrays.
    """

    sin: Callable[[Expression], Expression]
    cos: Callable[[Expression], Expression]
    sqrt: Callable[[Expression], Expression]
    exp: Callable[[Expression], Expression]
    tanh: Callable[[Expression], Expression]
    where: Callable[[Expression, Expression, Expression], Expression]
    minimum: Callable[[Expression, Expression], Expression]
    maximum: Callable[[Expression, Expression], Expression]

    def __init__(self, package: Any) -> None:
        self.arrays = not hasattr(package, "if_else")
        for name in Elementary.__annotations__:
            known = name if self.arrays else _OF_CASADI.get(name, name)
            setattr(self, name, getattr(package, known, None))

    @classmethod
    def of(cls, package: Any) -> Self:
        """Return the functions of `casadi`, `jax.numpy`, `numpy` or a package like these.

        Raises `InputError` if the package lacks sin, cos, sqrt, or if_else or where.
        """
        functions = cls(package)
        if any(getattr(functions, name) is None for name in _NEEDED):
            raise InputError(
                "package: expected casadi, jax.numpy or numpy, with sin, cos, sqrt and if_else or "
                f"where, found {getattr(package, '__name__', package)}"
            )
        return functions


def _within(f: Elementary, t: Expression) -> Expression:
    """Return t [1] held from 0 to 1, so that no power of t overflows."""
    return f.where(t > 1.0, 1.0, f.where(t > 0.0, t, 0.0))


def _step(t: Expression) -> Expression:
    """Return S(t) = t^4 (2.5 - 3 t + t^2) [1], the integral of the smootherstep, t from 0 to 1."""
    square = t * t
    return square * square * (2.5 - t * (3.0 - t))


def plus(f: Elementary, value: Expression, width: Any) -> Expression:
    """Return the positive part of a value, three times continuously differentiable if width > 0.

    Zero up to -width and the value itself from width on. Between, 2 width S(t) with
    t = (value + width) / (2 width) and S(t) = t⁴ (2.5 - 3 t + t²), the integral of the smootherstep
    t³ (10 - 15 t + 6 t²). The width is a number in the unit of the value, or several, none or all
    of which are 0; at 0 the result is max(value, 0).
    """
    if not np.any(width):
        return f.where(value > 0.0, value, 0.0)
    t = _within(f, (value + width) / (2.0 * width))
    return f.where(value > width, value, 2.0 * width * _step(t))


def plus_integral(f: Elementary, value: Expression, width: float) -> Expression:
    """Return the integral of `plus` from minus infinity to a value.

    From width on this is value²/2 + width²/14: the constant cancels in differences.
    """
    if width == 0.0:
        return f.where(value > 0.0, 0.5 * value * value, 0.0)
    t = _within(f, (value + width) / (2.0 * width))
    inner = 4.0 * width * width * t**5 * (0.5 - 0.5 * t + t * t / 7.0)
    return f.where(value > width, 0.5 * value * value + width * width / 14.0, inner)


def clip_above(f: Elementary, x: Expression, most: float, width: float) -> Expression:
    """Return x up to `most` [any unit], C3 if the width is positive.

    The slope falls from 1 to 0 from x = most to most + 2 width.
    """
    if width == 0.0:
        return f.where(x > most, most, x)
    t = _within(f, (x - most) / (2.0 * width))
    return f.where(x > most, most + 2.0 * width * (t - _step(t)), x)


def clip(f: Elementary, x: Expression, most: float, width: float) -> Expression:
    """Return x [any unit] within -most and most, on each side as of `clip_above`."""
    return clip_above(f, -clip_above(f, -x, most, width), most, width)


def power_of(f: Elementary, base: Expression, exponent: float) -> Expression:
    """Return base >= 0 to a constant exponent >= 0 [any unit]; derivatives at 0 are 0."""
    if exponent == int(exponent) and exponent <= 8.0:
        power = base if exponent else f.where(base > 0.0, 1.0, 0.0)
        for _ in range(int(exponent) - 1):
            power = power * base
        return power
    safe = f.where(base > 0.0, base, 1.0)
    return f.where(base > 0.0, f.sqrt(safe) if exponent == 0.5 else safe**exponent, 0.0)


def cross(a: Expression, b: Expression) -> list[Expression]:
    """Return the cross product of two vectors of three numbers [any unit]."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def factors(f: Any, z: Expression, highest: int, wave: float) -> list[Expression]:
    """Return the factors (d,) of degrees 0 to `highest` of polynomial terms at inputs z (d,) [1].

    Legendre polynomials, by Bonnet's recursion; with wave > 0, those of the first input are 1,
    sin(wave z), cos(wave z), sin(2 wave z), ...
    """
    rows = [1.0 + 0.0 * z, z]
    for e in range(1, highest):
        rows.append(((2 * e + 1) / (e + 1)) * z * rows[e] - (e / (e + 1)) * rows[e - 1])
    if wave == 0.0:
        return rows[: highest + 1]
    s = sine = f.sin(wave * z[0])
    c = cosine = f.cos(wave * z[0])
    series = [1.0]
    for e in range(1, highest + 1):
        if e > 1 and e % 2 == 1:
            s, c = s * cosine + c * sine, c * cosine - s * sine
        series.append(s if e % 2 == 1 else c)
    return [f.join([first, row[1:]]) for first, row in zip(series, rows, strict=False)]
