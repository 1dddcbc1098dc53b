"""Linear complementarity problems: all conditions, every case, counterexamples, Lemke."""

import itertools

import numpy as np
import pytest
from exact_exclusions import WITHOUT_END, most_negative_rows
from numpy.testing import assert_allclose, assert_array_equal

from dynamics.mechanics.complementarity import ComplementarityError, lemke, solve_complementarity
from tests.oracles.complementarity import MATRICES, wishart


def residual(a, b, solution):
    """Largest violation of any condition, as a part of the magnitudes that a row is made of."""
    scale = np.abs(a) @ np.abs(solution.x) + np.abs(b)
    assert (solution.x >= 0.0).all()
    assert (solution.y >= 0.0).all()
    assert_array_equal(solution.x * solution.y, 0.0)
    return float((np.abs(a @ solution.x + b - solution.y) / np.where(scale > 0, scale, 1)).max())


def by_enumeration(a, b):
    """Try all cases."""
    for case in itertools.product((False, True), repeat=len(b)):
        active, x = np.array(case), np.zeros(len(b))
        x[active] = np.linalg.solve(a[np.ix_(active, active)], -b[active])
        if x.min() >= -1e-12 and (a @ x + b)[~active].min(initial=0.0) >= -1e-12:
            return x
    raise AssertionError("no case fits")


@pytest.mark.parametrize("name", MATRICES)
def test_random_problems_meet_all_conditions(name):
    """The solution of a P-matrix is unique: whatever meets all conditions is the solution.

    Every fourth problem is degenerate, made from a solution.
    """
    rng = np.random.default_rng(1)
    for n, count in {2: 40, 3: 60, 5: 60, 10: 40, 20: 8, 50: 4}.items():
        for number in range(count):
            a, b, x = MATRICES[name](rng, n), rng.normal(size=n), None
            if number % 4 == 3:
                kind = rng.integers(3, size=n)  # of the last kind both are zero
                x = np.where(kind == 0, rng.uniform(0.1, 1.0, n), 0.0)
                b = np.where(kind == 1, rng.uniform(0.1, 1.0, n), 0.0) - a @ x
            solution = solve_complementarity(a, b)
            assert residual(a, b, solution) < 1e-9
            if x is not None:
                assert_allclose(solution.x, x, rtol=0.0, atol=1e-9)


def test_counterexample_fast_rule_without_end():
    a, b = WITHOUT_END
    assert np.linalg.eigvalsh(a)[0] > 4e-3
    assert most_negative_rows(a, b, 60) == [3, 0, 1] * 20
    solution = solve_complementarity(a, b)
    assert solution.by_lemke
    assert solution.exclusions[:4] == (3, 0, 1, 3)
    assert residual(a, b, solution) < 1e-12
    assert_allclose(solution.x, by_enumeration(a, b), rtol=1e-10, atol=1e-12)


def test_scaling_of_rows_and_columns():
    rng = np.random.default_rng(8)
    scale = 10.0 ** rng.uniform(-6.0, 6.0, 12)
    a, b = wishart(rng, 12), rng.normal(size=12)
    plain = solve_complementarity(a, b)
    scaled = solve_complementarity(scale[:, None] * a * scale, scale * b)
    assert_allclose(scaled.x * scale, plain.x, rtol=1e-9, atol=1e-12)


def test_semidefinite_by_lemke():
    # Two springs in a row against one force between: only the difference of X counts.
    a = np.array([[0.0, 1.0], [-1.0, 0.0]])
    solution = solve_complementarity(a, [-1.0, 2.0])
    assert solution.by_lemke
    assert residual(a, np.array([-1.0, 2.0]), solution) < 1e-14
    with pytest.raises(ComplementarityError, match="ended on a ray"):
        solve_complementarity(np.array([[1.0, -1.0], [-1.0, 1.0]]), [-1.0, -1.0])


# ---- Lemke's method: semidefinite, degenerate and unsolvable problems ----


@pytest.mark.parametrize("name", MATRICES)
def test_same_rows_as_switching(name):
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 20):
        for _ in range(20):
            a, b = MATRICES[name](rng, n), rng.normal(size=n)
            assert_array_equal(lemke(a, b), solve_complementarity(a, b).active)


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


def test_large_degenerate_and_singular_matrices():
    rng = np.random.default_rng(4)
    for _ in range(20):
        factor = rng.normal(size=(90, 45))
        a = factor @ factor.T
        x = np.maximum(rng.normal(size=90), 0.0)
        b = np.where(x > 0.0, 0.0, rng.uniform(0.0, 1.0, 90)) - a @ x
        # Many solutions: only that one is found can be asked for.
        assert residual(a, b, solve_complementarity(a, b)) < 1e-9
    with pytest.raises(ComplementarityError, match="ended on a ray"):
        solve_complementarity(-np.eye(70, k=1), -np.ones(70))


def test_sparse_problems_with_nothing_but_rounding_errors_in_many_rows():
    # Laplace's operator; X and Y are zero in most rows.
    rng = np.random.default_rng(7)
    for _ in range(30):
        k = int(rng.integers(6, 13))
        line = 2.0 * np.eye(k) - np.eye(k, k=1) - np.eye(k, k=-1)
        a = np.kron(np.eye(k), line) + np.kron(line, np.eye(k))
        b = -a @ np.maximum(rng.normal(size=k * k) - rng.choice([0.0, 0.5, 1.0]), 0.0)
        assert residual(a, b, solve_complementarity(a, b)) < 1e-9
