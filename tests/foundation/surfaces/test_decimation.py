"""Decimation, offset and nearest points of surfaces."""

import numpy as np
import pytest
import trimesh
from numpy.testing import assert_allclose

from foundation import CondylarImplant
from foundation.surfaces.decimation import coarse_copy, decimate
from foundation.surfaces.mesh_topology import find_edges
from foundation.surfaces.smoothing import moved_outwards
from foundation.surfaces.tree import SurfaceTree
from foundation.surfaces.triangle_mesh import TriangleMesh

RADIUS = 25e-3


def cap(edge, radius=RADIUS, half_angle=0.8):
    """Return an open cap of a sphere about the origin, as a grid of triangles."""
    n = round(2.0 * half_angle * radius / edge)
    angle = np.linspace(-half_angle, half_angle, n + 1)
    x, z = np.tan(np.meshgrid(angle, angle, indexing="ij"))
    points = np.stack([x, np.ones_like(x), z], axis=-1).reshape(-1, 3)
    vertices = radius * points / np.linalg.norm(points, axis=1, keepdims=True)
    corner = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).reshape(-1)
    a, b, c, d = corner, corner + 1, corner + n + 2, corner + n + 1
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    return TriangleMesh(vertices, faces, "cap")


@pytest.fixture(scope="module")
def fine():
    return cap(0.2e-3)


@pytest.fixture(scope="module")
def coarse(fine):
    return decimate(fine, 20e-6, fewest=4_000)


def boundary(mesh):
    edges = find_edges(mesh.faces, len(mesh.vertices))
    ends = mesh.vertices[edges.ends[edges.count == 1]]
    return {frozenset(map(tuple, np.round(1e9 * pair).astype(int).tolist())) for pair in ends}


def test_boundary_stays_and_the_surface_is_manifold(fine, coarse):
    assert len(coarse.mesh.faces) < len(fine.faces) // 10
    assert boundary(coarse.mesh) == boundary(fine)
    edges = find_edges(coarse.mesh.faces, len(coarse.mesh.vertices))
    assert edges.count.max() == 2
    assert not edges.balance[edges.count == 2].any()


def test_vertices_are_on_the_smooth_surface(coarse):
    """Nearer to the sphere than a fifth of the sagitta of the full surface, except at the rim."""
    sagitta = (1.5 * 0.2e-3) ** 2 / (8.0 * RADIUS)
    vertices = coarse.mesh.vertices
    angle = np.abs(np.arctan2(vertices[:, [0, 2]], vertices[:, 1:2])).max(axis=1)
    inside = vertices[angle < 0.78]
    assert len(inside) > 1000
    assert np.abs(RADIUS - np.linalg.norm(inside, axis=1)).max() < 0.2 * sagitta


def test_deviation_is_that_of_the_facets_from_the_sphere(coarse):
    corners = coarse.mesh.vertices[coarse.mesh.faces]
    weights = np.random.default_rng(1).dirichlet(np.ones(3), 40)
    points = np.einsum("qk,fki->fqi", weights, corners).reshape(-1, 3)
    largest = (RADIUS - np.linalg.norm(points, axis=1)).max()
    # The full surface is itself up to 0.5 um inside the sphere.
    assert_allclose(coarse.deviation, largest, rtol=0.1, atol=0.5e-6)
    assert coarse.deviation <= 20e-6


def test_coarse_copies_keep_rim_and_shape(fine):
    copy = coarse_copy(fine, 4_000)
    assert 0 < len(copy.faces) <= 1.2 * 4_000
    assert boundary(copy) == boundary(fine)
    assert np.abs(RADIUS - np.linalg.norm(copy.vertices, axis=1)).max() < 50e-6
    assert_allclose(copy.areas.sum(), fine.areas.sum(), rtol=2e-3)
    assert coarse_copy(fine, len(fine.faces)) is fine


@pytest.fixture(scope="module")
def corners():
    _, insert, _ = CondylarImplant().tessellate(3e-3)
    return np.array(insert.vertices)[np.array(insert.faces)]


@pytest.mark.parametrize("unit", [1.0, 1e3, 1e-3], ids=["m", "mm", "km"])
def test_points_are_the_nearest_of_all_triangles_in_any_unit(corners, unit):
    rng = np.random.default_rng(0)
    middles = corners[rng.integers(len(corners), size=40)].mean(axis=1)
    points = middles + 2e-4 * rng.normal(size=(40, 3))
    found, triangle = SurfaceTree(unit * corners).nearest_points(unit * points, 16)
    for point, place, number in zip(points, found / unit, triangle, strict=True):
        # in mm, where the thresholds of the library are far below the lengths
        feet = trimesh.triangles.closest_point(
            1e3 * corners, np.broadcast_to(1e3 * point, (len(corners), 3))
        )
        away = np.linalg.norm(1e-3 * feet - point, axis=1)
        assert np.linalg.norm(place - point) == pytest.approx(away.min(), abs=1e-12)
        assert away[number] == pytest.approx(away.min(), abs=1e-12)


def test_a_triangle_among_specks_is_cut_into_a_bounded_number_of_pieces(corners):
    mixed = np.concatenate([1e-6 * corners, corners[:1]])
    tree = SurfaceTree(mixed)
    assert len(tree._triangle) < 500_000
    assert_allclose(tree.nearest_points(mixed[-1:].mean(axis=1), 8)[1], len(corners))


BALL = 20e-3


def ball(noise=0.0):
    body = trimesh.creation.icosphere(subdivisions=5, radius=BALL)
    radial = 1.0 + noise / BALL * np.random.default_rng(1).uniform(-1.0, 1.0, len(body.vertices))
    return TriangleMesh(body.vertices * radial[:, None], body.faces)


def test_sphere_grows_by_the_distance():
    radii = np.linalg.norm(moved_outwards(ball(), 2e-3).vertices, axis=1)
    np.testing.assert_allclose(radii, BALL + 2e-3, atol=2e-6)


def test_noise_does_not_grow():
    """The vertices of a rough surface move along the normal of the surface that they stand for."""
    rough = ball(noise=0.1e-3)
    moved = moved_outwards(rough, 2e-3)
    steps = moved.vertices - rough.vertices
    radial = rough.vertices / np.linalg.norm(rough.vertices, axis=1, keepdims=True)
    assert (np.einsum("vi,vi->v", steps, radial) / 2e-3).min() > 0.98
