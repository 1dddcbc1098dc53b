"""The likelihood of a Kriging model with its gradient, and its weights at given parameters.

All outputs of a fit share the parameters; trend and variance of each output maximise the likelihood
at given parameters ("concentrated", Sacks et al. 1989, Statistical Science 4, sec. 4). The gradient
is analytic (Rasmussen & Williams 2006, Eq. 5.9): with the correlation matrix K and its nugget,
g = K^-1 (y - H beta), the variance v and the weights W = k K^-1 - sum_k g_k g_k^T / v_k, the
derivative of the negative log-likelihood in a parameter t is sum_ij W_ij (dK_ij / dt) / 2.

Leave-one-out residuals and their variances are closed forms (Dubrule 1983, Mathematical Geology 15;
Rasmussen & Williams 2006, Eq. 5.12).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.core import lapack
from foundation.core.library import CORE, address, addresses, integers
from surrogates.families.posterior import lower_correlations
from surrogates.families.training import minimise

#: Bounds of the correlation lengths; the inputs span [-1, 1].
LENGTH_BOUNDS = (0.05, 300.0)
_SHEAR_BOUNDS = (-3.0, 3.0)
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
    codes, columns, gradient = integers(kinds), points.T.copy(), np.empty(points.shape[::-1])
    matrices = np.ascontiguousarray(correlation), np.ascontiguousarray(weights)
    CORE.fill_point_gradient(
        len(codes), address(codes), len(points), *addresses(columns, *matrices, gradient)
    )
    return gradient.T


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
