"""Energy over a cycle: kept without damping, never gained with it."""

from dataclasses import replace

import naive_simulator
import numpy as np
import pytest
from scipy.optimize import root

from dynamics import AppliedLoads, GaitCycle, KneeSimulator, Ligament, simulate
from dynamics.simulator.knee_simulator import FREE_COORDINATES, REDUCED
from foundation.base.pose import Pose

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
