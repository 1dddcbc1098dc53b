"""Loads, their Jacobian and the stored energy of the elements in contact."""

from __future__ import annotations

import numpy as np

from foundation.base.compiling import fused_kernel, fused_part
from foundation.kernels.blocks import (
    BEARS,
    BORNE,
    BY_OFFSET,
    add_force,
    add_stiffness,
    add_wrenches,
    bear_block,
    clear_sums,
    fill_arms,
    fill_block,
    is_linear,
    take_sums,
)
from foundation.kernels.contact import LUMPED, find_contact
from foundation.kernels.fields import (
    LARGEST_SLOPE,
    field_slope,
    highest_of_field,
    quadratic_shapes,
)
from foundation.kernels.gradients import add_curvature, find_gradients
from foundation.kernels.layers import series_pressure, spring_pressure, spring_strain
from foundation.kernels.search import LANES
from foundation.kernels.sums import AREA, CARRIED, DEPTH, OFFSET, PEAK, PLACE, STRAIN

#: An element of a law with exponent m != 1 bears "all over" only where its nodes are pressed by
#: this many times the rise of the indentation over it.
_ROOT_MARGIN = 3.0


@fused_part
def patch_offset(law, bed, work, deepest, largest, with_jacobian):
    """Return the offset d0/f of a contact patch and its derivative by d0.

    Writes the gradient of d0 to ``centre_gradient``: since the field is stationary at its
    maximum, the gradient of the field at that point is the gradient of the maximum.
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
        for k in range(6):
            work.centre_gradient[k] = work.gradient[bed.centroid_first + element, k]
        return offset, slope
    work.shape[0] = 1.0
    if bed.elements.shape[1] == 6:
        _, u, v = highest_of_field(bed.elements, element, work.depth)
        quadratic_shapes(u, v, work.shape)
    for j in range(bed.elements.shape[1]):
        for k in range(6):
            work.centre_gradient[k] += work.shape[j] * work.gradient[bed.elements[element, j], k]
    return offset, slope


@fused_part
def take_column(rows, i, nodes, bears, by_offset):
    """Copy the loads of the nodes of a block's element, and the derivatives by the offset."""
    for j in range(nodes):
        bears[j] = rows[(BEARS + j) * LANES + i]
        by_offset[j] = rows[(BY_OFFSET + j) * LANES + i]


@fused_part
def add_conservative(points, gradient, nodes, bears, with_jacobian, sums, force):
    """Add an element's loads as the gradient of its energy: -f dd/dx of each of its ``nodes``."""
    for j in range(nodes.shape[0]):
        node = nodes[j]
        for k in range(6):
            sums[k] -= bears[j] * gradient[node, k]
        sums[CARRIED] += bears[j]
        for k in range(3):
            sums[PLACE + k] += bears[j] * points[node, k]
        if with_jacobian:
            force[node] += bears[j]


@fused_part
def add_block(
    bed, chosen, begin, count, offset_slope, conservative, with_jacobian, work, sums, jacobian
):  # fmt: skip
    """Add the loads of a block's elements, at positions ``chosen[begin:begin + count]``.

    The part of the Jacobian due to the fields of the nodes stays in the block.
    """
    rows, block_of, elements, vectors = work.block, work.block_of, bed.elements, bed.area_vectors
    bears, by_offset = work.bears, work.by_offset
    gradient, force, side = work.gradient, work.force, work.side
    points, kind_of, centre_gradient = bed.points, work.kind, work.centre_gradient
    for i in range(count):
        sums[AREA] += rows[BORNE * LANES + i]
    if not conservative:
        add_wrenches(rows)
    if not (conservative or with_jacobian):
        return
    for i in range(count):
        e = block_of[i]
        if kind_of[chosen[begin + i]] == LUMPED:
            take_column(rows, i, elements.shape[1], bears, by_offset)
            add_lumped(
                vectors, elements, points, gradient, e, bed.centroid_first + e, bears, by_offset,
                offset_slope, centre_gradient, conservative, with_jacobian, side, sums, jacobian,
                force,
            )  # fmt: skip
        elif conservative:
            take_column(rows, i, elements.shape[1], bears, by_offset)
            add_conservative(points, gradient, elements[e], bears, with_jacobian, sums, force)
    if with_jacobian:
        fill_arms(bed, work, chosen, begin, count, conservative)
        add_stiffness(rows, elements.shape[1], offset_slope, centre_gradient)


@fused_part
def add_extremes(bed, law, begin, end, offset, moving, work, sums):
    """Write peak pressure and largest strain of the active elements ``begin`` to ``end``."""
    elements, depth = bed.elements, work.depth
    active, kind_of, highest = work.active, work.kind, work.highest
    kinds, exponents, offsets = law.kinds, law.exponents, law.offsets
    coefficients, thicknesses, linear = law.coefficients, law.thicknesses, is_linear(law)
    # On a bed of one stiffness, only elements that may be deeper than all before matter.
    peak = strain = 0.0
    for i in range(begin, end):
        e = active[i]
        pressed = highest[i] - offset
        if linear and (
            coefficients[0, e] * pressed <= peak and pressed <= strain * thicknesses[0, e]
        ):
            continue
        if elements.shape[1] == 6 and kind_of[i] != LUMPED:
            pressed = highest_of_field(elements, e, depth)[0] - offset
        if linear:
            peak = max(peak, coefficients[0, e] * pressed)
            strain = max(strain, pressed / thicknesses[0, e])
            continue
        pressure, _ = spring_pressure(
            kinds, exponents, offsets, coefficients, thicknesses, e, pressed
        )
        peak = max(peak, pressure)
        ratio = spring_strain(kinds, exponents, offsets, coefficients, thicknesses, e, pressed)
        strain = max(strain, ratio)
    # Damping changes the pressure at each point.
    sums[PEAK] = 0.0 if moving else peak
    sums[STRAIN] = strain


