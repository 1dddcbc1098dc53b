"""Loads of an ellipsoid on a quadric: overlap, Hertz's stiffness and the gradient of the energy.

Frame, ellipsoid and quadric are those of `foundation.kernels.common_normal`, equations those of
docs/fitted_surfaces.md. Each function takes real or complex numbers: derivatives by the
pose are complex steps (Squire & Trapp 1998, SIAM Rev 40:110-112), exact up to rounding.
"""

from __future__ import annotations

import numpy as np

from foundation.base.compiling import fused_kernel, fused_part
from foundation.base.loads import AREA, CENTRE_X, MEAN_PRESSURE, PEAK_PRESSURE
from foundation.kernels.common_normal import (
    BENDS,
    CENTRE,
    EXTENT,
    GAP,
    INVERSE,
    LENGTH,
    MATRIX,
    MEETING_ROWS,
    NORMAL,
    NUMBERS,
    POINT,
    REACH,
    SECOND,
    TANGENTS,
    THIRD,
    cross,
    dot,
    find_meeting,
    meeting,
    newton_step,
    product,
)

#: Outcomes of `fitted_contact`.
OUT_OF_CONTACT, TOUCHING, NOT_FOUND, CONFORMING = range(4)
#: Places in a result after the loads, which have the order of `foundation.base.loads.LOAD_COLUMNS`:
#: depth [m], energy [J], determinant [1/m²] and trace [1/m] of the relative curvature.
DEPTH, ENERGY, DETERMINANT, TRACE = range(12, 16)
FITTED_RESULTS = 16
#: Numbers of a law: E*, constant stiffness or 0 for Hertz's, exponent, least ln x of the factors.
MODULUS, STIFFNESS, EXPONENT, LEAST_RATIO = range(4)
#: Rows of the factors, Chebyshev coefficients: ln Φ, its derivative by ln x, and ln F₁.
SHAPE, SHAPE_SLOPE, SIZE = range(3)
_IMAGINARY = 1e-30


@fused_part
def series(coefficients, place):
    """Return a sum of Chebyshev polynomials (N,) at a place, by Clenshaw's recurrence."""
    later = 0.0 * place
    last = 0.0 * place
    for k in range(coefficients.shape[0] - 1, 0, -1):
        later, last = 2.0 * place * later - last + coefficients[k], later
    return place * later - last + coefficients[0]


@fused_part
def relative_curvature(femur, at, form, metric):
    """Write the second form C (2, 2) of the gap and the metric g (2, 2); return det and trace."""
    s, length = at[NUMBERS, EXTENT], at[NUMBERS, LENGTH]
    turned = np.empty(3, at.dtype)
    for i in range(2):
        product(femur, MATRIX, at[TANGENTS + i], turned)
        for j in range(2):
            form[i, j] = s * dot(turned, at[TANGENTS + j]) - at[SECOND, i + j] / length
            metric[i, j] = dot(at[TANGENTS + i], at[TANGENTS + j])
    area = metric[0, 0] * metric[1, 1] - metric[0, 1] * metric[0, 1]
    det = (form[0, 0] * form[1, 1] - form[0, 1] * form[0, 1]) / area
    trace = (
        metric[1, 1] * form[0, 0] + metric[0, 0] * form[1, 1] - 2.0 * metric[0, 1] * form[0, 1]
    ) / area
    return det, trace


@fused_part
def form_rates(femur, at, k, form, metric):
    """Write the derivatives of C and g (2, 2) by u_k, k < 2, or by rotation about axis k - 2."""
    n, reach, s, length = at[NORMAL], at[REACH], at[NUMBERS, EXTENT], at[NUMBERS, LENGTH]
    axis = np.zeros(3, at.dtype)
    turns = np.empty((2, 3), at.dtype)
    turned = np.empty((2, 3), at.dtype)
    product(femur, MATRIX, at[TANGENTS], turned[0])
    product(femur, MATRIX, at[TANGENTS + 1], turned[1])
    if k < 2:
        rate = dot(reach, at[BENDS + k]) / s
        stretch = (
            at[TANGENTS, 2] * at[SECOND, k] + at[TANGENTS + 1, 2] * at[SECOND, 1 + k]
        ) / length
    else:
        axis[k - 2] = 1.0
        rate = dot(n, cross(axis, reach)) / s
        stretch = 0.0 * s
        turns[0] = cross(axis, at[TANGENTS])
        turns[1] = cross(axis, at[TANGENTS + 1])
    for i in range(2):
        for j in range(2):
            value = rate * dot(turned[i], at[TANGENTS + j])
            if k < 2:
                bend_i, bend_j = at[SECOND, i + k], at[SECOND, j + k]
                value += s * (bend_i * turned[j, 2] + bend_j * turned[i, 2])
                value += at[SECOND, i + j] * stretch / (length * length)
                order = i + j + k
                value -= (at[THIRD, order] if order < 3 else at[THIRD + 1, 0]) / length
                metric[i, j] = bend_i * at[TANGENTS + j, 2] + bend_j * at[TANGENTS + i, 2]
            else:
                value -= s * (dot(turns[i], turned[j]) + dot(turned[i], turns[j]))
                metric[i, j] = 0.0 * s
            form[i, j] = value


