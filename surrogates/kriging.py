"""Kriging (Gaussian-process interpolation) with a polynomial trend, several outputs at once.

All outputs share the correlation lengths, so one evaluation of the correlations serves them all.
Universal Kriging after Sacks et al. (1989), Statistical Science 4, eq. 7-9, as in SMT, whose
standardisation of inputs and outputs and whose correlations are kept. SMT finds the correlation
lengths; a fitted model is arrays only.

The linear algebra at those lengths is done here and not by SMT: standard errors of a loaded model
need the same factors again without SMT, and SMT stores the n(n-1)/2 x d distances of all samples.

Leave-one-out residuals are closed forms at fixed lengths (Dubrule 1983, Mathematical Geology 15).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from foundation.checks import check_array, check_in, check_number, frozen
from surrogates import kernels
from surrogates.kriging_algebra import (
    CORRELATIONS,
    TRENDS,
    Factors,
    factorise,
    factorise_safely,
)
from surrogates.kriging_lengths import KrigingSettings, optimal_lengths
from surrogates.training import (
    MOST_INPUTS,
    FloatArray,
    check_scales,
    check_training,
    mean_and_deviation,
    polynomial_exponents,
    polynomial_terms,
)

_ARRAYS = (
    "points",
    "theta",
    "beta",
    "gamma",
    "x_offset",
    "x_scale",
    "y_offset",
    "y_scale",
    "variance",
)


@dataclass(frozen=True, eq=False)
class Kriging:
    """A fitted Kriging model of d inputs and k outputs.

    Attributes
    ----------
    correlation, trend : str
        Names, as in `KrigingSettings`.
    points : (n, d) float64
        Scaled training inputs (x - x_offset) / x_scale.
    theta : (d,) float64
        Correlation parameters of the scaled inputs.
    beta : (T, k) float64
        Coefficients of the trend (Legendre products of the scaled inputs).
    gamma : (n, k) float64
        Weights of the correlations.
    x_offset, x_scale : (d,) float64
    y_offset, y_scale : (k,) float64
    variance : (k,) float64
        Process variance, in output units squared.
    nugget : float
        On the diagonal of the correlation matrix.
    """

    correlation: str
    trend: str
    points: FloatArray
    theta: FloatArray
    beta: FloatArray
    gamma: FloatArray
    x_offset: FloatArray
    x_scale: FloatArray
    y_offset: FloatArray
    y_scale: FloatArray
    variance: FloatArray
    nugget: float

    family = "kriging"

    def __post_init__(self) -> None:
        check_in("correlation", self.correlation, CORRELATIONS)
        check_in("trend", self.trend, TRENDS)
        n, d = check_array("points", self.points, (None, None)).shape
        if d > MOST_INPUTS:
            raise ValueError(f"points: expected at most {MOST_INPUTS} inputs, found {d}")
        k = np.shape(self.gamma)[-1] if np.ndim(self.gamma) else 0
        terms = len(polynomial_exponents(d, TRENDS[self.trend]))
        shapes = ((n, d), (d,), (terms, k), (n, k), (d,), (d,), (k,), (k,), (k,))
        for name, shape in zip(_ARRAYS, shapes, strict=True):
            object.__setattr__(self, name, frozen(check_array(name, getattr(self, name), shape)))
        check_scales(self.x_scale, self.y_scale)
        object.__setattr__(self, "nugget", check_number("nugget", self.nugget, at_least=0.0))

    @cached_property
    def _arguments(self) -> tuple[Any, ...]:
        exponents = polynomial_exponents(len(self.theta), TRENDS[self.trend])
        return (
            CORRELATIONS[self.correlation],
            polynomial_terms(exponents),
            self.beta.copy(),
            np.array(self.points.T, order="C"),
            self.theta.copy(),
            self.gamma.copy(),
            *(a.copy() for a in (self.x_offset, self.x_scale, self.y_offset, self.y_scale)),
        )

    @cached_property
    def _factors(self) -> Factors:
        found = factorise(self.points, self.correlation, self.trend, self.theta, self.nugget)
        if found is None:  # cannot happen with the arrays of a fit; they were edited
            raise ValueError(
                f"nugget: expected a correlation matrix that can be factorised, found none with "
                f"{self.nugget:g}; the arrays are not those of a fit"
            )
        return found

    def kernel_arguments(self) -> tuple[Any, ...]:
        """Return the arguments of `kernels.evaluate` between x and value (see there)."""
        return self._arguments

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the outputs (N, k) at inputs X (N, d).

        Raises
        ------
        ValueError
            If X has another width or is not finite.
        """
        x = check_array("X", X, (None, len(self.theta)))
        values = np.empty((len(x), len(self.y_offset)))
        kernels.evaluate_values(x, *self._arguments, values)
        return values

    def predict_with_jacobian(self, x: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the outputs (k,) and their derivatives (k, d) at one input x (d,).

        Raises
        ------
        ValueError
            If x has another length or is not finite.
        """
        point = check_array("x", x, (len(self.theta),))
        value = np.empty(len(self.y_offset))
        jacobian = np.empty((value.size, point.size))
        kernels.evaluate(point, *self._arguments, value, jacobian)
        return value, jacobian

    def standard_error(self, X: ArrayLike) -> FloatArray:
        """Return Kriging's standard error (N, k), in output units (Sacks et al. 1989, eq. 9).

        The first call factorises the correlation matrix, n^3/3 operations.
        """
        x = check_array("X", X, (None, len(self.theta)))
        scaled = (x - self.x_offset) / self.x_scale
        code, terms, _, points, theta, *_ = self._arguments
        factors = self._factors
        correlations = kernels.correlation_matrix(scaled, code, points, theta).T
        whitened = linalg.solve_triangular(factors.cholesky, correlations, lower=True)
        lack = factors.trend.T @ whitened - kernels.basis_matrix(scaled, terms).T
        excess = linalg.solve_triangular(factors.upper, lack, trans="T")
        relative = 1.0 - (whitened**2).sum(axis=0) + (excess**2).sum(axis=0)
        # rounding may leave the difference slightly below zero at a training point
        return np.sqrt(np.outer(np.maximum(relative, 0.0), self.variance))

    def leave_one_out(self) -> FloatArray:
        """Return the residuals (n, k), observed minus predicted by the model without that row.

        Lengths, nugget and scalings are those of the full fit.

        Raises
        ------
        ValueError
            If a row fixes a trend coefficient alone, so that the model without it does not exist.
        """
        factors = self._factors
        identity = np.eye(len(self.points))
        whitened = linalg.solve_triangular(factors.cholesky, identity, lower=True)
        diagonal = (whitened**2).sum(axis=0) - ((factors.orthogonal.T @ whitened) ** 2).sum(axis=0)
        if diagonal.min() <= 1e-12 * diagonal.max():
            raise ValueError(
                f"points: expected a trend that every row can be left out of, found row "
                f"{int(diagonal.argmin())} to be indispensable; add samples or simplify the trend"
            )
        return self.gamma / diagonal[:, None] * self.y_scale

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the model as plain arrays; the inverse of `from_arrays`."""
        named: dict[str, NDArray[Any]] = {name: getattr(self, name).copy() for name in _ARRAYS}
        return {
            "family": np.array(self.family),
            "correlation": np.array(self.correlation),
            "trend": np.array(self.trend),
            "nugget": np.array(self.nugget),
            **named,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Kriging:
        """Return the model that `to_arrays` described.

        Raises
        ------
        ValueError
            If an array is missing, a name is unknown or a shape is wrong.
        """
        missing = [n for n in ("correlation", "trend", "nugget", *_ARRAYS) if n not in arrays]
        if missing:
            raise ValueError(f"arrays: expected a Kriging model's arrays, missing {missing}")
        named: dict[str, Any] = {name: arrays[name] for name in _ARRAYS}
        return cls(
            correlation=str(np.asarray(arrays["correlation"])),
            trend=str(np.asarray(arrays["trend"])),
            nugget=float(np.asarray(arrays["nugget"])),
            **named,
        )


def fit_kriging(
    X: ArrayLike,
    Y: ArrayLike,
    settings: KrigingSettings | None = None,
    rng: np.random.Generator | None = None,
    *,
    lengths: ArrayLike | None = None,
) -> Kriging:
    """Fit a Kriging model to outputs Y (N, k) at inputs X (N, d).

    Parameters
    ----------
    X : (N, d) array_like
    Y : (N, k) array_like
    settings : KrigingSettings, optional
    rng : numpy.random.Generator, optional
        Draws the rows for the likelihood and the random starts; needed unless `lengths` are given.
    lengths : (d,) array_like, optional
        Correlation parameters theta of the standardised inputs, in place of a search.

    Raises
    ------
    ValueError
        If the data are malformed, too few for the trend, or rows are repeated with a zero nugget.
    """
    chosen = settings or KrigingSettings()
    x, y = check_training(X, Y)
    (x_offset, x_scale), (y_offset, y_scale) = mean_and_deviation(x), mean_and_deviation(y)
    points, scaled_y = (x - x_offset) / x_scale, (y - y_offset) / y_scale
    _check_samples(x, points, chosen)
    if lengths is not None:
        theta, nugget = check_array("lengths", lengths, (x.shape[1],)), chosen.nugget
        if theta.min() < 0.0:
            raise ValueError(f"lengths: expected numbers of at least 0, found {theta.min()}")
    elif rng is None:
        raise ValueError("rng: expected a numpy Generator (or fixed lengths), found None")
    else:
        theta, nugget = optimal_lengths(points, scaled_y, chosen, rng)
    names = (chosen.correlation, chosen.trend)
    factors, nugget = factorise_safely(points, *names, theta, nugget)
    whitened = linalg.solve_triangular(factors.cholesky, scaled_y, lower=True)
    beta = linalg.solve_triangular(factors.upper, factors.orthogonal.T @ whitened)
    residual = whitened - factors.trend @ beta
    gamma = linalg.solve_triangular(factors.cholesky, residual, lower=True, trans="T")
    variance = (residual**2).mean(axis=0) * y_scale**2
    scalings = (x_offset, x_scale, y_offset, y_scale)
    return Kriging(*names, points, theta, beta, gamma, *scalings, variance, nugget)


def _check_samples(x: FloatArray, points: FloatArray, settings: KrigingSettings) -> None:
    n, d = x.shape
    exponents = polynomial_exponents(d, TRENDS[settings.trend])
    if n <= len(exponents):
        raise ValueError(
            f"X: expected more than {len(exponents)} rows for a {settings.trend} trend of {d} "
            f"inputs, found {n}; add samples or simplify the trend"
        )
    trend = kernels.basis_matrix(points, polynomial_terms(exponents))
    if np.linalg.matrix_rank(trend, tol=1e-10 * np.linalg.norm(trend)) < len(exponents):
        raise ValueError(
            f"X: expected columns that determine a {settings.trend} trend, found them constant or "
            "dependent; drop such columns or simplify the trend"
        )
    if settings.nugget == 0.0 and not settings.estimate_noise:
        _, counts = np.unique(x, axis=0, return_counts=True)
        if counts.max() > 1:
            raise ValueError(
                f"X: expected distinct rows with a zero nugget, found {int((counts > 1).sum())} "
                "repeated; drop the repetitions, set a nugget or estimate the noise"
            )
