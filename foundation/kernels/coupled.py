"""Contact of springs that are coupled by the surface compliance of elastic layers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.compiling import fused_kernel, fused_part
from foundation.kernels.gradients import add_curvature
from foundation.kernels.lattice import (
    FIRST_EDGE,
    MOMENTS,
    NORMAL,
    ORIGIN,
    REACH,
    SECOND_EDGE,
    Lattice,
    add_field,
    find_patch,
    fit_lattice,
    lattice_metric,
    link_lattice,
    refine_lattice,
    sample_overlaps,
    widen_patch,
)
from foundation.kernels.patch import BELOW, extrapolate, measure_patch
from foundation.kernels.sums import AREA, CARRIED, DEPTH, ENERGY, OFFSET, PEAK, PLACE, STRAIN
from foundation.kernels.two_layers import (
    lattice_curvature,
    lattice_excess,
    lattice_own_part,
    subtract_flat,
)

#: Most nodes of a lattice; a lattice with more is made coarser by this factor.
ROOM = 1024
_COARSER = 1.4
#: Poisson's ratio above which a layer hardly changes its volume: under a wide patch the layer flows
#: aside, bulges beside the pressure, and needs the sum over the lattice to the next order.
NEARLY_INCOMPRESSIBLE = 0.46
#: How far apart nodes may be that the surface touches where it bulges beside a pressure, as part of
#: the largest overlap: first, and at most where a layer hardly changes its volume. A strip of an
#: incompressible layer touches up to 2 (no volume flows across the edge).
_BULGING, _FARTHEST = 0.1, 2.4
#: First width for such a layer, and least distance of contact from the last nodes, as `_BULGING`.
_WIDE, _ROUND_ABOUT = 0.6, 0.25
#: Edge of a cell over that of other layers, and largest edge over the thickness of such a layer:
#: the pressure rises from the edge of contact within a part of the thickness.
_FINER, _COARSEST = 0.7, 0.8
#: Edge of a cell over the thickness of other layers from which the finer lattice takes part in the
#: loads, and from which that lattice alone bears them: the patch is wide beside the layer.
_WIDE_FROM, _WIDE_TO = 0.35, 0.5
#: Part of the largest overlap above which a node counts as in contact at the start of the
#: complementarity problem (`foundation.layer_theory.complementarity`). In Hertz's contact the edge
#: is where half of the approach is left.
START = 0.4
#: A gap or force is wrong if it is negative by more than this part of the largest.
TOLERANCE = 1e-12
#: Exchanges of all wrong nodes at once without fewer wrong ones, before single nodes are exchanged;
#: and most exchanges.
PATIENCE, _MOST = 8, 500
#: Stiffness over the area that bears: power of the area, and reach of the cells of the bearing
#: nodes beyond the edge found [edges of a cell], for flat layers of `tests/oracles`.
_STIFFNESS_POWER, _BEYOND_EDGE = 0.8, 0.14


class Layers(NamedTuple):
    """Layers whose compliance the springs share.

    Parameters
    ----------
    tables : (L, P, 4) float64
        Cubic pieces of D, see `foundation.layer_theory.flat_layer` [1].
    per_step : float
        Pieces of a table per thickness.
    strengths, ratios : (L,) float64
        B [m²/N] and Poisson's ratio [1].
    thicknesses : (L, F) float64
        Thickness at each element of the bed [m].
    """

    tables: NDArray[np.float64]
    per_step: float
    strengths: NDArray[np.float64]
    ratios: NDArray[np.float64]
    thicknesses: NDArray[np.float64]


class Lattices(NamedTuple):
    """Lattices over which loads are averaged.

    Parameters
    ----------
    scale : float
        Edges of a lattice over the root of the central second moment of the overlap [1].
    places : (M, 2) float64
        Place of the nodes in the cell, for each lattice [edges of a cell].
    edge_offset : float
        Offset of the edge of contact [edges of a cell].
    """

    scale: float
    places: NDArray[np.float64]
    edge_offset: float


@fused_kernel
def evaluate_coupled(
    rotation, translation, femur, bed, work, compartment, reach, layers, lattices, conservative,
    with_jacobian, with_field, sums, jacobian, field,
):  # fmt: skip
    """Evaluate a compartment at one pose, see `foundation.elastic_foundation.coupled_springs`.

    ``layers`` and ``lattices`` have the values of `Layers` and `Lattices`. Writes ``sums`` (SUMS,)
    and ``jacobian`` (6, 6) as `foundation.kernels.loads.evaluate_contact`, and indentation and
    pressure at the middle of each element to ``field`` (2, F) [m, Pa]. Returns whether a solution
    was found.
    """
    sums[:] = 0.0
    jacobian[:, :] = 0.0
    moments, frame = np.empty(MOMENTS), np.empty((4, 3))
    layers, lattices = Layers(*layers), Lattices(*lattices)
    end, deepest, largest = find_patch(
        rotation, translation, femur, bed, work, compartment, reach, moments
    )
    if end > 0:
        whole = 0.0
        for layer in range(len(layers.thicknesses)):
            whole += layers.thicknesses[layer, deepest]
        sums[DEPTH], sums[STRAIN] = largest, largest / whole
    if end == 0 or not fit_lattice(moments, lattices.scale, frame):
        return True
    thickness, finer = finer_part(layers, deepest, frame)
    plain_sums, plain_jacobian, plain_field = sums.copy(), jacobian.copy(), field.copy()
    if finer < 1.0:
        farthest = bear_lattices(
            rotation, femur, bed, work, end, frame, layers, lattices, _BULGING, np.bool_(False),
            conservative, with_jacobian, with_field, sums, jacobian, field,
        )  # fmt: skip
        if finer == 0.0 or not np.isfinite(farthest):
            return np.isfinite(farthest)
        plain_sums[:], plain_jacobian[:, :], plain_field[:, :] = sums, jacobian, field
    refine_lattice(_FINER, _COARSEST * thickness, frame)
    bulging = _WIDE
    while True:
        end = widen_patch(
            rotation, translation, femur, bed, work, compartment, reach, frame[NORMAL], largest,
            bulging * largest,
        )  # fmt: skip
        farthest = bear_lattices(
            rotation, femur, bed, work, end, frame, layers, lattices, bulging, np.bool_(True),
            conservative, with_jacobian, with_field, sums, jacobian, field,
        )  # fmt: skip
        if not farthest > bulging - _ROUND_ABOUT or bulging >= _FARTHEST:
            break
        bulging *= 2.0
    if finer < 1.0:
        mix(finer, plain_sums, sums)
        for k in range(6):
            mix(finer, plain_jacobian[k], jacobian[k])
        for k in range(len(field)):
            mix(finer, plain_field[k], field[k])
    return np.isfinite(farthest)


@fused_part
def finer_part(layers, deepest, frame):
    """Return the thickness [m] that a finer lattice must resolve, and its part in the loads [1].

    Layers that hardly change their volume need the finer lattice alone. Other layers need it where
    the cells of a lattice in this ``frame`` are long beside their thickness, the mean over the
    layers by how much each gives to an even pressure; the part grows with the patch, so that loads
    are continuous.
    """
    thickness, soft = 1.0, False
    whole = mean = 0.0
    for layer in range(len(layers.thicknesses)):
        ratio, own = layers.ratios[layer], layers.thicknesses[layer, deepest]
        given = own * layers.strengths[layer] * (1.0 - 2.0 * ratio) / (1.0 - ratio) ** 2
        whole += given
        mean += given * own
        if ratio > NEARLY_INCOMPRESSIBLE:
            thickness, soft = min(thickness, own), True
    if soft:
        return thickness, 1.0
    mean /= whole
    first, _, second = lattice_metric(frame)
    cell = (first * second) ** 0.25 / mean
    part = min(max((cell - _WIDE_FROM) / (_WIDE_TO - _WIDE_FROM), 0.0), 1.0)
    return mean, part * part * (3.0 - 2.0 * part)


@fused_part
def mix(part, other, values):
    """Give the ``values`` (n,) a ``part`` in their mean with ``other`` values (n,)."""
    for i in range(len(values)):
        values[i] = part * values[i] + (1.0 - part) * other[i]


@fused_part
def bear_lattices(
    rotation, femur, bed, work, end, frame, layers, lattices, bulging, finer, conservative,
    with_jacobian, with_field, sums, jacobian, field,
):  # fmt: skip
    """Write the mean of the loads on the lattices, see `evaluate_coupled`.

    Of ``finer`` lattices, the sums are of the next order, and the edge is found by parabolas.
    Returns how far apart the surfaces were at the farthest node in contact, as part of the largest
    overlap; NaN if no solution was found.
    """
    places, edge_offset = lattices.places, lattices.edge_offset
    for k in range(OFFSET):
        if k != DEPTH and k != STRAIN:
            sums[k] = 0.0
    jacobian[:, :] = 0.0
    field[:, :] = 0.0
    origin, farthest = frame[ORIGIN].copy(), -np.inf
    least = -bulging * sums[DEPTH] if finer else 0.0
    for place in places:
        for k in range(3):
            frame[ORIGIN, k] = (
                origin[k] + place[0] * frame[FIRST_EDGE, k] + place[1] * frame[SECOND_EDGE, k]
            )
        lattice = new_lattice(len(layers.thicknesses))
        number = np.empty((2 * REACH + 1, 2 * REACH + 1), np.int64)
        count = laid_lattice(bed, work, end, frame, layers.thicknesses, bulging, number, lattice)
        squares = np.zeros(count)
        apart = bear_lattice(
            rotation, femur, bed, work, end, frame, layers, number, lattice, count, edge_offset,
            1.0 / len(places), bulging, finer, conservative, with_jacobian, squares, sums, jacobian,
        )  # fmt: skip
        if np.isnan(apart):
            return apart
        farthest = max(farthest, apart)
        if with_field:
            add_field(bed, work, end, frame, number, squares, 1.0 / len(places), least, field)
    for k in range(3):
        frame[ORIGIN, k] = origin[k]
    return farthest


@fused_part
def new_lattice(layers):
    """Return memory for the nodes of a lattice."""
    return Lattice(
        np.empty((ROOM, 2), np.int64), np.empty((ROOM, 6), np.int64), np.empty((ROOM, 6)),
        np.empty((ROOM, 3)), np.empty((ROOM, 3)), np.empty(ROOM), np.empty(ROOM),
        np.empty((layers, ROOM)),
    )  # fmt: skip


@fused_part
def laid_lattice(bed, work, end, frame, thickness_of, bulging, number, lattice):
    """Write the nodes of a lattice, made coarser if they are too many; return their number."""
    while True:
        number[:, :] = -1
        count = sample_overlaps(bed, work, end, frame, thickness_of, bulging, number, lattice)
        if count <= ROOM:
            return count
        for k in range(3):
            frame[FIRST_EDGE, k] *= _COARSER
            frame[SECOND_EDGE, k] *= _COARSER


@fused_part
def bear_lattice(
    rotation, femur, bed, work, end, frame, layers, number, lattice, count, edge_offset, part,
    bulging, finer, conservative, with_jacobian, squares, sums, jacobian,
):  # fmt: skip
    """Add a ``part`` of the loads on a lattice and of their Jacobian; write squared pressures.

    The forces act along the normals of the nodes, or if ``conservative`` along the gradients of the
    overlaps. Returns how far apart the surfaces were at the farthest node in contact, as part of
    the largest overlap; NaN if no solution was found.
    """
    points, overlaps, areas = lattice.points, lattice.overlaps, lattice.areas
    if count == 0 or not overlaps[:count].max() > 0.0:
        return -np.inf
    deepest, farthest = overlaps[:count].max(), -np.inf
    inside = np.flatnonzero(overlaps[:count] > -bulging * deepest)
    compliance = lattice_compliance(frame, layers, lattice, inside)
    if finer:
        add_curvatures(frame, layers.strengths.sum(), number, lattice.cells, inside, compliance)
    gradients = lattice_gradients(work, lattice, inside)
    forces, moved = solve_springs(compliance, overlaps[inside], gradients)
    if not np.isfinite(forces[0]):
        return np.nan
    wrenches = -gradients if conservative else normal_wrenches(points, lattice.directions, inside)
    held = np.zeros(count)
    for i in range(len(inside)):
        at, force = inside[i], part * forces[i]
        held[at] = force
        if force > 0.0:
            farthest = max(farthest, -overlaps[at] / deepest)
        squares[at] = (forces[i] / areas[at]) ** 2
        for k in range(6):
            sums[k] += force * wrenches[i, k]
        for k in range(3):
            sums[PLACE + k] += force * points[at, k]
        sums[CARRIED] += force
        sums[ENERGY] += 0.5 * force * overlaps[at]
    area, peak, margin = measured(frame, number, lattice, count, squares, finer, edge_offset)
    sums[AREA] += part * area
    sums[PEAK] += part * peak
    if with_jacobian:
        covered = 0.0
        for i in range(len(inside)):
            if forces[i] > 0.0:
                covered += areas[inside[i]]
        # Nodes enter one by one: K of the whole cells jumps, K of the patch found does not.
        share = part * ((area + _BEYOND_EDGE * margin) / covered) ** _STIFFNESS_POWER
        for j in range(6):
            for k in range(6):
                for i in range(len(inside)):
                    jacobian[j, k] += share * wrenches[i, j] * moved[i, k]
        if conservative:
            spread(work, lattice, held)
            add_curvature(rotation, femur, bed, np.int64(0), end, work, jacobian)
    return farthest


@fused_part
def lattice_compliance(frame, layers, lattice, inside):
    """Return the compliance (n, n) [m/N] between the nodes ``inside`` (n,) of a lattice."""
    g11, g12, g22 = lattice_metric(frame)
    flat, cell = lattice_own_part(g11, g12, g22), np.sqrt(g11 * g22 - g12 * g12)
    own, at = np.empty(len(inside)), np.empty((len(inside), 3))
    compliance = np.zeros((len(inside), len(inside)))
    for layer in range(len(layers.tables)):
        below = lattice.thickness[layer][inside]
        for i in range(len(inside)):
            # The cell of a tilted surface is that of the lattice, stretched.
            stretch = lattice.areas[inside[i]] / cell
            own[i] = flat / np.sqrt(stretch) + lattice_excess(
                stretch * g11, stretch * g12, stretch * g22, below[i], layers.ratios[layer]
            )
            for k in range(3):
                at[i, k] = lattice.points[inside[i], k]
        subtract_flat(
            layers.tables[layer], layers.per_step, -layers.strengths[layer], at, below, own,
            compliance,
        )  # fmt: skip
    return compliance


@fused_part
def add_curvatures(frame, factor, number, cells, inside, compliance):
    """Add what the sum over a lattice misses of the second order in the spacing.

    A wave of pressure exp(i k·x) moves the surface of a nearly incompressible layer by little, as
    k² h³, beside which what the sum over the half-space's part misses, as k² times the cube of the
    spacing, is much: it is taken from nodes and neighbours (n, n), of the sum ``factor`` of the
    strengths of the layers.
    """
    g11, g12, g22 = lattice_metric(frame)
    m11, m12, m22 = lattice_curvature(g11, g12, g22)
    across = abs(m12)
    weights = (factor * (m11 - across), factor * (m22 - across), factor * across)
    place = np.full(len(number) * len(number), -1)
    for i in range(len(inside)):
        place[(cells[inside[i], 0] + REACH) * len(number) + cells[inside[i], 1] + REACH] = i
    turn = 1 if m12 > 0.0 else -1
    for i in range(len(inside)):
        compliance[i, i] -= 2.0 * (weights[0] + weights[1] + weights[2])
        for k in range(3):
            a = cells[inside[i], 0] + REACH + (1 if k != 1 else 0)
            b = cells[inside[i], 1] + REACH + (0 if k == 0 else (1 if k == 1 else turn))
            if not (0 <= a < len(number) and 0 <= b < len(number)):
                continue
            j = place[a * len(number) + b]
            if j >= 0:
                compliance[i, j] += weights[k]
                compliance[j, i] += weights[k]


@fused_part
def normal_wrenches(points, directions, inside):
    """Return the wrench of a unit force along the normal at the nodes ``inside`` (n,), (n, 6)."""
    found = np.empty((len(inside), 6))
    for i in range(len(inside)):
        p, n = points[inside[i]], directions[inside[i]]
        for k in range(3):
            after, last = (k + 1) % 3, (k + 2) % 3
            found[i, k] = n[k]
            found[i, 3 + k] = p[after] * n[last] - p[last] * n[after]
    return found


@fused_part
def lattice_gradients(work, lattice, inside):
    """Return d(overlap)/d(femoral twist) of the nodes ``inside`` (n,) of a lattice, (n, 6)."""
    gradient, found = work.gradient, np.zeros((len(inside), 6))
    for i in range(len(inside)):
        at = inside[i]
        for j in range(6):
            node, s = lattice.nodes[at, j], lattice.shapes[at, j]
            for k in range(6):
                found[i, k] += s * gradient[node, k]
    return found


@fused_part
def solve_springs(compliance, overlaps, gradients):
    """Return forces (n,) [N] and the derivatives (n, 6) of the forces by the femoral twist.

    Solves the problem of `foundation.layer_theory.complementarity` by the same exchanges of nodes;
    the force is NaN if the exchanges do not end, since the compliance is not positive definite.
    """
    count = len(overlaps)
    forces, moved = np.zeros(count), np.zeros((count, 6))
    inside = overlaps > START * overlaps.max()
    fewest, patience = count + 1, PATIENCE
    for _ in range(_MOST):
        active = np.flatnonzero(inside)
        if len(active) == 0:
            break
        held, right = np.empty((len(active), len(active))), np.empty((len(active), 7))
        for i in range(len(active)):
            for j in range(len(active)):
                held[i, j] = compliance[active[i], active[j]]
            right[i, 0] = overlaps[active[i]]
            for k in range(6):
                right[i, 1 + k] = gradients[active[i], k]
        solved = np.linalg.solve(held, right)
        strongest = np.abs(solved[:, 0]).max()
        wrong, last = 0, -1
        turned = np.zeros(count, np.bool_)
        for i in range(len(active)):
            if solved[i, 0] < -TOLERANCE * strongest:
                turned[active[i]] = True
        for j in range(count):
            if not inside[j]:
                gap = -overlaps[j]
                for i in range(len(active)):
                    gap += solved[i, 0] * compliance[active[i], j]
                turned[j] = gap < -TOLERANCE * overlaps.max()
            if turned[j]:
                wrong, last = wrong + 1, j
        if wrong == 0:
            for i in range(len(active)):
                forces[active[i]] = solved[i, 0]
                for k in range(6):
                    moved[active[i], k] = solved[i, 1 + k]
            return forces, moved
        patience = PATIENCE if wrong < fewest else patience - 1
        fewest = min(fewest, wrong)
        if patience >= 0:
            for j in range(count):
                inside[j] ^= turned[j]
        else:
            inside[last] ^= True
    forces[0] = np.nan
    return forces, moved


@fused_part
def measured(frame, number, lattice, count, squares, bent, edge_offset):
    """Return area [m²], peak pressure [Pa] and edge times the cell's edge [m²] of a patch.

    The squared pressures become those of the nodes next to the patch too, which are negative.
    """
    neighbours = np.empty((count, 2, 2), np.int64)
    quads, quads_at = np.empty((count, 4), np.int64), np.empty((count, 4), np.int64)
    link_lattice(number, lattice.cells, count, neighbours, quads, quads_at)
    active = np.flatnonzero(squares > 0.0)
    level, weight, ring = np.zeros(count), np.zeros(count), np.empty(4 * count, np.int64)
    area, edge, peak, _ = measure_patch(
        neighbours, quads, quads_at, lattice.points, active, squares[active], 0.0, bent, level,
        weight, ring,
    )  # fmt: skip
    extrapolate(neighbours, active, -BELOW * squares.max(), bent, squares, weight, ring)
    first, _, second = lattice_metric(frame)
    margin = (first * second) ** 0.25 * edge
    return area - edge_offset * margin, peak, margin


@fused_part
def spread(work, lattice, held):
    """Spread the forces at the nodes of a lattice to the nodes of the bed."""
    force = work.force
    for at in range(len(held)):
        if held[at] != 0.0:
            for j in range(6):
                force[lattice.nodes[at, j]] += lattice.shapes[at, j] * held[at]
