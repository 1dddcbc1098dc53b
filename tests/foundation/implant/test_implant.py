"""The built-in condylar implant against its own geometry, and what is refused."""

import re
from functools import partial

import numpy as np
import pytest
from scipy.spatial import cKDTree

from foundation.base.loads import COMPARTMENTS
from foundation.implant.condylar_implant import CondylarImplant
from foundation.implant.condyle import Condyle, Dish
from foundation.surfaces.mesh_checks import check_mesh
from tests.oracles.exact_condyle import femur_distance

#: Both sides differ in every parameter.
UNEQUAL = CondylarImplant(
    medial=Condyle(posterior_radius=23e-3, distal_radius=36e-3, anterior_radius=42e-3),
    lateral=Condyle(coronal_radius=18e-3, half_width=12e-3, posterior_to_distal=-0.2),
    medial_dish=Dish(sagittal_radius=48e-3, coronal_radius=25e-3, bottom_anterior=1e-3),
    lateral_dish=Dish(sagittal_radius=60e-3, half_length=20e-3, half_width=12e-3),
    spacing=48e-3,
    minimum_thickness=7e-3,
)


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def parameters(rng, shape, count):
    u = rng.uniform(shape.limits[0], shape.limits[-1], count)
    return u, rng.uniform(-shape.half_angle, shape.half_angle, count)


@pytest.mark.parametrize("implant", [CondylarImplant(), UNEQUAL])
def test_femoral_vertices_lie_on_the_exact_surface(implant):
    femur, _, _ = implant.tessellate(2e-3)
    distance = femur_distance(implant, femur.vertices)
    np.testing.assert_allclose(distance, 0.0, rtol=0.0, atol=1e-12)


def height_of(dish, x, across, bottom):
    """Height of the dish at a place, from the angles there."""
    arm = dish.sagittal_radius - dish.coronal_radius + np.sqrt(dish.coronal_radius**2 - across**2)
    u = np.arcsin((x - dish.bottom_anterior) / arm)
    points, _ = dish.surface(u, np.arcsin(across / dish.coronal_radius), bottom)
    np.testing.assert_allclose(points[:, [0, 2]].T, [x, across], rtol=0.0, atol=1e-15)
    return points[:, 1]


def test_dish_is_a_surface_of_revolution_of_its_two_radii():
    dish = Dish()
    x = np.linspace(-0.02, 0.02, 9)
    bottom_circle = 8e-3 + 45e-3 - np.sqrt(45e-3**2 - x**2)
    np.testing.assert_allclose(height_of(dish, x, 0.0 * x, 8e-3), bottom_circle, rtol=1e-12, atol=0)
    across = np.linspace(-0.012, 0.012, 9)
    coronal_circle = 8e-3 + 23e-3 - np.sqrt(23e-3**2 - across**2)
    height = height_of(dish, 0.0 * across, across, 8e-3)
    np.testing.assert_allclose(height, coronal_circle, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("side", COMPARTMENTS)
@pytest.mark.parametrize("implant", [CondylarImplant(), UNEQUAL])
def test_points_and_normals_are_continuous_over_the_radius_transitions(implant, side):
    condyle = implant.medial if side == "medial" else implant.lateral
    v = np.linspace(-condyle.half_angle, condyle.half_angle, 7)
    for transition in condyle.limits[1:3]:
        before = implant.femur_surface(side, np.full(7, transition - 1e-12), v)
        after = implant.femur_surface(side, np.full(7, transition + 1e-12), v)
        np.testing.assert_allclose(before[0], after[0], rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(before[1], after[1], rtol=0.0, atol=1e-11)


@pytest.mark.parametrize("side", COMPARTMENTS)
def test_normals_are_those_of_the_surface(side, rng):
    for surface, shape in (
        (UNEQUAL.femur_surface, getattr(UNEQUAL, side)),
        (UNEQUAL.insert_surface, getattr(UNEQUAL, f"{side}_dish")),
    ):
        u, v = parameters(rng, shape, 200)
        _, normals = surface(side, u, v)
        np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, rtol=1e-14, atol=0.0)
        h = 1e-6
        for du, dv in ((h, 0.0), (0.0, h)):
            tangent = (surface(side, u + du, v + dv)[0] - surface(side, u - du, v - dv)[0]) / h
            along_normal = (tangent * normals).sum(axis=1)
            np.testing.assert_allclose(along_normal, 0.0, rtol=0.0, atol=1e-7)


def test_signed_distance_agrees_with_the_nearest_dense_sample(rng):
    side, condyle = "lateral", UNEQUAL.lateral
    u = np.linspace(*condyle.limits[[0, -1]], 750)
    v = np.linspace(-condyle.half_angle, condyle.half_angle, 250)
    grid = [g.ravel() for g in np.meshgrid(u, v, indexing="ij")]
    tree = cKDTree(UNEQUAL.femur_surface(side, *grid)[0])
    # Off the surface along its normals, away from the edges, so that the nearest point is inside.
    away = rng.uniform(-8e-3, 8e-3, 400)
    on, normals = UNEQUAL.femur_surface(side, *(0.9 * p for p in parameters(rng, condyle, 400)))
    points = on + away[:, None] * normals
    exact = femur_distance(UNEQUAL, points)
    np.testing.assert_allclose(exact, away, rtol=0.0, atol=1e-15)
    sampled, _ = tree.query(points)
    # A sample spacing of about 120 um leaves 60 um sideways.
    assert (sampled <= np.hypot(away, 100e-6)).all()
    assert (sampled >= np.abs(exact) - 1e-15).all()


@pytest.mark.parametrize("implant", [CondylarImplant(), UNEQUAL])
def test_meshes_carry_the_exact_normals(implant):
    femur, insert, _ = implant.tessellate(2e-3)
    step = 1e-6 * femur.vertex_normals
    ahead, behind = (femur_distance(implant, femur.vertices + s) for s in (step, -step))
    # The curvature of 1/20 mm leaves 1e-12 of the slope of one, as it enters squared.
    np.testing.assert_allclose((ahead - behind) / 2e-6, 1.0, rtol=0.0, atol=1e-8)
    # One step along each tangent of the insert, away from the edges of the plateaus.
    for sign, dish in ((-1.0, implant.medial_dish), (1.0, implant.lateral_dish)):
        x, z = insert.vertices[:, 0], sign * insert.vertices[:, 2] - 0.5 * implant.spacing
        inside = (np.abs(x) < 12e-3) & (np.abs(z) < 9e-3)
        x, z, normals = x[inside], z[inside], insert.vertex_normals[inside] * (1.0, 1.0, sign)
        ahead, behind = (height_of(dish, x + h, z, 0.0) for h in (1e-6, -1e-6))
        right, left = (height_of(dish, x, z + h, 0.0) for h in (1e-6, -1e-6))
        slopes = np.array([ahead - behind, right - left]) / 2e-6
        assert inside.sum() > 50
        np.testing.assert_allclose(-normals[:, [0, 2]].T / normals[:, 1], slopes, rtol=0, atol=1e-8)


@pytest.mark.parametrize("implant", [CondylarImplant(), UNEQUAL, CondylarImplant.single_radius()])
@pytest.mark.parametrize("edge_length", [3e-3, 1e-3])
def test_meshes_pass_every_check_and_keep_the_edge_length(implant, edge_length):
    femur, insert, labels = implant.tessellate(edge_length)
    assert check_mesh(femur, "femur") == []
    assert check_mesh(insert, "tibia") == []
    np.testing.assert_array_equal(labels, insert.centroids[:, 2] > 0.0)
    for mesh in (femur, insert):
        corners = mesh.vertices[mesh.faces]
        sides = np.sort(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2), axis=1)
        # The two legs; the hypotenuse is about 1.4 of them.
        assert sides[:, 1].max() <= edge_length * (1.0 + 1e-9)
        assert sides[:, 2].max() <= 1.5 * edge_length
        assert (sides[:, 2] / sides[:, 0]).max() < 2.6


