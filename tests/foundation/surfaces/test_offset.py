"""Surfaces at a distance from another."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from foundation.base.errors import InputError
from foundation.surfaces.averaged_normals import facing_normals
from foundation.surfaces.offset import moved_outwards
from foundation.surfaces.triangle_mesh import TriangleMesh

RADIUS = 20e-3


def ball(noise: float = 0.0) -> TriangleMesh:
    body = trimesh.creation.icosphere(subdivisions=5, radius=RADIUS)
    radial = 1.0 + noise / RADIUS * np.random.default_rng(1).uniform(-1.0, 1.0, len(body.vertices))
    return TriangleMesh(body.vertices * radial[:, None], body.faces)


def test_sphere_grows_by_the_distance():
    radii = np.linalg.norm(moved_outwards(ball(), 2e-3).vertices, axis=1)
    np.testing.assert_allclose(radii, RADIUS + 2e-3, atol=2e-6)


def test_noise_does_not_grow():
    """The vertices of a rough surface move along the normal of the surface that they stand for."""
    rough = ball(noise=0.1e-3)
    moved = moved_outwards(rough, 2e-3)
    steps = moved.vertices - rough.vertices
    radial = rough.vertices / np.linalg.norm(rough.vertices, axis=1, keepdims=True)
    assert (np.einsum("vi,vi->v", steps, radial) / 2e-3).min() > 0.98


def test_normals_of_a_smooth_surface_are_its_own():
    mesh = ball()
    assert facing_normals(mesh) is mesh.normals


def test_negative_distance_is_refused():
    with pytest.raises(InputError, match="distance"):
        moved_outwards(ball(), -1e-3)
