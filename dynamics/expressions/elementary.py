"""Elementary functions of CasADi, JAX or NumPy, and the smooth positive part.

Expressions are scalars: numbers, SX and MX of CasADi, or traced values of JAX. Vectors are
sequences of scalars. Any array that can be indexed by one number is such a sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from foundation.base.errors import InputError

#: A number, or a symbol of CasADi or JAX.
Scalar: TypeAlias = Any
#: An array or a sequence of scalars.
Vector: TypeAlias = Any


class Elementary(NamedTuple):
    """The elementary functions of a package."""

    #: Functions of one scalar.
    sin: Callable[[Scalar], Scalar]
    cos: Callable[[Scalar], Scalar]
    sqrt: Callable[[Scalar], Scalar]
    #: Function of a condition and two scalars: the first where the condition holds.
    where: Callable[[Scalar, Scalar, Scalar], Scalar]
    #: Whether the functions also take arrays, so that all bundles are one array.
    arrays: bool

    @classmethod
    def of(cls, package: Any) -> Self:
        """Return the functions of `casadi`, `jax.numpy`, `numpy` or a package like these.

        Raises `InputError` if the package lacks one of the functions.
        """
        where = getattr(package, "if_else", None) or getattr(package, "where", None)
        found: list[Any] = [getattr(package, name, None) for name in ("sin", "cos", "sqrt")]
        if where is None or None in found:
            raise InputError(
                "package: expected casadi, jax.numpy or numpy, with sin, cos, sqrt and if_else or "
                f"where, found {getattr(package, '__name__', package)}"
            )
        sin, cos, sqrt = found
        return cls(sin, cos, sqrt, where, not hasattr(package, "if_else"))


def plus(functions: Elementary, value: Scalar, width: Scalar) -> Scalar:
    """Return the positive part of a value, three times continuously differentiable if width > 0.

    Zero up to -width and the value itself from width on. Between, 2 width S(t) with
    t = (value + width) / (2 width) and S(t) = t⁴ (2.5 - 3 t + t²), the integral of the smootherstep
    t³ (10 - 15 t + 6 t²). The width is a number in the unit of the value; at 0 the result is
    max(value, 0).
    """
    if not np.any(width):
        return functions.where(value > 0.0, value, 0.0)
    t = (value + width) / (2.0 * width)
    return _between(functions, value, t, 2.0 * width * t**4 * (2.5 - 3.0 * t + t * t))


def plus_integral(functions: Elementary, value: Scalar, width: float) -> Scalar:
    """Return the integral of `plus` from minus infinity to a value.

    From width on this is value²/2 + width²/14: the constant cancels in differences.
    """
    if width == 0.0:
        return functions.where(value > 0.0, 0.5 * value * value, 0.0)
    t = (value + width) / (2.0 * width)
    inner = 4.0 * width * width * t**5 * (0.5 - 0.5 * t + t * t / 7.0)
    return _between(functions, 0.5 * value * value + width * width / 14.0, t, inner)


def _between(functions: Elementary, beyond: Scalar, t: Scalar, inner: Scalar) -> Scalar:
    """Return zero for t <= 0, `inner` up to t = 1, and `beyond` from there."""
    return functions.where(t > 0.0, functions.where(t < 1.0, inner, beyond), 0.0)


def cross(a: Vector, b: Vector) -> list[Scalar]:
    """Return the cross product of two vectors of three scalars."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def dot(a: Vector, b: Vector) -> Scalar:
    """Return the scalar product of two vectors of three scalars."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def added(a: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    """Return the sum of two sequences of scalars of equal length."""
    return [x + y for x, y in zip(a, b, strict=True)]
