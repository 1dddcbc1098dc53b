"""Regressors evaluated in NumPy, for more inputs than the compiled kernels take.

The formula is that of `surrogates.compiled.regressor_data`, without correlations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from surrogates.compiled.regressor_data import SPLINE_ORDER, RegressorData
from surrogates.families.basis import basis_matrix, legendre_columns, row_blocks
from surrogates.families.training import polynomial_exponents


def values(regressor: RegressorData, X: FloatArray) -> FloatArray:
    """Return the outputs (N, k) at inputs X (N, d) [any unit].

    Raises `InputError` if the regressor has correlations with points.
    """
    check_no_points(regressor)
    found = np.empty((len(X), regressor.outputs))
    for rows in row_blocks(len(X), regressor.weights.shape[1]):
        z = _scaled(regressor, X[rows])
        terms = _spline_products(regressor, z, basis_matrix(z, regressor.exponents, regressor.wave))
        features = np.column_stack([terms, *(outer for *_, outer in _layers(regressor, z))])
        found[rows] = features @ regressor.weights.T
    return found * regressor.y_scale + regressor.y_offset


def values_and_slopes(regressor: RegressorData, X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the outputs (N, k) and their derivatives (N, k, d) at inputs X (N, d) [any unit].

    Raises `InputError` if the regressor has correlations with points or a Fourier series.
    """
    check_no_points(regressor)
    if regressor.wave:
        raise InputError("wave: expected polynomials, found a Fourier series")
    slopes = np.empty((len(X), regressor.outputs, regressor.inputs))
    for rows in row_blocks(len(X), regressor.inputs * regressor.weights.shape[1]):
        slopes[rows] = _slopes(regressor, _scaled(regressor, X[rows]))
    slopes *= regressor.y_scale[:, None] / regressor.x_scale
    return values(regressor, X), slopes


def standard_errors(regressor: RegressorData, X: FloatArray) -> FloatArray:
    """Return the standard errors (N, k) [any unit] of a model of errors at inputs X (N, d).

    NaN without a model (`spread`).
    """
    if not regressor.spread.shape[1]:
        return np.full((len(X), regressor.outputs), np.nan)
    z = np.clip(_scaled(regressor, X), -1.0, 1.0)
    exponents = polynomial_exponents(regressor.inputs, 2)
    return np.asarray(np.exp(basis_matrix(z, exponents) @ regressor.spread.T))


def check_no_points(regressor: RegressorData) -> None:
    """Raise an InputError if a regressor has correlations with points."""
    if len(regressor.points):
        raise InputError(
            f"points: expected a polynomial, a spline-polynomial or a network in "
            f"{regressor.inputs} inputs, found Kriging"
        )


def _scaled(regressor: RegressorData, X: FloatArray) -> FloatArray:
    return (X - regressor.x_offset) / regressor.x_scale


def _slopes(regressor: RegressorData, z: FloatArray) -> FloatArray:
    """Return the derivatives (N, k, d) of the scaled outputs by the scaled inputs z (N, d)."""
    count, d = regressor.splines * len(regressor.exponents), regressor.inputs
    weights = regressor.weights
    products = basis_matrix(z, regressor.exponents)
    found = np.empty((len(z), len(weights), d))
    for j in range(d):
        features = _spline_products(regressor, z, _product_slopes(z, regressor.exponents, j))
        found[:, :, j] = features @ weights[:, :count].T
    if regressor.pieces:
        along = _spline_products(regressor, z, products, slope=1) @ weights[:, :count].T
        found += along[:, :, None] * (np.eye(d)[0] + regressor.shear)
    units = regressor.inner.shape[2]
    for net, (inner, outer) in enumerate(_layers(regressor, z)):
        own = weights[:, count + net * units : count + (net + 1) * units]
        steep = (1.0 - outer**2)[:, None, :] * own  # (N, k, h)
        below = (steep @ regressor.hidden[net].T) * (1.0 - inner**2)[:, None, :]
        found += below @ regressor.inner[net].T
    return found


def _layers(regressor: RegressorData, z: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
    """Return the inner and the outer units (N, h) of each network at scaled inputs z (N, d)."""
    found = []
    nets = regressor.inner, regressor.inner_bias, regressor.hidden, regressor.hidden_bias
    for weights, bias, hidden, hidden_bias in zip(*nets, strict=True):
        inner = np.tanh(z @ weights + bias)
        found.append((inner, np.tanh(inner @ hidden + hidden_bias)))
    return found


def _spline_products(
    regressor: RegressorData, z: FloatArray, products: FloatArray, slope: int = 0
) -> FloatArray:
    """Return each spline of the sheared first input times each product (N, T), (N, S T)."""
    if not regressor.pieces:
        return products
    from scipy.interpolate import BSpline  # slow to import; most trained surrogates have no splines

    basis = BSpline(regressor.knots, np.eye(regressor.splines), SPLINE_ORDER - 1)
    splines = basis(z[:, 0] + z @ regressor.shear, slope)
    return np.asarray((splines[:, :, None] * products[:, None, :]).reshape(len(z), -1))


def _product_slopes(z: FloatArray, exponents: NDArray[np.int64], j: int) -> FloatArray:
    """Return the derivatives (N, T) of the products by input j: P'_e = sum of (2 m + 1) P_m."""
    degrees = exponents[:, j]
    columns = legendre_columns(z[:, j], int(degrees.max()))
    slopes = np.zeros_like(columns)
    for e in range(1, columns.shape[1]):
        slopes[:, e] = (2 * e - 1) * columns[:, e - 1] + (slopes[:, e - 2] if e > 1 else 0.0)
    others = exponents.copy()
    others[:, j] = 0
    return basis_matrix(z, others) * slopes[:, degrees]