@fused_part
def log_rates(femur, at, det, trace, form, metric, by_place, rates):
    """Write the derivatives (5,) of ln K by u and rotation; `by_place` is that of ln Φ by ln x."""
    d_form = np.empty((2, 2), at.dtype)
    d_metric = np.empty((2, 2), at.dtype)
    area = metric[0, 0] * metric[1, 1] - metric[0, 1] * metric[0, 1]
    for k in range(5):
        form_rates(femur, at, k, d_form, d_metric)
        d_area = (
            d_metric[0, 0] * metric[1, 1]
            + metric[0, 0] * d_metric[1, 1]
            - 2.0 * metric[0, 1] * d_metric[0, 1]
        ) / area
        d_det = (
            d_form[0, 0] * form[1, 1] + form[0, 0] * d_form[1, 1] - 2.0 * form[0, 1] * d_form[0, 1]
        ) / (area * det) - d_area
        d_trace = (
            d_metric[1, 1] * form[0, 0] + metric[1, 1] * d_form[0, 0]
            + d_metric[0, 0] * form[1, 1] + metric[0, 0] * d_form[1, 1]
            - 2.0 * (d_metric[0, 1] * form[0, 1] + metric[0, 1] * d_form[0, 1])
        ) / (area * trace) - d_area  # fmt: skip
        rates[k] = -0.25 * d_det + by_place * (d_det - 2.0 * d_trace)


@fused_part
def add_gradient(femur, at, slope, rates, scale, wrench):
    """Subtract from a wrench (6,) `scale` times the derivative of ln K by the femur's motion."""
    n, reach, s = at[NORMAL], at[REACH], at[NUMBERS, EXTENT]
    det = slope[0, 0] * slope[1, 1] - slope[0, 1] * slope[1, 0]
    pull = np.empty(2, at.dtype)
    pull[0] = -(slope[1, 1] * rates[0] - slope[1, 0] * rates[1]) / det
    pull[1] = -(slope[0, 0] * rates[1] - slope[0, 1] * rates[0]) / det
    along = np.empty(3, at.dtype)
    for i in range(3):
        along[i] = pull[0] * at[TANGENTS, i] + pull[1] * at[TANGENTS + 1, i]
        wrench[i] -= scale * along[i]
    axis = np.zeros(3, at.dtype)
    spread = np.empty(3, at.dtype)
    moved = np.empty(3, at.dtype)
    for k in range(3):
        axis[:] = 0.0
        axis[k] = 1.0
        # x₂ at a fixed normal: c - B n/s turns with B, and s changes.
        product(femur, INVERSE, cross(axis, n), spread)
        turned = cross(axis, reach)
        stretch = dot(n, turned) / s
        from_centre = cross(axis, femur[CENTRE])
        for i in range(3):
            moved[i] = from_centre[i] - (turned[i] - spread[i]) / s + reach[i] * stretch / (s * s)
        wrench[3 + k] -= scale * (dot(along, moved) + rates[2 + k])


@fused_part
def wrench_at(femur, quadric, law, factors, u, result, wrench):
    """Write wrench (6,) about the frame's origin and result (`FITTED_RESULTS`,) at a meeting u.

    The numbers of `law` (4,) are those from `MODULUS` on, the rows of `factors` (3, N) those from
    `SHAPE` on.

    Returns the outcome.
    """
    at = np.empty((MEETING_ROWS, 3), u.dtype)
    closure = np.empty(2, u.dtype)
    slope = np.empty((2, 2), u.dtype)
    form = np.empty((2, 2), u.dtype)
    metric = np.empty((2, 2), u.dtype)
    depth = meeting(femur, quadric, u, np.bool_(False), closure, slope, at)
    det, trace = relative_curvature(femur, at, form, metric)
    ratio = 4.0 * det / (trace * trace)
    if not (det.real > 0.0 and trace.real > 0.0 and np.log(ratio.real) >= law[LEAST_RATIO]):
        return CONFORMING
    place = 1.0 - 2.0 * np.log(ratio) / law[LEAST_RATIO]
    stiffness = law[STIFFNESS] + 0.0 * det
    if law[STIFFNESS] == 0.0:
        stiffness = (
            4.0 / 3.0 * law[MODULUS] * np.exp(series(factors[SHAPE], place)) / np.sqrt(np.sqrt(det))
        )
    force = stiffness * depth ** law[EXPONENT]
    energy = force * depth / (law[EXPONENT] + 1.0)
    for i in range(3):
        wrench[i] = force * at[NORMAL, i]
    wrench[3:] = cross(at[POINT], wrench[:3])
    if law[STIFFNESS] == 0.0:
        rates = np.empty(5, u.dtype)
        by_place = series(factors[SHAPE_SLOPE], place)
        log_rates(femur, at, det, trace, form, metric, by_place, rates)
        add_gradient(femur, at, slope, rates, energy, wrench)
    mean = np.exp(series(factors[SIZE], place)) * (
        0.75 * force / (law[MODULUS] * np.sqrt(det))
    ) ** (1 / 3)
    area = np.pi * mean * mean
    result[AREA], result[PEAK_PRESSURE] = area, 1.5 * force / area
    result[MEAN_PRESSURE] = force / area
    result[CENTRE_X : CENTRE_X + 3] = at[POINT]
    result[DEPTH], result[ENERGY], result[DETERMINANT], result[TRACE] = depth, energy, det, trace
    return TOUCHING


