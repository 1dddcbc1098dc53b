"""Loads of both compartments at a pose from one set of regressors.

Arguments of a whole knee (`surrogates.formulations.whole_knee.WholeKneeSurrogate.arguments`):

===========  =======================================================================================
space        path_flexion (K,), path_pieces (4, K - 1, 5), centre (6,), half (6,): the box
coordinates  as of a compartment (`surrogates.compiled.compartments`), of the femoral origin
constants    (5,): code of the formulation, largest load, degree p, middle and half range of the
             height
regressors   first, second, third: `Regressor.arguments`, of six inputs each
domains      of each compartment: limits (4,) and regressor of `domain.extrapolation`
===========  =======================================================================================

Kernels neither check, raise nor allocate; the caller provides scratch (`whole_knee_workspace`).
"""

from __future__ import annotations

import math

import numpy as np

from foundation.base.compiling import entry, kernel, part
from surrogates.compiled.box import condyle_variables, hold
from surrogates.compiled.compartments import (
    REACH,
    chord_slope,
    evaluate_parts,
    fill_from_ratios,
    fill_quantities,
    multiply_by,
    power,
)
from surrogates.compiled.domain import extrapolation
from surrogates.compiled.evaluation import evaluate
from surrogates.compiled.layout import OUTPUTS, workspace_size
from surrogates.compiled.line import find_on_line

PLAIN, OVER_TOTAL, OVER_BOTH = 0, 1, 2
_SCRATCH = 320  # the small arrays of a knee; the rest of the workspace is the regressors'
#: Newton steps for two roots, and halvings of a step that increases the residual.
_MOST_STEPS, _MOST_HALVINGS = 40, 8
#: Half the distance of the condyles, which relates heights to angles [m].
_ARM = 0.02
#: A step as small as this ends the search; the roots run from -1 to 1.
_LAST_STEP = 1e-10


@part
def whole_knee_loads(pose, space, coordinates, constants, first, second, third, domains,
                     loads, jacobian, x, work):  # fmt: skip
    """Fill the loads of both compartments at a pose.

    Parameters
    ----------
    pose : (6,) float64
        Pose coordinates [rad, m].
    space, coordinates, constants, first, second, third, domains
        See the module.
    loads : (2, 12) float64
        Filled, in the order of `foundation.base.loads.LOAD_COLUMNS`; zero out of contact, the
        centre of pressure NaN.
    jacobian : (2, 6, 6) float64
        Filled with d(wrench of the compartment)/d(pose).
    x : (2, 7) float64
        Filled with the scaled variables of the box, the sixth that of the root of the compartment's
        axial load, and with the extrapolation.
    work : (W,) float64
        Scratch, W at least `whole_knee_workspace`.
    """
    held, inputs, row, point = work[0:6], work[8:14], work[16:22], work[24:27]
    turn = work[32:68].reshape(6, 6)
    slopes = work[72:108].reshape(6, 6)
    point_slopes = work[112:130].reshape(3, 6)
    out, gradient = work[136:161], work[168:318].reshape(25, 6)
    scratch = work[_SCRATCH:]
    loads[:, :9] = 0.0
    loads[:, 9:] = np.nan
    jacobian[:, :, :] = 0.0
    inside = hold(pose, space, 0.0, x[0], held, turn, scratch)
    height = condyle_variables(held, coordinates, inputs, slopes, point, point_slopes, scratch)
    regressors = first, second, third
    if constants[0] == PLAIN:
        _plain(height, constants, regressors, inputs, slopes, out, gradient, loads, jacobian,
               row, scratch)  # fmt: skip
    elif constants[0] == OVER_TOTAL:
        _over_total(height, constants, regressors, inputs, slopes, point, out, gradient, loads,
                    jacobian, row, scratch)  # fmt: skip
    else:
        adduction = coordinates[3][1] + coordinates[4][1] * inputs[1]
        for j in range(6):
            slopes[1, j] *= coordinates[4][1]
        _over_both(height, adduction, constants, regressors, inputs, slopes, point, point_slopes,
                   out, gradient, loads, jacobian, row, scratch)  # fmt: skip
    x[1, :5] = x[0, :5]
    for c in range(2):
        x[c, 5] = math.sqrt(max(loads[c, 1], 0.0)) / space[3][5] - 1.0
        if not inside:
            multiply_by(jacobian[c], turn, row)
    for c in range(2):
        limits, regressor = domains[c]
        x[c, 6] = extrapolation(x[c], loads[c], 0.0, limits, regressor, work)


