"""Correlations of Kriging, and their factors for the standard error of a prediction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.threads import one_thread
from foundation.core.library import CORE, address, integers
from surrogates.core.regressor_data import RegressorData
from surrogates.families.training import basis_matrix


def posterior_factors(regressor: RegressorData) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the factor L (n, n) [1] of correlations, and Q, Rq (T, T) of L^-1 H; O(n³)."""
    if len(regressor.exponents) > len(regressor.points):
        raise InputError(
            f"exponents: expected at most {len(regressor.points)} terms for the standard error, "
            f"the number of points, found {len(regressor.exponents)}"
        )
    places = regressor.points.copy()
    places[:, 0] += regressor.points @ regressor.shear
    matrix = lower_correlations(places / regressor.lengths, regressor.kinds)
    matrix[np.diag_indices_from(matrix)] += regressor.nugget
    with one_thread:
        try:
            factor: FloatArray = np.linalg.cholesky(matrix).astype(np.float64, copy=False)
        except np.linalg.LinAlgError as error:
            raise InputError(
                "points: expected a positive definite correlation matrix, found a singular or "
                f"indefinite matrix for the {len(matrix)} points with the nugget "
                f"{regressor.nugget:g}; drop repeated points"
            ) from error
        trend = basis_matrix(regressor.points, regressor.exponents, regressor.wave)
        orthogonal, triangle = np.linalg.qr(np.linalg.solve(factor, trend))
    return factor, orthogonal, triangle


def correlations(first: FloatArray, second: FloatArray, kinds: NDArray[np.int64]) -> FloatArray:
    """Return correlations (n, m) [1] of points (n, d) and (m, d) divided by the lengths."""
    # Products over the inputs of Rasmussen & Williams 2006, Eq. 4.9 and 4.17 (Matern).
    matrix = np.empty((len(first), len(second)))
    _fill(first, second, kinds, matrix, lower=0)
    return matrix


def lower_correlations(points: FloatArray, kinds: NDArray[np.int64]) -> FloatArray:
    """Return the lower triangle (n, n) [1] of the correlations between points (n, d)."""
    matrix = np.eye(len(points))
    _fill(points, points, kinds, matrix, lower=1)
    return matrix


def _fill(
    first: FloatArray, second: FloatArray, kinds: NDArray[np.int64], matrix: FloatArray, lower: int
) -> None:
    codes, rows, columns = integers(kinds), first.T.copy(), second.T.copy()
    CORE.fill_correlation_matrix(
        len(codes), address(codes), len(first), address(rows), len(second), address(columns),
        lower, address(matrix),
    )  # fmt: skip
