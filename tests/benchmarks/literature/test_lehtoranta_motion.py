"""Friction of Song et al. and the planar knee in Lehtoranta (2011), by independent computations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.literature.lehtoranta import knee, song
from benchmarks.literature.lehtoranta.song import CONTACT, GRAVITY, SongLaw
from foundation.contact_laws import sphere_stiffness


@pytest.mark.parametrize("velocity", [-0.4, -1e-4, 0.0, 2e-4, 0.3])
@pytest.mark.parametrize("deflection", [-2e-5, 1e-6, 3e-5])
def test_force_and_deflection_satisfy_all_equations(deflection, velocity):
    """Eq. 35 to 38 and 41 to 42 at one state, from the printed formulas."""
    normal = 9.0
    force, rate = CONTACT.tangential_force(deflection, velocity, normal)
    law = CONTACT.tangential
    elastic = law.stiffness * np.sign(deflection) * abs(deflection) ** law.exponent
    damping = 1.5 * law.material * law.stiffness * abs(deflection) ** law.exponent * rate
    assert_allclose(force, elastic + damping, rtol=1e-9, atol=1e-12)
    sliding = velocity + rate
    assert abs(force) <= 0.3 * normal * (1.0 + 1e-12)
    if abs(sliding) > 1e-12:
        assert_allclose(force, -0.3 * normal * np.sign(sliding), rtol=1e-12)


def test_normal_force_by_hand():
    gap, rate = -2e-4, -0.1
    wanted = 1e6 * 2e-4**1.5 * (1.0 + 1.5 * 0.2 * 0.1)
    assert_allclose(CONTACT.normal_force(gap, rate), wanted, rtol=1e-12)
    assert CONTACT.normal_force(gap, 1e3) == CONTACT.normal_force(1e-6, -1.0) == 0.0


def test_a_thrown_block_loses_energy_all_the_time():
    x, v, deflection, z, rate = song.slide(CONTACT, 0.0, 0.5, 0.4)
    normal, tangential = CONTACT.normal, CONTACT.tangential
    depth = np.maximum(-z, 0.0)
    stored = normal.stiffness * depth**2.5 / 2.5 + tangential.stiffness * deflection**2 / 2.0
    energy = 0.5 * (v**2 + rate**2) + GRAVITY * z + stored
    assert np.diff(energy).max() < 1e-7
    assert_allclose(energy[0] - energy[-1], 0.125, rtol=1e-2)
    assert_allclose(x[-1], 0.5**2 / (2.0 * 0.3 * GRAVITY), rtol=5e-3)


def test_the_inverse_of_g_returns_the_rate():
    """In other units the reciprocal changes, the rate of a deflection does not."""
    law = SongLaw(2e5, 60.0, 1.0)
    rates = 0.02, -0.3
    damping = [1.5 * law.material * law.elastic(1e-4) * each for each in rates]
    assert_allclose([d / law.viscosity(1e-4) for d in damping], rates, rtol=1e-12)
    row = song.eq_43()
    assert row.verdict == "error in print"
    assert "the inverse function returns 0.2 and -0.05 m/s" in row.ours


@pytest.mark.slow
def test_eq_45_needs_the_square():
    row = knee.STATEMENTS[1]()
    stretch = 0.05 * 0.0438
    assert f"{35e6 * stretch**2:.0f} N with the square" in row.ours
    assert f"{1e-3 * 35e6 * stretch:.0f} kN without" in row.ours
    assert 35e6 * stretch**2 < 622.0 < 35e6 * stretch
    assert row.verdict == "error in print"


@pytest.mark.slow
def test_hysteresis_lies_on_both_sides_of_hertz():
    """Force in approach above, in retreat below K δ^1.5, c = 0.3."""
    motion = knee.runs(knee.LOW)["lankarani-nikravesh"]
    stiffness = sphere_stiffness(0.04, None, 5e6, 0.46, 5e6, 0.46)
    into, out = knee.forces_on_both_ways(motion)
    elastic = stiffness * (0.9 * motion.indentation.max()) ** 1.5
    assert out < elastic < into
    # The loss is the work of what is beyond the elastic force.
    at = motion.indentation > 0.0
    beyond = motion.contact_force - stiffness * np.maximum(motion.indentation, 0.0) ** 1.5
    rate = np.gradient(motion.indentation, motion.time)
    work = np.trapezoid(np.where(at, beyond * rate, 0.0), motion.time)
    assert_allclose(work, motion.contact_loss[-1], rtol=0.05)


@pytest.mark.slow
def test_hertz_alone_has_the_shape_of_the_indentation():
    runs = knee.runs(knee.LOW)
    assert knee.shape_difference(runs["hertz"]) < 1e-9
    assert knee.shape_difference(runs["flores"]) > 0.1
    assert math.isclose(float(runs["hertz"].contact_loss[-1]), 0.0, abs_tol=1e-15)
