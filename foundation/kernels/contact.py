"""Elements of the bed in contact, and the indentation of their nodes."""

from __future__ import annotations

import numpy as np

from foundation.base.compiling import fused_part
from foundation.kernels.fields import bound_of_field, highest_of_field
from foundation.kernels.search import (
    DIRECTION_ROWS,
    HIT_DISTANCE,
    HIT_OUT,
    HIT_STEP,
    HIT_U,
    HIT_V,
    LANES,
    SEAM,
    STEP,
    edge_crossed,
    facet_nearby,
    meet_patches,
    patch_normal,
    tree_hit,
    walk_to_hit,
)

#: Point, normal and largest height of the femur over it, of a bounding plane (7,).
PLANE_POINT, PLANE_NORMAL, PLANE_HEIGHT = 0, 3, 6
# Rows of `LANES` numbers of a block of groups: centre (3), mean normal (3), cell of the grid,
# squared distance from the grid [cells], distance from the femur, plane (7), and whether the group
# is excluded and the plane gives a bound.
_MEAN, _CELL, _OFF_GRID, _DISTANCE, _PLANE, _EXCLUDED, _BOUNDED = 3, 6, 7, 8, 9, 16, 17
#: Kind of an element of the bed, see `bearing_of`.
APART = 0
RESOLVED = 1
LUMPED = 2

#: The sheet of surface found by walking is the nearest one if it is met within this distance [m].
TRUST = 1e-3
#: Steps of the walks that are taken side by side; so few lines as `_FEW` are not worth another.
_TURNS = 5
_FEW = 4
#: How far a quadratic field may rise over its nodes, as a part of the element's longest edge.
BULGE = 0.01
#: Cosines between a line and the femoral normal up to which the line bears nothing, and from which
#: its whole length is indentation (60 and 46 deg; sound places: above 0.7).
STEEP, LEVEL = 0.5, 0.7
#: Slope between the surfaces beyond which the indentation of an element is not taken as a field.
_STEEP = 0.7
#: An element counts as bearing while it is apart by up to this part of the rise over it: the discs
#: of its points reach that far over its edge.
_EDGE = 0.2


@fused_part
def indent_nodes(rotation, translation, femur, bed, reach, listed, work):
    """Write indentations and points of contact of the first ``listed`` nodes of ``todo``.

    The indentation is the signed distance along minus the node's normal to the exit from the femur:
    positive inside, negative outside, NaN without an exit. Walks over the facets from ``starts``,
    all one step at a time, find the sheet of surface next to each node; where a walk fails or the
    distance is large, the tree decides.
    """
    doubtful = np.int64(0)
    for turn in range(_TURNS):
        if listed == 0:
            break
        last = turn == _TURNS - 1 or listed <= _FEW
        listed, doubtful = meet_listed(
            rotation, translation, femur, bed, listed, doubtful, last, work
        )
    search_doubtful(rotation, translation, femur, bed, reach, doubtful, work)


@fused_part
def press_nodes(rotation, translation, femur, bed, reach, listed, work):
    """Indent the listed nodes as `indent_nodes`; lines that run sideways bear less, or nothing.

    Where a line leaves the femur on a steep side, its length is no indentation: the surface is
    nearer. The length counts by a weight of the cosine between the line and the femoral normal.
    """
    nodes = work.listed
    for i in range(listed):
        nodes[i] = work.todo[i]
    indent_nodes(rotation, translation, femur, bed, reach, listed, work)
    depth, met, place, normals = work.depth, work.met, work.place, bed.normals
    for i in range(listed):
        node = nodes[i]
        if depth[node] > 0.0:
            cosine = cosine_of(
                rotation, femur.patch, femur.curved, normals, node, met[node], place[node, 0],
                place[node, 1],
            )  # fmt: skip
            depth[node] *= weight_of(cosine)[0]


