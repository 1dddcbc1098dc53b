"""Forces of the knee simulator, their signs and their derivatives."""

from dataclasses import replace

import naive_simulator
import numpy as np
import pytest
from differences import differences, pose_differences
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dynamics import AppliedLoads, GaitCycle, KneeSimulator, Ligament
from dynamics.simulator.equations import KneeEquations
from dynamics.simulator.knee_simulator import FREE_COORDINATES
from foundation.base.pose import Pose
from surrogates.sampling.space import ReferencePath

NOTHING = np.zeros(6)
SPRINGY = KneeSimulator(
    lateral_stiffness=2e4,
    adduction_stiffness=150.0,
    anterior_gap=1e-3,
    rotation_gap=0.015,
    anterior_offset=3e-3,
    neutral=Pose(0.0, 0.01, -0.02, 2e-3, 0.0, 1e-3),
)
#: Springs that follow the passive motion of a natural knee, and taut and slack bundles.
NATURAL = replace(
    SPRINGY,
    neutral=ReferencePath.through(
        [0.0, 0.4, 0.8, 1.3],
        np.array([[0.0, 0.01, 0.02, 0.0], [0.0, -0.1, -0.2, -0.25], [0.0, 1.2e-3, 3e-3, 4e-3],
                  [0.0, 0.0, 0.0, 0.0], [0.0, 1e-3, 1e-3, 2e-3]]).T,
    ),
    ligaments=(
        Ligament("a", [0.0, 5e-3, -40e-3], [10e-3, -40e-3, -30e-3], 44e-3, 6e4, "linear"),
        Ligament("b", [2e-3, 4e-3, 40e-3], [-9e-3, -40e-3, 38e-3], 40e-3, 2e7, "quadratic"),
        Ligament("slack", [0.0, 0.0, 0.0], [0.0, -30e-3, 0.0], 60e-3, 1e5, "linear"),
    ),
)  # fmt: skip
APPLIED = AppliedLoads(1800.0, -210.0, 4.5, 22.0)
angles, lengths = st.floats(-0.3, 0.3), st.floats(-5e-3, 5e-3)
poses = st.builds(Pose, st.floats(0.0, 1.2), angles, angles, lengths, st.just(-1e-4), lengths)


def test_axial_force_medial_of_the_femur_presses_it_into_varus():
    """A medial load closes the medial side: the femur tips as in adduction of the tibia."""
    force = KneeSimulator().force(Pose(), NOTHING, AppliedLoads(axial_force=1000.0))
    assert_allclose(force[1], 5.0, rtol=1e-12)


@given(pose=poses)
def test_an_adduction_torque_is_an_axial_force_further_medial(pose):
    """20 N m about the anterior axis: 1000 N on a line 20 mm further medial."""
    one, other = (KneeSimulator(medial_offset=offset) for offset in (25e-3, 5e-3))
    moved = one.force(pose, NOTHING, AppliedLoads(axial_force=1000.0))
    turned = other.force(pose, NOTHING, AppliedLoads(axial_force=1000.0, adduction_torque=20.0))
    assert_allclose(turned, moved, rtol=0.0, atol=1e-11)
    assert turned[1] > 15.0


@given(pose=poses, wrench=st.tuples(*[st.floats(-1e3, 1e3)] * 6))
@pytest.mark.parametrize("simulator", [SPRINGY, NATURAL], ids=["springs", "ligaments"])
def test_forces_are_those_of_the_naive_simulator(simulator, pose, wrench):
    wrench = np.array(wrench)
    found = simulator.force(pose, wrench, APPLIED)
    expected = naive_simulator.force(simulator, pose, wrench, APPLIED)
    assert_allclose(found, expected, rtol=1e-11, atol=1e-9)


POSES = [
    Pose(0.4, 0.01, 0.1, 2e-3, -1e-4, 1e-3),
    Pose(1.0, -0.02, -0.15, -4e-3, -3e-4, -2e-3),
    Pose(0.0, 0.0, 0.0, 0.0, -1e-4, 0.0),
]


