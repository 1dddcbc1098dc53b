"""Compliance of a femoral layer between points of contact, and its derivative along their motion.

The displacement by a unit force at the distance r on a flat layer of thickness t is
B (1/r - D(r/t)/t), B = (1 - ν²)/(π E); the table holds cubic pieces of D. What a layer that is
neither flat nor even adds is interpolated between the nodes of the layer.
"""

from __future__ import annotations

from math import erfc, pi, sqrt

import numpy as np

from foundation.base.compiling import fused_kernel, fused_part


@fused_part
def table_value(table, per_step, distance):
    """Return D of a distance in thicknesses, and its slope [1]; 1/distance beyond the table."""
    place = distance * per_step
    piece = int(place)
    if piece >= len(table):
        return 1.0 / distance, -1.0 / (distance * distance)
    u = place - piece
    a, b, c, d = table[piece, 0], table[piece, 1], table[piece, 2], table[piece, 3]
    return a + u * (b + u * (c + u * d)), (b + u * (2.0 * c + 3.0 * u * d)) * per_step


@fused_part
def flat_compliance(table, per_step, inverse, thickness):
    """Return 1/r - D(r/t)/t [1/m] for 1/r `inverse` and t `thickness`."""
    value, _ = table_value(table, per_step, 1.0 / (inverse * thickness))
    return inverse - value / thickness


#: Terms of the lattice sum on each side; what is left out is below 1e-12.
_TERMS = 4
#: Wave number times thickness beyond which 1 - φ is nothing, and most terms on each side.
_LAST, _MOST_TERMS = 18.0, 24


@fused_kernel
def lattice_own_part(g11, g12, g22):
    """Return `foundation.layer_theory.flat_layer.own_part` of a cell with the metric g [m²]."""
    area = sqrt(g11 * g22 - g12 * g12)
    total = 4.0
    for i in range(-_TERMS, _TERMS + 1):
        for j in range(-_TERMS, _TERMS + 1):
            if i != 0 or j != 0:
                # At unit area, the dual lattice has the lengths of the lattice, turned by 90°.
                distance = sqrt((g11 * i * i + 2.0 * g12 * i * j + g22 * j * j) / area)
                total -= 2.0 * erfc(sqrt(pi) * distance) / distance
    return total / sqrt(area)


@fused_kernel
def deficit_transform(s, ratio):
    """Return 1 - φ at the wave number times the thickness, see `layer_theory.flat_layer`."""
    fade, sharp = np.exp(-2.0 * s), 3.0 - 4.0 * ratio
    rest = 2.0 * s * s + 5.0 - 12.0 * ratio + 8.0 * ratio * ratio
    return (
        2.0 * fade * (sharp * fade + rest + 2.0 * s)
        / (sharp * (1.0 + fade * fade) + 2.0 * fade * rest)
    )  # fmt: skip


@fused_kernel
def lattice_excess(g11, g12, g22, thickness, ratio):
    """Return by how much the lattice sum of D(r/t)/t exceeds its integral over the cell [1/m].

    By Poisson's summation formula, the sum of the transform 2π (1 - φ(K t))/K over the dual lattice
    but K = 0; nothing where the cell is small beside the thickness.
    """
    area = sqrt(g11 * g22 - g12 * g12)
    # The dual lattice has the lengths of the lattice, turned by 90°, over its area.
    scale = 2.0 * pi * thickness / area
    short = sqrt(area * area / max(g11, g22))
    terms = min(int(_LAST / (scale * short)) + 1, _MOST_TERMS)
    total = 0.0
    for i in range(-terms, terms + 1):
        for j in range(-terms, terms + 1):
            length = sqrt(g11 * i * i + 2.0 * g12 * i * j + g22 * j * j)
            if length > 0.0 and scale * length < _LAST:
                total += deficit_transform(scale * length, ratio) / length
    return total


#: Lines of the dual lattice on each side, for a sum that decreases with the cube.
_CUBED_TERMS = 16


@fused_kernel
def lattice_curvature(g11, g12, g22):
    """Return what a sum of 1/r over a lattice misses of second order in the spacing [1/m].

    With `lattice_own_part` at a node itself, the sum over the lattice of exp(i k·x)/r exceeds the
    integral over a cell, 2π/(A k), by m11 (k·a)² + 2 m12 (k·a)(k·b) + m22 (k·b)² of the edges a and
    b, and terms of higher order: by Poisson's summation formula, half of the second derivatives of
    2π/(A k), summed over the dual lattice but K = 0. For squares of edge 1, m11 = m22 = 0.0572.
    """
    area = sqrt(g11 * g22 - g12 * g12)
    # Metric of the dual lattice, over 2π.
    h11, h12, h22 = g22 / area**2, -g12 / area**2, g11 / area**2
    largest = _CUBED_TERMS * sqrt(min(h11 - h12 * h12 / h22, h22 - h12 * h12 / h11))
    m11 = m12 = m22 = 0.0
    for i in range(-_CUBED_TERMS, _CUBED_TERMS + 1):
        for j in range(-_CUBED_TERMS, _CUBED_TERMS + 1):
            first, second = i * h11 + j * h12, i * h12 + j * h22
            square = i * first + j * second
            if 0.0 < square <= largest * largest:
                cube = 1.0 / (square * sqrt(square))
                m11 += cube * (3.0 * first * first / square - h11)
                m12 += cube * (3.0 * first * second / square - h12)
                m22 += cube * (3.0 * second * second / square - h22)
    # The rest of the sum is an integral over all directions.
    rest = pi * area / largest
    scale = 1.0 / (8.0 * pi * pi * area)
    return scale * (m11 + rest * h11), scale * (m12 + rest * h12), scale * (m22 + rest * h22)


