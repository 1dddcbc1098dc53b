"""Exit of a line from the femur.

A facet's patch is X(u, v) = A0 + A1 u + A2 v + A3 u² + A4 u v + A5 v², its coefficients the rows of
``patch`` (F, 6, 3); on plane facets (``curved`` false) only the first three count.
"""

from __future__ import annotations

import numpy as np

from foundation.base.compiling import fused_kernel, fused_part

#: Lines or elements that are handled side by side. Loops over them have this constant length and
#: run over neighbouring numbers, so that the compiler makes vector instructions of them.
LANES = 16

_PATCH_STEPS = 12
_WALK_STEPS = 60
#: A line this little outside a patch, in barycentric coordinates, is on the seam.
SEAM = 1e-9
#: After a last step of Newton's method below this, the next would be below rounding.
STEP = 1e-4
# One this far outside belongs to a neighbour for sure; one that two neighbours give each other may
# miss both by this.
_FAR = 0.3
_SEAM_WIDTH = 0.05
# Least m.d of the one neighbour over that of the other where both face the line.
_GRAZING = 1e-6

#: Rows of `LANES` numbers in the arguments of `meet_patches`: origin and direction of the lines
#: (3 each), coefficients of the patches (18), and of the hits u, v, s, m.d and the last step.
LINE_ROWS, DIRECTION_ROWS, _PATCH_ROWS, HIT_ROWS = 0, 3, 6, 24
HIT_U, HIT_V, HIT_DISTANCE, HIT_OUT, HIT_STEP = range(HIT_ROWS, HIT_ROWS + 5)
#: Number of these rows.
MEET_ROWS = HIT_ROWS + 5
#: Parts in each direction of the grid's cells near the surface; a power of two.
PARTS = 4
#: Number of walks along facet normals in the search for the foot of a perpendicular.
_FOOT_STEPS = 2
#: Newton steps of `meet_patches`.
_STEPS = 3


@fused_part
def directions_across(dx, dy, dz):
    """Return two unit vectors across a vector (Duff et al. 2017, J Comput Graph Tech 6(1):1-8)."""
    sign = 1.0 if dz >= 0.0 else -1.0
    a = -1.0 / (sign + dz)
    b = dx * dy * a
    return 1.0 + sign * dx * dx * a, sign * b, -sign * dx, b, sign + dy * dy * a, -dy


@fused_kernel
def patch_hit(patch, curved, facet, ox, oy, oz, dx, dy, dz):
    """Intersect the line o + s d with the patch of a facet, continued beyond its edges.

    Newton's method with the patch's coefficients projected onto the plane across the line. The
    iteration ends early where the line clearly belongs to a neighbour.

    Returns (u, v, s, m.d), s NaN without intersection; m = dx/du x dx/dv is the outward normal.
    """
    tx, ty, tz, wx, wy, wz = directions_across(dx, dy, dz)
    x, y, z = patch[facet, 0, 0] - ox, patch[facet, 0, 1] - oy, patch[facet, 0, 2] - oz
    p0, q0, r0 = tx * x + ty * y + tz * z, wx * x + wy * y + wz * z, dx * x + dy * y + dz * z
    x, y, z = patch[facet, 1, 0], patch[facet, 1, 1], patch[facet, 1, 2]
    p1, q1, r1 = tx * x + ty * y + tz * z, wx * x + wy * y + wz * z, dx * x + dy * y + dz * z
    x, y, z = patch[facet, 2, 0], patch[facet, 2, 1], patch[facet, 2, 2]
    p2, q2, r2 = tx * x + ty * y + tz * z, wx * x + wy * y + wz * z, dx * x + dy * y + dz * z
    if not curved:
        det = p1 * q2 - p2 * q1
        if det == 0.0:
            return 0.0, 0.0, np.nan, 0.0
        u, v = (p2 * q0 - p0 * q2) / det, (p0 * q1 - p1 * q0) / det
        return u, v, r0 + u * r1 + v * r2, det
    x, y, z = patch[facet, 3, 0], patch[facet, 3, 1], patch[facet, 3, 2]
    p3, q3, r3 = tx * x + ty * y + tz * z, wx * x + wy * y + wz * z, dx * x + dy * y + dz * z
    x, y, z = patch[facet, 4, 0], patch[facet, 4, 1], patch[facet, 4, 2]
    p4, q4, r4 = tx * x + ty * y + tz * z, wx * x + wy * y + wz * z, dx * x + dy * y + dz * z
    x, y, z = patch[facet, 5, 0], patch[facet, 5, 1], patch[facet, 5, 2]
    p5, q5, r5 = tx * x + ty * y + tz * z, wx * x + wy * y + wz * z, dx * x + dy * y + dz * z
    # The plane through the corners gives the start.
    u0, u1, v0, v1 = p1 + p3, q1 + q3, p2 + p5, q2 + q5
    det = u0 * v1 - v0 * u1
    if det == 0.0:
        return 0.0, 0.0, np.nan, 0.0
    u, v = (v0 * q0 - p0 * v1) / det, (p0 * u1 - u0 * q0) / det
    if min(u, v, 1.0 - u - v) < -_FAR:
        return u, v, r0 + u * (r1 + r3) + v * (r2 + r5), det
    for _ in range(_PATCH_STEPS):
        f0 = p0 + u * (p1 + u * p3 + v * p4) + v * (p2 + v * p5)
        f1 = q0 + u * (q1 + u * q3 + v * q4) + v * (q2 + v * q5)
        u0, u1 = p1 + 2.0 * u * p3 + v * p4, q1 + 2.0 * u * q3 + v * q4
        v0, v1 = p2 + u * p4 + 2.0 * v * p5, q2 + u * q4 + 2.0 * v * q5
        det = u0 * v1 - v0 * u1
        if det == 0.0:
            return u, v, np.nan, 0.0
        inverse = 1.0 / det
        du, dv = (v0 * f1 - f0 * v1) * inverse, (f0 * u1 - u0 * f1) * inverse
        u += du
        v += dv
        if abs(du) + abs(dv) < STEP:
            break
        if not abs(u) + abs(v) < 1e3:
            return u, v, np.nan, 0.0
    return u, v, r0 + u * (r1 + u * r3 + v * r4) + v * (r2 + v * r5), det