@part
def _plain(height, constants, regressors, inputs, slopes, out, gradient, loads, jacobian, row,
           work):  # fmt: skip
    """Fill the loads where they, or their roots, are learnt over the pose."""
    degree = constants[2]
    depth = (height - constants[3]) / constants[4]
    inputs[5] = min(max(depth, -REACH), REACH)
    for j in range(6):
        slopes[5, j] = slopes[5, j] / constants[4] if inputs[5] == depth else 0.0
    evaluate_parts(inputs, *regressors, out, gradient, work)
    multiply_by(gradient, slopes, row)
    for c in range(2):
        for i in range(9):
            value = out[12 * c + i]
            size = abs(value)
            loads[c, i] = value if degree == 1.0 else math.copysign(size**degree, value)
            steep = 1.0 if degree == 1.0 else degree * size ** (degree - 1.0)
            if i < 6:
                for j in range(6):
                    jacobian[c, i, j] = steep * gradient[12 * c + i, j]
        loads[c, 9:] = out[12 * c + 9 : 12 * c + 12]


@part
def _over_total(height, constants, regressors, inputs, slopes, point, out, gradient, loads,
                jacobian, row, work):  # fmt: skip
    """Fill the loads where the height is learnt over the root of the total axial load."""
    largest, degree, first = constants[1], constants[2], regressors[0]
    found, s = find_on_line(height, inputs, first, work)
    if not found:
        return
    inputs[5] = min(s, 1.0)
    evaluate_parts(inputs, *regressors, out, gradient, work)
    fall = gradient[0, 5]
    if not fall < 0.0:  # a stationary point: the chord from first contact falls
        fall = chord_slope(inputs, s, height, out[0], first, work)
    root = 0.5 * (s + 1.0)
    total = largest * power(root, degree)
    steep = 0.5 * largest * degree * root ** (degree - 1.0)
    by_pose = work[0:6]
    for j in range(6):
        slope = slopes[5, j]
        for k in range(5):
            slope -= gradient[0, k] * slopes[k, j]
        by_pose[j] = steep * slope / fall
        slopes[5, j] = slope / fall if s <= 1.0 else 0.0
    multiply_by(gradient, slopes, row)
    for c in range(2):
        for i in range(6):
            share = out[1 + 6 * c + i]
            loads[c, i] = total * share
            for j in range(6):
                jacobian[c, i, j] = by_pose[j] * share + total * gradient[1 + 6 * c + i, j]
        fill_quantities(root, degree, out, 13 + 6 * c, point, 0.0, loads[c])


@part
def _over_both(height, adduction, constants, regressors, inputs, slopes, point, point_slopes,
               out, gradient, loads, jacobian, row, work):  # fmt: skip
    """Fill the loads where height and adduction are learnt over the roots of both axial loads.

    `slopes` belong to flexion, adduction [rad], the other three variables and the height.
    """
    largest, degree = constants[1], constants[2]
    kept, work = work[0:24].reshape(4, 6), work[24:]
    kept[0], kept[1] = slopes[5], slopes[1]
    for k in range(1, 4):
        inputs[k] = inputs[k + 1]
        slopes[k] = slopes[k + 1]
    roots = row[0:2]
    _balance(height, adduction, constants, regressors[0], inputs, out, gradient, roots, work)
    s = roots[0], roots[1]
    evaluate_parts(inputs, *regressors, out, gradient, work)
    a, b, c, d = gradient[0, 4], gradient[0, 5], gradient[1, 4], gradient[1, 5]
    determinant = a * d - b * c
    if determinant == 0.0:  # the roots do not follow the pose there
        determinant = math.inf
    for j in range(6):
        up, turned = kept[0, j], kept[1, j]
        for k in range(4):
            up -= gradient[0, k] * slopes[k, j]
            turned -= gradient[1, k] * slopes[k, j]
        kept[2, j] = (d * up - b * turned) / determinant
        kept[3, j] = (a * turned - c * up) / determinant
    for k in range(2):
        for j in range(6):
            slopes[4 + k, j] = kept[2 + k, j] if abs(s[k]) <= 1.0 else 0.0
    multiply_by(gradient, slopes, row)
    for k in range(2):
        if s[k] > -1.0:
            root = 0.5 * (s[k] + 1.0)
            steep = 0.5 * largest * degree * root ** (degree - 1.0)
            for j in range(6):
                kept[2 + k, j] *= steep
            axial = largest * power(root, degree)
            # fill_from_ratios reads the ratios from the second place on.
            at = 1 + 5 * k
            fill_from_ratios(axial, kept[2 + k], out[at:], gradient[at:], point, point_slopes, 0.0,
                         loads[k], jacobian[k])  # fmt: skip
            fill_quantities(root, degree, out, 12 + 6 * k, point, 0.0, loads[k])


