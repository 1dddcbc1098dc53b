"""Common normal of an ellipsoid and a quadric, in the frame of the quadric.

The quadric is the graph w(u₁, u₂) of

    w = c + g·u + u·H u/2 + w b·u + e w²/2,      coefficients (c, g₁, g₂, H₁₁, H₁₂, H₂₂, b₁, b₂, e),

the ellipsoid (x - centre)·A (x - centre) = 1 is (7, 3): centre, rows of B = A⁻¹, rows of A. Each
function but the search takes real or complex numbers. The constants below are the places of these
numbers.
"""

from __future__ import annotations

import numpy as np

from foundation.base.compiling import fused_part

#: Coefficients of a quadric: c, g (2), H (3), b (2), e.
HEIGHT, SLOPE, CURVATURE, TURN, SQUARE = 0, 1, 3, 6, 8
#: First rows of an ellipsoid: its centre, B and A.
CENTRE, INVERSE, MATRIX = 0, 1, 4
#: Rows of a meeting: x₁, x₂, normal n, t₁, t₂ (tangents), n₁, n₂ (derivatives of n), B n, three
#: numbers, the second derivatives of w, then the third ones in two rows; and the number of rows.
POINT, FEMORAL_POINT, NORMAL, TANGENTS, BENDS = 0, 1, 2, 3, 5
REACH, NUMBERS, SECOND, THIRD, MEETING_ROWS = 7, 8, 9, 10, 12
#: The three numbers: s with s² = n·B n, √(1 + |∇w|²), and the gap along w.
EXTENT, LENGTH, GAP = 0, 1, 2

_STEPS = 40
_LONGEST_STEP = 10e-3  # m
_CLOSED = 1e-13  # m, below the rounding of any coordinate of a knee


@fused_part
def graph(quadric, u, first, second, third):
    """Write the derivatives (2,), (2, 2) and (2, 2, 2) of w over u, and return w.

    NaN (or a complex number without a meaning) where the graph has ended.
    """
    slope_0 = quadric[SLOPE] + quadric[CURVATURE] * u[0] + quadric[CURVATURE + 1] * u[1]
    slope_1 = quadric[SLOPE + 1] + quadric[CURVATURE + 1] * u[0] + quadric[CURVATURE + 2] * u[1]
    flat = quadric[HEIGHT] + 0.5 * (
        (quadric[SLOPE] + slope_0) * u[0] + (quadric[SLOPE + 1] + slope_1) * u[1]
    )
    e = quadric[SQUARE]
    p = 1.0 - quadric[TURN] * u[0] - quadric[TURN + 1] * u[1]
    w = 2.0 * flat / (p + np.sqrt(p * p - 2.0 * e * flat))
    rise = p - e * w
    first[0] = (slope_0 + w * quadric[TURN]) / rise
    first[1] = (slope_1 + w * quadric[TURN + 1]) / rise
    for i in range(2):
        for j in range(2):
            cross = first[i] * quadric[TURN + j] + first[j] * quadric[TURN + i]
            second[i, j] = (quadric[CURVATURE + i + j] + cross + e * first[i] * first[j]) / rise
    for i in range(2):
        for j in range(2):
            for k in range(2):
                third[i, j, k] = (
                    second[i, k] * (quadric[TURN + j] + e * first[j])
                    + second[j, k] * (quadric[TURN + i] + e * first[i])
                    + second[i, j] * (quadric[TURN + k] + e * first[k])
                ) / rise
    return w


