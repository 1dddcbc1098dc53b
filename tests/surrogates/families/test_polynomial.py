"""Polynomial and Poly-Fourier surfaces: dense algebra and refits without a row as oracles."""

import numpy as np
import pytest
import reference
from reference import cube

from surrogates.families import polynomial, training
from surrogates.families.polynomial import (
    Evidence,
    PolyFourierSettings,
    PolynomialSettings,
    Prior,
    Ridge,
    fit_polynomial,
    total_degree_terms,
)
from surrogates.families.training import basis_matrix, polynomial_exponents

SMALL = {"terms": 60, "first_degree": 8, "other_degree": 4}
BOTH = [PolynomialSettings(**SMALL), PolyFourierSettings(**SMALL)]


def truth(x):
    """Much bent along the first input, hardly along the last."""
    a, b, c, *_ = x.T
    one = np.sin(3.0 * a + 0.5 * b) * (1.0 + 0.1 * c)
    return np.stack([one, 1e3 * np.cos(2.5 * a) * b - 5e3 + 10.0 * c], axis=1)


@pytest.mark.parametrize("wave", [0.0, 1.3])
def test_basis_is_that_of_the_regressor(wave):
    exponents = np.array([[0, 0, 0], [1, 0, 0], [4, 0, 0], [0, 3, 0], [3, 1, 2], [0, 0, 5]])
    z = cube(20)
    found = basis_matrix(z, exponents, wave)
    np.testing.assert_allclose(found, reference.polynomials(z, exponents, wave), atol=1e-13)


@pytest.mark.parametrize("settings", BOTH)
def test_evidence_and_its_gradient_are_those_of_the_definition(settings):
    x = cube(25)
    y = truth(x)
    y = (y - y.mean(axis=0)) / y.std(axis=0)
    terms = polynomial.candidate_terms(3, settings)[:40]
    rates, noise = np.array([0.5, 0.3, 0.2]), 1e-3
    w = np.random.default_rng(2).uniform(0.5, 2.0, 25)
    matrix = np.diag(noise / w)
    for row in terms:
        term = reference.polynomials(x, row[None], settings.wave)[:, 0]
        degrees = row.astype(float)
        norm = np.prod(2.0 * row + 1.0)
        if settings.wave:  # sine and cosine of a harmonic count alike; columns are of unit height
            degrees[0] = (row[0] + 1) // 2
            norm = np.prod(2.0 * row[1:] + 1.0)
        variance = np.prod(rates ** (2 * degrees)) if row.any() else 100.0
        matrix += variance * norm * np.outer(term, term)
    scale = np.diag(y.T @ np.linalg.solve(matrix, y)) / 25
    value = 0.5 * 25 * np.log(scale).sum() + np.linalg.slogdet(matrix)[1]
    evidence = Evidence(x, y, w, terms, settings.wave)
    assert evidence(np.log([*rates, noise]))[0] == pytest.approx(value / y.size, rel=1e-9)
    at = np.log([*rates, 1e-2])
    _, gradient = evidence(at)
    for step, found in zip(1e-4 * np.eye(4), gradient, strict=True):
        slope = (evidence(at + step)[0] - evidence(at - step)[0]) / 2e-4
        assert found == pytest.approx(slope, rel=1e-5, abs=1e-8)


def test_recovers_a_polynomial():
    x = cube(100) * [2.0, 0.5, 3.0] + [1.0, 0.0, -4.0]
    y = np.stack([1.0 + x[:, 0] ** 3 - 2.0 * x[:, 1] * x[:, 2], 4.0 - x[:, 2] ** 2], axis=1)
    settings = PolynomialSettings(basis="total_degree", degree=(1, 2, 3, 4))
    regressor, check = fit_polynomial(x, y, settings)
    assert len(regressor.exponents) == 20
    np.testing.assert_allclose(reference.evaluate(regressor, x), y, atol=1e-6)
    assert np.abs(check.residuals).max() < 1e-6


@pytest.mark.parametrize("ratio", [1.5, 2.0])
def test_recovers_a_fourier_series(ratio):
    x = cube(200)
    half = 0.5 * np.ptp(x[:, 0])
    wave = np.pi / (ratio * half)
    shift = x[:, 0] - 0.5 * (x[:, 0].min() + x[:, 0].max())
    y = (np.cos(2.0 * wave * shift) * (1.0 + x[:, 1]))[:, None]
    settings = PolyFourierSettings(basis="total_degree", degree=(3,), period_ratio=ratio)
    regressor, _ = fit_polynomial(x, y, settings)
    assert regressor.wave == pytest.approx(np.pi / ratio)
    np.testing.assert_allclose(reference.evaluate(regressor, x), y, atol=1e-6)


def test_ridge_solves_the_penalised_least_squares(monkeypatch):
    monkeypatch.setattr(training, "_BLOCK_BYTES", 8 * 10 * 7)  # seven rows at a time
    z, w = cube(40), np.random.default_rng(0).uniform(0.1, 2.0, 40)
    y = truth(z)
    exponents = polynomial_exponents(3, 2)
    prior = Prior(exponents, np.linspace(2.0, 0.1, 10), 0.03)
    a = basis_matrix(z, exponents) * np.sqrt((2 * exponents + 1).prod(axis=1))
    normal = a.T @ (w[:, None] * a) + np.diag(0.03 / prior.variances)
    expected = np.linalg.solve(normal, a.T @ (w[:, None] * y))
    ridge = Ridge(z, y, w, prior, 0.0)
    plain = expected * np.sqrt((2 * exponents + 1).prod(axis=1))[:, None]
    np.testing.assert_allclose(ridge.coefficients, plain, rtol=1e-9)


@pytest.mark.parametrize("wave", [0.0, 1.1])
def test_press_is_a_fit_without_the_row(wave):
    z, w = cube(40), np.random.default_rng(0).uniform(0.1, 2.0, 40)
    y = truth(z)
    exponents = total_degree_terms(3, 2, wave)
    prior = Prior(exponents, np.linspace(2.0, 0.1, len(exponents)), 0.03)
    left = Ridge(z, y, w, prior, wave).left_out(z, y, w)
    for row in (0, 13, 39):
        kept = np.delete(np.arange(40), row)
        without = Ridge(z[kept], y[kept], w[kept], prior, wave).coefficients
        expected = y[row] - basis_matrix(z[[row]], exponents, wave)[0] @ without
        np.testing.assert_allclose(left[row], expected, rtol=1e-8)
