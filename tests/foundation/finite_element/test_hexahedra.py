"""Hexahedra, and their condensation to a surface, against exact and dense solutions."""

from dataclasses import replace

import numpy as np
import pytest

from foundation.base.errors import InputError
from foundation.finite_element import condensation, condensed_layer
from foundation.finite_element.condensation import (
    CORNERS,
    ElasticBody,
    compliance,
    elasticity,
    scaled_jacobian,
    stiffness,
)
from foundation.finite_element.condensed_layer import ComplianceStore

E, NU = 10e6, 0.45


def block(cells, size=1.0, moved=0.0, seed=0):
    """Nodes (N, 3), their indices on a grid, and hexahedra of a cube; inner nodes moved."""
    line = np.linspace(0.0, size, cells + 1)
    nodes = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3)
    inner = ((nodes > 0.0) & (nodes < size)).all(axis=1)
    steps = np.random.default_rng(seed).uniform(-1.0, 1.0, nodes.shape)
    nodes = nodes + moved * size / cells * inner[:, None] * steps
    index = np.arange(len(nodes)).reshape(cells + 1, cells + 1, cells + 1)
    offsets = ((CORNERS + 1) / 2).astype(int)
    first = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), -1).reshape(-1, 1, 3)
    at = first + offsets
    return nodes, index[at[..., 0], at[..., 1], at[..., 2]], index


def assembled(nodes, hexahedra, poissons_ratio=NU):
    size = 3 * len(nodes)
    matrix = np.zeros((size, size))
    for nodes_of, own in zip(
        hexahedra, stiffness(nodes[hexahedra], E, poissons_ratio), strict=True
    ):
        unknowns = (3 * nodes_of[:, None] + np.arange(3)).ravel()
        matrix[np.ix_(unknowns, unknowns)] += own
    return matrix


@pytest.mark.parametrize("poissons_ratio", [0.3, 0.4999])
def test_constant_strain_on_distorted_elements(poissons_ratio):
    nodes, hexahedra, _ = block(2, moved=0.3)
    gradient = 1e-3 * np.random.default_rng(1).normal(size=(3, 3))
    exact = nodes @ gradient.T
    matrix = assembled(nodes, hexahedra, poissons_ratio)
    inner = np.repeat(((nodes > 0.0) & (nodes < 1.0)).all(axis=1), 3)
    held = ~inner
    solved = np.linalg.solve(
        matrix[np.ix_(inner, inner)], -matrix[np.ix_(inner, held)] @ exact.ravel()[held]
    )
    np.testing.assert_allclose(solved, exact.ravel()[inner], rtol=0, atol=1e-12)
    # The energy is that of the uniform strain.
    strain = 0.5 * (gradient + gradient.T)
    six = np.array([*np.diag(strain), *(2 * strain[[0, 1, 2], [1, 2, 0]])])
    energy = 0.5 * six @ elasticity(E, poissons_ratio) @ six
    assert 0.5 * exact.ravel() @ matrix @ exact.ravel() == pytest.approx(energy, rel=1e-9)


def test_six_rigid_motions_and_no_other_without_energy():
    nodes, hexahedra, _ = block(1, 0.01)
    nodes = nodes + 0.2e-2 * np.random.default_rng(2).uniform(-1.0, 1.0, nodes.shape)
    matrix = stiffness(nodes[hexahedra], E, NU)[0]
    np.testing.assert_allclose(matrix, matrix.T, rtol=0, atol=1e-9 * abs(matrix).max())
    own = nodes[hexahedra[0]]
    motions = [np.tile(axis, (8, 1)) for axis in np.eye(3)]
    motions += [np.cross(axis, own) for axis in np.eye(3)]
    for motion in motions:
        scale = abs(matrix).max() * abs(motion).max()
        assert abs(matrix @ motion.ravel()).max() < 1e-9 * scale
    values = np.linalg.eigvalsh(matrix)
    assert (values[:6] < 1e-9 * values[-1]).all()
    assert values[6] > 1e-4 * values[-1]


def test_bending_near_incompressibility_does_not_lock():
    """One element over the height of a beam in pure bending, which plain elements stiffen."""
    nu, length, height = 0.4999, 1.0, 0.1
    nodes, hexahedra, _ = block(1)
    nodes = (nodes - 0.5) * (length / 10, height, height)
    # u = k x y, v = -k x²/2 - ν k (y² - z²)/2, w = -ν k y z: exact bending of Saint-Venant.
    x, y, z = nodes.T
    bent = np.column_stack([x * y, -0.5 * x**2 - 0.5 * nu * (y**2 - z**2), -nu * y * z])
    matrix = stiffness(nodes[hexahedra], E, nu)[0]
    motion = bent[hexahedra[0]].ravel()
    energy = 0.5 * motion @ matrix @ motion
    exact = 0.5 * E * height**4 / 12 * length / 10
    assert energy == pytest.approx(exact, rel=0.05)


def test_scaled_jacobian_of_cuboid_shear_and_fold():
    nodes, hexahedra, _ = block(1)
    assert scaled_jacobian(nodes * (1.0, 2.0, 3.0), hexahedra)[0] == pytest.approx(1.0)
    sheared = nodes + np.outer(nodes[:, 2], (1.0, 0.0, 0.0))
    assert scaled_jacobian(sheared, hexahedra)[0] == pytest.approx(np.sqrt(0.5))
    assert scaled_jacobian(nodes * (-1.0, 1.0, 1.0), hexahedra)[0] == pytest.approx(-1.0)


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


def test_a_body_that_is_not_held_is_refused():
    body = layer(2)
    loose = replace(body, fixed=np.zeros(len(body.nodes), dtype=bool))
    with pytest.raises(InputError, match="not positive definite"):
        compliance(loose)


DIGEST = "digest"


class Body:
    """Stands for a body; counts its condensations."""

    def __init__(self, monkeypatch):
        self.count = 0
        monkeypatch.setattr(condensed_layer, "compliance", self.compliance)

    def compliance(self, body):
        self.count += 1
        return np.arange(9.0).reshape(3, 3)

    def __call__(self):
        return self


def stored(folder, body):
    return ComplianceStore(folder).get(DIGEST, 3, body)


def test_condensed_once_and_read_by_others(tmp_path, monkeypatch):
    body = Body(monkeypatch)
    first, second = stored(tmp_path / "new", body), stored(tmp_path / "new", body)
    assert body.count == 1
    assert np.array_equal(first, second)
    assert len([*(tmp_path / "new").iterdir()]) == 1


@pytest.mark.parametrize("keep", [0, 5, 100, 150])
def test_a_truncated_file_is_computed_again(tmp_path, monkeypatch, keep):
    body = Body(monkeypatch)
    expected = stored(tmp_path, body).copy()
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[:keep])
    assert not ComplianceStore(tmp_path).is_kept(DIGEST, 3)
    assert np.array_equal(stored(tmp_path, body), expected)
    assert body.count == 2
    assert path.read_bytes() == content
