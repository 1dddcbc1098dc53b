"""Overlap of the surfaces on a lattice fitted to a contact patch.

The lattice follows the moments of the overlap, so that a patch of any size has as many nodes; the
indentation of a node is that of the bed's quadratic fields at its place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.compiling import fused_part
from foundation.kernels.contact import LUMPED, find_contact, press_nodes
from foundation.kernels.fields import quadratic_shapes
from foundation.kernels.gradients import find_gradients

#: Places in the moments of an overlap: volume V [m³], its first moments (3) [m⁴], the integral of
#: the normal times the overlap (3) [m³], second moments xx, yy, zz and xy, yz, zx [m⁵].
VOLUME, FIRST_MOMENT, MEAN_NORMAL, SECOND_MOMENT, MIXED_MOMENT, MOMENTS = 0, 1, 4, 7, 10, 13
#: Rows of the frame (4, 3) of a lattice: origin [m], edges of the cell [m] and unit normal.
ORIGIN, FIRST_EDGE, SECOND_EDGE, NORMAL = range(4)

#: Overlap of a node that is out of contact [m].
_FAR = -1.0
#: Indentation of a node over the largest one of the elements at most.
_MOST = 1.5
#: Lines of the lattice on each side of its origin.
REACH = 64
#: Largest ratio of the edges of a cell: of longer cells, the compliance is not positive definite.
_LONGEST = 2.0
#: How far outside a triangle [of its extent] a node counts as inside, so that none is lost.
_TOLERANCE = 1e-9
#: Least cosine of the angle between a surface and the plane of the lattice.
_STEEPEST = 0.2


class Lattice(NamedTuple):
    """Nodes of a lattice.

    Parameters
    ----------
    cells : (P, 2) int64
        Place in the lattice.
    nodes, shapes : (P, 6) int64, (P, 6) float64
        Nodes of the bed and weights that the overlap is made of [1].
    points, directions : (P, 3) float64
        Position [m] and normal [1].
    overlaps, areas : (P,) float64
        Overlap [m] and area of the surface [m²].
    thickness : (L, P) float64
        Thickness of the layers [m].
    """

    cells: NDArray[np.int64]
    nodes: NDArray[np.int64]
    shapes: NDArray[np.float64]
    points: NDArray[np.float64]
    directions: NDArray[np.float64]
    overlaps: NDArray[np.float64]
    areas: NDArray[np.float64]
    thickness: NDArray[np.float64]


@fused_part
def find_patch(rotation, translation, femur, bed, work, compartment, reach, moments):
    """Find the elements of a compartment in contact and their gradients.

    Writes the moments of the overlap to ``moments`` (`MOMENTS`,). Returns the number of active
    elements, the deepest element and its indentation [m].
    """
    work.generation[0] += 1
    groups, active = bed.compartments, work.active
    begin = np.int64(0)
    end, deepest, largest = find_contact(
        rotation, translation, femur, bed, work, groups[compartment], groups[compartment + 1],
        reach, begin,
    )  # fmt: skip
    find_gradients(rotation, femur, bed, work, begin, end)
    add_moments(
        bed.elements, bed.points, bed.area_vectors, bed.whole_shape, bed.whole_weight, work.depth,
        active, work.kind, end, bed.centroid_first, moments,
    )  # fmt: skip
    return end, active[max(deepest, 0)], largest


@fused_part
def widen_patch(
    rotation, translation, femur, bed, work, compartment, reach, normal, largest, margin
):  # fmt: skip
    """Find the elements of a compartment up to a ``margin`` [m] apart, and their gradients.

    The femur is brought nearer by the margin against the mean ``normal`` (3,) of the patch; the
    indentations are those of the true place. Beside the rim of the femur, the line of a node may
    miss the surface there, or meet another sheet far behind: an indentation above that of the
    nearer femur, or far above the ``largest`` of the patch [m], is none, and the element is one
    spring at its centroid. Returns the number of active elements.
    """
    work.generation[0] += 1
    nearer = np.empty(3)
    for k in range(3):
        nearer[k] = translation[k] - margin * normal[k]
    groups, begin = bed.compartments, np.int64(0)
    end, _, _ = find_contact(
        rotation, nearer, femur, bed, work, groups[compartment], groups[compartment + 1], reach,
        begin,
    )  # fmt: skip
    work.generation[0] += 1
    listed = list_active(bed.elements, bed.centroid_first, end, work)
    indent_truly(rotation, translation, femur, bed, work, reach, listed, _MOST * largest)
    lumped = lump_apart(bed.elements, bed.centroid_first, end, work)
    indent_truly(rotation, translation, femur, bed, work, reach, lumped, _MOST * largest)
    find_gradients(rotation, femur, bed, work, begin, end)
    return end


@fused_part
def indent_truly(rotation, translation, femur, bed, work, reach, listed, most):
    """Write the indentations of the listed nodes, `_FAR` where they are not plausible.

    Those are above the indentation before, of a nearer femur, or above ``most`` [m].
    """
    nodes, bounds = work.todo[:listed].copy(), np.empty(listed)
    for i in range(listed):
        before = work.depth[nodes[i]]
        bounds[i] = before if before < most else most
    press_nodes(rotation, translation, femur, bed, reach, listed, work)
    for i in range(listed):
        if not work.depth[nodes[i]] <= bounds[i]:
            work.depth[nodes[i]] = _FAR


@fused_part
def lump_apart(elements, centroid_first, end, work):
    """Make elements with a node out of contact springs at their centroids, and list these."""
    active, kinds, depths = work.active, work.kind, work.depth
    listed = np.int64(0)
    for i in range(end):
        e, apart = active[i], False
        for k in range(elements.shape[1]):
            apart |= depths[elements[e, k]] == _FAR
        if apart and kinds[i] != LUMPED:
            kinds[i] = LUMPED
            work.todo[listed], work.starts[listed] = centroid_first + e, work.met[elements[e, 0]]
            depths[centroid_first + e] = np.nan
            listed += 1
    return listed


@fused_part
def list_active(elements, centroid_first, end, work):
    """List the nodes of the active elements in ``todo``, each once; return their number."""
    stamp, generation, met = work.stamp, work.generation[0], work.met
    active, kinds, todo, starts = work.active, work.kind, work.todo, work.starts
    listed = np.int64(0)
    for i in range(end):
        e = active[i]
        lumped = kinds[i] == LUMPED
        for k in range(1 if lumped else elements.shape[1]):
            node = centroid_first + e if lumped else np.int64(elements[e, k])
            if stamp[node] != generation:
                stamp[node] = generation
                todo[listed], starts[listed] = node, met[node]
                listed += 1
    return listed


@fused_part
def add_moments(
    elements, points, vectors, shape, weight, depths, active, kinds, end, centroid_first, moments
):  # fmt: skip
    """Write the moments of the overlap of the active elements, see `find_patch`."""
    moments[:] = 0.0
    for i in range(end):
        e = active[i]
        lumped = kinds[i] == LUMPED
        for q in range(shape.shape[1]):
            depth = x = y = z = ax = ay = az = 0.0
            for j in range(6):
                node, s = elements[e, j], shape[j, q]
                depth += s * depths[node]
                x += s * points[node, 0]
                y += s * points[node, 1]
                z += s * points[node, 2]
                ax += s * vectors[e, j, 0]
                ay += s * vectors[e, j, 1]
                az += s * vectors[e, j, 2]
            if lumped:
                depth = depths[centroid_first + e]
            if not depth > 0.0:
                continue
            depth *= weight[q]
            v = depth * np.sqrt(ax * ax + ay * ay + az * az)
            moments[VOLUME] += v
            moments[FIRST_MOMENT] += v * x
            moments[FIRST_MOMENT + 1] += v * y
            moments[FIRST_MOMENT + 2] += v * z
            moments[MEAN_NORMAL] += depth * ax
            moments[MEAN_NORMAL + 1] += depth * ay
            moments[MEAN_NORMAL + 2] += depth * az
            moments[SECOND_MOMENT] += v * x * x
            moments[SECOND_MOMENT + 1] += v * y * y
            moments[SECOND_MOMENT + 2] += v * z * z
            moments[MIXED_MOMENT] += v * x * y
            moments[MIXED_MOMENT + 1] += v * y * z
            moments[MIXED_MOMENT + 2] += v * z * x


@fused_part
def normalise(a):
    """Divide a vector by its length; return the length."""
    length = np.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
    for k in range(3):
        a[k] /= length
    return length


@fused_part
def quadratic_form(moments, a, b):
    """Return a . M b of the central second moments of the overlap over its volume [m²]."""
    v = moments[VOLUME]
    total = 0.0
    for k in range(3):
        total += a[k] * b[k] * moments[SECOND_MOMENT + k]
    total += (a[0] * b[1] + a[1] * b[0]) * moments[MIXED_MOMENT]
    total += (a[1] * b[2] + a[2] * b[1]) * moments[MIXED_MOMENT + 1]
    total += (a[2] * b[0] + a[0] * b[2]) * moments[MIXED_MOMENT + 2]
    first = second = 0.0
    for k in range(3):
        first += a[k] * moments[FIRST_MOMENT + k]
        second += b[k] * moments[FIRST_MOMENT + k]
    return total / v - first * second / (v * v)


@fused_part
def fit_lattice(moments, scale, frame):
    """Write origin, edges and normal of a lattice to ``frame`` (4, 3), see `ORIGIN`.

    The edges are ``scale`` times the columns of the Cholesky factor of the central second moments
    of the overlap in its mean tangential plane; of a long patch, the long edge is shortened to
    twice the short one. Returns whether there is an overlap with an extent.
    """
    if not moments[VOLUME] > 0.0:
        return False
    origin, first = frame[ORIGIN], frame[FIRST_EDGE]
    second, normal = frame[SECOND_EDGE], frame[NORMAL]
    for k in range(3):
        origin[k] = moments[FIRST_MOMENT + k] / moments[VOLUME]
        normal[k] = moments[MEAN_NORMAL + k]
    normalise(normal)
    # Tangents: across (the part of z), and forward.
    for k in range(3):
        first[k] = (1.0 if k == 2 else 0.0) - normal[2] * normal[k]
    normalise(first)
    second[0] = normal[1] * first[2] - normal[2] * first[1]
    second[1] = normal[2] * first[0] - normal[0] * first[2]
    second[2] = normal[0] * first[1] - normal[1] * first[0]
    xx, xy = quadratic_form(moments, first, first), quadratic_form(moments, first, second)
    yy = quadratic_form(moments, second, second)
    if not (xx > 0.0 and xx * yy > 1e-6 * xy * xy + xy * xy):
        return False
    a = scale * np.sqrt(xx)
    b = scale * xy / np.sqrt(xx)
    c = scale * np.sqrt(yy - xy * xy / xx)
    long = np.sqrt(a * a + b * b)
    first_part, second_part = min(1.0, _LONGEST * c / long), min(1.0, _LONGEST * long / c)
    for k in range(3):
        along, aside = first[k], second[k]
        first[k] = first_part * (a * along + b * aside)
        second[k] = second_part * c * aside
    return True


@fused_part
def lattice_metric(frame):
    """Return the metric (g11, g12, g22) of the edges of a lattice [m²]."""
    g11 = g12 = g22 = 0.0
    for k in range(3):
        g11 += frame[FIRST_EDGE, k] * frame[FIRST_EDGE, k]
        g12 += frame[FIRST_EDGE, k] * frame[SECOND_EDGE, k]
        g22 += frame[SECOND_EDGE, k] * frame[SECOND_EDGE, k]
    return g11, g12, g22


@fused_part
def refine_lattice(part, longest, frame):
    """Shorten both edges of a lattice to a ``part``, and to at most ``longest`` [m]."""
    for edge in (frame[FIRST_EDGE], frame[SECOND_EDGE]):
        length = np.sqrt(edge[0] * edge[0] + edge[1] * edge[1] + edge[2] * edge[2])
        for k in range(3):
            edge[k] *= min(part, longest / length)


@fused_part
def sample_overlaps(bed, work, end, frame, thickness_of, bulging, number, lattice):
    """Write the nodes of a lattice within the active elements and around; return their number.

    ``lattice`` is a `Lattice`; the thickness of the layers comes from ``thickness_of`` (L, F).
    Around the nodes that are apart by less than ``bulging`` times the
    largest overlap stand nodes that are out of contact.
    ``number`` (2 R + 1, 2 R + 1) is -1 before and the number of each node of the lattice after.
    P + 1 nodes mean that there is no room for all.
    """
    cells, thickness = lattice.cells, lattice.thickness
    elements, positions, active = bed.elements, bed.points, work.active
    normals, depths, kinds = bed.normals, work.depth, work.kind
    origin, first = frame[ORIGIN], frame[FIRST_EDGE]
    second, normal = frame[SECOND_EDGE], frame[NORMAL]
    g11, g12, g22 = lattice_metric(frame)
    det = g11 * g22 - g12 * g12
    cell = np.sqrt(det)
    u, v = np.empty(3), np.empty(3)
    shape = np.empty(6)
    count, room = np.int64(0), len(lattice.overlaps)
    for i in range(end):
        e = active[i]
        for k in range(3):
            node = elements[e, k]
            p = q = 0.0
            for d in range(3):
                away = positions[node, d] - origin[d]
                p += away * first[d]
                q += away * second[d]
            u[k], v[k] = (g22 * p - g12 * q) / det, (g11 * q - g12 * p) / det
        twice = (u[1] - u[0]) * (v[2] - v[0]) - (u[2] - u[0]) * (v[1] - v[0])
        if twice == 0.0:
            continue
        centre = bed.centroid_first + e if kinds[i] == LUMPED else np.int64(-1)
        low, high = int(np.ceil(u.min() - _TOLERANCE)), int(np.floor(u.max() + _TOLERANCE))
        left, right = int(np.ceil(v.min() - _TOLERANCE)), int(np.floor(v.max() + _TOLERANCE))
        for a in range(max(low, -REACH), min(high, REACH) + 1):
            for b in range(max(left, -REACH), min(right, REACH) + 1):
                s = ((a - u[0]) * (v[2] - v[0]) - (u[2] - u[0]) * (b - v[0])) / twice
                t = ((u[1] - u[0]) * (b - v[0]) - (a - u[0]) * (v[1] - v[0])) / twice
                if min(s, t, 1.0 - s - t) < -_TOLERANCE or number[a + REACH, b + REACH] >= 0:
                    continue
                if count == room:
                    return count + 1
                number[a + REACH, b + REACH] = count
                cells[count, 0], cells[count, 1] = a, b
                quadratic_shapes(s, t, shape)
                sample(
                    elements, positions, normals, depths, e, centre, shape, normal, cell, count,
                    lattice,
                )  # fmt: skip
                for layer in range(len(thickness)):
                    thickness[layer, count] = thickness_of[layer, e]
                count += 1
    return add_ring(first, second, number, lattice, bulging, count)


@fused_part
def add_ring(first, second, number, lattice, bulging, count):
    """Add nodes out of contact around the nodes with overlap; return the number of all nodes.

    The edge of contact is found between nodes inside and outside.
    """
    cells, points, overlaps = lattice.cells, lattice.points, lattice.overlaps
    room = len(overlaps)
    lowest = -bulging * max(overlaps[:count].max(), 0.0) if count > 0 else 0.0
    for i in range(count):
        if overlaps[i] <= lowest:
            continue
        for a in range(-1, 2):
            for b in range(-1, 2):
                x, y = cells[i, 0] + a + REACH, cells[i, 1] + b + REACH
                if not (0 <= x < len(number) and 0 <= y < len(number)) or number[x, y] >= 0:
                    continue
                if count == room:
                    return count + 1
                number[x, y] = count
                cells[count, 0], cells[count, 1] = cells[i, 0] + a, cells[i, 1] + b
                for d in range(3):
                    points[count, d] = points[i, d] + a * first[d] + b * second[d]
                overlaps[count] = _FAR
                count += 1
    return count


@fused_part
def sample(
    elements, positions, normals, depths, e, centre, shape, normal, cell, at, lattice
):  # fmt: skip
    """Write overlap, position, normal and area of a node of a lattice within an active element.

    ``centre`` is the node of the centroid of an element of one spring, else -1. The normal is
    that of the nodes of the bed, which neighbouring elements share.
    """
    points, directions = lattice.points, lattice.directions
    depth = ax = ay = az = 0.0
    for d in range(3):
        points[at, d] = 0.0
    for j in range(6):
        node, s = np.int64(elements[e, j]), shape[j]
        for d in range(3):
            points[at, d] += s * positions[node, d]
        ax += s * normals[node, 0]
        ay += s * normals[node, 1]
        az += s * normals[node, 2]
        if centre >= 0:
            node = centre
        depth += s * depths[node]
        lattice.nodes[at, j] = node
        lattice.shapes[at, j] = s
    lattice.overlaps[at] = depth
    length = np.sqrt(ax * ax + ay * ay + az * az)
    directions[at, 0], directions[at, 1], directions[at, 2] = ax / length, ay / length, az / length
    along = ax * normal[0] + ay * normal[1] + az * normal[2]
    lattice.areas[at] = cell / max(along / length, _STEEPEST)


@fused_part
def link_lattice(number, cells, count, neighbours, quads, quads_at):
    """Write neighbours (P, 2, 2), quadrilaterals (Q, 4) and those around each node (P, 4).

    As of `foundation.kernels.patch.measure_patch`; returns the number of quadrilaterals.
    """
    found = np.int64(0)
    for i in range(count):
        for k in range(4):
            quads_at[i, k] = -1
    for i in range(count):
        a, b = cells[i, 0] + REACH, cells[i, 1] + REACH
        for axis in range(2):
            for side in range(2):
                step = 1 - 2 * side
                x = a + step if axis == 0 else a
                y = b + step if axis == 1 else b
                inside = 0 <= x < len(number) and 0 <= y < len(number)
                neighbours[i, axis, side] = number[x, y] if inside else -1
        if a + 1 == len(number) or b + 1 == len(number):
            continue
        second, third, fourth = number[a + 1, b], number[a + 1, b + 1], number[a, b + 1]
        if min(second, third, fourth) < 0:
            continue
        quads[found, 0], quads[found, 1], quads[found, 2], quads[found, 3] = (
            i, second, third, fourth,
        )  # fmt: skip
        for k in range(4):
            quads_at[quads[found, k], k] = found
        found += 1
    return found


@fused_part
def add_field(bed, work, end, frame, number, squares, part, least, field):
    """Add a ``part`` of indentation and pressure at the middle of the active elements to (2, F).

    Elements with an overlap up to ``least`` [m], at most 0, are out of contact.
    ``squares`` (P,) are the squared pressures of the nodes of the lattice, which are interpolated
    by cubic convolution (Keys 1981, IEEE Trans Acoust Speech Signal Process 29:1153-1160): the
    square of the pressure of a smooth contact is smooth up to its edge.
    """
    origin, first, second = frame[ORIGIN], frame[FIRST_EDGE], frame[SECOND_EDGE]
    g11, g12, g22 = lattice_metric(frame)
    det = g11 * g22 - g12 * g12
    for i in range(end):
        e = work.active[i]
        centre = bed.centroid_first + e
        if work.kind[i] == LUMPED:
            depth = work.depth[centre]
        else:
            quadratic_shapes(1.0 / 3.0, 1.0 / 3.0, work.shape)
            depth = 0.0
            for j in range(6):
                depth += work.shape[j] * work.depth[bed.elements[e, j]]
        if depth <= least:
            continue
        field[0, e] += part * max(depth, 0.0)
        p = q = 0.0
        for d in range(3):
            away = bed.points[centre, d] - origin[d]
            p += away * first[d]
            q += away * second[d]
        u, v = (g22 * p - g12 * q) / det, (g11 * q - g12 * p) / det
        field[1, e] += part * np.sqrt(max(convolved(number, squares, u, v), 0.0))


@fused_part
def convolved(number, squares, u, v):
    """Return values of the nodes of a lattice, interpolated by cubic convolution."""
    a, b = int(np.floor(u)), int(np.floor(v))
    total = 0.0
    for i in range(-1, 3):
        for j in range(-1, 3):
            x, y = a + i + REACH, b + j + REACH
            if not (0 <= x < len(number) and 0 <= y < len(number)) or number[x, y] < 0:
                continue
            total += squares[number[x, y]] * keys(u - a - i) * keys(v - b - j)
    return total


@fused_part
def keys(distance):
    """Return the cubic convolution kernel at a distance in spacings."""
    t = abs(distance)
    if t < 1.0:
        return (1.5 * t - 2.5) * t * t + 1.0
    if t < 2.0:
        return ((-0.5 * t + 2.5) * t - 4.0) * t + 2.0
    return 0.0
