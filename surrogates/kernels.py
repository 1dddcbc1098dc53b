"""Compiled evaluation of the regressors: one calling convention for every family.

Every family is the same sum in scaled coordinates z = (x - x_offset) / x_scale,

    y = y_offset + y_scale * ( sum_t coefficients[t] P_t(z) + sum_i weights[i] r(z, z_i) ),

with P_t a product of Legendre polynomials and r a correlation function. A response surface has no
points; a Kriging model has the trend as its polynomial. A regressor's `kernel_arguments()` gives
these, always with the same types, to be passed on as ``evaluate(x, *arguments, value, jacobian)``:

==============  ===============  ===========================================================
correlation     int              0 none, 1 squar_exp, 2 matern52, 3 matern32
terms           (T, 3) int64     parent term, variable, degree (`training.polynomial_terms`)
coefficients    (T, k) float64   of the polynomial
points          (d, n) float64   scaled training inputs, one column a sample
theta           (d,) float64     correlation parameters in scaled inputs
weights         (n, k) float64   of the correlations
x_offset        (d,) float64     scaling of the inputs, likewise x_scale
y_offset        (k,) float64     scaling of the outputs, likewise y_scale
==============  ===============  ===========================================================

Sums run in a fixed order without fastmath, so an answer depends on nothing but its arguments. All
arrays are C-contiguous. Kernels neither check nor raise.

Correlations (per-dimension products, as in SMT; l = theta |z - z_i|):
squar_exp exp(-theta (z - z_i)^2), matern52 (1 + sqrt5 l + 5/3 l^2) exp(-sqrt5 l),
matern32 (1 + sqrt3 l) exp(-sqrt3 l); Rasmussen & Williams (2006), eq. 4.9, 4.17.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

NO_CORRELATION = 0
SQUARED_EXPONENTIAL = 1
MATERN_52 = 2
MATERN_32 = 3

_BLOCK = 256  # points at a time: the scratch of one block stays in the first-level cache
_ROOT3 = math.sqrt(3.0)
_ROOT5 = math.sqrt(5.0)


@njit(cache=True)
def _legendre(z, degree):
    """Legendre polynomials and their slopes, (2, d, degree + 1), by their recurrences."""
    table = np.empty((2, z.size, degree + 1))
    for j in range(z.size):
        table[0, j, 0] = 1.0
        table[1, j, 0] = 0.0
        if degree > 0:
            table[0, j, 1] = z[j]
            table[1, j, 1] = 1.0
        for m in range(1, degree):
            table[0, j, m + 1] = ((2 * m + 1) * z[j] * table[0, j, m] - m * table[0, j, m - 1]) / (
                m + 1
            )
            table[1, j, m + 1] = table[1, j, m - 1] + (2 * m + 1) * table[0, j, m]
    return table


@njit(cache=True)
def _polynomial_basis(z, terms, slopes, basis):
    """Fill basis[d] (T,) with the terms and, if `slopes`, basis[j] with their derivatives by z_j.

    A term is its parent times one more factor, and the factor's variable comes after all of the
    parent's, so values and derivatives cost one product each.
    """
    d = z.size
    table = _legendre(z, terms[terms.shape[0] - 1, 2])
    value = basis[d]
    value[0] = 1.0
    for t in range(1, terms.shape[0]):
        value[t] = value[terms[t, 0]] * table[0, terms[t, 1], terms[t, 2]]
    if not slopes:
        return
    basis[:d] = 0.0
    for t in range(1, terms.shape[0]):
        parent = terms[t, 0]
        variable = terms[t, 1]
        factor = table[0, variable, terms[t, 2]]
        for j in range(variable):
            basis[j, t] = basis[j, parent] * factor
        basis[variable, t] = value[parent] * table[1, variable, terms[t, 2]]


@njit(cache=True)
def _squared_exponential(z, points, theta, start, count, slopes, work):
    d = z.size
    r = work[d]
    r[:] = 0.0
    for j in range(d):
        row = work[j]
        column = points[j, start : start + count]
        here = z[j]
        parameter = theta[j]
        for i in range(count):
            difference = here - column[i]
            r[i] += parameter * difference * difference
            row[i] = -2.0 * parameter * difference
    for i in range(count):
        r[i] = math.exp(-r[i])
    if slopes:
        for j in range(d):
            row = work[j]
            for i in range(count):
                row[i] *= r[i]


# numpy's error model: a check for division by zero would keep the loop scalar
@njit(cache=True, error_model="numpy")
def _matern(z, points, theta, start, count, slopes, work, five_halves):
    d = z.size
    # factor 1 + root l + square l^2; -(its derivative less root times it) = slope l + bend l^2
    root = _ROOT5 if five_halves else _ROOT3
    square = 5.0 / 3.0 if five_halves else 0.0
    slope = 5.0 / 3.0 if five_halves else 3.0
    bend = 5.0 / 3.0 * _ROOT5 if five_halves else 0.0
    r = work[d]
    length = work[d + 1]
    r[:] = 1.0
    length[:] = 0.0
    for j in range(d):
        row = work[j]
        column = points[j, start : start + count]
        here = z[j]
        parameter = theta[j]
        for i in range(count):
            difference = here - column[i]
            scaled = parameter * abs(difference)
            factor = 1.0 + scaled * (root + square * scaled)
            r[i] *= factor
            length[i] += scaled
            row[i] = -(slope + bend * scaled) * parameter * parameter * difference / factor
    for i in range(count):
        r[i] *= math.exp(-root * length[i])
    if slopes:
        for j in range(d):
            row = work[j]
            for i in range(count):
                row[i] *= r[i]


@njit(cache=True)
def _correlate(correlation, z, points, theta, start, count, slopes, work):
    """Fill work[d] with r(z, z_i) of one block and, if `slopes`, work[j] with its d/dz_j."""
    if correlation == SQUARED_EXPONENTIAL:
        _squared_exponential(z, points, theta, start, count, slopes, work)
    else:
        _matern(z, points, theta, start, count, slopes, work, correlation == MATERN_52)


@njit(cache=True)
def _sum(scaled, coefficients, terms, correlation, points, theta, weights, slopes):
    """Return the sum over terms and points: (d + 1, k), slopes by z and last the value, or (1, k).

    The matrix products are small enough for BLAS not to share them out among threads (up to 3,000
    terms of ten outputs), so the order of the sums is fixed.
    """
    d = scaled.size
    first = 0 if slopes else d
    basis = np.empty((d + 1, terms.shape[0]))
    _polynomial_basis(scaled, terms, slopes, basis)
    if slopes:
        out = np.dot(basis, coefficients)
    else:
        out = np.zeros((1, coefficients.shape[1]))
        for t in range(terms.shape[0]):
            for o in range(out.shape[1]):
                out[0, o] += basis[d, t] * coefficients[t, o]
    if correlation == NO_CORRELATION:
        return out
    n = points.shape[1]
    work = np.empty((d + 2, min(_BLOCK, n)))
    part = np.empty_like(out)
    for start in range(0, n, _BLOCK):
        count = min(_BLOCK, n - start)
        if count < work.shape[1]:
            work = np.empty((d + 2, count))
        _correlate(correlation, scaled, points, theta, start, count, slopes, work)
        np.dot(work[first : d + 1], weights[start : start + count], part)
        out += part
    return out


@njit(cache=True)
def evaluate(
    x,
    correlation,
    terms,
    coefficients,
    points,
    theta,
    weights,
    x_offset,
    x_scale,
    y_offset,
    y_scale,
    value,
    jacobian,
):
    """Fill value (k,) and jacobian (k, d) of any regressor at x (d,); units as at fitting.

    Parameters
    ----------
    x : (d,) float64
    correlation, ..., y_scale
        What the regressor's `kernel_arguments()` returned.
    value : (k,) float64
        Filled with the outputs.
    jacobian : (k, d) float64
        Filled with d(output)/d(input).
    """
    d = x.size
    z = (x - x_offset) / x_scale
    sums = _sum(z, coefficients, terms, correlation, points, theta, weights, True)
    for o in range(value.size):
        value[o] = y_offset[o] + y_scale[o] * sums[d, o]
        for j in range(d):
            jacobian[o, j] = y_scale[o] * sums[j, o] / x_scale[j]


@njit(cache=True)
def evaluate_values(
    inputs,
    correlation,
    terms,
    coefficients,
    points,
    theta,
    weights,
    x_offset,
    x_scale,
    y_offset,
    y_scale,
    values,
):
    """Fill values (N, k) of any regressor at inputs (N, d), without derivatives."""
    for row in range(inputs.shape[0]):
        z = (inputs[row] - x_offset) / x_scale
        sums = _sum(z, coefficients, terms, correlation, points, theta, weights, False)
        for o in range(values.shape[1]):
            values[row, o] = y_offset[o] + y_scale[o] * sums[0, o]


@njit(cache=True)
def basis_matrix(scaled, terms):
    """Return the polynomial terms (N, T) at scaled inputs (N, d)."""
    d = scaled.shape[1]
    out = np.empty((scaled.shape[0], terms.shape[0]))
    basis = np.empty((d + 1, terms.shape[0]))
    for row in range(scaled.shape[0]):
        _polynomial_basis(scaled[row], terms, False, basis)
        out[row] = basis[d]
    return out


@njit(cache=True)
def correlation_matrix(scaled, correlation, points, theta):
    """Return the correlations (N, n) of scaled inputs (N, d) with points (d, n)."""
    d, n = points.shape
    out = np.empty((scaled.shape[0], n))
    work = np.empty((d + 2, n))
    for row in range(scaled.shape[0]):
        _correlate(correlation, scaled[row], points, theta, 0, n, False, work)
        out[row] = work[d]
    return out


#: Steps of the search for the load that a given height carries: Newton's, then halving, which ends
#: the search whatever the regressor does.
_NEWTON_STEPS = 30
_LOAD_STEPS = _NEWTON_STEPS + 45


@njit(cache=True)
def pose_variables(coordinates, breaks, spline, centre, half, x, slopes):
    """Scale a pose about the reference path; returns its height over the path [m].

    Writes ``x`` (6,): the five scaled variables of the space, unclamped (the last is left), and
    ``slopes`` (6, 6): d(variable)/d(pose coordinate), its last row that of the height over the
    path, zero for a variable outside the box, where it is held.
    """
    flexion = coordinates[0]
    piece = 0
    while piece < breaks.size - 2 and flexion >= breaks[piece + 1]:
        piece += 1
    t = flexion - breaks[piece]
    slopes[:, :] = 0.0
    row = 0
    height = 0.0
    for k in range(5):
        a, b = spline[0, piece, k], spline[1, piece, k]
        c, e = spline[2, piece, k], spline[3, piece, k]
        offset = coordinates[k + 1] - (((a * t + b) * t + c) * t + e)
        path_slope = (3.0 * a * t + 2.0 * b) * t + c
        if k == 3:
            height = offset
            slopes[5, 0] = -path_slope
            slopes[5, 4] = 1.0
            continue
        row += 1
        x[row] = (offset - centre[row]) / half[row]
        if abs(x[row]) <= 1.0:
            slopes[row, 0] = -path_slope / half[row]
            slopes[row, k + 1] = 1.0 / half[row]
    x[0] = (flexion - centre[0]) / half[0]
    if abs(x[0]) <= 1.0:
        slopes[0, 0] = 1.0 / half[0]
    return height


@njit(cache=True)
def _line(x, regressor):
    """Return the weights (n,) of a regressor's first output along its last input through x (d,).

    A correlation is a product over the inputs; all factors but the last one's are in the weights.
    """
    correlation, _, _, points, theta, weights, x_offset, x_scale, _, _ = regressor
    if correlation == NO_CORRELATION:
        return np.empty(0)
    last = x.size - 1
    n = points.shape[1]
    work = np.empty((last + 2, n))
    z = (x[:last] - x_offset[:last]) / x_scale[:last]
    _correlate(correlation, z, points[:last], theta[:last], 0, n, False, work)
    return work[last] * weights[:, 0]


@njit(cache=True)
def _on_line(x, line, work, regressor):
    """Return the first output at x (d,) and its slope by the last input, with `_line`'s weights."""
    correlation, terms, coefficients, points, theta, _, x_offset, x_scale, y_offset, y_scale = (
        regressor
    )
    last = x.size - 1
    z = (x - x_offset) / x_scale
    basis = np.empty((x.size + 1, terms.shape[0]))
    _polynomial_basis(z, terms, True, basis)
    value = 0.0
    slope = 0.0
    for t in range(terms.shape[0]):
        value += basis[x.size, t] * coefficients[t, 0]
        slope += basis[last, t] * coefficients[t, 0]
    if correlation != NO_CORRELATION:
        _correlate(correlation, z[last:], points[last:], theta[last:], 0, line.size, True, work)
        value += np.dot(work[1], line)
        slope += np.dot(work[0], line)
    return y_offset[0] + y_scale[0] * value, y_scale[0] * slope / x_scale[last]


