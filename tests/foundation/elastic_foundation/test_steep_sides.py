"""Springs whose line in the femur is no indentation: sideways, through a wall, past an edge."""

from __future__ import annotations

import numpy as np
import pytest
import shapes
import trimesh
from beds import LAW, K
from solids import joined, shell

from foundation.base.flags import FlagKind
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import CoupledLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.statics.height import StaticsError, pose_at_load
from foundation.surfaces.triangle_mesh import TriangleMesh

RADIUS, AWAY = 25e-3, 6e-3
PRESSED = Pose(superior=RADIUS - 0.5e-3)


def pressed(law=LAW, *, facet: bool, surface: str = "curved") -> ElasticFoundation:
    """A sphere on a plate; the facet stands upright and faces away from the middle."""
    tibia = shapes.plate(30e-3, 30)
    if facet:
        corners = [[-AWAY, 0.3e-3, -1e-3], [-AWAY, 0.3e-3, 1e-3], [-AWAY, 1.5e-3, 0.0]]
        upright = TriangleMesh(np.array(corners), np.array([[0, 1, 2]]))
        assert upright.normals[0, 0] < -0.99
        tibia = joined(tibia, upright)
    return ElasticFoundation(
        shapes.ellipsoid([RADIUS] * 3, 4),
        tibia,
        law,
        surface=surface,
        compartments=np.zeros(len(tibia.faces), dtype=np.int8),
        compartment_names=("contact",),
    )


@pytest.mark.parametrize("surface", ["curved", "flat"])
def test_spring_through_the_femur_is_flagged_with_its_place(surface):
    model = pressed(facet=True, surface=surface)
    flags = {flag.kind: flag for flag in model.evaluate(PRESSED).flags}
    flag = flags[FlagKind.STEEP_SIDE]
    place = np.array([-AWAY, 0.7e-3, 0.0])
    centre = np.array([0.0, RADIUS - 0.5e-3, 0.0])
    along = np.sqrt(RADIUS**2 - (centre - place)[1] ** 2) + AWAY
    expected = [*place, along, RADIUS - np.linalg.norm(place - centre)]
    np.testing.assert_allclose(1e-3 * np.array(flag.values), expected, rtol=0.05, atol=2e-5)
    assert "mm sideways through the femur, whose surface is 0.44 mm away" in str(flag)


def test_load_on_a_spring_through_the_femur_is_refused_with_the_cause():
    with pytest.raises(StaticsError, match=r"; contact: .* sideways through the femur"):
        pose_at_load(pressed(facet=True), PRESSED, "contact", 100.0)


@pytest.mark.parametrize("law", [LAW, CoupledLaw(10e6, 0.45, 6e-3)])
def test_smooth_contact_has_no_such_flag(law):
    model = pressed(law, facet=False)
    assert not model.evaluate(PRESSED).flags
    assert pose_at_load(model, PRESSED, "contact", 100.0).loads[1] == pytest.approx(100.0, rel=1e-6)


@pytest.mark.parametrize("law", [LAW, CoupledLaw(10e6, 0.45, 6e-3)])
def test_femur_pressed_through_its_own_wall_is_flagged(law):
    """Behind the wall, springs are outside the femur: coupled ones lost force from 4 mm on."""
    ball = shapes.ellipsoid([RADIUS] * 3, 4)
    used = np.unique(ball.faces)
    sheet = TriangleMesh(ball.vertices[used], np.searchsorted(used, ball.faces))
    tibia = shapes.plate(50e-3, 40)
    labels = np.zeros(len(tibia.faces), dtype=np.int8)
    options = {"compartments": labels, "compartment_names": ("contact",)}
    closed = ElasticFoundation(shell(sheet, 2e-3), tibia, law, **options)
    for depth in (0.5e-3, 1.5e-3):
        assert not closed.evaluate(Pose(superior=RADIUS - depth)).flags
    for depth in (3e-3, 4.9e-3):
        (flag,) = closed.evaluate(Pose(superior=RADIUS - depth)).flags
        assert flag.kind == FlagKind.THROUGH_WALL
        np.testing.assert_allclose(flag.values, [1e3 * depth, 2.0], rtol=0.02)
    assert (
        not ElasticFoundation(sheet, tibia, law, **options)
        .evaluate(Pose(superior=RADIUS - 4.9e-3))
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
    loads = model.evaluate(Pose(superior=0.5 * size[1] - depth)).total
    assert loads.force[1] == pytest.approx(K * depth * size[0] * size[2], rel=1e-3)
    assert loads.area == pytest.approx(size[0] * size[2], rel=1e-3)
