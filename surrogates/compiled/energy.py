"""Loads of a compartment as the gradient of a learnt energy.

Arguments are those of `surrogates.compiled.compartments`.
"""

from __future__ import annotations

import math

from foundation.base.compiling import part
from surrogates.compiled.box import path_bend
from surrogates.compiled.curvature import evaluate_hessian
from surrogates.compiled.smoothing import last_input, positive_part


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
def turned(centre, held, orders, out):
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
    sign = -1.0 if orders[1] % 2.0 == 1.0 else 1.0
    angle = -held[1] + quarter * orders[1]
    c, s = sign * math.cos(angle), sign * math.sin(angle)
    y, z = c * y - s * z, s * y + c * z
    if orders[1] > 0:
        x = 0.0
    sign = -1.0 if orders[2] % 2.0 == 1.0 else 1.0
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
            turned(centre, held, orders, bend)
            value = (
                weights[3] * bend[0] / half[3] + weights[4] * bend[2] / half[4]
                + weights[5] * bend[1]
            )  # fmt: skip
            total[a, b] += value
            if b > a:
                total[b, a] += value
    value = weights[5] * path_bend(held[0], breaks, pieces, 3)
    value += weights[1] * path_bend(held[0], breaks, pieces, 0) / half[1]
    value += weights[2] * path_bend(held[0], breaks, pieces, 1) / half[2]
    value += weights[3] * path_bend(held[0], breaks, pieces, 2) / half[3]
    value += weights[4] * path_bend(held[0], breaks, pieces, 4) / half[4]
    total[0, 0] -= value


@part
def energy_loads(s, learnt_slope, constants, held, coordinates, gradient, slopes, last, first,
                  x, loads, jacobian, work):  # fmt: skip
    """Fill wrench and jacobian as the gradient of the energy, largest * root^degree.

    `gradient` (6,) is the gradient of the height by (u, s), `slopes` (6, 6) of u and, last, of the
    height, `last` (6,) of s, each by the pose; `learnt_slope` is that of the learnt height by its
    last input, which with a smoothing width differs beyond the largest energy. Twice
    differentiating height(u(q), s(q)) = y(q) gives the curvature of s. Beyond the largest energy
    the height is its tangent, of which the change with u is left out; with a smoothing width its
    fall is constant there. Returns the root of the energy.
    """
    forces, change, column = work[0:6], work[6:12], work[12:18]
    weights, scratch = work[18:24], work[24:32]
    hessian = work[32:68].reshape(6, 6)
    bends = work[68:104].reshape(6, 6)
    evaluate_hessian(x, first, hessian, work[104:])
    largest, degree, width = constants[1], constants[2], constants[6]
    root, steep, bend = 0.5 * (s + 1.0), 1.0, 0.0
    if width > 0.0:
        root, steep, bend, _ = positive_part(root, width)
        _, along, turning, _ = last_input(s, width)
        for a in range(5):
            hessian[5, a] *= along
            hessian[a, 5] *= along
        hessian[5, 5] *= along * along
        hessian[5, 5] += turning * (learnt_slope + constants[7])
    elif root > 1.0:
        hessian[5, :] = 0.0
        hessian[:, 5] = 0.0
    power_slope = largest * degree * root ** (degree - 1.0)
    first_slope = 0.5 * power_slope * steep
    second_slope = 0.25 * largest * degree * (degree - 1.0) * root ** (degree - 2.0)
    if width > 0.0:
        second_slope = second_slope * steep * steep + 0.25 * power_slope * bend
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
    return root
