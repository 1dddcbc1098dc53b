"""Families by name, their regressors with fixed inputs, and evaluation in NumPy."""

from dataclasses import replace

import made
import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose

from foundation.base.errors import InputError
from surrogates.core.regressor_data import polynomial_terms
from surrogates.families import spline
from surrogates.families.fixed_inputs import FixedInputs
from surrogates.families.kriging import KrigingSettings
from surrogates.families.network import NetworkSettings
from surrogates.families.polynomial import (
    PolyFourierSettings,
    PolynomialSettings,
)
from surrogates.families.registry import FAMILIES, fit_family
from surrogates.families.regressor import Regressor
from surrogates.families.spline import SplineSettings

QUICK = {
    "kriging": KrigingSettings(correlation="matern52"),
    "polynomial": PolynomialSettings(terms=20),
    "poly_fourier": PolyFourierSettings(terms=20),
    "network": NetworkSettings(hidden=4, steps=20),
    "spline": SplineSettings(degree=2, pieces=2),
}

#: Settings of fits that depend on random numbers.
RANDOM = {
    "kriging": {"likelihood_points": 40, "starts": 2},
    "polynomial": {"subset": 40},
    "poly_fourier": {"subset": 40},
    "network": {"networks": 2},
    "spline": {},
}


@pytest.fixture(scope="module")
def data():
    x = np.random.default_rng(7).uniform(-1.0, 1.0, (60, 3))
    return x, np.stack([np.sin(x[:, 0] + x[:, 1]), x[:, 2] ** 2], axis=1)


@pytest.mark.parametrize("name", FAMILIES)
def test_fit_by_name(name, data):
    x, y = data
    regressor, check = fit_family(name, x, y, QUICK[name], np.random.default_rng(1))
    assert regressor.family == name
    assert (regressor.inputs, regressor.outputs) == (3, 2)
    assert check.residuals.shape == check.standard_errors.shape == (len(check.rows), 2)
    np.testing.assert_array_equal(regressor.wave > 0.0, name == "poly_fourier")


@pytest.mark.parametrize("name", FAMILIES)
def test_same_seed_same_bits(name, data, monkeypatch):
    monkeypatch.setattr(spline, "_SEARCH_ROWS", 40)
    settings = replace(QUICK[name], **RANDOM[name])
    x, y = data[0], np.sin(3.0 * data[0][:, :1] + 0.5 * data[0][:, 1:2])
    fits = [fit_family(name, x, y, settings, np.random.default_rng(s)) for s in (4, 4, 5)]
    first, again, other = (fitted.regressor.weights for fitted in fits)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("name", FAMILIES)
def test_units_do_not_matter(name, data):
    x, y = data
    slope, scale = np.array([4.0, 0.25, 1024.0]), np.array([2.0**-20, 2.0**10])
    plain = fit_family(name, x, y, QUICK[name]).regressor
    mapped = fit_family(name, x * slope, y * scale, QUICK[name]).regressor
    found = reference.evaluate(mapped, 0.5 * x * slope)
    np.testing.assert_array_equal(found, reference.evaluate(plain, 0.5 * x) * scale)


@pytest.mark.parametrize("name", FAMILIES)
def test_constant_outputs_and_repeated_rows_are_kept(name, data):
    x, y = (np.concatenate([part, part[:10]]) for part in data)
    y = np.column_stack([np.full(len(x), 7.25), y[:, 0], np.zeros(len(x))])
    regressor, check = fit_family(name, x, y, QUICK[name])
    found = reference.evaluate(regressor, x + 0.05)
    np.testing.assert_allclose(found[:, [0, 2]], [[7.25, 0.0]] * len(x), atol=1e-6)
    assert np.isfinite(found).all()
    assert np.isfinite(check.standard_errors).all()
    alone = fit_family(name, x, y[:, [0]], QUICK[name]).regressor
    np.testing.assert_allclose(reference.evaluate(alone, x), 7.25, atol=1e-6)


@pytest.mark.parametrize("regressor", made.MADE.values(), ids=made.MADE)
def test_arrays_give_the_regressor_back(regressor):
    again = Regressor.from_arrays(regressor.to_arrays())
    x = made.inside(regressor, 3)
    assert np.array_equal(again.predict(x), regressor.predict(x))
    for name, values in regressor.to_arrays().items():
        assert np.array_equal(getattr(again, name), values)


def test_terms_need_their_parents_alone():
    found = polynomial_terms(np.array([[0, 0], [3, 0], [0, 1], [3, 1]]))
    assert found.tolist() == [[0, 0, 0], [0, 0, 3], [0, 1, 1], [1, 1, 1]]


REGRESSORS = {
    "polynomial": made.polynomial(5, 3, 4),
    "Fourier": made.polynomial(4, 2, 3, wave=1.3),
    "network": made.network(5, 3, 9, nets=2),
    "splines in a shear": made.splines(5, 4, 2, np.linspace(-0.9, 0.9, 9), [1, 2]),
    "networks beside splines": made.networks_beside_splines(5, 2, 7, np.linspace(-0.9, 0.8, 5)),
}


def with_values(inputs, first, values):
    """Inputs (N, d - P) with the fixed ones between the others."""
    rows = np.tile(values, (len(inputs), 1))
    return np.concatenate([inputs[:, :first], rows, inputs[:, first:]], axis=1)


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("first", [1, 2])
def test_fixed_regressor_is_the_whole_one_there(name, first):
    whole = REGRESSORS[name]
    inside = made.inside(whole, 40)
    fixed = FixedInputs(whole, first, 2)
    for values in inside[:3, first : first + 2]:
        own = fixed.at(values)
        rest = np.delete(inside, [first, first + 1], axis=1)
        rows = with_values(rest, first, values)
        assert_allclose(own.predict(rest), whole.predict(rows), rtol=1e-11, atol=1e-11)
        assert_allclose(
            own.standard_error(rest), whole.standard_error(rows), rtol=1e-11, equal_nan=True
        )


def test_unusable_inputs_are_refused():
    whole = REGRESSORS["polynomial"]
    with pytest.raises(InputError, match="first: expected 1 to 3 for 2 of 5 inputs, found 4"):
        FixedInputs(whole, 4, 2)
    with pytest.raises(InputError, match="first: expected 1 to 3"):
        FixedInputs(whole, 0, 2)
    with pytest.raises(InputError, match="found Kriging"):
        FixedInputs(made.kriging(9, 5, 1), 1, 2)
    fixed = FixedInputs(whole, 1, 2)
    with pytest.raises(InputError, match=r"values: expected shape \(2\)"):
        fixed.at([0.1])
    with pytest.raises(InputError, match="values: expected finite numbers"):
        fixed.at([0.1, np.nan])


def test_random_numbers_and_weights_are_passed_on(data):
    x, y = data
    seeds = [
        fit_family("network", x, y, QUICK["network"], np.random.default_rng(s)).check.rows
        for s in (1, 2)
    ]
    assert not np.array_equal(*seeds)
    w = np.where(np.arange(60) < 30, 1.0, 0.01)
    rows = fit_family("network", x, y, QUICK["network"], weights=w).check.rows
    assert rows.max() < 30
