"""SOAP: the first moves by hand, ill-conditioned quadratics, stacks."""

from __future__ import annotations

import numpy as np
import pytest

from surrogates.families.soap import Soap


def quadratic(rng, m, n, condition):
    """Return the gradient of |A (W - X) B|^2 / 2 with ill-conditioned A and B, and X."""
    squares = []
    for size in (m, n):
        turn = np.linalg.qr(rng.normal(size=(size, size)))[0]
        squares.append(turn @ np.diag(np.geomspace(1.0, condition, size)) @ turn.T)
    best = rng.normal(size=(m, n))
    return (lambda w: squares[0] @ (w - best) @ squares[1]), best


def test_first_move_is_a_unit_in_each_direction_of_the_basis():
    gradient = np.diag([3.0, 0.5]).astype(np.float32)[None]
    weights = np.zeros((1, 2, 2), dtype=np.float32)
    optimiser = Soap(weights)
    optimiser.step(gradient, 0.1)
    np.testing.assert_array_equal(weights, 0.0)
    optimiser.step(gradient, 0.1)
    np.testing.assert_allclose(weights, -0.1 * np.eye(2)[None], atol=1e-6)


@pytest.mark.parametrize("shape", [(6, 6), (7, 3), (1, 5)])
def test_finds_the_minimum_of_an_ill_conditioned_quadratic(shape):
    rng = np.random.default_rng(0)
    slope, best = quadratic(rng, *shape, 1e-3)
    weights = np.zeros((1, *shape), dtype=np.float32)
    optimiser = Soap(weights)
    for step in range(1500):
        turn = 0.5 * (1.0 + np.cos(np.pi * step / 1500))
        optimiser.step(slope(weights[0]).astype(np.float32)[None], 0.03 * turn)
    assert np.abs(weights[0] - best).max() < 0.02 * np.abs(best).max()


def test_matrices_of_a_stack_do_not_see_each_other():
    rng = np.random.default_rng(0)
    start = rng.normal(size=(2, 4, 3)).astype(np.float32)
    gradients = rng.normal(size=(60, 2, 4, 3)).astype(np.float32)
    together, alone = start.copy(), start[1:].copy()
    both, one = Soap(together), Soap(alone)
    for gradient in gradients:
        both.step(gradient, 0.01)
        one.step(gradient[1:], 0.01)
    np.testing.assert_allclose(together[1], alone[0], rtol=1e-3, atol=1e-4)
