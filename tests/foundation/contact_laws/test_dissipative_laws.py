"""Laws with a restitution: published factors, closed forms and ranges."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from foundation.contact_laws import (
    FloresLaw,
    HuntCrossleyLaw,
    KelvinVoigtLaw,
    LankaraniNikraveshLaw,
    LinearHysteresisLaw,
)

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
