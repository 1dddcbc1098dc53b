"""Twice continuously differentiable forms of max(r, 0) and of the clip of a variable (theory.md).

Both are built from S(t) = t^4 (5/2 - 3 t + t^2), the integral of the smootherstep of Perlin (2002,
ACM Trans Graph 21:681-682). A width of 0 gives max(r, 0) and the clip themselves.
"""

from __future__ import annotations

from foundation.base.compiling import part


@part
def _step(t):
    """Return S, S' and S'' at t, from 0 to 1."""
    rest = 1.0 - t
    return (
        t * t * t * t * (2.5 - t * (3.0 - t)),
        t * t * t * (10.0 - t * (15.0 - 6.0 * t)),
        30.0 * t * t * rest * rest,
    )


@part
def positive_part(r, width):
    """Return the smooth max(r, 0), other than max(r, 0) within `width` of 0, and 2 derivatives."""
    if r >= width:
        return r, 1.0, 0.0
    if r <= -width:
        return 0.0, 0.0, 0.0
    breadth = 2.0 * width
    value, slope, bend = _step((r + width) / breadth)
    return breadth * value, slope, bend / breadth


@part
def clipped(x, most, width):
    """Return the smooth clip of x to [-most, most], and two derivatives.

    Between `most` and `most` + 2 `width` in size the slope falls from 1 to 0, so that the result
    reaches `most` + `width`.
    """
    size = abs(x)
    if size <= most:
        return x, 1.0, 0.0
    sign = 1.0 if x > 0.0 else -1.0
    if width == 0.0 or size >= most + 2.0 * width:
        # written so that NaN is clipped to `most`, as min(max(x, -most), most) does
        return sign * (most + width), 0.0, 0.0
    breadth = 2.0 * width
    t = (size - most) / breadth
    value, slope, bend = _step(t)
    return (
        sign * (most + breadth * (t - value)),
        1.0 - slope,
        -sign * bend / breadth,
    )


@part
def last_input(s, width):
    """Return s clipped at 1 from above alone, and two derivatives."""
    if s <= 1.0:
        return s, 1.0, 0.0
    return clipped(s, 1.0, width)
