"""Pressure over blocks of elements, `LANES` of them side by side.

A block is rows of `LANES` numbers, one row for each quantity below; an element is a column.
"""

from __future__ import annotations

import numpy as np

from foundation.base.compiling import fused_part
from foundation.kernels.contact import LUMPED
from foundation.kernels.edge import edge_part, edge_pressure, edge_ramp
from foundation.kernels.fields import field_slope
from foundation.kernels.layers import POWER, spring_energy, spring_pressure
from foundation.kernels.search import LANES
from foundation.kernels.sums import CARRIED, ENERGY, PEAK

# Given: indentation and rate of indentation of the nodes, their area vectors (the normal times the
# local area) and places (18 rows each), coefficient of a linear law, rise of the indentation over
# the element's size, derivatives of the slope by the corners.
_DEPTH, _RATE, _VECTOR, _PLACE, _COEFFICIENT, _RISE, _SLOPES = 0, 6, 12, 30, 48, 49, 50
# Local areas of the nodes; at one point of the rule: bearing indentation, local area, pressure and
# its derivatives by the indentation and the rise.
_SIZE, _FIELD, _AREA, _PRESSURE, _BY_FIELD, _BY_RISE = 53, 59, 60, 61, 62, 63
#: Found: what the nodes bear, its derivatives by the offset and the rise, the area in contact, and
#: the derivatives by the nodes' indentations (36 rows).
BEARS, BY_OFFSET, _BY_SLOPE, BORNE, STIFFNESS = 64, 70, 76, 82, 83
# For the Jacobian: what a unit of pressure at the nodes contributes to the wrench, the gradients of
# their indentations, the same and the stiffness of one node.
_ARM, _GRADIENT, _ONE, _COLUMN = 119, 155, 191, 197
# Sums over all blocks: wrench, load carried and its moment of place (10 rows); the Jacobian.
_LOADS, _JACOBIAN = 203, 213
#: Number of rows.
BLOCK_ROWS = _JACOBIAN + 36


@fused_part
def is_linear(law):
    """Return whether the pressure is a coefficient times the bearing indentation."""
    return law.kinds.shape[0] == 1 and law.kinds[0] == POWER and law.exponents[0] == 1.0


@fused_part
def fill_block(bed, law, motion, work, chosen, begin, count, cut):
    """Fill a block with the elements at positions ``chosen[begin:begin + count]`` of ``active``.

    The indentation of a lumped element is that of its centroid everywhere.
    """
    n, rows = LANES, work.block
    elements, points, vectors = bed.elements, bed.points, bed.area_vectors
    metric, sizes, coefficients = bed.metric, bed.sizes, law.coefficients
    depth, gradient, slopes, block_of = work.depth, work.gradient, work.slopes, work.block_of
    active, kind_of, centroid_first = work.active, work.kind, bed.centroid_first
    moving, twist = motion.moving, motion.twist
    for i in range(count, n):
        # Idle columns carry no area.
        for row in range(_SIZE):
            rows[row * n + i] = 0.0 if row < _COEFFICIENT else 1.0
    for i in range(count):
        position = chosen[begin + i]
        e = active[position]
        block_of[i] = e
        lumped = kind_of[position] == LUMPED
        rows[_COEFFICIENT * n + i] = coefficients[0, e]
        for j in range(elements.shape[1]):
            own = elements[e, j]
            node = centroid_first + e if lumped else own
            rows[(_DEPTH + j) * n + i] = depth[node]
            for k in range(3):
                rows[(_VECTOR + 3 * j + k) * n + i] = vectors[e, j, k]
                rows[(_PLACE + 3 * j + k) * n + i] = points[own, k]
            if moving:
                rate = 0.0
                for k in range(6):
                    rate += gradient[node, k] * twist[k]
                rows[(_RATE + j) * n + i] = rate
        if cut:
            rows[_RISE * n + i] = sizes[e] * field_slope(metric, elements, e, depth, slopes)
            for k in range(3):
                rows[(_SLOPES + k) * n + i] = sizes[e] * slopes[k]
    for j in range(6):
        x, size = (_VECTOR + 3 * j) * n, (_SIZE + j) * n
        for i in range(n):
            rows[size + i] = np.sqrt(
                rows[x + i] * rows[x + i]
                + rows[x + n + i] * rows[x + n + i]
                + rows[x + 2 * n + i] * rows[x + 2 * n + i]
            )


