"""Laws with a restitution: published factors, closed forms and ranges."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose

from foundation.base.errors import InputError
from foundation.contact_laws import (
    ConstantHuntCrossleyLaw,
    FloresLaw,
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


def test_hunt1975_has_a_factor_without_restitution():
    assert HuntCrossleyLaw(K, 0.0).hysteresis_factor == 1.5


@pytest.mark.parametrize("law", FAMILY)
def test_full_restitution_is_hertz(law):
    assert law(K, 1.0).hysteresis_factor == 0.0
    assert_allclose(law(K, 1.0).force(1e-3, -0.2, 0.3), K * 1e-3**1.5, rtol=1e-15)


def test_linear_hysteresis_softens_in_retreat():
    law = LinearHysteresisLaw(K, 0.6)
    assert_allclose(law.force(1e-3, [0.1, 0.0, -0.1]), [200.0, 200.0, 72.0], rtol=1e-14)


def test_kelvin_voigt_force_and_damping():
    law = KelvinVoigtLaw(K, 0.5, 2.0)
    assert_allclose(law.damping, 2.0 * law.damping_ratio * np.sqrt(K * 2.0), rtol=1e-15)
    assert_allclose(law.force(1e-3, 0.1), K * 1e-3 + law.damping * 0.1, rtol=1e-15)
    assert KelvinVoigtLaw(K, 1.0, 2.0).damping == 0.0


@pytest.mark.parametrize("restitution", [0.999, 0.5, 0.1354, np.exp(-2.0), 0.1353, 0.05, 1e-4])
def test_kelvin_voigt_damping_ratio_by_its_roots(restitution):
    # Free motion by the complex roots s of s² + 2 ζ s + 1 = 0: the acceleration is zero at the
    # separation, s₁ (s₁ exp(s₁ t) - ...) = 0, and the velocity there is -c.
    ratio = KelvinVoigtLaw(K, restitution, 2.0).damping_ratio
    root = np.sqrt(complex(ratio**2 - 1.0))
    first, second = -ratio + root, -ratio - root
    if abs(root) < 1e-6:
        assert_allclose(ratio, 1.0, rtol=1e-12)
        return
    # t = ln(s₂²/s₁²) / (s₁ - s₂), on the branch of the first positive time.
    time = 2.0 * np.log(second / first) / (first - second)
    while time.real <= 1e-12:
        time += 2j * np.pi / (first - second)
    velocity = (first * np.exp(first * time) - second * np.exp(second * time)) / (first - second)
    assert_allclose(velocity, -restitution, rtol=1e-7)


def test_kelvin_voigt_without_tension_needs_more_damping():
    # The textbook's ratio counts the tension before zero indentation as loss.
    for restitution in (0.2, 0.5, 0.9):
        loss = -np.log(restitution)
        textbook = loss / np.hypot(np.pi, loss)
        assert KelvinVoigtLaw(K, restitution, 1.0).damping_ratio > textbook
    assert_allclose(KelvinVoigtLaw(K, 0.999, 1.0).damping_ratio, -np.log(0.999) / np.pi, rtol=1e-3)


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


def test_constant_factor_is_the_other_law_at_one_speed():
    speed = 0.4
    other = HuntCrossleyLaw(K, 0.6)
    law = ConstantHuntCrossleyLaw(K, other.hysteresis_factor / speed)
    assert_allclose(law.force(1e-3, -0.2), other.force(1e-3, -0.2, speed), rtol=1e-14)


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


@pytest.mark.parametrize("law", FAMILY)
def test_returned_restitution_of_the_family(law):
    one = law(K, 0.4)
    measured = free_impact(one, 0.3, 1.1).restitution
    assert_allclose(returned_restitution(one.hysteresis_factor), measured, rtol=0.0, atol=1e-8)


def test_constant_factor_refuses():
    for arguments, message in (
        ((K, -0.1), "dissipation: expected >= 0"),
        ((K, 1.0, 0.0), "exponen"),
    ):
        with pytest.raises(InputError, match=message):
            ConstantHuntCrossleyLaw(*arguments)
    with pytest.raises(InputError, match="speed: expected >= 0"):
        ConstantHuntCrossleyLaw(K, 1.0).restitution(-1.0)
    with pytest.raises(InputError, match="factor: expected >= 0"):
        returned_restitution(-1.0)
