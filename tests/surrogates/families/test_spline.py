"""Spline-polynomials: exact cases, refits without a row, orders of convergence, bad data."""

import made
import numpy as np
import pytest
import reference
from reference import cube

from foundation.base.errors import InputError
from surrogates.families import spline
from surrogates.families.spline import SplineSettings, fit_spline
from surrogates.families.training import basis_matrix, polynomial_exponents

SMALL = SplineSettings(degree=2, pieces=4)


def arcs(along):
    """A function whose curvature jumps at three places."""
    steps = ((-4.0, -0.5), (6.0, 0.1), (-5.0, 0.6))
    return along**2 + sum(size * np.maximum(along - place, 0.0) ** 2 for size, place in steps)


def truth(x):
    """Arcs of x_0 + 0.6 x_1 times smooth functions of the other inputs."""
    bent = arcs(x[:, 0] + 0.6 * x[:, 1])
    one = bent * (1.0 + 0.5 * x[:, 2]) + 0.3 * x[:, 1] * x[:, 2] + 0.2 * x[:, 0]
    return np.stack([one, 1e3 * (bent - x[:, 2] ** 2) - 5e3], axis=1)


def whole(rows):
    """Inputs (rows, 3) whose range is exactly -1 to 1, so that the scaled inputs are the same."""
    return np.concatenate([[[-1.0] * 3, [1.0] * 3], cube(rows - 2)])


@pytest.fixture
def shear(request, monkeypatch):
    """A shear of the first input that takes the place of the search."""
    fixed = np.array([0.0, request.param, 0.0])
    monkeypatch.setattr(spline, "_best_shear", lambda *_: fixed)
    return fixed


def fixed_shear(*values):
    return pytest.mark.parametrize("shear", values, indirect=True)


@fixed_shear(0.0, -0.4)
def test_recovers_a_spline_polynomial(shear, monkeypatch):
    monkeypatch.setattr(spline, "_RIDGE", 1e-15)
    x = cube(600) * [2.0, 0.5, 3.0] + [1.0, 0.0, -4.0]
    true = fit_spline(x, x[:, :2], SMALL).regressor
    assert (true.shear == shear).all()
    weights = np.random.default_rng(0).normal(size=true.weights.shape)
    wanted = reference.evaluate(type(true).from_arrays(true.to_arrays() | {"weights": weights}), x)
    regressor, check = fit_spline(x, wanted, SMALL)
    assert regressor.family == "spline"
    assert made.off(reference.evaluate(regressor, x), wanted) < 1e-11
    assert made.off(check.residuals + wanted, wanted) < 1e-10


@pytest.mark.parametrize("wanted", [0.3, -0.3])
def test_finds_the_shear_of_kinks(wanted, monkeypatch):
    """Where the polynomials of the search cannot stand in for the shear."""
    monkeypatch.setattr(spline, "_SEARCH_DEGREE", 1)
    x = whole(1000)
    y = arcs(x[:, :1] + wanted * x[:, 1:2]) + 0.2 * x[:, 2:]
    found = fit_spline(x, y, SplineSettings(degree=1, pieces=8)).regressor.shear
    np.testing.assert_allclose(found, [0.0, wanted, 0.0], atol=0.03)


@fixed_shear(0.3)
def test_error_falls_with_the_fourth_power_of_the_pieces(shear):
    """Between the first and the last knot; the pieces beyond are longer."""
    x, where = whole(6000), 0.95 * cube(2000, seed=8)
    where = where[np.abs(where[:, 0] + 0.3 * where[:, 1]) < 0.6]

    def smooth(x):
        return np.sin(4.0 * (x[:, :1] + 0.3 * x[:, 1:2])) * (1.0 + x[:, 1:2] * x[:, 2:])

    errors = []
    for pieces in (12, 24, 48):
        regressor = fit_spline(x, smooth(x), SplineSettings(degree=2, pieces=pieces)).regressor
        errors.append(np.std(reference.evaluate(regressor, where) - smooth(where)))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 4.0, atol=0.5)


def test_residuals_left_out_are_those_of_refits_without_the_row():
    z, w = cube(200), np.random.default_rng(0).uniform(0.1, 2.0, 200)
    y, shear = truth(z), np.array([0.0, 0.2, 0.0])
    products = polynomial_exponents(2, 2)
    left = spline.SplineFit(z, w, shear, products, 3).left_out(y)
    exponents = np.pad(products, ((0, 0), (1, 0)))
    for row in (0, 13, 199):
        without = w.copy()
        without[row] = 0.0
        fit = spline.SplineFit(z, without, shear, products, 3)
        splines = spline.BSpline(fit.knots, np.eye(6), 3)(z[row, 0] + z[row] @ shear)
        features = np.outer(splines, basis_matrix(z[[row]], exponents)[0]).ravel()
        expected = y[row] - features @ fit.coefficients(y)
        np.testing.assert_allclose(left[row], expected, rtol=1e-6)


def test_data_that_do_not_suffice_are_refused():
    with pytest.raises(InputError, match=r"at least 24 rows for a spline-polynomial in 3 .* 23"):
        fit_spline(cube(23), cube(23))
    fit_spline(cube(24), cube(24))
    with pytest.raises(InputError, match=r"X: expected two or more inputs .* found one"):
        fit_spline(cube(50, 1), cube(50))
    level = cube(100) * [0.0, 1.0, 1.0]
    with pytest.raises(InputError, match="X: expected a first input that varies"):
        fit_spline(level, truth(level))
