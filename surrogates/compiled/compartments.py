"""Loads of one compartment at a pose: hold the pose in the box, locate the condyle, evaluate.

Arguments of a compartment, always of the same types (packed by `surrogates.compiled.knee`):

===========  =======================================================================================
space        path_flexion (K,), path_pieces (4, K - 1, 5), centre (6,), half (6,): the box
coordinates  centre (3,), path_flexion, path_pieces, middle (5,), half (5,), lever of the condyle
constants    (6,): code of the formulation, largest load or energy, degree p, root of the reference
             load, middle and half range of the depth
regressors   reference, first, second, third: `Regressor.arguments`
===========  =======================================================================================

Kernels neither check, raise nor allocate; the caller provides scratch (`compartment_workspace`).
"""

from __future__ import annotations

import math

import numpy as np

from foundation.compiling import part, pasted
from surrogates.compiled.coordinates import condyle_point
from surrogates.compiled.curvature import evaluate_hessian
from surrogates.compiled.evaluation import evaluate
from surrogates.compiled.layout import OUTPUTS, workspace_size
from surrogates.compiled.line import find_on_line, on_line, on_line_at

INVERTED, ENERGY, ROOT, STIFFNESS, POWER = 0, 1, 2, 3, 4
#: Largest size of the scaled height or depth where it is an input.
REACH = 1.2
#: Least fall of the root of the load with the scaled height beyond, so that lift-off is certain.
_LEAST_FALL = 0.1
SCRATCH = 256  # the small arrays of one compartment; the rest of the workspace is the regressors'


@part
def _path_at(flexion, breaks, pieces, values, slopes):
    """Fill values (5,) of a piecewise cubic path and its slopes (5,) at a flexion."""
    piece = 0
    while piece < breaks.size - 2 and flexion >= breaks[piece + 1]:
        piece += 1
    t = flexion - breaks[piece]
    for k in range(5):
        a, b, c = pieces[0, piece, k], pieces[1, piece, k], pieces[2, piece, k]
        values[k] = ((a * t + b) * t + c) * t + pieces[3, piece, k]
        slopes[k] = (3.0 * a * t + 2.0 * b) * t + c


@pasted
def _path_bend(flexion, breaks, pieces, k):
    """Return the second derivative of coordinate k of a path by flexion."""
    piece = 0
    while piece < breaks.size - 2 and flexion >= breaks[piece + 1]:
        piece += 1
    return 6.0 * pieces[0, piece, k] * (flexion - breaks[piece]) + 2.0 * pieces[1, piece, k]


@part
def hold(coordinates, space, x, held, turn, work):
    """Fill `held` (6,), the nearest pose of the box; return whether that is the pose itself.

    Fills x[:5], the scaled variables of the box, not held. The height over the path is kept.
    Unless the pose is inside, `turn` (6, 6) is filled with d(held)/d(coordinates).
    """
    breaks, pieces, centre, half = space
    value, slope = work[0:5], work[5:10]
    _path_at(coordinates[0], breaks, pieces, value, slope)
    x[0] = (coordinates[0] - centre[0]) / half[0]
    inside = abs(x[0]) <= 1.0
    row = 0
    for k in range(5):
        if k != 3:
            row += 1
            x[row] = (coordinates[k + 1] - value[k] - centre[row]) / half[row]
            inside = inside and abs(x[row]) <= 1.0
    for k in range(6):
        held[k] = coordinates[k]
    if inside:
        return True
    held[0] = centre[0] + half[0] * min(max(x[0], -1.0), 1.0)
    turn[:, :] = 0.0
    if abs(x[0]) <= 1.0:
        turn[0, 0] = 1.0
    at, along = work[10:15], work[15:20]
    _path_at(held[0], breaks, pieces, at, along)
    row = 0
    for k in range(5):
        free = True
        offset = coordinates[k + 1] - value[k]
        if k != 3:
            row += 1
            free = abs(x[row]) <= 1.0
            offset = centre[row] + half[row] * min(max(x[row], -1.0), 1.0)
        held[k + 1] = at[k] + offset
        turn[k + 1, 0] = along[k] * turn[0, 0] - (slope[k] if free else 0.0)
        turn[k + 1, k + 1] = 1.0 if free else 0.0
    return False


