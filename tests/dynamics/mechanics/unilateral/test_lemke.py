"""Lemke's method: definite, semidefinite, degenerate and unsolvable problems."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from benchmarks.complementarity import MATRICES
from dynamics.mechanics.unilateral import ComplementarityError, solve_complementarity
from dynamics.mechanics.unilateral.lemke import lemke


@pytest.mark.parametrize("name", MATRICES)
def test_same_rows_as_switching(name):
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 20):
        for _ in range(20):
            a, b = MATRICES[name](rng, n), rng.normal(size=n)
            assert_array_equal(lemke(a, b), solve_complementarity(a, b).active)


def semidefinite(rng, n):
    """A of low rank plus a skew part: positive semidefinite, no P-matrix."""
    factor, skew = rng.normal(size=(n, n // 2)), rng.normal(size=(n, n))
    return factor @ factor.T + (skew - skew.T) * (rng.random() < 0.5)


def test_semidefinite_problems_are_solved_or_have_no_feasible_point():
    rng = np.random.default_rng(2)
    solved = refused = 0
    for _ in range(300):
        n = int(rng.integers(2, 9))
        a, b = semidefinite(rng, n), rng.normal(size=n)
        feasible = linprog(np.zeros(n), A_ub=-a, b_ub=b, method="highs").status == 0
        try:
            solution = solve_complementarity(a, b)
        except ComplementarityError:
            refused += 1
            assert not feasible
        else:
            solved += 1
            scale = np.abs(a) @ solution.x + np.abs(b)
            assert (np.abs(a @ solution.x + b - solution.y) < 1e-9 * scale).all()
            assert (solution.x * solution.y == 0.0).all()
    assert solved > 100
    assert refused > 20


def test_ties_do_not_make_it_run_in_a_circle():
    for n in (3, 6, 12):
        a = np.ones((n, n)) + np.eye(n)
        active = lemke(a, -np.ones(n))
        assert active is not None
        # All rows are alike: so is X.
        x = np.linalg.solve(a[np.ix_(active, active)], np.ones(int(active.sum())))
        assert_allclose(x, 1.0 / (n + 1.0), rtol=1e-12)


def test_ties_that_circle_without_the_lexicographic_rule():
    # A P-matrix; with the first of equal ratios the method never ends.
    assert_array_equal(lemke(np.array([[1.0, 2, 0], [0, 1, 2], [2, 0, 1]]), -np.ones(3)), True)


def test_the_artificial_variable_leaves_first_of_equals():
    # Positive semidefinite, X = (0, 1, 0, 1) and Y = 0; otherwise the method ends on a ray.
    a = np.array([[1.0, 1, -2, 0], [1, 1, -1, -1], [0, -1, 1, 2], [-2, -1, 0, 1]])
    b = np.array([-1.0, 0, -1, 0])
    active = lemke(a, b)
    assert active is not None
    x = np.zeros(4)
    x[active] = np.linalg.solve(a[np.ix_(active, active)], -b[active])
    assert_allclose(x, [0.0, 1.0, 0.0, 1.0], rtol=0.0, atol=1e-12)


def test_murtys_matrix_of_exponentially_many_steps():
    # Murty 1978: lower triangular, 1 on and 2 below the diagonal.
    n = 8
    a = np.tril(2.0 * np.ones((n, n)), -1) + np.eye(n)
    active = lemke(a, -(2.0 ** np.arange(n, 0, -1)))
    assert_array_equal(active, np.arange(n) == 0)


def test_a_ray():
    assert lemke(np.array([[-1.0]]), np.array([-1.0])) is None
    assert_array_equal(lemke(np.array([[-1.0]]), np.array([1.0])), [False])
