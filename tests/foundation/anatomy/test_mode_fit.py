"""Modes of shape fitted to knees with triangles of their own, whose weights are known."""

import numpy as np
import pytest
import trimesh
from numpy.testing import assert_allclose
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation

from foundation.anatomy.mode_fit import fit_surfaces, fit_vertices
from foundation.anatomy.shape_modes import ShapeModes
from foundation.base.errors import InputError
from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.triangle_mesh import TriangleMesh

WEIGHTS = np.array([1.2, -0.7])
ALL = (-np.inf, np.inf)


@pytest.fixture(scope="module")
def modes():
    """Return two modes of the built-in implant: width, and depth of the dish and condyles."""
    femur, insert, _ = CondylarImplant().tessellate(2e-3)
    displacements = []
    for mesh in (femur, insert):
        wide = 0.02 * mesh.vertices * [0.0, 0.0, 1.0]
        bent = 40.0 * mesh.vertices[:, :1] ** 2 * [0.0, 0.02, 0.0]
        displacements.append(np.array([wide, bent]))
    return ShapeModes.of_displacements(femur, insert, *displacements)


def with_other_triangles(mesh, seed=0):
    """Mesh with four triangles for each one and vertices in another order."""
    vertices, faces = trimesh.remesh.subdivide(np.array(mesh.vertices), np.array(mesh.faces))
    order = np.random.default_rng(seed).permutation(len(vertices))
    return TriangleMesh(vertices[order], np.argsort(order)[faces], mesh.name)


def moved(mesh, turn, shift):
    return TriangleMesh(turn.apply(np.array(mesh.vertices)) + shift, mesh.faces, mesh.name)


@pytest.fixture(scope="module")
def knee(modes):
    return [with_other_triangles(mesh) for mesh in modes.meshes(WEIGHTS)]


def test_weights_of_a_knee_with_other_triangles(modes, knee):
    found = fit_surfaces(modes, *knee, ALL)
    assert_allclose(found.weights, WEIGHTS, rtol=0, atol=1e-3)
    assert found.rms < 1e-7
    assert found.placed > 0.99
    for mesh, wanted in zip((found.femur, found.tibia), modes.meshes(WEIGHTS), strict=True):
        assert_allclose(mesh.vertices, wanted.vertices, rtol=0, atol=1e-5)
        assert (mesh.faces == wanted.faces).all()


def test_bodies_in_frames_of_their_own(modes, knee):
    turns = [
        Rotation.from_euler("xyz", angles, degrees=True) for angles in ([8, -5, 10], [0, 9, 0])
    ]
    shifts = [[0.02, 0.1, 0.0], [-0.3, 0.0, 0.05]]
    away = [moved(*each) for each in zip(knee, turns, shifts, strict=True)]
    with pytest.raises(InputError, match=r'check unit, axes, side and frame.*align = "rigid"'):
        fit_surfaces(modes, *away, ALL)
    found = fit_surfaces(modes, *away, ALL, rigid=True)
    assert_allclose(found.weights, WEIGHTS, rtol=0, atol=5e-3)
    assert found.rms < 5e-6


def test_weights_stay_within_the_bounds(modes, knee):
    low, high = np.array([-1.0, -1.0]), np.array([1.0, 1.0])
    found = fit_surfaces(modes, *knee, (low, high))
    assert found.weights[0] == 1.0
    assert low[1] < found.weights[1] < high[1]
    assert found.rms > 1e-5
    vertices = modes.vertices(WEIGHTS)
    corresponding = fit_vertices(modes, *vertices, (low, high))
    columns = modes.displacements.reshape(2, -1).T
    wanted = lsq_linear(columns, columns @ WEIGHTS, (low, high), tol=1e-14).x
    assert_allclose(corresponding.weights, wanted, rtol=0, atol=1e-6)
    assert corresponding.placed == 1.0
    assert (corresponding.femur.vertices == vertices[0]).all()


def test_chosen_modes_keep_the_weights_of_the_others(modes):
    chosen = modes.chosen(WEIGHTS, np.array([False, True]))
    for mesh, wanted in zip(chosen.meshes([WEIGHTS[1]]), modes.meshes(WEIGHTS), strict=True):
        assert_allclose(mesh.vertices, wanted.vertices, rtol=0, atol=1e-15)
