"""Elementary functions of a namespace, and the smooth functions built from these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from surrogates.core.regressor_data import RegressorData

#: A number, vector or matrix of a namespace: an expression of CasADi or an array of JAX.
Expression = Any


class Functions(Protocol):
    """Elementary functions of expressions; vectors are one-dimensional, functions elementwise."""

    def constant(self, values: FloatArray) -> Expression:
        """Return an array (n,) or (n, m) [any unit] as an expression."""
        ...

    def sin(self, x: Expression) -> Expression:
        """Return the sine."""
        ...

    def cos(self, x: Expression) -> Expression:
        """Return the cosine."""
        ...

    def exp(self, x: Expression) -> Expression:
        """Return the exponential."""
        ...

    def sqrt(self, x: Expression) -> Expression:
        """Return the square root."""
        ...

    def tanh(self, x: Expression) -> Expression:
        """Return the hyperbolic tangent."""
        ...

    def power(self, x: Expression, exponent: float) -> Expression:
        """Return x to a constant exponent, x > 0."""
        ...

    def where(self, condition: Expression, yes: Expression, no: Expression) -> Expression:
        """Return `yes` where the condition holds, `no` elsewhere; also of their derivatives."""
        ...

    def minimum(self, a: Expression, b: Expression) -> Expression:
        """Return the smaller one."""
        ...

    def maximum(self, a: Expression, b: Expression) -> Expression:
        """Return the larger one."""
        ...

    def join(self, parts: Sequence[Expression]) -> Expression:
        """Return the vector of numbers and vectors, one after the other."""
        ...

    def matmul(self, matrix: FloatArray, vector: Expression) -> Expression:
        """Return the product (n,) of a matrix (n, m) [any unit] and a vector (m,)."""
        ...

    def outer(self, a: Expression, b: Expression) -> Expression:
        """Return the products (n m,) of each element of a vector (n,) and each of another (m,)."""
        ...

    def combined(self, weights: Expression, rows: Expression) -> Expression:
        """Return the sum (m,) of rows (T m,), one after the other, times weights (T,)."""
        ...

    def fixed(self, x: Expression) -> Expression:
        """Return the value of x, without derivatives."""
        ...

    def iterated(
        self, function: Callable[[Expression], Expression], x: Expression, count: int
    ) -> Expression:
        """Return what becomes of a number x when a function is applied `count` times."""
        ...

    def learner(self, data: RegressorData) -> Any:
        """Return the expressions of a regressor, a `learners.Learner`."""
        ...

    def implicit(
        self,
        find: Callable[..., Expression],
        refine: Callable[..., Expression],
        slopes: Callable[..., tuple[Expression, ...]],
        *inputs: Expression,
    ) -> Expression:
        """Return the number s that inputs imply, with the derivatives of the implicit function.

        `find(*inputs)` is the number without derivatives, `refine(s, *inputs)` one with first and
        second derivatives, `slopes(s, *inputs)` are the derivatives by each of the inputs.
        """
        ...

    def gradient(
        self, function: Callable[..., Expression], at: Expression, *beside: Expression
    ) -> Expression:
        """Return d(function(at, *beside))/d(at) (n,), of a function whose value is a number."""
        ...

    def products(self, table: Sequence[Expression], exponents: NDArray[np.int64]) -> Expression:
        """Return the products (T,) over all inputs j of table[e][j], e the exponents (T, d)."""
        ...


def step(t: Expression) -> Expression:
    """Return S(t) = t^4 (2.5 - 3 t + t^2) [1], the integral of the smootherstep, t from 0 to 1."""
    square = t * t
    return square * square * (2.5 - t * (3.0 - t))


def plus(f: Functions, r: Expression, width: float) -> Expression:
    """Return the positive part of r [any unit], C3 if the width is positive."""
    if width == 0.0:
        return f.where(r > 0.0, r, 0.0)
    t = f.where(r > width, 1.0, f.where(r > -width, (r + width) / (2.0 * width), 0.0))
    return f.where(r > width, r, 2.0 * width * step(t))


def clip(f: Functions, x: Expression, most: float, width: float) -> Expression:
    """Return x [any unit] within -most and most, C3 if the width is positive.

    The slope falls from 1 to 0 from |x| = most to most + 2 width.
    """
    if width == 0.0:
        return f.where(x > most, most, f.where(x < -most, -most, x))
    return above_clip(f, above_clip(f, x, most, width, -1.0), most, width, 1.0)


def above_clip(f: Functions, x: Expression, most: float, width: float, sign: float) -> Expression:
    """Return the clip of x on one side, sign (1 or -1) times above `most` [any unit]."""
    t = _beyond(f, sign * x, most, width)
    held = sign * (most + 2.0 * width * (t - step(t)))
    return f.where(sign * x > most, held, x)


def clip_above(f: Functions, s: Expression, width: float) -> tuple[Expression, ...]:
    """Return s [1] clipped above 1, and its first and second derivatives."""
    if width == 0.0:
        return f.where(s > 1.0, 1.0, s), f.where(s > 1.0, 0.0, 1.0), 0.0 * s
    t = _beyond(f, s, 1.0, width)
    value = f.where(s > 1.0, 1.0 + 2.0 * width * (t - step(t)), s)
    slope = 1.0 - t * t * t * (10.0 - t * (15.0 - 6.0 * t))
    rest = 1.0 - t
    return value, slope, -30.0 * t * t * rest * rest / (2.0 * width)


def _beyond(f: Functions, x: Expression, most: float, width: float) -> Expression:
    t = (x - most) / (2.0 * width)
    return f.where(t > 1.0, 1.0, f.where(t > 0.0, t, 0.0))


def power_of(f: Functions, base: Expression, exponent: float) -> Expression:
    """Return base >= 0 to a constant exponent >= 0 [any unit]; derivatives at 0 are 0."""
    if exponent == int(exponent) and exponent <= 8.0:
        found = base if exponent else f.where(base > 0.0, 1.0, 0.0)
        for _ in range(int(exponent) - 1):
            found = found * base
        return found
    safe = f.where(base > 0.0, base, 1.0)
    return f.where(base > 0.0, f.power(safe, exponent), 0.0)


def cross(f: Functions, a: Expression, b: Expression) -> Expression:
    """Return the cross product (3,) of vectors (3,) [any unit]."""
    return f.join([
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ])  # fmt: skip


def whole_numbers(values: NDArray[Any]) -> list[int]:
    """Return an array (n,) [1] as Python integers, which index expressions."""
    return [int(v) for v in np.ravel(values)]
