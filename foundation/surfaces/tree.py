"""Bounding-volume tree over boxes, as flat arrays for the library in C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from foundation.base.checks import FloatArray, IntArray
from foundation.core.library import LANES, Record


@dataclass(frozen=True, eq=False)
class BoxTree:
    """Binary tree of M axis-aligned boxes (M, 3) [m] of N items in depth-first order."""

    #: Items (N,) in the order of the leaves.
    order: IntArray
    #: Lower corner of the box of each node (M, 3) [m].
    low: FloatArray
    #: Upper corner of the box of each node (M, 3) [m].
    high: FloatArray
    #: Next node (M,) that is not below this node, to continue with when a box is missed.
    next: IntArray
    #: Beginning (M,) of a leaf's range in `order`.
    first: IntArray
    #: Length (M,) of a leaf's range in `order`; 0 for an inner node.
    count: IntArray


class _Level(NamedTuple):
    """Nodes of one depth: their ranges of items, and which are inner nodes, with two children."""

    start: IntArray
    stop: IntArray
    inner: NDArray[np.bool_]


def build_tree(low: FloatArray, high: FloatArray, leaf_size: int) -> BoxTree:
    """Build a tree of boxes (N, 3) [m] by halving along the largest extent of their centres."""
    order, levels = _halved(0.5 * (low + high), leaf_size)
    index = _depth_first(levels)
    nodes = sum(len(numbers) for numbers in index)
    lows, highs = np.empty((2, nodes, 3))
    after, first, count = np.empty((3, nodes), dtype=np.int64)
    children = np.empty(0, dtype=np.int64)
    for numbers, level in zip(reversed(index), reversed(levels), strict=True):
        leaf, inner = numbers[~level.inner], numbers[level.inner]
        after[leaf] = leaf + 1
        count[numbers] = np.where(level.inner, 0, level.stop - level.start)
        first[numbers] = level.start
        left, right = children[::2], children[1::2]
        after[inner] = after[right]
        lows[inner] = np.minimum(lows[left], lows[right])
        highs[inner] = np.maximum(highs[left], highs[right])
        items = order[_ranges(level.start[~level.inner], level.stop[~level.inner])]
        begin = np.cumsum(count[leaf]) - count[leaf]
        lows[leaf] = np.minimum.reduceat(low[items], begin) if len(leaf) else 0.0
        highs[leaf] = np.maximum.reduceat(high[items], begin) if len(leaf) else 0.0
        children = numbers
    return BoxTree(order, lows, highs, after, first, count)


def _halved(middle: FloatArray, leaf_size: int) -> tuple[IntArray, list[_Level]]:
    """Return the order of the items (N,) of centres (N, 3), and the nodes, depth by depth."""
    order = np.arange(len(middle))
    start, stop = np.array([0]), np.array([len(middle)])
    levels = []
    while len(start):
        levels.append(_Level(start, stop, stop - start > leaf_size))
        start, stop = start[levels[-1].inner], stop[levels[-1].inner]
        half = (start + stop) // 2
        if len(start):
            places, size = _ranges(start, stop), stop - start
            items, begin = order[places], np.cumsum(size) - size
            centres = middle[items]
            extent = np.maximum.reduceat(centres, begin) - np.minimum.reduceat(centres, begin)
            node = np.repeat(np.arange(len(start)), size)
            along = centres[np.arange(len(items)), np.argmax(extent, axis=1)[node]]
            # A stable sort keeps the tree the same on every machine.
            order[places] = items[np.lexsort((along, node))]
        start, stop = (np.column_stack(ends).ravel() for ends in ((start, half), (half, stop)))
    return order, levels


def _depth_first(levels: list[_Level]) -> list[IntArray]:
    """Return the index of each node in depth-first order, depth by depth."""
    sizes = [np.ones(len(level.start), dtype=np.int64) for level in levels]
    for depth in range(len(levels) - 2, -1, -1):
        sizes[depth][levels[depth].inner] += sizes[depth + 1].reshape(-1, 2).sum(axis=1)
    index = [np.zeros(1, dtype=np.int64)]
    for level, below in zip(levels[:-1], sizes[1:], strict=True):
        left = index[-1][level.inner] + 1
        index.append(np.column_stack([left, left + below[::2]]).ravel())
    return index


def _ranges(start: IntArray, stop: IntArray) -> IntArray:
    """Return the integers of all ranges, one range after the other."""
    size = stop - start
    return np.repeat(stop - np.cumsum(size), size) + np.arange(size.sum())


def enclosing_discs(
    points: FloatArray,
    normals: FloatArray,
    elements: IntArray,
    first: IntArray,
    count: IntArray,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return centres (G, 3), radii, half thicknesses (G,) [m], normals (G, 3) of discs."""
    centre, direction = np.empty((len(first), 3)), np.empty((len(first), 3))
    radius, thickness = np.empty(len(first)), np.empty(len(first))
    for t, (begin, size) in enumerate(zip(first, count, strict=True)):
        nodes = elements[begin : begin + size].reshape(-1)
        mean = normals[nodes].sum(axis=0)
        direction[t] = mean / max(float(np.linalg.norm(mean)), 1e-300)
        corners = points[nodes]
        height = corners @ direction[t]
        middle = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
        level = 0.5 * (height.min() + height.max())
        centre[t] = middle + (level - middle @ direction[t]) * direction[t]
        radius[t] = np.linalg.norm(corners - centre[t], axis=1).max()
        thickness[t] = 0.5 * (height.max() - height.min())
    return centre, radius, thickness, direction


