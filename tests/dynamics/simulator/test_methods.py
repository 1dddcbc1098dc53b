"""Rosenbrock methods on the knee, full and reduced: against scipy, and against each other."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from some_slow import first_of

from dynamics import KneeSimulator, simulate
from dynamics.simulator.knee_simulator import FREE_COORDINATES, REDUCED
from foundation.base.pose import COORDINATES, Pose

OFFSET = (4e-3, 3e-3)
DAMPED = KneeSimulator(superior_damping=2e3, adduction_damping=2.0, lateral_damping=2e3)
#: Quasi-static coordinates that nothing slows down.
MASSLESS = KneeSimulator(
    quasi_static=REDUCED, superior_damping=0.0, adduction_damping=0.0, lateral_damping=0.0
)


def share_of_range(found, truth):
    """Largest difference of the free coordinates over the range that each goes through."""
    return (np.abs(found - truth).max(axis=0)[1:] / np.ptp(truth, axis=0)[1:]).max()


@pytest.mark.parametrize("quasi_static", first_of([(), REDUCED]), ids=["full", "reduced"])
def test_agreement_with_radau_at_tight_tolerance(knee, waves, quasi_static):
    """Within 1e-8 of the range of every coordinate and rate."""
    dishes, cycle = knee(offset=OFFSET, stiffness=1e7), waves(0.02)
    simulator = replace(DAMPED, quasi_static=quasi_static)
    radau = simulate(dishes, simulator, cycle, samples=21, rtol=1e-9, method="Radau")
    for method, rtol in (("Rodas5P", 1e-9), ("Rodas4P", 1e-9)):
        found = simulate(dishes, simulator, cycle, samples=21, rtol=rtol, method=method)
        assert share_of_range(found.poses, radau.poses) < 1e-8
        inertial = [k for k, n in enumerate(COORDINATES) if n not in quasi_static]
        assert share_of_range(found.rates[:, inertial], radau.rates[:, inertial]) < 1e-7


@pytest.mark.slow
def test_quasi_static_knee_without_damping_is_a_sequence_of_equilibria(knee, waves, resting):
    dishes, cycle = knee(offset=OFFSET), waves(1.0)
    none = {f"{name}_damping": 0.0 for name in FREE_COORDINATES}
    simulator = KneeSimulator(quasi_static=FREE_COORDINATES, **none)
    begin = resting(dishes, simulator, cycle, 0.0, tolerance=1e-11)
    result = simulate(dishes, simulator, cycle, samples=11, rtol=1e-8, initial=begin)
    for time, pose in zip(result.time, result.poses, strict=True):
        rest = resting(dishes, simulator, cycle, time, start=Pose.from_array(pose), tolerance=1e-10)
        assert_allclose(pose, rest.array, rtol=0.0, atol=1e-9)
    # The rates are those at which the equilibrium moves.
    h = 1e-5
    after, before = (resting(dishes, simulator, cycle, 0.3 + s * h, tolerance=1e-11).array
                     for s in (1, -1))  # fmt: skip
    assert_allclose(result.rates[3], (after - before) / (2 * h), rtol=0.02, atol=1e-5)


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_scipy_does_not_take_massless_coordinates(knee, constant, method):
    with pytest.raises(ValueError, match=f"Rodas5P or Rodas4P with quasi-static .*found {method}"):
        simulate(knee(), MASSLESS, constant(0.01), method=method)


def test_massless_coordinate_that_nothing_holds_is_named(knee, constant):
    """On planes the lateral coordinate has no equation."""
    planes = knee(along=np.inf, across=np.inf)
    start = Pose(superior=-((500.0 / 1.3e9) ** (2 / 3)))
    loose = replace(MASSLESS, medial_offset=0.0)
    with pytest.raises(RuntimeError, match=r"stopped at 0 s.*nothing holds a coordinate"):
        simulate(planes, loose, constant(0.1), initial=start)