@fused_part
def interpolate(rows, shape, q, weight, offset):
    """Write bearing indentation and local area, times the weight, at point ``q`` of the rule."""
    n = LANES
    s0, s1, s2 = shape[0, q], shape[1, q], shape[2, q]
    s3, s4, s5 = shape[3, q], shape[4, q], shape[5, q]
    for i in range(n):
        rows[_FIELD * n + i] = (
            s0 * rows[_DEPTH * n + i]
            + s1 * rows[(_DEPTH + 1) * n + i]
            + s2 * rows[(_DEPTH + 2) * n + i]
            + s3 * rows[(_DEPTH + 3) * n + i]
            + s4 * rows[(_DEPTH + 4) * n + i]
            + s5 * rows[(_DEPTH + 5) * n + i]
        ) - offset
        rows[_AREA * n + i] = weight * (
            s0 * rows[_SIZE * n + i]
            + s1 * rows[(_SIZE + 1) * n + i]
            + s2 * rows[(_SIZE + 2) * n + i]
            + s3 * rows[(_SIZE + 3) * n + i]
            + s4 * rows[(_SIZE + 4) * n + i]
            + s5 * rows[(_SIZE + 5) * n + i]
        )


@fused_part
def bear_linear(rows, radius, smoothed, cut):
    """Write pressure, its derivatives and the area in contact of a linear law at one point."""
    n = LANES
    if not cut:
        for i in range(n):
            inside = 1.0 if rows[_FIELD * n + i] > 0.0 else 0.0
            c = inside * rows[_COEFFICIENT * n + i]
            rows[_PRESSURE * n + i] = c * rows[_FIELD * n + i]
            rows[_BY_FIELD * n + i] = c
            rows[_BY_RISE * n + i] = 0.0
            rows[BORNE * n + i] += inside * rows[_AREA * n + i]
        return
    for i in range(n):
        rise = radius * rows[_RISE * n + i]
        t = rows[_FIELD * n + i] / rise
        within = min(max(t, -1.0), 1.0)
        part = edge_part(within)
        c = rows[_COEFFICIENT * n + i]
        rows[BORNE * n + i] += part * rows[_AREA * n + i]
        if smoothed:
            ramp = edge_ramp(within) + max(t - 1.0, 0.0)
            rows[_PRESSURE * n + i] = c * rise * ramp
            rows[_BY_FIELD * n + i] = c * part
            rows[_BY_RISE * n + i] = c * radius * (ramp - t * part)
        else:
            inside = c if t > 0.0 else 0.0
            rows[_PRESSURE * n + i] = inside * rows[_FIELD * n + i]
            rows[_BY_FIELD * n + i] = inside
            rows[_BY_RISE * n + i] = 0.0


@fused_part
def bear_any(law, rows, block_of, count, radius, smoothed, cut):
    """Write pressure, its derivatives and the area in contact of any law at one point."""
    n = LANES
    kinds, exponents, offsets = law.kinds, law.exponents, law.offsets
    coefficients, thicknesses, exponent = law.coefficients, law.thicknesses, law.exponent
    lead, table = law.lead, law.edge_table
    for i in range(count):
        element = block_of[i]
        bearing = rows[_FIELD * n + i]
        rise = radius * rows[_RISE * n + i] if cut else 0.0
        pressure = by_field = by_rise = 0.0
        if bearing > -rise:
            part = edge_part(bearing / rise) if bearing < rise else 1.0
            rows[BORNE * n + i] += part * rows[_AREA * n + i]
            if smoothed and (bearing < rise or exponent != 1.0):
                pressure, by_field, by_rise = edge_pressure(
                    kinds, exponents, offsets, coefficients, thicknesses, lead, exponent, table,
                    element, bearing, rise,
                )  # fmt: skip
            elif bearing > 0.0:
                pressure, by_field = spring_pressure(
                    kinds, exponents, offsets, coefficients, thicknesses, element, bearing
                )
        rows[_PRESSURE * n + i] = pressure
        rows[_BY_FIELD * n + i] = by_field
        rows[_BY_RISE * n + i] = radius * by_rise