@fused_kernel
def patch_normal(patch, curved, facet, u, v):
    """Return the normal dx/du x dx/dv of a patch, outward, not of unit length."""
    ux, uy, uz = patch[facet, 1, 0], patch[facet, 1, 1], patch[facet, 1, 2]
    vx, vy, vz = patch[facet, 2, 0], patch[facet, 2, 1], patch[facet, 2, 2]
    if curved:
        ux += 2.0 * u * patch[facet, 3, 0] + v * patch[facet, 4, 0]
        uy += 2.0 * u * patch[facet, 3, 1] + v * patch[facet, 4, 1]
        uz += 2.0 * u * patch[facet, 3, 2] + v * patch[facet, 4, 2]
        vx += u * patch[facet, 4, 0] + 2.0 * v * patch[facet, 5, 0]
        vy += u * patch[facet, 4, 1] + 2.0 * v * patch[facet, 5, 1]
        vz += u * patch[facet, 4, 2] + 2.0 * v * patch[facet, 5, 2]
    return uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx


@fused_part
def edge_crossed(u, v, worst):
    """Return the edge (c0 c1, c1 c2, c2 c0) crossed if ``worst`` is the smallest coordinate."""
    return 2 if worst == u else (0 if worst == v else 1)


@fused_kernel
def walk_to_hit(patch, neighbour, curved, facet, ox, oy, oz, dx, dy, dz):
    """Intersect the line o + s d with the femur, walking from facet to facet towards the line.

    Returns (facet, u, v, s, m.d), see `patch_hit`: s NaN if the walk left the surface or did not
    end; the facet is then the last facet of the walk.
    """
    previous = -1
    before = 0.0
    u = v = np.nan
    for _ in range(_WALK_STEPS):
        u, v, s, out = patch_hit(patch, curved, facet, ox, oy, oz, dx, dy, dz)
        if not np.isfinite(s):
            break
        w = 1.0 - u - v
        worst = min(u, v, w)
        if worst >= -SEAM:
            return facet, u, v, s, out
        following = neighbour[facet, edge_crossed(u, v, worst)]
        if following < 0:
            break
        if following == previous:
            # Each of two patches gives the line to the other: it runs along their seam, or past an
            # edge beyond which the surface faces away.
            along = worst > -_SEAM_WIDTH and before > _GRAZING * out
            return facet, u, v, s if along else np.nan, out
        previous = facet
        before = out
        facet = following
    return facet, u, v, np.nan, 0.0


