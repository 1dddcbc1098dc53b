"""Errors of pressure fields."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.stages.pressure_fields import errors_of

TRUTH = np.concatenate([np.zeros(50), np.linspace(1e6, 20e6, 100)])


def test_a_perfect_field_has_no_error():
    assert errors_of(TRUTH, TRUTH) == pytest.approx((0.0, 1.0, 1.0, 0.0))


def test_a_field_a_tenth_too_large():
    found = errors_of(1.1 * TRUTH, TRUTH)
    rms = np.sqrt((TRUTH[50:] ** 2).mean())
    assert found == pytest.approx((0.1 * rms / 20e6, 1.0, 1.0, 0.1))


def test_the_patch_of_either_field_counts():
    predicted = TRUTH.copy()
    predicted[:50] = 2e6
    assert errors_of(predicted, TRUTH).nrmse == pytest.approx(0.1 * np.sqrt(50 / 150))


def test_half_of_the_top_is_found():
    predicted = TRUTH.copy()
    predicted[-5:] = 1e6
    assert errors_of(predicted, TRUTH).dice == pytest.approx(0.5)


def test_a_field_without_contact_has_no_correlation():
    found = errors_of(np.zeros(len(TRUTH)), TRUTH)
    assert np.isnan(found.correlation)
    assert found.peak == -1.0
