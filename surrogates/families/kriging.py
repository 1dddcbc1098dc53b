"""Fitting of Kriging (Gaussian-process interpolation with a polynomial trend), and its infill.

Universal Kriging after Sacks et al. (1989), Statistical Science 4, Eq. 7-9, with one set of
correlation lengths for all outputs of a fit, which maximise the likelihood on a random
part of the samples and are then refined on all samples. docs/theory.md explains the "mixed"
correlation.

Trend and variance of each output maximise the likelihood at given parameters ("concentrated", Sacks
et al. 1989, sec. 4). The gradient is analytic (Rasmussen & Williams 2006, Eq. 5.9): with the
correlation matrix K and its nugget, g = K^-1 (y - H beta), the variance v and the weights W = k
K^-1 - sum_k g_k g_k^T / v_k, the derivative of the negative log-likelihood in a parameter t is
sum_ij W_ij (dK_ij / dt) / 2. Leave-one-out residuals and their variances are closed forms (Dubrule
1983, Mathematical Geology 15; Rasmussen & Williams 2006, Eq. 5.12).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from foundation.base.checks import FloatArray, check_array, check_in, check_number
from foundation.base.errors import InputError
from foundation.core import lapack
from foundation.core.library import CORE, address, addresses, integers
from surrogates.core.correlations import CORRELATIONS, RATES
from surrogates.families.cross_validation import CrossCheck, Fitted, standardised
from surrogates.families.regressor import Regressor, correlations, linear_in, lower_correlations
from surrogates.families.training import (
    basis_matrix,
    check_training,
    mean_and_deviation,
    middle_and_half_range,
    minimise,
    polynomial_exponents,
)

#: Bounds of the correlation lengths; the inputs span [-1, 1].
LENGTH_BOUNDS = (0.05, 300.0)
_SHEAR_BOUNDS = (-3.0, 3.0)
#: Inputs but 0 that enter the sheared input of "mixed", where a fit has them.
_SHEAR_INPUTS = (3,)
#: Factor on standard errors after calibration on leave-one-out residuals, which are somewhat too
#: small for a design chosen by the model itself.
SAFETY = 1.1
#: Start of a search. A start from a nugget of 1e-9 ended at a poor optimum in one of ten searches.
_FIRST_LENGTH, _FIRST_NUGGET = 2.0, 1e-6
#: Value where the matrix cannot be factorised, from which a line search steps back.
_IMPOSSIBLE = 1e3
#: Floor of the variance of a scaled output, for outputs that the trend describes exactly.
_LEAST_VARIANCE = 1e-20
_LARGEST_NUGGET = 1e-2


def point_gradient(
    points: FloatArray, kinds: NDArray[np.int64], correlation: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return d(sum of weights * correlation)/d(points), (n, d) [1], of lower triangles (n, n)."""
    codes, rates, gradient = integers(kinds), RATES[kinds], np.empty(points.shape[::-1])
    columns = np.ascontiguousarray((points * rates).T)
    matrices = np.ascontiguousarray(correlation), np.ascontiguousarray(weights)
    CORE.fill_point_gradient(
        len(codes), address(codes), len(points), *addresses(columns, *matrices, gradient)
    )
    return gradient.T * rates


class Factors(NamedTuple):
    """Factors of K = L L^T, (n, n) [1], and of the trend, L^-1 H = Q R, for least squares."""

    cholesky: FloatArray  # L (n, n)
    orthogonal: FloatArray  # Q (n, T) of L^-1 H = Q R
    upper: FloatArray  # R (T, T)


def factorise(matrix: FloatArray, trend: FloatArray) -> Factors | None:
    """Return factors of a matrix (n, n) and trend (n, T) [1]; None if not positive definite."""
    try:
        lower = lapack.cholesky(matrix)
    except lapack.LinAlgError:
        return None
    whitened = lapack.solve_lower(lower, trend)
    orthogonal, upper = linalg.qr(whitened, mode="economic", check_finite=False)
    return Factors(lower, np.asarray(orthogonal), np.asarray(upper))