@fused_kernel
def facet_towards(patch, neighbour, curved, facet, ox, oy, oz, dx, dy, dz):
    """Return the plane facet that the line o + s d meets, walking towards the line.

    A first guess of the intersection with the surface: the last facet of the walk if the walk left
    the surface.
    """
    tx, ty, tz, wx, wy, wz = directions_across(dx, dy, dz)
    previous = -1
    for _ in range(_WALK_STEPS):
        # A patch's corners are A0, A0 + A1 + A3 and A0 + A2 + A5.
        x, y, z = patch[facet, 0, 0] - ox, patch[facet, 0, 1] - oy, patch[facet, 0, 2] - oz
        p0, q0 = tx * x + ty * y + tz * z, wx * x + wy * y + wz * z
        x, y, z = patch[facet, 1, 0], patch[facet, 1, 1], patch[facet, 1, 2]
        if curved:
            x, y, z = x + patch[facet, 3, 0], y + patch[facet, 3, 1], z + patch[facet, 3, 2]
        p1, q1 = p0 + tx * x + ty * y + tz * z, q0 + wx * x + wy * y + wz * z
        x, y, z = patch[facet, 2, 0], patch[facet, 2, 1], patch[facet, 2, 2]
        if curved:
            x, y, z = x + patch[facet, 5, 0], y + patch[facet, 5, 1], z + patch[facet, 5, 2]
        p2, q2 = p0 + tx * x + ty * y + tz * z, q0 + wx * x + wy * y + wz * z
        # Barycentric coordinates of the corners 1, 2 and 0, times the area.
        u, v, w = p2 * q0 - p0 * q2, p0 * q1 - p1 * q0, p1 * q2 - p2 * q1
        if u + v + w < 0.0:
            u, v, w = -u, -v, -w
        worst = min(u, v, w)
        if worst >= 0.0:
            return facet
        following = neighbour[facet, edge_crossed(u, v, worst)]
        if following < 0 or following == previous:
            return facet
        previous = facet
        facet = following
    return facet


@fused_part
def gather_patches(patch, terms, facets, count, rows):
    """Copy the first ``terms`` coefficients of the facets' patches, side by side."""
    for i in range(count):
        facet = facets[i]
        for j in range(terms):
            for k in range(3):
                rows[(_PATCH_ROWS + 3 * j + k) * LANES + i] = patch[facet, j, k]


@fused_part
def meet_planes(patch, facets, count, rows):
    """Intersect `LANES` lines with plane facets; see `meet_patches`."""
    n = LANES
    c, d = _PATCH_ROWS * n, DIRECTION_ROWS * n
    gather_patches(patch, np.int64(3), facets, count, rows)
    for i in range(n):
        dx, dy, dz = rows[d + i], rows[d + n + i], rows[d + 2 * n + i]
        tx, ty, tz, wx, wy, wz = directions_across(dx, dy, dz)
        x = rows[c + i] - rows[i]
        y = rows[c + n + i] - rows[n + i]
        z = rows[c + 2 * n + i] - rows[2 * n + i]
        p0, q0, r0 = tx * x + ty * y + tz * z, wx * x + wy * y + wz * z, dx * x + dy * y + dz * z
        x, y, z = rows[c + 3 * n + i], rows[c + 4 * n + i], rows[c + 5 * n + i]
        p1, q1, r1 = tx * x + ty * y + tz * z, wx * x + wy * y + wz * z, dx * x + dy * y + dz * z
        x, y, z = rows[c + 6 * n + i], rows[c + 7 * n + i], rows[c + 8 * n + i]
        p2, q2, r2 = tx * x + ty * y + tz * z, wx * x + wy * y + wz * z, dx * x + dy * y + dz * z
        det = p1 * q2 - p2 * q1
        u, v = (p2 * q0 - p0 * q2) / det, (p0 * q1 - p1 * q0) / det
        rows[HIT_U * n + i], rows[HIT_V * n + i] = u, v
        rows[HIT_DISTANCE * n + i] = r0 + u * r1 + v * r2
        rows[HIT_OUT * n + i] = det
        rows[HIT_STEP * n + i] = 0.0