@njit(cache=True)
def load_at_height(height, x, regressor, value, jacobian):
    """Find the scaled root of the load, x[5] > -1, at which the regressor gives `height`.

    ``x[5]`` is written; ``value`` (1,) and ``jacobian`` (1, 6) are left at the root, jacobian[0, 5]
    always < 0. The height is taken to fall with the load; beyond the trained load, x[5] > 1, it
    goes on along its tangent, or along its chord from first contact where the tangent rises.
    Returns whether there is contact.
    """
    x[5] = -1.0
    line = _line(x, regressor)
    work = np.empty((3, line.size))
    touch, slope = _on_line(x, line, work, regressor)
    if height >= touch:
        return False
    low, high = -1.0, 1.0
    bracketed = False
    # The height falls nearly linearly with the root of the load.
    x[5] = min(-1.0 + (height - touch) / slope, 1.0) if slope < 0.0 else 0.0
    for step in range(_LOAD_STEPS):
        found, slope = _on_line(x, line, work, regressor)
        excess = found - height
        if excess > 0.0:
            if x[5] == 1.0:
                break
            low = x[5]
        else:
            high = x[5]
            bracketed = True
        target = x[5] - excess / slope if slope < 0.0 and step < _NEWTON_STEPS else math.nan
        if not (low <= target <= high):
            # Without a bracket the load is beyond, or the height does not fall: ask the far end.
            target = 0.5 * (low + high) if bracketed else 1.0
        moved = abs(target - x[5])
        x[5] = target
        if moved <= 1e-12:
            break
    evaluate(x, *regressor, value, jacobian)
    if x[5] == 1.0 and value[0] > height:
        if jacobian[0, 5] >= 0.0:
            # A rising tangent has no root; where the chord rises too, any fall will do.
            fall = 0.5 * (value[0] - touch)
            jacobian[0, 5] = fall if fall < 0.0 else height - value[0]
        x[5] = 1.0 + (height - value[0]) / jacobian[0, 5]
    elif jacobian[0, 5] >= 0.0:
        jacobian[0, 5] = (height - touch) / (x[5] + 1.0)  # a point of rest: the chord falls
    return True


