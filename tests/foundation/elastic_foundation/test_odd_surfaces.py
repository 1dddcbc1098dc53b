"""Odd surfaces: creases, rims, stray vertices, steep sides, walls and edges."""

import numpy as np
import pytest
import shapes
import trimesh
from beds import LAW, K, model_of
from smooth_shapes import two_planes
from solids import joined, shell

from foundation.base.flags import FlagKind
from foundation.base.pose import Pose
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surfaces.triangle_mesh import TriangleMesh

BOTH = pytest.mark.parametrize("surface", ["flat", "curved"])
DEPTH = 0.5e-3


def cap(edge, half_width=14e-3):
    """Sphere of radius 30 mm, lowest point at the origin, facing down."""
    cells = 2 * round(half_width / edge)
    ball = lambda x, z: 30e-3 - np.sqrt(30e-3**2 - x**2 - z**2)  # noqa: E731
    return shapes.swept(ball, half_width, cells, cells, half_width)


@BOTH
def test_rim_of_a_small_femur_inside_the_bed(surface):
    """A punch whose edges cut the plate's triangles: elements on the rim are single springs."""
    punch = shapes.plate(11e-3, 3, up=False)
    force = K * 11e-3**2 * DEPTH
    model = model_of(punch, shapes.plate(40e-3, 67), surface=surface)
    for turn in (0.0, 0.3, 0.7):
        result = model.loads(Pose(rotation=turn, superior=-DEPTH, anterior=0.7e-3))
        # One cell's width around a perimeter of 44 mm is what may be in or out.
        assert result.force[1] == pytest.approx(force, rel=0.06)
        assert result.area == pytest.approx(11e-3**2, rel=0.06)
        assert result.peak_pressure == pytest.approx(K * DEPTH, rel=1e-9)
        assert result.centre_of_pressure == pytest.approx([0.7e-3, 0, 0], abs=0.3e-3)


def test_a_crease_stays_sharp():
    """A wedge of two planes at 50 degrees down: F = w K L d² / tan(50°), not rounded off.

    The lines bear by the weight w of the cosine to the planes, cos 50°.
    """
    tibia = shapes.plate(12e-3, 48)
    result = model_of(two_planes(100.0), tibia).loads(Pose(superior=-1.5e-3))
    part = (np.cos(np.deg2rad(50.0)) - 0.5) / 0.2
    stiffness = part**2 * (3.0 - 2.0 * part) * K
    slope = np.tan(np.deg2rad(50.0))
    assert result.force[1] == pytest.approx(stiffness * 12e-3 * 1.5e-3**2 / slope, rel=1.5e-2)
    # The edge is steeper than a field of indentation allows: single springs, no finer than the bed.
    assert result.peak_pressure == pytest.approx(stiffness * 1.5e-3, rel=0.15)


@BOTH
def test_a_needle_changes_nothing(surface):
    """A triangle 1e-10 times as high as long, whose edges are parallel but for rounding."""
    tibia, pose = shapes.plate(16e-3, 16), Pose(superior=-DEPTH)
    corners = [[-6e-3, 0, 0], [5e-3, 0, 3e-3], [-0.5e-3, 0, 1.5e-3 - 1e-12]]
    needle = joined(tibia, TriangleMesh(np.array(corners), np.array([[0, 1, 2]])))
    plain, found = (
        model_of(cap(2e-3), each, surface=surface).loads(pose) for each in (tibia, needle)
    )
    np.testing.assert_allclose(found.values, plain.values, rtol=1e-6, atol=1e-9)


@BOTH
def test_stray_and_repeated_vertices_change_nothing(surface):
    tibia = shapes.plate(16e-3, 16)
    femur = cap(2e-3)
    pose = Pose(0.02, 0.01, 0.1, 0, -DEPTH, 0)
    plain = model_of(femur, tibia, surface=surface).loads(pose)
    stray = np.concatenate([femur.vertices, [[0, -50e-3, 0], [9.0, 9.0, 9.0]], femur.vertices[:3]])
    found = model_of(TriangleMesh(stray, femur.faces, "stray"), tibia, surface=surface).loads(pose)
    np.testing.assert_allclose(found.wrench, plain.wrench, rtol=1e-12, atol=1e-9)
    bed = np.concatenate([tibia.vertices, [[0, 5e-3, 0]], tibia.vertices[:5]])
    found = model_of(femur, TriangleMesh(bed, tibia.faces, "stray"), surface=surface).loads(pose)
    np.testing.assert_allclose(found.wrench, plain.wrench, rtol=1e-12, atol=1e-9)


