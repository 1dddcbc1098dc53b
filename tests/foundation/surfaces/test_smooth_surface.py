"""Smooth surfaces over triangles, their normals and creases, against exact shapes."""

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation
from smooth_shapes import RADIUS, grid, sphere, strip, torus, torus_distance, two_planes

from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.mesh import TriangleMesh
from foundation.surfaces.smooth_surface import (
    CREASE_ANGLE,
    angle_weighted_normals,
    cut_at_creases,
    flat_surface,
    jet_normals,
    smooth_surface,
)

#: Barycentric coordinates of c1 and c2 at points all over a patch.
U, V = np.array([(i / 6, j / 6) for i in range(7) for j in range(7 - i)]).T


def shape(u, v):
    w = 1.0 - u - v
    six = [w * (2 * w - 1), u * (2 * u - 1), v * (2 * v - 1), 4 * w * u, 4 * u * v, 4 * w * v]
    return np.array(six)


def points_of(surface):
    nodes = np.concatenate([surface.corners, surface.middles], axis=1)
    return np.einsum("np,fni->fpi", shape(U, V), nodes)


def straight(surface):
    return 0.5 * (surface.corners + np.roll(surface.corners, -1, axis=1))


def interior(mesh, distance=3e-3):
    """Return the triangles whose centroid is that far from every boundary vertex."""
    edges = np.sort(np.concatenate([mesh.faces[:, [k, (k + 1) % 3]] for k in range(3)]), axis=1)
    ends, count = np.unique(edges, axis=0, return_counts=True)
    rim = mesh.vertices[np.unique(ends[count == 1])]
    return trimesh.proximity.cKDTree(rim).query(mesh.centroids)[0] > distance


def close(found, wanted, atol):
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=atol)


def test_sphere_converges_at_fourth_order():
    errors = []
    for level in (3, 4, 5):
        mesh = sphere(level)
        away = np.linalg.norm(points_of(smooth_surface(mesh)), axis=2) - RADIUS
        errors.append((np.abs(away).max(), abs(np.average(away.mean(axis=1), weights=mesh.areas))))
    worst, mean = np.array(errors).T
    # Edges of 1.1 mm; flat facets lie 5.5 um inside on average.
    assert worst[-1] < 2e-9
    assert mean[-1] < 1e-9
    assert (np.log2(worst[:-1] / worst[1:]) > 3.6).all()
    assert (np.log2(mean[:-1] / mean[1:]) > 3.6).all()


def test_middles_lie_on_a_circle_whose_normals_are_given():
    # However far apart: here 30 degrees an edge.
    angle = np.deg2rad([-15.0, 15.0])
    ends = RADIUS * np.column_stack([np.sin(angle), -np.cos(angle), 0.0 * angle])
    vertices = np.concatenate([ends, ends + np.array([0.0, 0.0, 5e-3])])
    normals = np.tile(ends / RADIUS, (2, 1))
    mesh = TriangleMesh(vertices, [[0, 1, 3], [0, 3, 2]], "arc", normals)
    middle = smooth_surface(mesh).middles[0, 0]
    close(middle, [0.0, -RADIUS, 0.0], 1e-16)


def test_irregular_torus_converges_at_third_order():
    inner, rim, mean = [], [], []
    for edge in (2e-3, 1e-3, 0.5e-3):
        mesh = torus(edge)
        away = torus_distance(points_of(smooth_surface(mesh)))
        inside = interior(mesh)
        inner.append(np.abs(away[inside]).max())
        rim.append(np.abs(away[~inside]).max())
        mean.append(abs(np.average(away[inside].mean(axis=1), weights=mesh.areas[inside])))
    assert inner[-1] < 20e-9
    assert rim[-1] < 40e-9
    assert mean[-1] < 1e-9
    # Cells are drawn anew for each size, so that the worst one varies.
    assert np.log2(inner[0] / inner[2]) / 2.0 > 2.5
    assert np.log2(rim[0] / rim[2]) / 2.0 > 2.5


@pytest.mark.parametrize(
    "mesh",
    [sphere(3), torus(1.5e-3), two_planes(70.0), CondylarImplant().tessellate(2e-3)[0]],
    ids=["sphere", "torus", "crease", "exact normals"],
)
def test_neighbours_share_their_middles_to_the_last_bit(mesh):
    surface = smooth_surface(mesh)
    ends = np.sort(np.stack([mesh.faces, np.roll(mesh.faces, -1, axis=1)], axis=2), axis=2)
    _, edge, count = np.unique(ends.reshape(-1, 2), axis=0, return_inverse=True, return_counts=True)
    middles = surface.middles.reshape(-1, 3)
    order = np.argsort(edge.reshape(-1), kind="stable")
    last = np.cumsum(count) - 1
    twice = count == 2
    assert twice.sum() > 100
    np.testing.assert_array_equal(middles[order[last[twice]]], middles[order[last[twice] - 1]])


def test_crease_stays_sharp_and_has_two_normals():
    mesh = two_planes(70.0)
    surface = smooth_surface(mesh)
    close(surface.middles, straight(surface), 1e-16)
    close(surface.normals, flat_surface(mesh).normals, 1e-12)


def test_wrong_normals_are_bounded_and_do_not_fold():
    mesh = sphere(2)
    rng = np.random.default_rng(5)
    lean = rng.normal(size=mesh.vertices.shape)
    lean -= (lean * mesh.vertices).sum(axis=1, keepdims=True) * mesh.vertices / RADIUS**2
    wild = mesh.vertices / RADIUS + 1.5 * lean / np.linalg.norm(lean, axis=1, keepdims=True)
    wild /= np.linalg.norm(wild, axis=1, keepdims=True)
    surface = smooth_surface(TriangleMesh(mesh.vertices, mesh.faces, "wild", wild))
    departure = np.linalg.norm(surface.middles - straight(surface), axis=2)
    length = np.linalg.norm(np.roll(surface.corners, -1, axis=1) - surface.corners, axis=2)
    most = 0.5 * np.tan(0.25 * CREASE_ANGLE)
    assert (departure / length).max() < most + 1e-12
    assert (departure / length).max() > 0.99 * most


def test_patches_do_not_fold():
    # A sliver whose long edge would bulge past its opposite corner.
    vertices = np.array([[0, 0, 0], [4e-3, 0, 0], [2e-3, 0, 20e-6]])
    normals = [[-0.36, 0.48, 0.8], [0.36, 0.48, 0.8], [0.0, 0.6, 0.8]]
    mesh = TriangleMesh(vertices, [[0, 2, 1]], "sliver", normals)
    surface = smooth_surface(mesh)
    step = 1e-6
    nodes = np.concatenate([surface.corners, surface.middles], axis=1)[0]
    for u, v in [(0, 0), (1, 0), (0, 1), (0.5, 0), (0.5, 0.5), (0, 0.5)]:
        along_u = (shape(u + step, v) - shape(u - step, v)) @ nodes
        along_v = (shape(u, v + step) - shape(u, v - step)) @ nodes
        assert np.cross(along_u, along_v) @ mesh.normals[0] > 0.0


@pytest.mark.parametrize("mesh", [torus(2e-3), strip()], ids=["patch", "strip"])
def test_rotation_moves_the_surface_along(mesh):
    turn = Rotation.from_rotvec([0.4, 1.1, -0.7]).as_matrix()
    surface = smooth_surface(mesh)
    turned = smooth_surface(TriangleMesh(mesh.vertices @ turn.T, mesh.faces))
    close(turned.middles, surface.middles @ turn.T, 1e-15)
    close(turned.normals, surface.normals @ turn.T, 1e-12)


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
