"""Pressure field of one compartment at a pose (docs/theory.md, "Pressure fields").

The femur is the surface rho(theta, z) in cylindrical coordinates about an axis along z through the
condyle, a bicubic B-spline over t = 2 R tan(theta / 2) and z. Kernels neither check, raise nor
allocate.

=========  =========================================================================================
condyle    (9,): centre (3,) in the femoral frame [m], direction of theta = 0 (2,) [1], radius R,
           first t and first z of the grid, and its spacing [m]
spline     (G, H): coefficients of rho - R [m]
blocks     (T / 64, 5): the same of 64 points in turn
known      (G - 3, H - 3) bool: cells of the grid in which the surface is known
bed        (T, 7): point (3,) [m], unit normal (3,) [1] and projected area [m²] of each triangle
groups     (T / 8, 5): centre (3,) of each eight points in turn [m], most that the height of the
           femur over them rises above its tangent plane over the centre [m], and their largest
           distance from the centre [m]
law        (T, 2): coefficient c [Pa/m^m, or Pa] and thickness h [m] of each triangle
constants  (3,): kind of the law, exponent m, share of the largest indentation that bears no load
=========  =========================================================================================
"""

from __future__ import annotations

import math

from foundation.compiling import fused_kernel, fused_part, fused_pasted, inlined

#: Kinds of laws: p = c x^m, and p = -c ln(1 - x/h).
POWER, LOGARITHMIC = 0, 1
#: Terms of the threshold of a layer: 1, a, b, a², a b, b².
THRESHOLDS = 6
#: Terms of the factor of a layer besides 1: a, b, a², a b, b².
FACTORS = 5
#: Half width of the patch in the coordinates a and b, in standard deviations.
WIDTH = 2.5
#: Strain up to which a logarithmic law is followed; beyond it continues along its tangent.
STRAIN_LIMIT = 0.99
#: Points of a group.
GROUP = 8
#: Groups of a block.
BLOCK = 8
_LIFTED = -1.0
#: Bound of dt over the distance near the surface.
_STRETCH = 2.0
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


@inlined
def _place(x, y, z, condyle, known):
    """Return cell, place in the cell, rho, its cosine and sine of a place; cell -1: not known."""
    forward = x * condyle[3] + y * condyle[4]
    aside = y * condyle[3] - x * condyle[4]
    rho = math.sqrt(forward * forward + aside * aside)
    if not rho + forward > 0.1 * rho:
        return -1, -1, 0.0, 0.0, rho, 0.0, 0.0
    along = (2.0 * condyle[5] * aside / (rho + forward) - condyle[6]) / condyle[8]
    across = (z - condyle[7]) / condyle[8]
    if not (0.0 <= along < known.shape[0] and 0.0 <= across < known.shape[1]):
        return -1, -1, 0.0, 0.0, rho, 0.0, 0.0
    i, j = int(along), int(across)
    if not known[i, j]:
        return -1, -1, 0.0, 0.0, rho, 0.0, 0.0
    return i, j, along - i, across - j, rho, forward / rho, aside / rho


@inlined
def _rise_and_gradient(x, y, z, condyle, spline, known):
    """Return the height of the femur over a place relative to the centre, and its gradient.

    Positive inside the femur; `_LIFTED` where the surface is not known.
    """
    i, j, along, across, rho, cosine, sine = _place(x, y, z, condyle, known)
    if i < 0:
        return _LIFTED, 0.0, 0.0, 0.0
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
    # t = 2 R tan(theta / 2), so that dt / d theta = R (1 + tan²(theta / 2)) = 2 R / (1 + cos theta)
    around = by_t / condyle[8] * 2.0 * condyle[5] / (rho * (1.0 + cosine))
    forward, aside = -cosine - around * sine, around * cosine - sine
    return (
        value,
        forward * condyle[3] - aside * condyle[4],
        forward * condyle[4] + aside * condyle[3],
        by_z / condyle[8],
    )


