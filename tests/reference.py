"""The formulas of `surrogates.families.regressor` in NumPy: the oracle of the kernels."""

import numpy as np
from numpy.polynomial import legendre
from scipy import linalg
from scipy.interpolate import BSpline

from surrogates.families.training import polynomial_exponents


def cube(rows, columns=3, seed=7):
    """Inputs (rows, columns) drawn from [-1, 1]."""
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (rows, columns))


def one_variable(z, degree, wave):
    """Legendre polynomial or member of the Fourier series at z."""
    if wave == 0.0:
        return legendre.legval(z, np.eye(degree + 1)[degree])
    if degree == 0:
        return np.ones_like(z)
    turn = np.sin if degree % 2 else np.cos
    return turn((degree + 1) // 2 * wave * z)


def polynomials(z, exponents, wave=0.0):
    """(N, T)"""
    columns = []
    for row in exponents:
        column = np.ones(len(z))
        for j, degree in enumerate(row):
            if degree:
                column = column * one_variable(z[:, j], degree, wave if j == 0 else 0.0)
        columns.append(column)
    return np.stack(columns, axis=1)


def products(regressor, z):
    """(N, S T): polynomials, times splines of the sheared first input if there are any."""
    found = polynomials(z, regressor.exponents, regressor.wave)
    if not len(regressor.knots):
        return found
    first = z[:, 0] + z @ regressor.shear
    splines = BSpline(regressor.knots, np.eye(regressor.splines), 3)(first)
    return (splines[:, :, None] * found[:, None, :]).reshape(len(z), -1)


def correlation(kind, u):
    if kind == 0:
        return np.exp(-(u**2) / 2)
    a = np.sqrt(5.0) * u
    return (1 + a + a**2 / 3) * np.exp(-a)


def correlations(regressor, z):
    """(N, n)"""
    places = []
    for points in (z, regressor.points):
        place = points.copy()
        place[:, 0] += points @ regressor.shear
        places.append(place)
    result = np.ones((len(z), len(regressor.points)))
    for j, kind in enumerate(regressor.kinds):
        apart = np.abs(places[0][:, None, j] - places[1][None, :, j])
        result *= correlation(kind, apart / regressor.lengths[j])
    return result


def hidden_units(regressor, z):
    """(N, M h)"""
    parts = [np.empty((len(z), 0))]
    for inner, inner_bias, hidden, hidden_bias in zip(
        regressor.inner, regressor.inner_bias, regressor.hidden, regressor.hidden_bias, strict=True
    ):
        parts.append(np.tanh(np.tanh(z @ inner + inner_bias) @ hidden + hidden_bias))
    return np.concatenate(parts, axis=1)


def scaled(regressor, x):
    return (np.asarray(x, dtype=float) - regressor.x_offset) / regressor.x_scale


def evaluate(regressor, x):
    """Outputs (N, k) at inputs x (N, d)."""
    z = scaled(regressor, x)
    features = np.concatenate(
        [
            products(regressor, z),
            correlations(regressor, z),
            hidden_units(regressor, z),
        ],
        axis=1,
    )
    return regressor.y_offset + regressor.y_scale * (features @ regressor.weights.T)


def standard_error(regressor, x):
    """Standard errors (N, k) at inputs x (N, d)."""
    z = scaled(regressor, x)
    if not len(regressor.points):
        spread = polynomials(np.clip(z, -1, 1), polynomial_exponents(regressor.inputs, 2))
        return np.exp(spread @ regressor.spread.T)
    matrix = correlations(regressor, regressor.points)
    matrix += regressor.nugget * np.eye(len(matrix))
    lower = np.linalg.cholesky(matrix)
    w = linalg.solve_triangular(lower, correlations(regressor, z).T, lower=True)
    trend = polynomials(regressor.points, regressor.exponents, regressor.wave)
    q, r = np.linalg.qr(linalg.solve_triangular(lower, trend, lower=True))
    h = polynomials(z, regressor.exponents, regressor.wave).T
    # e = R^-T (H^T K^-1 r - h), with H^T K^-1 r = R^T Q^T w
    e = q.T @ w - linalg.solve_triangular(r, h, trans="T")
    relative = 1 + regressor.nugget - (w**2).sum(axis=0) + (e**2).sum(axis=0)
    return np.sqrt(np.outer(np.maximum(relative, 0.0), regressor.variance))
