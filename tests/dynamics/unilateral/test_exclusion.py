"""States between exclusions: Jordan's tableau against the subsystem, pivots, noise."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.complementarity import MATRICES
from dynamics.mechanics.unilateral.exclusion import Gauss, Jordan, Noise, PivotError


@pytest.mark.parametrize("name", MATRICES)
def test_jordan_and_gauss_have_the_same_free_terms(name):
    rng = np.random.default_rng(1)
    a, b = MATRICES[name](rng, 9), rng.normal(size=9)
    jordan, gauss = Jordan(a, b), Gauss(a, b, Noise(a, b))
    for _ in range(30):
        negative = np.flatnonzero(gauss.free < 0.0)
        if negative.size == 0:
            break
        row = int(rng.choice(negative))
        jordan.exclude(row)
        gauss.exclude(row)
        assert_array_equal(jordan.active, gauss.active)
        assert_allclose(jordan.free, gauss.free, rtol=1e-7, atol=1e-9 * np.abs(gauss.free).max())


def test_free_terms_satisfy_the_equations():
    rng = np.random.default_rng(2)
    a, b = MATRICES["Wishart, 2 n samples"](rng, 6), -np.ones(6)
    state = Jordan(a, b)
    for row in (4, 1, 2):
        state.exclude(row)
    x = np.where(state.active, state.free, 0.0)
    y = np.where(state.active, 0.0, state.free)
    assert_allclose(a @ x + b, y, rtol=0.0, atol=1e-13)


def test_excluding_twice_restores_the_tableau():
    rng = np.random.default_rng(3)
    a, b = MATRICES["positive definite, skew part"](rng, 5), rng.normal(size=5)
    state = Jordan(a, b)
    for row in (3, 0, 0, 3):
        state.exclude(row)
    assert_array_equal(state.active, False)
    assert_allclose(state.free, b, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("last", [1.0, 1.0 + 1e-15, 0.5])
def test_pivots_that_are_not_positive_are_refused(last):
    a, b = np.array([[1.0, 1.0], [1.0, last]]), np.array([-1.0, -2.0])
    for state in (Jordan(a, b), Gauss(a, b, Noise(a, b))):
        state.exclude(0)
        with pytest.raises(PivotError):
            state.exclude(1)


def test_noise_scales_with_rows_and_columns():
    rng = np.random.default_rng(4)
    a, b, free = MATRICES["Wishart, 2 n samples"](rng, 7), rng.normal(size=7), rng.normal(size=7)
    active = np.arange(7) % 2 == 0
    rows, columns = 10.0 ** rng.uniform(-6.0, 6.0, (2, 7))
    plain = Noise(a, b).limits(active, free)
    factor = np.where(active, 1.0 / columns, rows)
    scaled = Noise(rows[:, None] * a * columns, rows * b).limits(active, factor * free)
    assert_allclose(scaled, factor * plain, rtol=1e-12)
    assert plain.max() < 1e-10