@fused_kernel
def meet_patches(patch, curved, facets, count, rows):
    """Intersect `LANES` lines with patches (F, 6, 3) [m] of facets, continued beyond their edges.

    The first ``count`` of ``facets`` are those of the lines. ``rows`` contains o [m] and d [1] of
    the lines in the six rows from `LINE_ROWS` and gets, in the rows from `HIT_U`: u, v, s, m.d of
    `patch_hit` and the size of the last step in (u, v).
    """
    n = LANES
    c, d = _PATCH_ROWS * n, DIRECTION_ROWS * n
    if not curved:
        meet_planes(patch, facets, count, rows)
        return
    gather_patches(patch, np.int64(6), facets, count, rows)
    for i in range(n):
        dx, dy, dz = rows[d + i], rows[d + n + i], rows[d + 2 * n + i]
        tx, ty, tz, wx, wy, wz = directions_across(dx, dy, dz)
        x = rows[c + i] - rows[i]
        y = rows[c + n + i] - rows[n + i]
        z = rows[c + 2 * n + i] - rows[2 * n + i]
        p0, q0, r0 = tx * x + ty * y + tz * z, wx * x + wy * y + wz * z, dx * x + dy * y + dz * z
        x, y, z = rows[c + 3 * n + i], rows[c + 4 * n + i], rows[c + 5 * n + i]
        p1, q1, r1 = tx * x + ty * y + tz * z, wx * x + wy * y + wz * z, dx * x + dy * y + dz * z
        x, y, z = rows[c + 6 * n + i], rows[c + 7 * n + i], rows[c + 8 * n + i]
        p2, q2, r2 = tx * x + ty * y + tz * z, wx * x + wy * y + wz * z, dx * x + dy * y + dz * z
        x, y, z = rows[c + 9 * n + i], rows[c + 10 * n + i], rows[c + 11 * n + i]
        p3, q3, r3 = tx * x + ty * y + tz * z, wx * x + wy * y + wz * z, dx * x + dy * y + dz * z
        x, y, z = rows[c + 12 * n + i], rows[c + 13 * n + i], rows[c + 14 * n + i]
        p4, q4, r4 = tx * x + ty * y + tz * z, wx * x + wy * y + wz * z, dx * x + dy * y + dz * z
        x, y, z = rows[c + 15 * n + i], rows[c + 16 * n + i], rows[c + 17 * n + i]
        p5, q5, r5 = tx * x + ty * y + tz * z, wx * x + wy * y + wz * z, dx * x + dy * y + dz * z
        # The plane through the corners gives the start.
        u0, u1, v0, v1 = p1 + p3, q1 + q3, p2 + p5, q2 + q5
        det = u0 * v1 - v0 * u1
        u, v = (v0 * q0 - p0 * v1) / det, (p0 * u1 - u0 * q0) / det
        start_u, start_v = u, v
        far = min(u, v, 1.0 - u - v) < -_FAR
        du = dv = 0.0
        for _ in range(_STEPS):
            f0 = p0 + u * (p1 + u * p3 + v * p4) + v * (p2 + v * p5)
            f1 = q0 + u * (q1 + u * q3 + v * q4) + v * (q2 + v * q5)
            u0, u1 = p1 + 2.0 * u * p3 + v * p4, q1 + 2.0 * u * q3 + v * q4
            v0, v1 = p2 + u * p4 + 2.0 * v * p5, q2 + u * q4 + 2.0 * v * q5
            det = u0 * v1 - v0 * u1
            inverse = 1.0 / det
            du, dv = (v0 * f1 - f0 * v1) * inverse, (f0 * u1 - u0 * f1) * inverse
            u += du
            v += dv
        # Far from a patch its continuation means nothing; the plane still tells on which side.
        u, v = start_u if far else u, start_v if far else v
        rows[HIT_U * n + i], rows[HIT_V * n + i] = u, v
        rows[HIT_DISTANCE * n + i] = r0 + u * (r1 + u * r3 + v * r4) + v * (r2 + v * r5)
        rows[HIT_OUT * n + i] = det
        rows[HIT_STEP * n + i] = abs(du) + abs(dv)


@fused_kernel
def tree_hit(patch, curved, low, high, following, first, count, reach, ox, oy, oz, dx, dy, dz):
    """Return the nearest exit of the line o + s d from the femur, 0 < s < reach, by the tree.

    Returns (facet, u, v, s), facet -1 without an exit. The tree is stored in depth-first order with
    skip links: after a missed box the search continues at ``following``.
    """
    best = reach
    facet = -1
    best_u = best_v = np.nan
    ix = 1.0 / dx if dx != 0.0 else 1e300
    iy = 1.0 / dy if dy != 0.0 else 1e300
    iz = 1.0 / dz if dz != 0.0 else 1e300
    node = 0
    while node < following.shape[0]:
        near_x, far_x = (low[node, 0] - ox) * ix, (high[node, 0] - ox) * ix
        near_y, far_y = (low[node, 1] - oy) * iy, (high[node, 1] - oy) * iy
        near_z, far_z = (low[node, 2] - oz) * iz, (high[node, 2] - oz) * iz
        enter = max(min(near_x, far_x), min(near_y, far_y), min(near_z, far_z), 0.0)
        leave = min(max(near_x, far_x), max(near_y, far_y), max(near_z, far_z), best)
        if enter > leave:
            node = following[node]
            continue
        for j in range(first[node], first[node] + count[node]):
            u, v, s, out = patch_hit(patch, curved, j, ox, oy, oz, dx, dy, dz)
            if not (0.0 < s < best) or min(u, v, 1.0 - u - v) < -SEAM:
                continue
            if out > 0.0:
                best, facet, best_u, best_v = s, j, u, v
        node += 1
    return facet, best_u, best_v, best


