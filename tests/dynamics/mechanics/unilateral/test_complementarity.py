"""Linear complementarity problems: known answers, independent solvers, counterexamples, Lemke."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from exact_exclusions import TWICE, WITHOUT_END, most_negative_rows
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import linprog, nnls

from dynamics.mechanics.unilateral import ComplementarityError, solve_complementarity
from dynamics.mechanics.unilateral.complementarity import RULES, lemke
from tests.oracles.complementarity import MATRICES, SYMMETRIC, wishart

#: Problems per class and size.
PROBLEMS = {2: 40, 3: 60, 5: 60, 10: 40, 20: 8, 50: 4}


def naive_residual(a, b, solution) -> float:
    """Largest violation of any condition, as a part of the magnitudes that a row is made of."""
    scale = np.abs(a) @ np.abs(solution.x) + np.abs(b)
    assert (solution.x >= 0.0).all()
    assert (solution.y >= 0.0).all()
    assert_array_equal(solution.x * solution.y, 0.0)
    return float((np.abs(a @ solution.x + b - solution.y) / np.where(scale > 0, scale, 1)).max())


def by_enumeration(a, b):
    """All 2^n cases."""
    n = len(b)
    for case in itertools.product((False, True), repeat=n):
        rows = np.flatnonzero(case)
        x = np.zeros(n)
        x[rows] = np.linalg.solve(a[np.ix_(rows, rows)], -b[rows])
        if x.min() >= -1e-12 and (a @ x + b)[~np.array(case)].min(initial=0.0) >= -1e-12:
            return x
    raise AssertionError("no case fits")


def by_interior_point(a, b):
    """Follow the central path x_i y_i = mu of a positive-definite A, then put its case right."""
    n = len(b)
    x, y = np.ones(n), np.ones(n)
    for _ in range(60):
        gap = x @ y / n
        if gap < 1e-13 * np.abs(b).max():
            break
        rest = a @ x + b - y
        dx = np.linalg.solve(x[:, None] * a + np.diag(y), 0.1 * gap - x * y - x * rest)
        dy = a @ dx + rest
        value, change = np.concatenate([x, y]), np.concatenate([dx, dy])
        length = min(1.0, 0.95 * (-value / change)[change < 0.0].min(initial=np.inf))
        x, y = x + length * dx, y + length * dy
    active = x > y
    for _ in range(10):
        rows, x = np.flatnonzero(active), np.zeros(n)
        x[rows] = np.linalg.solve(a[np.ix_(rows, rows)], -b[rows])
        wrong = np.where(active, x, a @ x + b) < -1e-12
        if not wrong.any():
            return x
        active ^= wrong
    raise AssertionError("no case fits")


def by_least_squares(a, b):
    """Non-negative least squares on the factor of a symmetric positive-definite A."""
    factor = cholesky(a, lower=True)
    return nnls(factor.T, -solve_triangular(factor, b, lower=True))[0]


def by_substitution(a, b):
    """Row by row, for a triangular A."""
    x = np.zeros(len(b))
    for row in range(len(b)):
        x[row] = max(0.0, -(b[row] + a[row, :row] @ x[:row]) / a[row, row])
    return x


def independent(name, a, b):
    if name in SYMMETRIC:
        return by_least_squares(a, b)
    return by_substitution(a, b) if name.startswith("triangular") else by_interior_point(a, b)


def check_class(name, counts, seed):
    """Random right sides against another solver, and degenerate ones against what was put in."""
    rng = np.random.default_rng(seed)
    solved = 0
    for n, count in counts.items():
        for number in range(count):
            a = MATRICES[name](rng, n)
            if number % 4 == 3:
                kind = rng.integers(3, size=n)  # of the last kind both are zero
                x = np.where(kind == 0, rng.uniform(0.1, 1.0, n), 0.0)
                y = np.where(kind == 1, rng.uniform(0.1, 1.0, n), 0.0)
                b = y - a @ x
            else:
                b = rng.normal(size=n)
                x = independent(name, a, b)
            for rule in ("most_negative", "blocks"):
                solution = solve_complementarity(a, b, rule=rule)
                assert solution.order == rule
                assert not solution.by_lemke
                assert naive_residual(a, b, solution) < 1e-9
                assert_allclose(solution.x, x, rtol=0.0, atol=1e-9 * max(1.0, x.max()))
            solved += 1
    return solved


@pytest.mark.parametrize("name", MATRICES)
def test_random_problems_against_independent_solvers(name):
    assert check_class(name, PROBLEMS, seed=1) == sum(PROBLEMS.values())


@pytest.mark.parametrize("name", MATRICES)
def test_every_case_tried(name):
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = MATRICES[name](rng, 6), rng.normal(size=6)
        assert_allclose(solve_complementarity(a, b).x, by_enumeration(a, b), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MATRICES)
def test_least_index_finds_the_same(name):
    rng = np.random.default_rng(5)
    for _ in range(20):
        a, b = MATRICES[name](rng, 8), rng.normal(size=8)
        least = solve_complementarity(a, b, rule="least_index")
        assert_allclose(least.x, solve_complementarity(a, b).x, rtol=1e-9, atol=1e-9)


def test_counterexample_row_chosen_twice():
    a, b = TWICE
    assert np.linalg.eigvalsh(a)[0] > 0.19
    assert most_negative_rows(a, b, 20) == [2, 0, 1, 2]
    solution = solve_complementarity(a, b)
    assert solution.exclusions == (2, 0, 1, 2)
    assert solution.repeated
    assert not solution.safeguarded
    assert_allclose(solution.x, [9.0, 6.0, 0.0], rtol=1e-12, atol=0.0)
    assert_allclose(solution.y, [0.0, 0.0, 2.0], rtol=1e-12, atol=0.0)


def test_counterexample_fast_rule_without_end():
    a, b = WITHOUT_END
    assert np.linalg.eigvalsh(a)[0] > 4e-3
    assert most_negative_rows(a, b, 60) == [3, 0, 1] * 20
    solution = solve_complementarity(a, b)
    assert solution.safeguarded
    assert not solution.by_lemke
    assert naive_residual(a, b, solution) < 1e-12
    assert_allclose(solution.x, by_enumeration(a, b), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["K-matrix", "tridiagonal K-matrix"])
def test_k_matrices_never_choose_a_row_twice(name):
    rng = np.random.default_rng(6)
    for n in (3, 5, 10, 60):
        for _ in range(40):
            a, b = MATRICES[name](rng, n), rng.normal(size=n)
            solution = solve_complementarity(a, b)
            assert not solution.repeated
            # What has entered stays: X grows.
            assert set(solution.exclusions) == set(np.flatnonzero(solution.active))


def test_wishart_matrices_sometimes_do():
    rng = np.random.default_rng(7)
    pairs = [(MATRICES["Wishart, n samples"](rng, 5), rng.normal(size=5)) for _ in range(1000)]
    share = np.mean([solve_complementarity(a, b).repeated for a, b in pairs])
    assert 0.01 < share < 0.1


@pytest.mark.parametrize("rule", RULES)
def test_scaling_of_rows_and_columns(rule):
    rng = np.random.default_rng(8)
    scale = 10.0 ** rng.uniform(-6.0, 6.0, 12)
    a, b = wishart(rng, 12), rng.normal(size=12)
    plain = solve_complementarity(a, b, rule=rule)
    scaled = solve_complementarity(scale[:, None] * a * scale, scale * b, rule=rule)
    assert_allclose(scaled.x * scale, plain.x, rtol=1e-9, atol=1e-12)


def test_semidefinite_by_lemke():
    # Two springs in a row against one force between: only the difference of X counts.
    a = np.array([[0.0, 1.0], [-1.0, 0.0]])
    solution = solve_complementarity(a, [-1.0, 2.0])
    assert solution.by_lemke
    assert naive_residual(a, np.array([-1.0, 2.0]), solution) < 1e-14
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


def semidefinite(rng, n):
    """A of low rank plus a skew part: positive semidefinite, no P-matrix."""
    factor, skew = rng.normal(size=(n, n // 2)), rng.normal(size=(n, n))
    return factor @ factor.T + (skew - skew.T) * (rng.random() < 0.5)


@pytest.mark.slow
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
