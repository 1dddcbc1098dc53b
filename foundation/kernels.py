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

import numpy as np
from numba import njit

POWER = 0
LOGARITHMIC = 1

#: Compressive strain up to which a logarithmic layer follows its law. Beyond it the law goes on
#: along its tangent, which keeps an integrator's trial steps finite; such results are flagged.
STRAIN_LIMIT = 0.99

#: Numbers that `reduce_springs` writes per compartment, see there.
SUMS = 14

_NEWTON_STEPS = 60


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
def box_meets_tree(centre, half, node_low, node_high, node_next, node_count):
    """Whether an axis-parallel box (centre, half widths) meets the box of any leaf of the tree."""
    node = 0
    nodes = node_next.shape[0]
    while node < nodes:
        apart = False
        for k in range(3):
            if centre[k] - half[k] > node_high[node, k] or centre[k] + half[k] < node_low[node, k]:
                apart = True
        if apart:
            node = node_next[node]
            continue
        if node_count[node] > 0:
            return True
        node += 1
    return False


@njit(cache=True)
def indent_springs(
    rotation, translation, points, normals, clusters, cluster_centre, cluster_half, first, last,
    reach, node_low, node_high, node_next, node_first, node_count, corner, edge_1, edge_2,
    face_normal, depth, facet,
):  # fmt: skip
    """Indentation of each spring into the femur: a ray along minus its normal.

    Writes ``depth`` (S,) [m] (0 out of contact) and ``facet`` (S,) for the springs of the clusters
    ``first`` to ``last``. Springs come in clusters of neighbours (``clusters`` (C + 1,) holds their
    first springs); a cluster whose rays, swept in a box, meet nothing of the femur is skipped, so
    that the cost follows the contact patch.
    """
    centre = np.empty(3)
    half = np.empty(3)
    for c in range(first, last):
        for k in range(3):
            centre[k] = 0.0
            half[k] = 0.0
            for j in range(3):
                centre[k] += rotation[j, k] * (cluster_centre[c, j] - translation[j])
                half[k] += abs(rotation[j, k]) * cluster_half[c, j]
        near = box_meets_tree(centre, half, node_low, node_high, node_next, node_count)
        for i in range(clusters[c], clusters[c + 1]):
            depth[i] = 0.0
            facet[i] = -1
            if not near:
                continue
            x = points[i, 0] - translation[0]
            y = points[i, 1] - translation[1]
            z = points[i, 2] - translation[2]
            ox = rotation[0, 0] * x + rotation[1, 0] * y + rotation[2, 0] * z
            oy = rotation[0, 1] * x + rotation[1, 1] * y + rotation[2, 1] * z
            oz = rotation[0, 2] * x + rotation[1, 2] * y + rotation[2, 2] * z
            nx = normals[i, 0]
            ny = normals[i, 1]
            nz = normals[i, 2]
            dx = -(rotation[0, 0] * nx + rotation[1, 0] * ny + rotation[2, 0] * nz)
            dy = -(rotation[0, 1] * nx + rotation[1, 1] * ny + rotation[2, 1] * nz)
            dz = -(rotation[0, 2] * nx + rotation[1, 2] * ny + rotation[2, 2] * nz)
            distance, hit = ray_hit(
                ox, oy, oz, dx, dy, dz, reach, node_low, node_high, node_next, node_first,
                node_count, corner, edge_1, edge_2, face_normal,
            )  # fmt: skip
            if hit >= 0:
                depth[i] = distance
                facet[i] = hit


@njit(cache=True)
def indentation_gradient(spring, facet, depth, rotation, points, normals, face_normal, out):
    """Write d(indentation)/d(femoral twist), (6,), of a spring in contact with a plane facet.

    The plane of outward normal m moves with velocity u = v + w x X at the point X it is met in;
    staying on the spring's line, the indentation changes by -(m . u) / (m . n).
    """
    m = np.empty(3)
    x = np.empty(3)
    along = 0.0
    for k in range(3):
        m[k] = (
            rotation[k, 0] * face_normal[facet, 0]
            + rotation[k, 1] * face_normal[facet, 1]
            + rotation[k, 2] * face_normal[facet, 2]
        )
        x[k] = points[spring, k] - depth * normals[spring, k]
        along += m[k] * normals[spring, k]
    for k in range(3):
        out[k] = -m[k] / along
    out[3] = -(x[1] * m[2] - x[2] * m[1]) / along
    out[4] = -(x[2] * m[0] - x[0] * m[2]) / along
    out[5] = -(x[0] * m[1] - x[1] * m[0]) / along


