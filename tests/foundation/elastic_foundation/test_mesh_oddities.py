"""Contact of meshes with creases, rims, stray vertices, few triangles or very unequal edges."""

from __future__ import annotations

import numpy as np
import pytest
import shapes
from beds import K, model_of
from smooth_shapes import RADIUS, two_planes

from foundation.base.pose import Pose
from foundation.surfaces.mesh import TriangleMesh

BOTH = pytest.mark.parametrize("surface", ["flat", "curved"])
DEPTH = 0.5e-3
CAP = K * np.pi * DEPTH**2 * (3 * RADIUS - DEPTH) / 3


def cap(edge, half_width=14e-3):
    """Sphere of radius 30 mm, lowest point at the origin, facing down."""
    cells = 2 * round(half_width / edge)
    ball = lambda x, z: RADIUS - np.sqrt(RADIUS**2 - x**2 - z**2)  # noqa: E731
    return shapes.swept(ball, half_width, cells, cells, half_width)


@BOTH
def test_rim_of_a_small_femur_inside_the_bed(surface):
    """A punch whose edges cut the plate's triangles: elements on the rim are single springs."""
    punch = shapes.plate(11e-3, 3, up=False)
    force = K * 11e-3**2 * DEPTH
    model = model_of(punch, shapes.plate(40e-3, 67), surface=surface)
    for turn in (0.0, 0.3, 0.7):
        result = model.evaluate(Pose(rotation=turn, superior=-DEPTH, anterior=0.7e-3))
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
    result = model_of(two_planes(100.0), tibia).evaluate(Pose(superior=-1.5e-3))
    part = (np.cos(np.deg2rad(50.0)) - 0.5) / 0.2
    stiffness = part**2 * (3.0 - 2.0 * part) * K
    slope = np.tan(np.deg2rad(50.0))
    assert result.force[1] == pytest.approx(stiffness * 12e-3 * 1.5e-3**2 / slope, rel=1.5e-2)
    # The edge is steeper than a field of indentation allows: single springs, no finer than the bed.
    assert result.peak_pressure == pytest.approx(stiffness * 1.5e-3, rel=0.15)


def test_a_shallow_crease_is_met_exactly():
    """At 45 degrees to the bed on both sides, normals turn by a right angle over the edge."""
    tibia = shapes.plate(12e-3, 60)
    depth = 1e-3
    result = model_of(two_planes(90.0), tibia).evaluate(Pose(superior=-depth))
    assert result.force[1] == pytest.approx(K * 12e-3 * depth**2, rel=1e-2)


@BOTH
def test_stray_and_repeated_vertices_change_nothing(surface):
    tibia = shapes.plate(16e-3, 16)
    femur = cap(2e-3)
    pose = Pose(0.02, 0.01, 0.1, 0, -DEPTH, 0)
    plain = model_of(femur, tibia, surface=surface).evaluate(pose)
    stray = np.concatenate([femur.vertices, [[0, -50e-3, 0], [9.0, 9.0, 9.0]], femur.vertices[:3]])
    found = model_of(TriangleMesh(stray, femur.faces, "stray"), tibia, surface=surface).evaluate(
        pose
    )
    np.testing.assert_allclose(found.wrench, plain.wrench, rtol=1e-12, atol=1e-9)
    bed = np.concatenate([tibia.vertices, [[0, 5e-3, 0]], tibia.vertices[:5]])
    found = model_of(femur, TriangleMesh(bed, tibia.faces, "stray"), surface=surface).evaluate(pose)
    np.testing.assert_allclose(found.wrench, plain.wrench, rtol=1e-12, atol=1e-9)


@BOTH
def test_a_soup_of_triangles_is_met_like_flat_facets(surface):
    """Vertices not shared: every edge is a rim, the surface between them unknown."""
    femur, tibia = cap(1.4e-3), shapes.plate(16e-3, 32)
    soup = TriangleMesh(
        femur.vertices[femur.faces].reshape(-1, 3), np.arange(femur.faces.size).reshape(-1, 3)
    )
    found = model_of(soup, tibia, surface=surface).evaluate(Pose(superior=-DEPTH))
    flat = model_of(femur, tibia, surface="flat").evaluate(Pose(superior=-DEPTH))
    assert found.force[1] == pytest.approx(flat.force[1], rel=5e-3)


@BOTH
def test_tibia_of_two_triangles(surface):
    """One per compartment, pressed all over by a flat punch."""
    tibia = shapes.plate(20e-3, 1)
    punch = shapes.plate(60e-3, 2, up=False)
    result = model_of(punch, tibia, surface=surface, labels=[0, 1]).evaluate(Pose(superior=-DEPTH))
    assert result.force[1] == pytest.approx(K * 20e-3**2 * DEPTH, rel=1e-12)
    assert result.medial.area == pytest.approx(200e-6, rel=1e-12)
    assert result.centre_of_pressure == pytest.approx([0, 0, 0], abs=1e-12)


def test_two_large_triangles_carry_a_patch_within_them():
    """The field over an element is quadratic; of a patch much smaller than it little is left."""
    tibia = shapes.plate(20e-3, 1)
    deep = 6e-3
    exact = K * np.pi * deep**2 * (3 * RADIUS - deep) / 3
    found = model_of(cap(1e-3, 20e-3), tibia, labels=[0, 1]).evaluate(Pose(superior=-deep)).force[1]
    inside = 20e-3**2 * K * deep
    assert 0.3 * exact < found < inside


@pytest.mark.slow
@pytest.mark.parametrize(
    ("femur_edge", "tibia_edge", "tolerance"), [(0.3e-3, 5e-3, 6e-2), (5e-3, 0.3e-3, 1e-2)]
)
def test_very_unequal_edges(femur_edge, tibia_edge, tolerance):
    """The patch is 5.4 mm in radius; edges of 5 mm on one side, 0.3 mm on the other."""
    half = 10e-3 if femur_edge < 1e-3 else 15e-3
    cells = round((20e-3 if tibia_edge > 1e-3 else 13.2e-3) / tibia_edge)
    tibia = shapes.plate(cells * tibia_edge, cells, (0.4e-3, 0, 0.7e-3))
    model = model_of(cap(femur_edge, half), tibia)
    found = model.evaluate(Pose(superior=-DEPTH)).force[1]
    assert found == pytest.approx(CAP, rel=tolerance)