@fused_part
def store_energy(law, rows, block_of, count, sums):
    """Add the energy at one point of the rule to ``sums``."""
    n = LANES
    for i in range(count):
        bearing = rows[_FIELD * n + i]
        if bearing > 0.0:
            sums[ENERGY] += rows[_AREA * n + i] * spring_energy(
                law.kinds, law.exponents, law.coefficients, law.thicknesses, block_of[i], bearing
            )


@fused_part
def dissipate(bed, motion, rows, block_of, count, shape, q, weight, sums):
    """Apply damping to the pressure at one point of the rule, and add its friction."""
    n = LANES
    for i in range(count):
        speed = 0.0
        for j in range(bed.elements.shape[1]):
            speed += shape[j, q] * rows[(_RATE + j) * n + i]
        # Hunt & Crossley (1975); the bed cannot pull.
        pressure = rows[_PRESSURE * n + i]
        pressure *= max(0.0, 1.0 + motion.damping * speed)
        rows[_PRESSURE * n + i] = pressure
        sums[PEAK] = max(sums[PEAK], pressure)
        if motion.friction > 0.0 and pressure > 0.0:
            friction_of_point(
                rows, i, shape, q, motion.twist, motion.friction * pressure * weight,
                motion.transition_speed, sums,
            )  # fmt: skip


@fused_part
def add_force(wrench, x, y, z, fx, fy, fz):
    """Add a force at a place, and its moment about the origin, to the first six of ``wrench``."""
    wrench[0] += fx
    wrench[1] += fy
    wrench[2] += fz
    wrench[3] += y * fz - z * fy
    wrench[4] += z * fx - x * fz
    wrench[5] += x * fy - y * fx


@fused_part
def friction_of_point(rows, i, shape, q, twist, limit, transition_speed, sums):
    """Add Coulomb friction of a point to the wrench, smoothed below the transition speed.

    ``limit`` is the coefficient times the load of the point over the reference triangle.
    """
    n = LANES
    x = y = z = nx = ny = nz = area = 0.0
    for j in range(6):
        s, vector, place = shape[j, q], (_VECTOR + 3 * j) * n + i, (_PLACE + 3 * j) * n + i
        nx += s * rows[vector]
        ny += s * rows[vector + n]
        nz += s * rows[vector + 2 * n]
        s *= rows[(_SIZE + j) * n + i]
        area += s
        x += s * rows[place]
        y += s * rows[place + n]
        z += s * rows[place + 2 * n]
    nx, ny, nz, x, y, z = nx / area, ny / area, nz / area, x / area, y / area, z / area
    vx = twist[0] + twist[4] * z - twist[5] * y
    vy = twist[1] + twist[5] * x - twist[3] * z
    vz = twist[2] + twist[3] * y - twist[4] * x
    along = vx * nx + vy * ny + vz * nz
    vx -= along * nx
    vy -= along * ny
    vz -= along * nz
    speed = (vx * vx + vy * vy + vz * vz + transition_speed * transition_speed) ** 0.5
    scale = -limit * area / speed
    fx, fy, fz = scale * vx, scale * vy, scale * vz
    add_force(sums, x, y, z, fx, fy, fz)


@fused_part
def gather_bearing(rows, shape, q, weight, by_area, with_jacobian):
    """Add the pressure at one point of the rule to the loads of the nodes, with derivatives."""
    n = LANES
    if by_area:
        # The area carries the weight already.
        for i in range(n):
            rows[_PRESSURE * n + i] *= rows[_AREA * n + i]
            rows[_BY_FIELD * n + i] *= rows[_AREA * n + i]
        weight = 1.0
    s0, s1, s2 = weight * shape[0, q], weight * shape[1, q], weight * shape[2, q]
    s3, s4, s5 = weight * shape[3, q], weight * shape[4, q], weight * shape[5, q]
    for i in range(n):
        pressure = rows[_PRESSURE * n + i]
        rows[BEARS * n + i] += s0 * pressure
        rows[(BEARS + 1) * n + i] += s1 * pressure
        rows[(BEARS + 2) * n + i] += s2 * pressure
        rows[(BEARS + 3) * n + i] += s3 * pressure
        rows[(BEARS + 4) * n + i] += s4 * pressure
        rows[(BEARS + 5) * n + i] += s5 * pressure
    if not with_jacobian:
        return
    # Six nodes even where there is one: a constant length lets the compiler know all places.
    for j in range(6):
        share = weight * shape[j, q]
        by_offset, by_slope = (BY_OFFSET + j) * n, (_BY_SLOPE + j) * n
        for i in range(n):
            rows[by_offset + i] += share * rows[_BY_FIELD * n + i]
            rows[by_slope + i] += share * rows[_BY_RISE * n + i]
        first = (STIFFNESS + 6 * j) * n
        t0, t1, t2 = share * shape[0, q], share * shape[1, q], share * shape[2, q]
        t3, t4, t5 = share * shape[3, q], share * shape[4, q], share * shape[5, q]
        for i in range(n):
            slope = rows[_BY_FIELD * n + i]
            rows[first + i] += t0 * slope
            rows[first + n + i] += t1 * slope
            rows[first + 2 * n + i] += t2 * slope
            rows[first + 3 * n + i] += t3 * slope
            rows[first + 4 * n + i] += t4 * slope
            rows[first + 5 * n + i] += t5 * slope