RADIUS, SMALL = 25e-3, 8e-3
PRESSED, SMALL_PRESSED = Pose(superior=RADIUS - 0.5e-3), Pose(superior=SMALL - 0.5e-3)


def pressed(law=LAW, *, facet, surface="curved", radius=RADIUS):
    """A sphere on a plate; a facet stands upright, faces away, and is 0.4 mm inside the sphere.

    `facet` is the angle of its place from the lowest point of the sphere [deg].
    """
    tibia = shapes.plate(30e-3, 30)
    if facet is not None:
        away = (radius - 0.4e-3) * np.sin(np.radians(facet))
        up = (radius - 0.5e-3) - (radius - 0.4e-3) * np.cos(np.radians(facet))
        corners = [[-away, up - 0.4e-3, -1e-3], [-away, up - 0.4e-3, 1e-3], [-away, up + 0.8e-3, 0]]
        tibia = joined(tibia, TriangleMesh(np.array(corners), np.array([[0, 1, 2]])))
        assert tibia.normals[-1, 0] < -0.99
    return ElasticFoundation(
        shapes.ellipsoid([radius] * 3, 4),
        tibia,
        law,
        surface=surface,
        compartments=np.zeros(len(tibia.faces), dtype=np.int8),
        compartment_names=("contact",),
    )


@pytest.mark.parametrize("surface", ["curved", "flat"])
def test_spring_through_the_femur_is_flagged_with_its_place(surface):
    """The line leaves the sphere on the other side, 30 deg from perpendicular."""
    model = pressed(facet=60.0, surface=surface, radius=SMALL)
    flags = {flag.kind: flag for flag in model.loads(SMALL_PRESSED).flags}
    flag = flags[FlagKind.STEEP_SIDE]
    place = (SMALL - 0.4e-3) * np.array([-np.sin(np.pi / 3), -np.cos(np.pi / 3), 0.0])
    along = np.sqrt(SMALL**2 - place[1] ** 2) - place[0]
    expected = [*(place + SMALL_PRESSED.translation), along, 0.4e-3]
    np.testing.assert_allclose(1e-3 * np.array(flag.values), expected, rtol=0.05, atol=3e-5)
    assert "mm sideways through the femur, whose surface is 0.39 mm away" in str(flag)


def test_flags_are_found_when_they_are_asked_for(monkeypatch):
    model, asked = pressed(facet=60.0, radius=SMALL), []
    monkeypatch.setattr(model, "_refusals", lambda *_: asked.append(1) or ())
    loads = model.loads(SMALL_PRESSED, order=1)
    assert np.isfinite(loads.jacobian).all()
    assert not asked
    assert loads.flags is loads.flags
    assert len(asked) == 1


def test_line_that_leaves_the_femur_on_a_steep_side_bears_nothing():
    """The line is 72 deg from perpendicular to the sphere where it leaves it."""
    found, without = (pressed(LAW, facet=angle).loads(PRESSED) for angle in (18.0, None))
    assert not found.flags
    np.testing.assert_allclose(found.total.force, without.total.force, rtol=1e-3, atol=0.02)


def deep_contact(radii, surface="curved", **options):
    """An ellipsoid over a plate of 0.2 mm."""
    tibia = shapes.plate(30e-3, 150)
    return ElasticFoundation(
        shapes.ellipsoid(radii, 5),
        tibia,
        LAW,
        surface=surface,
        compartments=np.zeros(len(tibia.faces), dtype=np.int8),
        compartment_names=("contact",),
        **options,
    )


