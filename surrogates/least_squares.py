"""Linear least squares on a polynomial basis, plain or with a ridge penalty."""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from surrogates import kernels
from surrogates.training import FloatArray, polynomial_exponents, polynomial_terms


class Candidate(NamedTuple):
    """A polynomial that the samples determine.

    exponents (T, d), ridge, basis at the samples A (N, T), factor B with
    (A^T A + ridge)^-1 = B B^T, and the leverages (N,) of the samples.
    """

    exponents: NDArray[np.int64]
    ridge: float
    basis: FloatArray
    factor: FloatArray
    leverage: FloatArray


def factorise(scaled: FloatArray, degree: int, ridge: float) -> Candidate | str:
    """Return basis, factor and leverages of one candidate, or why the samples do not allow it."""
    n, d = scaled.shape
    terms = comb(d + degree, degree)
    if terms >= n and ridge == 0.0:
        return (
            f"X: expected more than {terms} rows, the number of terms of a degree-{degree} "
            f"polynomial of {d} inputs, found {n}; lower the degree or set a ridge"
        )
    exponents = polynomial_exponents(d, degree)
    basis = kernels.basis_matrix(scaled, polynomial_terms(exponents))
    penalty = np.sqrt(ridge) * np.eye(len(exponents))[1:]
    stacked = np.vstack([basis, penalty]) if ridge > 0.0 else basis
    upper = linalg.qr(stacked, mode="r", check_finite=False)[0][: len(exponents)]
    diagonal = np.abs(np.diag(upper))
    if diagonal.min() <= 1e-11 * diagonal.max():
        return (
            f"X: expected rows that determine a degree-{degree} polynomial, found them too alike "
            "(repeated rows, a constant or dependent column); add samples, drop the column, "
            "lower the degree or set a ridge"
        )
    factor = linalg.solve_triangular(upper, np.eye(len(exponents)))
    leverage = ((basis @ factor) ** 2).sum(axis=1)
    if leverage.max() > 1.0 - 1e-9:
        return (
            f"X: expected every row to be predictable from the others, found row "
            f"{int(leverage.argmax())} to fix a degree-{degree} term alone; add samples, "
            "lower the degree or set a ridge"
        )
    return Candidate(exponents, float(ridge), basis, factor, leverage)


def solve(candidate: Candidate, scaled_y: FloatArray) -> FloatArray:
    """Return the coefficients (T, k) by scikit-learn, the constant term unpenalised."""
    from sklearn.linear_model import LinearRegression, Ridge

    if len(candidate.exponents) == 1:  # scikit-learn refuses to fit an intercept alone
        return scaled_y.mean(axis=0, keepdims=True)
    if candidate.ridge > 0.0:
        model = Ridge(alpha=candidate.ridge, solver="cholesky")
    else:
        model = LinearRegression()
    model.fit(candidate.basis[:, 1:], scaled_y)
    return np.vstack([np.atleast_1d(model.intercept_), np.atleast_2d(model.coef_).T])