@fused_part
def cosine_of(rotation, patch, curved, normals, node, facet, u, v):
    """Return the cosine between the line of a node, out of the femur, and the femoral normal."""
    r = rotation
    x, y, z = patch_normal(patch, curved, facet, u, v)
    nx, ny, nz = normals[node, 0], normals[node, 1], normals[node, 2]
    along = x * (r[0, 0] * nx + r[1, 0] * ny + r[2, 0] * nz)
    along += y * (r[0, 1] * nx + r[1, 1] * ny + r[2, 1] * nz)
    along += z * (r[0, 2] * nx + r[1, 2] * ny + r[2, 2] * nz)
    return -along / np.sqrt(x * x + y * y + z * z)


@fused_part
def weight_of(cosine):
    """Return the part of the length of a line that is indentation, 0 to 1, and its derivative."""
    part = min(max((cosine - STEEP) / (LEVEL - STEEP), 0.0), 1.0)
    return part * part * (3.0 - 2.0 * part), 6.0 * part * (1.0 - part) / (LEVEL - STEEP)


@fused_part
def meet_listed(rotation, translation, femur, bed, listed, doubtful, last, work):
    """Intersect the lines of the first ``listed`` nodes of ``todo`` with the facets in ``starts``.

    Lines that miss their facet stay in the lists, with the neighbour on that side; lines that need
    a search (on the ``last`` turn, all) are added to ``doubtful``. The code has no other branches,
    since a mispredicted branch costs more than the steps.

    Returns the numbers of lines that stay and that are doubtful.
    """
    patch, neighbour, curved = femur.patch, femur.neighbour, femur.curved
    points, normals = bed.points, bed.normals
    nodes, starts, in_doubt = work.todo, work.starts, work.doubtful
    depth, met, place = work.depth, work.met, work.place
    rows, facets = work.rows, work.facets
    left = 0
    for begin in range(0, listed, LANES):
        count = min(LANES, listed - begin)
        fill_lines(rotation, translation, points, normals, nodes, begin, count, rows)
        for i in range(count):
            facets[i] = starts[begin + i]
        meet_patches(patch, curved, facets, count, rows)
        for i in range(count):
            u, v = rows[HIT_U * LANES + i], rows[HIT_V * LANES + i]
            s, out = rows[HIT_DISTANCE * LANES + i], rows[HIT_OUT * LANES + i]
            step = rows[HIT_STEP * LANES + i]
            node, facet = nodes[begin + i], facets[i]
            depth[node] = s
            met[node] = facet
            place[node, 0] = u
            place[node, 1] = v
            worst = min(u, v, 1.0 - u - v)
            following = neighbour[facet, edge_crossed(u, v, worst)]
            inside = worst >= -SEAM
            found = inside & (step < STEP) & (s <= TRUST) & (out > 0.0)
            stays = (worst < -SEAM) & (following >= 0) & (not last)
            nodes[left] = node
            starts[left] = following
            left += 1 if stays else 0
            in_doubt[doubtful] = node
            doubtful += 0 if found | stays else 1
    return left, doubtful


@fused_part
def fill_lines(rotation, translation, points, normals, nodes, begin, count, rows):
    """Write the lines of the nodes ``nodes[begin:begin + count]``, in the femoral frame."""
    n, d = LANES, DIRECTION_ROWS * LANES
    r00, r01, r02 = rotation[0, 0], rotation[0, 1], rotation[0, 2]
    r10, r11, r12 = rotation[1, 0], rotation[1, 1], rotation[1, 2]
    r20, r21, r22 = rotation[2, 0], rotation[2, 1], rotation[2, 2]
    tx, ty, tz = translation[0], translation[1], translation[2]
    for i in range(count):
        node = nodes[begin + i]
        for k in range(3):
            rows[k * n + i] = points[node, k]
            rows[(DIRECTION_ROWS + k) * n + i] = normals[node, k]
    for i in range(n):
        x, y, z = rows[i] - tx, rows[n + i] - ty, rows[2 * n + i] - tz
        rows[i] = r00 * x + r10 * y + r20 * z
        rows[n + i] = r01 * x + r11 * y + r21 * z
        rows[2 * n + i] = r02 * x + r12 * y + r22 * z
        x, y, z = rows[d + i], rows[d + n + i], rows[d + 2 * n + i]
        rows[d + i] = -(r00 * x + r10 * y + r20 * z)
        rows[d + n + i] = -(r01 * x + r11 * y + r21 * z)
        rows[d + 2 * n + i] = -(r02 * x + r12 * y + r22 * z)


