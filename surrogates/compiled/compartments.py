"""Loads of one compartment at a pose: hold the pose in the box, locate the condyle, evaluate.

Arguments of a compartment, always of the same types (packed by `surrogates.compiled.knee`):

===========  =======================================================================================
space        path_flexion (K,), path_pieces (4, K - 1, 5), centre (6,), half (6,): the box
coordinates  centre (3,), path_flexion, path_pieces, middle (5,), half (5,), lever of the condyle
constants    (17,): code of the formulation, largest load or energy, degree p, root of the reference
             load, middle and half range of the depth, smoothing width, fall beyond the samples,
             and the widths (9,) of `POWER` in the learnt outputs
regressors   reference, first, second, third: `Regressor.arguments`
===========  =======================================================================================

Kernels neither check, raise nor allocate; the caller provides scratch (`compartment_workspace`).
"""

from __future__ import annotations

import math

import numpy as np

from foundation.base.compiling import part, pasted
from surrogates.compiled.box import condyle_variables, hold
from surrogates.compiled.energy import energy_loads
from surrogates.compiled.evaluation import evaluate
from surrogates.compiled.layout import OUTPUTS, workspace_size
from surrogates.compiled.line import (
    find_on_line,
    on_line,
    on_line_at,
    prepare_line,
    solve_line,
)
from surrogates.compiled.smoothing import clipped, last_input, positive_part

INVERTED, ENERGY, ROOT, STIFFNESS, POWER = 0, 1, 2, 3, 4
#: Largest size of the scaled height or depth where it is an input.
REACH = 1.2
#: Least fall of the root of the load with the scaled height beyond, so that lift-off is certain.
LEAST_FALL = 0.1
#: Steps of `find_root` beyond the largest load, and the step that ends it; s runs from -1 to 1.
_MOST_STEPS, _LAST_STEP = 60, 1e-12
SCRATCH = 256  # the small arrays of one compartment; the rest of the workspace is the regressors'


@part
def multiply_by(matrix, turn, row):
    """Replace matrix (m, 6) by matrix @ turn; row (6,) is scratch."""
    for i in range(matrix.shape[0]):
        for j in range(6):
            total = 0.0
            for k in range(6):
                total += matrix[i, k] * turn[k, j]
            row[j] = total
        for j in range(6):
            matrix[i, j] = row[j]


@part
def evaluate_parts(x, first, second, third, out, gradient, work):
    """Fill out (12,) and its gradient (12, 6) with the outputs of the three regressors."""
    a = first.layout[OUTPUTS]
    b = a + second.layout[OUTPUTS]
    c = b + third.layout[OUTPUTS]
    evaluate(x, first, out[:a], gradient[:a], work)
    if b > a:
        evaluate(x, second, out[a:b], gradient[a:b], work)
    if c > b:
        evaluate(x, third, out[b:c], gradient[b:c], work)


@part
def _chain(gradient, rows, slopes, last, along):
    """Turn gradient[:rows] by u and the last input into one by the pose; `last` (6,) is its slope.

    `along` is the slope of the last input's clip: 0 where the last input is held.
    """
    for i in range(rows):
        a0, a1, a2, a3, a4 = (
            gradient[i, 0], gradient[i, 1], gradient[i, 2], gradient[i, 3], gradient[i, 4],
        )  # fmt: skip
        a5 = gradient[i, 5] * along
        for j in range(6):
            gradient[i, j] = (
                a0 * slopes[0, j] + a1 * slopes[1, j] + a2 * slopes[2, j] + a3 * slopes[3, j]
                + a4 * slopes[4, j] + a5 * last[j]
            )  # fmt: skip


@part
def fill_from_ratios(
    axial, axial_slope, out, gradient, point, point_slopes, lever, loads, jacobian
):
    """Fill the wrench and its jacobian from the ratios in out[1:6], their gradient by the pose."""
    loads[0] = axial * out[1]
    loads[1] = axial
    loads[2] = axial * out[2]
    for j in range(6):
        jacobian[0, j] = axial_slope[j] * out[1] + axial * gradient[1, j]
        jacobian[1, j] = axial_slope[j]
        jacobian[2, j] = axial_slope[j] * out[2] + axial * gradient[2, j]
    for i in range(3):
        a = (i + 1) % 3
        b = (i + 2) % 3
        # M = M about the point + point x F
        loads[3 + i] = axial * out[3 + i] + lever * (point[a] * loads[b] - point[b] * loads[a])
        for j in range(6):
            jacobian[3 + i, j] = axial_slope[j] * out[3 + i] + axial * gradient[3 + i, j]
            jacobian[3 + i, j] += lever * (
                point_slopes[a, j] * loads[b] + point[a] * jacobian[b, j]
                - point_slopes[b, j] * loads[a] - point[b] * jacobian[a, j]
            )  # fmt: skip


@part
def fill_quantities(root, degree, out, start, point, lever, loads):
    """Fill area, pressures and centre of pressure from out[start:start + 6]."""
    loads[6] = out[start] * root
    stress = root ** (degree - 1.0)
    loads[7] = out[start + 1] * stress
    loads[8] = out[start + 2] * stress
    fill_centre(out, start + 3, point, lever, loads)


