"""Overlaps of the femur with single nodes of a bearing surface, and their derivatives."""

from __future__ import annotations

import numpy as np

from foundation.compiling import fused_kernel
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


@fused_kernel
def add_overlap_curvature(rotation, femur, bed, work, nodes, forces, jacobian):
    """Add minus the sum of ``forces`` times d²(overlap)/d(femoral twist)² to ``jacobian`` (6, 6).

    At ``nodes`` that `find_overlaps` found with the same scratch memory.
    """
    for i in range(len(nodes)):
        node = nodes[i]
        add_hessian(
            rotation, femur.patch, femur.curved, bed.points, bed.normals, node, work.depth,
            work.met[node], work.place[node, 0], work.place[node, 1], work.gradient, -forces[i],
            jacobian,
        )  # fmt: skip


@fused_kernel
def gather_block(matrix, rows, columns, part):
    """Copy the block of ``rows`` and ``columns`` of a matrix to ``part``."""
    for i in range(len(rows)):
        row = rows[i]
        for j in range(len(columns)):
            part[i, j] = matrix[row, columns[j]]


@fused_kernel
def add_block(matrix, rows, columns, part):
    """Add the block of ``rows`` and ``columns`` of a matrix to ``part``."""
    for i in range(len(rows)):
        row = rows[i]
        for j in range(len(columns)):
            part[i, j] += matrix[row, columns[j]]