@fused_part
def search_doubtful(rotation, translation, femur, bed, reach, count, work):
    """Search the exits of the lines of the first ``count`` nodes of ``doubtful``."""
    nodes, rows = work.doubtful, work.rows
    depth, met, place = work.depth, work.met, work.place
    n, d = LANES, DIRECTION_ROWS * LANES
    for begin in range(0, count, LANES):
        block = min(LANES, count - begin)
        fill_lines(rotation, translation, bed.points, bed.normals, nodes, begin, block, rows)
        for i in range(block):
            node = nodes[begin + i]
            met[node], place[node, 0], place[node, 1], depth[node] = search_hit(
                femur, reach, met[node], rows[i], rows[n + i], rows[2 * n + i],
                rows[d + i], rows[d + n + i], rows[d + 2 * n + i],
            )  # fmt: skip


@fused_part
def search_hit(femur, reach, facet, ox, oy, oz, dx, dy, dz):
    """Return the exit of a line from the femur: (facet, u, v, s), s NaN without an exit."""
    patch, curved = femur.patch, femur.curved
    at, u, v, s, out = walk_to_hit(patch, femur.neighbour, curved, facet, ox, oy, oz, dx, dy, dz)
    if s <= TRUST and out > 0.0:
        return at, u, v, s
    # A field is also asked for a little outside the femur.
    back = TRUST if curved else 0.0
    found, fu, fv, fs = tree_hit(
        patch, curved, femur.low, femur.high, femur.next, femur.first, femur.count, reach + back,
        ox - back * dx, oy - back * dy, oz - back * dz, dx, dy, dz,
    )  # fmt: skip
    if found >= 0:
        return found, fu, fv, fs - back
    return at, u, v, np.nan


@fused_part
def bearing_of(elements, element, size, depth):
    """Return the kind of an element, its lowest node and a bound of its indentation.

    `APART`: not in contact. `RESOLVED`: the indentation is the field of the nodes. `LUMPED`: the
    line of a node misses the femur (a rim) or the angle between the surfaces is too large for a
    field; the element is one spring at its centroid, still to be evaluated.
    """
    missing = False
    highest, lowest = -np.inf, np.inf
    for k in range(elements.shape[1]):
        d = depth[elements[element, k]]
        # NaN compares false: it changes neither bound, without a turn.
        missing |= not np.isfinite(d)
        highest = d if d > highest else highest
        lowest = d if d < lowest else lowest
    if elements.shape[1] == 1:
        return (RESOLVED if highest > 0.0 else APART), lowest, highest
    if highest < -size:
        return APART, lowest, 0.0
    if missing or highest - lowest > _STEEP * size:
        return LUMPED, lowest, 0.0
    edge = _EDGE * (highest - lowest)
    if highest < -max(BULGE * size, edge):
        return APART, lowest, 0.0
    bound = bound_of_field(elements, element, depth)
    if highest <= -edge and (
        bound <= -edge or highest_of_field(elements, element, depth)[0] <= -edge
    ):
        return APART, lowest, 0.0
    return RESOLVED, lowest, bound


@fused_part
def highest_of(elements, element, depth):
    """Return the largest indentation of a resolved element."""
    if elements.shape[1] == 1:
        return depth[elements[element, 0]]
    return highest_of_field(elements, element, depth)[0]


@fused_part
def plane_in_tibia(rotation, translation, planes, plane):
    """Return normal and level of a bounding plane in the tibial frame: (x, y, z, level)."""
    p, m = PLANE_POINT, PLANE_NORMAL
    px, py, pz = planes[plane, p], planes[plane, p + 1], planes[plane, p + 2]
    x, y, z = planes[plane, m], planes[plane, m + 1], planes[plane, m + 2]
    mx = rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z
    my = rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z
    mz = rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2] * z
    level = x * px + y * py + z * pz + planes[plane, PLANE_HEIGHT]
    level += mx * translation[0] + my * translation[1] + mz * translation[2]
    return mx, my, mz, level


