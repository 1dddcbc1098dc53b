"""Loads of one compartment at a pose: hold the pose in the box, locate the condyle, evaluate.

Arguments of a compartment, always of the same types (packed by `surrogates.compiled.knee`): the box
of its samples (`Box`), the condyle's coordinates (`Condyle`), its `Constants`, and the regressors
`first`, `second` and `third` (`Regressor.arguments`), over which the outputs are distributed.

Kernels neither check, raise nor allocate; the caller provides scratch (`compartment_workspace`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.compiling import part, pasted
from surrogates.compiled.box import REACH, condyle_variables, hold
from surrogates.compiled.evaluation import evaluate, evaluate_value
from surrogates.compiled.layout import OUTPUTS, workspace_size
from surrogates.compiled.line import (
    find_on_line,
    on_line,
    on_line_at,
    prepare_line,
    solve_line,
)
from surrogates.compiled.smoothing import clipped, last_input, positive_part

#: Codes of the formulations: the height over the load, or the loads over the height.
INVERTED, DIRECT = 0, 1
#: Number of outputs with gradients: the others are area, pressures and centre of pressure.
STEEP = 6
#: Largest axial load beyond the samples, over F_max.
MOST_LOAD = 100.0
#: Steps of `find_root` beyond the largest load, and the step that ends the search; s runs from -1
#: to 1.
MOST_STEPS, LAST_STEP = 60, 1e-12
#: Least steep slope of the height by s, where the learnt height does not fall [m].
LEAST_SLOPE = -1e-12
#: Least fall of the height over the last input with which a smoothed height continues [m].
LEAST_FALL = 1e-9


class Box(NamedTuple):
    """Box of the samples about a path, of K breaks (K,) [rad]."""

    #: Flexions at which the pieces of the path begin and end (K,) [rad].
    breaks: FloatArray
    #: Cubics of the five other coordinates (4, K - 1, 5), in falling powers [rad, m].
    pieces: FloatArray
    #: Centre and half width of the variables (6,) [rad, m, sqrt(N)].
    centre: FloatArray
    half: FloatArray


class Condyle(NamedTuple):
    """Coordinates of a condyle (`surrogates.sampling.condyle_coordinates`).

    `centre` (3,) [m] is the point of the condyle in the femoral frame.
    """

    centre: FloatArray
    #: Flexions at which the pieces of the point's path begin and end (K,) [rad].
    breaks: FloatArray
    #: Cubics of the path (4, K - 1, 5), as of `Box`.
    pieces: FloatArray
    #: Middle and half range of the inputs of the regressors (5,) [rad, m].
    middle: FloatArray
    half: FloatArray
    #: 1 if moments and centres of pressure are learnt about the point, else 0.
    lever: float


class Constants(NamedTuple):
    """Constants of a compartment."""

    #: Formulation: `INVERTED` or `DIRECT`.
    code: float
    #: Largest axial load F_max [N].
    largest: float
    #: p, the power of the indentation with which the load grows [1].
    degree: float
    #: Middle and half range of the height, where the height is an input [m].
    middle: float
    half: float
    #: Width of the smoothing [1], 0 without smoothing.
    width: float
    #: Fall of the smoothed height with s beyond the samples [m].
    fall: float


class Scratch(NamedTuple):
    """Parts of the scratch memory (W,) [any unit] of one compartment."""

    #: Nearest pose of the box (6,) [rad, m].
    held: FloatArray
    #: Its derivative with respect to the pose (6, 6).
    turn: FloatArray
    #: Inputs of the regressors (6,) [1].
    inputs: FloatArray
    #: Slopes of the first five and of the height (6, 6).
    slopes: FloatArray
    #: Point of the condyle in the tibial frame (3,) [m].
    point: FloatArray
    #: Its slopes (3, 6).
    point_slopes: FloatArray
    #: Outputs of the regressors (12,) [SI].
    out: FloatArray
    #: Gradients of the first six outputs (6, 6).
    gradient: FloatArray
    #: Slopes of the last input with respect to the pose (6,) [1].
    last: FloatArray
    #: Slopes of the axial load with respect to the pose (6,) [N].
    axial_slope: FloatArray
    #: Scratch of this module (6,).
    row: FloatArray
    #: Scratch of the regressors (W,).
    rest: FloatArray


#: Numbers of scratch before those of the regressors.
_SMALL = 256


@pasted
def scratch_of(work):
    """Return the parts of the scratch memory (`compartment_workspace` numbers)."""
    return Scratch(
        held=work[0:6], last=work[6:12], row=work[12:18], axial_slope=work[18:24],
        point=work[24:27], inputs=work[27:33], turn=work[33:69].reshape(6, 6),
        slopes=work[69:105].reshape(6, 6), point_slopes=work[105:123].reshape(3, 6),
        out=work[123:135], gradient=work[135:171].reshape(6, 6), rest=work[_SMALL:],
    )  # fmt: skip


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
    """Fill out (12,), and the gradient (6, 6) of the first six, with the regressors' outputs."""
    a = first.layout[OUTPUTS]
    b = a + second.layout[OUTPUTS]
    c = b + third.layout[OUTPUTS]
    _evaluate_part(x, first, np.int64(0), a, out, gradient, work)
    if b > a:
        _evaluate_part(x, second, a, b, out, gradient, work)
    if c > b:
        _evaluate_part(x, third, b, c, out, gradient, work)


