"""Kriging: dense formulas, refits without a row and other packages as oracles."""

from dataclasses import replace

import numpy as np
import pytest
import reference
from reference import cube
from threadpoolctl import threadpool_limits

from surrogates.core.correlations import CORRELATIONS
from surrogates.families.cross_validation import coverage
from surrogates.families.kriging import (
    KrigingSettings,
    Likelihood,
    Parameters,
    fit_kriging,
    local_error,
    spread_picks,
)
from surrogates.families.training import basis_matrix, polynomial_exponents

#: These functions are smooth to the last digit, unlike the loads of triangulated surfaces.
EXACT = (1e-12, 1e-3)
SMOOTH = KrigingSettings(correlation="squared_exponential", nugget=EXACT)


def truth(x):
    a, b, c, *_ = x.T
    return np.stack([np.sin(a + 0.5 * b) * np.exp(0.4 * c), 1e3 * np.cos(a * b + c) - 5e3], axis=1)


def kinked(x):
    """Smooth but for a jump of the curvature along one plane."""
    return truth(x) + np.maximum(x[:, [0]] - 0.5 * x[:, [3]], 0.0) ** 2 * [[2.0, 1e3]]


def likelihood_of(kinds, shear_inputs, n=40, d=4):
    x = cube(n, d)
    y = truth(x) + np.random.default_rng(1).normal(0.0, 0.1, (n, 1))
    y = (y - y.mean(axis=0)) / y.std(axis=0)
    trend = basis_matrix(x, polynomial_exponents(d, 1))
    return Likelihood(x, y, trend, np.array(kinds), shear_inputs, (1e-12, 1e-1))


LIKELIHOODS = [
    ([0, 0, 0, 0], ()),
    ([1, 1, 1, 1], ()),
    ([1, 0, 0, 0], (3,)),
    ([1, 0, 1, 0], (1, 3)),
]


