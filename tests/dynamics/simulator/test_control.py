"""Prescribed AP position and rotation, in the manner of ISO 14243-3."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics import AppliedLoads, KneeSimulator, settle, simulate
from dynamics.simulator.knee_simulator import FREE_COORDINATES, REDUCED
from foundation.base.pose import COORDINATES, Pose
from surrogates.sampling.space import ReferencePath

NEUTRAL = Pose(rotation=0.02, anterior=1e-3)
SIMULATOR = KneeSimulator(neutral=NEUTRAL)
BOTH = {"anterior": 3e-3, "rotation": 0.06}


@pytest.mark.parametrize("quasi_static", [(), REDUCED], ids=["full", "reduced"])
@pytest.mark.parametrize("moved", [("anterior",), ("rotation",), ("anterior", "rotation")])
def test_prescribed_motions_are_followed(knee, waves, moved, quasi_static):
    cycle = waves(**{name: BOTH[name] for name in moved})
    simulator = replace(SIMULATOR, quasi_static=quasi_static)
    result = simulate(knee(stiffness=1e8), simulator, cycle, samples=31)
    for name in moved:
        k = COORDINATES.index(name)
        value, rate, _ = cycle.motion(name, result.time)
        assert_allclose(result.poses[:, k], getattr(NEUTRAL, name) + value, rtol=0.0, atol=1e-15)
        assert_allclose(result.rates[:, k], rate, rtol=0.0, atol=1e-12)
    assert np.ptp(result.poses[:, 4]) > 1e-5
    loads = {"anterior": 1, "rotation": 2}
    for name, column in loads.items():
        assert (np.ptp(result.applied[:, column]) == 0.0) == (name in moved)


def test_motions_count_from_a_neutral_pose_over_flexion(knee, waves):
    """From where the springs are slack at the flexion of the start."""
    path = ReferencePath.through(
        [0.0, 1.0], [[0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.1, 2e-3, 0.0, 0.0]]
    )
    cycle = waves(anterior=2e-3, rotation=0.05)
    simulator = KneeSimulator(neutral=path, lateral_stiffness=1e4)
    result = simulate(knee(stiffness=1e8), simulator, cycle, samples=5)
    begin = simulator.neutral_at(cycle.at(0.0)[0])
    expected = begin.anterior + cycle.motion("anterior", result.time)[0]
    assert_allclose(result.poses[:, 3], expected, rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("held", [("anterior",), ("rotation", "anterior"), ("lateral",)])
def test_settle_with_coordinates_held(knee, held):
    dishes, start = knee(), Pose(0.0, 0.0, 0.07, 2e-3, 0.0, 1e-3)
    loads = {"flexion": 0.3, "axial_force": 1500.0, "ap_force": 60.0, "internal_torque": 2.0}
    pose = settle(dishes, SIMULATOR, start=start, held=held, tolerance=1e-9, **loads)
    for name in held:
        assert_allclose(getattr(pose, name), getattr(start, name), rtol=1e-14)
    applied = AppliedLoads(1500.0, 60.0, 2.0)
    force = SIMULATOR.force(pose, dishes.loads(pose).wrench, applied)[1:]
    free = np.array([name not in held for name in FREE_COORDINATES])
    assert_allclose(force[free], 0.0, rtol=0.0, atol=1.5e-6)
    assert np.abs(force[~free]).max() > 0.1


def test_initial_pose_must_be_where_the_cycle_begins(knee, waves):
    cycle = waves(**BOTH)
    flexion = cycle.at(0.0)[0]
    wrong = Pose(flexion, rotation=0.02 + cycle.motion("rotation", 0.0)[0], superior=-1e-4)
    with pytest.raises(ValueError, match="initial: expected the anterior that the cycle"):
        simulate(knee(), SIMULATOR, cycle, initial=wrong)