@part
def _evaluate_part(x, regressor, begin, end, out, gradient, work):
    """Fill the outputs from `begin` to `end`, and the gradient of those that have one."""
    if begin < STEEP:
        steep = gradient[begin : min(end, STEEP)]
        evaluate(x, regressor, out[begin:end], steep, work)
    else:
        evaluate_value(x, regressor, out[begin:end], work)


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
def root_of(r, width, degree):
    """Return the root of the axial load over F_max at r, up to `MOST_LOAD`, and two derivatives."""
    root, steep, bend = positive_part(r, width)
    if root > 1.0:
        most = MOST_LOAD ** (1.0 / degree)
        held, steep, bend = clipped(root / most, 1.0, width)
        bend /= most
        if root > most:
            root = most * held
    return root, steep, bend


@part
def find_root(height, constants, inputs, first, work):
    """Return whether the learnt height reaches a height, and at which s; see `find_on_line`.

    With a smoothing width, contact begins at s = -1 - 2 width, and beyond 1 the height is
    h(clip of s) - fall (s - clip of s), which falls at a constant rate.
    """
    width = constants.width
    if width == 0.0:
        return find_on_line(height, inputs, first, work)
    prepare_line(inputs, first, work)
    found, s = solve_line(height, -1.0 - 2.0 * width, 1.0, first, work)
    if s <= 1.0:
        return found, s
    fall, low, high = constants.fall, 1.0, 1.0 + 2.0 * width
    flat, _ = on_line(1.0 + width, first, work)
    s = 1.0 + width + (flat - height) / fall
    if s >= high:
        return True, s
    s = 0.5 * (low + high)
    for _ in range(MOST_STEPS):
        inner, along, _ = last_input(s, width)
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
        if abs(nearer - s) <= LAST_STEP:
            return True, nearer
        s = nearer
    return True, s


@pasted
def compartment_loads(pose, box, condyle, constants, first, second, third, loads, jacobian, x,
                      work):  # fmt: skip
    """Fill the loads of one compartment at a pose; return the height over first contact.

    The height over the predicted first contact [m] is 0 in contact, and where the loads are learnt.
    From the pose (6,) [rad, m] and the arguments of the module are filled: `loads` (12,) in the
    order of `foundation.base.loads.LOAD_COLUMNS`, out of contact all zero and NaN for the centre of
    pressure; `jacobian` (6, 6) with d(wrench)/d(pose); and `x` (6,) with the scaled variables of
    the box, the last for the root of the axial load, or for a height that `hold` holds: beyond 1 in
    size outside the trained domain. `work` (W,) is scratch, W at least `compartment_workspace`.
    """
    scratch = scratch_of(work)
    loads[:9] = 0.0
    loads[9:] = np.nan
    jacobian[:, :] = 0.0
    inside = hold(pose, box, constants.width, x, scratch.held, scratch.turn, scratch.rest)
    height = condyle_variables(scratch.held, condyle, scratch.inputs, scratch.slopes, scratch.point,
                               scratch.point_slopes, scratch.rest)  # fmt: skip
    if constants.code == DIRECT:
        deep = -_direct(height, constants, condyle.lever, first, second, third, scratch, loads,
                        jacobian)  # fmt: skip
    else:
        gap = _inverted(height, constants, condyle.lever, first, second, third, scratch, loads,
                        jacobian)  # fmt: skip
        if gap != 0.0:
            return gap
        deep = -1.0
    if abs(x[5]) <= 1.0:
        x[5] = math.sqrt(max(loads[1], 0.0)) / box.half[5] - 1.0
        if deep > REACH:
            x[5] = max(x[5], deep)
    if not inside:
        multiply_by(jacobian, scratch.turn, scratch.row)
    return 0.0