def test_thickness_reaches_the_underside(rng):
    points, normals = UNEQUAL.insert_surface("medial", *parameters(rng, UNEQUAL.medial_dish, 50))
    thickness = UNEQUAL.thickness(points, normals)
    underside = points - thickness[:, None] * normals
    np.testing.assert_allclose(underside[:, 1], 0.0, rtol=0.0, atol=1e-16)
    assert (thickness > UNEQUAL.minimum_thickness).all()


@pytest.mark.parametrize("degrees", [0.0, 15.0, 60.0])
def test_home_pose_of_an_unequal_implant_is_first_touch(degrees):
    pose = UNEQUAL.home_pose(np.deg2rad(degrees))
    samples = []
    for side, dish in (("medial", UNEQUAL.medial_dish), ("lateral", UNEQUAL.lateral_dish)):
        u = np.linspace(*dish.limits, 40_001)
        samples.append(UNEQUAL.insert_surface(side, u, 0.0 * u)[0])
    points = np.concatenate([*samples, UNEQUAL.tessellate(1e-3)[1].vertices])
    gap = femur_distance(UNEQUAL, (points - pose.translation) @ pose.rotation_matrix)
    # Samples 1 um apart miss the touching point by half that: 1e-11 m in height.
    np.testing.assert_allclose(gap.min(), 0.0, rtol=0.0, atol=2e-11)


IMPLANT = CondylarImplant()
IN_PLACE = [[0.0, -1e-3, 0.02]], [[0.0, 1.0, 0.0]]

REFUSED = [
    (partial(Condyle, distal_radius=-1e-3), "condyle distal_radius: expected > 0 m"),
    (partial(Condyle, distal_radius=34.0), "condyle distal_radius: expected > 0 m and <= 0.2 m"),
    (partial(Condyle, half_width=20e-3), "condyle half_width: expected > 0 m and < 0.02 m"),
    (partial(Condyle, coronal_radius=23e-3), "at most the smallest sagittal radius, 0.022 m"),
    (partial(Condyle, posterior_to_distal=0.3), "condyle angles: expected posterior_end <"),
    (partial(Condyle, posterior_end=-3.0), "condyle angles: expected at most pi"),
    (partial(Dish, sagittal_radius=-45e-3), "dish sagittal_radius: expected > 0 m"),
    (partial(Dish, half_width=23e-3), "dish half_width: expected > 0 m and < 0.023 m"),
    (partial(Dish, half_length=44e-3), "dish half_length + |bottom_anterior|"),
    (partial(Dish, bottom_anterior=-22e-3), "dish |bottom_anterior|: expected < 0.022 m"),
    (
        partial(CondylarImplant, medial_dish=Dish(sagittal_radius=38e-3)),
        "medial sagittal conformity: expected below 1, found 1 ",
    ),
    (
        partial(CondylarImplant, lateral_dish=Dish(coronal_radius=19e-3)),
        "lateral coronal conformity: expected below 1, found 1.05",
    ),
    (partial(CondylarImplant, spacing=27e-3), "half-width, 0.028 m, found 0.027 m; the two sides"),
    (partial(CondylarImplant, minimum_thickness=0.0), "implant minimum_thickness: expected > 0 m"),
    (partial(IMPLANT.thickness, *IN_PLACE), "thickness: expected points above the underside"),
    (partial(IMPLANT.tessellate, 1.0), "edge_length: expected > 0 m and <= 0.013 m"),
    (partial(IMPLANT.home_pose, 2.5), "flexion: expected"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
