"""Decimation: boundary, manifoldness, measured deviation, and loads of the decimated surfaces."""

import numpy as np
import pytest
import trimesh
from numpy.testing import assert_allclose, assert_array_equal

from foundation.base.errors import InputError
from foundation.base.pose import Pose
from foundation.elastic_foundation import ElasticFoundation, LinearLaw
from foundation.implant import CondylarImplant
from foundation.surfaces.decimation import decimate
from foundation.surfaces.mesh_topology import find_edges
from foundation.surfaces.nearest_points import SurfaceTree
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


@pytest.mark.slow
def test_smaller_deviations_need_more_triangles(fine, coarse):
    finer = decimate(fine, 0.5 * coarse.deviation, fewest=4_000)
    assert finer.deviation <= 0.5 * coarse.deviation
    assert len(finer.mesh.faces) >= 1.5 * len(coarse.mesh.faces)


@pytest.mark.slow
def test_impossible_deviations_leave_the_mesh(fine):
    for deviation, fewest, failure in (
        (1e-12, 4_000, "triangles deviate by "),
        (20e-6, len(fine.faces), "fewer than"),
    ):
        kept = decimate(fine, deviation, fewest=fewest)
        assert kept.mesh is fine
        assert failure in kept.failure
    with pytest.raises(InputError, match="largest_deviation"):
        decimate(fine, 0.0)


@pytest.mark.slow
def test_decimation_is_the_same_every_time(fine, coarse):
    again = decimate(fine, 20e-6, fewest=4_000)
    assert_array_equal(again.mesh.vertices, coarse.mesh.vertices)
    assert_array_equal(again.mesh.faces, coarse.mesh.faces)


def test_subdivided_facets_lose_only_their_subdivision():
    """A surface of plane facets is decimated to facets with next to no deviation."""
    plain = cap(2e-3)
    vertices, faces = plain.vertices, plain.faces
    for _ in range(3):
        vertices, faces = trimesh.remesh.subdivide(vertices, faces)
    decimated = decimate(TriangleMesh(vertices, faces), 20e-6, fewest=3 * len(plain.faces))
    sagitta = (1.5 * 2e-3) ** 2 / (8.0 * RADIUS)
    assert decimated.deviation < 0.2 * sagitta


def test_slivers_of_a_file_do_not_keep_a_mesh_from_decimation():
    """Vertices 10 nm apart come to one place on the smooth surface; they become one vertex."""
    mesh, rng = cap(0.4e-3), np.random.default_rng(3)
    chosen = rng.choice(len(mesh.faces), 600, replace=False)
    corners = mesh.vertices[mesh.faces[chosen]]
    new = corners[:, 0] + 1e-8 * (corners[:, 1] + corners[:, 2] - 2 * corners[:, 0]) / 0.4e-3
    number = len(mesh.vertices) + np.arange(len(chosen))
    a, b, c = mesh.faces[chosen].T
    split = np.concatenate(
        [np.stack(t, 1) for t in ((a, b, number), (b, c, number), (c, a, number))]
    )
    faces = np.concatenate([np.delete(mesh.faces, chosen, axis=0), split])
    slivers = TriangleMesh(np.concatenate([mesh.vertices, new]), faces, "slivers")
    decimated = decimate(slivers, 20e-6, fewest=4_000)
    assert decimated.failure == ""
    assert len(decimated.mesh.faces) < 0.6 * len(faces)
    assert boundary(decimated.mesh) == boundary(mesh)


def test_a_plane_of_many_triangles_needs_few():
    line = np.linspace(-20e-3, 20e-3, 101)
    x, z = np.meshgrid(line, line, indexing="ij")
    index = np.arange(x.size).reshape(x.shape)
    a, b, c, d = (
        p.ravel() for p in (index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:])
    )
    faces = np.concatenate([np.stack([a, c, b], 1), np.stack([a, d, c], 1)])
    vertices = np.stack([x.ravel(), np.zeros(x.size), z.ravel()], axis=1)
    decimated = decimate(TriangleMesh(vertices, faces), 1e-6, fewest=2_000)
    assert len(decimated.mesh.faces) == 2_000
    assert decimated.deviation < 1e-12


@pytest.mark.parametrize("edge", [1e-3, 4e-3])
def test_nearest_points_are_those_of_a_search_of_all_triangles(edge):
    mesh, rng = cap(edge), np.random.default_rng(2)
    corners = 1e3 * mesh.vertices[mesh.faces]
    # Long triangles beside small ones, as a kept boundary leaves them.
    long = [[[0.0, 25.0, -20.0], [0.0, 25.0, 20.0], [1.0, 25.0, 20.0]]]
    corners = np.concatenate([corners, long])
    points = 1e3 * mesh.vertices[rng.choice(len(mesh.vertices), 50)] + rng.normal(0, 0.5, (50, 3))
    found = np.linalg.norm(SurfaceTree(corners).nearest_points(points, 64)[0] - points, axis=1)
    every = np.repeat(points, len(corners), axis=0)
    feet = trimesh.triangles.closest_point(np.tile(corners, (len(points), 1, 1)), every)
    expected = np.linalg.norm(feet - every, axis=1).reshape(len(points), -1).min(axis=1)
    assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.slow
def test_loads_are_those_of_the_full_meshes():
    implant = CondylarImplant()
    femur, tibia, _ = implant.tessellate(0.2e-3)
    law = LinearLaw(463e6, 0.46, 8e-3)
    pairs = [(TriangleMesh(femur.vertices, femur.faces), TriangleMesh(tibia.vertices, tibia.faces))]
    pairs.append(tuple(decimate(mesh, 5e-6, fewest=60_000).mesh for mesh in pairs[0]))
    full, decimated = (ElasticFoundation(*pair, law) for pair in pairs)
    for degrees in (0.0, 30.0):
        pose = implant.home_pose(flexion=np.radians(degrees)).array - [0, 0, 0, 0, 1e-4, 0]
        expected, found = (model.evaluate(Pose.from_array(pose)) for model in (full, decimated))
        assert np.linalg.norm(expected.force) > 500.0
        force = np.linalg.norm(found.force - expected.force) / np.linalg.norm(expected.force)
        assert force < 1e-3
        for part in ("medial", "lateral"):
            pressures = [getattr(loads, part).peak_pressure for loads in (found, expected)]
            assert_allclose(*pressures, rtol=1e-3)
