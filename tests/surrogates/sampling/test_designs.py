"""Designs: range, stratification, determinism, prefixes and subsets."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from surrogates.sampling.designs import KINDS, PREFIX_KINDS, first_subset, unit_design


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 3), (2, 1), (7, 2), (50, 6)])
def test_shape_and_range(kind, n, d):
    design = unit_design(kind, n, d, 3)
    assert design.shape[1] == d
    assert len(design) == n
    assert design.min() >= 0.0
    assert design.max() <= 1.0
    assert len(np.unique(design, axis=0)) == len(design)


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_design(kind):
    first = unit_design(kind, 40, 4, 11)
    assert np.array_equal(first, unit_design(kind, 40, 4, 11))
    assert np.array_equal(first, unit_design(kind, 40, 4, np.random.default_rng(11)))
    assert not np.array_equal(first, unit_design(kind, 40, 4, 12))


@pytest.mark.parametrize("n", [1, 2, 37, 200])
def test_hypercube_fills_every_cell_once(n):
    cells = np.floor(unit_design("lhs", n, 5, 2) * n).astype(int)
    for column in cells.T:
        assert np.array_equal(np.sort(column), np.arange(n))


@pytest.mark.parametrize("kind", PREFIX_KINDS)
@pytest.mark.parametrize("n", [1, 5, 64, 99])
def test_sequence_prefix(kind, n):
    assert np.array_equal(unit_design(kind, 200, 3, 8)[:n], unit_design(kind, n, 3, 8))


@pytest.mark.parametrize("kind", ["lhs", "hammersley"])
def test_subset_spreads_better_than_prefix(kind):
    design = unit_design(kind, 600, 3, 1)
    chosen = first_subset(design, 40, kind=kind)
    assert len(np.unique(chosen)) == 40
    assert pdist(design[chosen]).min() > 1.5 * pdist(design[:40]).min()
    gap = np.sqrt(((design[:, None] - design[chosen]) ** 2).sum(axis=2)).min(axis=1).max()
    prefix = np.sqrt(((design[:, None] - design[:40]) ** 2).sum(axis=2)).min(axis=1).max()
    assert gap < prefix


def test_subset_of_sequence_is_its_prefix():
    design = unit_design("sobol", 64, 3, 1)
    assert np.array_equal(first_subset(design, 10, kind="sobol"), np.arange(10))
    assert not np.array_equal(first_subset(design, 10), np.arange(10))


def test_subsets_are_nested_and_complete():
    design = unit_design("lhs", 60, 3, 1)
    order = first_subset(design, 60, rng=4)
    assert np.array_equal(np.sort(order), np.arange(60))
    assert np.array_equal(first_subset(design, 15, rng=4), order[:15])