@njit(cache=True)
def inverted_loads(
    coordinates, breaks, spline, centre, half, height_regressor, ratio_regressor,
    quantity_regressor, loads, wrench_jacobian, x,
):  # fmt: skip
    """Fill the loads of one compartment at a pose (6,): find the load, then the ratios to it.

    Writes ``loads`` (12,) in the order of `foundation.loads.LOAD_COLUMNS`, ``wrench_jacobian``
    (6, 6) with respect to the pose, and ``x`` (6,), the scaled variables (unclamped).
    """
    slopes = np.empty((6, 6))
    loads[:] = 0.0
    loads[9:] = np.nan
    wrench_jacobian[:, :] = 0.0
    height = pose_variables(coordinates, breaks, spline, centre, half, x, slopes)
    held = np.minimum(np.maximum(x, -1.0), 1.0)
    value = np.empty(1)
    gradient = np.empty((1, 6))
    contact = load_at_height(height, held, height_regressor, value, gradient)
    x[5] = held[5]
    if not contact:
        return
    held[5] = min(held[5], 1.0)
    root = half[5] * (x[5] + 1.0)
    # height(x) = height over the path, differentiated, gives the slope of x[5].
    for j in range(6):
        slope = slopes[5, j]
        for k in range(5):
            slope -= gradient[0, k] * slopes[k, j]
        slopes[5, j] = slope / gradient[0, 5]
    ratios = np.empty(5)
    ratio_jacobian = np.empty((5, 6))
    evaluate(held, *ratio_regressor, ratios, ratio_jacobian)
    axial = root * root
    loads[1] = axial
    for j in range(6):
        wrench_jacobian[1, j] = 2.0 * root * half[5] * slopes[5, j]
    for r in range(5):
        row = 0 if r == 0 else r + 1
        loads[row] = axial * ratios[r]
        for j in range(6):
            change = ratios[r] * wrench_jacobian[1, j]
            for k in range(6):
                if k < 5 or x[5] <= 1.0:
                    change += axial * ratio_jacobian[r, k] * slopes[k, j]
            wrench_jacobian[row, j] = change
    quantities = np.empty((1, 6))
    evaluate_values(held.reshape(1, 6), *quantity_regressor, quantities)
    for k in range(3):
        loads[6 + k] = root * quantities[0, k]
        loads[9 + k] = quantities[0, 3 + k]


@njit(cache=True)
def direct_loads(coordinates, breaks, spline, centre, half, regressor, loads, wrench_jacobian, x):
    """Fill the loads of one compartment at a pose (6,) by a regressor of all twelve over it.

    Writes as `inverted_loads` does; the last variable is the scaled height over the path.
    """
    slopes = np.empty((6, 6))
    height = pose_variables(coordinates, breaks, spline, centre, half, x, slopes)
    x[5] = (height - centre[5]) / half[5]
    for j in range(6):
        slopes[5, j] = slopes[5, j] / half[5] if abs(x[5]) <= 1.0 else 0.0
    held = np.minimum(np.maximum(x, -1.0), 1.0)
    gradient = np.empty((12, 6))
    evaluate(held, *regressor, loads, gradient)
    for row in range(6):
        for j in range(6):
            change = 0.0
            for k in range(6):
                change += gradient[row, k] * slopes[k, j]
            wrench_jacobian[row, j] = change
