"""Fitting of spline-polynomials: cubic splines of one direction times polynomials of the others.

Condyles are built from arcs, whose curvature jumps where arcs meet; over flexion and anterior
position the loads have kinks there, at constant values of one combination of the two, the *sheared*
flexion. The shear minimises the leave-one-out error of the first output on a subset of the samples.
Of all products up to a total degree, those are kept that contribute most to an output, relative to
its residuals. Leave-one-out residuals are closed forms (PRESS; Allen 1974, Technometrics 16).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize
from scipy.interpolate import BSpline

from foundation.base.checks import FloatArray, check_array, check_number
from foundation.base.errors import InputError
from foundation.core import lapack
from surrogates.core.regressor_data import SPLINE_ORDER
from surrogates.families.cross_validation import CrossCheck, Fitted, fit_spread, spread_at
from surrogates.families.regressor import MOST_PIECES, linear_in
from surrogates.families.training import (
    basis_matrix,
    check_training,
    check_weights,
    mean_and_deviation,
    middle_and_half_range,
    polynomial_exponents,
)

#: Ridge penalty on squared coefficients, for each unit of weight of the samples.
_RIDGE = 1e-10
#: Share of the samples beyond the first and the last knot, over the share of a piece.
_END_SHARE = 0.5
_LARGEST_LEVERAGE = 1.0 - 1e-6
#: Least residual of an output over its deviation, below which all is rounding.
_LEAST_RESIDUAL = 1e-9
#: Most rows of the search for the shear, degree of its fits, and most steps.
_SEARCH_ROWS, _SEARCH_DEGREE, _SEARCH_STEPS = 12_000, 3, 8
#: Bounds of the shear, and tolerance of the search.
_SHEAR_BOUNDS, _SHEAR_TOLERANCE = (-1.0, 1.0), 1e-3
#: Least number of samples for each unknown, and most unknowns of the fit that orders the terms.
_SAMPLES_PER_UNKNOWN, _MOST_UNKNOWNS = 2.0, 5000
#: Numbers of terms from the cheapest spline-polynomial to the most expensive one.
TERMS = (16, 24, 36, 54, 80, 120, 180, 252)


@dataclass(frozen=True)
class SplineSettings:
    """Settings of a spline-polynomial; terms, degree, pieces fall where samples are too few."""

    #: Number of products of the other inputs.
    terms: int = 80
    #: Highest total degree of the products.
    degree: int = 5
    #: Number of pieces of the splines.
    pieces: int = 16
    #: Shear of the first input (d,) [1]; by default the most accurate one is searched.
    shear: tuple[float, ...] | None = None

    family = "spline"

    def __post_init__(self) -> None:
        check_number("terms", self.terms, at_least=1)
        check_number("degree", self.degree, at_least=1, at_most=8)
        check_number("pieces", self.pieces, at_least=1, at_most=MOST_PIECES)


def fit_spline(
    X: ArrayLike,
    Y: ArrayLike,
    settings: SplineSettings | None = None,
    rng: np.random.Generator | None = None,
    weights: ArrayLike | None = None,
) -> Fitted:
    """Fit a spline-polynomial to Y (N, k) at X (N, d) [any unit] (`fit_family`)."""
    chosen = settings or SplineSettings()
    return next(fit_splines(X, Y, chosen, (chosen.terms,), rng, weights))


def fit_splines(
    X: ArrayLike,
    Y: ArrayLike,
    settings: SplineSettings,
    counts: Sequence[int],
    rng: np.random.Generator | None = None,
    weights: ArrayLike | None = None,
) -> Iterator[Fitted]:
    """Yield spline-polynomials of Y (N, k) at X (N, d) [any unit] with rising `counts` of terms."""
    # Counts beyond the number of products up to the highest degree are left out.
    draw = rng or np.random.default_rng(0)
    x, y = check_training(X, Y)
    w = check_weights(weights, len(x))
    if x.shape[1] < 2:
        raise InputError("X: expected two or more inputs for a spline-polynomial, found one")
    (x_offset, x_scale), (y_offset, y_scale) = middle_and_half_range(x), mean_and_deviation(y)
    z, target = (x - x_offset) / x_scale, (y - y_offset) / y_scale
    shear = found_shear(z, target, w, settings, draw)
    exponents, importance = ordered_terms(z, target, w, shear, settings)
    # The standard errors describe the rows of large weight.
    full = w >= 0.5 * w.max()
    for count in counts:
        terms = kept_terms(exponents, importance, count)
        fit = SplineFit(z, w, shear, terms, fewer_pieces(len(z), len(terms), settings.pieces))
        residuals = fit.left_out(target) * y_scale
        spread = fit_spread(z[full], residuals[full])
        check = CrossCheck(np.arange(len(z)), residuals, spread_at(spread, z), "leave-one-out")
        regressor = linear_in(
            settings.family, (x_offset, x_scale, y_offset, y_scale), fit.exponents,
            fit.coefficients(target).T, knots=fit.knots, shear=shear, spread=spread,
        )  # fmt: skip
        yield Fitted(regressor, check)
        if len(terms) == len(exponents):
            return


def found_shear(
    z: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    settings: SplineSettings,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the shear (d,) [1] of the settings, or the best for the first output of y (N, k)."""
    if settings.shear is None:
        return _best_shear(z, y[:, :1], weights, settings.pieces, rng)
    return check_array("shear", settings.shear, (z.shape[1],))


