"""Free impacts: what restitution the contact laws return, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from foundation.contact_laws import (
    FloresLaw,
    HertzLaw,
    HookeLaw,
    HuntCrossleyLaw,
    KelvinVoigtLaw,
    LankaraniNikraveshLaw,
    LinearHysteresisLaw,
    sphere_stiffness,
)
from tests.oracles.free_impact import free_impact

K = sphere_stiffness(0.04, None, 5e6, 0.46, 5e6, 0.46)
MASS, SPEED = 0.3, 0.99
GIVEN = np.round(np.arange(0.05, 0.96, 0.05), 2)
FAMILY = [HuntCrossleyLaw, LankaraniNikraveshLaw, FloresLaw]


def restitution(law, mass=MASS, speed=SPEED):
    return free_impact(law, mass, speed).restitution


def implicit_restitution(factor: float) -> float:
    """Root e of a (1 + e) = ln((1 + a) / (1 - a e)), by 1 - a e = x where that is small."""
    if factor == 0.0:
        return 1.0

    def mismatch(log_x: float) -> float:
        e = -np.expm1(log_x) / factor
        return factor * (1.0 + e) - np.log1p(factor) + log_x

    least = np.log1p(-min(factor, 1.0)) if factor < 1.0 else -factor - 10.0
    return -np.expm1(brentq(mismatch, least, -1e-12, xtol=1e-14)) / factor


def test_hertz_returns_all():
    impact = free_impact(HertzLaw(K), MASS, SPEED)
    assert_allclose(impact.restitution, 1.0, rtol=0.0, atol=1e-9)
    assert_allclose(impact.energy_loss, 0.0, rtol=0.0, atol=1e-9 * MASS * SPEED**2)
    # Johnson 1985, sec. 11.4: δ = (5 m v²/(4 K))^(2/5), T = 2.94 δ/v.
    largest = (1.25 * MASS * SPEED**2 / K) ** 0.4
    assert_allclose(impact.largest_indentation, largest, rtol=1e-9)
    assert_allclose(impact.duration, 2.943275 * largest / SPEED, rtol=1e-6)


def test_hooke_is_half_a_period():
    impact = free_impact(HookeLaw(5e4), MASS, SPEED)
    assert_allclose(impact.restitution, 1.0, rtol=0.0, atol=1e-9)
    assert_allclose(impact.duration, np.pi * np.sqrt(MASS / 5e4), rtol=1e-9)
    assert_allclose(impact.largest_indentation, SPEED * np.sqrt(MASS / 5e4), rtol=1e-9)


@pytest.mark.parametrize("given", [0.05, 0.1353, 0.3, 0.95])
def test_kelvin_voigt_returns_what_it_is_given(given):
    law = KelvinVoigtLaw(5e4, given, MASS)
    impact = free_impact(law, MASS, SPEED)
    assert_allclose(impact.restitution, given, rtol=0.0, atol=1e-8)
    if law.damping_ratio < 1.0:
        phase = np.arcsin(law.damping_ratio)
        period = np.sqrt(MASS / 5e4) / np.cos(phase)
        assert_allclose(impact.duration, (np.pi - 2.0 * phase) * period, rtol=1e-7)
    # At another mass it is no longer the restitution.
    assert abs(restitution(law, mass=4.0 * MASS) - given) > 0.01


@pytest.mark.parametrize("given", GIVEN[::6])
def test_linear_hysteresis_returns_what_it_is_given(given):
    impact = free_impact(LinearHysteresisLaw(5e4, given), MASS, SPEED)
    assert_allclose(impact.restitution, given, rtol=0.0, atol=1e-8)
    quarter = 0.5 * np.pi * np.sqrt(MASS / 5e4)
    assert_allclose(impact.duration, quarter * (1.0 + 1.0 / given), rtol=1e-7)
    lost = 0.5 * MASS * SPEED**2 * (1.0 - given**2)
    assert_allclose(impact.energy_loss, lost, rtol=1e-7)


@pytest.mark.parametrize("law", FAMILY)
@pytest.mark.parametrize("given", [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0])
def test_hysteresis_laws_by_the_energy_integral(law, given):
    one = law(K, given)
    expected = implicit_restitution(one.hysteresis_factor)
    assert_allclose(restitution(one), expected, rtol=1e-8)


@pytest.mark.parametrize("law", FAMILY)
def test_restitution_does_not_depend_on_the_rest(law):
    found = [
        restitution(law(K, 0.4)),
        restitution(law(1e3 * K, 0.4)),
        restitution(law(K, 0.4), mass=1e-3),
        restitution(law(K, 0.4), speed=50.0),
        restitution(law(K, 0.4, exponent=1.0)),
        restitution(law(K, 0.4, exponent=2.2)),
    ]
    assert_allclose(found, found[0], rtol=1e-8)


@pytest.mark.parametrize(
    ("law", "least", "most"),
    [
        (HuntCrossleyLaw, 0.002, 0.452),
        (LankaraniNikraveshLaw, 0.003, 0.614),
        (FloresLaw, -0.046, -0.003),
    ],
)
def test_deviation_stated_in_the_docstrings(law, least, most):
    deviation = np.array([restitution(law(K, c)) - c for c in GIVEN])
    assert least <= deviation.min()
    assert deviation.max() <= most
    # The bounds are tight, and the deviation of all but Flores's law rises as c falls.
    assert_allclose([deviation.min(), deviation.max()], [least, most], rtol=0.0, atol=1.1e-3)
    if law is not FloresLaw:
        assert (np.diff(deviation) < 0.0).all()


@pytest.mark.parametrize("law", [HertzLaw(K), *(law(K, 0.3) for law in FAMILY)])
def test_against_a_naive_bounce(law):
    """Fixed small steps of the classical Runge-Kutta method, with the force that may not pull."""
    step, state = 2e-5, np.array([0.0, SPEED])
    deepest, steps = 0.0, 0

    def slope(y):
        return np.array([y[1], -float(law.force(y[0], y[1], SPEED)) / MASS])

    while state[0] >= 0.0:
        one = slope(state)
        two = slope(state + 0.5 * step * one)
        three = slope(state + 0.5 * step * two)
        four = slope(state + step * three)
        state = state + step / 6.0 * (one + 2.0 * two + 2.0 * three + four)
        deepest, steps = max(deepest, state[0]), steps + 1
    impact = free_impact(law, MASS, SPEED)
    assert_allclose(-state[1] / SPEED, impact.restitution, rtol=1e-6)
    assert_allclose(steps * step, impact.duration, rtol=0.0, atol=1.1 * step)
    assert_allclose(deepest, impact.largest_indentation, rtol=1e-5)


def test_limits_of_the_restitution():
    for given in (1e-4, 1.0 - 1e-9, 1.0):
        for law in (LinearHysteresisLaw(K, given), KelvinVoigtLaw(K, given, MASS)):
            assert_allclose(restitution(law), given, rtol=1e-6)
    # The rate of retreat tends to 1/a = 5 c/8 as c goes to zero.
    assert_allclose(restitution(FloresLaw(K, 1e-5)), 0.625e-5, rtol=1e-4)
    assert restitution(KelvinVoigtLaw(K, 1e-30, MASS)) >= 0.0
