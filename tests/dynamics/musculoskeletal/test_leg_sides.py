"""Sides of the leg of a contact, whatever the axes of its mesh."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.musculoskeletal.leg_sides import counterpart, leg_side
from tests.dynamics.musculoskeletal.legs import leg_model, turn_of

HALF = np.pi / 2.0
#: Turns of a mesh in its body: as the body, x back and z left, z up, and oblique.
TURNS = [(0.0, 0.0, 0.0), (0.0, np.pi, 0.0), (HALF, 0.0, 0.0), (0.0, HALF, HALF), (0.4, -0.7, 1.1)]


def side_of(model):
    return leg_side(model, model.contacts[0].bed)


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("turned", TURNS)
def test_directions_are_those_of_the_body_whatever_the_axes_of_the_mesh(tmp_path, right, turned):
    ends = ("_r", "_l") if right else ("_l", "_r")
    side = side_of(leg_model(tmp_path, right=right, end=ends[0], other=ends[1], turned=turned))
    assert side.leg == ("right" if right else "left")
    assert not side.note
    assert_allclose(side.axes, turn_of(turned), atol=1e-12)


@pytest.mark.parametrize("bone", TURNS)
def test_directions_are_those_of_the_body_whatever_the_axes_of_the_bone(tmp_path, bone):
    side = side_of(leg_model(tmp_path, right=False, end="_l", other="_r", bone=bone))
    assert (side.leg, side.note) == ("left", "")
    assert_allclose(side.axes @ turn_of(bone), np.eye(3), atol=1e-12)


@pytest.mark.parametrize("changes", [{"other": None}, {"end": "", "other": None}])
@pytest.mark.parametrize("right", [True, False])
def test_the_place_in_the_pelvis_tells_a_leg_without_another(tmp_path, right, changes):
    side = side_of(leg_model(tmp_path, right=right, **{"end": "_r" if right else "_l"} | changes))
    assert side.leg == ("right" if right else "left")
    assert "in pelvis" in side.found
    assert not side.note


@pytest.mark.parametrize(("end", "leg"), [("_r", "right"), ("_l", "left"), ("_R", "right")])
def test_names_tell_a_knee_without_a_pelvis(tmp_path, end, leg):
    side = side_of(leg_model(tmp_path, right=True, end=end, pelvis=False))
    assert (side.leg, side.found, side.note) == (leg, f"the name tibia{end}", "")
    assert_allclose(side.axes, np.eye(3), atol=1e-12)


def test_an_unknown_side_is_told(tmp_path):
    side = side_of(leg_model(tmp_path, right=True, end="", pelvis=False))
    assert side.leg == ""
    assert "expected the side of the leg, found no joint" in side.note


def test_names_against_the_places_are_told_and_medial_follows_the_places(tmp_path):
    side = side_of(leg_model(tmp_path, right=False, end="_r", other="_l"))
    assert side.leg == "left"
    assert "expected a right leg as the name tibia_r says, found a left leg" in side.note


def test_gravity_tells_which_axis_is_up(tmp_path):
    model = leg_model(tmp_path, right=True, pelvis=False, gravity="0 0 -9.8")
    assert_allclose(side_of(model).axes, [[1, 0, 0], [0, 0, 1], [0, -1, 0]], atol=1e-12)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        *(("calcn_r", "calcn_l"), ("right_toes", "left_toes"), ("L5_S1", "L5_S1")),
        *(("ulnar", "ulnar"), ("R_Heel", "L_Heel"), ("Left_Foot", "Right_Foot")),
    ],
)
def test_parts_of_the_other_leg(name, other):
    assert counterpart(name) == other