@part
def fill_centre(out, start, point, lever, loads):
    """Fill the centre of pressure from out[start:start + 3]."""
    for k in range(3):
        loads[9 + k] = out[start + k] + lever * point[k]


@part
def power(base, degree):
    """Return base^degree; the square, the most frequent case, without a logarithm."""
    return base * base if degree == 2.0 else base**degree


@part
def signed_power(root, degree, width):
    """Return sign(root) |root|^degree, smooth within about `width` of 0, and the derivative."""
    size = abs(root)
    if degree == 1.0:
        return math.copysign(size, root), 1.0
    if width == 0.0:
        return math.copysign(size**degree, root), degree * size ** (degree - 1.0)
    square = root * root + width * width
    value = root * square ** (0.5 * (degree - 1.0))
    return value, (degree * root * root + width * width) * square ** (0.5 * (degree - 3.0))


@part
def find_root(height, constants, inputs, first, work):
    """Return whether the learnt height reaches a height, and at which s; see `find_on_line`.

    With a smoothing width, contact begins at s = -1 - 2 width, and beyond 1 the height is
    h(clip of s) - fall (s - clip of s), which falls at a constant rate.
    """
    width = constants[6]
    if width == 0.0:
        return find_on_line(height, inputs, first, work)
    prepare_line(inputs, first, work)
    found, s = solve_line(height, -1.0 - 2.0 * width, 1.0, first, work)
    if s <= 1.0:
        return found, s
    fall, low, high = constants[7], 1.0, 1.0 + 2.0 * width
    flat, _ = on_line(1.0 + width, first, work)
    s = 1.0 + width + (flat - height) / fall
    if s >= high:
        return True, s
    s = 0.5 * (low + high)
    for _ in range(_MOST_STEPS):
        inner, along, _, _ = last_input(s, width)
        value, slope = on_line(inner, first, work)
        miss = value - fall * (s - inner) - height
        slope = along * slope - (1.0 - along) * fall
        if miss > 0.0:
            low = s
        else:
            high = s
        nearer = s - miss / slope
        if not (low <= nearer <= high):
            nearer = 0.5 * (low + high)
        if abs(nearer - s) <= _LAST_STEP:
            return True, nearer
        s = nearer
    return True, s


@pasted
def compartment_loads(pose, space, coordinates, constants, reference, first, second, third,
                      loads, jacobian, x, work):  # fmt: skip
    """Fill the loads of one compartment at a pose; return the height over first contact.

    Parameters
    ----------
    pose : (6,) float64
        Pose coordinates [rad, m].
    space, coordinates, constants, reference, first, second, third
        See the module.
    loads : (12,) float64
        Filled, in the order of `foundation.base.loads.LOAD_COLUMNS`. Out of contact all are zero
        and the centre of pressure is NaN.
    jacobian : (6, 6) float64
        Filled with d(wrench)/d(pose).
    x : (6,) float64
        Filled with the scaled variables of the box, the last for the root of the axial load:
        beyond 1 in size outside the trained domain.
    work : (W,) float64
        Scratch, W at least `compartment_workspace`.

    Returns
    -------
    float
        Height over the predicted first contact [m]; 0 in contact, and for formulations that learn
        the loads or their roots.
    """
    held, last, row, axial_slope = work[0:6], work[6:12], work[12:18], work[18:24]
    point, inputs = work[24:27], work[27:33]
    turn = work[33:69].reshape(6, 6)
    slopes = work[69:105].reshape(6, 6)
    point_slopes = work[105:123].reshape(3, 6)
    out = work[123:135]
    gradient = work[135:207].reshape(12, 6)
    scratch = work[SCRATCH:]
    loads[:9] = 0.0
    loads[9:] = np.nan
    jacobian[:, :] = 0.0
    x[5] = -1.0
    inside = hold(pose, space, constants[6], x, held, turn, scratch)
    height = condyle_variables(held, coordinates, inputs, slopes, point, point_slopes, scratch)
    code, largest, degree = constants[0], constants[1], constants[2]
    lever, width = coordinates[5], constants[6]
    if code == POWER:
        inputs[5], along, _, _ = clipped((height - constants[4]) / constants[5], REACH, width)
        for j in range(6):
            last[j] = slopes[5, j] / constants[5]
        evaluate_parts(inputs, first, second, third, out, gradient, scratch)
        _chain(gradient, 6, slopes, last, along)
        for i in range(9):
            loads[i], slope = signed_power(out[i], degree, constants[8 + i])
            if i < 6:
                for j in range(6):
                    jacobian[i, j] = slope * gradient[i, j]
        for k in range(3):
            loads[9 + k] = out[9 + k] + lever * point[k]
    elif code == INVERTED or code == ENERGY:  # noqa: SIM109 - no tuple in a kernel
        found, s = find_root(height, constants, inputs, first, scratch)
        if not found:
            touch, _ = on_line(-1.0, first, scratch)
            if width > 0.0:
                inputs[5] = s
                evaluate_parts(inputs, first, second, third, out, gradient, scratch)
                fill_centre(out, 9 if code == INVERTED else 4, point, lever, loads)
            return height - touch
        inputs[5], along, _, _ = last_input(s, width)
        evaluate_parts(inputs, first, second, third, out, gradient, scratch)
        learnt_slope = gradient[0, 5]
        fall = fall_at(s, learnt_slope, along, out[0], height, constants, inputs, first, scratch)
        for j in range(6):
            slope = slopes[5, j]
            for k in range(5):
                slope -= gradient[0, k] * slopes[k, j]
            last[j] = slope / fall
        if code == ENERGY:
            for k in range(5):
                row[k] = gradient[0, k]
            row[5] = fall
            root = energy_loads(s, learnt_slope, constants, held, coordinates, row, slopes, last,
                                 first, inputs, loads, jacobian, scratch)  # fmt: skip
            fill_quantities(root, degree - 1.0, out, 1, point, lever, loads)
        else:
            root, steep, _, _ = positive_part(0.5 * (s + 1.0), width)
            axial = largest * power(root, degree)
            for j in range(6):
                axial_slope[j] = 0.5 * largest * degree * root ** (degree - 1.0) * steep * last[j]
            _chain(gradient, 6, slopes, last, along)
            fill_from_ratios(axial, axial_slope, out, gradient, point, point_slopes, lever,
                         loads, jacobian)  # fmt: skip
            fill_quantities(root, degree, out, 6, point, lever, loads)
    else:
        root = _root_at(code, height, constants, inputs, slopes, reference, first, second, third,
                        out, gradient, last, row, scratch)  # fmt: skip
        if not root > -width:
            if width > 0.0:
                fill_centre(out, 9, point, lever, loads)
            return 0.0
        root, steep, _, _ = positive_part(root, width)
        axial = largest * power(root, degree)
        for j in range(6):
            axial_slope[j] = largest * degree * root ** (degree - 1.0) * steep * row[j]
        fill_from_ratios(axial, axial_slope, out, gradient, point, point_slopes, lever,
                     loads, jacobian)  # fmt: skip
        fill_quantities(root, degree, out, 6, point, lever, loads)
    x[5] = math.sqrt(max(loads[1], 0.0)) / space[3][5] - 1.0
    if not inside:
        multiply_by(jacobian, turn, row)
    return 0.0