@fused_part
def part_index(low, per_part, cells, value):
    """Return the index along an axis of a part of the grid's cells, `PARTS` per cell."""
    return int(min(max((value - low) * per_part, 0.0), PARTS * cells - 1.0))


@fused_kernel
def facet_nearby(grid_low, grid_cell, grid_facet, grid_brick, bricks, x, y, z):
    """Return a facet near a point of the femoral frame, within a part of a cell if close."""
    per_part = PARTS / grid_cell
    a = part_index(grid_low[0], per_part, grid_facet.shape[0], x)
    b = part_index(grid_low[1], per_part, grid_facet.shape[1], y)
    c = part_index(grid_low[2], per_part, grid_facet.shape[2], z)
    i, j, k = a // PARTS, b // PARTS, c // PARTS
    brick = grid_brick[i, j, k]
    if brick < 0:
        return grid_facet[i, j, k]
    return np.int64(bricks[brick, a % PARTS, b % PARTS, c % PARTS])


@fused_kernel
def fill_bricks(patch, neighbour, curved, grid_low, grid_cell, grid_facet, grid_brick, bricks):
    """Write a facet near the middle of each part of the grid's cells to ``bricks``.

    From walks along the normals, which end near the foot of the perpendicular.
    """
    for i, j, k in np.ndindex(grid_brick.shape):
        brick = grid_brick[i, j, k]
        if brick < 0:
            continue
        for a, b, c in np.ndindex(bricks.shape[1:]):
            x = grid_low[0] + grid_cell * (i + (a + 0.5) / PARTS)
            y = grid_low[1] + grid_cell * (j + (b + 0.5) / PARTS)
            z = grid_low[2] + grid_cell * (k + (c + 0.5) / PARTS)
            facet = grid_facet[i, j, k]
            for _ in range(_FOOT_STEPS):
                nx, ny, nz = patch_normal(patch, curved, facet, 1.0 / 3.0, 1.0 / 3.0)
                length = np.sqrt(nx * nx + ny * ny + nz * nz)
                if length > 0.0:
                    facet = facet_towards(
                        patch, neighbour, curved, facet, x, y, z, nx / length, ny / length,
                        nz / length,
                    )  # fmt: skip
            bricks[brick, a, b, c] = facet


@fused_kernel
def largest_protrusions(low, high, following, first, count, control, points, normals, reach, out):
    """Write the largest height (P,) [m] of the femur over planes within a radius of their points.

    The height over a plane, at least 0, is that of the facets that meet the ball of the radius
    ``reach`` around its point (P, 3). ``control`` (F, K, 3) are points of each facet with the patch
    in their hull, in the tree of `foundation.surfaces.tree.BoxTree`.
    """
    for p in range(points.shape[0]):
        best = 0.0
        node = 0
        while node < following.shape[0]:
            gap = 0.0
            height = 0.0
            for k in range(3):
                half = 0.5 * (high[node, k] - low[node, k])
                away = 0.5 * (high[node, k] + low[node, k]) - points[p, k]
                gap += max(abs(away) - half, 0.0) ** 2
                height += normals[p, k] * away + abs(normals[p, k]) * half
            if gap > reach * reach or height <= best:
                node = following[node]
                continue
            for j in range(first[node], first[node] + count[node]):
                for c in range(control.shape[1]):
                    rise = 0.0
                    for k in range(3):
                        rise += normals[p, k] * (control[j, c, k] - points[p, k])
                    best = max(best, rise)
            node += 1
        out[p] = best


@fused_kernel
def line_exits(
    patch, curved, low, high, following, first, count, reach, starts, directions, distance, facet,
    place,
):  # fmt: skip
    """Write the exits of lines from ``starts`` along ``directions`` (N, 3) from the surface.

    ``distance`` (N,) [m], ``facet`` (N,), -1 without an exit within ``reach``, and ``place`` (N, 2)
    on its patch, (u, v).
    """
    for i in range(starts.shape[0]):
        facet[i], place[i, 0], place[i, 1], distance[i] = tree_hit(
            patch, curved, low, high, following, first, count, reach, starts[i, 0], starts[i, 1],
            starts[i, 2], directions[i, 0], directions[i, 1], directions[i, 2],
        )  # fmt: skip