class Parameters(NamedTuple):
    """Parameters of the correlation of scaled inputs [1].

    Lengths (d,), nugget, and shear (d,): distances along the first input are distances of
    z_0 + sum_j shear_j z_j.
    """

    lengths: FloatArray
    nugget: float
    shear: FloatArray

    def place(self, z: FloatArray) -> FloatArray:
        """Return scaled inputs z (n, d) sheared and divided by the lengths, (n, d) [1]."""
        placed = z.copy()
        placed[:, 0] += z @ self.shear
        return placed / self.lengths


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Negative log concentrated likelihood of scaled data z (n, d), y (n, k), trend (n, T) [1]."""

    # Divided by the number of data, which keeps the first step of a search moderate. Its vector has
    # the logarithms of the d lengths and of the nugget, and the shears.

    z: FloatArray
    y: FloatArray
    trend: FloatArray
    #: Correlation function along each input (d,).
    kinds: NDArray[np.int64]
    #: Inputs that enter the sheared first input.
    shear_inputs: tuple[int, ...]
    #: Bounds of the nugget [1].
    nugget_bounds: tuple[float, float]

    def parameters(self, vector: FloatArray) -> Parameters:
        """Return the parameters of a vector (v,) [1], v being d + 1 and the number of shears."""
        d = self.z.shape[1]
        shear = np.zeros(d)
        shear[list(self.shear_inputs)] = vector[d + 1 :]
        return Parameters(np.exp(vector[:d]), float(np.exp(vector[d])), shear)

    def vector(self, parameters: Parameters) -> FloatArray:
        """Return the vector (v,) [1] of parameters; the inverse of `parameters`."""
        shear = parameters.shear[list(self.shear_inputs)]
        return np.concatenate([np.log([*parameters.lengths, parameters.nugget]), shear])

    def first(self, rng: np.random.Generator | None = None) -> FloatArray:
        """Return the default start (v,) [1] of a search, or a random start near it."""
        d = self.z.shape[1]
        lengths, nugget = np.full(d, _FIRST_LENGTH), np.clip(_FIRST_NUGGET, *self.nugget_bounds)
        if rng is not None:
            lengths = lengths * np.exp(rng.uniform(-1.5, 1.5, d))
        return self.vector(Parameters(lengths, float(nugget), np.zeros(d)))

    def bounds(self) -> list[tuple[float, float]]:
        """Return the bounds of every element of the vector."""
        low, high = np.log(LENGTH_BOUNDS).tolist()
        nugget_low, nugget_high = np.log(self.nugget_bounds).tolist()
        lengths = [(low, high)] * self.z.shape[1]
        return [*lengths, (nugget_low, nugget_high), *[_SHEAR_BOUNDS] * len(self.shear_inputs)]

    def __call__(self, vector: FloatArray) -> tuple[float, FloatArray]:
        """Return the negative log-likelihood without its constant, and the gradient (n,) [1]."""
        (n, k), parameters = self.y.shape, self.parameters(vector)
        points = parameters.place(self.z)
        correlation = lower_correlations(points, self.kinds)
        matrix = correlation.copy()
        matrix[np.diag_indices(n)] += parameters.nugget
        factors = factorise(matrix, self.trend)
        if factors is None:
            return _IMPOSSIBLE, np.zeros_like(vector)
        whitened = lapack.solve_lower(factors.cholesky, self.y)
        residual = whitened - factors.orthogonal @ (factors.orthogonal.T @ whitened)
        variance = (residual**2).mean(axis=0) + _LEAST_VARIANCE
        value = 0.5 * n * np.log(variance).sum() + k * np.log(np.diag(factors.cholesky)).sum()
        solved = lapack.solve_lower(factors.cholesky, residual, transposed=True)
        inverse = lapack.inverse_of_factored(factors.cholesky)
        weights = k * inverse - (solved / variance) @ solved.T
        gradient = self._gradient(parameters, points, correlation, weights)
        return float(value) / (n * k), gradient / (n * k)

    def _gradient(
        self,
        parameters: Parameters,
        points: FloatArray,
        correlation: FloatArray,
        weights: FloatArray,
    ) -> FloatArray:
        in_points = 0.5 * point_gradient(points, self.kinds, correlation, weights)
        in_lengths = -(in_points * points).sum(axis=0)
        in_nugget = 0.5 * parameters.nugget * np.trace(weights)
        in_shear = in_points[:, 0] @ self.z[:, list(self.shear_inputs)] / parameters.lengths[0]
        return np.concatenate([in_lengths, [in_nugget], in_shear])


def maximise(
    likelihood: Likelihood, start: FloatArray, iterations: int
) -> tuple[FloatArray, float]:
    """Return the most likely vector (n,) [1] near a start (n,), and the function's value there."""
    return minimise(likelihood, start, likelihood.bounds(), iterations)


