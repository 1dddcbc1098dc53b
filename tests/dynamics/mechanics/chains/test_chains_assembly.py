"""Free and prescribed chains together: driving torques, drives and checks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.mechanics.chains import (
    Assembly,
    Chain,
    ChainSegment,
    Joint,
    PrescribedMotion,
    ViscoelasticLink,
)
from dynamics.simulator.equations import SimulationError

GRAVITY = np.array([0.0, -9.80665])
SEGMENTS = (
    ChainSegment("thigh", 0.42, 8.0, 0.12, [0.18, 0.01]),
    ChainSegment("shank", 0.43, 3.5, 0.06, [0.19, -0.01]),
    ChainSegment("foot", 0.15, 1.0, 0.005, [0.07, 0.02]),
)
JOINTS = (Joint(5.0, 0.5, -1.5), Joint(3.0, 0.3, -0.2), Joint(8.0, 0.2, 1.2))
TIME = np.linspace(0.0, 1.0, 101)
ANGLES = PrescribedMotion(
    TIME,
    np.array([-1.5, -1.8, -0.3])
    + np.sin(np.add.outer(6.0 * TIME, [0.0, 0.5, 1.1])) * [0.4, 0.6, 0.3],
)
PATH = PrescribedMotion(TIME, np.column_stack([1.2 * TIME, 0.9 + 0.03 * np.sin(9.0 * TIME)]))
LIMB = Chain("limb", SEGMENTS, PATH, JOINTS, angles=ANGLES)
BARS = (
    ChainSegment("upper", 0.4, 0.8, 0.01, [0.2, 0.0]),
    ChainSegment("lower", 0.4, 0.6, 0.01, [0.2, 0.0]),
)
ORTHOSIS = Chain("orthosis", BARS, PATH)
CUFFS = (
    ViscoelasticLink("cuff", ("limb", "thigh"), [0.3, 0.0], ("orthosis", "upper"), [0.3, 0.0],
                     2e3, 30.0, kind="bushing"),
    ViscoelasticLink("strap", ("limb", "shank"), [0.3, 0.05], ("orthosis", "lower"), [0.3, 0.0],
                     3e3, 20.0, rest_length=0.04),
)  # fmt: skip
WORN = Assembly((LIMB, ORTHOSIS), CUFFS)
STATE = ([-1.4, -1.7], [0.5, 1.0])


def turned(angle: float, point) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]]) @ point


def limb_points(time: float) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return proximal joints and centres of mass of the limb, one segment after the other."""
    joints, centres = [PATH.at(time)[0]], []
    for segment, angle in zip(SEGMENTS, ANGLES.at(time)[0], strict=True):
        centres.append(joints[-1] + turned(angle, segment.centre))
        joints.append(joints[-1] + turned(angle, [segment.length, 0.0]))
    return joints, centres


def cross(a, b) -> float:
    return a[0] * b[1] - a[1] * b[0]


def naive_joint_torques(time: float, pulls: dict[int, tuple[np.ndarray, np.ndarray]]):
    """Newton and Euler from the foot to the hip; accelerations by differences over time.

    `pulls` are force and place of what acts on each segment besides.
    """
    h = 2e-4
    behind, (joints, centres), ahead = (limb_points(time + s * h) for s in (-1, 0, 1))
    angles, rates, accelerations = ANGLES.at(time)
    force, torque, torques = np.zeros(2), 0.0, np.zeros(3)
    for k in reversed(range(3)):
        segment = SEGMENTS[k]
        a = (ahead[1][k] - 2.0 * centres[k] + behind[1][k]) / h**2
        pull, place = pulls.get(k, (np.zeros(2), centres[k]))
        # `force` and `torque` are what the next segment takes from this one at its far joint.
        proximal = segment.mass * (a - GRAVITY) + force - pull
        torques[k] = (
            segment.inertia * accelerations[k]
            + torque
            - cross(joints[k] - centres[k], proximal)
            + cross(joints[k + 1] - centres[k], force)
            - cross(place - centres[k], pull)
        )
        force, torque = proximal, torques[k]
    passive = [
        -joint.stiffness * (angle - joint.neutral) - joint.damping * rate
        for joint, angle, rate in zip(
            JOINTS, np.diff(angles, prepend=0.0), np.diff(rates, prepend=0.0), strict=True
        )
    ]
    return torques - passive


