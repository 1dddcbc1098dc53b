"""Smoothing of rough surfaces by local fits: what it removes, keeps and promises."""

import numpy as np
import pytest

from foundation.surfaces import smoothing
from foundation.surfaces.smoothing import smoothed
from foundation.surfaces.triangle_mesh import TriangleMesh


def dish(rough, edge=0.7e-3, half=12e-3, ridge=0.0):
    """Dished plateau with noise [m] on the heights, and a wedge of a height [m] beside it."""
    line = np.arange(-half, half + edge / 2, edge)
    x, z = np.meshgrid(line, line, indexing="ij")
    noise = rough * np.random.default_rng(0).normal(size=x.shape)
    wedge = ridge * np.maximum(0.0, 1.0 - np.abs(x - 9e-3) / 1e-3)
    height = 12.0 * x**2 + 20.0 * z**2 + 5.0 * x * z + noise + wedge
    index = np.arange(x.size).reshape(x.shape)
    a, b = index[:-1, :-1].ravel(), index[1:, :-1].ravel()
    c, d = index[1:, 1:].ravel(), index[:-1, 1:].ravel()
    faces = np.concatenate([np.column_stack([a, c, b]), np.column_stack([a, d, c])])
    return TriangleMesh(np.column_stack([x.ravel(), height.ravel(), z.ravel()]), faces, "dish")


def off(mesh):
    """Distance of the vertices from the smooth dish [m], within the rim."""
    x, y, z = mesh.vertices.T
    inner = (np.abs(x) < 8e-3) & (np.abs(z) < 8e-3)
    return (y - 12.0 * x**2 - 20.0 * z**2 - 5.0 * x * z)[inner]


def test_noise_goes_and_the_shape_stays():
    rough = dish(10e-6)
    found = smoothed(rough, 50e-6)
    assert off(rough).std() == pytest.approx(10e-6, rel=0.1)
    assert off(found.mesh).std() < 3e-6
    assert abs(off(found.mesh).mean()) < 1e-6
    moved = np.linalg.norm(found.mesh.vertices - rough.vertices, axis=1)
    assert found.largest == pytest.approx(moved.max())
    assert found.rms == pytest.approx(np.sqrt(np.mean(moved**2)))
    assert np.array_equal(found.mesh.faces, rough.faces)


def test_a_dish_without_noise_stays():
    found = smoothed(dish(0.0), None)
    assert found.largest < 1.5e-6
    assert np.abs(off(found.mesh)).max() < 0.5e-6


@pytest.mark.parametrize("deviation", [2e-6, 20e-6])
def test_no_vertex_moves_farther_than_stated(deviation):
    rough = dish(10e-6, ridge=0.3e-3)
    free, bound = smoothed(rough, None), smoothed(rough, deviation)
    assert free.largest > 50e-6
    assert bound.largest < deviation
    assert np.linalg.norm(bound.mesh.vertices - rough.vertices, axis=1).max() < deviation


def test_both_sides_of_a_sharp_edge_stay_apart():
    """A fit across the edge of a roof would round the edge off."""
    flat = dish(0.0)
    x, _, z = flat.vertices.T
    roof = TriangleMesh(np.column_stack([x, -2.0 * np.abs(x), z]), flat.faces, "roof")
    found = smoothed(roof, None)
    beside = np.abs(x) > 1e-3
    moved = np.linalg.norm(found.mesh.vertices - roof.vertices, axis=1)
    assert moved[beside].max() < 1e-9


def test_vertices_of_triangles_that_would_fold_stay():
    """The corner at (1, 0, 1) would move along x beyond the opposite edge."""
    points = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1], [0, 0, 2.0]])
    faces = np.array([[0, 3, 2], [0, 2, 1], [3, 4, 2]])
    normals = np.array([[0, 1, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 1.0, 0]])
    few = np.array([0.0, 0.0, -1.5, 0.1, 0.1])
    np.testing.assert_array_equal(smoothing.unfolded(points, normals, faces, few), np.zeros(5))
    small = np.array([0.1, 0.1, -0.2, 0.1, 0.1])
    np.testing.assert_array_equal(smoothing.unfolded(points, normals, faces, small), small)
    apart = np.vstack([points, 9.0 + points[:3]])
    more = np.vstack([faces, [[5, 7, 6]]])
    found = smoothing.unfolded(
        apart, np.vstack([normals, normals[:1].repeat(3, 0)]), more, np.append(few, [0.1, 0.2, 0.1])
    )
    np.testing.assert_array_equal(found, [0, 0, 0, 0, 0, 0.1, 0.2, 0.1])
