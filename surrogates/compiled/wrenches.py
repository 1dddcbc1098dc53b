"""The wrench of a compartment without derivatives, for most evaluations of an integrator."""

from __future__ import annotations

import math

from foundation.base.compiling import part, pasted
from surrogates.compiled.box import condyle_variables, hold
from surrogates.compiled.compartments import (
    SCRATCH,
    find_root,
    power,
)
from surrogates.compiled.evaluation import evaluate_value
from surrogates.compiled.layout import OUTPUTS
from surrogates.compiled.smoothing import last_input, positive_part


@part
def _ratios(x, first, second, third, out, work):
    """Fill out[1:6] with the outputs of the three regressors; out[0] is not needed."""
    a = first.layout[OUTPUTS]
    b = a + second.layout[OUTPUTS]
    c = b + third.layout[OUTPUTS]
    if a > 1:
        evaluate_value(x, first, out[:a], work)
    if b > a and a < 6:
        evaluate_value(x, second, out[a:b], work)
    if c > b and b < 6:
        evaluate_value(x, third, out[b:c], work)


@pasted
def compartment_wrench(pose, space, coordinates, constants, first, second, third, loads, x, work):
    """Fill loads[:6], the wrench of one compartment at a pose, and x.

    Arguments are those of `compartments.compartment_loads`; the formulation must be `INVERTED`.
    """
    held, point, inputs = work[0:6], work[24:27], work[27:33]
    turn, slopes = work[33:69].reshape(6, 6), work[69:105].reshape(6, 6)
    point_slopes, out, scratch = work[105:123].reshape(3, 6), work[123:135], work[SCRATCH:]
    largest, degree, lever = constants[1], constants[2], coordinates[5]
    loads[:6] = 0.0
    x[5] = -1.0
    hold(pose, space, constants[6], x, held, turn, scratch)
    height = condyle_variables(held, coordinates, inputs, slopes, point, point_slopes, scratch)
    found, s = find_root(height, constants, inputs, first, scratch)
    if not found:
        return
    inputs[5] = last_input(s, constants[6])[0]
    _ratios(inputs, first, second, third, out, scratch)
    axial = largest * power(positive_part(0.5 * (s + 1.0), constants[6])[0], degree)
    loads[0], loads[1], loads[2] = axial * out[1], axial, axial * out[2]
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        loads[3 + i] = axial * out[3 + i] + lever * (point[a] * loads[b] - point[b] * loads[a])
    x[5] = math.sqrt(max(axial, 0.0)) / space[3][5] - 1.0