@fused_part
def choose_rules(bed, law, begin, end, offset, work):
    """List the active elements by rule: elements wholly in contact first, cut elements last.

    Writes ``chosen``; returns the number of elements wholly in contact and the position of the
    first cut element. An element changes its rule where none of its points is smoothed, so that
    both rules integrate a linear pressure to the same value.
    """
    elements, sizes, metric = bed.elements, bed.sizes, bed.metric
    depth, slopes, active, kind_of = work.depth, work.slopes, work.active, work.kind
    chosen, lowest, exponent = work.chosen, work.lowest, law.exponent
    # What the simple rule must keep off the edge by, as a part of the rise over the element.
    clear = bed.cut_radius.max() if exponent == 1.0 else _ROOT_MARGIN
    whole, first_cut = 0, chosen.shape[0]
    for i in range(begin, end):
        cut = False
        if elements.shape[1] == 6 and kind_of[i] != LUMPED:
            e = active[i]
            clearance = lowest[i] - offset
            cut = clearance <= 0.0
            if not cut and clearance < clear * LARGEST_SLOPE * sizes[e]:
                slope = field_slope(metric, elements, e, depth, slopes)
                cut = clearance <= clear * slope * sizes[e]
        if cut:
            first_cut -= 1
            chosen[first_cut] = i
        else:
            chosen[whole] = i
            whole += 1
    return whole, first_cut


@fused_part
def integrate_contact(
    rotation, femur, bed, law, begin, end, deepest, largest, motion, conservative, with_jacobian,
    with_energy, work, sums, jacobian,
):  # fmt: skip
    """Sum the loads of the active elements ``begin`` to ``end``, a contact patch.

    Writes ``sums`` (SUMS,): wrench on the femur (6) [N, N m], area [m²], peak pressure [Pa], sum
    of pA [N], sum of pA times position (3) [N m], largest indentation [m], largest strain, stored
    energy [J] (if asked for), offset of the patch [m]; ``jacobian`` (6, 6): d(wrench)/d(femoral
    twist).
    """
    if deepest < 0:
        return
    offset, offset_slope = patch_offset(law, bed, work, deepest, largest, with_jacobian)
    add_extremes(bed, law, begin, end, offset, motion.moving, work, sums)
    chosen = work.chosen
    whole, first_cut = choose_rules(bed, law, begin, end, offset, work)
    clear_sums(work.block)
    for cut in (False, True):
        start, stop = (first_cut, chosen.shape[0]) if cut else (0, whole)
        for first in range(start, stop, LANES):
            count = min(LANES, stop - first)
            fill_block(bed, law, motion, work, chosen, first, count, cut)
            bear_block(
                bed, law, motion, count, cut, offset, conservative, with_jacobian, with_energy,
                work, sums,
            )  # fmt: skip
            add_block(
                bed, chosen, first, count, offset_slope, conservative, with_jacobian, work, sums,
                jacobian,
            )  # fmt: skip
    take_sums(work.block, with_jacobian, sums, jacobian)
    sums[DEPTH], sums[OFFSET] = largest, offset
    if sums[CARRIED] < 0.0 and not conservative:
        # At the lightest touch the smoothing of the edge may take away more than there is.
        sums[:] = 0.0
        jacobian[:, :] = 0.0
        return
    if with_jacobian and conservative:
        add_curvature(rotation, femur, bed, begin, end, work, jacobian)


@fused_part
def add_lumped(
    vectors, elements, points, gradient, element, node, bears, by_offset, offset_slope,
    centre_gradient, conservative, with_jacobian, side, sums, jacobian, force,
):  # fmt: skip
    """Add the Jacobian, and in the conservative form the loads, of an element of one spring.

    The indentation is that of ``node``, the centroid.
    """
    total = slope = 0.0
    for row in range(6):
        side[row] = 0.0
    for j in range(vectors.shape[1]):
        total += bears[j]
        slope += by_offset[j]
        own = elements[element, j]
        x, y, z = points[own, 0], points[own, 1], points[own, 2]
        fx = by_offset[j] * vectors[element, j, 0]
        fy = by_offset[j] * vectors[element, j, 1]
        fz = by_offset[j] * vectors[element, j, 2]
        add_force(side, x, y, z, fx, fy, fz)
    if conservative:
        sums[CARRIED] += total
        for k in range(3):
            sums[PLACE + k] += total * points[node, k]
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


@fused_kernel
def evaluate_contact(
    rotation, translation, femur, bed, law, motion, chosen, reach, conservative, with_jacobian,
    with_energy, work, sums, jacobian,
):  # fmt: skip
    """Evaluate the compartments selected by ``chosen`` (C,) bool at one pose.

    Writes ``sums`` (C, SUMS) and ``jacobian`` (C, 6, 6), see `integrate_contact`. Returns the
    number of active elements, listed in the scratch memory.
    """
    work.generation[0] += 1
    end = np.int64(0)  # no literal, see `foundation.base.compiling`
    for c in range(chosen.shape[0]):
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


@fused_kernel
def middle_state(bed, law, work, active, ends, offsets, depth, pressure):
    """Write indentation and pressure (F,) at the middle of the active elements.

    ``ends`` (C,) are the numbers of elements up to the end of each compartment, ``offsets`` (C,)
    those of the patches.
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
        compartment = 0
        while element >= ends[compartment]:
            compartment += 1
        offset = offsets[compartment]
        depth[element] = max(field, 0.0)
        pressure[element], _ = spring_pressure(
            law.kinds, law.exponents, law.offsets, law.coefficients, law.thicknesses, element,
            field - offset,
        )  # fmt: skip