def factorise_safely(
    parameters: Parameters, z: FloatArray, kinds: NDArray[np.int64], trend: FloatArray
) -> tuple[Factors, float]:
    """Return factors at samples z (n, d) [1] and the nugget, up to 0.01, that allowed them."""
    matrix = lower_correlations(parameters.place(z), kinds)
    nugget = parameters.nugget
    while True:
        matrix[np.diag_indices(len(z))] = 1.0 + nugget
        factors = factorise(matrix, trend)
        if factors is not None:
            return factors, nugget
        if nugget >= _LARGEST_NUGGET:
            raise InputError(
                f"X: the correlation matrix of {len(z)} rows is not positive definite with a "
                f"nugget of {nugget:g}; drop repeated rows"
            )
        nugget = min(10.0 * nugget, _LARGEST_NUGGET)


def solve(factors: Factors, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return weights (k, T + n), variance (k,), residuals (n, k), their variances (n,) [1]."""
    # `InputError` if a row alone determines a trend coefficient, so that it cannot be left out.
    lower, orthogonal, upper = factors
    n, terms = orthogonal.shape
    whitened = lapack.solve_lower(lower, y)
    beta = linalg.solve_triangular(upper, orthogonal.T @ whitened, check_finite=False)
    residual = whitened - orthogonal @ (orthogonal.T @ whitened)
    variance = (residual**2).sum(axis=0) / (n - terms)
    gamma = lapack.solve_lower(lower, residual, transposed=True)
    inverse = lapack.solve_lower(lower, np.eye(n))
    diagonal = (inverse**2).sum(axis=0)
    precision = diagonal - ((orthogonal.T @ inverse) ** 2).sum(axis=0)
    if (precision <= 1e-10 * diagonal).any():
        raise InputError(
            f"X: row {int((precision / diagonal).argmin())} alone determines a coefficient of the "
            "trend; add samples or simplify the trend"
        )
    weights = np.concatenate([beta, gamma]).T
    return weights, variance, gamma / precision[:, None], 1.0 / precision


MIXED, AUTO = "mixed", "auto"
#: Correlations that "auto" compares by their likelihood on the rows of the search, a more reliable
#: criterion than the leave-one-out error. The first is kept unless another correlation is likelier
#: by more than the margin per datum: for 250 samples of a smooth function the second may appear so.
AUTOMATIC = ("squared_exponential", MIXED, "matern52")
_MARGIN = 0.1
#: Maximum number of samples for the refinement, which costs O(n^3) and gains little.
_MOST_REFINED = 2500
TRENDS = {"constant": 0, "linear": 1, "quadratic": 2}
#: Number of samples for each term of a quadratic trend: 500 samples for six inputs.
_SAMPLES_PER_QUADRATIC_TERM = 500 / 28


@dataclass(frozen=True)
class KrigingSettings:
    """Settings of a Kriging fit."""

    #: "squared_exponential" or "matern52" along every input; "mixed": Matern 5/2 along
    #: the sheared first input, squared exponential along the others; "auto": squared_exponential,
    #: unless mixed or matern52 is clearly likelier.
    correlation: str = AUTO
    #: "constant", "linear", "quadratic"; "auto" is quadratic from about 18 samples for each
    #: quadratic term, else linear.
    trend: str = AUTO
    #: Bounds of the nugget, over the process variance [1].
    #: Estimated with the lengths. Below about 1e-8 the accuracy on triangulated surfaces does not
    #: improve, and weights cancel so far that rounding appears in the derivatives. It rises
    #: tenfold, up to 0.01, where the correlation matrix cannot be factorised.
    nugget: tuple[float, float] = (1e-8, 1e-3)
    #: Number of starts of the search; starts after the first are random.
    starts: int = 1
    #: Most samples in the search, drawn at random; at least 3 a trend term.
    likelihood_points: int = 400
    #: Maximum number of iterations of the search.
    iterations: int = 80
    #: Maximum number of iterations on all samples, for at most 2500 samples.
    refine: int = 8

    def __post_init__(self) -> None:
        check_in("correlation", self.correlation, (*CORRELATIONS, MIXED, AUTO))
        check_in("trend", self.trend, (*TRENDS, AUTO))
        low, high = self.nugget
        check_number("nugget", low, at_least=1e-15)
        check_number("nugget", high, at_least=low, at_most=1.0)
        for name, least in (("starts", 1), ("likelihood_points", 10), ("iterations", 1)):
            check_number(name, getattr(self, name), at_least=least)
        check_number("refine", self.refine, at_least=0)


def fit_kriging(
    X: ArrayLike,
    Y: ArrayLike,
    settings: KrigingSettings | None = None,
    rng: np.random.Generator | None = None,
) -> Fitted:
    """Fit Kriging, checked at all rows, to Y (N, k) at X (N, d) [any unit] (`fit_family`)."""
    chosen = settings or KrigingSettings()
    draw = rng or np.random.default_rng(0)
    x, y = check_training(X, Y)
    (x_offset, x_scale), (y_offset, y_scale) = middle_and_half_range(x), mean_and_deviation(y)
    z, target = (x - x_offset) / x_scale, (y - y_offset) / y_scale
    exponents = _trend_exponents(z, chosen.trend)
    trend = basis_matrix(z, exponents)
    kinds, parameters = _search(z, target, trend, chosen, draw)
    factors, nugget = factorise_safely(parameters, z, kinds, trend)
    weights, variance, residuals, lack = solve(factors, target)
    errors = np.sqrt(np.outer(lack, variance * y_scale**2))
    check = CrossCheck(np.arange(len(x)), residuals * y_scale, errors, "leave-one-out")
    calibration = np.maximum((standardised(check) ** 2).mean(axis=0), 1e-30) * SAFETY**2
    check = check._replace(standard_errors=check.standard_errors * np.sqrt(calibration))
    regressor = linear_in(
        "kriging", (x_offset, x_scale, y_offset, y_scale), exponents, weights,
        points=z, lengths=parameters.lengths, kinds=kinds, shear=parameters.shear,
        nugget=nugget, variance=variance * y_scale**2 * calibration,
    )  # fmt: skip
    return Fitted(regressor, check)


def _trend_exponents(z: FloatArray, trend: str) -> NDArray[np.int64]:
    """Return the trend's terms (T, d) without constant inputs; refuse undetermined trends."""
    n, d = z.shape
    varying = np.ptp(z, axis=0) > 0.0
    for name in (trend,) if trend != AUTO else ("quadratic", "linear", "constant"):
        exponents = polynomial_exponents(d, TRENDS[name])
        exponents = exponents[~exponents[:, ~varying].any(axis=1)]
        terms = len(exponents)
        needed = {"quadratic": _SAMPLES_PER_QUADRATIC_TERM * terms, "linear": 2.0 * terms}
        if trend == AUTO and n < needed.get(name, 2):
            continue
        if n <= terms + 1:
            raise InputError(
                f"X: expected more than {terms + 1} rows for a {name} trend of {d} inputs, found "
                f"{n}; add samples or simplify the trend"
            )
        basis = basis_matrix(z, exponents)
        if np.linalg.matrix_rank(basis, tol=1e-10 * np.linalg.norm(basis)) == terms:
            return exponents
    raise InputError(
        f"X: expected samples that determine a {trend} trend, found {n} rows that are too similar "
        "or have dependent columns; add samples, drop dependent columns or simplify the trend"
    )


def _search(
    z: FloatArray,
    y: FloatArray,
    trend: FloatArray,
    settings: KrigingSettings,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], Parameters]:
    """Return the correlation functions and their parameters."""
    n = len(z)
    correlation = settings.correlation
    count = max(int(settings.likelihood_points), 3 * trend.shape[1])
    rows = np.sort(rng.choice(n, min(n, count), replace=False))
    y = y[:, np.ptp(y[rows], axis=0) > 1e-12]  # a constant output has no likelihood
    if not y.shape[1]:  # any lengths will do
        name = "squared_exponential" if correlation == AUTO else correlation
        likelihood = _likelihood(name, z, y, trend, settings)
        return likelihood.kinds, likelihood.parameters(likelihood.first())
    seeds = [None, *rng.spawn(int(settings.starts) - 1)]
    searches = []
    for name in AUTOMATIC if correlation == AUTO else (correlation,):
        few = _likelihood(name, z[rows], y[rows], trend[rows], settings)
        for seed in seeds:
            vector, value = maximise(few, few.first(seed), int(settings.iterations))
            handicap = 0.0 if name == AUTOMATIC[0] else _MARGIN
            searches.append((value + handicap, name, vector))
    _, name, vector = min(searches, key=lambda search: search[0])
    likelihood = _likelihood(name, z, y, trend, settings)
    if len(rows) < n <= _MOST_REFINED and settings.refine:
        vector, _ = maximise(likelihood, vector, int(settings.refine))
    return likelihood.kinds, likelihood.parameters(vector)