@fused_part
def place_groups(rotation, translation, femur, bed, begin, count, rows):
    """Write centre, mean normal, grid cell and distance from the grid of a block of groups.

    In the femoral frame; the distance is squared and in cells; the index of the cell is stored as a
    float, which vector instructions need not convert.
    """
    n, centre, direction = LANES, bed.centre, bed.direction
    r00, r01, r02 = rotation[0, 0], rotation[0, 1], rotation[0, 2]
    r10, r11, r12 = rotation[1, 0], rotation[1, 1], rotation[1, 2]
    r20, r21, r22 = rotation[2, 0], rotation[2, 1], rotation[2, 2]
    tx, ty, tz = translation[0], translation[1], translation[2]
    low_x, low_y, low_z = femur.grid_low[0], femur.grid_low[1], femur.grid_low[2]
    cells, per_cell = femur.grid_facet.shape, 1.0 / femur.grid_cell
    nx, ny, nz = float(cells[0]), float(cells[1]), float(cells[2])
    for i in range(count):
        t = begin + i
        x, y, z = centre[0, t] - tx, centre[1, t] - ty, centre[2, t] - tz
        px = r00 * x + r10 * y + r20 * z
        py = r01 * x + r11 * y + r21 * z
        pz = r02 * x + r12 * y + r22 * z
        rows[i], rows[n + i], rows[2 * n + i] = px, py, pz
        x, y, z = direction[0, t], direction[1, t], direction[2, t]
        rows[_MEAN * n + i] = r00 * x + r10 * y + r20 * z
        rows[(_MEAN + 1) * n + i] = r01 * x + r11 * y + r21 * z
        rows[(_MEAN + 2) * n + i] = r02 * x + r12 * y + r22 * z
        x, y, z = (px - low_x) * per_cell, (py - low_y) * per_cell, (pz - low_z) * per_cell
        a = np.floor(min(max(x, 0.0), nx - 1.0))
        b = np.floor(min(max(y, 0.0), ny - 1.0))
        c = np.floor(min(max(z, 0.0), nz - 1.0))
        rows[_CELL * n + i] = (a * ny + b) * nz + c
        x, y, z = max(-x, x - nx, 0.0), max(-y, y - ny, 0.0), max(-z, z - nz, 0.0)
        rows[_OFF_GRID * n + i] = x * x + y * y + z * z


@fused_part
def find_groups(rotation, translation, femur, bed, work, first, last):
    """List the groups ``first`` to ``last`` of the bed that may touch the femur.

    A group is excluded if its ball does not reach the femur, or if its disc (radius across the mean
    normal, half thickness along the normal) is beyond a plane that the femur nearby does not cross
    (`largest_protrusions`). The groups are so small and the tests so short that a tree over the
    groups would cost more time than a tree saves.

    Writes ``groups`` and ``plane_near``, -1 where the plane near a group gives no bound. Returns
    the number of groups.
    """
    n, rows, plane_of_block = LANES, work.rows, work.facets
    planes, plane_reach, plane_of_cell = femur.planes, femur.plane_reach, femur.grid_plane.ravel()
    distances, cell = femur.grid_distance.ravel(), femur.grid_cell
    radius, thickness, bulge = bed.radius, bed.thickness, bed.bulge
    groups, plane_near = work.groups, work.plane_near
    listed = 0
    for begin in range(first, last, n):
        count = min(n, last - begin)
        place_groups(rotation, translation, femur, bed, begin, count, rows)
        for i in range(count):
            at = int(rows[_CELL * n + i])
            plane = plane_of_cell[at]
            plane_of_block[i] = plane
            rows[_DISTANCE * n + i] = distances[at]
            for k in range(7):
                rows[(_PLANE + k) * n + i] = planes[plane, k]
        for i in range(count):
            t = begin + i
            p, m, d = _PLANE + PLANE_POINT, _PLANE + PLANE_NORMAL, _MEAN
            mx, my, mz = rows[m * n + i], rows[(m + 1) * n + i], rows[(m + 2) * n + i]
            x, y = rows[i] - rows[p * n + i], rows[n + i] - rows[(p + 1) * n + i]
            z = rows[2 * n + i] - rows[(p + 2) * n + i]
            along = abs(
                mx * rows[d * n + i] + my * rows[(d + 1) * n + i] + mz * rows[(d + 2) * n + i]
            )
            height = mx * x + my * y + mz * z
            half = along * thickness[t] + np.sqrt(max(1.0 - along * along, 0.0)) * radius[t]
            gap = height - rows[(_PLANE + PLANE_HEIGHT) * n + i] - half
            room = max(plane_reach - radius[t], 0.0)
            bounded = x * x + y * y + z * z < room * room
            # A femur inside the grid is no nearer to a point outside than to the grid's edge.
            distance = max(rows[_DISTANCE * n + i], cell * np.sqrt(rows[_OFF_GRID * n + i]))
            apart = ((distance > radius[t]) & (height > 0.0)) | (bounded & (gap > bulge[t]))
            rows[_EXCLUDED * n + i] = 1.0 if apart else 0.0
            rows[_BOUNDED * n + i] = 1.0 if bounded else 0.0
        for i in range(count):
            groups[listed] = begin + i
            plane_near[listed] = plane_of_block[i] if rows[_BOUNDED * n + i] > 0.0 else -1
            listed += 0 if rows[_EXCLUDED * n + i] > 0.0 else 1
    return listed


