"""The registry of families: names, settings, lazy imports, errors."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from surrogates.families.kriging import KrigingSettings
from surrogates.families.network import NetworkSettings
from surrogates.families.polynomial import PolyFourierSettings, PolynomialSettings
from surrogates.families.registry import FAMILIES, fit_family
from surrogates.families.regressor import FAMILY_NAMES

QUICK = {
    "kriging": KrigingSettings(correlation="matern52"),
    "polynomial": PolynomialSettings(terms=20),
    "poly_fourier": PolyFourierSettings(terms=20),
    "network": NetworkSettings(hidden=4, steps=20),
}


@pytest.fixture(scope="module")
def data():
    x = np.random.default_rng(7).uniform(-1.0, 1.0, (60, 3))
    return x, np.stack([np.sin(x[:, 0] + x[:, 1]), x[:, 2] ** 2], axis=1)


def test_families_are_those_of_the_regressor():
    assert tuple(FAMILIES) == FAMILY_NAMES


@pytest.mark.parametrize("name", FAMILIES)
def test_fit_by_name(name, data):
    x, y = data
    regressor, check = fit_family(name, x, y, QUICK[name], np.random.default_rng(1))
    assert regressor.family == name
    assert (regressor.inputs, regressor.outputs) == (3, 2)
    assert check.residuals.shape == check.standard_errors.shape == (len(check.rows), 2)
    np.testing.assert_array_equal(regressor.wave > 0.0, name == "poly_fourier")


@pytest.mark.parametrize("name", FAMILIES)
def test_settings_have_defaults(name):
    assert type(FAMILIES[name].settings()) is type(QUICK[name])


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


def test_errors(data):
    x, y = data
    with pytest.raises(ValueError, match=r"name: expected one of .*'kriging'"):
        fit_family("forest", x, y)
    with pytest.raises(ValueError, match="settings: expected KrigingSettings for 'kriging'"):
        fit_family("kriging", x, y, PolynomialSettings())
    with pytest.raises(ValueError, match="settings: expected PolynomialSettings for 'polynomial'"):
        fit_family("polynomial", x, y, PolyFourierSettings())
    with pytest.raises(ValueError, match="weights: expected none for 'kriging'"):
        fit_family("kriging", x, y, weights=np.ones(60))


def test_the_registry_needs_no_package_that_fits():
    code = (
        "import sys, surrogates.families.registry; "
        "found = {'sklearn', 'smt', 'surrogates.families.kriging', "
        "'surrogates.families.polynomial', "
        "'surrogates.families.network'} & set(sys.modules); "
        "assert not found, found"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
