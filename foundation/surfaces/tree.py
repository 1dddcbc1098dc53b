"""Bounding-volume tree over boxes, as flat arrays for the compiled kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foundation.checks import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class BoxTree:
    """Binary tree of axis-aligned boxes in depth-first order.

    Parameters
    ----------
    order : (N,) int64
        Items in the order of the leaves.
    low, high : (M, 3) float64
        Corners of the box of each node [m].
    next : (M,) int64
        Next node that is not below this node, to continue with when a box is missed.
    first, count : (M,) int64
        Range of a leaf in `order`; count is 0 for an inner node.
    """

    order: IntArray
    low: FloatArray
    high: FloatArray
    next: IntArray
    first: IntArray
    count: IntArray


def build_tree(low: FloatArray, high: FloatArray, leaf_size: int) -> BoxTree:
    """Build a tree by halving along the largest extent of the box centres.

    From the corners (N, 3) [m] of the box of each item, N >= 1, with at most `leaf_size` items a
    leaf.
    """
    middle = 0.5 * (low + high)
    order = np.arange(len(low))
    nodes: list[tuple[FloatArray, FloatArray, int, int]] = []
    skip: list[int] = []

    def grow(start: int, stop: int) -> None:
        index = len(nodes)
        items = order[start:stop]
        leaf = stop - start <= leaf_size
        box = low[items].min(axis=0), high[items].max(axis=0)
        nodes.append((*box, start, stop - start if leaf else 0))
        skip.append(0)
        if not leaf:
            axis = int(np.argmax(np.ptp(middle[items], axis=0)))
            # A stable sort keeps the tree the same on every machine.
            order[start:stop] = items[np.argsort(middle[items, axis], kind="stable")]
            half = (start + stop) // 2
            grow(start, half)
            grow(half, stop)
        skip[index] = len(nodes)

    grow(0, len(low))
    lows, highs, firsts, counts = zip(*nodes, strict=True)
    return BoxTree(
        order,
        np.array(lows),
        np.array(highs),
        np.array(skip, dtype=np.int64),
        np.array(firsts, dtype=np.int64),
        np.array(counts, dtype=np.int64),
    )