def _likelihood(
    correlation: str, z: FloatArray, y: FloatArray, trend: FloatArray, settings: KrigingSettings
) -> Likelihood:
    d = z.shape[1]
    low, high = settings.nugget
    if correlation == MIXED:
        kinds = np.zeros(d, dtype=np.int64)
        kinds[0] = CORRELATIONS["matern52"].code
        shear_inputs = tuple(j for j in _SHEAR_INPUTS if j < d)
        return Likelihood(z, y, trend, kinds, shear_inputs, (low, high))
    return Likelihood(z, y, trend, np.full(d, CORRELATIONS[correlation].code), (), (low, high))


class Posterior:
    """Posterior covariance of Kriging at candidates (m, d) [any unit], over its variance."""

    def __init__(self, regressor: Regressor, candidates: ArrayLike) -> None:
        z, self._placed, near = _with_samples(regressor, candidates)
        parameters = Parameters(regressor.lengths, regressor.nugget, regressor.shear)
        trend = basis_matrix(regressor.points, regressor.exponents, regressor.wave)
        factors, _ = factorise_safely(parameters, regressor.points, regressor.kinds, trend)
        self._kinds = regressor.kinds
        self._whitened = lapack.solve_lower(factors.cholesky, near.T)
        basis = basis_matrix(z, regressor.exponents, regressor.wave)
        lack = factors.orthogonal.T @ self._whitened
        # R^T e = H^T K^-1 r - h
        self._excess = lack - linalg.solve_triangular(factors.upper, basis.T, trans="T")
        explained = (self._whitened**2).sum(axis=0) - (self._excess**2).sum(axis=0)
        #: Relative variances (m,), without the nugget.
        self.variance = np.maximum(1.0 - explained, 0.0)

    def covariance(self, index: int) -> FloatArray:
        """Return the relative covariances (m,) [1] of all candidates with candidate `index`."""
        one = self._placed[index : index + 1]
        prior = correlations(self._placed, one, self._kinds)[:, 0]
        known = self._whitened.T @ self._whitened[:, index]
        return prior - known + self._excess.T @ self._excess[:, index]