def test_driving_torques_are_those_of_newton_and_euler():
    for time in (0.1, 0.45, 0.8):
        found = WORN.evaluate(time, *STATE)
        joints, _ = limb_points(time)
        angles = ANGLES.at(time)[0]
        # The links pull the limb, their first end, by the opposite of their forces.
        pulls = {
            k: (-found.link_forces[k], joints[k] + turned(angles[k], CUFFS[k].first_point))
            for k in (0, 1)
        }
        expected = naive_joint_torques(time, pulls)
        assert np.abs(found.link_forces).max() > 10.0
        assert_allclose(found.torques[:3], expected, rtol=1e-6, atol=1e-4)
        assert_allclose(found.angles[:3], angles, rtol=1e-15)
        assert not found.torques[3:].any()


def test_links_act_with_the_geometry_of_both_chains():
    time = 0.3
    found = WORN.evaluate(time, *STATE)
    limb, _ = limb_points(time)
    on_limb = limb[1] + turned(ANGLES.at(time)[0][1], [0.3, 0.05])
    knee = PATH.at(time)[0] + turned(STATE[0][0], [0.4, 0.0])
    vector = knee + turned(STATE[0][1], [0.3, 0.0]) - on_limb
    stretch = np.linalg.norm(vector) - 0.04
    undamped = Assembly(WORN.chains, tuple(replace(each, damping=0.0) for each in CUFFS))
    elastic = undamped.evaluate(time, *STATE).link_forces[1]
    assert_allclose(elastic, -3e3 * stretch * vector / np.linalg.norm(vector), rtol=1e-10)
    assert np.abs(found.link_forces[1] - elastic).max() > 1.0


def test_the_drive_of_a_free_chain_moves_it_as_prescribed():
    """The torques of the inverse dynamics, as drives, yield the accelerations prescribed."""
    time = 0.37
    prescribed = Assembly((LIMB,)).evaluate(time, [], [])
    assert not Assembly((LIMB,)).free.any()
    driven = replace(LIMB, angles=None, drive=lambda t, angles, rates: prescribed.torques)
    found = Assembly((driven,)).evaluate(time, prescribed.angles, prescribed.rates)
    assert_allclose(found.accelerations, prescribed.accelerations, rtol=1e-9, atol=1e-9)
    assert_allclose(found.torques, prescribed.torques, rtol=1e-15)


def test_a_drive_sees_its_own_chain_and_acts_on_its_joints():
    seen = []

    def drive(time, angles, rates):
        seen.append((time, angles.copy(), rates.copy()))
        return [1.0, 2.0]

    assembly = Assembly((LIMB, replace(ORTHOSIS, drive=drive)), CUFFS)
    mass, bias, force = assembly.terms(0.5, *STATE)
    found = assembly.accelerations(0.5, *STATE)
    ((time, angles, rates),) = seen
    assert time == 0.5
    assert_allclose([angles, rates], STATE, rtol=1e-15)
    # The second torque acts on the lower bar and back on the upper one.
    balance = mass[3:, 3:] @ found + bias[3:] - force[3:]
    assert_allclose(balance, [1.0 - 2.0, 2.0], rtol=1e-9)


def test_columns_and_free_segments():
    assert WORN.columns == ("limb.thigh", "limb.shank", "limb.foot", "orthosis.upper",
                            "orthosis.lower")  # fmt: skip
    assert WORN.free.tolist() == [False] * 3 + [True] * 2


def test_a_line_that_loses_its_direction_is_named():
    alike = Assembly((LIMB, ORTHOSIS), (replace(CUFFS[0], kind="line"),))
    thigh = ANGLES.at(0.2)[0][0]
    with pytest.raises(SimulationError, match=r"link cuff: the points of a line coincide"):
        alike.accelerations(0.2, [thigh, 0.0], [0.0, 0.0])
