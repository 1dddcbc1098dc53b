"""Bounding-volume tree over boxes, as flat arrays for the library in C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, IntArray


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
    nodes = sum(len(own) for own in index)
    lows, highs = np.empty((2, nodes, 3))
    after, first, count = np.empty((3, nodes), dtype=np.int64)
    children = np.empty(0, dtype=np.int64)
    for own, level in zip(reversed(index), reversed(levels), strict=True):
        leaf, inner = own[~level.inner], own[level.inner]
        after[leaf] = leaf + 1
        count[own] = np.where(level.inner, 0, level.stop - level.start)
        first[own] = level.start
        left, right = children[::2], children[1::2]
        after[inner] = after[right]
        lows[inner] = np.minimum(lows[left], lows[right])
        highs[inner] = np.maximum(highs[left], highs[right])
        items = order[_ranges(level.start[~level.inner], level.stop[~level.inner])]
        begin = np.cumsum(count[leaf]) - count[leaf]
        lows[leaf] = np.minimum.reduceat(low[items], begin) if len(leaf) else 0.0
        highs[leaf] = np.maximum.reduceat(high[items], begin) if len(leaf) else 0.0
        children = own
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
