"""Second derivatives of the wrench of one compartment by the pose.

The loads are those of `surrogates.compiled.compartments`, as series (`surrogates.compiled.series`)
of the coordinates of the pose held in the box; the last step goes from the held pose to the pose.
"""

from __future__ import annotations

from foundation.base.compiling import part, pasted
from surrogates.compiled.box import (
    FARTHEST,
    REACH,
    condyle_variables,
    followed,
    hold,
    path_at,
    path_bend,
)
from surrogates.compiled.compartments import (
    DIRECT,
    evaluate_parts,
    fall_at,
    find_root,
    root_of,
)
from surrogates.compiled.coordinates import turned
from surrogates.compiled.curvature import evaluate_hessians
from surrogates.compiled.layout import OUTPUTS
from surrogates.compiled.series import BEND, SERIES, add, apply, chain, multiply, put
from surrogates.compiled.smoothing import clipped, last_input

#: Rows of the scratch's series: u and the last input; the point; six outputs; the wrench; others.
_INPUTS, _POINT, _PARTS, _WRENCH, _ROOT, _AXIAL, _OTHER = 0, 6, 9, 15, 21, 22, 23
_ROWS = 25
#: Numbers of scratch before the regressors'.
_SMALL = 633 + 42
HESSIAN_SCRATCH = 8 * ((_ROWS * SERIES + _SMALL) // 8 + 1)


@part
def _fill_variables(held, condyle, slopes, u, height, point, point_slopes, series, work):
    """Fill the series of u[:5] and the height (rows 0 to 5), and of the point (rows 6 to 8)."""
    centre, breaks, pieces, _, half, _ = condyle
    orders, bend = work[0:3], work[3:6]
    zero = work[6:42].reshape(6, 6)
    zero[:, :] = 0.0
    for k in range(5):
        put(u[k], slopes[k], zero, series[_INPUTS + k])
    put(height, slopes[5], zero, series[_INPUTS + 5])
    for k in range(3):
        put(point[k], point_slopes[k], zero, series[_POINT + k])
    for a in range(3):
        for b in range(a, 3):
            orders[:] = 0.0
            orders[a] += 1.0
            orders[b] += 1.0
            turned(centre, held, orders, bend)
            for at in (BEND + 6 * a + b, BEND + 6 * b + a):
                for k in range(3):
                    series[_POINT + k, at] = bend[k]
                series[_INPUTS + 3, at] = bend[0] / half[3]
                series[_INPUTS + 4, at] = bend[2] / half[4]
                series[_INPUTS + 5, at] = bend[1]
    flexion = held[0]
    series[_INPUTS + 1, BEND] -= path_bend(flexion, breaks, pieces, 0) / half[1]
    series[_INPUTS + 2, BEND] -= path_bend(flexion, breaks, pieces, 1) / half[2]
    series[_INPUTS + 3, BEND] -= path_bend(flexion, breaks, pieces, 2) / half[3]
    series[_INPUTS + 4, BEND] -= path_bend(flexion, breaks, pieces, 4) / half[4]
    series[_INPUTS + 5, BEND] -= path_bend(flexion, breaks, pieces, 3)


@part
def _evaluate_bends(x, first, second, third, bends, work):
    """Fill the second derivatives (12, 6, 6) of the outputs of regressors, as far as the sixth."""
    a = first.layout[OUTPUTS]
    b = a + second.layout[OUTPUTS]
    c = b + third.layout[OUTPUTS]
    evaluate_hessians(x, first, bends[: min(a, 6)], work)
    if b > a and a < 6:
        evaluate_hessians(x, second, bends[a : min(b, 6)], work)
    if c > b and b < 6:
        evaluate_hessians(x, third, bends[b : min(c, 6)], work)


@part
def _series_of_s(s, gradient, bend, fall, inputs, root, row):
    """Fill the series of s, which solves the height equation, into `root`; row (6,) is scratch.

    `inputs` are the series of u and, last, of the height; `gradient` (5,) and `bend` (6, 6) are
    derivatives of the learnt height by u, and by u and s; `fall` is its slope by s.
    """
    root[:] = 0.0
    for i in range(1, SERIES):
        root[i] = inputs[5, i]
    for a in range(5):
        for i in range(1, SERIES):
            root[i] -= gradient[a] * inputs[a, i]
    for i in range(1, 7):
        root[i] /= fall
    for a in range(6):
        for j in range(6):
            total = 0.0
            for b in range(6):
                total += bend[a, b] * (inputs[b, 1 + j] if b < 5 else root[1 + j])
            row[j] = total
        for i in range(6):
            by = inputs[a, 1 + i] if a < 5 else root[1 + i]
            for j in range(6):
                root[BEND + 6 * i + j] -= by * row[j]
    for i in range(BEND, SERIES):
        root[i] /= fall
    root[0] = s


@part
def _invert(height, constants, first, second, third, x, out, gradient, bends, series, row, work):
    """Fill the series of the outputs and of the root; return whether the condyle is in contact."""
    inputs, root = series[:6], series[_ROOT]
    found, s = find_root(height, constants, x, first, work)
    if not found:
        return False
    x[5], along, turning = last_input(s, constants.width)
    evaluate_parts(x, first, second, third, out, gradient, work)
    _evaluate_bends(x, first, second, third, bends, work)
    learnt, bend = gradient[0, 5], bends[0]
    fall = fall_at(s, learnt, along, out[0], height, constants, x, first, work)
    for a in range(5):
        bend[5, a] *= along
        bend[a, 5] *= along
    bend[5, 5] *= along * along
    bend[5, 5] += turning * (learnt + constants.fall)
    _series_of_s(s, gradient[0], bend, fall, inputs, root, row)
    apply(x[5], along, turning, root, inputs[5])
    for i in range(1, 6):
        chain(out[i], gradient[i], bends[i], inputs, series[_PARTS + i], row)
    for i in range(SERIES):
        root[i] *= 0.5
    root[0] += 0.5
    return True


@part
def _at_height(constants, first, second, third, x, out, gradient, bends, series, row, work):
    """Fill the series of the outputs over the height, held beyond the samples."""
    inputs, height = series[:6], series[_OTHER]
    height[:] = inputs[5]
    height[0] -= constants.middle
    for i in range(SERIES):
        height[i] /= constants.half
    x[5], along, turning = clipped(height[0], REACH, constants.width)
    apply(x[5], along, turning, height, inputs[5])
    evaluate_parts(x, first, second, third, out, gradient, work)
    _evaluate_bends(x, first, second, third, bends, work)
    for i in range(6):
        chain(out[i], gradient[i], bends[i], inputs, series[_PARTS + i], row)


@part
def _axial(constants, root, axial):
    """Fill the series of the axial load, largest * root^degree, from that of the root."""
    largest, degree = constants.largest, constants.degree
    value, steep, bend = root_of(root[0], constants.width, degree)
    if not value > 0.0:
        axial[:] = 0.0
        return
    slope = largest * degree * value ** (degree - 1.0)
    change = (degree - 1.0) * slope / value
    apply(largest * value**degree, slope * steep, change * steep * steep + slope * bend, root,
          axial)  # fmt: skip


@part
def _fill_wrench(lever, series):
    """Fill the series of the wrench from those of the axial load and the ratios over it."""
    axial, wrench, point = series[_AXIAL], series[_WRENCH : _WRENCH + 6], series[_POINT:_PARTS]
    ratios, product = series[_PARTS : _PARTS + 6], series[_OTHER]
    multiply(axial, ratios[1], wrench[0])
    wrench[1] = axial
    multiply(axial, ratios[2], wrench[2])
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        multiply(axial, ratios[3 + i], wrench[3 + i])
        multiply(point[a], wrench[b], product)
        add(lever, product, wrench[3 + i])
        multiply(point[b], wrench[a], product)
        add(-lever, product, wrench[3 + i])


@part
def _fill_held(pose, box, width, x, held, work):
    """Fill the series (6, 43) of the held pose as a function of the pose."""
    breaks, pieces, centre, half = box
    value, slope, at, along = work[0:5], work[5:10], work[10:15], work[15:20]
    there, follows, bends = followed(pose[0], x[0], centre[0], half[0], width)
    path_at(there, breaks, pieces, value, slope)
    inner, free, turning = clipped(x[0], 1.0, width)
    turning /= half[0]
    flexion = centre[0] + half[0] * inner
    path_at(flexion, breaks, pieces, at, along)
    held[:] = 0.0
    held[0, 0], held[0, 1], held[0, BEND] = flexion, free, turning
    row = 0
    for k in range(5):
        offset, own, bent = pose[k + 1] - value[k], 1.0, 0.0
        if k != 3:
            row += 1
            inner, own, bent = clipped(x[row], 1.0, width)
            offset = centre[row] + half[row] * inner
            bent /= half[row]
        elif abs(offset) > FARTHEST:
            offset, own, bent = clipped(offset, FARTHEST, width * FARTHEST)
        steep = slope[k] * follows
        one = held[k + 1]
        one[0] = at[k] + offset
        one[1] = along[k] * free - steep * own
        one[2 + k] = own
        one[BEND] = path_bend(flexion, breaks, pieces, k) * free * free + along[k] * turning
        one[BEND] += bent * steep * steep - own * slope[k] * bends
        one[BEND] -= own * path_bend(there, breaks, pieces, k) * follows * follows
        one[BEND + k + 1] = -bent * steep
        one[BEND + 6 * (k + 1)] = -bent * steep
        one[BEND + 7 * (k + 1)] = bent


@pasted
def compartment_hessian(pose, box, condyle, constants, first, second, third, hessian,
                        work):  # fmt: skip
    """Fill the second derivatives (6, 6, 6) of the wrench of one compartment at a pose (6,).

    The first axis is the component of the wrench; other arguments are those of
    `compartments.compartment_loads`. Zero out of contact. As in the Jacobian, without smoothing the
    change of a tangent beyond the samples is left out.
    """
    series = work[: _ROWS * SERIES].reshape(_ROWS, SERIES)
    small = work[_ROWS * SERIES : HESSIAN_SCRATCH]
    held, x, inputs, row = small[0:6], small[6:12], small[12:18], small[18:24]
    turn, slopes = small[24:60].reshape(6, 6), small[60:96].reshape(6, 6)
    point, point_slopes = small[96:99], small[99:117].reshape(3, 6)
    out, gradient = small[117:129], small[129:201].reshape(12, 6)
    bends, rest = small[201:633].reshape(12, 6, 6), small[633:]
    scratch = work[HESSIAN_SCRATCH:]
    hessian[:, :, :] = 0.0
    width = constants.width
    inside = hold(pose, box, width, x, held, turn, scratch)
    height = condyle_variables(held, condyle, inputs, slopes, point, point_slopes, scratch)
    _fill_variables(held, condyle, slopes, inputs, height, point, point_slopes, series, rest)
    wrench = series[_WRENCH : _WRENCH + 6]
    if constants.code == DIRECT:
        _at_height(constants, first, second, third, inputs, out, gradient, bends, series, row,
                   scratch)  # fmt: skip
        wrench[:] = series[_PARTS : _PARTS + 6]
    else:
        found = _invert(height, constants, first, second, third, inputs, out, gradient, bends,
                        series, row, scratch)  # fmt: skip
        if not found:
            return
        _axial(constants, series[_ROOT], series[_AXIAL])
        _fill_wrench(condyle.lever, series)
    if not inside:
        _fill_held(pose, box, width, x, series[:6], rest)
    for i in range(6):
        if inside:
            hessian[i] = wrench[i, BEND:].reshape(6, 6)
            continue
        bend = bends[0]
        bend[:, :] = wrench[i, BEND:].reshape(6, 6)
        chain(wrench[i, 0], wrench[i, 1:7], bend, series[:6], series[_OTHER], row)
        hessian[i] = series[_OTHER, BEND:].reshape(6, 6)
