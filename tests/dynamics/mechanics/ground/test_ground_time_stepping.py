"""Rigid ground over time: bounces, rest on several points, sliding, gain of energy, order."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.mechanics.ground import ContactPoint, Leg, simulate_rigid_strike
from dynamics.mechanics.segments import Segment
from tests.oracles.heel_strike import heel_strike, reversing_impact, rigid

FOOT = Leg({"foot": Segment(1.0, [0.0, 0.0], [0.05, 0.0], 0.01)})
POINTS = [ContactPoint(n, "foot", [x, -0.05]) for n, x in (("heel", -0.1), ("ball", 0.1))]


def test_bounce_returns_e2_of_the_height():
    below = [ContactPoint("below", "foot", [0.05, -0.05])]
    result = simulate_rigid_strike(
        FOOT, below, [0.0, 0.15, 0.0], np.zeros(3), 0.4, restitution=0.6, friction=0.5, steps=4000
    )
    strikes = [change.time for change in result.changes if change.closed]
    assert_allclose(strikes[0], np.sqrt(2.0 * 0.1 / 9.81), rtol=1e-3)
    after = result.position[result.time > strikes[0], 1].max() - 0.05
    assert_allclose(after, 0.36 * 0.1, rtol=2e-3)


@pytest.mark.slow
def test_foot_comes_to_rest_on_both_points():
    result = simulate_rigid_strike(
        FOOT, POINTS, [0.0, 0.07, 0.1], np.zeros(3), 0.5, restitution=0.0, friction=0.6, steps=2500
    )
    assert result.gap.min() > -2e-4
    assert_allclose(result.velocity[-1], 0.0, atol=1e-9)
    mean = result.forces[-500:].mean(axis=0)
    assert_allclose(mean[:, 1], [9.81 * 0.25, 9.81 * 0.75], rtol=1e-2)
    assert result.loaded("heel")[-500:].any()


def test_sliding_stops_after_v2_over_2_mu_g():
    result = simulate_rigid_strike(
        FOOT, POINTS, [0.0, 0.05, 0.0], [1.0, 0, 0], 0.4, restitution=0.0, friction=0.4, steps=1500
    )
    assert_allclose(result.position[-1, 0], 1.0 / (2.0 * 0.4 * 9.81), rtol=2e-3)
    assert_allclose(result.tangential_loss[-1], 0.5, rtol=2e-3)


def test_energy_rises_at_the_impact_whose_sliding_reverses():
    start = reversing_impact()
    state = start.leg, start.points, start.position, start.velocity
    result = simulate_rigid_strike(*state, 0.01, restitution=0.5, friction=0.5, steps=1000)
    first = int(np.argmax(result.loaded("heel")))
    gain = result.energy[first] - result.energy[0]
    kinetic = result.kinetic[0]
    assert_allclose(gain / kinetic, 0.315, rtol=0.0, atol=2e-3)
    assert result.tangential_loss[first] < 0.0


@pytest.mark.slow
def test_heel_strike_without_restitution_loses_energy():
    result = rigid("locked", 0.0)
    assert np.diff(result.energy).max() < 1e-4
    assert result.loaded("heel").any()
    assert result.loaded("ball").any()


def test_order_1():
    """Errors of energy and position halve with the step, from a start on the ground."""
    start = heel_strike()
    on_ground = start.leg, start.points, start.position - [0.0, 1e-3, 0.0, 0.0], start.velocity
    options = {"restitution": 0.0, "friction": 0.8}
    runs = [simulate_rigid_strike(*on_ground, 0.1, steps=n, **options) for n in (200, 400, 800)]
    balance = [abs(each.energy + each.loss - each.energy[0]).max() for each in runs]
    ends = [each.position[-1] for each in runs]
    error = [abs(ends[0] - ends[1]).max(), abs(ends[1] - ends[2]).max()]
    assert_allclose(np.log2(balance[0] / balance[2]) / 2.0, 1.0, rtol=0.0, atol=0.1)
    assert_allclose(np.log2(error[0] / error[1]), 1.0, rtol=0.0, atol=0.1)
