"""Factorisation of Kriging's correlation matrix and trend, at given correlation parameters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from surrogates import kernels
from surrogates.training import FloatArray, polynomial_exponents, polynomial_terms

CORRELATIONS = {
    "squar_exp": kernels.SQUARED_EXPONENTIAL,
    "matern52": kernels.MATERN_52,
    "matern32": kernels.MATERN_32,
}
TRENDS = {"constant": 0, "linear": 1, "quadratic": 2}

_LARGEST_NUGGET = 1e-6


class Factors(NamedTuple):
    """What generalised least squares needs of L, F: correlation matrix L L^T, trend matrix F."""

    cholesky: FloatArray  # L, (n, n), of the correlation matrix
    trend: FloatArray  # L^-1 F, (n, T)
    orthogonal: FloatArray  # Q of L^-1 F = Q G
    upper: FloatArray  # G


def factorise(
    points: FloatArray, correlation: str, trend: str, theta: FloatArray, nugget: float
) -> Factors | None:
    """Return the factors, or None if the correlation matrix is not numerically definite."""
    columns = np.ascontiguousarray(points.T)
    matrix = kernels.correlation_matrix(points, CORRELATIONS[correlation], columns, theta)
    matrix[np.diag_indices_from(matrix)] = 1.0 + nugget
    try:
        lower = linalg.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    terms = polynomial_terms(polynomial_exponents(points.shape[1], TRENDS[trend]))
    basis = kernels.basis_matrix(points, terms)
    whitened = linalg.solve_triangular(lower, basis, lower=True, check_finite=False)
    orthogonal, upper = linalg.qr(whitened, mode="economic")
    return Factors(lower, whitened, np.asarray(orthogonal, float), np.asarray(upper, float))


def factorise_safely(
    points: FloatArray, correlation: str, trend: str, theta: FloatArray, nugget: float
) -> tuple[Factors, float]:
    """Return the factors and the nugget that they needed."""
    while (factors := factorise(points, correlation, trend, theta, nugget)) is None:
        if nugget == 0.0 or nugget >= _LARGEST_NUGGET:
            raise ValueError(
                f"nugget: expected one that makes the correlation matrix of {len(points)} samples "
                f"definite, found {nugget:g} too small; set a larger one or a rougher correlation"
            )
        nugget = min(10.0 * nugget, _LARGEST_NUGGET)
    return factors, nugget
