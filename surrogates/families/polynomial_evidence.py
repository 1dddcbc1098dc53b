"""Marginal likelihood and coefficients of polynomial terms with a prior variance.

The coefficient of a term has the prior variance prod_j rho_j^(2 e_j) on the orthonormal basis, with
the degree e_j (the harmonic, of a Fourier series) in input j. The rates rho and the noise maximise
the marginal likelihood (MacKay 1992, Neural Computation 4, "Bayesian interpolation").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.core import lapack
from surrogates.families.training import basis_matrix, minimise, polynomial_exponents, row_blocks

#: Prior variance of the constant.
CONSTANT_VARIANCE = 100.0
_RATE_BOUNDS, _NOISE_BOUNDS = (0.003, 0.95), (1e-14, 1e-1)
_LARGEST_LEVERAGE = 1.0 - 1e-6


class Prior(NamedTuple):
    """Terms (T, d), their prior variances (T,) [1] in the orthonormal basis, and the noise."""

    exponents: NDArray[np.int64]
    variances: FloatArray
    noise: float


def effective_degrees(exponents: NDArray[np.int64], wave: float) -> FloatArray:
    """Return the degrees (T, d) [1] of terms, with harmonics for a Fourier series."""
    degrees = exponents.astype(np.float64)
    if wave > 0.0:
        degrees[:, 0] = (exponents[:, 0] + 1) // 2
    return degrees


def _norms(exponents: NDArray[np.int64], wave: float) -> FloatArray:
    """Return the factors (T,) that make the terms orthonormal on the cube (see `basis_matrix`)."""
    squares = 2.0 * exponents + 1.0
    if wave > 0.0:
        squares[:, 0] = 1.0
    return np.asarray(np.sqrt(squares.prod(axis=1)))


def total_degree_terms(d: int, degree: int, wave: float = 0.0) -> NDArray[np.int64]:
    """Return the terms (T, d) up to a total degree; a harmonic counts as its degree."""
    exponents = polynomial_exponents(d, degree)
    if wave == 0.0:
        return exponents
    sines, cosines = exponents.copy(), exponents.copy()
    sines[:, 0] = 2 * exponents[:, 0] - 1
    cosines[:, 0] = 2 * exponents[:, 0]
    return np.concatenate([cosines, sines[exponents[:, 0] > 0]])


def prior_variances(exponents: NDArray[np.int64], log_rates: FloatArray, wave: float) -> FloatArray:
    """Return the prior variances (T,) [1] of terms from the logarithms (d,) of the rates."""
    variances = np.exp(2.0 * effective_degrees(exponents, wave) @ log_rates)
    variances[0] = CONSTANT_VARIANCE
    return variances


class Evidence:
    """Negative log marginal likelihood of scaled z (n, d), y (n, k) [1] in rates and noise."""

    # Each output's scale has its maximum-likelihood value. With basis times prior deviations B, K =
    # B B^T + noise / weights; the gradient is that of Rasmussen & Williams 2006, Eq. 5.9.

    def __init__(
        self,
        z: FloatArray,
        y: FloatArray,
        weights: FloatArray,
        exponents: NDArray[np.int64],
        wave: float,
    ) -> None:
        self._y, self._weights, self._exponents, self._wave = y, weights, exponents, wave
        self._basis = basis_matrix(z, exponents, wave) * _norms(exponents, wave)
        self._degrees = effective_degrees(exponents, wave)

    def maximise(self, start: FloatArray, iterations: int) -> FloatArray:
        """Return the most likely vector (d + 1,) [1] near a start (d + 1,)."""
        rate, noise = np.log(_RATE_BOUNDS).tolist(), np.log(_NOISE_BOUNDS).tolist()
        bounds = [tuple(rate)] * (len(start) - 1) + [tuple(noise)]
        return minimise(self, start, bounds, iterations)[0]

    def __call__(self, vector: FloatArray) -> tuple[float, FloatArray]:
        """Return the value, over the number of data, and its gradient (d + 1,) [1]."""
        (n, k), d = self._y.shape, len(vector) - 1
        noise = float(np.exp(vector[d]))
        weighted = self._basis * np.sqrt(prior_variances(self._exponents, vector[:d], self._wave))
        matrix = weighted @ weighted.T
        matrix[np.diag_indices(n)] += noise / self._weights
        try:
            lower = lapack.cholesky(matrix)
        except lapack.LinAlgError:  # a line search steps back from this value
            return 1e3, np.zeros_like(vector)
        white = lapack.solve_lower(lower, self._y)
        scale = (white**2).mean(axis=0) + 1e-20
        solved = lapack.solve_lower(lower, white, transposed=True)
        value = 0.5 * n * np.log(scale).sum() + k * np.log(np.diag(lower)).sum()
        half = np.tril(lapack.inverse_of_factored(lower))
        inverse = half + np.tril(half, -1).T
        outer = k * inverse - (solved / scale) @ solved.T
        share = (weighted * (outer @ weighted)).sum(axis=0)
        share[0] = 0.0  # the constant's variance is fixed
        gradient = np.array(
            [*(self._degrees.T @ share), 0.5 * noise * (np.diag(outer) / self._weights).sum()]
        )
        return float(value) / (n * k), gradient / (n * k)  # keeps the first step moderate


class Ridge:
    """Ridge regression of scaled z (n, d), y (n, k) [1] with a prior, by blocks of rows."""

    def __init__(
        self, z: FloatArray, y: FloatArray, weights: FloatArray, prior: Prior, wave: float
    ) -> None:
        self._wave, self._exponents = wave, prior.exponents
        self._scale = _norms(prior.exponents, wave) * np.sqrt(prior.variances)
        terms = len(self._scale)
        normal, right = np.zeros((terms, terms)), np.zeros((terms, y.shape[1]))
        for block in row_blocks(len(z), terms):
            rows = self._rows(z[block]) * np.sqrt(weights[block])[:, None]
            normal += rows.T @ rows
            right += rows.T @ (y[block] * np.sqrt(weights[block])[:, None])
        self._lower = _cholesky_with_noise(normal, prior.noise)
        self._solution = lapack.solve_factored(self._lower, right)

    def _rows(self, z: FloatArray) -> FloatArray:
        return basis_matrix(z, self._exponents, self._wave) * self._scale

    @property
    def coefficients(self) -> FloatArray:
        """Coefficients (T, k) [1] of the terms without their norms."""
        return self._scale[:, None] * self._solution

    def left_out(self, z: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the leave-one-out residuals (m, k) [1] of rows of the fit (PRESS; Allen 1974)."""
        residuals = np.empty_like(y)
        for block in row_blocks(len(z), len(self._scale)):
            rows = self._rows(z[block])
            white = lapack.solve_lower(self._lower, rows.T)
            leverage = weights[block] * (white**2).sum(axis=0)
            rest = 1.0 - np.minimum(leverage, _LARGEST_LEVERAGE)
            residuals[block] = (y[block] - rows @ self._solution) / rest[:, None]
        return residuals


def _cholesky_with_noise(normal: FloatArray, noise: float) -> FloatArray:
    """Return the Cholesky factor of normal + noise, with more noise if rounding requires it."""
    level = max(noise, np.finfo(float).eps * normal.trace() * 1e-2)
    while True:
        matrix = normal.copy()
        matrix[np.diag_indices(len(matrix))] += level
        try:
            return lapack.cholesky(matrix)
        except lapack.LinAlgError:
            level *= 10.0
