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


def test_a_line_that_loses_its_direction_is_named():
    alike = Assembly((LIMB, ORTHOSIS), (replace(CUFFS[0], kind="line"),))
    thigh = ANGLES.at(0.2)[0][0]
    with pytest.raises(SimulationError, match=r"link cuff: the points of a line coincide"):
        alike.accelerations(0.2, [thigh, 0.0], [0.0, 0.0])
