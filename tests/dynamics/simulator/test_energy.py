"""Energy over a cycle: kept without damping, never gained with it."""

from dataclasses import replace

import naive_simulator
import numpy as np
import pytest
from beds import IMPLANT, POLYETHYLENE, implant_model
from numpy.testing import assert_allclose
from scipy.optimize import root

from dynamics import AppliedLoads, GaitCycle, KneeSimulator, Ligament, simulate
from dynamics.simulator.knee_simulator import FREE_COORDINATES, REDUCED
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import LinearLaw

FREE_OF_DAMPING = {f"{name}_damping": 0.0 for name in FREE_COORDINATES}
#: Two collaterals and a cruciate, taut: they press the condyles into their dishes.
BUNDLES = (
    Ligament("mcl", [0.0, 5e-3, -40e-3], [-4e-3, -60e-3, -34e-3], 55.5e-3, 60e3, "linear"),
    Ligament("lcl", [2e-3, 4e-3, 40e-3], [-9e-3, -55e-3, 38e-3], 52e-3, 8e6, "quadratic"),
    Ligament("pcl", [-2e-3, 2e-3, 3e-3], [-20e-3, -25e-3, 0.0], 27.6e-3, 9e6, "quadratic"),
)
KNEE = KneeSimulator(
    medial_offset=0.0, lateral_stiffness=1e4, adduction_stiffness=50.0, ligaments=BUNDLES,
    anterior_gap=1e-3, **FREE_OF_DAMPING,
)  # fmt: skip
#: A knock to all coordinates.
START = Pose(0.4, 0.01, 0.05, 2e-3, -1.7e-3, 5e-4)


def inputs(period, ap=40.0, torque=1.0):
    """Constant loads that have a potential: no axial force, the ligaments press."""
    rows = np.ones(6)
    return GaitCycle(
        np.linspace(0.0, 100.0, 6), 0.4 * rows, 0.0 * rows, ap * rows, torque * rows, period
    )


def energies(simulator, result, contact_energy):
    """Kinetic and potential energy at the reported instants."""
    applied = AppliedLoads(*result.applied[0])
    # The axial force through the origin has a potential while nothing tilts the knee.
    axial, others = applied.axial_force, replace(applied, axial_force=0.0)
    potential = [
        contact_energy(p)
        + naive_simulator.stored_energy(simulator, p)
        + naive_simulator.load_energy(p, others)
        + axial * p.superior
        for p in map(Pose.from_array, result.poses)
    ]
    inertia = np.array([n not in simulator.quasi_static for n in FREE_COORDINATES])
    kinetic = 0.5 * (result.rates[:, 1:] ** 2 * simulator.inertia * inertia).sum(axis=1)
    return kinetic, np.array(potential)


def assert_kept(simulator, result, contact_energy, share):
    """The energy drifts by less than a share of what is exchanged."""
    kinetic, potential = energies(simulator, result, contact_energy)
    drift = np.abs(kinetic + potential - kinetic[0] - potential[0])
    assert drift.max() < share * np.ptp(kinetic)


def quasi_static_rest(dishes, simulator, pose):
    """Move the quasi-static coordinates to their equilibrium, the others held."""
    rows, scale = [1, 4, 5], np.array([1e-2, 1e-4, 1e-3])
    applied = AppliedLoads(0.0, 40.0, 1.0)

    def left(z):
        coordinates = pose.array
        coordinates[rows] = scale * z
        at = Pose.from_array(coordinates)
        return scale * simulator.force(at, dishes.loads(at).wrench, applied)[rows]

    found = root(left, pose.array[rows] / scale, tol=1e-14)
    coordinates = pose.array
    coordinates[rows] = scale * found.x
    assert np.abs(left(found.x)).max() < 1e-9
    return Pose.from_array(coordinates)


@pytest.mark.parametrize("quasi_static", [(), REDUCED], ids=["full", "reduced"])
def test_energy_is_kept_without_damping(knee, quasi_static):
    """Drift below 1e-6 of what is exchanged; contact, springs with a gap, ligaments, loads."""
    dishes, simulator = knee(stiffness=1e7), KNEE
    start = START
    if quasi_static:
        simulator = replace(KNEE, quasi_static=quasi_static)
        start = quasi_static_rest(dishes, simulator, START)
    result = simulate(dishes, simulator, inputs(0.03), initial=start, samples=51, rtol=1e-9)
    assert (result.loads[:, 1] > 100.0).all()
    assert np.ptp(result.poses[:, 3]) > 1e-3
    assert_kept(simulator, result, dishes.energy, 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("quasi_static", [(), REDUCED], ids=["full", "reduced"])
def test_energy_never_grows_with_damping(knee, quasi_static):
    dishes = knee(stiffness=1e7)
    simulator = replace(
        KNEE, quasi_static=quasi_static, superior_damping=100.0, anterior_damping=50.0,
        adduction_damping=0.2, rotation_damping=0.05, lateral_damping=50.0,
    )  # fmt: skip
    result = simulate(dishes, simulator, inputs(0.1), initial=START, samples=101, rtol=1e-9)
    total = sum(energies(simulator, result, dishes.energy))
    lost = total[0] - total[-1]
    assert lost > 1e-3
    assert np.diff(total).max() <= 1e-9 * lost
    # What is lost is what the dampers took.
    power = (result.rates[:, 1:] ** 2 * simulator.damping).sum(axis=1)
    if not quasi_static:
        taken = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]))]) * 1e-3
        assert_allclose(total[0] - total[-1], taken[-1], rtol=0.03)


@pytest.mark.slow
def test_energy_under_the_axial_force_in_the_sagittal_plane(knee):
    """The axial force through the origin has a potential while nothing tilts the knee."""
    dishes = knee(stiffness=1e7)
    simulator = KneeSimulator(medial_offset=0.0, **FREE_OF_DAMPING)
    rows = np.ones(6)
    cycle = GaitCycle(np.linspace(0, 100, 6), 0.3 * rows, 800.0 * rows, period=0.2)
    start = Pose(0.3, anterior=3e-3, superior=-1.3e-3)
    result = simulate(dishes, simulator, cycle, initial=start, samples=201, rtol=1e-8)
    assert_kept(simulator, result, dishes.energy, 1e-6)
    assert_allclose(result.poses[:, [1, 2, 5]], 0.0, rtol=0.0, atol=1e-12)


@pytest.mark.slow
def test_energy_on_a_conservative_bed_of_springs():
    """Limited by the seams of its patches, where the force has a kink."""
    bed = implant_model(LinearLaw(*POLYETHYLENE), edge=3e-3, conservative=True)
    home = IMPLANT.home_pose(0.4)
    simulator = KneeSimulator(
        medial_offset=0.0, lateral_stiffness=1e4, neutral=home, **FREE_OF_DAMPING
    )
    rows = np.ones(6)
    cycle = GaitCycle(np.linspace(0, 100, 6), home.flexion * rows, 800.0 * rows, period=0.025)
    start = replace(home, anterior=home.anterior + 1e-3, superior=home.superior - 0.12e-3)
    result = simulate(bed, simulator, cycle, initial=start, samples=26, rtol=1e-6)
    assert_kept(simulator, result, bed.stored_energy, 2e-4)
