"""Regressors of many inputs, evaluated in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from differences import differences

from foundation.base.errors import InputError
from surrogates.families import numpy_evaluation
from surrogates.families.network import NetworkSettings, fit_network
from surrogates.families.polynomial import (
    PolyFourierSettings,
    PolynomialSettings,
    fit_polynomial,
)
from surrogates.families.regressor import KERNEL_INPUTS
from surrogates.families.spline import SplineSettings, fit_spline

FITS = {
    "network": lambda x, y: fit_network(x, y, NetworkSettings(8, 2, terms=0, steps=60)),
    "network on splines": lambda x, y: fit_network(x, y, NetworkSettings(4, 1, terms=20, steps=60)),
    "spline": lambda x, y: fit_spline(x, y, SplineSettings(terms=30, degree=3)),
    "polynomial": lambda x, y: fit_polynomial(
        x, y, PolynomialSettings(basis="total_degree", degree=(3,))
    ),
}


def data(inputs, rows=1500):
    """A smooth function whose kinks are sheared along the first input."""
    x = np.random.default_rng(inputs).uniform(-2.0, 3.0, (rows, inputs))
    first = np.sin(x[:, 0] + 0.3 * x[:, 3]) * x[:, 1] + x[:, 2] * x[:, 4] * x[:, -1]
    return x, np.column_stack([first, x.sum(axis=1) ** 2])


def fitted(name, inputs):
    x, y = data(inputs)
    return x, FITS[name](x, y).regressor


@pytest.mark.parametrize("name", FITS)
def test_numpy_gives_what_the_kernels_give(name):
    x, regressor = fitted(name, 6)
    close = {"rtol": 1e-11, "atol": 1e-11}
    values, slopes = numpy_evaluation.values_and_slopes(regressor, x[:20])
    np.testing.assert_allclose(values, regressor.predict(x[:20]), **close)
    kernels = np.array([regressor.predict_with_jacobian(row)[1] for row in x[:20]])
    np.testing.assert_allclose(slopes, kernels, **close)
    errors = numpy_evaluation.standard_errors(regressor, x[:20])
    np.testing.assert_allclose(errors, regressor.standard_error(x[:20]), **close)


@pytest.mark.parametrize("name", FITS)
def test_slopes_of_many_inputs_are_those_of_the_values(name):
    x, regressor = fitted(name, KERNEL_INPUTS + 3)
    assert regressor.inputs > KERNEL_INPUTS
    slopes = numpy_evaluation.values_and_slopes(regressor, x[:5])[1]
    for row, own in zip(x[:5], slopes, strict=True):
        found = differences(lambda at: regressor.predict(at[None])[0], row, 1e-5)
        np.testing.assert_allclose(own, found, rtol=1e-6, atol=1e-6 * np.abs(found).max())


def test_a_regressor_of_many_inputs_has_no_kernels():
    _, regressor = fitted("polynomial", KERNEL_INPUTS + 1)
    with pytest.raises(InputError, match=f"at most {KERNEL_INPUTS} inputs .* found 8"):
        regressor.predict_with_jacobian(np.zeros(KERNEL_INPUTS + 1))


def test_a_fourier_series_has_no_slopes_in_numpy():
    x, y = data(5, 400)
    series = fit_polynomial(x, y, PolyFourierSettings(basis="total_degree", degree=(2,))).regressor
    with pytest.raises(InputError, match="found a Fourier series"):
        numpy_evaluation.values_and_slopes(series, x)
