"""Laws with a restitution: published factors, closed forms, and free impacts."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose

from foundation.contact_laws.hertz import sphere_stiffness
from foundation.contact_laws.normal import (
    ConstantHuntCrossleyLaw,
    FloresLaw,
    HertzLaw,
    HookeLaw,
    HuntCrossleyLaw,
    KelvinVoigtLaw,
    LankaraniNikraveshLaw,
    LinearHysteresisLaw,
    returned_restitution,
)
from tests.oracles.free_impact import free_impact

K = 2e5
FAMILY = [HuntCrossleyLaw, LankaraniNikraveshLaw, FloresLaw]


@pytest.mark.parametrize(
    ("law", "factor"),
    [
        (HuntCrossleyLaw, 3.0 * (1.0 - 0.3) / 2.0),
        (LankaraniNikraveshLaw, 3.0 * (1.0 - 0.3**2) / 4.0),
        (FloresLaw, 8.0 * (1.0 - 0.3) / (5.0 * 0.3)),
    ],
)
def test_hysteresis_factor_hunt1975_lankarani1994_flores2011(law, factor):
    one = law(K, 0.3)
    assert_allclose(one.hysteresis_factor, factor, rtol=1e-15)
    # F = K δⁿ + χ δⁿ δ̇ with χ = K a / δ̇₀.
    depth, rate, start = 1.7e-3, 0.11, 0.42
    expected = K * depth**1.5 + K * factor / start * depth**1.5 * rate
    assert_allclose(one.force(depth, rate, start), expected, rtol=1e-14)
    assert_allclose(
        law(K, 0.3, exponent=1.0).force(depth, rate, start),
        expected / depth**0.5,
        rtol=1e-14,
    )


def test_linear_hysteresis_softens_in_retreat():
    law = LinearHysteresisLaw(K, 0.6)
    assert_allclose(law.force(1e-3, [0.1, 0.0, -0.1]), [200.0, 200.0, 72.0], rtol=1e-14)


def test_kelvin_voigt_force_and_damping():
    law = KelvinVoigtLaw(K, 0.5, 2.0)
    assert_allclose(law.damping, 2.0 * law.damping_ratio * np.sqrt(K * 2.0), rtol=1e-15)
    assert_allclose(law.force(1e-3, 0.1), K * 1e-3 + law.damping * 0.1, rtol=1e-15)
    assert KelvinVoigtLaw(K, 1.0, 2.0).damping == 0.0


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.2])
@pytest.mark.parametrize(
    ("dissipation", "speed"), [(0.0, 1.0), (0.2, 0.1), (0.7, 0.6), (2.0, 1.5), (5.0, 2.0)]
)
def test_hunt1975_constant_factor_returns_what_its_equation_says(exponent, dissipation, speed):
    """a v (1 + e) = ln((1 + a v)/(1 - a v e)), measured in a simulated impact."""
    law = ConstantHuntCrossleyLaw(3e5, dissipation, exponent)
    measured = free_impact(law, 1.7, speed).restitution
    a = dissipation * speed
    assert_allclose(a * (1.0 + measured), np.log((1.0 + a) / (1.0 - a * measured)), atol=1e-7)
    assert_allclose(law.restitution(speed), measured, rtol=0.0, atol=1e-7)


def test_hunt1975_constant_factor_force():
    law = ConstantHuntCrossleyLaw(K, 0.8)
    depth, rate = np.array([1e-3, 1e-3, 2e-3, -1e-3]), np.array([0.5, -0.5, -1.5, 0.5])
    expected = K * np.array([1e-3**1.5 * 1.4, 1e-3**1.5 * 0.6, 0.0, 0.0])
    assert_allclose(law.force(depth, rate), expected, rtol=1e-14, atol=0.0)
    # The impact rate is not a parameter of this law.
    assert_allclose(law.force(depth, rate, 0.3), expected, rtol=1e-14, atol=0.0)
    assert_allclose(law.energy(1e-3), K * 1e-3**2.5 / 2.5, rtol=1e-14)


@pytest.mark.parametrize("factor", [0.0, 1e-12, 1e-6, 9.99e-4, 1.001e-3, 0.1, 1.0, 30.0, 60.0, 1e4])
def test_returned_restitution_solves_its_equation(factor):
    """By bisection in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        a = Decimal(factor)
        low, high = Decimal(0), min(Decimal(1), 1 / a) if factor else Decimal(1)
        for _ in range(60 if factor else 0):
            e = (low + high) / 2
            if a * (1 + e) > ((1 + a) / (1 - a * e)).ln():
                low = e
            else:
                high = e
        truth = float(high)
    assert_allclose(returned_restitution(factor), truth, rtol=1e-12, atol=0.0)


SPHERE = sphere_stiffness(0.04, None, 5e6, 0.46, 5e6, 0.46)
MASS, SPEED = 0.3, 0.99
GIVEN = np.round(np.arange(0.05, 0.96, 0.05), 2)


def restitution(law, mass=MASS, speed=SPEED):
    return free_impact(law, mass, speed).restitution


def test_hertz_returns_all():
    impact = free_impact(HertzLaw(SPHERE), MASS, SPEED)
    assert_allclose(impact.restitution, 1.0, rtol=0.0, atol=1e-9)
    assert_allclose(impact.energy_loss, 0.0, rtol=0.0, atol=1e-9 * MASS * SPEED**2)
    # Johnson 1985, sec. 11.4: δ = (5 m v²/(4 SPHERE))^(2/5), T = 2.94 δ/v.
    largest = (1.25 * MASS * SPEED**2 / SPHERE) ** 0.4
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
    one = law(SPHERE, given)
    expected = returned_restitution(one.hysteresis_factor)
    assert_allclose(restitution(one), expected, rtol=1e-8)
    # Neither stiffness, mass, speed nor exponent has a say.
    other = law(1e3 * SPHERE, given, exponent=2.2)
    assert_allclose(restitution(other, mass=1e-3, speed=50.0), expected, rtol=1e-8)


def test_limits_of_the_restitution():
    for given in (1e-4, 1.0 - 1e-9, 1.0):
        for law in (LinearHysteresisLaw(SPHERE, given), KelvinVoigtLaw(SPHERE, given, MASS)):
            assert_allclose(restitution(law), given, rtol=1e-6)
    # The rate of retreat tends to 1/a = 5 c/8 as c goes to zero.
    assert_allclose(restitution(FloresLaw(SPHERE, 1e-5)), 0.625e-5, rtol=1e-4)
    assert restitution(KelvinVoigtLaw(SPHERE, 1e-30, MASS)) >= 0.0