def group_corners(corners: FloatArray, first: IntArray, count: IntArray) -> FloatArray:
    """Return corners (F, C, 3) as (G, C, 3, LANES) [m]; free places repeat the last element."""
    place = np.minimum(np.arange(LANES), count[:, None] - 1)
    return np.ascontiguousarray(np.moveaxis(corners[first[:, None] + place], 1, 3))


def node_groups(
    points: FloatArray,
    normals: FloatArray,
    elements: IntArray,
    first: IntArray,
    count: IntArray,
    *,
    bulge: FloatArray,
    margin: float = 0.0,
    **others: Any,
) -> Record:
    """Return the struct `bed` of elements (F, n) of nodes (N, 3) [m] in groups (G,)."""
    # Elements up to `bulge` (F,) [m] outside the femur are found, and groups within the `margin`
    # [m].
    centre, radius, thickness, direction = enclosing_discs(points, normals, elements, first, count)
    return Record(
        "bed",
        count_nodes=len(points),
        count_elements=len(elements),
        nodes=elements.shape[1],
        points=points,
        normals=normals,
        elements=elements,
        centre=centre.T,
        direction=direction.T,
        radius=radius + margin,
        thickness=thickness,
        bulge=np.maximum.reduceat(bulge, first),
        first=first,
        count=count,
        corners=group_corners(points[elements[:, :3]], first, count),
        **others,
    )


#: Longest edge of a piece of a triangle, in median edge lengths of the surface.
_COMMON = 2.0
#: Most pieces of a round over the triangles, beside a block: specks beside huge triangles.
_MOST_PIECES = 4
#: Number of pairs of points and pieces of a block, to bound the memory.
_BLOCK = 200_000


class SurfaceTree:
    """Triangles (F, 3, 3) [any unit] and a search tree of the centroids of their pieces."""

    def __init__(self, corners: FloatArray) -> None:
        self.corners = corners
        # The library compares products of lengths with fixed thresholds: lengths of about 1.
        self._size = float(np.median(_lengths(corners)))
        centroids, self._triangle = _pieces(corners / self._size)
        # Queries far from all centroids take long in a tree of compact nodes.
        self._tree = KDTree(centroids, compact_nodes=False, balanced_tree=False)

    def nearest_points(self, points: FloatArray, near: int) -> tuple[FloatArray, IntArray]:
        """Return nearest points (N, 3) [any unit] and their triangles (N,), of `near` pieces."""
        import trimesh

        near = min(near, len(self._triangle))
        corners, nearest, chosen = self.corners / self._size, [], []
        for block in np.array_split(points / self._size, -(-len(points) * near // _BLOCK)):
            _, index = self._tree.query(block, k=np.arange(1, near + 1), workers=-1)
            triangles = self._triangle[np.asarray(index)]
            feet = trimesh.triangles.closest_point(
                corners[triangles.ravel()], np.repeat(block, near, axis=0)
            ).reshape(-1, near, 3)
            rows = np.arange(len(block))
            best = np.linalg.norm(feet - block[:, None], axis=2).argmin(axis=1)
            nearest.append(feet[rows, best])
            chosen.append(triangles[rows, best])
        return self._size * np.concatenate(nearest), np.concatenate(chosen)


def _lengths(corners: FloatArray) -> FloatArray:
    """Return the lengths (F, 3) of the edges of triangles (F, 3, 3) [any unit]."""
    return np.asarray(np.linalg.norm(corners - np.roll(corners, -1, axis=1), axis=2))


def _pieces(corners: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return centroids (P, 3) [any unit] and triangles (P,) of pieces that halve long edges."""
    # Each point of a triangle is then close to the centroid of one of its pieces.
    triangle = np.arange(len(corners))
    limit, most = _COMMON * np.median(_lengths(corners)), _MOST_PIECES * len(corners) + _BLOCK
    centroids, owners = [], []
    while len(corners):
        lengths = _lengths(corners)
        long = (lengths.max(axis=1) > limit) & (len(corners) < most)
        centroids.append(corners[~long].mean(axis=1))
        owners.append(triangle[~long])
        # Corners turned so that the longest edge is that from the first to the second one.
        turn = (lengths[long].argmax(axis=1)[:, None] + np.arange(3)) % 3
        a, b, c = np.moveaxis(np.take_along_axis(corners[long], turn[:, :, None], axis=1), 1, 0)
        middle = 0.5 * (a + b)
        corners = np.concatenate([np.stack([a, middle, c], 1), np.stack([middle, b, c], 1)])
        triangle = np.tile(triangle[long], 2)
    return np.concatenate(centroids), np.concatenate(owners)