@fused_part
def clearances(rotation, translation, femur, corners, group, plane, out):
    """Write the clearance of each element of a group from the bounding plane of the femur.

    At the lowest corner; ``corners`` (G, C, 3, LANES) belong to the elements of all groups.
    """
    mx, my, mz, level = plane_in_tibia(rotation, translation, femur.planes, plane)
    for i in range(LANES):
        out[i] = np.inf
    for c in range(corners.shape[1]):
        for i in range(LANES):
            x, y, z = corners[group, c, 0, i], corners[group, c, 1, i], corners[group, c, 2, i]
            out[i] = min(out[i], mx * x + my * y + mz * z - level)


@fused_part
def find_candidates(rotation, translation, femur, bed, work, first, last):
    """List the elements in the groups ``first`` to ``last`` of the bed that may be in contact.

    Elements beyond a plane that the femur nearby does not cross are excluded. Results do not depend
    on evaluation history.

    Writes ``candidates``, and ``todo`` and ``starts``: the corners of the candidates (the only node
    on flat facets), each once, with a nearby facet. Returns the lengths of both lists.
    """
    elements, corners, bulge = bed.elements, bed.corners, bed.bulge
    group_first, group_count = bed.first, bed.count
    clearance, groups, plane_near = work.clearance, work.groups, work.plane_near
    candidates, found = work.candidates, 0
    for g in range(find_groups(rotation, translation, femur, bed, work, first, last)):
        t = groups[g]
        if plane_near[g] >= 0:
            clearances(rotation, translation, femur, corners, t, plane_near[g], clearance)
        else:
            clearance[:] = -np.inf
        for i in range(group_count[t]):
            candidates[found] = group_first[t] + i
            found += 1 if clearance[i] <= bulge[t] else 0
    listed = list_nodes(elements, np.int64(0), corners.shape[1], found, work)
    start_nearby(rotation, translation, femur, bed.points, listed, work.todo, work.starts)
    return found, listed


@fused_part
def start_nearby(rotation, translation, femur, points, listed, todo, starts):
    """Write a facet near each of the first ``listed`` nodes of ``todo`` to ``starts``."""
    r, low, cell = rotation, femur.grid_low, femur.grid_cell
    grid_facet, grid_brick, bricks = femur.grid_facet, femur.grid_brick, femur.bricks
    for i in range(listed):
        node = todo[i]
        x = points[node, 0] - translation[0]
        y = points[node, 1] - translation[1]
        z = points[node, 2] - translation[2]
        starts[i] = facet_nearby(
            low, cell, grid_facet, grid_brick, bricks,
            r[0, 0] * x + r[1, 0] * y + r[2, 0] * z,
            r[0, 1] * x + r[1, 1] * y + r[2, 1] * z,
            r[0, 2] * x + r[1, 2] * y + r[2, 2] * z,
        )  # fmt: skip