@pytest.mark.parametrize(("surface", "accuracy"), [("curved", 1e-3), ("flat", 1e-2)])
def test_lines_bear_by_their_cosine_to_the_femur(surface, accuracy):
    """A sphere pressed in by 60 % of its radius: the force is an integral over the cosine."""
    radius, deep = 10e-3, 6e-3
    cosine = np.linspace(1.0 - deep / radius, 1.0, 20_001)
    part = np.clip((cosine - 0.5) / 0.2, 0.0, 1.0)
    depth = radius * cosine - (radius - deep)
    density = part**2 * (3.0 - 2.0 * part) * depth * 2.0 * np.pi * radius**2 * cosine
    force = K * np.trapezoid(density, cosine)
    found = deep_contact([radius] * 3, surface).loads(Pose(superior=radius - deep)).total
    assert found.force[1] == pytest.approx(force, rel=accuracy)


def test_jacobian_where_lines_bear_by_their_cosine():
    model = deep_contact([10e-3, 12e-3, 9e-3])
    middle = np.array([0.1, 0.2, 0.05, 0.3e-3, 5.5e-3, 0.2e-3])

    def wrench(pose):
        return model.loads(pose).wrench

    found = model.loads(Pose.from_array(middle), 1).total_jacobian
    for k, step in enumerate(np.diag([1e-4] * 3 + [1e-6] * 3)):
        expected = (wrench(middle + step) - wrench(middle - step)) / (2.0 * step.max())
        scale = np.abs(found[:, :3] if k < 3 else found[:, 3:]).max(axis=1)
        assert (np.abs(found[:, k] - expected) <= 2e-2 * scale).all()


def test_a_steep_side_leaves_nothing_behind_for_the_next_pose():
    """Springs that the conservative Jacobian leaves out are in the middle of the next contact."""
    steep, beside = Pose(superior=5.5e-3), Pose(superior=9e-3, anterior=6e-3)
    model, other = (deep_contact([10e-3, 12e-3, 9e-3], conservative=True) for _ in range(2))
    model.loads(steep, order=1)
    found, expected = (each.loads(beside, order=1).jacobian for each in (model, other))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-6)


def test_femur_pressed_through_its_own_wall_is_flagged():
    """Behind the wall, springs are outside the femur."""
    ball = shapes.ellipsoid([RADIUS] * 3, 4)
    used = np.unique(ball.faces)
    sheet = TriangleMesh(ball.vertices[used], np.searchsorted(used, ball.faces))
    tibia = shapes.plate(50e-3, 40)
    labels = np.zeros(len(tibia.faces), dtype=np.int8)
    options = {"compartments": labels, "compartment_names": ("contact",)}
    closed = ElasticFoundation(shell(sheet, 2e-3), tibia, LAW, **options)
    for depth in (0.5e-3, 1.5e-3):
        assert not closed.loads(Pose(superior=RADIUS - depth)).flags
    for depth in (3e-3, 4.9e-3):
        (flag,) = closed.loads(Pose(superior=RADIUS - depth)).flags
        assert flag.kind == FlagKind.THROUGH_WALL
        np.testing.assert_allclose(flag.values, [1e3 * depth, 2.0], rtol=0.02)
    assert (
        not ElasticFoundation(sheet, tibia, LAW, **options)
        .loads(Pose(superior=RADIUS - 4.9e-3))
        .flags
    )


@pytest.mark.parametrize("surface", ["curved", "flat"])
@pytest.mark.parametrize("size", [(36e-3, 20e-3, 36e-3), (30e-3, 10e-3, 20e-3)])
def test_springs_beside_a_coarse_block_carry_nothing(surface, size):
    """A line past an edge of two large facets is outside both."""
    block = trimesh.creation.box(extents=size)
    femur = TriangleMesh(np.asarray(block.vertices), np.asarray(block.faces))
    tibia, depth = shapes.plate(60e-3, 120), 0.2e-3
    labels = np.zeros(len(tibia.faces), dtype=np.int8)
    model = ElasticFoundation(
        femur, tibia, LAW, surface=surface, compartments=labels, compartment_names=("contact",)
    )
    loads = model.loads(Pose(superior=0.5 * size[1] - depth)).total
    assert loads.force[1] == pytest.approx(K * depth * size[0] * size[2], rel=1e-3)
    assert loads.area == pytest.approx(size[0] * size[2], rel=1e-3)
