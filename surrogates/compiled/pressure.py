"""Pressure field of one compartment at a pose (docs/theory.md, "Pressure fields").

The femur is the surface rho(theta, z) in cylindrical coordinates about an axis along z through the
condyle, a bicubic B-spline over t = 2 R tan(theta / 2) and z. Kernels neither check, raise nor
allocate.

=========  =========================================================================================
condyle    (10,): centre (3,) in the femoral frame [m], direction of theta = 0 (2,) [1], radius R,
           first t and first z of the grid, its spacing [m], and 1 over the spacing [1/m]
spline     (G, H): coefficients of rho - R [m]
known      (G - 3, H - 3) bool: cells of the grid in which the surface is known
outline    (10,), (I, J), (I - 3, J - 3) and (I - 3, J - 3, 4): the coarse outline of the surface,
shape      see `surrogates.fields.outline`
outlined
limits
bed        (P, 7): point (3,) [m], unit normal (3,) [1] and projected area [m²] of each place
groups     (P / 8, 8): centre (3,) of each eight points in turn [m], their largest distance from
           the centre [m], their mean normal (3,), and their largest distance from the plane across
           the normal through the centre [m]
blocks     (P / 64, 8): the same of 64 points in turn
law        (T, 2): coefficient c [Pa/m^m, or Pa] and thickness h [m] of each triangle
constants  (3,): kind of the law, exponent m, share of the largest indentation that bears no load
=========  =========================================================================================
"""

from __future__ import annotations

import math

import numpy as np

from foundation.base.compiling import fused_inlined, fused_kernel, fused_pasted
from foundation.base.loads import STRAIN_LIMIT

#: Kinds of laws: p = c x^m, and p = -c ln(1 - x/h).
POWER, LOGARITHMIC = 0, 1
#: Points of a group.
GROUP = 8
#: Groups of a block.
BLOCK = 8
_LIFTED = -1.0
#: Bound of dt over the distance near the surface.
STRETCH = 2.0
#: Newton steps, the last step [m], and the distance from which a point counts as outside [m].
_STEPS, _CLOSE, _OUTSIDE = 8, 4e-5, 2e-4
_LEAST_SLOPE, _LARGEST_STEP = 0.1, 2e-3


@fused_pasted
def _cubic(s):
    """Return the four cubic B-splines at a place s in a cell, 0 to 1."""
    v = 1.0 - s
    return (
        v * v * v * (1.0 / 6.0),
        ((0.5 * s - 1.0) * s * s) + 2.0 / 3.0,
        ((0.5 * v - 1.0) * v * v) + 2.0 / 3.0,
        s * s * s * (1.0 / 6.0),
    )


@fused_pasted
def _cubic_slope(s):
    """Return the derivatives of `_cubic` by s."""
    v = 1.0 - s
    return -0.5 * v * v, (1.5 * s - 2.0) * s, (2.0 - 1.5 * v) * v, 0.5 * s * s