@part
def fall_at(s, learnt, along, value, height, constants, inputs, first, work):
    """Return the slope of the height by s, made to fall.

    From the slope `learnt` by the last input, the slope `along` of the last input by s, and the
    learnt value; at a stationary point it is that of the chord from first contact.
    """
    fall = learnt
    if constants[6] > 0.0:
        fall = along * learnt - (1.0 - along) * constants[7]
    if not fall < 0.0:
        fall = chord_slope(inputs, s, height, value, first, work)
    return fall


@part
def chord_slope(inputs, s, height, value, first, work):
    """Return the slope of the chord of the height from first contact, at a stationary point."""
    end = inputs[5]
    inputs[5] = -1.0
    touch, _ = on_line_at(inputs, first, work)
    inputs[5] = end
    return min((height - touch) / (s + 1.0), -1e-12)


@part
def _root_at(code, height, constants, inputs, slopes, reference, first, second, third,
             out, gradient, last, root_slope, work):  # fmt: skip
    """Return the root of the load of formulations that learn it over the height or the depth.

    Fills out and, by the pose, gradient[1:6] and root_slope (6,).
    """
    level = height
    for j in range(6):
        last[j] = slopes[5, j]
    if code == STIFFNESS:
        # a separate row: part of a wider row is another type, for which numba compiles again
        value, along = out[0:1], gradient.reshape(72)[:5].reshape(1, 5)
        evaluate(inputs[:5], reference, value, along, work)
        level = value[0] - height
        for j in range(6):
            slope = -slopes[5, j]
            for k in range(5):
                slope += along[0, k] * slopes[k, j]
            last[j] = slope
    depth = (level - constants[4]) / constants[5]
    inputs[5], along, _, _ = clipped(depth, REACH, constants[6])
    for j in range(6):
        last[j] /= constants[5]
    evaluate_parts(inputs, first, second, third, out, gradient, work)
    fall = min(gradient[0, 5], -LEAST_FALL)
    if constants[6] > 0.0:
        fall = -constants[7]
    beyond = depth - inputs[5]
    _chain(gradient, 6, slopes, last, along)
    if code == ROOT:
        for j in range(6):
            root_slope[j] = gradient[0, j]
            if beyond != 0.0:  # along the tangent, without the change of its slope
                root_slope[j] += fall * (1.0 - along) * last[j]
        return out[0] + fall * beyond
    stiffness = math.exp(out[0]) / constants[5]
    for j in range(6):
        change = constants[5] * last[j] + level * gradient[0, j]
        root_slope[j] = stiffness * change
    return constants[3] + stiffness * level


@part
def compartment_workspace(reference, first, second, third):
    """Return the size of the scratch that `compartment_loads` needs."""
    largest = max(workspace_size(reference), workspace_size(first))
    largest = max(largest, max(workspace_size(second), workspace_size(third)))
    return SCRATCH + 104 + largest
