"""Pressure of a continuous layer at a pose (docs/theory.md, "Pressure fields").

Places of contact are those with an overlap. Kernels neither check, raise nor allocate.

=========  =========================================================================================
bed        (P, 7): see `surrogates.compiled.pressure`
inside     (P,) int64: the places that overlap, filled
scaling    (2, 15): middle and half range of the measures of a patch
points     (15, N): scaled measures of the samples over their lengths
lengths    (15,): correlation lengths of the scaled measures, over √5
weights    (1 + 15 + N, 16): weights of the trend and of the correlations for each term
=========  =========================================================================================
"""

from __future__ import annotations

import math

from foundation.base.compiling import fused_kernel, fused_part

#: Measures of a patch: logarithms of both widths and of the volume, 4 third and 5 fourth moments,
#: middle (2), shear.
MEASURES = 15
#: Degree of the polynomial of the pressure, number of its terms, and the same with the logarithm of
#: the integral of the pressure over the largest overlap and the width of the patch.
DEGREE = 4
SHAPES = (DEGREE + 1) * (DEGREE + 2) // 2
TERMS = SHAPES + 1
#: Width of the patch in the coordinates a and b, in standard deviations; distance from the middle
#: up to which there may be contact; span of the Legendre polynomials.
WIDTH, REACH, SPAN = 2.5, 1.7, 1.2
#: Bounds of the scaled measures: the samples lie within 1. The widths of lighter contact than that
#: of the samples follow the trend further.
_HELD, _LIGHT = 1.1, 2.5


@fused_kernel
def overlapping(depth, inside):
    """Fill the numbers of the places with an overlap; return their count."""
    count = 0
    for i in range(depth.size):
        if depth[i] > 0.0:
            inside[count] = i
            count += 1
    return count


@fused_kernel
def measure_overlap(depth, bed, inside, frame, measures):
    """Fill frame (6,) and measures (15,) of an overlap; return whether its size is finite.

    `frame` is the middle x, z [m], the standard deviations along x and z [m], and the part of x
    that follows z [1]: moments of the overlap over the projected area; and the product of the
    largest overlap and the geometric mean of the deviations [m²], which a linear layer's load is
    in proportion to.
    """
    largest, total, mean_x, mean_z = 0.0, 0.0, 0.0, 0.0
    for i in inside:
        w = depth[i] * bed[i, 6]
        largest = max(largest, depth[i])
        total += w
        mean_x += w * bed[i, 0]
        mean_z += w * bed[i, 2]
    if not total > 0.0:
        return False
    mean_x /= total
    mean_z /= total
    xx, xz, zz = 0.0, 0.0, 0.0
    for i in inside:
        w = depth[i] * bed[i, 6] / total
        x, z = bed[i, 0] - mean_x, bed[i, 2] - mean_z
        xx += w * x * x
        xz += w * x * z
        zz += w * z * z
    if not zz > 0.0 or not xx > xz * xz / zz * (1.0 + 1e-9):
        return False
    frame[0], frame[1] = mean_x, mean_z
    frame[2], frame[3], frame[4] = math.sqrt(xx - xz * xz / zz), math.sqrt(zz), xz / zz
    frame[5] = largest * math.sqrt(frame[2] * frame[3])
    measures[0], measures[1] = math.log(frame[2]), math.log(frame[3])
    measures[2] = math.log(total / (largest * frame[2] * frame[3]))
    measures[12], measures[13], measures[14] = mean_x, mean_z, frame[4]
    _moments(depth, bed, inside, frame, total, measures)
    return True


@fused_part
def _moments(depth, bed, inside, frame, total, measures):
    """Fill the third and fourth moments of an overlap, measures 3 to 11."""
    measures[3:12] = 0.0
    for i in inside:
        w = depth[i] * bed[i, 6] / total
        b = bed[i, 2] - frame[1]
        a = (bed[i, 0] - frame[0] - frame[4] * b) / (WIDTH * frame[2])
        b /= WIDTH * frame[3]
        aa, bb = a * a, b * b
        measures[3] += w * b * bb
        measures[4] += w * a * bb
        measures[5] += w * aa * b
        measures[6] += w * aa * a
        measures[7] += w * bb * bb
        measures[8] += w * a * b * bb
        measures[9] += w * aa * bb
        measures[10] += w * aa * a * b
        measures[11] += w * aa * aa


@fused_kernel
def evaluate_terms(measures, scaling, points, lengths, weights, scaled, work, terms):
    """Fill the terms (16,) of a patch: Kriging with a linear trend and Matern 5/2 correlations.

    `scaled` (15,) and `work` (2, N) are scratch memory.
    """
    radius, factor = work[0], work[1]
    radius[:] = 0.0
    factor[:] = 1.0
    for k in range(TERMS):
        terms[k] = weights[0, k]
    for d in range(MEASURES):
        z = (measures[d] - scaling[0, d]) / scaling[1, d]
        z = min(max(z, -_LIGHT if d < 2 else -_HELD), _HELD)
        for k in range(TERMS):
            terms[k] += z * weights[1 + d, k]
        scaled[d] = z / lengths[d]
        for n in range(radius.size):
            s = abs(scaled[d] - points[d, n])
            radius[n] += s
            factor[n] *= 1.0 + s + s * s * (1.0 / 3.0)
    for n in range(radius.size):
        factor[n] *= math.exp(-radius[n])
    for n in range(radius.size):
        for k in range(TERMS):
            terms[k] += factor[n] * weights[1 + MEASURES + n, k]


@fused_part
def _legendre(x, values):
    """Fill the Legendre polynomials (5,) at x."""
    values[0], values[1] = 1.0, x
    for n in range(1, DEGREE):
        values[n + 1] = ((2 * n + 1) * x * values[n] - n * values[n - 1]) / (n + 1)


@fused_part
def _polynomial(first, second, terms):
    """Return the sum of the products of total degree 4 or less of two sets of polynomials."""
    found, k = 0.0, 0
    for degree in range(DEGREE + 1):
        for j in range(degree + 1):
            found += terms[k] * first[degree - j] * second[j]
            k += 1
    return found


@fused_kernel
def layer_pressures(bed, inside, frame, terms, exponent, values, pressure):
    """Fill the pressures (P,) [Pa] of a layer.

    p ~ max(s(a, b), 0)^m with the polynomial s of the scaled coordinates a, b of the patch; only
    the places `inside` (n,) are written. `values` (2, 5) is scratch memory.
    """
    first, second, carried = values[0], values[1], 0.0
    for i in inside:
        b = bed[i, 2] - frame[1]
        a = (bed[i, 0] - frame[0] - frame[4] * b) / (WIDTH * frame[2])
        b /= WIDTH * frame[3]
        pressure[i] = 0.0
        if a * a + b * b < REACH * REACH:
            _legendre(a / SPAN, first)
            _legendre(b / SPAN, second)
            bearing = _polynomial(first, second, terms)
            if bearing > 0.0:
                pressure[i] = bearing**exponent
                carried += pressure[i] * bed[i, 6]
    if carried > 0.0:
        scale = frame[5] * math.exp(terms[SHAPES]) / carried
        for i in inside:
            pressure[i] *= scale


@fused_kernel
def add_triangle_pressures(pressure, corners, shares, triangles, found):
    """Add pressures (P,) [Pa] of places, interpolated, to those of all triangles (F,) [Pa]."""
    for i in range(triangles.size):
        value = shares[i, 0] * pressure[corners[i, 0]]
        value += shares[i, 1] * pressure[corners[i, 1]] + shares[i, 2] * pressure[corners[i, 2]]
        if value > 0.0:
            found[triangles[i]] += value