def ordered_terms(
    z: FloatArray, y: FloatArray, weights: FloatArray, shear: FloatArray, settings: SplineSettings
) -> tuple[NDArray[np.int64], FloatArray]:
    """Return products of the other inputs (T, d - 1) and their importance (T,) [1]."""
    # The largest contribution (RMS) to an output over the output's residuals.
    degree, pieces = _affordable(len(z), z.shape[1], settings.degree, settings.pieces)
    exponents = polynomial_exponents(z.shape[1] - 1, degree)
    fit = SplineFit(z, weights, shear, exponents, pieces)
    contributions, residuals = fit.contributions(y)
    return exponents, (contributions / np.maximum(residuals, _LEAST_RESIDUAL)).max(axis=1)


def kept_terms(
    exponents: NDArray[np.int64], importance: FloatArray, count: int
) -> NDArray[np.int64]:
    """Return the most important products (T, d - 1) [1] and their factors, at most `count`."""
    terms = {(0,) * exponents.shape[1]}
    for t in np.argsort(-importance, kind="stable"):
        family = set()
        term = exponents[t].copy()
        while term.any():
            family.add(tuple(term.tolist()))
            term[np.flatnonzero(term)[-1]] = 0
        if len(terms | family) <= count:
            terms |= family
    return np.array(sorted(terms, key=lambda term: (sum(term), term)), dtype=np.int64)


def fewer_pieces(samples: int, terms: int, wanted: int) -> int:
    """Return the number of pieces, up to the wanted ones, that the samples allow."""
    most = int(samples / (_SAMPLES_PER_UNKNOWN * terms)) - SPLINE_ORDER + 1
    return max(min(wanted, most), 1)