@pytest.mark.parametrize(("kinds", "shear_inputs"), LIKELIHOODS)
def test_gradient_of_the_likelihood(kinds, shear_inputs):
    likelihood = likelihood_of(kinds, shear_inputs)
    rng = np.random.default_rng(3)
    shears = rng.uniform(-0.5, 0.5, len(shear_inputs))
    at = np.concatenate([rng.uniform(-0.5, 1.0, 4), [np.log(1e-3)], shears])
    _, gradient = likelihood(at)
    for i in range(len(at)):
        step = 1e-5 * np.eye(len(at))[i]
        slope = (likelihood(at + step)[0] - likelihood(at - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("kinds", "shear_inputs"), LIKELIHOODS)
def test_likelihood_is_that_of_its_definition(kinds, shear_inputs):
    likelihood = likelihood_of(kinds, shear_inputs)
    lengths, nugget = np.array([0.8, 1.5, 1.0, 2.0]), 1e-2
    shear = np.zeros(4)
    shear[list(shear_inputs)] = 0.4
    z, y, h = likelihood.z, likelihood.y, likelihood.trend
    placed = z.copy()
    placed[:, 0] += z @ shear
    matrix = nugget * np.eye(len(z))
    for i in range(len(z)):
        for j in range(len(z)):
            factors = [
                reference.correlation(kind, abs(placed[i, k] - placed[j, k]) / lengths[k])
                for k, kind in enumerate(kinds)
            ]
            matrix[i, j] += np.prod(factors)
    inverse = np.linalg.inv(matrix)
    beta = np.linalg.solve(h.T @ inverse @ h, h.T @ inverse @ y)
    rest = y - h @ beta
    variance = np.diag(rest.T @ inverse @ rest) / len(z)
    outputs = y.shape[1]
    value = 0.5 * len(z) * np.log(variance).sum() + 0.5 * outputs * np.linalg.slogdet(matrix)[1]
    found, _ = likelihood(likelihood.vector(Parameters(lengths, nugget, shear)))
    assert found == pytest.approx(value / y.size, rel=1e-9)


@pytest.mark.parametrize("correlation", [*CORRELATIONS, "mixed"])
def test_fit_passes_through_its_samples(correlation):
    x = cube(80, 4)
    fitted = fit_kriging(
        x, kinked(x), KrigingSettings(correlation=correlation, nugget=(1e-12,) * 2)
    )
    scale = np.ptp(kinked(x), axis=0)
    off = np.abs(reference.evaluate(fitted.regressor, x) - kinked(x)).max(axis=0)
    assert (off < 1e-6 * scale).all()
    assert (reference.standard_error(fitted.regressor, x) < 1e-3 * scale).all()


@pytest.mark.parametrize("correlation", ["squared_exponential", "mixed", "matern52"])
def test_leave_one_out_is_a_model_without_the_row(correlation):
    x = cube(50, 4)
    y = kinked(x)
    settings = KrigingSettings(correlation=correlation, trend="linear", nugget=(1e-6, 1e-6))
    regressor, check = fit_kriging(x, y, settings)
    assert check.kind == "leave-one-out"
    np.testing.assert_array_equal(check.rows, np.arange(50))
    for row in (0, 17, 49):
        kept = np.delete(np.arange(50), row)
        matrix = reference.correlations(regressor, regressor.points)[np.ix_(kept, kept)]
        matrix += regressor.nugget * np.eye(49)
        h = reference.polynomials(regressor.points[kept], regressor.exponents)
        inverse = np.linalg.inv(matrix)
        scaled = (y[kept] - regressor.y_offset) / regressor.y_scale
        beta = np.linalg.solve(h.T @ inverse @ h, h.T @ inverse @ scaled)
        gamma = inverse @ (scaled - h @ beta)
        without = replace(
            regressor, points=regressor.points[kept], weights=np.concatenate([beta, gamma]).T
        )
        left = y[[row]] - reference.evaluate(without, x[[row]])
        np.testing.assert_allclose(check.residuals[[row]], left, rtol=1e-6)
        expected = reference.standard_error(without, x[[row]])
        np.testing.assert_allclose(check.standard_errors[[row]], expected, rtol=1e-6)


def test_intervals_cover_what_they_promise():
    x, where = cube(300, 4), 0.95 * cube(500, 4, seed=8)
    regressor, check = fit_kriging(x, kinked(x))
    error = np.abs(reference.evaluate(regressor, where) - kinked(where))
    inside = (error < 1.96 * reference.standard_error(regressor, where)).mean(axis=0)
    assert (inside > 0.88).all()
    assert (coverage(check) > 0.88).all()


def test_auto_takes_the_fitting_correlation():
    x = cube(200, 4)
    smooth = fit_kriging(x, truth(x)).regressor
    np.testing.assert_array_equal(smooth.kinds, 0)
    bent = fit_kriging(x, kinked(x)).regressor
    np.testing.assert_array_equal(bent.kinds, [1, 0, 0, 0])
    assert bent.shear[3] == pytest.approx(-0.5, abs=0.05)
    np.testing.assert_array_equal(bent.shear[:3], 0.0)


def test_nugget_is_raised_until_the_matrix_can_be_factorised():
    x = cube(200, 2)  # of two inputs and so many rows, no lengths have a definite matrix
    settings = replace(SMOOTH, nugget=(1e-15, 1e-15), likelihood_points=20, refine=0)
    regressor = fit_kriging(x, truth(np.column_stack([x, x[:, 0]])), settings).regressor
    assert regressor.nugget > 1e-15
    assert np.isfinite(regressor.weights).all()


def test_standard_errors_do_not_depend_on_the_threads_of_the_linear_algebra():
    x, at = cube(600, 6, 1), cube(20, 6, 2)
    found = fit_kriging(x, truth(x), KrigingSettings(correlation="matern52")).regressor
    errors = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            # A copy has no factors yet.
            errors.append(replace(found).standard_error(at))
    np.testing.assert_array_equal(*errors)


def test_spread_picks_as_if_each_had_been_sampled():
    x, candidates = cube(40, 4), cube(60, 4, seed=3)
    settings = KrigingSettings(correlation="mixed", trend="linear", nugget=(1e-8, 1e-8))
    regressor = fit_kriging(x, kinked(x), settings).regressor
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    picks = spread_picks(regressor, candidates, weights, 8)
    z = reference.scaled(regressor, candidates)
    points = regressor.points
    for pick in picks:
        filled = np.zeros((2, len(regressor.exponents) + len(points)))
        grown = replace(regressor, points=points, weights=filled)
        variance = reference.standard_error(grown, candidates)[:, 0] ** 2
        assert pick == np.argmax(weights**2 * (variance - grown.variance[0] * grown.nugget))
        points = np.concatenate([points, z[[pick]]])
    assert len(set(picks.tolist())) == 8


def test_local_error_is_larger_where_the_model_erred():
    x = cube(80, 3)
    regressor, check = fit_kriging(x, truth(x), SMOOTH)
    residuals = check.residuals.copy()
    residuals[:] = check.standard_errors
    left = x[:, 0] < 0.0
    residuals[left] *= 3.0
    where = np.array([[-0.9, 0.0, 0.0], [0.9, 0.0, 0.0]])
    worse, usual = local_error(regressor, check._replace(residuals=residuals), where)
    assert usual == pytest.approx(1.0, rel=1e-12)
    assert worse == pytest.approx(np.sqrt(9.3 / 1.3), rel=1e-12)


def test_errors_are_those_of_smt():
    """Kriging of the same trend and correlation by SMT, whose search and nugget are its own."""
    krg = pytest.importorskip("smt.surrogate_models").KRG
    x, new = cube(60, 4), cube(200, 4, 5)
    y, wanted = truth(x), truth(new)
    for k in range(2):
        model = krg(poly="linear", corr="squar_exp", print_global=False, seed=1)
        model.set_training_values(x, y[:, k])
        model.train()
        ours = fit_kriging(x, y[:, [k]], replace(SMOOTH, trend="linear")).regressor
        error = np.std(ours.predict(new)[:, 0] - wanted[:, k])
        reference = np.std(model.predict_values(new)[:, 0] - wanted[:, k])
        assert error < min(1.5 * reference, 0.1 * np.std(wanted[:, k])), (error, reference)
