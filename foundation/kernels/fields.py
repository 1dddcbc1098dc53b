"""The quadratic field of indentation over an element of the bed."""

from __future__ import annotations

import numpy as np

from foundation.base.compiling import fused_part

#: Slope of the indentation that is taken for zero, so that its direction always has a limit.
_LEAST_SLOPE = 1e-7
#: Largest slope over which the edge is smoothed.
LARGEST_SLOPE = 0.1


@fused_part
def quadratic_shapes(u, v, out):
    """Write the six quadratic shape functions of a triangle at (u, v)."""
    w = 1.0 - u - v
    out[0] = w * (2.0 * w - 1.0)
    out[1] = u * (2.0 * u - 1.0)
    out[2] = v * (2.0 * v - 1.0)
    out[3] = 4.0 * u * w
    out[4] = 4.0 * u * v
    out[5] = 4.0 * v * w


@fused_part
def field_slope(metric, elements, element, depth, slopes):
    """Return the slope of the indentation over the plane triangle of an element's corners.

    The slope is 0 only in the limit. Writes the derivatives by the indentations of the corners to
    ``slopes`` (3,).
    """
    n = elements
    d0, d1, d2 = depth[n[element, 0]], depth[n[element, 1]], depth[n[element, 2]]
    total = _LEAST_SLOPE * _LEAST_SLOPE
    for i in range(3):
        slopes[i] = (
            metric[element, i, 0] * d0 + metric[element, i, 1] * d1 + metric[element, i, 2] * d2
        )
    total += slopes[0] * d0 + slopes[1] * d1 + slopes[2] * d2
    slope = np.sqrt(total)
    # Beyond any slope of real contact the smoothing need not grow.
    limit = min(1.0, LARGEST_SLOPE / slope)
    for i in range(3):
        slopes[i] = slopes[i] / slope if limit == 1.0 else 0.0
    return slope * limit


@fused_part
def bound_of_field(elements, element, depth):
    """Return a bound of the field over an element: the largest of its Bezier coefficients."""
    n = elements
    d0, d1, d2 = depth[n[element, 0]], depth[n[element, 1]], depth[n[element, 2]]
    d3, d4, d5 = depth[n[element, 3]], depth[n[element, 4]], depth[n[element, 5]]
    edges = max(2.0 * d3 - 0.5 * (d0 + d1), 2.0 * d4 - 0.5 * (d1 + d2), 2.0 * d5 - 0.5 * (d2 + d0))
    return max(d0, d1, d2, edges)


@fused_part
def highest_of_field(elements, element, depth):
    """Return the largest indentation of the field over an element and its place: (d, u, v).

    Candidates are the corners and the stationary points on the edges and inside.
    """
    n = elements
    d0, d1, d2 = depth[n[element, 0]], depth[n[element, 1]], depth[n[element, 2]]
    d3, d4, d5 = depth[n[element, 3]], depth[n[element, 4]], depth[n[element, 5]]
    # The field is d0 + a1 u + a2 v + a3 u² + a4 u v + a5 v².
    a1, a2 = 4.0 * d3 - 3.0 * d0 - d1, 4.0 * d5 - 3.0 * d0 - d2
    a3, a5 = 2.0 * (d0 + d1) - 4.0 * d3, 2.0 * (d0 + d2) - 4.0 * d5
    a4 = 4.0 * (d0 + d4 - d3 - d5)
    best, bu, bv = d0, 0.0, 0.0
    if d1 > best:
        best, bu, bv = d1, 1.0, 0.0
    if d2 > best:
        best, bu, bv = d2, 0.0, 1.0
    for edge in range(3):
        if edge == 0:
            begin, middle, end = d0, d3, d1
        elif edge == 1:
            begin, middle, end = d1, d4, d2
        else:
            begin, middle, end = d2, d5, d0
        bend = 2.0 * (begin + end) - 4.0 * middle
        t = -0.5 * (4.0 * middle - 3.0 * begin - end) / bend if bend < 0.0 else 0.0
        if 0.0 < t < 1.0:
            u = t if edge == 0 else (1.0 - t if edge == 1 else 0.0)
            v = 0.0 if edge == 0 else (t if edge == 1 else 1.0 - t)
            value = d0 + u * (a1 + a3 * u + a4 * v) + v * (a2 + a5 * v)
            if value > best:
                best, bu, bv = value, u, v
    det = 4.0 * a3 * a5 - a4 * a4
    if det > 0.0 and a3 < 0.0:
        u, v = (a4 * a2 - 2.0 * a5 * a1) / det, (a4 * a1 - 2.0 * a3 * a2) / det
        if u > 0.0 and v > 0.0 and u + v < 1.0:
            value = d0 + u * (a1 + a3 * u + a4 * v) + v * (a2 + a5 * v)
            if value > best:
                best, bu, bv = value, u, v
    return best, bu, bv