def _affordable(samples: int, inputs: int, degree: int, pieces: int) -> tuple[int, int]:
    """Return the highest degree and most pieces up to the wanted ones that samples allow."""
    # A lower degree, 1 at least, comes before pieces fewer than half the wanted ones.
    unknowns = min(int(samples / _SAMPLES_PER_UNKNOWN), _MOST_UNKNOWNS)
    for lower in range(degree, 0, -1):
        terms = len(polynomial_exponents(inputs - 1, lower))
        most = unknowns // terms - SPLINE_ORDER + 1
        if most >= (max(pieces // 2, 1) if lower > 1 else 1):
            return lower, min(pieces, most)
    raise InputError(
        f"X: expected at least {int(_SAMPLES_PER_UNKNOWN * SPLINE_ORDER) * inputs} rows for a "
        f"spline-polynomial in {inputs} inputs, found {samples}; add samples or use Kriging"
    )


def _best_shear(
    z: FloatArray, y: FloatArray, weights: FloatArray, pieces: int, rng: np.random.Generator
) -> FloatArray:
    """Return the shear (d,) of the least leave-one-out error of y (N, 1)."""
    # With coefficients eliminated from the derivative (variable projection; Kaufman 1975, BIT
    # 15:49-57).
    shear, d = np.zeros(z.shape[1]), z.shape[1]
    if d < 3:  # inputs between the first and the last shear the first
        return shear
    rows = np.arange(len(z))
    if len(rows) > _SEARCH_ROWS:
        rows = np.sort(rng.choice(rows, _SEARCH_ROWS, replace=False))
    few_z, few_w, target = z[rows], weights[rows], y[rows]
    degree, pieces = _affordable(len(rows), d, _SEARCH_DEGREE, pieces)
    exponents = polynomial_exponents(d - 1, degree)
    root = np.sqrt(few_w)[:, None]

    @lru_cache(maxsize=1)
    def residuals(values: tuple[float, ...]) -> FloatArray:
        fit = SplineFit(few_z, few_w, np.array([0.0, *values, 0.0]), exponents, pieces)
        turned = -fit.slopes_by_first(target)[:, None] * few_z[:, 1:-1]
        return root * fit.left_out(np.column_stack([target, turned]))

    def left_out(values: FloatArray) -> FloatArray:
        return residuals(tuple(values))[:, 0]

    def slopes(values: FloatArray) -> FloatArray:
        return residuals(tuple(values))[:, 1:]

    solution = optimize.least_squares(
        left_out, np.zeros(d - 2), slopes, bounds=_SHEAR_BOUNDS,
        xtol=_SHEAR_TOLERANCE, ftol=_SHEAR_TOLERANCE, max_nfev=_SEARCH_STEPS,
    )  # fmt: skip
    shear[1:-1] = solution.x
    return shear


class SplineFit:
    """Least squares at z (N, d) by splines times products (T, d - 1), and columns (N, m) [1]."""

    def __init__(
        self,
        z: FloatArray,
        weights: FloatArray,
        shear: FloatArray,
        others: NDArray[np.int64],
        pieces: int,
        columns: FloatArray | None = None,
    ) -> None:
        self.exponents: NDArray[np.int64] = np.pad(others, ((0, 0), (1, 0)))
        along = z[:, 0] + z @ shear
        # The few samples at the ends belong to the first and last piece.
        share = _END_SHARE / max(pieces, 2)
        low, high = np.quantile(along, [share, 1.0 - share])
        if not low < high:
            raise InputError(
                "X: expected a first input that varies, found the same sheared first input in "
                "most rows; add samples at other values or use another family"
            )
        ends = np.linspace(low, high, pieces + 1)
        degree = SPLINE_ORDER - 1
        self.knots = np.concatenate([[ends[0]] * degree, ends, [ends[-1]] * degree])
        self._z, self._weights = z, weights
        self._along = along
        self._columns = np.empty((len(z), 0)) if columns is None else columns
        # Rows by piece, so that the normal equations are sums of dense blocks.
        piece = np.clip(np.searchsorted(ends, along, side="right") - 1, 0, pieces - 1)
        self._own = [np.flatnonzero(piece == k) for k in range(pieces)]
        size = (pieces + degree) * len(self.exponents) + self._columns.shape[1]
        normal = np.zeros((size, size))
        for rows, places, matrix in self._blocks():
            normal[np.ix_(places, places)] += matrix.T @ (self._weights[rows, None] * matrix)
        normal[np.diag_indices(size)] += _RIDGE * weights.sum()
        self._factor = lapack.cholesky(normal)

    def _blocks(self, slope: int = 0) -> Iterator[tuple[NDArray[np.int64], ...]]:
        """Yield rows (m,) of each piece, places, values (m, 4 T + columns) of nonzero features."""
        # `slope` is the order of the derivatives by the first input, without the columns.
        terms, degree = len(self.exponents), SPLINE_ORDER - 1
        count = len(self.knots) - SPLINE_ORDER
        basis = BSpline(self.knots, np.eye(count), degree)
        columns = self._columns if slope == 0 else self._columns[:, :0]
        behind = count * terms + np.arange(columns.shape[1])
        for piece, rows in enumerate(self._own):
            splines = basis(self._along[rows], slope)[:, piece : piece + SPLINE_ORDER]
            products = basis_matrix(self._z[rows], self.exponents)
            places = piece * terms + np.arange(SPLINE_ORDER * terms)
            matrix = (splines[:, :, None] * products[:, None, :]).reshape(len(rows), len(places))
            yield rows, np.append(places, behind), np.hstack([matrix, columns[rows]])

    def coefficients(self, y: FloatArray) -> FloatArray:
        """Return the coefficients (S T + m, k) [1] that fit outputs y (N, k) [1]."""
        right = np.zeros((len(self._factor), y.shape[1]))
        for rows, places, matrix in self._blocks():
            right[places] += matrix.T @ (self._weights[rows, None] * y[rows])
        return lapack.solve_factored(self._factor, right)

    def slopes_by_first(self, y: FloatArray) -> FloatArray:
        """Return the derivative (N,) [1] by the first input of the fit to y (N, 1)."""
        solution, slopes = self.coefficients(y), np.empty(len(y))
        for rows, places, matrix in self._blocks(slope=1):
            slopes[rows] = (matrix @ solution[places])[:, 0]
        return slopes

    def contributions(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the RMS of terms with their splines (T, k), and of new residuals (k,) [1]."""
        solution, terms = self.coefficients(y), len(self.exponents)
        squares, misses = np.zeros((terms, y.shape[1])), np.zeros(y.shape[1])
        for rows, places, matrix in self._blocks():
            weights, coefficients = self._weights[rows], solution[places]
            by_spline = matrix[:, : SPLINE_ORDER * terms].reshape(len(rows), SPLINE_ORDER, terms)
            for k in range(y.shape[1]):
                by_term = coefficients[: SPLINE_ORDER * terms, k].reshape(SPLINE_ORDER, terms)
                parts = np.einsum("mst,st->mt", by_spline, by_term)
                squares[:, k] += weights @ parts**2
            misses += weights @ (y[rows] - matrix @ coefficients) ** 2
        freedom = max(1.0 - len(solution) / len(y), 0.1)
        total = self._weights.sum()
        return np.sqrt(squares / total), np.sqrt(misses / total) / freedom

    def left_out(self, y: FloatArray) -> FloatArray:
        """Return the leave-one-out residuals (N, k) [1] of the fit to y (N, k) [1]."""
        solution, residuals = self.coefficients(y), np.empty_like(y)
        inverse = lapack.inverse_of_factored(self._factor)
        for rows, places, matrix in self._blocks():
            block = np.tril(inverse[np.ix_(places, places)])
            block += np.tril(block, -1).T
            leverage = self._weights[rows] * ((matrix @ block) * matrix).sum(axis=1)
            complement = 1.0 - np.minimum(leverage, _LARGEST_LEVERAGE)
            residuals[rows] = (y[rows] - matrix @ solution[places]) / complement[:, None]
        return residuals