@fused_part
def dot(a, b):
    """Return a·b of two vectors (3,), without conjugation."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@fused_part
def cross(a, b):
    """Return a × b (3,)."""
    out = np.empty(3, b.dtype)
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]
    return out


@fused_part
def product(femur, first_row, vector, into):
    """Write the product (3,) of three rows of `femur` from `first_row` on with a vector (3,)."""
    for i in range(3):
        into[i] = dot(femur[first_row + i], vector)


@fused_part
def normal_at(quadric, u, at):
    """Write x₁, the normal n, the tangents, the derivatives of n and those of w at a place u (2,).

    Into the rows of `at`, see `meeting`; returns √(1 + |∇w|²).
    """
    first = np.empty(2, u.dtype)
    second = np.empty((2, 2), u.dtype)
    third = np.empty((2, 2, 2), u.dtype)
    at[POINT, 0], at[POINT, 1], at[POINT, 2] = u[0], u[1], graph(quadric, u, first, second, third)
    length = np.sqrt(1.0 + first[0] * first[0] + first[1] * first[1])
    n = at[NORMAL]
    n[0], n[1], n[2] = -first[0] / length, -first[1] / length, 1.0 / length
    for j in range(2):
        stretch = (first[0] * second[0, j] + first[1] * second[1, j]) / (length * length)
        at[BENDS + j, 0] = -second[0, j] / length - n[0] * stretch
        at[BENDS + j, 1] = -second[1, j] / length - n[1] * stretch
        at[BENDS + j, 2] = -n[2] * stretch
        at[TANGENTS + j, 0], at[TANGENTS + j, 1] = 1.0 - j, 0.0 + j
        at[TANGENTS + j, 2] = first[j]
    at[SECOND, 0], at[SECOND, 1], at[SECOND, 2] = second[0, 0], second[0, 1], second[1, 1]
    at[THIRD, 0], at[THIRD, 1], at[THIRD, 2] = third[0, 0, 0], third[0, 0, 1], third[0, 1, 1]
    at[THIRD + 1, 0], at[THIRD + 1, 1], at[THIRD + 1, 2] = third[1, 1, 1], 0.0, 0.0
    return length


@fused_part
def meeting(femur, quadric, u, upright, closure, slope, at):
    """Write the closure (2,) of a common normal at u, its derivative (2, 2) and where it is.

    The ellipsoid's point x₂ with the normal opposite to that of the quadric's point x₁ must lie
    above x₁: along the normal, (x₂ - x₁)·t_i = 0 with the tangents t_i, or along the axis w if
    `upright`. The rows of `at` (12, 3) are those from `POINT` on.

    Returns the overlap along the normal, -n·(x₂ - x₁).
    """
    length = normal_at(quadric, u, at)
    n, reach = at[NORMAL], at[REACH]
    product(femur, INVERSE, n, reach)
    s = np.sqrt(dot(n, reach))
    apart = np.empty(3, u.dtype)
    for i in range(3):
        at[FEMORAL_POINT, i] = femur[CENTRE, i] - reach[i] / s
        apart[i] = at[FEMORAL_POINT, i] - at[POINT, i]
    at[NUMBERS, EXTENT], at[NUMBERS, LENGTH], at[NUMBERS, GAP] = s, length, apart[2]
    moved = np.empty(3, u.dtype)
    for j in range(2):
        product(femur, INVERSE, at[BENDS + j], moved)
        along = dot(reach, at[BENDS + j]) / (s * s * s)
        for i in range(3):
            moved[i] = -moved[i] / s + reach[i] * along - at[TANGENTS + j, i]
        for i in range(2):
            slope[i, j] = moved[i]
            if not upright:
                slope[i, j] += at[TANGENTS + i, 2] * moved[2] + at[SECOND, i + j] * apart[2]
    for i in range(2):
        closure[i] = apart[i]
        if not upright:
            closure[i] += at[TANGENTS + i, 2] * apart[2]
    return -dot(n, apart)


@fused_part
def newton_step(closure, slope, step):
    """Write the step (2,) of Newton's method; return whether it leads to a least gap."""
    det = slope[0, 0] * slope[1, 1] - slope[0, 1] * slope[1, 0]
    step[0] = -(slope[1, 1] * closure[0] - slope[0, 1] * closure[1]) / det
    step[1] = -(slope[0, 0] * closure[1] - slope[1, 0] * closure[0]) / det
    return det.real > 0.0 and (slope[0, 0] + slope[1, 1]).real < 0.0


@fused_part
def find_meeting(femur, quadric, upright, u, closure, slope, at):
    """Move u (2,) to a common normal by Newton's method; return whether the method has converged.

    `closure`, `slope` and `at` become those of the last u but one, closer than rounding.
    """
    step = np.empty(2)
    size = np.inf
    for _ in range(_STEPS):
        meeting(femur, quadric, u, upright, closure, slope, at)
        curved = newton_step(closure, slope, step)
        if upright and not curved:
            # Where the gap has no least value near by, u moves to below the ellipsoid's point.
            step[0], step[1] = closure[0], closure[1]
        size = max(abs(step[0]), abs(step[1]))
        if not size < 1.0:  # metres; or NaN
            return False
        part = min(1.0, _LONGEST_STEP / size) if size > 0.0 else 1.0
        u[0] += part * step[0]
        u[1] += part * step[1]
        if size < _CLOSED:
            break
    # The last digits may alternate.
    return size < 1e3 * _CLOSED
