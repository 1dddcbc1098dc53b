"""Out-of-sample residuals of a fit, and a model of their size over the inputs.

Every fit returns a `CrossCheck`: residuals in closed form (leave-one-out) or at rows held back.
`coverage` assesses the standard errors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from surrogates.families.regressor import Regressor
from surrogates.families.training import basis_matrix, polynomial_exponents

#: Half width of the central 95 % interval of a standard normal distribution.
NORMAL_95 = 1.959963984540054
_ROWS_PER_WEIGHT = 10
_SMALLEST_LOG = -600.0


class CrossCheck(NamedTuple):
    """Out-of-sample residuals and standard errors (m, k) [any unit] at training rows (m,).

    Residuals are observed minus predicted without that row; the kind is "leave-one-out" or "held
    back".
    """

    rows: NDArray[np.int64]
    residuals: FloatArray
    standard_errors: FloatArray
    kind: str


class Fitted(NamedTuple):
    """A regressor and the out-of-sample residuals of its fit."""

    regressor: Regressor
    check: CrossCheck


def standardised(check: CrossCheck) -> FloatArray:
    """Return residuals over standard errors (m, k) [1]; 0 where both vanish (constant outputs)."""
    tiny = np.finfo(float).tiny
    return check.residuals / np.maximum(check.standard_errors, tiny)


def coverage(check: CrossCheck, width: float = NORMAL_95) -> FloatArray:
    """Return the fraction (k,) [1] of residuals within `width` standard errors."""
    inside = np.abs(check.residuals) <= width * check.standard_errors
    return np.asarray(inside.mean(axis=0))


def fit_spread(z: FloatArray, residuals: FloatArray) -> FloatArray:
    """Return the weights (k, S) [1] of the logarithm of the standard error (`Regressor.spread`)."""
    # A polynomial of z (m, d) of degree 2, less with fewer than ten residuals for each weight,
    # follows log |residual|, not single large errors; it is shifted so that 95 % of the residuals
    # lie within 1.96 standard errors.
    exponents = polynomial_exponents(z.shape[1], 2)
    basis = basis_matrix(np.clip(z, -1.0, 1.0), exponents)
    usable = exponents.sum(axis=1) == 0
    for degree in (1, 2):
        terms = exponents.sum(axis=1) <= degree
        if len(z) >= _ROWS_PER_WEIGHT * terms.sum():
            usable = terms
    size = np.abs(residuals)
    # A residual near zero by chance is not representative of its neighbours.
    floor = np.maximum(1e-3 * np.sqrt((size**2).mean(axis=0)), np.exp(_SMALLEST_LOG))
    logs = np.log(np.maximum(size, floor))
    weights = np.zeros((residuals.shape[1], len(exponents)))
    weights[:, usable] = np.linalg.lstsq(basis[:, usable], logs, rcond=1e-10)[0].T
    ratio = np.maximum(size, floor) / np.exp(basis @ weights.T)
    weights[:, 0] += np.log(np.quantile(ratio, 0.95, axis=0) / NORMAL_95)
    return weights


def spread_at(spread: FloatArray, z: FloatArray) -> FloatArray:
    """Return the standard errors (N, k) [any unit] of a spread model at scaled inputs z (N, d)."""
    exponents = polynomial_exponents(z.shape[1], 2)
    return np.exp(basis_matrix(np.clip(z, -1.0, 1.0), exponents) @ spread.T)
