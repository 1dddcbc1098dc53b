"""Second derivatives of the wrench that is the gradient of a learnt energy.

With the energy E(s), s(q) from height(u(q), s(q)) = y(q), the third derivatives of s follow from
differentiating the height equation three times, and those of the energy by the chain rule.
"""

from __future__ import annotations

import math

from foundation.base.compiling import part
from surrogates.compiled.box import piece_at
from surrogates.compiled.energy import turned
from surrogates.compiled.series import BEND, SERIES, add, apply, multiply
from surrogates.compiled.smoothing import positive_part

#: Numbers of scratch of `energy_wrench`.
ENERGY_SCRATCH = 9 * 216 + 12 * SERIES + 12


@part
def _fill_thirds(held, coordinates, thirds, work):
    """Fill the third derivatives (6, 216) of u and, last, of the height by the held pose."""
    centre, breaks, pieces, _, half, _ = coordinates
    orders, bend = work[0:3], work[3:6]
    thirds[:, :] = 0.0
    for a in range(3):
        for b in range(3):
            for c in range(3):
                orders[:] = 0.0
                orders[a] += 1.0
                orders[b] += 1.0
                orders[c] += 1.0
                turned(centre, held, orders, bend)
                at = 36 * a + 6 * b + c
                thirds[3, at] = bend[0] / half[3]
                thirds[4, at] = bend[2] / half[4]
                thirds[5, at] = bend[1]
    piece = piece_at(held[0], breaks)
    for k in range(5):
        value = 6.0 * pieces[0, piece, k]
        if k == 3:
            thirds[5, 0] -= value
        else:
            row = k + 1 if k < 3 else 4
            thirds[row, 0] -= value / half[row]


@part
def _contract(third, inputs, out, work):
    """Fill out (216,) with a tensor (6, 6, 6) along the gradients of the series inputs (6, 43)."""
    once, twice = work[0:216].reshape(6, 6, 6), out.reshape(6, 6, 6)
    for a in range(6):
        for b in range(6):
            for k in range(6):
                total = 0.0
                for c in range(6):
                    total += third[a, b, c] * inputs[c, 1 + k]
                once[a, b, k] = total
    for a in range(6):
        for j in range(6):
            for k in range(6):
                total = 0.0
                for b in range(6):
                    total += once[a, b, k] * inputs[b, 1 + j]
                twice[a, j, k] = total
    for j in range(6):
        for k in range(6):
            for i in range(6):
                total = 0.0
                for a in range(6):
                    total += twice[a, j, k] * inputs[a, 1 + i]
                once[i, j, k] = total
    twice[:, :, :] = once


@part
def _third_of_s(gradient, hessian, third, fall, inputs, thirds, out, work):
    """Fill the third derivatives (216,) of s; `inputs` are the series of u and, last, of s.

    `gradient`, `hessian` and `third` are those of the height by u and s, and `thirds` (6, 216) the
    third derivatives of u and, last, of the pose's height.
    """
    row = work[0:6]
    _contract(third, inputs, out, work)
    for i in range(216):
        out[i] = thirds[5, i] - out[i]
        for k in range(5):
            out[i] -= gradient[k] * thirds[k, i]
    for a in range(6):
        for k in range(6):
            total = 0.0
            for b in range(6):
                total += hessian[a, b] * inputs[b, 1 + k]
            row[k] = total
        for i in range(6):
            for j in range(6):
                for k in range(6):
                    out[36 * i + 6 * j + k] -= (
                        inputs[a, BEND + 6 * i + j] * row[k]
                        + inputs[a, BEND + 6 * i + k] * row[j]
                        + inputs[a, BEND + 6 * j + k] * row[i]
                    )  # fmt: skip
    for i in range(216):
        out[i] /= fall