@fused_part
def bear_block(
    bed, law, motion, count, cut, offset, conservative, with_jacobian, with_energy, work, sums
):  # fmt: skip
    """Integrate the pressure of a block's elements against the shape functions of their nodes.

    Writes the rows from `BEARS`: the integral of p phi_j, over the reference triangle or, in the
    conservative form, over the area; `BY_OFFSET`: minus the derivative by the offset;
    `BORNE`: the area in contact; `STIFFNESS`: the derivatives by the nodes' indentations, row
    6 j + k. Adds energy and friction to ``sums``.
    """
    n, rows, block_of, nodes = LANES, work.block, work.block_of, bed.elements.shape[1]
    shape, weights, radii = bed.whole_shape, bed.whole_weight, bed.cut_radius
    if cut:
        shape, weights = bed.cut_shape, bed.cut_weight
    linear, smoothed = is_linear(law), cut and not conservative
    for i in range(BEARS * n, (_ARM if with_jacobian else STIFFNESS) * n):
        rows[i] = 0.0
    for q in range(shape.shape[1]):
        radius = radii[q] if cut else 0.0
        interpolate(rows, shape, q, weights[q], offset)
        if linear:
            bear_linear(rows, radius, smoothed, cut)
        else:
            bear_any(law, rows, block_of, count, radius, smoothed, cut)
        if with_energy:
            store_energy(law, rows, block_of, count, sums)
        if motion.moving:
            dissipate(bed, motion, rows, block_of, count, shape, q, weights[q], sums)
        gather_bearing(rows, shape, q, weights[q], conservative, with_jacobian)
    if with_jacobian and smoothed:
        for j in range(nodes):
            for k in range(3):
                for i in range(n):
                    rows[(STIFFNESS + 6 * j + k) * n + i] += (
                        rows[(_BY_SLOPE + j) * n + i] * rows[(_SLOPES + k) * n + i]
                    )


@fused_part
def clear_sums(rows):
    """Set the sums of `add_wrenches` and `add_stiffness` to zero."""
    for i in range(_LOADS * LANES, BLOCK_ROWS * LANES):
        rows[i] = 0.0


@fused_part
def add_wrenches(rows):
    """Add a block's loads along its own normals: force a, moment r x a, load |a|, place r |a|.

    For area vectors a at positions r, each times the load of its node.
    """
    n = LANES
    out = _LOADS * n
    for j in range(6):
        vector, place = (_VECTOR + 3 * j) * n, (_PLACE + 3 * j) * n
        bears, size = (BEARS + j) * n, (_SIZE + j) * n
        for i in range(n):
            x, y, z = rows[place + i], rows[place + n + i], rows[place + 2 * n + i]
            b = rows[bears + i]
            fx = b * rows[vector + i]
            fy = b * rows[vector + n + i]
            fz = b * rows[vector + 2 * n + i]
            load = b * rows[size + i]
            rows[out + i] += fx
            rows[out + n + i] += fy
            rows[out + 2 * n + i] += fz
            rows[out + 3 * n + i] += y * fz - z * fy
            rows[out + 4 * n + i] += z * fx - x * fz
            rows[out + 5 * n + i] += x * fy - y * fx
            rows[out + 6 * n + i] += load
            rows[out + 7 * n + i] += load * x
            rows[out + 8 * n + i] += load * y
            rows[out + 9 * n + i] += load * z