@fused_inlined
def _rise_and_gradient(x, y, z, condyle, spline, known):
    """Return cell (2), height of the femur over a place relative to the centre, and its gradient.

    The height is positive inside the femur; `_LIFTED` where the surface is not known. The cell is
    -1 outside the grid.
    """
    forward = x * condyle[3] + y * condyle[4]
    aside = y * condyle[3] - x * condyle[4]
    rho = math.sqrt(forward * forward + aside * aside)
    if not rho + forward > 0.1 * rho:
        return -1, -1, _LIFTED, 0.0, 0.0, 0.0
    # t = 2 R tan(theta / 2), so that dt / d theta = R (1 + tan²(theta / 2)) = 2 R / (1 + cos theta)
    half = 2.0 * condyle[5] / (rho + forward)
    along, across = (half * aside - condyle[6]) * condyle[9], (z - condyle[7]) * condyle[9]
    if not (0.0 <= along < known.shape[0] and 0.0 <= across < known.shape[1]):
        return -1, -1, _LIFTED, 0.0, 0.0, 0.0
    i, j = int(along), int(across)
    if not known[i, j]:
        return i, j, _LIFTED, 0.0, 0.0, 0.0
    along, across = along - i, across - j
    inverse = 1.0 / rho
    cosine, sine = forward * inverse, aside * inverse
    a, b, da, db = _cubic(along), _cubic(across), _cubic_slope(along), _cubic_slope(across)
    value, by_t, by_z = condyle[5] - rho, 0.0, 0.0
    for k in range(4):
        c0, c1, c2, c3 = (
            spline[i + k, j], spline[i + k, j + 1], spline[i + k, j + 2], spline[i + k, j + 3],
        )  # fmt: skip
        row = b[0] * c0 + b[1] * c1 + b[2] * c2 + b[3] * c3
        value += a[k] * row
        by_t += da[k] * row
        by_z += a[k] * (db[0] * c0 + db[1] * c1 + db[2] * c2 + db[3] * c3)
    around = by_t * condyle[9] * half
    forward, aside = -cosine - around * sine, around * cosine - sine
    return (
        i,
        j,
        value,
        forward * condyle[3] - aside * condyle[4],
        forward * condyle[4] + aside * condyle[3],
        by_z * condyle[9],
    )


@fused_inlined
def _indentation(x, y, z, along, depth, condyle, spline, known):
    """Return the distance from a place against a normal to the exit from the femur [m].

    0 or less where the place is outside the femur; Newton's method from a first guess `depth`.
    """
    for _ in range(_STEPS):
        _i, _j, rise, to_x, to_y, to_z = _rise_and_gradient(
            x - depth * along[0], y - depth * along[1], z - depth * along[2],
            condyle, spline, known,
        )  # fmt: skip
        if rise == _LIFTED:
            return rise
        slope = to_x * along[0] + to_y * along[1] + to_z * along[2]
        step = min(max(rise / max(slope, _LEAST_SLOPE), -_LARGEST_STEP), _LARGEST_STEP)
        depth += step
        # The error that is left is the square of the step times the curvature.
        if abs(step) <= _CLOSE or depth <= -_OUTSIDE:
            return depth
    return _LIFTED


@fused_pasted
def _turned(rotation, x, y, z):
    """Return a vector of the tibial frame in the femoral frame."""
    return (
        rotation[0, 0] * x + rotation[1, 0] * y + rotation[2, 0] * z,
        rotation[0, 1] * x + rotation[1, 1] * y + rotation[2, 1] * z,
        rotation[0, 2] * x + rotation[1, 2] * y + rotation[2, 2] * z,
    )


@fused_inlined
def _tangent(rotation, translation, ball, outline, shape, outlined, limits, kind):
    """Return height, gradient and error of the outline's tangent plane over the middle of a ball.

    The error bounds the distance of the surface from the plane within the ball; it is negative
    where the femur is certainly above the ball. The height is `_LIFTED` where no plane is known.
    """
    x, y, z = _turned(
        rotation, ball[0] - translation[0], ball[1] - translation[1], ball[2] - translation[2]
    )
    x, y, z = x - outline[0], y - outline[1], z - outline[2]
    i, j, rise, to_x, to_y, to_z = _rise_and_gradient(x, y, z, outline, shape, outlined)
    size = ball[3]
    if rise == _LIFTED:
        return rise, to_x, to_y, to_z, limits[i, j, kind] if i >= 0 else -1.0
    error = limits[i, j, kind] + limits[i, j, kind + 1] * size * size
    # The places of a ball lie near a plane: the slope along the plane and that across count apart.
    nx, ny, nz = _turned(rotation, ball[4], ball[5], ball[6])
    across = to_x * nx + to_y * ny + to_z * nz
    steep = math.sqrt(max(to_x * to_x + to_y * to_y + to_z * to_z - across * across, 0.0))
    if rise + steep * size + abs(across) * ball[7] + error < 0.0:
        error = -1.0
    return rise, to_x, to_y, to_z, error


