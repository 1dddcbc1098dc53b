"""Modes of shape: known modes are found, knees come back from weights, what is wrong is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.transform import Rotation
from shapes import ellipsoid, plate
from sklearn.decomposition import PCA

from foundation.anatomy.shape_modes import ShapeModes, folded, moved_onto, rigid_share
from foundation.surfaces.triangle_mesh import MeshError

FEMUR = ellipsoid((25e-3, 25e-3, 30e-3), 2)
TIBIA = plate(50e-3, 8)
SIZE = len(FEMUR.vertices) + len(TIBIA.vertices)
BASE = np.concatenate([FEMUR.vertices, TIBIA.vertices])
#: Standard deviations of known modes [m], in descending order.
DEVIATIONS = np.array([0.03, 0.02, 0.005])


def bodies(whole):
    """Split vertices (..., V, 3) of both bodies."""
    return np.split(whole, [len(FEMUR.vertices)], axis=-2)


def known_fields(count=3, seed=0):
    """Return orthonormal fields (K, V, 3), the largest component of each positive."""
    rng = np.random.default_rng(seed)
    fields = np.linalg.qr(rng.normal(size=(3 * SIZE, count)))[0].T
    largest = fields[np.arange(count), np.abs(fields).argmax(axis=1)]
    return (np.sign(largest)[:, None] * fields).reshape(count, SIZE, 3)


def known_knees(fields):
    """Return knees (8, V, 3) whose weights are uncorrelated, of mean 0 and variance 1."""
    signs = np.array([1.0, -1.0])
    weights = np.stack(np.meshgrid(signs, signs, signs, indexing="ij"), -1).reshape(-1, 3)
    weights *= np.sqrt(7.0 / 8.0)  # the variance has N - 1 in its denominator
    return BASE + np.tensordot(weights * DEVIATIONS, fields, axes=1), weights


def random_knees(count, seed=1):
    rng = np.random.default_rng(seed)
    return BASE + 1e-3 * rng.normal(size=(count, SIZE, 3))


def modes_of(knees, kept=None):
    return ShapeModes.of_knees(FEMUR, TIBIA, *bodies(knees), kept)


def test_known_modes_deviations_and_shares_are_found():
    fields = known_fields()
    knees, _ = known_knees(fields)
    modes = modes_of(knees)
    assert_allclose(modes.modes, fields, atol=1e-12)
    assert_allclose(modes.deviations, DEVIATIONS, rtol=1e-12)
    assert_allclose(modes.shares, DEVIATIONS**2 / (DEVIATIONS**2).sum(), rtol=1e-12)
    assert_allclose(modes.femur.vertices, FEMUR.vertices, atol=1e-15)
    assert_allclose(modes.tibia.vertices, TIBIA.vertices, atol=1e-15)
    assert_array_equal(modes.femur.faces, FEMUR.faces)


def test_modes_are_those_of_scikit_learn():
    knees = random_knees(6)
    modes = modes_of(knees, kept=4)
    other = PCA(4, svd_solver="full").fit(knees.reshape(6, -1))
    mine = modes.modes.reshape(4, -1)
    assert_allclose(np.abs(mine @ other.components_.T), np.eye(4), atol=1e-10)
    assert_allclose(modes.deviations**2, other.explained_variance_, rtol=1e-10)
    assert_allclose(modes.shares, other.explained_variance_ratio_, rtol=1e-10)


def test_all_modes_give_every_knee_back():
    knees = random_knees(7)
    modes = modes_of(knees)
    assert len(modes.modes) == 6
    for knee in knees:
        away = knee - np.concatenate(modes.vertices(np.zeros(6)))
        weights = np.tensordot(modes.modes, away, 2) / modes.deviations
        assert_allclose(np.concatenate(modes.vertices(weights)), knee, atol=1e-15)
    assert_allclose(
        modes.modes.reshape(6, -1) @ modes.modes.reshape(6, -1).T, np.eye(6), atol=1e-12
    )


def test_given_displacements_are_the_modes_even_if_aslant():
    rng = np.random.default_rng(2)
    fields = 1e-3 * rng.normal(size=(2, SIZE, 3))
    fields[1] += 0.8 * fields[0]
    modes = ShapeModes.of_displacements(FEMUR, TIBIA, *bodies(fields))
    assert_allclose(modes.displacements, fields, rtol=1e-12)
    weights = np.array([0.7, -0.4])
    moved = np.concatenate(modes.vertices(weights))
    assert_allclose(moved, BASE + 0.7 * fields[0] - 0.4 * fields[1], atol=1e-16)
    assert modes.shares is None


def test_surfaces_that_fold_are_refused():
    up = np.zeros((1, len(TIBIA.vertices), 3))
    inside = (np.abs(TIBIA.vertices) < 10e-3).all(axis=1)
    up[0, inside, 0] = 1e-3
    still = np.zeros((1, len(FEMUR.vertices), 3))
    modes = ShapeModes.of_displacements(FEMUR, TIBIA, still, up)
    modes.meshes([5.0])  # a cell is 6.25 mm wide
    with pytest.raises(MeshError, match=r"^\d+ triangles of the tibia fold at the weights \[7.0\]"):
        modes.meshes([7.0])
    turned = TIBIA.vertices @ np.diag([1.0, -1.0, -1.0])
    assert folded(TIBIA, turned).all()
    assert not folded(TIBIA, TIBIA.vertices).any()


def test_motions_as_a_rigid_body_are_found():
    turn = Rotation.from_rotvec([0.1, -0.3, 0.2])
    moved = FEMUR.vertices @ turn.as_matrix().T + [1e-3, 5e-3, -2e-3]
    assert_allclose(moved_onto(FEMUR.vertices, moved), moved, atol=1e-15)
    assert_allclose(rigid_share(FEMUR.vertices, moved - FEMUR.vertices), 1.0, atol=1e-12)
    about = FEMUR.vertices - FEMUR.vertices.mean(axis=0)
    assert_allclose(rigid_share(FEMUR.vertices, 0.01 * about), 0.0, atol=1e-12)
    assert rigid_share(FEMUR.vertices, np.zeros_like(about)) == 0.0