@part
def _fill_forces(constants, s, third, forces):
    """Fill the series (6, 43) of the generalised forces from the series of s and its thirds."""
    largest, degree = constants[1], constants[2]
    root, steep, bend, turn = positive_part(0.5 * (s[0] + 1.0), constants[6])
    forces[:, :] = 0.0
    if not root > 0.0:
        return
    first = largest * degree * root ** (degree - 1.0)
    second = first * (degree - 1.0) / root
    rest = second * (degree - 2.0) / root
    slope = 0.5 * first * steep
    curve = 0.25 * (second * steep * steep + first * bend)
    change = 0.125 * (rest * steep**3 + 3.0 * second * steep * bend + first * turn)
    for i in range(6):
        forces[i, 0] = -slope * s[1 + i]
        for j in range(6):
            by = s[BEND + 6 * i + j]
            forces[i, 1 + j] = -(curve * s[1 + i] * s[1 + j] + slope * by)
            for k in range(6):
                pairs = by * s[1 + k] + s[BEND + 6 * i + k] * s[1 + j]
                pairs += s[BEND + 6 * j + k] * s[1 + i]
                forces[i, BEND + 6 * j + k] = -(
                    change * s[1 + i] * s[1 + j] * s[1 + k] + curve * pairs
                    + slope * third[36 * i + 6 * j + k]
                )  # fmt: skip


@part
def _angle(k, value, slope, bend, series):
    """Fill the series of a function of coordinate k from its derivatives."""
    series[:] = 0.0
    series[0] = value
    series[1 + k] = slope
    series[BEND + 7 * k] = bend


@part
def _fill_wrench(held, forces, wrench, work):
    """Fill the series (6, 43) of the wrench from those of the forces; see `energy._wrench_of`."""
    turn, across, product = work[0:SERIES], work[SERIES : 2 * SERIES], work[2 * SERIES : 3 * SERIES]
    tangent, secant = math.tan(held[1]), 1.0 / math.cos(held[1])
    cr, sr = math.cos(held[2]), math.sin(held[2])
    # across = (Q_0 + sin(adduction) Q_2) / cos(adduction), along = -Q_1
    _angle(1, secant, secant * tangent, secant * (secant * secant + tangent * tangent), turn)
    multiply(turn, forces[0], across)
    _angle(1, tangent, secant * secant, 2.0 * tangent * secant * secant, turn)
    multiply(turn, forces[2], product)
    add(1.0, product, across)
    for i in range(3):
        wrench[i] = forces[3 + i]
    wrench[4] = forces[2]
    apply(-forces[2, 0], -1.0, 0.0, forces[2], wrench[4])
    _angle(2, cr, -sr, -cr, turn)
    multiply(turn, forces[1], wrench[3])
    multiply(turn, across, wrench[5])
    _angle(2, sr, cr, -sr, turn)
    multiply(turn, across, product)
    add(1.0, product, wrench[3])
    apply(-wrench[3, 0], -1.0, 0.0, wrench[3], wrench[3])
    multiply(turn, forces[1], product)
    add(-1.0, product, wrench[5])
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        _angle(3 + a, held[3 + a], 1.0, 0.0, turn)
        multiply(turn, forces[3 + b], product)
        add(1.0, product, wrench[3 + i])
        _angle(3 + b, held[3 + b], 1.0, 0.0, turn)
        multiply(turn, forces[3 + a], product)
        add(-1.0, product, wrench[3 + i])


@part
def energy_wrench(held, coordinates, constants, gradient, hessian, third, fall, inputs, wrench,
                  work):  # fmt: skip
    """Fill the series (6, 43) of the wrench by the held pose.

    Parameters
    ----------
    held, coordinates, constants
        Of `compartments.compartment_loads`.
    gradient, hessian, third : (6,), (6, 6), (6, 6, 6) float64
        Derivatives of the height by u and s.
    fall : float
        Derivative by s, made to fall.
    inputs : (6, 43) float64
        Series of u and, last, of s.
    wrench : (6, 43) float64
        Filled.
    work : (ENERGY_SCRATCH,) float64
        Scratch.
    """
    thirds, by_pose, rest = work[:1296].reshape(6, 216), work[1296:1512], work[1512:]
    _fill_thirds(held, coordinates, thirds, rest)
    _third_of_s(gradient, hessian, third, fall, inputs, thirds, by_pose, rest)
    forces = rest[: 6 * SERIES].reshape(6, SERIES)
    _fill_forces(constants, inputs[5], by_pose, forces)
    _fill_wrench(held, forces, wrench, rest[6 * SERIES :])