@part
def _balance(height, adduction, constants, first, inputs, out, gradient, roots, work):
    """Find the roots (2,) of both loads for a height and an adduction.

    Newton's method, with steps halved while they increase the residual. Beyond -1, where a condyle
    is lifted, and beyond 1, height and adduction continue along their tangents. Fills inputs[4:6]
    with the roots held between -1 and 1.
    """
    count = first.layout[OUTPUTS]
    value, slope = out[:count], gradient[:count]
    apart, turn_apart = constants[4], constants[4] / _ARM
    miss, tried = work[0:2], work[2:4]
    work = work[8:]
    roots[:] = 0.0
    size = _miss(height, adduction, apart, turn_apart, roots, first, inputs, value, slope, miss,
                 work)  # fmt: skip
    for _ in range(_MOST_STEPS):
        a, b, c, d = slope[0, 4], slope[0, 5], slope[1, 4], slope[1, 5]
        determinant = a * d - b * c
        if determinant == 0.0:
            break
        medial = -(d * miss[0] - b * miss[1]) / determinant
        lateral = -(a * miss[1] - c * miss[0]) / determinant
        part, left, nearer = 1.0, size, False
        for _ in range(_MOST_HALVINGS):
            tried[0], tried[1] = roots[0] + part * medial, roots[1] + part * lateral
            left = _miss(height, adduction, apart, turn_apart, tried, first, inputs, value, slope,
                         miss, work)  # fmt: skip
            if left < size:
                nearer = True
                break
            part *= 0.5
        if not nearer:
            break
        size = left
        roots[:] = tried
        if part * max(abs(medial), abs(lateral)) <= _LAST_STEP:
            break
    for k in range(2):
        inputs[4 + k] = min(max(roots[k], -1.0), 1.0)


@part
def _miss(height, adduction, apart, turn_apart, roots, first, inputs, value, slope, miss, work):
    """Fill the residuals (2,) of height and adduction at two roots; return their scaled square sum.

    `value` and `slope` are filled with the outputs of `first` at the roots held in [-1, 1].
    """
    for k in range(2):
        inputs[4 + k] = min(max(roots[k], -1.0), 1.0)
    evaluate(inputs, first, value, slope, work)
    beyond, other = roots[0] - inputs[4], roots[1] - inputs[5]
    miss[0] = value[0] + slope[0, 4] * beyond + slope[0, 5] * other - height
    miss[1] = value[1] + slope[1, 4] * beyond + slope[1, 5] * other - adduction
    return (miss[0] / apart) ** 2 + (miss[1] / turn_apart) ** 2


@kernel
def whole_knee_workspace(first, second, third, domains):
    """Return the size of the scratch that `whole_knee_loads` needs."""
    largest = max(workspace_size(first), max(workspace_size(second), workspace_size(third)))
    for c in range(2):
        largest = max(largest, workspace_size(domains[c][1]))
    return _SCRATCH + 64 + largest


@entry
def whole_knee_loads_of_all(poses, arguments, loads, jacobian, x, work):
    """As `whole_knee_loads` for poses (N, 6); the filled arrays have a first axis of N."""
    for i in range(poses.shape[0]):
        whole_knee_loads(poses[i], *arguments, loads[i], jacobian[i], x[i], work)