def _with_samples(
    regressor: Regressor, candidates: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return candidates (m, d), scaled and sheared, and correlations (m, n) with the samples."""
    if not len(regressor.points):
        raise InputError(f"regressor: expected a Kriging model, found {regressor.family!r}")
    x = check_array("candidates", candidates, (None, regressor.inputs))
    z = (x - regressor.x_offset) / regressor.x_scale
    parameters = Parameters(regressor.lengths, regressor.nugget, regressor.shear)
    placed = parameters.place(z)
    return z, placed, correlations(placed, parameters.place(regressor.points), regressor.kinds)


def spread_picks(
    regressor: Regressor, X_candidates: ArrayLike, weights: ArrayLike, count: int
) -> NDArray[np.int64]:
    """Return the `count` candidates (m, d) [any unit] to sample next, the most uncertain first."""
    # Each step takes the largest weight^2 x posterior variance, updated as if sampled: pivots of an
    # incomplete Cholesky factorisation. Weights (m,) are sensitivities to errors of the model.
    posterior = Posterior(regressor, X_candidates)
    importance = check_array("weights", weights, posterior.variance.shape) ** 2
    number = int(check_number("count", count, at_least=1, at_most=len(importance)))
    variance = posterior.variance.copy()
    picks = np.empty(number, dtype=np.int64)
    updates = np.zeros((number, len(variance)))
    open_ = np.ones(len(variance), dtype=bool)
    for i in range(number):
        pick = int(np.argmax(np.where(open_, importance * variance, -1.0)))
        picks[i], open_[pick] = pick, False
        column = posterior.covariance(pick) - updates[:i, pick] @ updates[:i]
        updates[i] = column / np.sqrt(max(column[pick], 0.0) + max(regressor.nugget, 1e-10))
        variance = np.maximum(variance - updates[i] ** 2, 0.0)
    return picks


def local_error(
    regressor: Regressor, check: CrossCheck, X_candidates: ArrayLike, neighbours: int = 12
) -> FloatArray:
    """Return the ratio of actual to predicted errors near each candidate, (m,) [1]."""
    # Root mean square of the standardised leave-one-out residuals over the most correlated
    # `neighbours` and all outputs, shrunk towards 1.
    correlation = _with_samples(regressor, X_candidates)[2]
    number = min(int(neighbours), correlation.shape[1])
    near = np.argpartition(-correlation, number - 1, axis=1)[:, :number]
    squares = (standardised(check) ** 2).mean(axis=1)
    return np.asarray(np.sqrt((squares[near].mean(axis=1) + 0.3) / 1.3))
