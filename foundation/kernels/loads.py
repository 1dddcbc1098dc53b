"""Loads, their Jacobian and the stored energy of the elements in contact."""

from __future__ import annotations

import numpy as np

from foundation.kernels.compiling import kernel
from foundation.kernels.contact import LUMPED, find_contact
from foundation.kernels.edge import disc_pressure, table_value
from foundation.kernels.gradients import add_curvature, find_gradients
from foundation.kernels.layers import (
    POWER,
    series_pressure,
    spring_energy,
    spring_pressure,
    spring_strain,
)

#: Numbers that `integrate_contact` writes per compartment, see there.
SUMS = 16

#: Slope of the indentation that is taken for zero, so that its direction always has a limit.
_LEAST_SLOPE = 1e-5
#: Largest slope over which the edge is smoothed.
_LARGEST_SLOPE = 0.1
#: An element of a law with exponent m != 1 bears "all over" only where its nodes are pressed by
#: this many times the rise of the indentation over it.
_ROOT_MARGIN = 3.0


@kernel
def quadratic_shapes(u, v, out):
    """Write the six quadratic shape functions of a triangle at (u, v)."""
    w = 1.0 - u - v
    out[0] = w * (2.0 * w - 1.0)
    out[1] = u * (2.0 * u - 1.0)
    out[2] = v * (2.0 * v - 1.0)
    out[3] = 4.0 * u * w
    out[4] = 4.0 * u * v
    out[5] = 4.0 * v * w


@kernel
def field_slope(metric, elements, element, depth, slopes):
    """Slope of the indentation over an element's plane triangle of corners; 0 only in the limit.

    Writes its derivatives by the indentations of the corners to ``slopes`` (3,).
    """
    n = elements
    d0, d1, d2 = depth[n[element, 0]], depth[n[element, 1]], depth[n[element, 2]]
    total = _LEAST_SLOPE * _LEAST_SLOPE
    for i in range(3):
        slopes[i] = (
            metric[element, i, 0] * d0 + metric[element, i, 1] * d1 + metric[element, i, 2] * d2
        )
    total += slopes[0] * d0 + slopes[1] * d1 + slopes[2] * d2
    slope = np.sqrt(total)
    # Beyond any slope of real contact the smoothing need not grow.
    limit = min(1.0, _LARGEST_SLOPE / slope)
    for i in range(3):
        slopes[i] = slopes[i] / slope if limit == 1.0 else 0.0
    return slope * limit


@kernel
def interpolate_field(elements, element, depth, shape, field):
    """Write the indentation at the points of a rule, whose ``shape`` is (nodes, Q)."""
    for q in range(shape.shape[1]):
        field[q] = 0.0
    for j in range(shape.shape[0]):
        d = depth[elements[element, j]]
        for q in range(shape.shape[1]):
            field[q] += shape[j, q] * d


@kernel
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


@kernel
def friction_of_point(
    vectors, element, shape, q, twist, limit, transition_speed, sums
):  # fmt: skip
    """Add Coulomb friction of a point to the wrench, smoothed below the transition speed.

    ``limit`` is the coefficient times what the point bears over the reference triangle.
    """
    x = y = z = nx = ny = nz = area = 0.0
    for j in range(shape.shape[0]):
        s = shape[j, q]
        nx += s * vectors[element, j, 0]
        ny += s * vectors[element, j, 1]
        nz += s * vectors[element, j, 2]
        area += s * vectors[element, j, 6]
        x += s * vectors[element, j, 7]
        y += s * vectors[element, j, 8]
        z += s * vectors[element, j, 9]
    nx, ny, nz, x, y, z = nx / area, ny / area, nz / area, x / area, y / area, z / area
    vx = twist[0] + twist[4] * z - twist[5] * y
    vy = twist[1] + twist[5] * x - twist[3] * z
    vz = twist[2] + twist[3] * y - twist[4] * x
    along = vx * nx + vy * ny + vz * nz
    vx -= along * nx
    vy -= along * ny
    vz -= along * nz
    speed = np.sqrt(vx * vx + vy * vy + vz * vz + transition_speed * transition_speed)
    scale = -limit * area / speed
    fx, fy, fz = scale * vx, scale * vy, scale * vz
    sums[0] += fx
    sums[1] += fy
    sums[2] += fz
    sums[3] += y * fz - z * fy
    sums[4] += z * fx - x * fz
    sums[5] += x * fy - y * fx


