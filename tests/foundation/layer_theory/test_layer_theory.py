"""Compliance of a flat layer, sums over a lattice, complementarity of nodal forces and gaps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import nnls
from scipy.special import j0

from foundation.layer_theory.flat_layer import (
    PER_STEP,
    deficit_table,
    deficit_transform,
    own_part,
    solve_contact,
    strength,
)

RATIOS = (0.0, 0.3, 0.46)


def compliance(ratio, distance):
    """1/r - D(r) of a layer of thickness 1, from the table."""
    table = deficit_table(ratio)
    place = distance * PER_STEP
    piece = place.astype(int)
    u = place - piece
    value = sum(table[piece, k] * u**k for k in range(4))
    return 1.0 / distance - value


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("size", [0.25, 0.4, 0.6])
@pytest.mark.parametrize("oblique", [False, True])
def test_an_even_pressure_moves_the_nodes_as_the_layer(ratio, size, oblique):
    """Cells smaller than the thickness, square and oblique, answer as C E / h."""
    first, second = np.array([size, 0.0]), np.array([0.3, 0.7] if oblique else [0.0, 1.0]) * size
    reach = int(22.0 / (0.6 * size))
    i, j = np.meshgrid(*[np.arange(-reach, reach + 1)] * 2, indexing="ij")
    away = np.hypot(*(i[..., None] * first + j[..., None] * second).reshape(-1, 2).T)
    near = away[(away > 0.0) & (away < 20.0)]
    edges = [np.append(edge, 0.0)[None, :] for edge in (first, second)]
    own = own_part(*edges)[0] - deficit_table(ratio)[0, 0]
    area = abs(first[0] * second[1] - first[1] * second[0])
    total = strength(1.0, ratio) * area * (own + compliance(ratio, near).sum())
    confined = (1.0 - ratio) / ((1.0 + ratio) * (1.0 - 2.0 * ratio))
    assert total == pytest.approx(1.0 / confined, rel=2e-3)


@pytest.mark.parametrize("ratio", RATIOS)
def test_the_table_is_the_integral_of_hayes(ratio):
    s = np.linspace(0.0, 40.0, 200_001)[1:]
    for distance in (0.25, 1.0, 3.0):
        integrand = deficit_transform(s, ratio) * j0(s * distance)
        expected = np.trapezoid(np.append(1.0, integrand), np.append(0.0, s))
        found = 1.0 / distance - compliance(ratio, np.array([distance]))[0]
        assert_allclose(found, expected, rtol=1e-4)


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
