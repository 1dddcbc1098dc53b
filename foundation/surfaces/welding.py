"""Welding of the seams of a mesh: open edges that coincide but for rounding.

An STL file repeats the corners of every triangle; a program that rounds each on its own leaves all
edges open. A seam is a pair of open edges whose ends coincide within a tolerance, so that neither
slits, whose sides are farther apart, nor the short edges of slivers close.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from foundation.base.checks import FloatArray, IntArray
from foundation.surfaces.mesh_topology import (
    connected_groups,
    find_edges,
    is_repeated,
)

#: Largest tolerance over the length of a short edge, and the quantile of the edges that is short.
_OF_EDGE, _SHORT = 0.2, 0.05


class Welded(NamedTuple):
    """A mesh of vertices (V, 3) [m] and triangles (F, 3) with welded seams."""

    #: Positions (V, 3) [m]; those of welded corners are their mean.
    vertices: FloatArray
    #: Triangles (F, 3) in their order, with welded corners as one vertex.
    faces: IntArray
    #: Number of open edges that were closed.
    closed: int
    #: Largest distance by which a corner moved [m].
    moved: float
    #: Tolerance that the mesh allows [m].
    tolerance: float


def weld_seams(points: FloatArray, faces: IntArray, largest: float) -> Welded:
    """Weld the seams of triangles (F, 3) over points (V, 3) [m], within a fifth of a short edge."""
    tolerance = tolerance_of(points, faces, largest)
    edges = find_edges(faces, len(points))
    ends = edges.ends[edges.count == 1]
    place, target = _places(points, ends, tolerance), np.arange(len(points))
    closing = _uses(place[ends], len(points)) > 1
    if not closing.any():
        return Welded(points, faces, 0, 0.0, tolerance)
    welded = _members(ends[closing], len(points))
    target[welded] = place[welded]
    count = np.bincount(target, minlength=len(points))
    sums = np.stack([np.bincount(target, weights=p, minlength=len(points)) for p in points.T], 1)
    vertices, merged = points.copy(), np.flatnonzero(count > 1)
    vertices[merged] = sums[merged] / count[merged, None]
    moved = float(np.linalg.norm(vertices[target[welded]] - points[welded], axis=1).max())
    return Welded(vertices, target[faces], int(closing.sum()), moved, tolerance)


def tolerance_of(points: FloatArray, faces: IntArray, largest: float) -> float:
    """Return the tolerance [m] of triangles (F, 3) over points (V, 3) [m], as of `weld_seams`."""
    corners = points[faces]
    lengths = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    return min(largest, _OF_EDGE * float(np.quantile(lengths, _SHORT)))


def repeated_nearly(points: FloatArray, faces: IntArray, largest: float) -> NDArray[np.bool_]:
    """Return which triangles (F,) repeat an earlier one within `largest` [m]: rims, no seams."""
    tolerance = tolerance_of(points, faces, largest)
    # Few meshes have copies: the middles of the triangles tell in little time.
    if len(KDTree(points[faces].mean(axis=1)).query_pairs(tolerance, output_type="ndarray")) == 0:
        return np.zeros(len(faces), dtype=np.bool_)
    ends = find_edges(faces, len(points)).ends
    return is_repeated(_places(points, ends, tolerance)[faces])


def _uses(ends: IntArray, size: int) -> IntArray:
    """Return how many edges (E, 2) have the same ends, (E,); 0 for an edge that is a point."""
    key = np.minimum(*ends.T) * size + np.maximum(*ends.T)
    _, at, uses = np.unique(key, return_inverse=True, return_counts=True)
    return np.where(ends[:, 0] == ends[:, 1], 0, uses[at])


def _members(ends: IntArray, size: int) -> IntArray:
    """Return the vertices of edges (E, 2), sorted; several times faster than `np.unique`."""
    member = np.zeros(size, dtype=np.bool_)
    member[ends] = True
    return np.flatnonzero(member)


def _places(points: FloatArray, ends: IntArray, tolerance: float) -> IntArray:
    """Return the first of edge ends (E, 2) at a place, (V,); ends of one edge are two places."""
    place = np.arange(len(points))
    rim = _members(ends, len(points))
    if len(rim) == 0:
        return place
    pairs = rim[KDTree(points[rim]).query_pairs(tolerance, output_type="ndarray")]
    size, lengths = len(points), np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)
    short = ends[lengths <= tolerance]
    # Both have the smaller vertex first.
    apart = ~np.isin(pairs @ [size, 1], short @ [size, 1])
    group = connected_groups(pairs[apart], size)
    first = np.full(group.max() + 1, size)
    np.minimum.at(first, group[rim], rim)
    place[rim] = first[group[rim]]
    return place
