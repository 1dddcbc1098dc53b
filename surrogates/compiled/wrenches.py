"""The wrench of a compartment without derivatives, for most evaluations of an integrator."""

from __future__ import annotations

import math

from foundation.base.compiling import inlined, pasted
from surrogates.compiled.box import condyle_variables, hold
from surrogates.compiled.compartments import STEEP, find_root, power, root_of, scratch_of
from surrogates.compiled.evaluation import evaluate_value
from surrogates.compiled.layout import OUTPUTS
from surrogates.compiled.smoothing import last_input


@inlined
def _ratios(x, first, second, third, out, work):
    """Fill out[1:6] with outputs of the three regressors; a wrench needs six outputs at most."""
    a = first.layout[OUTPUTS]
    b = a + second.layout[OUTPUTS]
    c = b + third.layout[OUTPUTS]
    # The first output is the height.
    if a > 1:
        evaluate_value(x, first, out[: min(a, STEEP)], work)
    if b > a and a < STEEP:
        evaluate_value(x, second, out[a : min(b, STEEP)], work)
    if c > b and b < STEEP:
        evaluate_value(x, third, out[b : min(c, STEEP)], work)


@pasted
def compartment_wrench(pose, box, condyle, constants, first, second, third, loads, x, work):
    """Fill loads[:6], the wrench of one compartment at a pose, and x.

    Arguments are those of `compartments.compartment_loads`; the formulation must be `INVERTED`.
    """
    scratch = scratch_of(work)
    inputs, point, out, rest = scratch.inputs, scratch.point, scratch.out, scratch.rest
    width, lever = constants.width, condyle.lever
    loads[:6] = 0.0
    hold(pose, box, width, x, scratch.held, scratch.turn, rest)
    height = condyle_variables(scratch.held, condyle, inputs, scratch.slopes, point,
                               scratch.point_slopes, rest)  # fmt: skip
    found, s = find_root(height, constants, inputs, first, rest)
    if not found:
        return
    inputs[5] = last_input(s, width)[0]
    _ratios(inputs, first, second, third, out, rest)
    degree = constants.degree
    axial = constants.largest * power(root_of(0.5 * (s + 1.0), width, degree)[0], degree)
    loads[0], loads[1], loads[2] = axial * out[1], axial, axial * out[2]
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        loads[3 + i] = axial * out[3 + i] + lever * (point[a] * loads[b] - point[b] * loads[a])
    if abs(x[5]) <= 1.0:
        x[5] = math.sqrt(max(axial, 0.0)) / box.half[5] - 1.0