@fused_part
def _indentation(x, y, z, along, depth, condyle, spline, known):
    """Return the distance from a place against a normal to the exit from the femur [m].

    0 or less where the place is outside the femur; Newton's method from a first guess `depth`.
    """
    for _ in range(_STEPS):
        rise, to_x, to_y, to_z = _rise_and_gradient(
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


@fused_part
def _near_known(x, y, z, size, condyle, known):
    """Return whether the surface is known near a place relative to the centre."""
    forward = x * condyle[3] + y * condyle[4]
    aside = y * condyle[3] - x * condyle[4]
    rho = math.sqrt(forward * forward + aside * aside)
    if not rho + forward > 0.1 * rho:
        return False
    reach = int(_STRETCH * size / condyle[8]) + 1
    along = (2.0 * condyle[5] * aside / (rho + forward) - condyle[6]) / condyle[8]
    across = (z - condyle[7]) / condyle[8]
    for i in range(max(int(along) - reach, 0), min(int(along) + reach + 1, known.shape[0])):
        for j in range(max(int(across) - reach, 0), min(int(across) + reach + 1, known.shape[1])):
            if known[i, j]:
                return True
    return False


@fused_pasted
def _turned(rotation, x, y, z):
    """Return a vector of the tibial frame in the femoral frame."""
    return (
        rotation[0, 0] * x + rotation[1, 0] * y + rotation[2, 0] * z,
        rotation[0, 1] * x + rotation[1, 1] * y + rotation[2, 1] * z,
        rotation[0, 2] * x + rotation[1, 2] * y + rotation[2, 2] * z,
    )


@fused_part
def _is_lifted(rotation, translation, ball, condyle, spline, known):
    """Return whether the femur is certainly above the points of a group."""
    x, y, z = _turned(
        rotation, ball[0] - translation[0], ball[1] - translation[1], ball[2] - translation[2]
    )
    x, y, z = x - condyle[0], y - condyle[1], z - condyle[2]
    rise, to_x, to_y, to_z = _rise_and_gradient(x, y, z, condyle, spline, known)
    if rise == _LIFTED:
        return not _near_known(x, y, z, ball[4], condyle, known)
    steep = math.sqrt(to_x * to_x + to_y * to_y + to_z * to_z)
    return rise + steep * ball[4] + ball[3] < 0.0


@fused_part
def _group(rotation, translation, condyle, spline, known, bed, ball, depth):
    """Fill the indentations of a group; return the largest."""
    tx, ty, tz = translation[0], translation[1], translation[2]
    cx, cy, cz = condyle[0], condyle[1], condyle[2]
    at_x, at_y, at_z = ball[0], ball[1], ball[2]
    x, y, z = _turned(rotation, at_x - tx, at_y - ty, at_z - tz)
    x, y, z = x - cx, y - cy, z - cz
    centre, to_x, to_y, to_z = _rise_and_gradient(x, y, z, condyle, spline, known)
    if centre > _LIFTED:
        steep = math.sqrt(to_x * to_x + to_y * to_y + to_z * to_z)
        away = centre + steep * ball[4] + ball[3] < 0.0
    else:
        away = not _near_known(x, y, z, ball[4], condyle, known)
    if away:
        depth[:] = _LIFTED
        return 0.0
    by_x = rotation[0, 0] * to_x + rotation[0, 1] * to_y + rotation[0, 2] * to_z
    by_y = rotation[1, 0] * to_x + rotation[1, 1] * to_y + rotation[1, 2] * to_z
    by_z = rotation[2, 0] * to_x + rotation[2, 1] * to_y + rotation[2, 2] * to_z
    largest = 0.0
    for i in range(depth.size):
        guess = 0.0
        if centre > _LIFTED:
            # Taylor's series about the centre, and the most that the rest may add.
            rise = centre + by_x * (bed[i, 0] - at_x) + by_y * (bed[i, 1] - at_y)
            rise += by_z * (bed[i, 2] - at_z)
            if rise < -ball[3]:
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
def indentations(rotation, translation, condyle, spline, known, bed, groups, blocks, depth):
    """Fill the indentation (T,) [m] of each triangle; 0 or less out of contact.

    Parameters
    ----------
    rotation : (3, 3) float64
        From the femoral to the tibial frame.
    translation : (3,) float64
        Femoral origin in the tibial frame [m].
    condyle, spline, known, bed, groups, blocks
        See the module.
    depth : (T,) float64
        Filled.

    Returns
    -------
    float
        The largest indentation [m], 0 out of contact.
    """
    largest = 0.0
    for block in range(blocks.shape[0]):
        first = BLOCK * block
        last = min(first + BLOCK, groups.shape[0])
        if _is_lifted(rotation, translation, blocks[block], condyle, spline, known):
            depth[GROUP * first : min(GROUP * last, depth.size)] = _LIFTED
            continue
        for k in range(first, last):
            found = _group(
                rotation, translation, condyle, spline, known, bed[GROUP * k : GROUP * (k + 1)],
                groups[k], depth[GROUP * k : GROUP * (k + 1)],
            )  # fmt: skip
            largest = max(largest, found)
    return largest


@fused_kernel
def bed_pressures(depth, largest, constants, law, pressure):
    """Fill the pressures (T,) [Pa] of springs from their indentations (T,) [m]."""
    start = constants[2] * largest
    for i in range(depth.size):
        bearing = depth[i] - start
        if bearing <= 0.0:
            pressure[i] = 0.0
        elif constants[0] == LOGARITHMIC:
            strain = min(bearing / law[i, 1], STRAIN_LIMIT)
            beyond = bearing / law[i, 1] - strain
            pressure[i] = law[i, 0] * (beyond / (1.0 - strain) - math.log1p(-strain))
        elif constants[1] == 1.0:
            pressure[i] = law[i, 0] * bearing
        else:
            pressure[i] = law[i, 0] * bearing ** constants[1]


@fused_kernel
def patch_frame(depth, bed, frame):
    """Fill centre x, z [m], standard deviations along x and z [m] and shear of the overlap (5,).

    The moments of the indentation over the projected area; the shear is the part of x that follows
    z. Returns whether there is an overlap of finite size.
    """
    total, mean_x, mean_z = 0.0, 0.0, 0.0
    for i in range(depth.size):
        if depth[i] > 0.0:
            w = depth[i] * bed[i, 6]
            total += w
            mean_x += w * bed[i, 0]
            mean_z += w * bed[i, 2]
    if not total > 0.0:
        return False
    mean_x /= total
    mean_z /= total
    xx, xz, zz = 0.0, 0.0, 0.0
    for i in range(depth.size):
        if depth[i] > 0.0:
            w = depth[i] * bed[i, 6] / total
            x, z = bed[i, 0] - mean_x, bed[i, 2] - mean_z
            xx += w * x * x
            xz += w * x * z
            zz += w * z * z
    if not zz > 0.0 or not xx > xz * xz / zz:
        return False
    frame[0], frame[1] = mean_x, mean_z
    frame[2], frame[3], frame[4] = math.sqrt(xx - xz * xz / zz), math.sqrt(zz), xz / zz
    return True


@fused_kernel
def layer_pressures(depth, largest, exponent, terms, frame, bed, force, pressure):
    """Fill the pressures (T,) [Pa] of a layer that bear an axial force [N].

    p ~ (d / d0 - k(a, b))^m (1 + f(a, b)) with quadratics k and f of the scaled coordinates a, b of
    the patch; `terms` (11,) are the coefficients of k (1, a, b, a², a b, b²) and of f.
    """
    carried = 0.0
    for i in range(depth.size):
        pressure[i] = 0.0
        if depth[i] > 0.0:
            z = bed[i, 2] - frame[1]
            a = (bed[i, 0] - frame[0] - frame[4] * z) / (WIDTH * frame[2])
            b = z / (WIDTH * frame[3])
            k = terms[0] + a * terms[1] + b * terms[2]
            k += a * a * terms[3] + a * b * terms[4] + b * b * terms[5]
            bearing = depth[i] / largest - k
            if bearing > 0.0:
                f = 1.0 + a * terms[6] + b * terms[7]
                f += a * a * terms[8] + a * b * terms[9] + b * b * terms[10]
                pressure[i] = max(f, 0.0) * bearing**exponent
                carried += pressure[i] * bed[i, 6]
    if carried > 0.0:
        for i in range(depth.size):
            pressure[i] *= force / carried
