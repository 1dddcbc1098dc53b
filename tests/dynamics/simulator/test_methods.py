"""The knee by Rosenbrock steps against scipy; prescribed motions (ISO 14243-3)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from dynamics import AppliedLoads, KneeSimulator, settle, simulate
from dynamics.simulator.equations import KneeEquations
from dynamics.simulator.knee_simulator import FREE_COORDINATES
from foundation.base.pose import COORDINATES, Pose
from surrogates.sampling.space import ReferencePath

OFFSET = (4e-3, 3e-3)
DAMPED = KneeSimulator(superior_damping=2e3, adduction_damping=2.0, lateral_damping=2e3)


def share_of_range(found, truth):
    """Largest difference of coordinates over the range that each goes through."""
    return (np.abs(found - truth).max(axis=0) / np.ptp(truth, axis=0)).max()


def test_agreement_with_radau_at_tight_tolerance(knee, waves):
    """Within 1e-8 of the range of every coordinate and rate."""
    dishes, cycle = knee(offset=OFFSET, stiffness=1e7), waves(0.02)
    found = simulate(dishes, DAMPED, cycle, samples=21, rtol=1e-9)
    begin = Pose.from_array(found.poses[0])
    equations = KneeEquations(dishes, DAMPED, cycle, begin)
    state = np.concatenate((np.zeros(5), found.rates[0, 1:]))
    atol = np.repeat([1e-11, 1e-8], 5)
    radau = solve_ivp(
        lambda t, y: equations.filled(t, y)[0], (0.0, cycle.period), state, "Radau",
        found.time, rtol=1e-9, atol=atol, max_step=1e-2 * cycle.period,
        jac=lambda t, y: equations.filled(t, y)[1],
    ).y.T  # fmt: skip
    assert share_of_range(found.poses[:, 1:], radau[:, :5] + begin.array[1:]) < 1e-8
    assert share_of_range(found.rates[:, 1:], radau[:, 5:]) < 1e-7


NEUTRAL = Pose(rotation=0.02, anterior=1e-3)
SIMULATOR = KneeSimulator(neutral=NEUTRAL)
BOTH = {"anterior": 3e-3, "rotation": 0.06}


@pytest.mark.parametrize("moved", [("anterior",), ("rotation",), ("anterior", "rotation")])
def test_prescribed_motions_are_followed(knee, waves, moved):
    cycle = waves(**{name: BOTH[name] for name in moved})
    result = simulate(knee(stiffness=1e8), SIMULATOR, cycle, samples=31)
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
