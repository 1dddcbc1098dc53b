"""Estimated vertex normals, and meshes cut open along their creases."""

from __future__ import annotations

import numpy as np
import pytest
from shapes import swept
from smooth_shapes import grid, torus, torus_distance, two_planes

from foundation.surfaces.mesh import TriangleMesh
from foundation.surfaces.smooth_surface import CREASE_ANGLE, flat_surface, smooth_surface
from foundation.surfaces.vertex_normals import angle_weighted_normals, cut_at_creases, jet_normals


def test_estimated_normals_are_of_second_order_on_the_rim():
    errors = []
    for edge in (2e-3, 1e-3, 0.5e-3):
        mesh = torus(edge)
        normals = jet_normals(mesh.vertices, mesh.faces)
        step = 1e-6 * normals
        rise = torus_distance(mesh.vertices + step) - torus_distance(mesh.vertices - step)
        errors.append(np.sqrt(2.0 * np.maximum(1.0 - rise / 2e-6, 0.0)).max())
    assert errors[-1] < 5e-3
    assert np.log2(errors[0] / errors[2]) / 2.0 > 1.7


def test_jet_of_degree_2_is_exact_on_a_paraboloid_at_its_vertex():
    mesh = grid(lambda x, z: 20.0 * x**2 + 5.0 * x * z - 8.0 * z**2)
    centre = int(np.argmin(np.linalg.norm(mesh.vertices, axis=1)))
    # Its angle-weighted normal is vertical by symmetry, so that the surface is a jet of degree 2.
    mean = angle_weighted_normals(mesh.vertices, mesh.faces)[centre]
    np.testing.assert_allclose(mean, [0, -1, 0], rtol=0.0, atol=1e-3)
    fitted = jet_normals(mesh.vertices, mesh.faces)[centre]
    np.testing.assert_allclose(fitted, [0, -1, 0], rtol=0.0, atol=1e-4)


def test_fits_that_turn_too_far_are_not_trusted():
    mesh = torus(2e-3)
    mean = angle_weighted_normals(mesh.vertices, mesh.faces)
    np.testing.assert_array_equal(jet_normals(mesh.vertices, mesh.faces, largest_turn=0.0), mean)
    assert np.abs(jet_normals(mesh.vertices, mesh.faces) - mean).max() > 1e-3


def test_cut_splits_vertices_along_the_crease_only():
    mesh = two_planes(70.0)
    cut = cut_at_creases(mesh, CREASE_ANGLE)
    on_ridge = int((np.abs(mesh.vertices[:, 0]) < 1e-9).sum())
    assert len(cut.vertices) == len(mesh.vertices) + on_ridge
    np.testing.assert_array_equal(cut.vertices[cut.faces], mesh.vertices[mesh.faces])
    assert cut.crease.sum() == 2 * (on_ridge - 1)
    smooth = cut_at_creases(mesh, np.deg2rad(80.0))
    assert len(smooth.vertices) == len(mesh.vertices)
    assert not smooth.crease.any()


def test_crease_that_ends_inside_the_surface_is_left_open_only_on_its_way():
    # A fold that fades out along z: steep at one rim, gone at the other.
    mesh = grid(lambda x, z: np.abs(x) * np.clip(80.0 * z, 0.0, None))
    cut = cut_at_creases(mesh, CREASE_ANGLE)
    assert 0 < cut.crease.sum() < 2 * 12
    middles, straight = smooth_surface(mesh).middles, flat_surface(mesh).middles
    np.testing.assert_array_equal(middles[cut.crease], straight[cut.crease])
    # Open from the rim to where the angle falls below that of a crease: the tip is one vertex.
    opened = len(cut.vertices) - len(mesh.vertices)
    assert opened == cut.crease.sum() // 2


def test_edges_of_three_triangles_are_creases():
    # The last two would be smooth neighbours on their own.
    vertices = [[0, 0, 0], [0, 0, 1e-2], [0, 1e-2, 0], [1e-2, 0, 0], [-1e-2, 2e-3, 0]]
    mesh = TriangleMesh(vertices, [[0, 1, 2], [0, 1, 3], [1, 0, 4]])
    cut = cut_at_creases(mesh, CREASE_ANGLE)
    np.testing.assert_array_equal(cut.crease, [[True, False, False]] * 3)
    assert len(cut.vertices) == 9
    np.testing.assert_allclose(
        smooth_surface(mesh).normals, flat_surface(mesh).normals, rtol=0.0, atol=1e-12
    )


def test_neighbours_that_disagree_on_the_outer_side_meet_at_a_crease():
    # Folded back onto itself: both normals are alike, but the surface does not go on.
    vertices = [[0, 0, 0], [0, 0, 1e-2], [1e-2, 0, 0], [1e-2, 0, 1e-2]]
    cut = cut_at_creases(TriangleMesh(vertices, [[0, 1, 2], [0, 1, 3]]), CREASE_ANGLE)
    assert cut.crease[:, 0].all()
    assert len(cut.vertices) == 6


def test_what_few_neighbours_leave_undetermined_is_left_out():
    # One row of triangles: the slope across it cannot be told from the curvature, and neither may
    # be read out of the rounding of a file in single precision and a roughness of 0.1 um.
    row = swept(lambda x, z: 0.0 * x, 20e-3, 1, 20, 0.5e-3)
    rough = np.random.default_rng(3).normal(size=row.vertices.shape) * [2e-9, 0.1e-6, 2e-9]
    normals = jet_normals(row.vertices + rough, row.faces)
    assert np.rad2deg(np.arccos(-normals[:, 1])).max() < 0.1


def test_estimates_agree_where_the_mesh_is_a_grid():
    mesh = grid(lambda x, z: 10.0 * x**2 + 10.0 * z**2)
    inside = (np.abs(mesh.vertices[:, [0, 2]]) < 9e-3).all(axis=1)
    exact = mesh.vertices * [20.0, 0.0, 20.0] - [0.0, 1.0, 0.0]
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    for estimate, most in ((angle_weighted_normals, 1e-2), (jet_normals, 1e-3)):
        found = estimate(mesh.vertices, mesh.faces)
        np.testing.assert_allclose(found[inside], exact[inside], rtol=0.0, atol=most)


# ---- normals that a mesh carries ----------------------------------------------------------------

CORNERS = [[0, 0, 0], [0, 0, 2e-3], [3e-3, 0, 0]]
UP = [[0.0, 1.0, 0.0]] * 3


def test_mesh_keeps_its_vertex_normals_read_only():
    given = np.array(UP)
    mesh = TriangleMesh(CORNERS, [[0, 1, 2]], "one", given)
    given[:] = 0.0
    np.testing.assert_array_equal(mesh.vertex_normals, UP)
    with pytest.raises(ValueError, match="read-only"):
        mesh.vertex_normals[0] = 0.0
    assert TriangleMesh(CORNERS, [[0, 1, 2]]).vertex_normals is None


def test_mirror_image_carries_the_mirrored_normals():
    lean = np.array([[0.0, 0.8, 0.6], [0.6, 0.8, 0.0], [0.0, 0.8, -0.6]])
    mirrored = TriangleMesh(CORNERS, [[0, 1, 2]], "one", lean).mirrored()
    np.testing.assert_array_equal(mirrored.vertex_normals, lean * (1.0, 1.0, -1.0))


def test_normals_of_vertices_without_a_triangle_do_not_matter():
    mesh = TriangleMesh([*CORNERS, [1, 1, 1]], [[0, 1, 2]], "one", [*UP, [0, 0, 0]])
    assert np.isfinite(smooth_surface(mesh).middles).all()