@fused_kernel
def subtract_flat(table, per_step, strength, points, thickness, own, matrix):
    """Subtract the compliance of a flat layer between nodes (C,) from a matrix (C, C).

    ``own`` (C,) takes the place of 1/r at a node itself [1/m]; ``strength`` is B.
    """
    count = len(points)
    for i in range(count):
        for j in range(i + 1):
            t = 0.5 * (thickness[i] + thickness[j])
            if i == j:
                flat = own[i] - table[0, 0] / t
            else:
                x = points[i, 0] - points[j, 0]
                y = points[i, 1] - points[j, 1]
                z = points[i, 2] - points[j, 2]
                flat = flat_compliance(table, per_step, (x * x + y * y + z * z) ** -0.5, t)
            matrix[i, j] -= strength * flat
            if i != j:
                matrix[j, i] -= strength * flat


@fused_kernel
def fill_rows(
    table, per_step, strength, points, thickness, own, factors, cells, weights, used, regular,
    rows, filled, scratch, matrix,
):  # fmt: skip
    """Write rows of the compliance (n, n) [m/N] between points of contact.

    Parameters are ``points`` (n, 3) and ``thickness`` (n,) [m], ``own`` (n,) as in `subtract_flat`,
    ``factors`` (n,) [1], and the nodes ``cells`` (n, 4) and ``weights`` (n, 4) from which the
    ``regular`` compliance (C, C) [m/N] is interpolated; ``used`` (U,) lists these nodes once.
    Rows that are ``filled`` (n,) are left, and copied to other rows. ``scratch`` has a place per
    node of the layer.
    """
    count = len(points)
    for row in rows:
        if filled[row]:
            continue
        a, b, c, d = cells[row, 0], cells[row, 1], cells[row, 2], cells[row, 3]
        wa, wb, wc, wd = weights[row, 0], weights[row, 1], weights[row, 2], weights[row, 3]
        for k in range(len(used)):
            at = used[k]
            scratch[at] = (
                wa * regular[a, at] + wb * regular[b, at] + wc * regular[c, at]
                + wd * regular[d, at]
            )  # fmt: skip
        px, py, pz, t = points[row, 0], points[row, 1], points[row, 2], 0.5 * thickness[row]
        for j in range(count):
            if filled[j]:
                matrix[row, j] = matrix[j, row]
                continue
            if j == row:
                flat = own[j] - table[0, 0] / thickness[j]
            else:
                x, y, z = px - points[j, 0], py - points[j, 1], pz - points[j, 2]
                inverse = 1.0 / (x * x + y * y + z * z) ** 0.5
                flat = flat_compliance(table, per_step, inverse, t + 0.5 * thickness[j])
            rest = (
                weights[j, 0] * scratch[cells[j, 0]] + weights[j, 1] * scratch[cells[j, 1]]
                + weights[j, 2] * scratch[cells[j, 2]] + weights[j, 3] * scratch[cells[j, 3]]
            )  # fmt: skip
            matrix[row, j] = factors[row] * factors[j] * (strength * flat + rest)
        filled[row] = True


@fused_kernel
def fill_slopes(table, per_step, strength, points, thickness, factors, by_distance, by_thickness):
    """Write derivatives of the flat layer's compliance between points of contact (n,).

    To ``by_distance`` (n, n) the derivative by the distance over the distance, and to
    ``by_thickness`` (n, n) half of that by the thickness [1/N].
    """
    for i in range(len(points)):
        t = thickness[i]
        scale = strength * factors[i]
        by_distance[i, i] = 0.0
        by_thickness[i, i] = 0.5 * scale * factors[i] * table[0, 0] / (t * t)
        for j in range(i):
            x = points[i, 0] - points[j, 0]
            y = points[i, 1] - points[j, 1]
            z = points[i, 2] - points[j, 2]
            inverse = (x * x + y * y + z * z) ** -0.5
            t = 0.5 * (thickness[i] + thickness[j])
            ratio = 1.0 / (inverse * t)
            value, slope = table_value(table, per_step, ratio)
            per_square = scale * factors[j] / (t * t)
            by_distance[i, j] = -(scale * factors[j] * inverse * inverse + per_square * slope) * (
                inverse
            )
            by_thickness[i, j] = 0.5 * per_square * (value + ratio * slope)
            by_distance[j, i] = by_distance[i, j]
            by_thickness[j, i] = by_thickness[i, j]
