"""Response surface: a full polynomial of a total degree, several outputs at once.

The basis is products of Legendre polynomials of the inputs mapped onto [-1, 1]: it spans the same
polynomials as monomials do and is far better conditioned, and a ridge penalty on it shrinks high
degrees rather than mixing them. Fitting uses scikit-learn; a fitted surface is arrays only.

Leave-one-out residuals and standard errors are closed forms of linear least squares
(Myers, Montgomery & Anderson-Cook, Response Surface Methodology, 4th ed., sec. 2.7).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.checks import check_array, check_number, frozen
from surrogates import kernels
from surrogates.least_squares import factorise, solve
from surrogates.training import (
    MOST_INPUTS,
    FloatArray,
    check_scales,
    check_training,
    mean_and_deviation,
    middle_and_half_range,
    polynomial_terms,
)

_ARRAYS = (
    "coefficients",
    "x_offset",
    "x_scale",
    "y_offset",
    "y_scale",
    "deviation",
    "factor",
    "residuals",
)
_HIGHEST_DEGREE = 20


@dataclass(frozen=True)
class ResponseSurfaceSettings:
    """How to fit a response surface.

    Attributes
    ----------
    degree : int or tuple of int
        Total degree of the polynomial; of several, the one with the least leave-one-out error.
    ridge : float or tuple of float
        Penalty on the squared coefficients of all terms but the constant (scikit-learn's alpha, of
        scaled inputs and outputs); 0 is plain least squares. Of several, the best is chosen.
    """

    degree: int | tuple[int, ...] = 3
    ridge: float | tuple[float, ...] = 0.0

    def __post_init__(self) -> None:
        if not self.degrees or not self.ridges:
            raise ValueError("degree, ridge: expected at least one value, found an empty list")
        for degree in self.degrees:
            if isinstance(degree, bool) or int(degree) != degree:
                raise ValueError(f"degree: expected whole numbers, found {degree!r}")
            check_number("degree", degree, at_least=0, at_most=_HIGHEST_DEGREE)
        for ridge in self.ridges:
            check_number("ridge", ridge, at_least=0.0)

    @property
    def degrees(self) -> tuple[int, ...]:
        """The candidates for the degree."""
        return tuple(self.degree) if np.iterable(self.degree) else (self.degree,)

    @property
    def ridges(self) -> tuple[float, ...]:
        """The candidates for the ridge penalty."""
        return tuple(self.ridge) if np.iterable(self.ridge) else (self.ridge,)


@dataclass(frozen=True, eq=False)
class ResponseSurface:
    """A fitted polynomial of d inputs and k outputs.

    Attributes
    ----------
    exponents : (T, d) int64
        Legendre degree of every term in every input.
    coefficients : (T, k) float64
        Coefficients of the scaled outputs.
    x_offset, x_scale : (d,) float64
        Inputs are mapped onto [-1, 1] by (x - x_offset) / x_scale.
    y_offset, y_scale : (k,) float64
        Outputs are y_offset + y_scale times the polynomial.
    deviation : (k,) float64
        Residual standard deviation, in output units.
    factor : (T, T) float64
        B with (A^T A + ridge)^-1 = B B^T, A the basis at the samples.
    residuals : (N, k) float64
        Leave-one-out residuals, in output units.
    ridge : float
        Penalty used.
    """

    exponents: NDArray[np.int64]
    coefficients: FloatArray
    x_offset: FloatArray
    x_scale: FloatArray
    y_offset: FloatArray
    y_scale: FloatArray
    deviation: FloatArray
    factor: FloatArray
    residuals: FloatArray
    ridge: float

    family = "response_surface"

    def __post_init__(self) -> None:
        exponents = np.array(self.exponents, dtype=np.int64, order="C")
        if exponents.ndim != 2 or exponents.size == 0 or exponents.min() < 0:
            raise ValueError(f"exponents: expected (T, d) of at least 0, found {exponents.shape}")
        terms, d = exponents.shape
        if d > MOST_INPUTS or exponents.max() > _HIGHEST_DEGREE:
            raise ValueError(
                f"exponents: expected at most {MOST_INPUTS} inputs and degree {_HIGHEST_DEGREE}, "
                f"found {d} and {exponents.max()}"
            )
        k = np.shape(self.coefficients)[-1] if np.ndim(self.coefficients) else 0
        shapes = ((terms, k), (d,), (d,), (k,), (k,), (k,), (terms, terms), (None, k))
        object.__setattr__(self, "exponents", frozen(exponents))
        for name, shape in zip(_ARRAYS, shapes, strict=True):
            object.__setattr__(self, name, frozen(check_array(name, getattr(self, name), shape)))
        check_scales(self.x_scale, self.y_scale)
        object.__setattr__(self, "ridge", check_number("ridge", self.ridge, at_least=0.0))

    @property
    def degree(self) -> int:
        """Total degree of the polynomial."""
        return int(self.exponents.sum(axis=1).max())

    @cached_property
    def _arguments(self) -> tuple[Any, ...]:
        d, k = len(self.x_offset), len(self.y_offset)
        return (
            kernels.NO_CORRELATION,
            polynomial_terms(self.exponents),
            self.coefficients.copy(),
            np.zeros((d, 0)),
            np.zeros(d),
            np.zeros((0, k)),
            *(a.copy() for a in (self.x_offset, self.x_scale, self.y_offset, self.y_scale)),
        )

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
        x = check_array("X", X, (None, len(self.x_offset)))
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
        point = check_array("x", x, (len(self.x_offset),))
        value = np.empty(len(self.y_offset))
        jacobian = np.empty((value.size, point.size))
        kernels.evaluate(point, *self._arguments, value, jacobian)
        return value, jacobian

    def standard_error(self, X: ArrayLike) -> FloatArray:
        """Return the standard error of prediction (N, k): s sqrt(1 + leverage).

        The 1 stands for the residual itself: a polynomial's error against a computed truth is its
        lack of fit, which does not vanish where the leverage does.
        """
        x = check_array("X", X, (None, len(self.x_offset)))
        scaled = (x - self.x_offset) / self.x_scale
        rows = kernels.basis_matrix(scaled, self._arguments[1]) @ self.factor
        return np.sqrt(1.0 + (rows**2).sum(axis=1))[:, None] * self.deviation

    def leave_one_out(self) -> FloatArray:
        """Return the residuals (N, k), observed minus predicted by the surface without that row.

        Degree, ridge and scalings are those of the full fit.
        """
        return self.residuals

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the model as plain arrays; the inverse of `from_arrays`."""
        named: dict[str, NDArray[Any]] = {name: getattr(self, name).copy() for name in _ARRAYS}
        return {
            "family": np.array(self.family),
            "exponents": self.exponents.copy(),
            "ridge": np.array(self.ridge),
            **named,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> ResponseSurface:
        """Return the model that `to_arrays` described.

        Raises
        ------
        ValueError
            If an array is missing or has the wrong shape.
        """
        missing = [n for n in ("exponents", "ridge", *_ARRAYS) if n not in arrays]
        if missing:
            raise ValueError(f"arrays: expected a response surface's arrays, missing {missing}")
        named: dict[str, Any] = {name: arrays[name] for name in ("exponents", *_ARRAYS)}
        return cls(ridge=float(np.asarray(arrays["ridge"])), **named)


def fit_response_surface(
    X: ArrayLike,
    Y: ArrayLike,
    settings: ResponseSurfaceSettings | None = None,
    rng: np.random.Generator | None = None,
) -> ResponseSurface:
    """Fit a polynomial to outputs Y (N, k) at inputs X (N, d).

    Of several degrees and ridges the pair with the least leave-one-out error, summed over the
    scaled outputs, is taken; pairs which the samples cannot determine are passed over.

    Parameters
    ----------
    X : (N, d) array_like
    Y : (N, k) array_like
    settings : ResponseSurfaceSettings, optional
    rng : numpy.random.Generator, optional
        Not used; every family is fitted by the same call.

    Raises
    ------
    ValueError
        If the data are malformed, or too few or too alike for every degree asked for.
    """
    del rng
    chosen = settings or ResponseSurfaceSettings()
    x, y = check_training(X, Y)
    (x_offset, x_scale), (y_offset, y_scale) = middle_and_half_range(x), mean_and_deviation(y)
    scaled_x, scaled_y = (x - x_offset) / x_scale, (y - y_offset) / y_scale
    best, best_error, problem = None, np.inf, ""
    for degree in chosen.degrees:
        for ridge in chosen.ridges:
            candidate = factorise(scaled_x, degree, ridge)
            if isinstance(candidate, str):
                problem = candidate
                continue
            coefficients = solve(candidate, scaled_y)
            fit_residuals = scaled_y - candidate.basis @ coefficients
            residuals = fit_residuals / (1.0 - candidate.leverage)[:, None]
            error = float((residuals**2).sum())
            if error < best_error:
                best_error = error
                best = (candidate, coefficients, fit_residuals, residuals)
    if best is None:
        raise ValueError(problem)
    candidate, coefficients, fit_residuals, residuals = best
    freedom = len(x) - candidate.leverage.sum()
    deviation = np.sqrt((fit_residuals**2).sum(axis=0) / freedom)
    return ResponseSurface(
        candidate.exponents,
        coefficients,
        x_offset,
        x_scale,
        y_offset,
        y_scale,
        deviation * y_scale,
        candidate.factor,
        residuals * y_scale,
        candidate.ridge,
    )
