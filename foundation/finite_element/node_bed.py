"""Nodes of a bearing surface as a bed for the contact kernels."""

from __future__ import annotations

import numpy as np

from foundation import kernels
from foundation.base.checks import FloatArray, IntArray
from foundation.surfaces.groups import enclosing_discs, group_corners
from foundation.surfaces.tree import build_tree


def neighbourhood_order(points: FloatArray) -> IntArray:
    """Return the order (C,) in which points (C, 3) [m] of a group of the bed follow each other."""
    return build_tree(points, points, kernels.LANES).order


def node_bed(points: FloatArray, normals: FloatArray, margin: float) -> kernels.Bed:
    """Return a bed whose elements are single nodes.

    Parameters
    ----------
    points, normals : (C, 3) float64
        Positions [m] and unit normals [1] in the order of `neighbourhood_order`.
    margin : float
        Distance from the femur up to which nodes are listed [m].
    """
    tree = build_tree(points, points, kernels.LANES)
    leaves = tree.count > 0
    first, count = tree.first[leaves], tree.count[leaves]
    elements = np.arange(len(points))[:, None]
    centre, radius, thickness, direction = enclosing_discs(points, normals, elements, first, count)
    none, unit = np.zeros((1, 1)), np.ones(1)
    return kernels.Bed(
        points=np.ascontiguousarray(points),
        normals=np.ascontiguousarray(normals),
        elements=elements.astype(np.int32),
        centroid_first=0,
        sizes=np.zeros(len(points)),
        whole_shape=none,
        whole_weight=unit,
        cut_shape=none,
        area_vectors=np.zeros((1, 1, 3)),
        metric=np.zeros((1, 3, 3)),
        cut_weight=unit,
        cut_radius=unit,
        compartments=np.array([0, len(first), len(first)]),
        centre=np.ascontiguousarray(centre.T),
        # A ball of this radius reaches the femur where a node is within the margin.
        radius=radius + margin,
        thickness=thickness,
        direction=np.ascontiguousarray(direction.T),
        bulge=np.full(len(first), margin),
        first=first,
        count=count,
        corners=group_corners(points[elements], first, count),
    )