@kernel
def add_customary(
    vectors, gradient, elements, element, bears, stiffness, by_offset, offset_slope,
    centre_gradient, with_jacobian, side, sums, jacobian,
):  # fmt: skip
    """Add an element's loads along its own normals: what its nodes bear times their vectors."""
    count = elements.shape[1]
    for j in range(count):
        for k in range(6):
            sums[k] += bears[j] * vectors[element, j, k]
        for k in range(4):
            sums[8 + k] += bears[j] * vectors[element, j, 6 + k]
    if not with_jacobian:
        return
    for k in range(count):
        node = elements[element, k]
        for row in range(6):
            side[row] = 0.0
            for j in range(count):
                side[row] += stiffness[j, k] * vectors[element, j, row]
        for row in range(6):
            for column in range(6):
                jacobian[row, column] += side[row] * gradient[node, column]
    if offset_slope != 0.0:
        for row in range(6):
            side[row] = 0.0
            for j in range(count):
                side[row] += offset_slope * by_offset[j] * vectors[element, j, row]
        for row in range(6):
            for column in range(6):
                jacobian[row, column] -= side[row] * centre_gradient[column]


@kernel
def add_conservative(
    points, gradient, nodes, bears, stiffness, with_jacobian, side, sums, jacobian, force
):  # fmt: skip
    """Add an element's loads as the gradient of its energy: -f dd/dx of each of its ``nodes``."""
    count = nodes.shape[0]
    for j in range(count):
        node = nodes[j]
        for k in range(6):
            sums[k] -= bears[j] * gradient[node, k]
        sums[8] += bears[j]
        for k in range(3):
            sums[9 + k] += bears[j] * points[node, k]
        if with_jacobian:
            force[node] += bears[j]
    if not with_jacobian:
        return
    for k in range(count):
        for row in range(6):
            side[row] = 0.0
            for j in range(count):
                side[row] -= stiffness[j, k] * gradient[nodes[j], row]
        for row in range(6):
            for column in range(6):
                jacobian[row, column] += side[row] * gradient[nodes[k], column]


@kernel
def bear_element(
    kinds, exponents, offsets, coefficients, thicknesses, lead, exponent, disc_table, area_table,
    motion, vectors, element, shape, weights, radii, size, steepness, slopes, cut, lumped, height,
    offset, conservative, with_jacobian, with_energy, field, rates, bears, stiffness, by_offset,
    sums,
):  # fmt: skip
    """Integrate the pressure of an element against the shape functions of its nodes.

    Writes ``bears`` (K,): the integral of p phi_j, over the reference triangle or, in the
    conservative form, over the area; ``stiffness`` (K, K): its derivative by the nodes'
    indentations; ``by_offset`` (K,): its derivative by the offset, negative. Adds area, energy and
    friction to ``sums``.
    """
    linear = kinds.shape[0] == 1 and kinds[0] == POWER and exponents[0] == 1.0
    count = shape.shape[0]
    moving, damping = motion.moving, motion.damping
    for j in range(count):
        bears[j] = 0.0
        by_offset[j] = 0.0
        for k in range(count):
            stiffness[j, k] = 0.0
    for q in range(shape.shape[1]):
        bearing = (height if lumped else field[q]) - offset
        radius = radii[q] * size if cut else 0.0
        rise = radius * steepness
        if bearing <= -rise:
            continue
        area = 0.0
        for j in range(count):
            area += shape[j, q] * vectors[element, j, 6]
        area *= weights[q]
        weight = area if conservative else weights[q]
        part, by_rise = 1.0, 0.0
        if bearing < rise:
            part, _ = table_value(area_table, bearing / rise)
        sums[6] += area * part
        if cut and not conservative and linear and bearing < rise:
            value, slope = table_value(disc_table, bearing / rise)
            c = coefficients[0, element]
            pressure, by_rise = c * rise * value, c * (value - bearing / rise * slope)
            slope *= c
        elif cut and not conservative and (bearing < rise or exponent != 1.0):
            pressure, slope, by_rise = disc_pressure(
                kinds, exponents, offsets, coefficients, thicknesses, lead, exponent, disc_table,
                element, bearing, rise,
            )  # fmt: skip
        elif bearing <= 0.0:
            continue
        elif linear:
            slope = coefficients[0, element]
            pressure = slope * bearing
        else:
            pressure, slope = spring_pressure(
                kinds, exponents, offsets, coefficients, thicknesses, element, bearing
            )
        if with_energy and bearing > 0.0:
            sums[14] += area * spring_energy(
                kinds, exponents, coefficients, thicknesses, element, bearing
            )
        if moving:
            rate = 0.0
            for j in range(count):
                rate += shape[j, q] * rates[j]
            # Hunt & Crossley (1975); the bed cannot pull.
            pressure *= max(0.0, 1.0 + damping * rate)
            sums[7] = max(sums[7], pressure)
            if motion.friction > 0.0:
                friction_of_point(
                    vectors, element, shape, q, motion.twist,
                    motion.friction * pressure * weights[q], motion.transition_speed, sums,
                )  # fmt: skip
        for j in range(count):
            bears[j] += weight * shape[j, q] * pressure
        if with_jacobian:
            for j in range(count):
                share = weight * shape[j, q]
                by_offset[j] += share * slope
                for k in range(count):
                    stiffness[j, k] += share * slope * shape[k, q]
                if by_rise != 0.0:
                    for k in range(3):
                        stiffness[j, k] += share * by_rise * radius * slopes[k]


