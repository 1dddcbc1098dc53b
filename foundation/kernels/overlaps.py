"""Overlaps of the femur with single nodes of a bearing surface, and their derivatives."""

from __future__ import annotations

import numpy as np

from foundation.base.compiling import fused_kernel
from foundation.kernels.contact import find_candidates, indent_nodes
from foundation.kernels.gradients import add_hessian, indentation_gradient


@fused_kernel
def find_overlaps(
    rotation, translation, femur, bed, first, last, reach, least, work, nodes, overlaps, gradients
):  # fmt: skip
    """Find the nodes of the groups ``first`` to ``last`` with an overlap above ``least``.

    An element of the bed is a single node. The overlap is the distance along minus the node's
    normal to the exit from the femur, negative outside [m]. Writes ``nodes``, ``overlaps`` and
    d(overlap)/d(femoral twist), a row of ``gradients`` each. Returns their number.
    """
    work.generation[0] += 1
    found, listed = find_candidates(rotation, translation, femur, bed, work, first, last)
    indent_nodes(rotation, translation, femur, bed, reach, listed, work)
    count = 0
    for i in range(found):
        node = np.int64(bed.elements[work.candidates[i], 0])
        depth = work.depth[node]
        if not depth > least:
            continue
        indentation_gradient(
            rotation, femur.patch, femur.curved, bed.points, bed.normals, node, work.depth,
            work.met, work.place, work.gradient,
        )  # fmt: skip
        nodes[count] = node
        overlaps[count] = depth
        for k in range(6):
            gradients[count, k] = work.gradient[node, k]
        count += 1
    return count


#: Part of the second differences along both grid lines by which overlaps are raised: the mean of
#: two conditions on a bilinear surface, that it meets the femur at the nodes (0), or in the mean
#: over the shape function of each node (1/12). The errors of both are opposite.
RAISED = 1.0 / 24.0


@fused_kernel
def raise_overlaps(neighbours, nodes, overlaps, gradients, place, pairs, raised, slopes):
    """Write the overlaps (n,) and gradients (n, 6) that a bilinear surface needs at ``nodes`` (n,).

    The surface is straight between its nodes where the femur is curved. ``neighbours`` (C, 2, 2) of
    each candidate along and against both grid lines; ``place`` (C,) contains -1 before and after
    the call. Writes to ``pairs`` (n, 2, 2) the positions of the neighbours that enter, -1 for none.
    """
    for i in range(len(nodes)):
        place[nodes[i]] = i
    for i in range(len(nodes)):
        raised[i] = overlaps[i]
        for k in range(6):
            slopes[i, k] = gradients[i, k]
        for axis in range(2):
            pairs[i, axis, 0] = pairs[i, axis, 1] = -1
            ahead, behind = neighbours[nodes[i], axis, 0], neighbours[nodes[i], axis, 1]
            if ahead < 0 or behind < 0 or place[ahead] < 0 or place[behind] < 0:
                continue
            a, b = place[ahead], place[behind]
            pairs[i, axis, 0], pairs[i, axis, 1] = a, b
            raised[i] += RAISED * (2.0 * overlaps[i] - overlaps[a] - overlaps[b])
            for k in range(6):
                slopes[i, k] += RAISED * (2.0 * gradients[i, k] - gradients[a, k] - gradients[b, k])
    for i in range(len(nodes)):
        place[nodes[i]] = -1


@fused_kernel
def spread_forces(pairs, active, forces, spread):
    """Write the forces (n,) on the overlaps of the nodes that `raise_overlaps` makes of ``forces``.

    ``forces`` (A,) act on the raised overlaps at the positions ``active`` (A,).
    """
    spread[:] = 0.0
    for j in range(len(active)):
        i, force = active[j], forces[j]
        spread[i] += force
        for axis in range(2):
            if pairs[i, axis, 0] >= 0:
                spread[i] += 2.0 * RAISED * force
                spread[pairs[i, axis, 0]] -= RAISED * force
                spread[pairs[i, axis, 1]] -= RAISED * force


@fused_kernel
def add_overlap_curvature(rotation, femur, bed, work, nodes, forces, jacobian):
    """Add minus the sum of ``forces`` times d²(overlap)/d(femoral twist)² to ``jacobian`` (6, 6).

    At ``nodes`` (n,) that `find_overlaps` found with the same scratch memory.
    """
    for i in range(len(nodes)):
        node = nodes[i]
        if forces[i] == 0.0:
            continue
        add_hessian(
            rotation, femur.patch, femur.curved, bed.points, bed.normals, node, work.depth,
            work.met[node], work.place[node, 0], work.place[node, 1], work.gradient, -forces[i],
            jacobian,
        )  # fmt: skip


@fused_kernel
def write_overlap_hessians(rotation, femur, bed, work, nodes, hessians):
    """Write d²(overlap)/d(femoral twist)² of ``nodes`` (n,) to ``hessians`` (n, 6, 6), zero before.

    At nodes that `find_overlaps` found with the same scratch memory.
    """
    for i in range(len(nodes)):
        node = nodes[i]
        add_hessian(
            rotation, femur.patch, femur.curved, bed.points, bed.normals, node, work.depth,
            work.met[node], work.place[node, 0], work.place[node, 1], work.gradient, 1.0,
            hessians[i],
        )  # fmt: skip


@fused_kernel
def add_block(matrix, rows, columns, part):
    """Add the block of ``rows`` and ``columns`` of a matrix to ``part``."""
    for i in range(len(rows)):
        row = rows[i]
        for j in range(len(columns)):
            part[i, j] += matrix[row, columns[j]]
