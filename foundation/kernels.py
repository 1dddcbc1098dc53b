"""Compiled kernels of the original model: spring laws, ray casting, contact of a spring bed.

All of them are in this one file because numba's cache does not see a change of a jitted function
that is called from another file. They work on bare floats in SI units and C-contiguous float64
arrays, neither raise nor print, and sum in a fixed order.

A *law* reaches the kernels as arrays with one row per elastic layer (one, or two in series):

- ``kinds`` (L,): `POWER`, p = c d^m, or `LOGARITHMIC`, p = -c ln(1 - d/h);
- ``exponents`` (L,): m of the power kind;
- ``offsets`` (L,): 1/f of the modified law (the layer bears once it is pressed beyond this fraction
  of the patch's largest indentation), 0 for the others;
- ``coefficients`` (L, S), ``thicknesses`` (L, S): c and h of each spring.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

POWER = 0
LOGARITHMIC = 1

#: Compressive strain up to which a logarithmic layer follows its law. Beyond it the law goes on
#: along its tangent, which keeps an integrator's trial steps finite; such results are flagged.
STRAIN_LIMIT = 0.99

#: Numbers that `integrate_contact` writes per compartment, see there.
SUMS = 16

#: How an element of the bed bears, see `bearing_of`.
APART = 0
RESOLVED = 1
LUMPED = 2

_NEWTON_STEPS = 60
_PATCH_STEPS = 12
_WALK_STEPS = 60
# Barycentric coordinates: a line this far outside a patch belongs to a neighbour for sure; one
# this little outside is on the seam; one that two neighbours give each other may miss both by this.
_FAR = 0.3
_SEAM = 1e-9
_SEAM_WIDTH = 0.05
#: The sheet of surface found by walking is the nearest one if it is met within this distance [m].
_TRUST = 1e-3
#: Slope between the surfaces beyond which the indentation of an element is not taken as a field.
_STEEP = 0.7
#: How far a quadratic field may rise over its nodes, as a part of the element's longest edge.
_BULGE = 0.01
#: An element counts as bearing while it is apart by up to this part of the rise over it: the discs
#: of its points reach that far over its edge.
_EDGE = 0.2
#: Slope of the indentation that is taken for zero, so that its direction always has a limit.
_LEAST_SLOPE = 1e-5
#: An element of a law with exponent m != 1 bears "all over" only where its nodes are pressed by
#: this many times the rise of the indentation over it.
_ROOT_MARGIN = 3.0
#: Where the tables of `foundation.edge_smoothing` end.
DISC_END = 4.0



class Femur(NamedTuple):
    """Femoral surface for the kernels, see `foundation.femur_patches`."""

    curved: bool
    patch: NDArray[np.float64]
    neighbour: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    next: NDArray[np.int64]
    first: NDArray[np.int64]
    count: NDArray[np.int64]
    plane_of: NDArray[np.int64]
    plane_point: NDArray[np.float64]
    plane_normal: NDArray[np.float64]
    protrusion: NDArray[np.float64]
    plane_reach: float
    grid_low: NDArray[np.float64]
    grid_cell: float
    grid_facet: NDArray[np.int64]
    grid_distance: NDArray[np.float64]


class Bed(NamedTuple):
    """Spring bed of the tibia for the kernels, see `foundation.spring_bed`."""

    points: NDArray[np.float64]
    normals: NDArray[np.float64]
    elements: NDArray[np.int64]
    centroid_first: int
    sizes: NDArray[np.float64]
    whole_shape: NDArray[np.float64]
    whole_area: NDArray[np.float64]
    whole_place: NDArray[np.float64]
    cut_shape: NDArray[np.float64]
    vectors: NDArray[np.float64]
    metric: NDArray[np.float64]
    cut_weight: NDArray[np.float64]
    cut_radius: NDArray[np.float64]
    compartments: NDArray[np.int64]
    centre: NDArray[np.float64]
    radius: NDArray[np.float64]
    thickness: NDArray[np.float64]
    direction: NDArray[np.float64]
    bulge: NDArray[np.float64]
    next: NDArray[np.int64]
    first: NDArray[np.int64]
    count: NDArray[np.int64]
    list_first: NDArray[np.int64]
    list_nodes: NDArray[np.int64]
    local: NDArray[np.int64]


class Law(NamedTuple):
    """Spring law for the kernels, one column per element of the bed."""

    kinds: NDArray[np.int64]
    exponents: NDArray[np.float64]
    offsets: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    thicknesses: NDArray[np.float64]
    lead: NDArray[np.float64]
    disc_table: NDArray[np.float64]
    area_table: NDArray[np.float64]


class Motion(NamedTuple):
    """Twist of the femur (v, w) [m/s, rad/s] and what resists it."""

    moving: bool
    twist: NDArray[np.float64]
    damping: float
    friction: float
    transition_speed: float


class Work(NamedTuple):
    """Scratch memory of one evaluation at a time; a number that is new to it dates its entries."""

    generation: NDArray[np.int64]
    stamp: NDArray[np.int64]
    gradient_stamp: NDArray[np.int64]
    depth: NDArray[np.float64]
    met: NDArray[np.int64]
    place: NDArray[np.float64]
    gradient: NDArray[np.float64]
    force: NDArray[np.float64]
    candidates: NDArray[np.int64]
    todo: NDArray[np.int64]
    starts: NDArray[np.int64]
    active: NDArray[np.int64]
    kind: NDArray[np.int64]
    top: NDArray[np.float64]
    clearance: NDArray[np.float64]
    field: NDArray[np.float64]
    place_of_point: NDArray[np.float64]
    slopes: NDArray[np.float64]
    slope_gradient: NDArray[np.float64]
    shape: NDArray[np.float64]
    arm: NDArray[np.float64]
    point_gradient: NDArray[np.float64]
    centre_gradient: NDArray[np.float64]


@njit(cache=True)
def layer_pressure(kind, coefficient, exponent, thickness, indentation):
    """Pressure and dp/dd of one layer at a bearing indentation d >= 0 [m]."""
    if indentation <= 0.0:
        return 0.0, 0.0
    if kind == LOGARITHMIC:
        strain = min(indentation / thickness, STRAIN_LIMIT)
        slope = coefficient / (thickness * (1.0 - strain))
        beyond = indentation - strain * thickness
        return -coefficient * np.log1p(-strain) + slope * beyond, slope
    if exponent == 1.0:
        return coefficient * indentation, coefficient
    pressure = coefficient * indentation**exponent
    return pressure, exponent * pressure / indentation


@njit(cache=True)
def layer_indentation(kind, coefficient, exponent, thickness, pressure):
    """Bearing indentation d and dd/dp of one layer at a pressure p > 0: inverse of the above."""
    if kind == LOGARITHMIC:
        limit = -coefficient * np.log1p(-STRAIN_LIMIT)
        if pressure > limit:
            compliance = thickness * (1.0 - STRAIN_LIMIT) / coefficient
            return STRAIN_LIMIT * thickness + compliance * (pressure - limit), compliance
        remaining = np.exp(-pressure / coefficient)
        return thickness * -np.expm1(-pressure / coefficient), thickness * remaining / coefficient
    if exponent == 1.0:
        return pressure / coefficient, 1.0 / coefficient
    indentation = (pressure / coefficient) ** (1.0 / exponent)
    return indentation, indentation / (exponent * pressure)


@njit(cache=True)
def series_pressure(
    kinds, exponents, offsets, coefficients, thicknesses, spring, indentation, at_centre
):
    """Pressure, dp/dd and share-weighted offset slope of layers in series.

    The layers share `indentation` so that all carry one pressure. With `at_centre` the spring is
    the deepest of its patch, where a modified layer of total indentation d bears d (1 - 1/f).

    Returns (pressure, dp/dd, sum of the layers' offsets, derivative of that sum by d); the last
    two only with `at_centre`, else 0.
    """
    if indentation <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    layers = kinds.shape[0]
    high = np.inf
    for k in range(layers):
        bearing = 1.0 - offsets[k] if at_centre else 1.0
        p, _ = layer_pressure(
            kinds[k],
            coefficients[k, spring],
            exponents[k],
            thicknesses[k, spring],
            indentation * bearing,
        )
        high = min(high, p)
    low = 0.0
    pressure = high
    for _ in range(_NEWTON_STEPS):
        if layers == 1:
            break
        excess = -indentation
        compliance = 0.0
        for k in range(layers):
            bearing = 1.0 - offsets[k] if at_centre else 1.0
            d, slope = layer_indentation(
                kinds[k], coefficients[k, spring], exponents[k], thicknesses[k, spring], pressure
            )
            excess += d / bearing
            compliance += slope / bearing
        if excess > 0.0:
            high = pressure
        else:
            low = pressure
        step = excess / compliance
        candidate = pressure - step
        if not (low <= candidate <= high):
            candidate = 0.5 * (low + high)
        done = abs(candidate - pressure) <= 1e-15 * pressure
        pressure = candidate
        if done:
            break
    if pressure <= 0.0:
        # So small an indentation that a steep power law underflows.
        return 0.0, 0.0, 0.0, 0.0
    compliance = 0.0
    offset = 0.0
    offset_slope = 0.0
    for k in range(layers):
        bearing = 1.0 - offsets[k] if at_centre else 1.0
        d, slope = layer_indentation(
            kinds[k], coefficients[k, spring], exponents[k], thicknesses[k, spring], pressure
        )
        compliance += slope / bearing
        if at_centre:
            offset += offsets[k] * d / bearing
            offset_slope += offsets[k] * slope / bearing
    return pressure, 1.0 / compliance, offset, offset_slope / compliance


@njit(cache=True)
def ray_hit(
    ox, oy, oz, dx, dy, dz, reach, node_low, node_high, node_next, node_first, node_count, corner,
    edge_1, edge_2, face_normal,
):  # fmt: skip
    """Nearest facet that the ray o + s d leaves through, 0 < s < reach.

    Only facets whose outward normal goes with the ray count: the ray starts inside the femur and
    leaves it there. Facets met from outside belong to another part of the bone.

    Returns (distance, facet), facet -1 where there is none. The tree is stored in depth-first
    order with skip links: a box that is missed continues at ``node_next``.
    """
    best = reach
    facet = -1
    inverse_x = 1.0 / dx if dx != 0.0 else 1e300
    inverse_y = 1.0 / dy if dy != 0.0 else 1e300
    inverse_z = 1.0 / dz if dz != 0.0 else 1e300
    node = 0
    nodes = node_next.shape[0]
    while node < nodes:
        near_x = (node_low[node, 0] - ox) * inverse_x
        far_x = (node_high[node, 0] - ox) * inverse_x
        near_y = (node_low[node, 1] - oy) * inverse_y
        far_y = (node_high[node, 1] - oy) * inverse_y
        near_z = (node_low[node, 2] - oz) * inverse_z
        far_z = (node_high[node, 2] - oz) * inverse_z
        enter = max(min(near_x, far_x), min(near_y, far_y), min(near_z, far_z), 0.0)
        leave = min(max(near_x, far_x), max(near_y, far_y), max(near_z, far_z), best)
        if enter > leave:
            node = node_next[node]
            continue
        for j in range(node_first[node], node_first[node] + node_count[node]):
            outward = dx * face_normal[j, 0] + dy * face_normal[j, 1] + dz * face_normal[j, 2]
            if outward <= 0.0:
                continue
            # Moeller & Trumbore (1997), J Graphics Tools 2:21-28.
            px = dy * edge_2[j, 2] - dz * edge_2[j, 1]
            py = dz * edge_2[j, 0] - dx * edge_2[j, 2]
            pz = dx * edge_2[j, 1] - dy * edge_2[j, 0]
            det = edge_1[j, 0] * px + edge_1[j, 1] * py + edge_1[j, 2] * pz
            if det == 0.0:
                continue
            sx = ox - corner[j, 0]
            sy = oy - corner[j, 1]
            sz = oz - corner[j, 2]
            u = (sx * px + sy * py + sz * pz) / det
            # The margin closes the seam between neighbours against rounding.
            if u < -1e-12 or u > 1.0 + 1e-12:
                continue
            qx = sy * edge_1[j, 2] - sz * edge_1[j, 1]
            qy = sz * edge_1[j, 0] - sx * edge_1[j, 2]
            qz = sx * edge_1[j, 1] - sy * edge_1[j, 0]
            v = (dx * qx + dy * qy + dz * qz) / det
            if v < -1e-12 or u + v > 1.0 + 1e-12:
                continue
            distance = (edge_2[j, 0] * qx + edge_2[j, 1] * qy + edge_2[j, 2] * qz) / det
            if 0.0 < distance < best:
                best = distance
                facet = j
        node += 1
    return best, facet


@njit(cache=True)
def layer_energy(kind, coefficient, exponent, thickness, indentation):
    """Stored energy per area of one layer, the integral of its pressure over d >= 0 [J/m²]."""
    if indentation <= 0.0:
        return 0.0
    if kind == LOGARITHMIC:
        strain = min(indentation / thickness, STRAIN_LIMIT)
        rest = 1.0 - strain
        beyond = indentation - strain * thickness
        pressure, slope = layer_pressure(kind, coefficient, exponent, thickness, strain * thickness)
        return (
            coefficient * thickness * (rest * np.log(rest) + strain)
            + (pressure + 0.5 * slope * beyond) * beyond
        )
    if exponent == 1.0:
        return 0.5 * coefficient * indentation * indentation
    return coefficient * indentation ** (exponent + 1.0) / (exponent + 1.0)


# --- where a line leaves the femur --------------------------------------------------------------


@njit(cache=True)
def patch_hit(patch, curved, facet, ox, oy, oz, dx, dy, dz):
    """Where the line o + s d meets the patch of a facet, continued beyond its edges.

    Newton's method in the plane across the line, onto which the patch's coefficients are
    projected. It ends early where the line plainly belongs to a neighbour.

    Returns (u, v, s, m.d): s NaN where there is none; m = dx/du x dx/dv is the outward normal.
    """
    # Two directions across the line (Duff et al. 2017, J Comput Graph Tech 6(1):1-8).
    sign = 1.0 if dz >= 0.0 else -1.0
    a = -1.0 / (sign + dz)
    b = dx * dy * a
    tx, ty, tz = 1.0 + sign * dx * dx * a, sign * b, -sign * dx
    wx, wy, wz = b, sign + dy * dy * a, -dy
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
        # Newton's next step would be below rounding.
        if abs(du) + abs(dv) < 1e-4:
            break
        if not abs(u) + abs(v) < 1e3:
            return u, v, np.nan, 0.0
    return u, v, r0 + u * (r1 + u * r3 + v * r4) + v * (r2 + v * r5), det


@njit(cache=True)
def patch_normal(patch, curved, facet, u, v):
    """Normal dx/du x dx/dv of a patch, outward, not of unit length."""
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


@njit(cache=True)
def walk_to_hit(patch, neighbour, curved, facet, ox, oy, oz, dx, dy, dz):
    """Where the line o + s d meets the femur, walking from facet to facet towards it.

    Returns (facet, u, v, s, m.d), see `patch_hit`: s NaN if the walk left the surface or found no
    end; the facet is then the last one visited.
    """
    previous = -1
    u = v = np.nan
    for _ in range(_WALK_STEPS):
        u, v, s, out = patch_hit(patch, curved, facet, ox, oy, oz, dx, dy, dz)
        if not np.isfinite(s):
            break
        w = 1.0 - u - v
        worst = min(u, v, w)
        if worst >= -_SEAM:
            return facet, u, v, s, out
        edge = 2 if worst == u else (0 if worst == v else 1)
        following = neighbour[facet, edge]
        if following < 0:
            break
        if following == previous:
            # Each of two patches gives the line to the other: it runs along their seam.
            return facet, u, v, s if worst > -_SEAM_WIDTH else np.nan, out
        previous = facet
        facet = following
    return facet, u, v, np.nan, 0.0


@njit(cache=True)
def tree_hit(patch, curved, low, high, following, first, count, reach, ox, oy, oz, dx, dy, dz):
    """Nearest point at which the line o + s d leaves the femur, 0 < s < reach, by the tree.

    Returns (facet, u, v, s), facet -1 where there is none. The tree is stored in depth-first order
    with skip links: a box that is missed continues at ``following``.
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
            if not (0.0 < s < best) or min(u, v, 1.0 - u - v) < -_SEAM:
                continue
            if out > 0.0:
                best, facet, best_u, best_v = s, j, u, v
        node += 1
    return facet, best_u, best_v, best


@njit(cache=True)
def grid_index(low, cell, cells, value):
    """Index of the grid's cell along an axis, and how far beyond the grid the value lies [m]."""
    position = (value - low) / cell
    index = min(max(int(min(max(position, 0.0), cells)), 0), cells - 1)
    return index, max(-position, position - cells, 0.0) * cell


@njit(cache=True)
def nearby(grid_low, grid_cell, grid_facet, grid_distance, x, y, z):
    """Facet near a point of the femoral frame, and a lower bound of the distance to the femur."""
    i, beyond_x = grid_index(grid_low[0], grid_cell, grid_facet.shape[0], x)
    j, beyond_y = grid_index(grid_low[1], grid_cell, grid_facet.shape[1], y)
    k, beyond_z = grid_index(grid_low[2], grid_cell, grid_facet.shape[2], z)
    beyond = beyond_x * beyond_x + beyond_y * beyond_y + beyond_z * beyond_z
    if beyond > 0.0:
        return grid_facet[i, j, k], np.sqrt(beyond)
    return grid_facet[i, j, k], grid_distance[i, j, k]


@njit(cache=True)
def largest_protrusions(low, high, following, first, count, control, points, normals, reach, out):
    """Write how far the femur rises over planes within a radius of their points.

    Parameters
    ----------
    low, high, following, first, count
        Tree over the facets, see `foundation.tree.BoxTree`.
    control : (F, K, 3) float64
        Points whose hull holds each facet's patch [m].
    points, normals : (P, 3) float64
        The planes, unit normals [m].
    reach : float
        Radius of the ball around each point [m].
    out : (P,) float64
        Largest height of the facets that meet the ball over its plane [m], at least 0.
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


# --- indentation of the bed ---------------------------------------------------------------------
# What runs for every node or point takes bare arrays: a named tuple of them is costly to hand on.


@njit(cache=True)
def indent_nodes(
    rotation, translation, patch, neighbour, curved, low, high, following, first, count, reach,
    points, normals, nodes, starts, listed, depth, met, place,
):  # fmt: skip
    """Write the indentations of the ``listed`` nodes and where their lines meet the femur.

    The indentation is the signed distance at which the line along minus the node's normal leaves
    the femur: positive inside, negative outside, NaN where it does not. A walk from the facet of
    the node before (or from ``starts``, where not -1) finds the sheet of surface next to the node;
    where that fails or goes deep, the tree has the last word.
    """
    r00, r01, r02 = rotation[0, 0], rotation[0, 1], rotation[0, 2]
    r10, r11, r12 = rotation[1, 0], rotation[1, 1], rotation[1, 2]
    r20, r21, r22 = rotation[2, 0], rotation[2, 1], rotation[2, 2]
    facet = 0
    for i in range(listed):
        node = nodes[i]
        if starts[i] >= 0:
            facet = starts[i]
        nx, ny, nz = normals[node, 0], normals[node, 1], normals[node, 2]
        x = points[node, 0] - translation[0]
        y = points[node, 1] - translation[1]
        z = points[node, 2] - translation[2]
        ox = r00 * x + r10 * y + r20 * z
        oy = r01 * x + r11 * y + r21 * z
        oz = r02 * x + r12 * y + r22 * z
        dx = -(r00 * nx + r10 * ny + r20 * nz)
        dy = -(r01 * nx + r11 * ny + r21 * nz)
        dz = -(r02 * nx + r12 * ny + r22 * nz)
        facet, u, v, s, along = walk_to_hit(
            patch, neighbour, curved, facet, ox, oy, oz, dx, dy, dz
        )
        if not (s <= _TRUST and along > 0.0):
            found, fu, fv, fs = tree_hit(
                patch, curved, low, high, following, first, count, reach, ox, oy, oz, dx, dy, dz
            )
            if found >= 0:
                facet, u, v, s = found, fu, fv, fs
            else:
                s = np.nan
        depth[node] = s
        met[node] = facet
        place[node, 0] = u
        place[node, 1] = v


@njit(cache=True)
def indentation_gradient(
    rotation, patch, curved, points, normals, node, depth, met, place, gradient
):  # fmt: skip
    """Write d(indentation)/d(femoral twist) of a node to its row of ``gradient``.

    The femoral surface moves with velocity v + w x X at the point X that the node's line meets;
    staying on that line, the indentation changes by -(m . v + (X x m) . w) / (m . n), m being the
    femoral and n the tibial normal.
    """
    r = rotation
    fx, fy, fz = patch_normal(patch, curved, met[node], place[node, 0], place[node, 1])
    mx = r[0, 0] * fx + r[0, 1] * fy + r[0, 2] * fz
    my = r[1, 0] * fx + r[1, 1] * fy + r[1, 2] * fz
    mz = r[2, 0] * fx + r[2, 1] * fy + r[2, 2] * fz
    nx, ny, nz = normals[node, 0], normals[node, 1], normals[node, 2]
    # m needs no unit length here.
    scale = -1.0 / (mx * nx + my * ny + mz * nz)
    x = points[node, 0] - depth[node] * nx
    y = points[node, 1] - depth[node] * ny
    z = points[node, 2] - depth[node] * nz
    gradient[node, 0] = scale * mx
    gradient[node, 1] = scale * my
    gradient[node, 2] = scale * mz
    gradient[node, 3] = scale * (y * mz - z * my)
    gradient[node, 4] = scale * (z * mx - x * mz)
    gradient[node, 5] = scale * (x * my - y * mx)


@njit(cache=True)
def highest_of_field(elements, element, depth, top):
    """Largest indentation of the quadratic field over an element; writes where to ``top``.

    Candidates are the corners, the stationary points on the edges and the one inside.
    """
    d0, d1, d2 = depth[elements[element, 0]], depth[elements[element, 1]], depth[elements[element, 2]]
    d3, d4, d5 = depth[elements[element, 3]], depth[elements[element, 4]], depth[elements[element, 5]]
    # The field is d0 + a1 u + a2 v + a3 u² + a4 u v + a5 v².
    a1, a2 = 4.0 * d3 - 3.0 * d0 - d1, 4.0 * d5 - 3.0 * d0 - d2
    a3, a5 = 2.0 * (d0 + d1) - 4.0 * d3, 2.0 * (d0 + d2) - 4.0 * d5
    a4 = 4.0 * (d0 + d4 - d3 - d5)
    best, bu, bv = d0, 0.0, 0.0
    if d1 > best:
        best, bu, bv = d1, 1.0, 0.0
    if d2 > best:
        best, bu, bv = d2, 0.0, 1.0
    for edge in range(3):
        if edge == 0:
            begin, middle, end = d0, d3, d1
        elif edge == 1:
            begin, middle, end = d1, d4, d2
        else:
            begin, middle, end = d2, d5, d0
        bend = 2.0 * (begin + end) - 4.0 * middle
        t = -0.5 * (4.0 * middle - 3.0 * begin - end) / bend if bend < 0.0 else 0.0
        if 0.0 < t < 1.0:
            u = t if edge == 0 else (1.0 - t if edge == 1 else 0.0)
            v = 0.0 if edge == 0 else (t if edge == 1 else 1.0 - t)
            value = d0 + u * (a1 + a3 * u + a4 * v) + v * (a2 + a5 * v)
            if value > best:
                best, bu, bv = value, u, v
    det = 4.0 * a3 * a5 - a4 * a4
    if det > 0.0 and a3 < 0.0:
        u, v = (a4 * a2 - 2.0 * a5 * a1) / det, (a4 * a1 - 2.0 * a3 * a2) / det
        if u > 0.0 and v > 0.0 and u + v < 1.0:
            value = d0 + u * (a1 + a3 * u + a4 * v) + v * (a2 + a5 * v)
            if value > best:
                best, bu, bv = value, u, v
    top[element, 0] = bu
    top[element, 1] = bv
    return best


@njit(cache=True)
def quadratic_shapes(u, v, out):
    """Write the six quadratic shape functions of a triangle at (u, v)."""
    w = 1.0 - u - v
    out[0] = w * (2.0 * w - 1.0)
    out[1] = u * (2.0 * u - 1.0)
    out[2] = v * (2.0 * v - 1.0)
    out[3] = 4.0 * u * w
    out[4] = 4.0 * u * v
    out[5] = 4.0 * v * w


@njit(cache=True)
def bearing_of(elements, element, size, depth, top):
    """How an element bears, its nodes known, and its largest indentation.

    `APART`: nowhere indented. `RESOLVED`: its indentation is the field of its nodes. `LUMPED`: a
    node's line misses the femur (a rim) or the surfaces are too steep to each other for a field;
    the element is one spring at its centroid, still to be evaluated.
    """
    missing = False
    highest, lowest = -np.inf, np.inf
    for k in range(elements.shape[1]):
        d = depth[elements[element, k]]
        if np.isfinite(d):
            highest = max(highest, d)
            lowest = min(lowest, d)
        else:
            missing = True
    if elements.shape[1] == 1:
        return (RESOLVED, highest) if highest > 0.0 else (APART, 0.0)
    if highest < -size:
        return APART, 0.0
    if missing or highest - lowest > _STEEP * size:
        return LUMPED, 0.0
    if highest < -max(_BULGE * size, _EDGE * (highest - lowest)):
        return APART, 0.0
    edge = _EDGE * (highest - lowest)
    highest = highest_of_field(elements, element, depth, top)
    return (RESOLVED, highest) if highest > -edge else (APART, 0.0)


@njit(cache=True)
def plane_in_tibia(rotation, translation, normals, points, plane):
    """A femoral plane in the tibial frame, (normal x, y, z, level)."""
    m, p = normals, points
    x, y, z = m[plane, 0], m[plane, 1], m[plane, 2]
    mx = rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z
    my = rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z
    mz = rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2] * z
    level = x * p[plane, 0] + y * p[plane, 1] + z * p[plane, 2]
    level += mx * translation[0] + my * translation[1] + mz * translation[2]
    return mx, my, mz, level


@njit(cache=True)
def height_over_plane(normals, points, plane, x, y, z):
    """Signed distance of a point of the femoral frame from a plane, positive outside."""
    return (
        normals[plane, 0] * (x - points[plane, 0])
        + normals[plane, 1] * (y - points[plane, 1])
        + normals[plane, 2] * (z - points[plane, 2])
    )


@njit(cache=True)
def within(points, plane, distance, x, y, z):
    """Whether a point of the femoral frame lies within a distance of a plane's own point."""
    away = (
        (x - points[plane, 0]) ** 2 + (y - points[plane, 1]) ** 2 + (z - points[plane, 2]) ** 2
    )
    return distance > 0.0 and away <= distance * distance


@njit(cache=True)
def slab_over_plane(
    rotation, normals, points, plane, protrusion, direction, thickness, radius, t, x, y, z
):  # fmt: skip
    """Lower bound of how far a group of the bed lies outside what the femur there can reach [m].

    The group lies in a disc around (x, y, z), in the femoral frame, of its radius across its mean
    normal and half its thickness along it.
    """
    r = rotation
    nx, ny, nz = direction[t, 0], direction[t, 1], direction[t, 2]
    along = abs(
        normals[plane, 0] * (r[0, 0] * nx + r[1, 0] * ny + r[2, 0] * nz)
        + normals[plane, 1] * (r[0, 1] * nx + r[1, 1] * ny + r[2, 1] * nz)
        + normals[plane, 2] * (r[0, 2] * nx + r[1, 2] * ny + r[2, 2] * nz)
    )
    height = height_over_plane(normals, points, plane, x, y, z) - protrusion[plane]
    return height - along * thickness[t] - np.sqrt(max(1.0 - along * along, 0.0)) * radius[t]


@njit(cache=True)
def nearest_facet(rotation, patch, neighbour, curved, direction, t, facet, x, y, z):
    """Facet over the middle of a group of the bed, walking along the bed's mean normal there."""
    r = rotation
    nx, ny, nz = direction[t, 0], direction[t, 1], direction[t, 2]
    dx = -(r[0, 0] * nx + r[1, 0] * ny + r[2, 0] * nz)
    dy = -(r[0, 1] * nx + r[1, 1] * ny + r[2, 1] * nz)
    dz = -(r[0, 2] * nx + r[1, 2] * ny + r[2, 2] * nz)
    found, _, _, s, _ = walk_to_hit(patch, neighbour, curved, facet, x, y, z, dx, dy, dz)
    return found if abs(s) <= _TRUST else facet


@njit(cache=True)
def clearances(
    rotation, translation, plane_normal, plane_point, protrusion, plane, points, list_nodes,
    begin, end, margin, out,
):  # fmt: skip
    """Write how far the nodes of a group lie outside what the femur there can reach.

    Returns whether all of them do by more than the margin.
    """
    mx, my, mz, level = plane_in_tibia(rotation, translation, plane_normal, plane_point, plane)
    level += protrusion[plane]
    clear = True
    for i in range(begin, end):
        node = list_nodes[i]
        height = mx * points[node, 0] + my * points[node, 1] + mz * points[node, 2] - level
        out[i - begin] = height
        clear = clear and height > margin
    return clear


@njit(cache=True)
def find_candidates(rotation, translation, femur, bed, work, first, last):
    """List the elements below nodes ``first`` to ``last`` of the bed's tree that may be in contact.

    A group is skipped if a ball around it does not reach the femur, or if all its nodes lie beyond
    a plane that the femur nearby does not cross (`largest_protrusions`). Neither depends on what
    was evaluated before, so the same pose always takes the same way.

    Writes ``candidates``, and ``todo`` and ``starts``: their corners (on flat facets their only
    node), each once, with a facet nearby for the first of each group. Returns the lengths of both
    lists.
    """
    patch, neighbour, curved = femur.patch, femur.neighbour, femur.curved
    plane_of, plane_point, plane_normal = femur.plane_of, femur.plane_point, femur.plane_normal
    protrusion, plane_reach = femur.protrusion, femur.plane_reach
    grid_low, grid_cell = femur.grid_low, femur.grid_cell
    grid_facet, grid_distance = femur.grid_facet, femur.grid_distance
    points, elements = bed.points, bed.elements
    centre, radius, thickness, bulge = bed.centre, bed.radius, bed.thickness, bed.bulge
    direction = bed.direction
    skip, group_first, group_count = bed.next, bed.first, bed.count
    list_first, list_nodes, local = bed.list_first, bed.list_nodes, bed.local
    stamp, clearance = work.stamp, work.clearance
    candidates, todo, starts = work.candidates, work.todo, work.starts
    generation = work.generation[0]
    found = listed = 0
    t = first
    while t < last:
        x, y, z = (
            centre[t, 0] - translation[0],
            centre[t, 1] - translation[1],
            centre[t, 2] - translation[2],
        )
        cx = rotation[0, 0] * x + rotation[1, 0] * y + rotation[2, 0] * z
        cy = rotation[0, 1] * x + rotation[1, 1] * y + rotation[2, 1] * z
        cz = rotation[0, 2] * x + rotation[1, 2] * y + rotation[2, 2] * z
        facet, distance = nearby(grid_low, grid_cell, grid_facet, grid_distance, cx, cy, cz)
        plane = plane_of[facet]
        if distance > radius[t] and (
            height_over_plane(plane_normal, plane_point, plane, cx, cy, cz) > 0.0
        ):
            t = skip[t]
            continue
        if within(plane_point, plane, plane_reach - radius[t], cx, cy, cz) and bulge[t] < (
            slab_over_plane(
                rotation, plane_normal, plane_point, plane, protrusion, direction, thickness,
                radius, t, cx, cy, cz,
            )
        ):  # fmt: skip
            t = skip[t]
            continue
        if group_count[t] == 0:
            t += 1
            continue
        facet = nearest_facet(rotation, patch, neighbour, curved, direction, t, facet, cx, cy, cz)
        plane = plane_of[facet]
        bounded = within(plane_point, plane, plane_reach - radius[t], cx, cy, cz)
        if bounded and (
            bulge[t] < slab_over_plane(
                rotation, plane_normal, plane_point, plane, protrusion, direction, thickness,
                radius, t, cx, cy, cz,
            )
            or clearances(
                rotation, translation, plane_normal, plane_point, protrusion, plane, points,
                list_nodes, list_first[t], list_first[t + 1], bulge[t], clearance,
            )
        ):  # fmt: skip
            t = skip[t]
            continue
        for e in range(group_first[t], group_first[t] + group_count[t]):
            if bounded:
                clear = True
                for k in range(elements.shape[1]):
                    if clearance[local[e, k]] <= bulge[t]:
                        clear = False
                        break
                if clear:
                    continue
            candidates[found] = e
            found += 1
            for k in range(min(elements.shape[1], 3)):
                node = elements[e, k]
                if stamp[node] != generation:
                    stamp[node] = generation
                    todo[listed] = node
                    starts[listed] = facet
                    facet = -1
                    listed += 1
        t = skip[t]
    return found, listed


@njit(cache=True)
def keep_near(
    elements, sizes, depth, met, stamp, generation, found, candidates, todo, starts
):  # fmt: skip
    """Drop the candidates whose corners all lie well outside; list the middles of the others.

    Returns the lengths of ``candidates`` and ``todo``.
    """
    kept = listed = 0
    for i in range(found):
        e = candidates[i]
        highest, lowest = -np.inf, np.inf
        for k in range(3):
            d = depth[elements[e, k]]
            # Where a corner misses the femur, the element is looked at as a whole.
            highest = max(highest, d if np.isfinite(d) else 0.0)
            lowest = min(lowest, d if np.isfinite(d) else 0.0)
        if highest < -max(2.0 * _BULGE * sizes[e], _EDGE * (highest - lowest)):
            continue
        candidates[kept] = e
        kept += 1
        for k in range(3, 6):
            node = elements[e, k]
            if stamp[node] != generation:
                stamp[node] = generation
                todo[listed] = node
                starts[listed] = met[elements[e, k - 3]]
                listed += 1
    return kept, listed


@njit(cache=True)
def find_contact(rotation, translation, femur, bed, work, first, last, reach, begin):
    """List the elements in contact below nodes ``first`` to ``last`` of the bed's tree.

    Writes ``active`` and ``kind`` from position ``begin``; returns the position behind the last
    one, that of the deepest (-1 if none) and its indentation.
    """
    found, listed = find_candidates(rotation, translation, femur, bed, work, first, last)
    indent_nodes(
        rotation, translation, femur.patch, femur.neighbour, femur.curved, femur.low, femur.high,
        femur.next, femur.first, femur.count, reach, bed.points, bed.normals, work.todo,
        work.starts, listed, work.depth, work.met, work.place,
    )  # fmt: skip
    elements, sizes, top = bed.elements, bed.sizes, work.top
    depth, active, kinds = work.depth, work.active, work.kind
    candidates, todo, starts = work.candidates, work.todo, work.starts
    if elements.shape[1] == 6:
        found, listed = keep_near(elements, sizes, depth, work.met, work.stamp,
                                  work.generation[0], found, candidates, todo, starts)  # fmt: skip
        indent_nodes(
            rotation, translation, femur.patch, femur.neighbour, femur.curved, femur.low,
            femur.high, femur.next, femur.first, femur.count, reach, bed.points, bed.normals,
            todo, starts, listed, depth, work.met, work.place,
        )  # fmt: skip
    end, deepest, largest, lumped = begin, -1, 0.0, 0
    for i in range(found):
        e = candidates[i]
        kind, indentation = bearing_of(elements, e, sizes[e], depth, top)
        if kind == LUMPED:
            todo[lumped] = bed.centroid_first + e
            starts[lumped] = work.met[elements[e, 0]]
            lumped += 1
        elif kind == RESOLVED:
            active[end] = e
            kinds[end] = kind
            if indentation > largest:
                deepest, largest = end, indentation
            end += 1
    indent_nodes(
        rotation, translation, femur.patch, femur.neighbour, femur.curved, femur.low, femur.high,
        femur.next, femur.first, femur.count, reach, bed.points, bed.normals, todo, starts, lumped,
        depth, work.met, work.place,
    )  # fmt: skip
    for i in range(lumped):
        indentation = depth[todo[i]]
        if indentation > 0.0:
            active[end] = todo[i] - bed.centroid_first
            kinds[end] = LUMPED
            if indentation > largest:
                deepest, largest = end, indentation
            end += 1
    return end, deepest, largest


# --- loads --------------------------------------------------------------------------------------


@njit(cache=True)
def field_slope(metric, elements, element, depth, slopes):
    """Slope of the indentation over an element's plane triangle of corners; 0 only in the limit.

    Writes its derivatives by the indentations of the corners to ``slopes`` (3,).
    """
    d0, d1, d2 = depth[elements[element, 0]], depth[elements[element, 1]], depth[elements[element, 2]]
    total = _LEAST_SLOPE * _LEAST_SLOPE
    for i in range(3):
        slopes[i] = (
            metric[element, i, 0] * d0 + metric[element, i, 1] * d1 + metric[element, i, 2] * d2
        )
    total += slopes[0] * d0 + slopes[1] * d1 + slopes[2] * d2
    slope = np.sqrt(total)
    for i in range(3):
        slopes[i] /= slope
    return slope


@njit(cache=True)
def interpolate_field(elements, element, depth, shape, field):
    """Write the indentation at the points of a rule; ``shape`` is (nodes, Q), so that it is fast."""
    for q in range(shape.shape[1]):
        field[q] = 0.0
    for j in range(shape.shape[0]):
        d = depth[elements[element, j]]
        for q in range(shape.shape[1]):
            field[q] += shape[j, q] * d


@njit(cache=True)
def interpolate_places(points, vectors, elements, element, shape, place):
    """Write places and normals dx/du x dx/dv (not of unit length) at the points of a rule, (6, Q).

    The normal of a quadratic patch is itself quadratic, so its values at the nodes, ``vectors``,
    give it everywhere.
    """
    for k in range(3):
        for q in range(shape.shape[1]):
            place[k, q] = 0.0
            place[3 + k, q] = 0.0
        for j in range(6):
            x, n = points[elements[element, j], k], vectors[element, j, k]
            for q in range(shape.shape[1]):
                place[k, q] += shape[j, q] * x
                place[3 + k, q] += shape[j, q] * n


@njit(cache=True)
def table_value(table, t):
    """Value and derivative of a tabulated function of -1 <= t <= `DISC_END`, (N, 6) quintics."""
    pieces = table.shape[0]
    scale = pieces / (DISC_END + 1.0)
    position = (t + 1.0) * scale
    piece = min(int(position), pieces - 1)
    x = position - piece
    value = slope = 0.0
    for k in range(6):
        slope = slope * x + value
        value = value * x + table[piece, k]
    return value, slope * scale


@njit(cache=True)
def disc_power(table, exponent, t):
    """Smoothed power function T(t) of `foundation.edge_smoothing` and its derivative, t > -1."""
    if t < DISC_END:
        return table_value(table, t)
    # The first terms of its series in 1/t.
    m = exponent
    fourth = -m * (m - 1.0) * (m - 2.0) * (m - 3.0) / 768.0 / (t * t * t * t)
    power = t**m
    return power * (1.0 + fourth), power / t * (m + (m - 4.0) * fourth)


@njit(cache=True)
def disc_pressure(
    kinds, exponents, offsets, coefficients, thicknesses, lead, exponent, table, spring, height,
    rise,
):  # fmt: skip
    """Pressure smoothed over a disc on which the indentation is height + rise x, |x| <= 1.

    A point of the bed near the edge of the contact patch stands for a disc of its area, so that
    loads vary smoothly as the edge passes over it. The law's leading term, ``lead`` d^m, is
    smoothed; what the pressure has beyond it is flat at the edge and taken at the point.

    Returns the pressure and its derivatives by height and rise.
    """
    m = exponent
    value, slope = disc_power(table, m, height / rise)
    scale = lead[spring] * rise ** (m - 1.0)
    mean, by_height = scale * rise * value, scale * slope
    by_rise = scale * (m * value - height / rise * slope)
    if height > 0.0 and (kinds.shape[0] > 1 or kinds[0] != POWER):
        p, dp = spring_pressure(kinds, exponents, offsets, coefficients, thicknesses, spring, height)
        mean += p - lead[spring] * height**m
        by_height += dp - lead[spring] * m * height ** (m - 1.0)
    return mean, by_height, by_rise


@njit(cache=True)
def spring_pressure(kinds, exponents, offsets, coefficients, thicknesses, spring, indentation):
    """Pressure and dp/dd of a spring at the bearing indentation d."""
    if kinds.shape[0] == 1:
        return layer_pressure(
            kinds[0], coefficients[0, spring], exponents[0], thicknesses[0, spring], indentation
        )
    pressure, slope, _, _ = series_pressure(
        kinds, exponents, offsets, coefficients, thicknesses, spring, indentation, False
    )
    return pressure, slope


@njit(cache=True)
def spring_strain(kinds, exponents, offsets, coefficients, thicknesses, spring, indentation):
    """Largest strain of a spring's layers at the bearing indentation d."""
    if kinds.shape[0] == 1 or indentation <= 0.0:
        return indentation / thicknesses[0, spring]
    pressure, _, _, _ = series_pressure(
        kinds, exponents, offsets, coefficients, thicknesses, spring, indentation, False
    )
    strain = 0.0
    for k in range(kinds.shape[0]):
        h = thicknesses[k, spring]
        if pressure > 0.0:
            d, _ = layer_indentation(kinds[k], coefficients[k, spring], exponents[k], h, pressure)
            strain = max(strain, d / h)
    return strain


@njit(cache=True)
def spring_energy(kinds, exponents, coefficients, thicknesses, spring, indentation):
    """Stored energy per area of a spring [J/m²] at the bearing indentation d, its layers' sum."""
    if kinds.shape[0] == 1:
        return layer_energy(
            kinds[0], coefficients[0, spring], exponents[0], thicknesses[0, spring], indentation
        )
    pressure, _, _, _ = series_pressure(
        kinds, exponents, np.zeros(kinds.shape[0]), coefficients, thicknesses, spring, indentation,
        False,
    )  # fmt: skip
    energy = 0.0
    for k in range(kinds.shape[0]):
        if pressure > 0.0:
            c, m, h = coefficients[k, spring], exponents[k], thicknesses[k, spring]
            d, _ = layer_indentation(kinds[k], c, m, h, pressure)
            energy += layer_energy(kinds[k], c, m, h, d)
    return energy


@njit(cache=True)
def add_friction(twist, limit, transition_speed, x, y, z, nx, ny, nz, sums):
    """Add Coulomb friction of a point, smoothed below the transition speed; ``limit`` is mu N."""
    vx = twist[0] + twist[4] * z - twist[5] * y
    vy = twist[1] + twist[5] * x - twist[3] * z
    vz = twist[2] + twist[3] * y - twist[4] * x
    along = vx * nx + vy * ny + vz * nz
    vx -= along * nx
    vy -= along * ny
    vz -= along * nz
    scale = -limit / np.sqrt(vx * vx + vy * vy + vz * vz + transition_speed * transition_speed)
    fx, fy, fz = scale * vx, scale * vy, scale * vz
    sums[0] += fx
    sums[1] += fy
    sums[2] += fz
    sums[3] += y * fz - z * fy
    sums[4] += z * fx - x * fz
    sums[5] += x * fy - y * fx


@njit(cache=True)
def patch_offset(law, bed, work, deepest, largest, with_jacobian):
    """Offset d0/f of a contact patch, and its derivative by d0.

    Writes the gradient of d0 to ``centre_gradient``: where the field is stationary, moving the
    point changes nothing, so the field's gradient at the point is that of the maximum.
    """
    work.centre_gradient[:] = 0.0
    if law.offsets.max() == 0.0:
        return 0.0, 0.0
    element = work.active[deepest]
    _, _, offset, slope = series_pressure(
        law.kinds, law.exponents, law.offsets, law.coefficients, law.thicknesses, element, largest,
        True,
    )  # fmt: skip
    if not with_jacobian:
        return offset, slope
    if work.kind[deepest] == LUMPED:
        work.centre_gradient[:] = work.gradient[bed.centroid_first + element]
        return offset, slope
    work.shape[0] = 1.0
    if bed.elements.shape[1] == 6:
        quadratic_shapes(work.top[element, 0], work.top[element, 1], work.shape)
    for j in range(bed.elements.shape[1]):
        for k in range(6):
            work.centre_gradient[k] += work.shape[j] * work.gradient[bed.elements[element, j], k]
    return offset, slope


@njit(cache=True)
def integrate_contact(
    rotation, femur, bed, law, begin, end, deepest, largest, motion, conservative, with_jacobian,
    with_energy, work, sums, jacobian,
):  # fmt: skip
    """Sum the loads of the active elements ``begin`` to ``end``, which are one contact patch.

    Writes ``sums`` (SUMS,): wrench on the femur (6) [N, N m], area [m²], peak pressure [Pa], sum
    of pA [N], sum of pA times position (3) [N m], largest indentation [m], largest strain, stored
    energy [J] (if asked for), offset of the patch [m]; ``jacobian`` (6, 6): d(wrench)/d(femoral twist).
    """
    if deepest < 0:
        return
    points, elements, nodes = bed.points, bed.elements, bed.elements.shape[1]
    depth, gradient, force = work.depth, work.gradient, work.force
    whole_shape, whole_area, whole_place = bed.whole_shape, bed.whole_area, bed.whole_place
    cut_shape, cut_weight, cut_radius = bed.cut_shape, bed.cut_weight, bed.cut_radius
    field, place = work.field, work.place_of_point
    metric, slopes, vectors, sizes = bed.metric, work.slopes, bed.vectors, bed.sizes
    arm, a, b = work.arm, work.point_gradient, work.slope_gradient
    centre_gradient = work.centre_gradient
    kinds, exponents, offsets = law.kinds, law.exponents, law.offsets
    coefficients, thicknesses = law.coefficients, law.thicknesses
    layers, law_kind, exponent = kinds.shape[0], kinds[0], exponents.max()
    twist, moving = motion.twist, motion.moving
    need_gradient = conservative or with_jacobian or moving
    offset, offset_slope = patch_offset(law, bed, work, deepest, largest, with_jacobian)
    force_x = force_y = force_z = moment_x = moment_y = moment_z = 0.0
    area = peak = total = total_x = total_y = total_z = 0.0
    for i in range(begin, end):
        e = work.active[i]
        lumped = work.kind[i] == LUMPED
        lone = bed.centroid_first + e
        shape = whole_shape
        steepness, cut = 0.0, False
        if not lumped and nodes == 6:
            steepness = field_slope(metric, elements, e, depth, slopes)
            # Where the pressure begins with a power, the simple rule must keep off the edge.
            margin = 0.0 if exponent == 1.0 else _ROOT_MARGIN * steepness * sizes[e]
            for j in range(nodes):
                cut = cut or depth[elements[e, j]] <= offset + margin
        if cut:
            shape = cut_shape
            for k in range(6):
                b[k] = 0.0
                if with_jacobian:
                    for j in range(3):
                        b[k] += slopes[j] * gradient[elements[e, j], k]
            interpolate_places(points, vectors, elements, e, shape, place)
        interpolate_field(elements, e, depth, shape, field)
        highest = 0.0
        for q in range(shape.shape[1]):
            bearing = (depth[lone] if lumped else field[q]) - offset
            radius = cut_radius[q] * sizes[e] if cut else 0.0
            rise = radius * steepness
            if bearing <= -rise:
                continue
            if cut:
                x, y, z = place[0, q], place[1, q], place[2, q]
                nx, ny, nz = place[3, q], place[4, q], place[5, q]
                length = np.sqrt(nx * nx + ny * ny + nz * nz)
                nx, ny, nz = nx / length, ny / length, nz / length
                weight = cut_weight[q] * length
            else:
                x, y, z = whole_place[e, q, 0], whole_place[e, q, 1], whole_place[e, q, 2]
                nx, ny, nz = whole_place[e, q, 3], whole_place[e, q, 4], whole_place[e, q, 5]
                weight = whole_area[e, q]
            if bearing > highest:
                highest = bearing
            part, by_rise = 1.0, 0.0
            if bearing < rise:
                part, _ = table_value(law.area_table, bearing / rise)
            area += weight * part
            if cut and not conservative and (bearing < rise or exponent != 1.0):
                pressure, slope, by_rise = disc_pressure(
                    kinds, exponents, offsets, coefficients, thicknesses, law.lead, exponent,
                    law.disc_table, e, bearing, rise,
                )  # fmt: skip
            elif bearing <= 0.0:
                continue
            elif layers == 1:
                pressure, slope = layer_pressure(
                    law_kind, coefficients[0, e], exponents[0], thicknesses[0, e], bearing
                )
            else:
                pressure, slope, _, _ = series_pressure(
                    kinds, exponents, offsets, coefficients, thicknesses, e, bearing, False
                )
            if with_energy and bearing > 0.0:
                sums[14] += weight * spring_energy(
                    kinds, exponents, coefficients, thicknesses, e, bearing
                )
            if need_gradient:
                for k in range(6):
                    a[k] = 0.0
                    if lumped:
                        a[k] = gradient[lone, k]
                    else:
                        for j in range(nodes):
                            a[k] += shape[j, q] * gradient[elements[e, j], k]
            lx, ly, lz = y * nz - z * ny, z * nx - x * nz, x * ny - y * nx
            if with_jacobian:
                if conservative:
                    for k in range(6):
                        arm[k] = -a[k]
                else:
                    arm[0], arm[1], arm[2], arm[3], arm[4], arm[5] = nx, ny, nz, lx, ly, lz
                for k in range(6):
                    rate = slope * (a[k] - offset_slope * centre_gradient[k])
                    rate = weight * (rate + by_rise * radius * b[k])
                    for component in range(6):
                        jacobian[component, k] += arm[component] * rate
                if conservative:
                    if lumped:
                        force[lone] += weight * pressure
                    else:
                        for j in range(nodes):
                            force[elements[e, j]] += weight * pressure * shape[j, q]
            if moving:
                approach = 0.0
                for k in range(6):
                    approach += a[k] * twist[k]
                # Hunt & Crossley (1975); the bed cannot pull.
                pressure *= max(0.0, 1.0 + motion.damping * approach)
                limit = motion.friction * pressure * weight
                add_friction(twist, limit, motion.transition_speed, x, y, z, nx, ny, nz, sums)
            carried = pressure * weight
            if conservative:
                for k in range(6):
                    sums[k] -= carried * a[k]
            else:
                force_x += carried * nx
                force_y += carried * ny
                force_z += carried * nz
                moment_x += carried * lx
                moment_y += carried * ly
                moment_z += carried * lz
            if pressure > peak:
                peak = pressure
            total += carried
            total_x += carried * x
            total_y += carried * y
            total_z += carried * z
        sums[13] = max(
            sums[13],
            spring_strain(kinds, exponents, offsets, coefficients, thicknesses, e, highest),
        )
    if not moving:
        deep, _ = spring_pressure(
            kinds, exponents, offsets, coefficients, thicknesses, work.active[deepest],
            largest - offset,
        )  # fmt: skip
        peak = max(peak, deep)
    sums[0] += force_x
    sums[1] += force_y
    sums[2] += force_z
    sums[3] += moment_x
    sums[4] += moment_y
    sums[5] += moment_z
    sums[6], sums[7], sums[8] = area, peak, total
    sums[9], sums[10], sums[11] = total_x, total_y, total_z
    sums[12] = largest
    sums[15] = offset
    if with_jacobian and conservative:
        add_curvature(rotation, femur, bed, begin, end, work, jacobian)


@njit(cache=True)
def find_gradients(rotation, femur, bed, work, begin, end):
    """Write the gradients of the nodes of the active elements ``begin`` to ``end``."""
    patch, curved = femur.patch, femur.curved
    points, normals, elements = bed.points, bed.normals, bed.elements
    depth, met, place, gradient = work.depth, work.met, work.place, work.gradient
    dated, generation = work.gradient_stamp, work.generation[0]
    for i in range(begin, end):
        e = work.active[i]
        if work.kind[i] == LUMPED:
            indentation_gradient(
                rotation, patch, curved, points, normals, bed.centroid_first + e, depth, met,
                place, gradient,
            )  # fmt: skip
            continue
        for j in range(elements.shape[1]):
            node = elements[e, j]
            if dated[node] != generation:
                dated[node] = generation
                indentation_gradient(
                    rotation, patch, curved, points, normals, node, depth, met, place, gradient
                )


@njit(cache=True)
def add_curvature(rotation, femur, bed, begin, end, work, jacobian):
    """Add the part of the Hessian of the energy that comes from the turning of the gradients."""
    patch, curved, points, normals = femur.patch, femur.curved, bed.points, bed.normals
    depth, met, place, force = work.depth, work.met, work.place, work.force
    gradient, elements = work.gradient, bed.elements
    for i in range(begin, end):
        element = work.active[i]
        lumped = work.kind[i] == LUMPED
        for j in range(1 if lumped else elements.shape[1]):
            node = bed.centroid_first + element if lumped else elements[element, j]
            if force[node] != 0.0:
                add_hessian(
                    rotation, patch, curved, points, normals, node, depth, met[node],
                    place[node, 0], place[node, 1], gradient, -force[node], jacobian,
                )  # fmt: skip
                force[node] = 0.0


@njit(cache=True)
def cross(ax, ay, az, bx, by, bz):
    """Cross product of two vectors."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@njit(cache=True)
def turned_term(rotation, patch, facet, term):
    """A coefficient of a femoral patch in tibial directions."""
    x, y, z = patch[facet, term, 0], patch[facet, term, 1], patch[facet, term, 2]
    r = rotation
    return (
        r[0, 0] * x + r[0, 1] * y + r[0, 2] * z,
        r[1, 0] * x + r[1, 1] * y + r[1, 2] * z,
        r[2, 0] * x + r[2, 1] * y + r[2, 2] * z,
    )


@njit(cache=True)
def add_hessian(
    rotation, patch, curved, points, normals, node, depth, facet, u, v, gradient, scale, out
):  # fmt: skip
    """Add ``scale`` times d(gradient of a node's indentation)/d(femoral twist) to ``out`` (6, 6).

    With the unit femoral normal m at the point x met, x' = -d' n stays on the node's line, and the
    normal there changes by m' = w x m + S (x' - v - w x x), S being the derivative of the normal
    over the femoral surface (its shape operator).
    """
    ux, uy, uz = turned_term(rotation, patch, facet, 1)
    vx, vy, vz = turned_term(rotation, patch, facet, 2)
    kx = ky = kz = lx = ly = lz = hx = hy = hz = 0.0
    if curved:
        kx, ky, kz = turned_term(rotation, patch, facet, 3)
        lx, ly, lz = turned_term(rotation, patch, facet, 4)
        hx, hy, hz = turned_term(rotation, patch, facet, 5)
    ux, uy, uz = ux + 2 * u * kx + v * lx, uy + 2 * u * ky + v * ly, uz + 2 * u * kz + v * lz
    vx, vy, vz = vx + u * lx + 2 * v * hx, vy + u * ly + 2 * v * hy, vz + u * lz + 2 * v * hz
    mx, my, mz = cross(ux, uy, uz, vx, vy, vz)
    length = np.sqrt(mx * mx + my * my + mz * mz)
    mx, my, mz = mx / length, my / length, mz / length
    nx, ny, nz = normals[node, 0], normals[node, 1], normals[node, 2]
    x = points[node, 0] - depth[node] * nx
    y = points[node, 1] - depth[node] * ny
    z = points[node, 2] - depth[node] * nz
    along = mx * nx + my * ny + mz * nz
    px, py, pz = cross(x, y, z, mx, my, mz)
    guu = ux * ux + uy * uy + uz * uz
    guv = ux * vx + uy * vy + uz * vz
    gvv = vx * vx + vy * vy + vz * vz
    det = guu * gvv - guv * guv
    for column in range(6):
        sx = 1.0 if column == 0 else 0.0
        sy = 1.0 if column == 1 else 0.0
        sz = 1.0 if column == 2 else 0.0
        wx = 1.0 if column == 3 else 0.0
        wy = 1.0 if column == 4 else 0.0
        wz = 1.0 if column == 5 else 0.0
        rate = -gradient[node, column]
        ax, ay, az = rate * nx, rate * ny, rate * nz
        cx, cy, cz = cross(wx, wy, wz, x, y, z)
        cx, cy, cz = ax - sx - cx, ay - sy - cy, az - sz - cz
        su, sv = cx * ux + cy * uy + cz * uz, cx * vx + cy * vy + cz * vz
        du, dv = (gvv * su - guv * sv) / det, (guu * sv - guv * su) / det
        tx, ty, tz = cross(
            2 * du * kx + dv * lx, 2 * du * ky + dv * ly, 2 * du * kz + dv * lz, vx, vy, vz
        )
        cx, cy, cz = cross(
            ux, uy, uz, du * lx + 2 * dv * hx, du * ly + 2 * dv * hy, du * lz + 2 * dv * hz
        )
        tx, ty, tz = tx + cx, ty + cy, tz + cz
        normal = mx * tx + my * ty + mz * tz
        cx, cy, cz = cross(wx, wy, wz, mx, my, mz)
        tx = (tx - normal * mx) / length + cx
        ty = (ty - normal * my) / length + cy
        tz = (tz - normal * mz) / length + cz
        slant = (tx * nx + ty * ny + tz * nz) / (along * along)
        cx, cy, cz = cross(ax, ay, az, mx, my, mz)
        qx, qy, qz = cross(x, y, z, tx, ty, tz)
        out[0, column] += scale * (slant * mx - tx / along)
        out[1, column] += scale * (slant * my - ty / along)
        out[2, column] += scale * (slant * mz - tz / along)
        out[3, column] += scale * (slant * px - (cx + qx) / along)
        out[4, column] += scale * (slant * py - (cy + qy) / along)
        out[5, column] += scale * (slant * pz - (cz + qz) / along)


@njit(cache=True, nogil=True)
def evaluate_contact(
    rotation, translation, femur, bed, law, motion, chosen, reach, conservative, with_jacobian,
    with_energy, work, sums, jacobian,
):  # fmt: skip
    """Evaluate the compartments that ``chosen`` (2,) bool names, at one pose.

    Writes ``sums`` (2, SUMS) and ``jacobian`` (2, 6, 6), see `integrate_contact`. Returns the
    number of active elements, which the scratch memory lists.
    """
    work.generation[0] += 1
    end = 0
    for c in range(2):
        sums[c, :] = 0.0
        jacobian[c, :, :] = 0.0
        if not chosen[c]:
            continue
        begin = end
        end, deepest, largest = find_contact(
            rotation, translation, femur, bed, work, bed.compartments[c], bed.compartments[c + 1],
            reach, begin,
        )  # fmt: skip
        if with_jacobian or conservative or motion.moving:
            find_gradients(rotation, femur, bed, work, begin, end)
        integrate_contact(
            rotation, femur, bed, law, begin, end, deepest, largest, motion, conservative,
            with_jacobian, with_energy, work, sums[c], jacobian[c],
        )  # fmt: skip
    return end


@njit(cache=True)
def middle_state(bed, law, work, active, medial, offsets, depth, pressure):
    """Write indentation and pressure in the middle of the active elements, both (F,).

    Elements before ``medial`` belong to the medial compartment; ``offsets`` (2,) are those of the
    two patches.
    """
    for i in range(active):
        element = work.active[i]
        if work.kind[i] == LUMPED:
            field = work.depth[bed.centroid_first + element]
        elif bed.elements.shape[1] == 1:
            field = work.depth[bed.elements[element, 0]]
        else:
            quadratic_shapes(1.0 / 3.0, 1.0 / 3.0, work.shape)
            field = 0.0
            for j in range(6):
                field += work.shape[j] * work.depth[bed.elements[element, j]]
        offset = offsets[0] if element < medial else offsets[1]
        depth[element] = max(field, 0.0)
        pressure[element], _ = spring_pressure(
            law.kinds, law.exponents, law.offsets, law.coefficients, law.thicknesses, element,
            field - offset,
        )  # fmt: skip


def new_work(bed: Bed) -> Work:
    """Return scratch memory for evaluations on a bed."""
    nodes, elements = len(bed.points), len(bed.elements)
    return Work(
        generation=np.zeros(1, dtype=np.int64),
        stamp=np.zeros(nodes, dtype=np.int64),
        gradient_stamp=np.zeros(nodes, dtype=np.int64),
        depth=np.zeros(nodes),
        met=np.zeros(nodes, dtype=np.int64),
        place=np.zeros((nodes, 2)),
        gradient=np.zeros((nodes, 6)),
        force=np.zeros(nodes),
        candidates=np.zeros(elements, dtype=np.int64),
        todo=np.zeros(nodes, dtype=np.int64),
        starts=np.zeros(nodes, dtype=np.int64),
        active=np.zeros(elements, dtype=np.int64),
        kind=np.zeros(elements, dtype=np.int64),
        top=np.zeros((elements, 2)),
        clearance=np.zeros(int(np.diff(bed.list_first).max())),
        field=np.zeros(len(bed.cut_weight)),
        place_of_point=np.zeros((6, len(bed.cut_weight))),
        slopes=np.zeros(3),
        slope_gradient=np.zeros(6),
        shape=np.zeros(6),
        arm=np.zeros(6),
        point_gradient=np.zeros(6),
        centre_gradient=np.zeros(6),
    )
