"""Errors in print of Kaplan, Hovey & Heegaard, each by a computation of its own."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from benchmarks.literature import kaplan
from dynamics.mechanics.ground import PenaltyGround


@cache
def errata():
    return {each.place: each for each in kaplan.errata()}


@pytest.mark.slow
def test_errata_are_those_known():
    assert list(errata()) == ["eq. 4", "eq. 3", "eq. 1 and 3"]
    assert all(each.proven for each in errata().values())
    assert all(each.agrees for each in kaplan.statements())


def test_eq_3_can_pull():
    """A point 1 mm in the ground that leaves at 0.5 m/s: 100 N - 250 N."""
    compliance, damping = 1e-5, 500.0
    gap, rate = -1e-3, 0.5
    assert -gap / compliance - damping * rate == -150.0
    ground = PenaltyGround(compliance, damping)
    assert ground.normal_force(np.array([gap]), np.array([rate]))[0] == 0.0


def test_damping_outside_of_the_bound_of_eq_4_breaks_coulombs_law():
    law = PenaltyGround().friction
    speeds = np.array([-2.0, -0.1, 0.1, 2.0])
    normal = np.full(4, 50.0)
    inside = law.evaluate(np.zeros((4, 1)), speeds[:, None], normal)[0][:, 0]
    outside = -law.coefficient * normal * np.sign(speeds) - law.damping * speeds
    assert (np.abs(outside) > law.coefficient * normal).all()
    assert (np.abs(inside) <= law.coefficient * normal + 1e-12).all()
    # At rest the law holds a deflected point.
    assert_allclose(law.evaluate([1e-4], [0.0], np.array(50.0))[0], [-10.0], rtol=1e-12)


def test_signs_of_eq_1_against_eq_3():
    """75 kg from rest at the ground, for 0.1 s with either sign of the gap."""
    depths = {}
    for sign in (1.0, -1.0):
        motion = solve_ivp(
            lambda _, y, s=sign: [y[1], -9.81 - s * y[0] / (75.0 * 1e-5)],
            (0.0, 0.1), [0.0, 0.0], rtol=1e-10, atol=1e-12,
        )  # fmt: skip
        depths[sign] = -1e3 * motion.y[0, -1]
    assert 0.0 < depths[1.0] < 2.0 * 7.3575 + 0.01
    assert depths[-1.0] > 100.0
    shown = errata()["eq. 1 and 3"].shown
    assert f"are {depths[1.0]:.0f} mm" in shown
    assert f"{depths[-1.0]:.0f} mm and falling" in shown
    assert math.isclose(
        depths[-1.0], 7.3575 * (math.cosh(0.1 / math.sqrt(75e-5)) - 1), rel_tol=1e-6
    )