@part
def condyle_variables(held, coordinates, u, slopes, point, point_slopes, work):
    """Fill the scaled variables u[:5], their slopes (6, 6) and the condyle's point; return height.

    The last row of `slopes` is that of the height over the condyle's path.
    """
    centre, breaks, pieces, middle, half, _ = coordinates
    condyle_point(held, centre, point, point_slopes)
    value, slope = work[0:5], work[5:10]
    _path_at(held[0], breaks, pieces, value, slope)
    slopes[:, :] = 0.0
    u[0] = (held[0] - middle[0]) / half[0]
    slopes[0, 0] = 1.0 / half[0]
    for k in range(2):
        u[1 + k] = (held[1 + k] - value[k] - middle[1 + k]) / half[1 + k]
        slopes[1 + k, 0] = -slope[k] / half[1 + k]
        slopes[1 + k, 1 + k] = 1.0 / half[1 + k]
    for k in range(0, 3, 2):
        row = 3 if k == 0 else 4
        u[row] = (point[k] - value[2 + k] - middle[row]) / half[row]
        for j in range(6):
            slopes[row, j] = point_slopes[k, j] / half[row]
        slopes[row, 0] -= slope[2 + k] / half[row]
    for j in range(6):
        slopes[5, j] = point_slopes[1, j]
    slopes[5, 0] -= slope[3]
    return point[1] - value[3]


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

    The last input is left out where it is held (`along` false).
    """
    for i in range(rows):
        a0, a1, a2, a3, a4 = (
            gradient[i, 0], gradient[i, 1], gradient[i, 2], gradient[i, 3], gradient[i, 4],
        )  # fmt: skip
        a5 = gradient[i, 5] if along else 0.0
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
    for k in range(3):
        loads[9 + k] = out[start + 3 + k] + lever * point[k]


@part
def power(base, degree):
    """Return base^degree; the square, the most frequent case, without a logarithm."""
    return base * base if degree == 2.0 else base**degree


@part
def _wrench_of(forces, held, wrench):
    """Fill the wrench (6,) about the tibial origin from its generalised forces (6,)."""
    ca, sa = math.cos(held[1]), math.sin(held[1])
    cr, sr = math.cos(held[2]), math.sin(held[2])
    # Moments about the femoral origin along the three axes of rotation_axes(), solved by hand.
    moment_y = -forces[2]
    along = -forces[1]  # cr m_x + sr m_z
    across = (forces[0] - sa * moment_y) / ca  # -sr m_x + cr m_z
    m_x = cr * along - sr * across
    m_z = sr * along + cr * across
    wrench[0], wrench[1], wrench[2] = forces[3], forces[4], forces[5]
    wrench[3] = m_x + held[4] * forces[5] - held[5] * forces[4]
    wrench[4] = moment_y + held[5] * forces[3] - held[3] * forces[5]
    wrench[5] = m_z + held[3] * forces[4] - held[4] * forces[3]


@part
def _wrench_slope(forces, change, held, k, wrench, work):
    """Fill d(wrench)/d(coordinate k) (6,) from that of the generalised forces, `change` (6,)."""
    base = work[0:6]
    _wrench_of(change, held, wrench)
    # contribution of the turning axes and the moving origin at constant forces
    ca, sa = math.cos(held[1]), math.sin(held[1])
    cr, sr = math.cos(held[2]), math.sin(held[2])
    moment_y = -forces[2]
    along = -forces[1]
    across = (forces[0] - sa * moment_y) / ca
    if k == 1:
        turned = -moment_y + across * sa / ca  # d(across)/d(adduction)
        wrench[3] -= sr * turned
        wrench[5] += cr * turned
    elif k == 2:
        wrench[3] += -sr * along - cr * across
        wrench[5] += cr * along - sr * across
    elif k >= 3:
        base[:] = 0.0
        base[k - 3] = 1.0
        for i in range(3):
            a = (i + 1) % 3
            b = (i + 2) % 3
            wrench[3 + i] += base[a] * forces[3 + b] - base[b] * forces[3 + a]


@part
def _turned(centre, held, orders, out):
    """Fill out (3,) with a derivative of R c; `orders` (3,): by flexion, adduction, rotation.

    R = Ry(-rotation) Rx(-adduction) Rz(flexion); a derivative rotates its factor by a right angle
    and removes the component along the axis.
    """
    quarter = 0.5 * math.pi
    x, y, z = centre[0], centre[1], centre[2]
    angle = held[0] + quarter * orders[0]
    c, s = math.cos(angle), math.sin(angle)
    x, y = c * x - s * y, s * x + c * y
    if orders[0] > 0:
        z = 0.0
    sign = -1.0 if orders[1] == 1 else 1.0
    angle = -held[1] + quarter * orders[1]
    c, s = sign * math.cos(angle), sign * math.sin(angle)
    y, z = c * y - s * z, s * y + c * z
    if orders[1] > 0:
        x = 0.0
    sign = -1.0 if orders[2] == 1 else 1.0
    angle = -held[2] + quarter * orders[2]
    c, s = sign * math.cos(angle), sign * math.sin(angle)
    x, z = c * x + s * z, -s * x + c * z
    if orders[2] > 0:
        y = 0.0
    out[0], out[1], out[2] = x, y, z


@part
def _add_bends(total, held, coordinates, weights, work):
    """Add sum_i weights[i] d2(variable i)/dq dq to total (6, 6); variable 5 is the height.

    The variables bend with the rotation of the condyle's point and with the path.
    """
    centre, breaks, pieces, _, half, _ = coordinates
    bend, orders = work[0:3], work[3:6]
    for a in range(3):
        for b in range(a, 3):
            orders[:] = 0.0
            orders[a] += 1.0
            orders[b] += 1.0
            _turned(centre, held, orders, bend)
            value = (
                weights[3] * bend[0] / half[3] + weights[4] * bend[2] / half[4]
                + weights[5] * bend[1]
            )  # fmt: skip
            total[a, b] += value
            if b > a:
                total[b, a] += value
    value = weights[5] * _path_bend(held[0], breaks, pieces, 3)
    value += weights[1] * _path_bend(held[0], breaks, pieces, 0) / half[1]
    value += weights[2] * _path_bend(held[0], breaks, pieces, 1) / half[2]
    value += weights[3] * _path_bend(held[0], breaks, pieces, 2) / half[3]
    value += weights[4] * _path_bend(held[0], breaks, pieces, 4) / half[4]
    total[0, 0] -= value


@part
def _energy_loads(root, largest, degree, held, coordinates, gradient, slopes, last, first,
                  x, loads, jacobian, work):  # fmt: skip
    """Fill wrench and jacobian as the gradient of the energy, largest * root^degree.

    `gradient` (6,) is the gradient of the learnt height by (u, s), `slopes` (6, 6) of u and, last,
    of the height, `last` (6,) of s, each by the pose. Twice differentiating height(u(q), s(q)) =
    y(q) gives the curvature of s. Beyond the largest energy the height is its tangent, of which the
    change with u is left out.
    """
    forces, change, column = work[0:6], work[6:12], work[12:18]
    weights, scratch = work[18:24], work[24:32]
    hessian = work[32:68].reshape(6, 6)
    bends = work[68:104].reshape(6, 6)
    evaluate_hessian(x, first, hessian, work[104:])
    if root > 1.0:
        hessian[5, :] = 0.0
        hessian[:, 5] = 0.0
    first_slope = 0.5 * largest * degree * root ** (degree - 1.0)
    second_slope = 0.25 * largest * degree * (degree - 1.0) * root ** (degree - 2.0)
    weights[0] = 0.0
    for k in range(1, 5):
        weights[k] = -gradient[k]
    weights[5] = 1.0
    bends[:, :] = 0.0
    _add_bends(bends, held, coordinates, weights, scratch)
    for j in range(6):
        forces[j] = -first_slope * last[j]
    _wrench_of(forces, held, loads)
    for j in range(6):
        for i in range(6):
            curvature = bends[i, j]
            for a in range(6):
                by_i = slopes[a, i] if a < 5 else last[i]
                for b in range(6):
                    curvature -= hessian[a, b] * by_i * (slopes[b, j] if b < 5 else last[j])
            curvature /= gradient[5]
            change[i] = -(second_slope * last[i] * last[j] + first_slope * curvature)
        _wrench_slope(forces, change, held, j, column, scratch)
        for i in range(6):
            jacobian[i, j] = column[i]


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
        Filled, in the order of `foundation.loads.LOAD_COLUMNS`. Out of contact all are zero and
        the centre of pressure is NaN.
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
    inside = hold(pose, space, x, held, turn, scratch)
    height = condyle_variables(held, coordinates, inputs, slopes, point, point_slopes, scratch)
    code, largest, degree = constants[0], constants[1], constants[2]
    lever = coordinates[5]
    if code == POWER:
        inputs[5] = min(max((height - constants[4]) / constants[5], -REACH), REACH)
        free = abs(height - constants[4]) <= REACH * constants[5]
        for j in range(6):
            last[j] = slopes[5, j] / constants[5]
        evaluate_parts(inputs, first, second, third, out, gradient, scratch)
        _chain(gradient, 6, slopes, last, free)
        for i in range(9):
            size = abs(out[i])
            loads[i] = math.copysign(size if degree == 1.0 else size**degree, out[i])
            slope = 1.0 if degree == 1.0 else degree * size ** (degree - 1.0)
            if i < 6:
                for j in range(6):
                    jacobian[i, j] = slope * gradient[i, j]
        for k in range(3):
            loads[9 + k] = out[9 + k] + lever * point[k]
    elif code == INVERTED or code == ENERGY:  # noqa: SIM109 - no tuple in a kernel
        found, s = find_on_line(height, inputs, first, scratch)
        if not found:
            touch, _ = on_line(-1.0, first, scratch)
            return height - touch
        inputs[5] = min(s, 1.0)
        evaluate_parts(inputs, first, second, third, out, gradient, scratch)
        fall = gradient[0, 5]
        if not fall < 0.0:  # a stationary point: the chord from first contact falls
            fall = chord_slope(inputs, s, height, out[0], first, scratch)
        for j in range(6):
            slope = slopes[5, j]
            for k in range(5):
                slope -= gradient[0, k] * slopes[k, j]
            last[j] = slope / fall
        root = 0.5 * (s + 1.0)
        if code == ENERGY:
            for k in range(5):
                row[k] = gradient[0, k]
            row[5] = fall
            _energy_loads(root, largest, degree, held, coordinates, row, slopes, last, first,
                          inputs, loads, jacobian, scratch)  # fmt: skip
            fill_quantities(root, degree - 1.0, out, 1, point, lever, loads)
        else:
            axial = largest * power(root, degree)
            for j in range(6):
                axial_slope[j] = 0.5 * largest * degree * root ** (degree - 1.0) * last[j]
            _chain(gradient, 6, slopes, last, s <= 1.0)
            fill_from_ratios(axial, axial_slope, out, gradient, point, point_slopes, lever,
                         loads, jacobian)  # fmt: skip
            fill_quantities(root, degree, out, 6, point, lever, loads)
    else:
        root = _root_at(code, height, constants, inputs, slopes, reference, first, second, third,
                        out, gradient, last, row, scratch)  # fmt: skip
        if not root > 0.0:
            return 0.0
        axial = largest * power(root, degree)
        for j in range(6):
            axial_slope[j] = largest * degree * root ** (degree - 1.0) * row[j]
        fill_from_ratios(axial, axial_slope, out, gradient, point, point_slopes, lever,
                     loads, jacobian)  # fmt: skip
        fill_quantities(root, degree, out, 6, point, lever, loads)
    x[5] = math.sqrt(max(loads[1], 0.0)) / space[3][5] - 1.0
    if not inside:
        multiply_by(jacobian, turn, row)
    return 0.0


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
    inputs[5] = min(max(depth, -REACH), REACH)
    for j in range(6):
        last[j] /= constants[5]
    evaluate_parts(inputs, first, second, third, out, gradient, work)
    fall = min(gradient[0, 5], -_LEAST_FALL)
    beyond = depth - inputs[5]
    _chain(gradient, 6, slopes, last, beyond == 0.0)
    if code == ROOT:
        for j in range(6):
            root_slope[j] = gradient[0, j]
            if beyond != 0.0:  # along the tangent, without the change of its slope
                root_slope[j] += fall * last[j]
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