@fused_part
def fill_arms(bed, work, chosen, begin, count, conservative):
    """Fill the arguments of `add_stiffness`; zero for lumped elements, which have no field."""
    n, rows, block_of = LANES, work.block, work.block_of
    elements, gradient, kind_of = bed.elements, work.gradient, work.kind
    for j in range(6):
        vector, place, arm = (_VECTOR + 3 * j) * n, (_PLACE + 3 * j) * n, (_ARM + 6 * j) * n
        for i in range(n):
            x, y, z = rows[place + i], rows[place + n + i], rows[place + 2 * n + i]
            fx, fy, fz = rows[vector + i], rows[vector + n + i], rows[vector + 2 * n + i]
            rows[arm + i], rows[arm + n + i], rows[arm + 2 * n + i] = fx, fy, fz
            rows[arm + 3 * n + i] = y * fz - z * fy
            rows[arm + 4 * n + i] = z * fx - x * fz
            rows[arm + 5 * n + i] = x * fy - y * fx
    for i in range(n):
        if i >= count or kind_of[chosen[begin + i]] == LUMPED:
            for row in range(_ARM, _ONE):
                rows[row * n + i] = 0.0
            continue
        e = block_of[i]
        for j in range(elements.shape[1]):
            node = elements[e, j]
            for k in range(6):
                rows[(_GRADIENT + 6 * j + k) * n + i] = gradient[node, k]
                if conservative:
                    rows[(_ARM + 6 * j + k) * n + i] = -gradient[node, k]


@fused_part
def add_stiffness(rows, nodes, offset_slope, centre_gradient):
    """Add a block's part of the Jacobian: arm of node j, times stiffness j k, times gradient k."""
    n = LANES
    for k in range(nodes):
        for j in range(nodes):
            for i in range(n):
                rows[(_COLUMN + j) * n + i] = rows[(STIFFNESS + 6 * j + k) * n + i]
        for c in range(6):
            for i in range(n):
                rows[(_ONE + c) * n + i] = rows[(_GRADIENT + 6 * k + c) * n + i]
        add_column(rows)
    if offset_slope != 0.0:
        for j in range(nodes):
            for i in range(n):
                rows[(_COLUMN + j) * n + i] = -offset_slope * rows[(BY_OFFSET + j) * n + i]
        for c in range(6):
            for i in range(n):
                rows[(_ONE + c) * n + i] = centre_gradient[c]
        add_column(rows)


@fused_part
def add_column(rows):
    """Add the arms times the stiffness by one value, times the gradient of the value."""
    n = LANES
    column, one = _COLUMN * n, _ONE * n
    for r in range(6):
        arm, out = (_ARM + r) * n, (_JACOBIAN + 6 * r) * n
        for i in range(n):
            side = (
                rows[column + i] * rows[arm + i]
                + rows[column + n + i] * rows[arm + 6 * n + i]
                + rows[column + 2 * n + i] * rows[arm + 12 * n + i]
                + rows[column + 3 * n + i] * rows[arm + 18 * n + i]
                + rows[column + 4 * n + i] * rows[arm + 24 * n + i]
                + rows[column + 5 * n + i] * rows[arm + 30 * n + i]
            )
            rows[out + i] += side * rows[one + i]
            rows[out + n + i] += side * rows[one + n + i]
            rows[out + 2 * n + i] += side * rows[one + 2 * n + i]
            rows[out + 3 * n + i] += side * rows[one + 3 * n + i]
            rows[out + 4 * n + i] += side * rows[one + 4 * n + i]
            rows[out + 5 * n + i] += side * rows[one + 5 * n + i]


@fused_part
def take_sums(rows, with_jacobian, sums, jacobian):
    """Add the sums of `add_wrenches` to ``sums`` and of `add_stiffness` to ``jacobian``."""
    n = LANES
    for i in range(n):
        for k in range(6):
            sums[k] += rows[(_LOADS + k) * n + i]
        for k in range(4):
            sums[CARRIED + k] += rows[(_LOADS + 6 + k) * n + i]
    if not with_jacobian:
        return
    for r in range(6):
        for c in range(6):
            for i in range(n):
                jacobian[r, c] += rows[(_JACOBIAN + 6 * r + c) * n + i]
