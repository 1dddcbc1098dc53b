"""Exponential and hyperbolic tangent of rows, to a few units in the last place."""

from __future__ import annotations

import math

from foundation.base.compiling import inlined
from surrogates.compiled.lanes import SHIFT, absolute, at_most, fma, power_of_two, signed

_PER_LOG2 = 1.0 / math.log(2.0)
# log 2 in two parts, the first with enough zeros behind it for an exact product with k (fdlibm).
_LOG2_HIGH, _LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_MOST = 760.0  # exp(-745.2) and less is 0
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (
    1.0 / math.factorial(i) for i in range(2, 14)
)


@inlined
def _series(r):
    """Return exp(r) - 1 for |r| <= log(2) / 2, by Taylor's series."""
    p = fma(r, _C13, _C12)
    p = fma(p, r, _C11)
    p = fma(p, r, _C10)
    p = fma(p, r, _C9)
    p = fma(p, r, _C8)
    p = fma(p, r, _C7)
    p = fma(p, r, _C6)
    p = fma(p, r, _C5)
    p = fma(p, r, _C4)
    p = fma(p, r, _C3)
    p = fma(p, r, _C2)
    return fma(p, r * r, r)


@inlined
def decay(v):
    """Return exp(-v) of a row of numbers >= 0; results below the least double are 0."""
    v = at_most(v, _MOST)
    shifted = fma(v, -_PER_LOG2, SHIFT)
    k = shifted - SHIFT
    part = _series(fma(k, _LOG2_LOW, fma(k, _LOG2_HIGH, v)) * -1.0)
    # 2^k in two steps, for results that are not normal numbers.
    scale = power_of_two(shifted + 128.0)
    return fma(part, scale, scale) * 2.0**-128


@inlined
def hyperbolic_tangent(v):
    """Return tanh(v) of a row: q / (q + 2), q = exp(2 |v|) - 1, which keeps small numbers exact."""
    twice = at_most(absolute(v), 20.0) * 2.0  # tanh(20) is 1
    shifted = fma(twice, _PER_LOG2, SHIFT)
    k = shifted - SHIFT
    part = _series(fma(k, -_LOG2_LOW, fma(k, -_LOG2_HIGH, twice)))
    scale = power_of_two(shifted)
    q = fma(part, scale, scale - 1.0)
    return signed(q / (q + 2.0), v)
