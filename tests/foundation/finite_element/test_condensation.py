"""Condensation to the surface, against a naive dense solution."""

from dataclasses import replace

import numpy as np
import pytest
from hexahedral_blocks import NU, E, assembled, block

from foundation.base.errors import InputError
from foundation.finite_element import condensation
from foundation.finite_element.condensation import ElasticBody, compliance


def layer(cells=4, seed=0):
    nodes, hexahedra, index = block(cells, 0.01, moved=0.2, seed=seed)
    rng = np.random.default_rng(seed)
    top = rng.permutation(index[:, :, -1].ravel())[: cells * cells]
    directions = rng.normal(size=(len(top), 3)) * 0.2 + (0.0, 0.0, 1.0)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return ElasticBody(nodes, hexahedra, nodes[:, 2] == 0.0, np.sort(top), directions, E, NU)


def naive(body):
    """Displacements by unit forces at one retained node after the other."""
    matrix = assembled(body.nodes, body.hexahedra)
    free = ~np.repeat(body.fixed, 3)
    forces = np.zeros((3 * len(body.nodes), len(body.retained)))
    for k, node in enumerate(body.retained):
        forces[3 * node : 3 * node + 3, k] = body.directions[k]
    moved = np.zeros_like(forces)
    moved[free] = np.linalg.solve(matrix[np.ix_(free, free)], forces[free])
    return forces.T @ moved


@pytest.mark.parametrize("leaf", [1, 7, 10_000])
def test_equals_the_dense_solution(leaf, monkeypatch):
    monkeypatch.setattr(condensation, "_LEAF", leaf)
    body = layer()
    found, expected = compliance(body), naive(body)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * expected.max())
    assert np.array_equal(found, found.T)
    assert np.linalg.eigvalsh(found)[0] > 0.0


def test_the_order_of_the_elements_does_not_matter():
    body = layer()
    mixed = replace(body, hexahedra=np.random.default_rng(3).permutation(body.hexahedra))
    np.testing.assert_allclose(compliance(mixed), compliance(body), rtol=1e-9, atol=1e-20)


def test_twice_the_modulus_halves_the_compliance():
    body = layer()
    stiff = compliance(replace(body, youngs_modulus=2.0 * body.youngs_modulus))
    np.testing.assert_allclose(2.0 * stiff, compliance(body), rtol=1e-9, atol=1e-20)


def test_a_body_that_is_not_held_is_refused():
    body = layer(2)
    loose = replace(body, fixed=np.zeros(len(body.nodes), dtype=bool))
    with pytest.raises(InputError, match="not positive definite"):
        compliance(loose)
