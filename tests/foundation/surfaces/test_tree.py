"""The box tree: every item once, boxes that hold what is below them."""

from __future__ import annotations

import numpy as np
import pytest

from foundation.surfaces.tree import build_tree


def boxes(count, seed=0, size=0.1):
    rng = np.random.default_rng(seed)
    low = rng.random((count, 3)) * [1.0, 2.0, 0.5]
    return low, low + size * rng.random((count, 3))


def below(tree, node):
    """Items under a node: those of the leaves up to where its skip link leads."""
    nodes = range(node, tree.next[node])
    ranges = [(tree.first[n], tree.first[n] + tree.count[n]) for n in nodes if tree.count[n]]
    return np.concatenate([tree.order[a:b] for a, b in ranges])


@pytest.mark.parametrize("leaf_size", [1, 4, 16])
@pytest.mark.parametrize("count", [1, 2, 3, 16, 17, 100])
def test_every_item_is_in_one_leaf(count, leaf_size):
    tree = build_tree(*boxes(count), leaf_size)
    leaf = tree.count > 0
    np.testing.assert_array_equal(np.sort(tree.order), np.arange(count))
    # The leaves follow each other in `order` without gap or overlap.
    ends = np.append(0, np.cumsum(tree.count[leaf]))
    np.testing.assert_array_equal(tree.first[leaf], ends[:-1])
    assert ends[-1] == count
    assert tree.count.max() <= leaf_size
    assert (tree.count[leaf] >= min(count, (leaf_size + 1) // 2)).all()


@pytest.mark.parametrize("count", [1, 7, 100])
def test_boxes_are_those_of_the_items_below(count):
    low, high = boxes(count)
    tree = build_tree(low, high, 3)
    for node in range(len(tree.next)):
        items = below(tree, node)
        np.testing.assert_array_equal(tree.low[node], low[items].min(axis=0))
        np.testing.assert_array_equal(tree.high[node], high[items].max(axis=0))


def test_skip_links_lead_past_what_is_below():
    tree = build_tree(*boxes(100), 3)
    nodes = len(tree.next)
    assert tree.next[0] == nodes
    for node in range(nodes):
        if tree.count[node]:
            assert tree.next[node] == node + 1
            continue
        # An inner node's children are the next node and the one that its skip link names.
        left, right = node + 1, tree.next[node + 1]
        assert tree.next[right] == tree.next[node]
        halves = len(below(tree, left)), len(below(tree, right))
        assert halves[1] - halves[0] in (0, 1)
        assert sum(halves) == len(below(tree, node))


def test_identical_items_end_up_in_leaves_too():
    low = np.zeros((50, 3))
    tree = build_tree(low, low + 1.0, 4)
    np.testing.assert_array_equal(np.sort(tree.order), np.arange(50))
    assert tree.count.max() <= 4


def test_the_same_items_give_the_same_tree():
    first, second = (build_tree(*boxes(80), 4) for _ in range(2))
    for name in ("order", "low", "high", "next", "first", "count"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