@fused_inlined
def _group(
    rotation, translation, condyle, spline, known, outline, shape, outlined, limits, bed, ball,
    depth,
):  # fmt: skip
    """Fill the indentations of a group; return the largest."""
    tx, ty, tz = translation[0], translation[1], translation[2]
    cx, cy, cz = condyle[0], condyle[1], condyle[2]
    at_x, at_y, at_z = ball[0], ball[1], ball[2]
    centre, to_x, to_y, to_z, error = _tangent(
        rotation, translation, ball, outline, shape, outlined, limits, np.int64(0)
    )
    if error < 0.0:
        depth[:] = _LIFTED
        return 0.0
    by_x = rotation[0, 0] * to_x + rotation[0, 1] * to_y + rotation[0, 2] * to_z
    by_y = rotation[1, 0] * to_x + rotation[1, 1] * to_y + rotation[1, 2] * to_z
    by_z = rotation[2, 0] * to_x + rotation[2, 1] * to_y + rotation[2, 2] * to_z
    largest = 0.0
    for i in range(depth.size):
        guess = 0.0
        if centre > _LIFTED:
            # Height of the tangent plane, and the most that the rest may add.
            rise = centre + by_x * (bed[i, 0] - at_x) + by_y * (bed[i, 1] - at_y)
            rise += by_z * (bed[i, 2] - at_z)
            if rise < -error:
                depth[i] = rise
                continue
            slope = by_x * bed[i, 3] + by_y * bed[i, 4] + by_z * bed[i, 5]
            guess = rise / max(slope, _LEAST_SLOPE)
        x, y, z = _turned(rotation, bed[i, 0] - tx, bed[i, 1] - ty, bed[i, 2] - tz)
        along = _turned(rotation, bed[i, 3], bed[i, 4], bed[i, 5])
        depth[i] = _indentation(x - cx, y - cy, z - cz, along, guess, condyle, spline, known)
        largest = max(largest, depth[i])
    return largest


@fused_kernel
def indentations(
    rotation, translation, condyle, spline, known, outline, shape, outlined, limits, bed, groups,
    blocks, depth,
):  # fmt: skip
    """Fill the indentation `depth` (P,) [m] of each place of the bed; 0 or less out of contact.

    `rotation` (3, 3) is from the femoral to the tibial frame and `translation` (3,) [m] the femoral
    origin in the tibial frame; for the other arguments see the module. Returns the largest
    indentation [m], 0 out of contact.
    """
    largest = 0.0
    for block in range(blocks.shape[0]):
        first = BLOCK * block
        last = min(first + BLOCK, groups.shape[0])
        error = _tangent(
            rotation, translation, blocks[block], outline, shape, outlined, limits, np.int64(2)
        )[4]
        if error < 0.0:
            depth[GROUP * first : min(GROUP * last, depth.size)] = _LIFTED
            continue
        for k in range(first, last):
            found = _group(
                rotation, translation, condyle, spline, known, outline, shape, outlined, limits,
                bed[GROUP * k : GROUP * (k + 1)], groups[k], depth[GROUP * k : GROUP * (k + 1)],
            )  # fmt: skip
            largest = max(largest, found)
    return largest


@fused_kernel
def add_spring_pressures(depth, largest, constants, law, triangles, pressure):
    """Add the pressures of springs of indentations (T,) [m] to those of all triangles (F,) [Pa]."""
    start = constants[2] * largest
    for i in range(depth.size):
        bearing = depth[i] - start
        if bearing <= 0.0:
            continue
        if constants[0] == LOGARITHMIC:
            strain = min(bearing / law[i, 1], STRAIN_LIMIT)
            beyond = bearing / law[i, 1] - strain
            found = law[i, 0] * (beyond / (1.0 - strain) - math.log1p(-strain))
        elif constants[1] == 1.0:
            found = law[i, 0] * bearing
        else:
            found = law[i, 0] * bearing ** constants[1]
        pressure[triangles[i]] += found