@fused_part
def list_nodes(elements, first, last, found, work):
    """List nodes ``first`` to ``last`` of the candidates in ``todo``, each once.

    Nodes already listed for this pose have its stamp. All nodes are written and the next node
    overwrites a repeated one, since mispredicted branches cost more. Returns their number.
    """
    stamp, generation = work.stamp, work.generation[0]
    candidates, todo, listed = work.candidates, work.todo, 0
    for i in range(found):
        e = candidates[i]
        for k in range(first, last):
            node = elements[e, k]
            todo[listed] = node
            listed += 1 if stamp[node] != generation else 0
            stamp[node] = generation
    return listed


@fused_part
def keep_near(elements, sizes, found, work):
    """Drop candidates with all corners well outside; list the middles of the others.

    Returns the lengths of ``candidates`` and ``todo``.
    """
    depth, met, candidates, kept = work.depth, work.met, work.candidates, 0
    for i in range(found):
        e = candidates[i]
        highest, lowest = -np.inf, np.inf
        for k in range(3):
            d = depth[elements[e, k]]
            # Where a corner misses the femur, the element is looked at as a whole.
            d = d if np.isfinite(d) else 0.0
            highest = d if d > highest else highest
            lowest = d if d < lowest else lowest
        candidates[kept] = e
        outside = highest < -max(2.0 * BULGE * sizes[e], _EDGE * (highest - lowest))
        kept += 0 if outside else 1
    for i in range(kept):
        e = candidates[i]
        for k in range(3):
            met[elements[e, 3 + k]] = met[elements[e, k]]
    listed = list_nodes(elements, np.int64(3), np.int64(6), kept, work)
    for i in range(listed):
        work.starts[i] = met[work.todo[i]]
    return kept, listed


@fused_part
def find_contact(rotation, translation, femur, bed, work, first, last, reach, begin):
    """List the elements in contact in the groups ``first`` to ``last`` of the bed.

    Writes ``active``, ``kind``, ``lowest`` (of the nodes) and ``highest`` (a bound of the
    indentation) from position ``begin``; returns the position behind the last
    element, the position of the deepest element (-1 for none) and its indentation.
    """
    found, listed = find_candidates(rotation, translation, femur, bed, work, first, last)
    press_nodes(rotation, translation, femur, bed, reach, listed, work)
    elements, sizes = bed.elements, bed.sizes
    depth, active, kinds = work.depth, work.active, work.kind
    candidates, todo, starts = work.candidates, work.todo, work.starts
    lowest, highest = work.lowest, work.highest
    if elements.shape[1] == 6:
        found, listed = keep_near(elements, sizes, found, work)
        press_nodes(rotation, translation, femur, bed, reach, listed, work)
    met, centroid_first = work.met, bed.centroid_first
    end, deepest, largest, lumped = begin, -1, 0.0, np.int64(0)
    for i in range(found):
        e = candidates[i]
        kind, low, bound = bearing_of(elements, e, sizes[e], depth)
        active[end] = e
        kinds[end] = kind
        lowest[end] = low
        highest[end] = bound
        if kind == LUMPED:
            todo[lumped] = centroid_first + e
            starts[lumped] = met[elements[e, 0]]
            candidates[lumped] = e
            lumped += 1
        elif bound > largest and kind == RESOLVED:
            indentation = highest_of(elements, e, depth)
            if indentation > largest:
                deepest, largest = end, indentation
        end += 1 if kind == RESOLVED else 0
    press_nodes(rotation, translation, femur, bed, reach, lumped, work)
    for i in range(lumped):
        e = candidates[i]
        indentation = depth[centroid_first + e]
        if indentation > 0.0:
            active[end] = e
            kinds[end] = LUMPED
            lowest[end] = highest[end] = indentation
            if indentation > largest:
                deepest, largest = end, indentation
            end += 1
    return end, deepest, largest