@pasted
def _direct(height, constants, lever, first, second, third, scratch, loads, jacobian):
    """Fill loads and wrench's jacobian that are learnt over the height; return the scaled height.

    The height is held beyond the samples.
    """
    inputs, last, out, gradient = scratch.inputs, scratch.last, scratch.out, scratch.gradient
    scaled = (height - constants.middle) / constants.half
    inputs[5], along, _ = clipped(scaled, REACH, constants.width)
    for j in range(6):
        last[j] = scratch.slopes[5, j] / constants.half
    evaluate_parts(inputs, first, second, third, out, gradient, scratch.rest)
    _chain(gradient, 6, scratch.slopes, last, along)
    for i in range(9):
        loads[i] = out[i]
    for i in range(6):
        for j in range(6):
            jacobian[i, j] = gradient[i, j]
    for k in range(3):
        loads[9 + k] = out[9 + k] + lever * scratch.point[k]
    return scaled


@pasted
def _inverted(height, constants, lever, first, second, third, scratch, loads, jacobian):
    """Fill the loads at which the learnt height is the pose's; return the height over contact."""
    inputs, last, out, gradient = scratch.inputs, scratch.last, scratch.out, scratch.gradient
    slopes, point, rest = scratch.slopes, scratch.point, scratch.rest
    width, degree, largest = constants.width, constants.degree, constants.largest
    found, s = find_root(height, constants, inputs, first, rest)
    if not found:
        touch, _ = on_line(-1.0, first, rest)
        if width > 0.0:
            inputs[5] = s
            evaluate_parts(inputs, first, second, third, out, gradient, rest)
            fill_centre(out, 9, point, lever, loads)
        return height - touch
    inputs[5], along, _ = last_input(s, width)
    evaluate_parts(inputs, first, second, third, out, gradient, rest)
    fall = fall_at(s, gradient[0, 5], along, out[0], height, constants, inputs, first, rest)
    for j in range(6):
        slope = slopes[5, j]
        for k in range(5):
            slope -= gradient[0, k] * slopes[k, j]
        last[j] = slope / fall
    root, steep, _ = root_of(0.5 * (s + 1.0), width, degree)
    axial = largest * power(root, degree)
    for j in range(6):
        scratch.axial_slope[j] = 0.5 * largest * degree * root ** (degree - 1.0) * steep * last[j]
    _chain(gradient, 6, slopes, last, along)
    fill_from_ratios(axial, scratch.axial_slope, out, gradient, point, scratch.point_slopes, lever,
                     loads, jacobian)  # fmt: skip
    fill_quantities(root, degree, out, 6, point, lever, loads)
    return 0.0


@part
def fall_at(s, learnt, along, value, height, constants, inputs, first, work):
    """Return the slope of the height by s, made to fall.

    From the slope `learnt` by the last input, the slope `along` of the last input by s, and the
    learnt value; at a stationary point it is that of the chord from first contact.
    """
    fall = learnt
    if constants.width > 0.0:
        fall = along * learnt - (1.0 - along) * constants.fall
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
    return min((height - touch) / (s + 1.0), LEAST_SLOPE)


@part
def compartment_workspace(first, second, third):
    """Return the size of the scratch that `compartment_loads` needs."""
    largest = max(workspace_size(first), max(workspace_size(second), workspace_size(third)))
    return _SMALL + largest
