"""Fitting of response surfaces: polynomials, and Fourier series in the first input.

The "anisotropic" basis keeps the terms of largest prior variance, with the rates of the largest
marginal likelihood on a subset of the samples. The
"total_degree" basis has all terms up to a total degree, chosen together with a common ridge by the
leave-one-out error. Leave-one-out residuals are closed forms (PRESS; Allen 1974, Technometrics 16;
Myers, Montgomery & Anderson-Cook, Response Surface Methodology, 4th ed., sec. 2.7).

The coefficient of a term has the prior variance prod_j rho_j^(2 e_j) on the orthonormal basis, with
the degree e_j (the harmonic, of a Fourier series) in input j. The rates rho and the noise maximise
the marginal likelihood (MacKay 1992, Neural Computation 4, "Bayesian interpolation").
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_in, check_number
from foundation.base.errors import InputError
from foundation.core import lapack
from surrogates.families.cross_validation import CrossCheck, Fitted, fit_spread, spread_at
from surrogates.families.regressor import HIGHEST_DEGREE, linear_in
from surrogates.families.training import (
    basis_matrix,
    check_training,
    check_weights,
    mean_and_deviation,
    middle_and_half_range,
    minimise,
    polynomial_exponents,
    row_blocks,
)

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
            complement = 1.0 - np.minimum(leverage, _LARGEST_LEVERAGE)
            residuals[block] = (y[block] - rows @ self._solution) / complement[:, None]
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


BASES = ("anisotropic", "total_degree")
_FIRST_RATE, _FIRST_NOISE = 0.35, 1e-6
#: Number of terms in the search for the rates, and iterations of the rounds.
_SEARCH_TERMS, _SEARCH_ITERATIONS = 700, (60, 20)
#: Rows and iterations of the final estimate of rates and noise, with the kept terms.
_LAST_ROWS, _LAST_ITERATIONS = 1000, 4
#: Maximum number of rows with leave-one-out residuals.
_CHECK_ROWS = 10_000
#: Maximum number of terms for each sample; more terms do not improve the fit.
_TERMS_PER_SAMPLE = 2.0


@dataclass(frozen=True)
class PolynomialSettings:
    """Settings of a polynomial fit."""

    #: Selection of the terms, "anisotropic" or "total_degree".
    basis: str = "anisotropic"
    #: Number of terms of the anisotropic basis; at most two for each sample.
    terms: int = 462
    #: Highest degree of the anisotropic basis in the first input, flexion.
    first_degree: int = 12
    #: Highest total degree of the anisotropic basis in the other inputs.
    other_degree: int = 8
    #: Maximum number of samples, drawn at random, in the search for the rates.
    subset: int = 350
    #: Total degrees to choose from by the leave-one-out error; those with more terms than 0.85 of
    #: the samples are skipped.
    degree: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    #: Candidates for the penalty on squared coefficients, over the number of samples [1].
    ridge: tuple[float, ...] = (1e-10, 1e-8, 1e-6, 1e-4)

    family = "polynomial"
    wave = 0.0

    def __post_init__(self) -> None:
        check_in("basis", self.basis, BASES)
        check_number("terms", self.terms, at_least=1)
        check_number("subset", self.subset, at_least=10)
        # A harmonic has two columns, a sine and a cosine.
        most = HIGHEST_DEGREE // 2 if self.wave else HIGHEST_DEGREE
        for name in ("first_degree", "other_degree"):
            check_number(name, getattr(self, name), at_least=0, at_most=most)
        if not self.degree or not self.ridge:
            raise InputError("degree, ridge: expected at least one value, found an empty list")
        for degree in self.degree:
            check_number("degree", degree, at_least=0, at_most=most)
        for ridge in self.ridge:
            check_number("ridge", ridge, at_least=0.0)


@dataclass(frozen=True)
class PolyFourierSettings(PolynomialSettings):
    """Settings of a Fourier series in the first input; harmonic k counts as degree k."""

    #: Period of the series over the range of the first input in the samples [1].
    period_ratio: float = 2.0

    family = "poly_fourier"

    def __post_init__(self) -> None:
        check_number("period_ratio", self.period_ratio, at_least=1.0)
        super().__post_init__()

    @property
    def wave(self) -> float:  # type: ignore[override]
        """Angular frequency of the first harmonic over the scaled input, which spans 2."""
        return float(np.pi / self.period_ratio)


def fit_polynomial(
    X: ArrayLike,
    Y: ArrayLike,
    settings: PolynomialSettings | None = None,
    rng: np.random.Generator | None = None,
    weights: ArrayLike | None = None,
) -> Fitted:
    """Fit a polynomial or Fourier series to Y (N, k) at X (N, d) [any unit] (`fit_family`)."""
    # The check is at all rows, or at 10,000 random rows.
    chosen = settings or PolynomialSettings()
    draw = rng or np.random.default_rng(0)
    x, y = check_training(X, Y)
    w = check_weights(weights, len(x))
    (x_offset, x_scale), (y_offset, y_scale) = middle_and_half_range(x), mean_and_deviation(y)
    z, target = (x - x_offset) / x_scale, (y - y_offset) / y_scale
    if len(z) < 3:
        raise InputError(f"X: expected at least 3 rows, found {len(z)}")
    rows = np.arange(len(z))
    if len(rows) > _CHECK_ROWS:
        rows = np.sort(draw.choice(rows, _CHECK_ROWS, replace=False))
    solutions = [
        (prior, Ridge(z, target, w, prior, chosen.wave))
        for prior in _priors(z, target, w, chosen, draw)
    ]
    prior, solution = min(
        solutions, key=lambda pair: _press(pair[1], z[rows], target[rows], w[rows])
    )
    residuals = solution.left_out(z[rows], target[rows], w[rows]) * y_scale
    # The standard errors describe the rows of large weight.
    full = w[rows] >= 0.5 * w.max()
    spread = fit_spread(z[rows[full]], residuals[full])
    check = CrossCheck(rows, residuals, spread_at(spread, z[rows]), "leave-one-out")
    regressor = linear_in(
        chosen.family, (x_offset, x_scale, y_offset, y_scale), prior.exponents,
        solution.coefficients.T, wave=chosen.wave, spread=spread,
    )  # fmt: skip
    return Fitted(regressor, check)


def candidate_terms(d: int, settings: PolynomialSettings) -> NDArray[np.int64]:
    """Return the candidate terms (T, d) of the anisotropic basis, the constant first."""
    first = (2 if settings.wave else 1) * settings.first_degree
    if d == 1:
        return np.arange(first + 1)[:, None]
    other_exponents = polynomial_exponents(d - 1, settings.other_degree)
    rows = np.array([(e, *other) for other in other_exponents.tolist() for e in range(first + 1)])
    total = effective_degrees(rows, settings.wave).sum(axis=1)
    return rows[total <= max(settings.first_degree, settings.other_degree)]


def _priors(
    z: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    settings: PolynomialSettings,
    rng: np.random.Generator,
) -> list[Prior]:
    """Return priors to choose from by the leave-one-out error: likelihood may mislead."""
    if settings.basis != "anisotropic":
        return [_total_degree(z, y, weights, settings)]
    priors = [_anisotropic(z, y, weights, settings, rng)]
    plain = replace(settings, degree=(1, 2), ridge=(1e-6, 1e-2))
    if len(z) > 2 * (z.shape[1] + 1):
        priors.append(_total_degree(z, y, weights, plain))
    return priors


def _press(solution: Ridge, z: FloatArray, y: FloatArray, weights: FloatArray) -> float:
    """Return the weighted sum of squared leave-one-out residuals."""
    return float((weights[:, None] * solution.left_out(z, y, weights) ** 2).sum())


def _anisotropic(
    z: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    settings: PolynomialSettings,
    rng: np.random.Generator,
) -> Prior:
    """Return the terms and prior of the largest marginal likelihood."""
    n, d = z.shape
    candidates = candidate_terms(d, settings)
    candidates = candidates[~candidates[:, np.ptp(z, axis=0) == 0.0].any(axis=1)]
    degrees = effective_degrees(candidates, settings.wave)
    count = min(int(settings.terms), max(1, int(_TERMS_PER_SAMPLE * n)))
    y = y[:, np.ptp(y, axis=0) > 1e-12]  # a constant output has no likelihood

    def likeliest(number: int) -> NDArray[np.int64]:
        # A stable sort keeps a term behind its factors, so that its parent precedes the term.
        return candidates[np.argsort(-(degrees @ vector[:d]), kind="stable")[:number]]

    vector = np.log([_FIRST_RATE] * d + [_FIRST_NOISE])
    rounds = [(min(count, _SEARCH_TERMS), settings.subset, i) for i in _SEARCH_ITERATIONS]
    for number, most, iterations in [*rounds, (count, _LAST_ROWS, _LAST_ITERATIONS)]:
        if not y.shape[1]:
            break
        rows = np.sort(rng.choice(n, min(int(most), n), replace=False))
        terms = likeliest(number)
        evidence = Evidence(z[rows], y[rows], weights[rows], terms, settings.wave)
        vector = evidence.maximise(vector, iterations)
    terms = likeliest(count)
    variances = prior_variances(terms, vector[:d], settings.wave)
    return Prior(terms, variances, float(np.exp(vector[d])))


def _total_degree(
    z: FloatArray, y: FloatArray, weights: FloatArray, settings: PolynomialSettings
) -> Prior:
    """Return the total degree and ridge of the least leave-one-out error."""
    best, least, n = None, np.inf, len(z)
    few = np.arange(n) if n <= _CHECK_ROWS else np.linspace(0, n - 1, _CHECK_ROWS).astype(int)
    for degree, ridge in product(settings.degree, settings.ridge):
        exponents = total_degree_terms(z.shape[1], int(degree), settings.wave)
        if len(exponents) > 0.85 * n:
            continue
        variances = np.ones(len(exponents))
        variances[0] = CONSTANT_VARIANCE
        prior = Prior(exponents, variances, ridge * n)
        solution = Ridge(z, y, weights, prior, settings.wave)
        error = _press(solution, z[few], y[few], weights[few])
        if error < least:
            best, least = prior, error
    if best is None:
        raise InputError(
            f"X: expected enough rows for a degree of {sorted(settings.degree)} in "
            f"{z.shape[1]} inputs, found {n}; add samples, lower the degree or use the "
            "anisotropic basis"
        )
    return best
