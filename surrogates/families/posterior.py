"""Factors of the correlations of Kriging, for the standard error of a prediction."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from surrogates.core.packing import sheared
from surrogates.core.regressor_data import RegressorData
from surrogates.families.basis import basis_matrix


def posterior_factors(regressor: RegressorData) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the factor L (n, n) [1] of the points' correlations, and Q, Rq (T, T) of L^-1 H.

    H are the trend's terms at the points. Raises `InputError` if the correlations of the points are
    not positive definite, or the terms outnumber the points. Costs O(n³).
    """
    if len(regressor.exponents) > len(regressor.points):
        raise InputError(
            f"exponents: expected at most {len(regressor.points)} terms for the standard error, "
            f"the number of points, found {len(regressor.exponents)}"
        )
    matrix = _point_correlations(regressor)
    matrix[np.diag_indices_from(matrix)] += regressor.nugget
    with _one_thread():
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


def _one_thread() -> AbstractContextManager[object]:
    """Return a context of one thread: sums in threaded linear algebra depend on their number.

    Without threadpoolctl, which a trained surrogate does not need, the threads stay as they are.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(1)


def _point_correlations(regressor: RegressorData) -> FloatArray:
    """Return the correlations (n, n) between the points."""
    places = sheared(regressor, regressor.points)
    exponent = np.zeros((len(places), len(places)))
    factor = np.ones_like(exponent)
    for j, kind in enumerate(regressor.kinds):
        a = np.abs(places[:, None, j] - places[None, :, j])
        exponent -= a * a if kind == 0 else a
        if kind:
            factor *= 1.0 + a + (a * a / 3.0 if kind == 1 else 0.0)
    return factor * np.exp(exponent)