@njit(cache=True)
def reduce_springs(
    rotation, points, normals, areas, first, last, face_normal, kinds, exponents, offsets,
    coefficients, thicknesses, depth, facet, with_jacobian, pressure, sums, jacobian,
):  # fmt: skip
    """Pressures, summed loads and their derivative of the springs ``first`` to ``last``.

    These springs are one contact patch: they share the largest indentation of the modified law.

    Writes ``pressure`` (S,) [Pa]; ``sums`` (SUMS,): wrench on the femur (6) [N, N m], area [m²],
    peak pressure [Pa], sum of pA [N], sum of pA times position (3) [N m], largest indentation [m],
    largest strain; ``jacobian`` (6, 6): d(wrench)/d(femoral twist).
    """
    sums[:] = 0.0
    jacobian[:, :] = 0.0
    layers = kinds.shape[0]
    deepest = -1
    for i in range(first, last):
        pressure[i] = 0.0
        if depth[i] > 0.0 and (deepest < 0 or depth[i] > depth[deepest]):
            deepest = i
    if deepest < 0:
        return
    modified = False
    for k in range(layers):
        if offsets[k] > 0.0:
            modified = True
    offset = 0.0
    offset_slope = 0.0
    gradient = np.zeros(6)
    centre_gradient = np.zeros(6)
    if modified:
        _, _, offset, offset_slope = series_pressure(
            kinds, exponents, offsets, coefficients, thicknesses, deepest, depth[deepest], True
        )
        if with_jacobian:
            indentation_gradient(
                deepest, facet[deepest], depth[deepest], rotation, points, normals, face_normal,
                centre_gradient,
            )  # fmt: skip
    sums[12] = depth[deepest]
    arm = np.empty(6)
    for i in range(first, last):
        bearing = depth[i] - offset
        if depth[i] <= 0.0 or bearing <= 0.0:
            continue
        p, slope, _, _ = series_pressure(
            kinds, exponents, offsets, coefficients, thicknesses, i, bearing, False
        )
        pressure[i] = p
        area = areas[i]
        force = p * area
        for k in range(3):
            arm[k] = normals[i, k]
        arm[3] = points[i, 1] * normals[i, 2] - points[i, 2] * normals[i, 1]
        arm[4] = points[i, 2] * normals[i, 0] - points[i, 0] * normals[i, 2]
        arm[5] = points[i, 0] * normals[i, 1] - points[i, 1] * normals[i, 0]
        for k in range(6):
            sums[k] += force * arm[k]
        sums[6] += area
        sums[7] = max(sums[7], p)
        sums[8] += force
        for k in range(3):
            sums[9 + k] += force * points[i, k]
        for k in range(layers):
            d, _ = layer_indentation(
                kinds[k], coefficients[k, i], exponents[k], thicknesses[k, i], p
            )
            sums[13] = max(sums[13], d / thicknesses[k, i])
        if with_jacobian:
            indentation_gradient(
                i, facet[i], depth[i], rotation, points, normals, face_normal, gradient
            )
            for column in range(6):
                rate = area * slope * (gradient[column] - offset_slope * centre_gradient[column])
                for row in range(6):
                    jacobian[row, column] += arm[row] * rate


@njit(cache=True)
def evaluate_contact(
    rotation, translation, points, normals, areas, clusters, cluster_centre, cluster_half,
    compartments, chosen, reach, node_low, node_high, node_next, node_first, node_count, corner,
    edge_1, edge_2, face_normal, kinds, exponents, offsets, coefficients, thicknesses,
    with_jacobian, depth, facet, pressure, sums, jacobian,
):  # fmt: skip
    """Evaluate the compartments that ``chosen`` (2,) bool names, at one pose.

    ``compartments`` (3,) holds the first cluster of each compartment and the end. Writes ``depth``,
    ``facet``, ``pressure`` (S,), ``sums`` (2, SUMS) and ``jacobian`` (2, 6, 6), the last with
    respect to the femoral twist; see `indent_springs` and `reduce_springs`.
    """
    for c in range(2):
        first, last = clusters[compartments[c]], clusters[compartments[c + 1]]
        if not chosen[c]:
            depth[first:last] = 0.0
            pressure[first:last] = 0.0
            sums[c] = 0.0
            jacobian[c] = 0.0
            continue
        indent_springs(
            rotation, translation, points, normals, clusters, cluster_centre, cluster_half,
            compartments[c], compartments[c + 1], reach, node_low, node_high, node_next,
            node_first, node_count, corner, edge_1, edge_2, face_normal, depth, facet,
        )  # fmt: skip
        reduce_springs(
            rotation, points, normals, areas, first, last, face_normal, kinds, exponents, offsets,
            coefficients, thicknesses, depth, facet, with_jacobian, pressure, sums[c],
            jacobian[c],
        )  # fmt: skip
