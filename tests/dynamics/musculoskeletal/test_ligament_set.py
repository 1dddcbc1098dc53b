"""Ligaments on paths."""

import numpy as np
import pytest

from dynamics.ligaments.bundles import Ligament, ligament_forces
from dynamics.musculoskeletal.plant import LigamentSet
from foundation.base.errors import InputError
from foundation.base.pose import Pose


def ligaments(damping=0.003):
    return LigamentSet(("a", "b"), [2000.0, 500.0], [0.03, 0.05], [0.06, 0.06], [damping, damping])


def test_the_law_is_that_of_bundles_on_straight_lines():
    for length in (0.029, 0.0304, 0.0312, 0.0318, 0.034):
        bundle = Ligament("a", [0, length, 0], [0, 0, 0], 0.03, 2000.0, "toe")
        force = ligament_forces([bundle], Pose())[0]
        found = ligaments().tensions(np.array([length, 0.05]), np.zeros(2))
        assert found.tension[0] == pytest.approx(force, rel=1e-12, abs=1e-12)


def test_derivatives_agree_with_differences():
    step = 1e-7
    for strain in (0.004, 0.02, 0.055, 0.08, -0.01):
        length, rate = np.array([0.03, 0.05]) * (1 + strain), np.array([0.2, -0.1])
        found = ligaments(damping=3.0).tensions(length, rate)
        ahead = ligaments(damping=3.0).tensions(length + step, rate).tension
        behind = ligaments(damping=3.0).tensions(length - step, rate).tension
        np.testing.assert_allclose(
            found.by_length, (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-4
        )
        faster = ligaments(damping=3.0).tensions(length, rate + 1e-4).tension
        np.testing.assert_allclose(
            found.by_rate, (faster - found.tension) / 1e-4, rtol=1e-6, atol=1e-9
        )


def test_damping_acts_in_stretching_alone():
    taut = np.array([0.03, 0.05]) * 1.03
    rest = ligaments().tensions(taut, np.zeros(2)).tension
    np.testing.assert_array_equal(ligaments().tensions(taut, np.full(2, -0.5)).tension, rest)
    stretching = ligaments().tensions(taut, np.full(2, 0.5)).tension
    np.testing.assert_allclose(stretching - rest, 0.003 * 0.5 / np.array([0.03, 0.05]), rtol=1e-9)


def test_factors_and_refusals():
    scaled = ligaments().scaled(stiffness=[2.0, 0.5], slack_length=1.1)
    np.testing.assert_allclose(scaled.stiffness, [4000.0, 250.0])
    np.testing.assert_allclose(scaled.slack_length, [0.033, 0.055])
    with pytest.raises(InputError, match="factor of stiffness"):
        ligaments().scaled(stiffness=[1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="slack_length: expected > 0"):
        LigamentSet(("a",), [1.0], [0.0], [0.06], [0.0])
