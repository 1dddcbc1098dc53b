"""Cross-validation and the model of the standard error."""

import numpy as np
import pytest
from reference import cube

from surrogates.families.cross_validation import (
    CrossCheck,
    coverage,
    fit_spread,
    spread_at,
    standardised,
)
from surrogates.families.training import polynomial_exponents


def test_standardised_and_coverage():
    residuals = np.array([[1.0, 0.0], [-3.0, 0.0], [2.0, 0.0], [0.5, 0.0]])
    errors = np.array([[1.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.1, 0.0]])
    check = CrossCheck(np.arange(4), residuals, errors, "held back")
    np.testing.assert_allclose(standardised(check)[:, 0], [1.0, -3.0, 1.0, 5.0])
    np.testing.assert_array_equal(standardised(check)[:, 1], 0.0)
    np.testing.assert_array_equal(coverage(check), [0.5, 1.0])
    np.testing.assert_array_equal(coverage(check, 3.0), [0.75, 1.0])


def test_spread_follows_the_size_of_the_residuals():
    z = cube(4000)
    size = np.exp(1.0 + z[:, 0] - 0.5 * z[:, 1] * z[:, 2])
    rng = np.random.default_rng(0)
    residuals = np.column_stack([size, 1e-6 * np.ones(4000)]) * rng.standard_normal((4000, 2))
    spread = fit_spread(z, residuals)
    assert spread.shape == (2, 10)
    np.testing.assert_allclose(spread_at(spread, z)[:, 0], size, rtol=0.2)
    np.testing.assert_allclose(spread_at(spread, z)[:, 1], 1e-6, rtol=0.2)
    inside = np.abs(residuals) <= 1.959964 * spread_at(spread, z)
    np.testing.assert_allclose(inside.mean(axis=0), 0.95, atol=1e-3)


@pytest.mark.parametrize(("rows", "degree"), [(39, 0), (40, 1), (99, 1), (100, 2)])
def test_few_residuals_have_a_simple_spread(rows, degree):
    z = cube(rows)
    spread = fit_spread(z, np.random.default_rng(0).standard_normal((rows, 1)))
    used = polynomial_exponents(3, 2)[spread[0] != 0.0]
    assert used.sum(axis=1).max() == degree
