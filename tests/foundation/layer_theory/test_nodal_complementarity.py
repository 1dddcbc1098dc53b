"""Complementarity of nodal forces and gaps, against non-negative least squares."""

import numpy as np
import pytest
from scipy.optimize import nnls

from foundation.layer_theory.complementarity import solve_contact


def problem(seed, count=40, kind="layer"):
    rng = np.random.default_rng(seed)
    if kind == "random":
        root = rng.normal(size=(count, count))
        matrix = root @ root.T + 1e-3 * np.eye(count)
        return matrix, rng.normal(size=count)
    at = rng.uniform(-1.0, 1.0, (count, 2))
    away = np.linalg.norm(at[:, None] - at, axis=2)
    matrix = np.exp(-3.0 * away) + 0.3 * np.eye(count)
    return 1e-6 * matrix, 1e-4 * (0.4 - (at**2).sum(axis=1))


def solved(matrix, overlaps):
    return solve_contact(lambda rows, columns: matrix[np.ix_(rows, columns)], overlaps)


@pytest.mark.parametrize("kind", ["layer", "random"])
@pytest.mark.parametrize("seed", range(8))
def test_conditions_hold_and_least_squares_agree(kind, seed):
    matrix, overlaps = problem(seed, kind=kind)
    found = solved(matrix, overlaps)
    forces = np.zeros(len(overlaps))
    forces[found.active] = found.forces
    gaps = matrix @ forces - overlaps
    size = abs(overlaps).max()
    assert forces.min() >= 0.0
    assert gaps.min() > -1e-10 * size
    assert abs(forces * gaps).max() < 1e-10 * size * forces.max()
    np.testing.assert_allclose(gaps[found.active], 0.0, rtol=0, atol=1e-10 * size)
    # min f.C f/2 - d.f = |L' f - L⁻¹ d|²/2 over f >= 0, with C = L L'.
    factor = np.linalg.cholesky(matrix)
    expected = nnls(factor.T, np.linalg.solve(factor, overlaps), maxiter=10_000)[0]
    np.testing.assert_allclose(forces, expected, rtol=0, atol=1e-7 * forces.max())


def test_no_contact_without_an_overlap():
    matrix, overlaps = problem(0)
    assert solved(matrix, overlaps - overlaps.max()) is None
    assert solved(matrix, -abs(overlaps)) is None


def test_one_node():
    found = solved(np.array([[2e-6]]), np.array([1e-4]))
    assert found.forces[0] == pytest.approx(50.0)


def test_the_order_of_the_nodes_does_not_matter():
    matrix, overlaps = problem(5)
    order = np.random.default_rng(0).permutation(len(overlaps))
    first = solved(matrix, overlaps)
    second = solved(matrix[np.ix_(order, order)], overlaps[order])
    assert set(order[second.active]) == set(first.active)
    assert second.forces.sum() == pytest.approx(first.forces.sum(), rel=1e-12)