@kernel
def bear_whole_linear(
    vectors, elements, element, depth, offset, stiffness_of_law, mass, lumps, with_jacobian,
    bears, stiffness, by_offset, sums,
):  # fmt: skip
    """`bear_element` for a pressure linear in the indentation over a whole element, exactly."""
    for j in range(elements.shape[1]):
        total = 0.0
        for k in range(elements.shape[1]):
            total += mass[j, k] * (depth[elements[element, k]] - offset)
        bears[j] = stiffness_of_law * total
        sums[6] += lumps[j] * vectors[element, j, 6]
        if with_jacobian:
            by_offset[j] = stiffness_of_law * lumps[j]
            for k in range(elements.shape[1]):
                stiffness[j, k] = stiffness_of_law * mass[j, k]


@kernel
def integrate_contact(
    rotation, femur, bed, law, begin, end, deepest, largest, motion, conservative, with_jacobian,
    with_energy, work, sums, jacobian,
):  # fmt: skip
    """Sum the loads of the active elements ``begin`` to ``end``, which are one contact patch.

    Writes ``sums`` (SUMS,): wrench on the femur (6) [N, N m], area [m²], peak pressure [Pa], sum
    of pA [N], sum of pA times position (3) [N m], largest indentation [m], largest strain, stored
    energy [J] (if asked for), offset of the patch [m]; ``jacobian`` (6, 6): d(wrench)/d(femoral
    twist).
    """
    if deepest < 0:
        return
    points, elements, sizes = bed.points, bed.elements, bed.sizes
    vectors, metric, mass, lumps = bed.vectors, bed.metric, bed.mass, bed.lumps
    whole_shape, whole_weight = bed.whole_shape, bed.whole_weight
    cut_shape, cut_weight, cut_radius = bed.cut_shape, bed.cut_weight, bed.cut_radius
    depth, gradient, force, top = work.depth, work.gradient, work.force, work.top
    field, slopes, rates, side, lone = work.field, work.slopes, work.rates, work.side, work.lone
    bears, stiffness, by_offset = work.bears, work.stiffness, work.by_offset
    kinds, exponents, offsets = law.kinds, law.exponents, law.offsets
    coefficients, thicknesses, exponent = law.coefficients, law.thicknesses, law.exponent
    lead, disc_table, area_table = law.lead, law.disc_table, law.area_table
    centre_gradient, nodes, moving = work.centre_gradient, elements.shape[1], motion.moving
    simple = kinds.shape[0] == 1 and kinds[0] == POWER and exponents[0] == 1.0
    simple = simple and not (conservative or moving or with_energy)
    offset, offset_slope = patch_offset(law, bed, work, deepest, largest, with_jacobian)
    # Reading a handle costs more than an array, so nothing of it is left for the loop.
    active, kind_of, centroid_first = work.active, work.kind, bed.centroid_first
    peak = strain = 0.0
    for i in range(begin, end):
        e = active[i]
        lumped = kind_of[i] == LUMPED
        lone[0] = centroid_first + e
        pressed = top[e, 2] - offset
        if simple:
            peak = max(peak, coefficients[0, e] * pressed)
            strain = max(strain, pressed / thicknesses[0, e])
        else:
            deep, _ = spring_pressure(
                kinds, exponents, offsets, coefficients, thicknesses, e, pressed
            )
            if not moving:
                peak = max(peak, deep)
            ratio = spring_strain(kinds, exponents, offsets, coefficients, thicknesses, e, pressed)
            strain = max(strain, ratio)
        steepness, cut = 0.0, False
        if not lumped and nodes == 6:
            steepness = field_slope(metric, elements, e, depth, slopes)
            # Where the pressure begins with a power, the simple rule must keep off the edge.
            margin = 0.0 if exponent == 1.0 else _ROOT_MARGIN * steepness * sizes[e]
            for j in range(nodes):
                cut = cut or depth[elements[e, j]] <= offset + margin
        if simple and not lumped and not cut and (nodes == 6 or pressed > 0.0):
            bear_whole_linear(
                vectors, elements, e, depth, offset, coefficients[0, e], mass, lumps,
                with_jacobian, bears, stiffness, by_offset, sums,
            )  # fmt: skip
        else:
            shape, weights = (cut_shape, cut_weight) if cut else (whole_shape, whole_weight)
            interpolate_field(elements, e, depth, shape, field)
            if moving:
                for j in range(nodes):
                    rates[j] = 0.0
                    node = lone[0] if lumped else elements[e, j]
                    for k in range(6):
                        rates[j] += gradient[node, k] * motion.twist[k]
            bear_element(
                kinds, exponents, offsets, coefficients, thicknesses, lead, exponent, disc_table,
                area_table, motion, vectors, e, shape, weights, cut_radius, sizes[e], steepness,
                slopes, cut, lumped, depth[lone[0]], offset, conservative, with_jacobian,
                with_energy, field, rates, bears, stiffness, by_offset, sums,
            )  # fmt: skip
        if lumped:
            add_lumped(
                vectors, points, gradient, e, lone, bears, by_offset, offset_slope,
                centre_gradient, conservative, with_jacobian, side, sums, jacobian, force,
            )  # fmt: skip
        elif conservative:
            add_conservative(
                points, gradient, elements[e], bears, stiffness, with_jacobian, side, sums,
                jacobian, force,
            )  # fmt: skip
        else:
            add_customary(
                vectors, gradient, elements, e, bears, stiffness, by_offset, offset_slope,
                centre_gradient, with_jacobian, side, sums, jacobian,
            )  # fmt: skip
    sums[7] = max(sums[7], peak)
    sums[12], sums[13], sums[15] = largest, strain, offset
    if sums[8] < 0.0 and not conservative:
        # At the lightest touch the smoothing of the edge may take away more than there is.
        sums[:] = 0.0
        jacobian[:, :] = 0.0
        return
    if with_jacobian and conservative:
        add_curvature(rotation, femur, bed, begin, end, work, jacobian)


@kernel
def add_lumped(
    vectors, points, gradient, element, lone, bears, by_offset, offset_slope, centre_gradient,
    conservative, with_jacobian, side, sums, jacobian, force,
):  # fmt: skip
    """Add the loads of an element that is one spring, of the indentation of its centroid."""
    node = lone[0]
    total = slope = 0.0
    for row in range(6):
        side[row] = 0.0
    for j in range(vectors.shape[1]):
        total += bears[j]
        slope += by_offset[j]
        for k in range(6):
            if not conservative:
                sums[k] += bears[j] * vectors[element, j, k]
            side[k] += by_offset[j] * vectors[element, j, k]
        if not conservative:
            for k in range(4):
                sums[8 + k] += bears[j] * vectors[element, j, 6 + k]
    if conservative:
        sums[8] += total
        for k in range(3):
            sums[9 + k] += total * points[node, k]
        for k in range(6):
            sums[k] -= total * gradient[node, k]
            side[k] = -slope * gradient[node, k]
    if with_jacobian:
        if conservative:
            force[node] += total
        for row in range(6):
            for k in range(6):
                rate = gradient[node, k] - offset_slope * centre_gradient[k]
                jacobian[row, k] += side[row] * rate


@kernel
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


@kernel
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
