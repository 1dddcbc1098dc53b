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


@pytest.mark.parametrize("end", ["_r", "_l", "_R"])
@pytest.mark.parametrize("turned", TURNS)
def test_names_tell_the_leg_and_directions_are_those_of_the_body(tmp_path, end, turned):
    side = side_of(leg_model(tmp_path, right=end != "_l", end=end, turned=turned))
    assert side.leg == ("left" if end == "_l" else "right")
    assert_allclose(side.axes, turn_of(turned), atol=1e-12)


@pytest.mark.parametrize("bone", TURNS)
def test_directions_are_those_of_the_body_whatever_the_axes_of_the_bone(tmp_path, bone):
    side = side_of(leg_model(tmp_path, right=False, end="_l", other="_r", bone=bone))
    assert side.leg == "left"
    assert_allclose(side.axes @ turn_of(bone), np.eye(3), atol=1e-12)


def test_a_leg_without_a_side_in_its_names_is_unknown(tmp_path):
    assert side_of(leg_model(tmp_path, right=True, end="", other=None)).leg == ""


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
