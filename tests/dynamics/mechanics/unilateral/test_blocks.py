"""Blocks of rows: updates against new factorisations, stages, equalities, degenerate matrices."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import lsq_linear, minimize

from dynamics.mechanics.unilateral import ComplementarityError, solve_complementarity
from tests.oracles.complementarity import MATRICES, SYMMETRIC, skewed, wishart


def residual(a, b, solution, equalities=()):
    """Largest violation of any condition, as a part of the magnitudes that a row is made of."""
    scale = np.abs(a) @ np.abs(solution.x) + np.abs(b)
    signed = np.delete(solution.x, equalities)
    assert (signed >= 0.0).all()
    assert (solution.y >= 0.0).all()
    assert_array_equal(solution.x * solution.y, 0.0)
    return float((np.abs(a @ solution.x + b - solution.y) / np.where(scale > 0, scale, 1)).max())


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("n", [64, 150])
def test_large_problems_meet_all_conditions(name, n):
    rng = np.random.default_rng(n)
    a, b = MATRICES[name](rng, n), rng.normal(size=n)
    solution = solve_complementarity(a, b)
    assert solution.order == "blocks"
    assert residual(a, b, solution) < 1e-12
    # Of a P-matrix the solution is unique: single rows find the same.
    if n < 300:
        single = solve_complementarity(a, b, rule="most_negative")
        assert_array_equal(solution.active, single.active)
        assert_allclose(solution.x, single.x, rtol=0.0, atol=1e-8 * single.x.max())


def test_scaling_of_large_problems():
    rng = np.random.default_rng(2)
    for make in (wishart, skewed):
        scale = 10.0 ** rng.uniform(-5.0, 5.0, 160)
        a, b = make(rng, 160), rng.normal(size=160)
        plain = solve_complementarity(a, b)
        scaled = solve_complementarity(scale[:, None] * a * scale, scale * b)
        assert scaled.order == "blocks"
        assert_array_equal(scaled.active, plain.active)
        assert_allclose(scaled.x * scale, plain.x, rtol=1e-9, atol=1e-12)


def test_blocks_of_degenerate_and_singular_matrices():
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


# ---- equalities ----


def equality_problem(rng, n, make=wishart):
    rows = np.sort(rng.choice(n, max(1, n // 3), replace=False))
    return make(rng, n), rng.normal(size=n), rows


@pytest.mark.parametrize("name", SYMMETRIC)
@pytest.mark.parametrize("n", [3, 12, 90])
def test_equalities_are_least_squares_with_some_bounds(name, n):
    rng = np.random.default_rng(n)
    for _ in range(5):
        a, b, rows = equality_problem(rng, n, MATRICES[name])
        solution = solve_complementarity(a, b, equalities=rows)
        assert residual(a, b, solution, rows) < 1e-11
        assert_array_equal(solution.y[rows], 0.0)
        assert solution.active[rows].all()
        assert not set(solution.exclusions) & set(rows.tolist())
        if name.startswith("Wishart, 2"):
            least = np.zeros(n)
            least[rows] = -np.inf
            root = np.linalg.cholesky(a)
            found = lsq_linear(root.T, -np.linalg.solve(root, b), (least, np.inf), tol=1e-14)
            assert_allclose(solution.x, found.x, rtol=0.0, atol=1e-5 * np.abs(found.x).max())


def by_enumeration(a, b, rows):
    n, free = len(b), [i for i in range(len(b)) if i not in rows]
    for case in itertools.product((False, True), repeat=len(free)):
        active = np.zeros(n, bool)
        active[rows] = True
        active[free] = case
        x = np.zeros(n)
        x[active] = np.linalg.solve(a[np.ix_(active, active)], -b[active])
        if x[free].min() >= -1e-12 and (a @ x + b)[~active].min(initial=0.0) >= -1e-12:
            return x
    raise AssertionError("no case fits")


@pytest.mark.parametrize("name", MATRICES)
def test_every_case_with_equalities_tried(name):
    rng = np.random.default_rng(5)
    for _ in range(20):
        a, b, rows = equality_problem(rng, 7, MATRICES[name])
        x = by_enumeration(a, b, rows)
        for equalities in (rows, np.isin(np.arange(7), rows)):
            solution = solve_complementarity(a, b, equalities=equalities)
            assert_allclose(solution.x, x, rtol=1e-9, atol=1e-9)


def test_a_quadratic_programme_with_equality_and_bounds():
    # Lagrange's multiplier stands in a row with a zero diagonal: no pivot, hence Lemke's method.
    rng = np.random.default_rng(6)
    for n in (3, 8, 70):
        h, c = wishart(rng, n), rng.normal(size=n)
        along = rng.uniform(0.5, 1.5, n)
        a = np.block([[h, -along[:, None]], [along[None], np.zeros((1, 1))]])
        b = np.concatenate([c, [-1.0]])
        solution = solve_complementarity(a, b, equalities=[n])
        assert residual(a, b, solution, [n]) < 1e-10
        found = minimize(
            lambda x, h=h, c=c: (x @ h @ x / 2.0 + c @ x, h @ x + c),
            np.full(n, 1.0 / along.sum()),
            jac=True,
            method="SLSQP",
            bounds=[(0.0, None)] * n,
            constraints={"type": "eq", "fun": lambda x, along=along: along @ x - 1.0},
            options={"ftol": 1e-13, "maxiter": 1000},
        )
        assert_allclose(solution.x[:n], found.x, rtol=0.0, atol=1e-3)


def test_only_equalities_is_a_linear_system():
    rng = np.random.default_rng(7)
    for n in (2, 70):
        a, b = skewed(rng, n), rng.normal(size=n)
        solution = solve_complementarity(a, b, equalities=range(n))
        assert_allclose(solution.x, np.linalg.solve(a, -b), rtol=1e-9)
        assert solution.exclusions == ()


@pytest.mark.parametrize("rule", ["most_negative", "blocks"])
def test_sparse_problems_with_nothing_but_rounding_errors_in_many_rows(rule):
    # Laplace's operator; X and Y are zero in most rows, and equalities spread rounding errors.
    rng = np.random.default_rng(7)
    for number in range(60):
        k = int(rng.integers(6, 13))
        line = 2.0 * np.eye(k) - np.eye(k, k=1) - np.eye(k, k=-1)
        a = np.kron(np.eye(k), line) + np.kron(line, np.eye(k))
        n = k * k
        b = -a @ np.maximum(rng.normal(size=n) - rng.choice([0.0, 0.5, 1.0]), 0.0)
        rows = np.flatnonzero(rng.random(n) < 0.2) if number % 2 else np.empty(0, dtype=int)
        solution = solve_complementarity(a, b, rule=rule, equalities=rows)
        rest = np.abs(a @ solution.x + b - solution.y)
        assert rest.max() < 1e-12 * np.abs(b).max()
        if number % 2 == 0:
            assert residual(a, b, solution) < 1e-9
        else:
            assert (np.delete(solution.x, rows) >= 0.0).all()
            assert_array_equal(solution.x * solution.y, 0.0)


def test_nearly_skew_problems():
    rng = np.random.default_rng(8)
    sample = rng.normal(size=(80, 80))
    a, b = sample - sample.T + 1e-3 * np.eye(80), rng.normal(size=80)
    assert residual(a, b, solve_complementarity(a, b)) < 1e-9


@pytest.mark.parametrize(
    ("matrix", "constant", "equalities", "x"),
    [
        ([[0.0]], [0.0], [0], [0.0]),
        ([[0.0, 0.0], [0.0, 1.0]], [0.0, -1.0], [0], [0.0, 1.0]),
        ([[1.0, 1.0], [1.0, 1.0]], [-1.0, -1.0], [0, 1], [0.0, 1.0]),
        ([[1.0, 1.0], [1.0, 1.0]], [-1.0, -2.0], [0, 1], None),
    ],
)
def test_equalities_that_depend_on_each_other(matrix, constant, equalities, x):
    """Where they agree there is a solution, else none."""
    if x is None:
        with pytest.raises(ComplementarityError, match="no solution exists"):
            solve_complementarity(matrix, constant, equalities=equalities)
        return
    found = solve_complementarity(matrix, constant, equalities=equalities)
    assert_allclose(found.x, x, atol=1e-15)
    assert_allclose(found.y, 0.0, atol=0.0)
    assert found.by_lemke


def test_dependent_equalities_of_semidefinite_problems():
    """Of random problems made from a solution nearly all are solved, none wrongly."""
    rng, solved = np.random.default_rng(21), 0
    for _ in range(200):
        n = int(rng.integers(2, 9))
        root = rng.normal(size=(n, int(rng.integers(1, n))))
        equal, x = rng.random(n) < 0.6, rng.exponential(size=n) * (rng.random(n) < 0.5)
        x[equal] = rng.normal(size=equal.sum())
        y = np.where(equal | (x > 0.0), 0.0, rng.exponential(size=n))
        a = root @ root.T
        b = y - a @ x
        with contextlib.suppress(ComplementarityError):
            found = solve_complementarity(a, b, equalities=equal)
            assert_allclose(a @ found.x + b, found.y, atol=1e-7 * (1.0 + np.abs(found.x).max()))
            assert found.x[~equal].min(initial=0.0) >= 0.0
            assert found.y.min() >= 0.0
            assert not found.y[equal].any()
            solved += 1
    assert solved >= 195
