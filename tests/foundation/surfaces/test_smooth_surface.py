"""Smooth surfaces over triangles against exact shapes."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation
from shapes import plate, swept
from smooth_shapes import RADIUS, grid, sphere, strip, torus, torus_distance, two_planes

from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.mesh import TriangleMesh
from foundation.surfaces.smooth_surface import CREASE_ANGLE, flat_surface, smooth_surface

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


# ---- shapes -------------------------------------------------------------------------------------


def test_flat_surface_is_the_facets():
    mesh = sphere(2)
    flat = flat_surface(mesh)
    np.testing.assert_array_equal(flat.middles, straight(flat))
    np.testing.assert_array_equal(flat.corners, mesh.vertices[mesh.faces])
    np.testing.assert_array_equal(flat.normals, np.repeat(mesh.normals[:, None], 3, axis=1))


def test_plane_stays_a_plane():
    turn = Rotation.from_rotvec([0.3, -0.5, 0.8]).as_matrix()
    flat = plate(20e-3, 5)
    mesh = TriangleMesh(flat.vertices @ turn.T + 0.05, flat.faces)
    surface = smooth_surface(mesh)
    close(surface.middles, straight(surface), 1e-16)
    close(surface.normals, np.broadcast_to(turn[:, 1], surface.normals.shape), 1e-12)


def test_single_triangle_is_itself():
    mesh = TriangleMesh([[0, 0, 0], [0, 0, 2e-3], [3e-3, 0, 0]], [[0, 1, 2]])
    surface = smooth_surface(mesh)
    close(surface.middles, straight(surface), 1e-18)
    close(surface.normals, np.broadcast_to([0.0, 1.0, 0.0], (1, 3, 3)), 1e-12)


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


def test_cylinder_converges_at_third_order_up_to_its_rims():
    errors = []
    for cells in (12, 24, 48):
        mesh = grid(lambda x, z: RADIUS - np.sqrt(RADIUS**2 - x**2), cells)
        points = points_of(smooth_surface(mesh)) - [0.0, RADIUS, 0.0]
        errors.append(np.abs(np.hypot(points[..., 0], points[..., 1]) - RADIUS).max())
    assert errors[-1] < 0.1e-6
    assert (np.log2(np.divide(errors[:-1], errors[1:])) > 2.8).all()


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


@pytest.mark.slow
@pytest.mark.parametrize(("exact", "worst"), [(True, 5e-9), (False, 0.4e-6)])
def test_builtin_femur_with_and_without_its_normals(exact, worst):
    # The curvature jumps between the arcs are where estimated normals err.
    implant = CondylarImplant()
    femur, _, _ = implant.tessellate(0.75e-3)
    mesh = femur if exact else TriangleMesh(femur.vertices, femur.faces)
    points = points_of(smooth_surface(mesh))
    away = implant.femur_distance(points.reshape(-1, 3)).reshape(points.shape[:2])
    assert np.abs(away).max() < worst
    inside = interior(mesh)
    assert abs(np.average(away[inside].mean(axis=1), weights=mesh.areas[inside])) < 3e-9
    assert np.sqrt(np.average((away[inside] ** 2).mean(axis=1), weights=mesh.areas[inside])) < 50e-9


# ---- the surface as a whole ---------------------------------------------------------------------


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


def test_below_the_crease_angle_the_same_edge_is_rounded():
    surface = smooth_surface(two_planes(30.0))
    departure = np.linalg.norm(surface.middles - straight(surface), axis=2)
    assert departure.max() > 50e-6


def test_cube_with_a_fillet_keeps_its_edges_and_rounds_the_fillet():
    # Walls x = -+10 mm, roof y = 0 with a fillet of 4 mm towards +x and an edge towards -x.
    fillet = np.linspace(0.0, 0.5 * np.pi, 7)
    profile = np.concatenate(
        [
            [[-10e-3, -12e-3], [-10e-3, -6e-3], [-10e-3, 0.0], [-2e-3, 0.0]],
            np.column_stack([6e-3 + 4e-3 * np.sin(fillet), -4e-3 + 4e-3 * np.cos(fillet)]),
            [[10e-3, -8e-3], [10e-3, -12e-3]],
        ]
    )
    flat = swept(lambda x, z: 0.0 * x, 10e-3, len(profile) - 1, 8, 1.0)
    row = np.arange(len(flat.vertices)) // 9
    vertices = np.column_stack([profile[row], flat.vertices[:, 2]])
    mesh = TriangleMesh(vertices, flat.faces[:, ::-1], "cube")
    surface = smooth_surface(mesh)
    on_edge = (np.abs(mesh.vertices[:, :2] - [-10e-3, 0.0]) < 1e-9).all(axis=1)[mesh.faces]
    close(np.abs(surface.normals[on_edge]).max(axis=1), 1.0, 1e-9)
    both = on_edge & np.roll(on_edge, -1, axis=1)
    assert both.sum() == 16
    np.testing.assert_array_equal(surface.middles[both], straight(surface)[both])
    middles = surface.middles.reshape(-1, 3)
    # Away from where the curvature jumps at the ends of the fillet.
    arc = (middles[:, 0] > 7.6e-3) & (middles[:, 1] > -2.4e-3)
    depth = 4e-3 - np.hypot(middles[arc, 0] - 6e-3, middles[arc, 1] + 4e-3)
    sagitta = 4e-3 * (1.0 - np.cos(fillet[1] / 2.0))
    assert np.abs(depth).max() < 0.1 * sagitta


def test_boundary_stays_where_it_is():
    # The rim of a cylinder's patch lies in planes, and is as round as its inside.
    mesh = grid(lambda x, z: RADIUS - np.sqrt(RADIUS**2 - x**2), 24)
    surface = smooth_surface(mesh)
    rim = np.abs(straight(surface)[..., 2] - 12e-3) < 1e-9
    close(surface.middles[rim][:, 2], 12e-3, 1e-10)
    middles = surface.middles[rim] - [0.0, RADIUS, 0.0]
    close(np.hypot(middles[:, 0], middles[:, 1]), RADIUS, 0.1e-6)


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


def test_mirror_image_has_the_mirrored_surface():
    mesh = torus(2e-3)
    surface, mirrored = smooth_surface(mesh), smooth_surface(mesh.mirrored())
    flip = np.array([1.0, 1.0, -1.0])
    close(mirrored.corners, surface.corners[:, ::-1] * flip, 0.0)
    close(mirrored.middles, surface.middles[:, [1, 0, 2]] * flip, 1e-16)
    close(mirrored.normals, surface.normals[:, ::-1] * flip, 1e-12)


@pytest.mark.parametrize("mesh", [torus(2e-3), strip()], ids=["patch", "strip"])
def test_rotation_moves_the_surface_along(mesh):
    turn = Rotation.from_rotvec([0.4, 1.1, -0.7]).as_matrix()
    surface = smooth_surface(mesh)
    turned = smooth_surface(TriangleMesh(mesh.vertices @ turn.T, mesh.faces))
    close(turned.middles, surface.middles @ turn.T, 1e-15)
    close(turned.normals, surface.normals @ turn.T, 1e-12)


@pytest.mark.parametrize("factor", [1e-3, 7.0])
def test_scale_scales_the_surface(factor):
    mesh = torus(2e-3)
    surface = smooth_surface(mesh)
    scaled = smooth_surface(TriangleMesh(factor * mesh.vertices, mesh.faces))
    close(scaled.middles / factor, surface.middles, 1e-15)
    close(scaled.normals, surface.normals, 1e-11)


def test_normals_are_unit_and_outward():
    for mesh in (sphere(3), torus(1.5e-3)):
        normals = smooth_surface(mesh).normals
        close(np.linalg.norm(normals, axis=2), 1.0, 1e-14)
        assert (np.einsum("fki,fi->fk", normals, mesh.normals) > 0.9).all()


def test_normals_the_mesh_carries_are_used():
    mesh = sphere(2)
    exact = mesh.vertices / RADIUS
    # As read from a file in single precision.
    carried = TriangleMesh(mesh.vertices, mesh.faces, "sphere", exact * (1.0 + 5e-7))
    close(smooth_surface(carried).normals, exact[mesh.faces], 1e-15)