@fused_part
def stepped(femur, k, into):
    """Write the ellipsoid (7, 3) after an imaginary step of the twist's component k."""
    step = _IMAGINARY * 1j
    for i in range(7):
        for j in range(3):
            into[i, j] = femur[i, j]
    if k < 3:
        into[CENTRE, k] += step
        return
    axis = np.zeros(3)
    axis[k - 3] = 1.0
    turned = cross(axis, femur[CENTRE])
    for i in range(3):
        into[CENTRE, i] += step * turned[i]
    for start in (INVERSE, MATRIX):
        # [e] M - M [e], of a symmetric matrix: the columns turn, and so do the rows.
        for i in range(3):
            turned = cross(axis, femur[start + i])
            for j in range(3):
                into[start + j, i] += step * turned[j]
                into[start + i, j] += step * turned[j]


@fused_part
def write_jacobian(femur, quadric, law, factors, u, jacobian):
    """Write the derivative (6, 6) of the wrench by the femur's twist, at a meeting u (2,)."""
    moved = np.empty((7, 3), np.complex128)
    other = np.empty(FITTED_RESULTS, np.complex128)
    wrench = np.empty(6, np.complex128)
    v = np.empty(2, np.complex128)
    step = np.empty(2, np.complex128)
    closure = np.empty(2, np.complex128)
    slope = np.empty((2, 2), np.complex128)
    at = np.empty((MEETING_ROWS, 3), np.complex128)
    for k in range(6):
        stepped(femur, k, moved)
        v[0], v[1] = u[0], u[1]
        # One step of Newton's method moves the meeting by its exact derivative.
        meeting(moved, quadric, v, np.bool_(False), closure, slope, at)
        newton_step(closure, slope, step)
        v[0] += step[0]
        v[1] += step[1]
        wrench_at(moved, quadric, law, factors, v, other, wrench)
        for i in range(6):
            jacobian[i, k] = wrench[i].imag / _IMAGINARY


@fused_kernel
def fitted_contact(femur, quadric, law, factors, with_jacobian, result, jacobian):
    """Write loads (`FITTED_RESULTS`,) and the derivative (6, 6) of the wrench by the femur's twist.

    Both about the origin of the quadric's frame, which the ellipsoid `femur` (7, 3) is given in.
    The result is zero out of contact, its centre NaN.

    Returns the outcome: `OUT_OF_CONTACT`, `TOUCHING`, `NOT_FOUND` or `CONFORMING`.
    """
    result[:] = 0.0
    result[CENTRE_X : CENTRE_X + 3] = np.nan
    jacobian[:] = 0.0
    at = np.empty((MEETING_ROWS, 3))
    closure = np.empty(2)
    slope = np.empty((2, 2))
    u = np.empty(2)
    # From below the ellipsoid's lowest point to the least gap along w, which every pose has.
    low = np.sqrt(femur[INVERSE + 2, 2])
    u[0] = femur[CENTRE, 0] - femur[INVERSE, 2] / low
    u[1] = femur[CENTRE, 1] - femur[INVERSE + 1, 2] / low
    if not find_meeting(femur, quadric, np.bool_(True), u, closure, slope, at):
        return NOT_FOUND
    if at[NUMBERS, GAP] >= 0.0:
        return OUT_OF_CONTACT
    if not find_meeting(femur, quadric, np.bool_(False), u, closure, slope, at):
        return NOT_FOUND
    if meeting(femur, quadric, u, np.bool_(False), closure, slope, at) <= 0.0:
        return OUT_OF_CONTACT
    outcome = wrench_at(femur, quadric, law, factors, u, result, result[:6])
    if outcome != TOUCHING or not with_jacobian:
        return outcome
    write_jacobian(femur, quadric, law, factors, u, jacobian)
    return outcome
