"""Statements of Kaplan, Hovey & Heegaard, each shown once more by a computation of its own."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.literature.kaplan import penalty_law, rigid_laws
from benchmarks.literature.kaplan.printed_law import PrintedGround
from dynamics.mechanics.ground import PenaltyGround

#: ε [m/N], β [N s/m] and μ of the default ground.
COMPLIANCE, DAMPING, FRICTION = 1e-5, 500.0, 0.8


def forces_of(law, gap, rate, distance):
    """Return tangential and normal force of one point in contact [N]."""
    state = np.array([gap]), np.array([rate]), np.array([distance]), np.array([True])
    return law.contact_forces(*state)[0][0]


@pytest.mark.parametrize(
    ("gap", "rate", "distance"),
    [
        (-1e-3, (1.0, -0.2), 5e-3),  # the elastic bound, μ d/ε = 80 N
        (-1e-3, (-0.5, 0.3), 2e-4),  # sticking: d_t/ε = 20 N; the ground pulls with 50 N
        (-2e-3, (0.1, 0.0), -1e-3),  # d_t against the slip
    ],
)
def test_the_printed_law_term_by_term(gap, rate, distance):
    law = PrintedGround(reversal_speed=0.0)
    tangential, normal = forces_of(law, gap, rate, distance)
    bound = min(-FRICTION / COMPLIANCE * gap, abs(distance) / COMPLIANCE)
    assert_allclose(normal, -gap / COMPLIANCE - DAMPING * rate[1], rtol=1e-12)
    assert_allclose(tangential, -np.sign(rate[0]) * bound - DAMPING * rate[0], rtol=1e-12)
    literal = PrintedGround(literal=True)
    printed = -rate[0] / abs(distance) * bound - DAMPING * rate[0]
    assert_allclose(forces_of(literal, gap, rate, distance)[0], printed, rtol=1e-12)


def test_the_bound_is_of_the_elastic_force_as_printed_and_of_the_whole_force_here():
    """80 N of 100 N of the spring; ours 160 N of 200 N, as the point sinks at 0.2 m/s."""
    printed, normal = forces_of(PrintedGround(damping=0.0, reversal_speed=0.0),
                                -1e-3, (1.0, -0.2), 5e-3)  # fmt: skip
    assert_allclose((printed, normal), (-80.0, 100.0), rtol=1e-12)
    ours = forces_of(PenaltyGround(), -1e-3, (1.0, -0.2), 5e-3)
    assert_allclose(ours, (-160.0, 200.0), rtol=1e-12)


def test_only_the_direction_of_the_rate_leaves_the_force_free_of_the_unit_of_time():
    """In ms, ḋ is a thousandth, and the printed first term with it."""
    assert_allclose(penalty_law.in_milliseconds(True), 1e-3, rtol=1e-12)
    assert_allclose(penalty_law.in_milliseconds(False), 1.0, rtol=1e-12)


def test_eq_3_can_pull_and_ours_does_not():
    """A point 1 mm in the ground that leaves at 0.5 m/s: 100 N - 250 N."""
    assert_allclose(forces_of(PrintedGround(), -1e-3, (0.0, 0.5), 0.0)[1], -150.0, rtol=1e-12)
    assert forces_of(PenaltyGround(), -1e-3, (0.0, 0.5), 0.0)[1] == 0.0


@pytest.mark.parametrize("mass", [5.0, 75.0])
def test_the_ratio_of_speeds_is_that_of_the_damped_oscillator(mass):
    """Without a limit of the force a mass leaves at half a period: exp(-π ζ/√(1 - ζ²))."""
    ratio = penalty_law.rebound_of(mass)
    damping = 0.5 * DAMPING * np.sqrt(COMPLIANCE / mass)
    period = np.exp(-np.pi * damping / np.sqrt(1.0 - damping**2))
    # The ground does not pull, so that the mass leaves earlier and faster.
    assert period < ratio < 1.0
    assert_allclose(penalty_law.rebound_of(mass, damping=0.0), 1.0, rtol=0.0, atol=1e-5)


@pytest.mark.parametrize(
    ("lower", "upper", "at", "cone"),
    [
        (0.0, np.inf, 0.0, (-np.inf, 0.0)),
        (0.0, np.inf, 2.0, (0.0, 0.0)),
        (-80.0, 80.0, 80.0, (0.0, np.inf)),
        (-80.0, 80.0, -80.0, (-np.inf, 0.0)),
    ],
)
def test_the_normal_cone_of_an_interval(lower, upper, at, cone):
    """z with z (x - at) <= 0 for all x of the interval (Moreau 1974)."""
    found = rigid_laws.normal_cone(lower, upper, at)
    assert found == cone
    inside = np.linspace(max(lower, -1e3), min(upper, 1e3), 7)
    for z in np.clip(found, -1e3, 1e3):
        assert (z * (inside - at) <= 0.0).all()


def test_out_of_an_interval_the_cone_is_empty():
    assert np.isnan(rigid_laws.normal_cone(0.0, np.inf, -1e-9)).all()
    assert rigid_laws.outside(1.0, rigid_laws.normal_cone(0.0, 1.0, 2.0)) == np.inf
    assert rigid_laws.outside(736.0, rigid_laws.normal_cone(0.0, np.inf, 0.0)) == 736.0