@pytest.mark.parametrize("simulator", [SPRINGY, NATURAL], ids=["springs", "ligaments"])
@pytest.mark.parametrize("pose", POSES)
def test_force_jacobian_against_differences(knee, pose, simulator):
    dishes = knee(offset=(4e-3, 3e-3), stiffness=1e8)

    def force(at):
        return naive_simulator.force(simulator, at, dishes.loads(at).wrench, APPLIED)

    loads = dishes.loads(pose, 1)
    found = simulator.forces(pose, loads.wrench, loads.total_jacobian, APPLIED)[1]
    expected = pose_differences(force, pose, 1e-7)
    assert_allclose(found, expected, rtol=0.0, atol=1e-6 * np.abs(expected).max())
    # Without contact the rest of it must be right by itself, row by row.
    found = simulator.forces(pose, NOTHING, np.zeros((6, 6)), APPLIED)[1]
    without = lambda p: naive_simulator.force(simulator, p, NOTHING, APPLIED)  # noqa: E731
    expected = pose_differences(without, pose, 1e-7)
    for row in range(6):
        scale = max(1.0, np.abs(expected[row]).max())
        assert_allclose(found[row], expected[row], rtol=0.0, atol=2e-6 * scale)


ROLES = {
    "loads": {},
    "moved": {"anterior": 3e-3, "rotation": 0.05},
}


@pytest.mark.parametrize("damping", [200.0, 0.0])
@pytest.mark.parametrize("motions", ROLES.values(), ids=ROLES)
def test_equations_against_differences(knee, waves, motions, damping):
    """f by Newton's law from the naive forces; J and df/dt by differences of f."""
    simulator = replace(NATURAL, superior_damping=damping)
    reference = Pose(0.5, 0.01, 0.02, 1e-3, -2e-3, 1e-3)
    dishes = knee(offset=(4e-3, 3e-3), stiffness=1e8)
    equations = KneeEquations(dishes, simulator, waves(**motions), reference)
    rng = np.random.default_rng(3)
    size = {"adduction": 0.01, "rotation": 0.1, "anterior": 2e-3, "superior": 6e-4, "lateral": 1e-3}
    state = np.array([size[n] for n in equations.free] + [0.1] * len(equations.free))
    state *= rng.uniform(-1.0, 1.0, len(state))
    t, n = 0.32, len(state)
    f, by_state, by_time = equations.filled(t, state)

    assert_allclose(f, newtons_law(equations, simulator, dishes, waves(**motions), t, state),
                    rtol=1e-9, atol=1e-7)  # fmt: skip
    expected = differences(lambda y: equations.filled(t, y)[0], state, 1e-7)
    slope = differences(lambda at: equations.filled(at[0], state)[0], [t])[:, 0]
    for row in range(n):
        scale = max(1.0, np.abs(expected[row]).max())
        assert_allclose(by_state[row], expected[row], rtol=0.0, atol=1e-6 * scale)
        assert_allclose(by_time[row], slope[row], rtol=1e-6, atol=1e-6 * max(1.0, abs(f[row])))


def newtons_law(equations, simulator, dishes, cycle, t, state):
    """f (n,) of the naive forces, coordinate by coordinate."""
    pose = Pose.from_array(equations.coordinates(t, state))
    applied = AppliedLoads(*cycle.applied(t))
    force = naive_simulator.force(simulator, pose, dishes.loads(pose).wrench, applied)
    rows = [FREE_COORDINATES.index(name) for name in equations.free]
    speed = state[len(rows) :]
    pushed = (force[1:][rows] - simulator.damping[rows] * speed) / simulator.inertia[rows]
    return np.concatenate([speed, pushed])


def test_resting_rates_follow_the_equilibrium(knee, resting):
    """Against the difference of two equilibria a little before and after."""
    percent = np.linspace(0.0, 100.0, 41)
    wave = np.sin(2.0 * np.pi * percent / 100.0)
    cycle = GaitCycle(percent, 0.3 + 0.2 * wave, 800 + 300 * wave, 50 * wave, 2 * wave)
    dishes, simulator = knee(offset=(4e-3, 3e-3)), KneeSimulator()

    def rest(time):
        return resting(dishes, simulator, cycle, time, tolerance=1e-10)

    equations = KneeEquations(dishes, simulator, cycle, rest(0.1))
    found = equations.resting_rates(0.1, np.zeros(10))
    expected = (rest(0.1 + 1e-5).array - rest(0.1 - 1e-5).array)[1:] / 2e-5
    assert_allclose(found, expected, rtol=1e-5, atol=1e-8)
    assert np.abs(expected).min() > 1e-6
