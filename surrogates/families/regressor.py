"""The fitted function of every family: a checked `RegressorData` with compiled evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import (
    FloatArray,
    check_array,
    check_fields,
    check_in,
    check_number,
    frozen,
)
from foundation.base.errors import InputError
from foundation.base.threads import one_thread
from foundation.core.library import CORE, Struct, address, integers
from surrogates.core.correlations import CORRELATIONS, RATES
from surrogates.core.packing import PackedRegressor, packed_posterior
from surrogates.core.regressor_data import SPLINE_ORDER, RegressorData
from surrogates.families.registry import FAMILIES
from surrogates.families.training import basis_matrix, polynomial_exponents


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
    codes = integers(kinds)
    rows, columns = (np.ascontiguousarray((each * RATES[kinds]).T) for each in (first, second))
    CORE.fill_correlation_matrix(
        len(codes), address(codes), len(first), address(rows), len(second), address(columns),
        lower, address(matrix),
    )  # fmt: skip


#: Most inputs and highest degree of a regressor; files that exceed the limits are refused.
MOST_INPUTS = 15
HIGHEST_DEGREE = 24
#: Most pieces of the splines, and least length of a piece over the range of the knots.
MOST_PIECES = 256
_LEAST_PIECE = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Regressor(RegressorData):
    """A fitted function of d inputs and k outputs; an immutable value over plain arrays.

    The parameters are those of `surrogates.core.regressor_data.RegressorData`, which states
    the formula; the arrays are checked and set read-only.
    """

    def __post_init__(self) -> None:
        check_in("family", self.family, FAMILIES)
        self._check_integers()
        d, k = np.size(self.x_offset), np.size(self.y_offset)
        n, (nets, _, h) = np.shape(self.points)[0], np.shape(self.inner)
        features = len(self.exponents) * self._spline_count() + n + nets * h
        shapes: dict[str, tuple[int | None, ...]] = {
            "x_offset": (d,), "x_scale": (d,), "y_offset": (k,), "y_scale": (k,),
            "knots": (None,), "points": (n, d), "lengths": (d,), "shear": (d,),
            "inner": (nets, d, h), "inner_bias": (nets, h),
            "hidden": (nets, h, h), "hidden_bias": (nets, h),
            "weights": (k, features), "variance": (k,), "spread": (k, None),
        }  # fmt: skip
        check_fields(self, **shapes)
        for name in ("x_scale", "y_scale", "lengths"):
            check_array(name, getattr(self, name), above=0.0)
        check_array("variance", self.variance, at_least=0.0)
        for name in ("wave", "nugget"):
            number = check_number(name, getattr(self, name), at_least=0.0)
            object.__setattr__(self, name, number)
        self._check_values()
        self.terms  # noqa: B018 - raises if a term lacks its parent

    def _check_integers(self) -> None:
        exponents, kinds = (_integers(name, getattr(self, name)) for name in ("exponents", "kinds"))
        d = np.size(self.x_offset)
        if not 1 <= d <= MOST_INPUTS:
            raise InputError(f"x_offset: expected 1 to {MOST_INPUTS} inputs, found {d}")
        if exponents.ndim != 2 or exponents.shape[1] != d or not len(exponents):
            raise InputError(f"exponents: expected (T, {d}), T >= 1, found {exponents.shape}")
        if exponents.min() < 0 or exponents.max() > HIGHEST_DEGREE or exponents[0].any():
            raise InputError(
                f"exponents: expected degrees from 0 to {HIGHEST_DEGREE} and the constant first, "
                f"found {exponents.min()} to {exponents.max()} and {exponents[0]} first"
            )
        if kinds.shape != (d,) or not set(kinds.tolist()) <= set(range(len(RATES))):
            known = {name: kind.code for name, kind in CORRELATIONS.items()}
            raise InputError(f"kinds: expected {d} codes of {known}, found {kinds}")
        object.__setattr__(self, "exponents", frozen(exponents))
        object.__setattr__(self, "kinds", frozen(kinds))

    def _spline_count(self) -> int:
        """Return the number of splines of knots that may still be malformed."""
        knots = check_array("knots", self.knots, (None,))
        if not len(knots):
            return 1
        degree = SPLINE_ORDER - 1
        inner = knots[degree : len(knots) - degree]
        if not 2 <= len(inner) <= MOST_PIECES + 1:
            raise InputError(
                f"knots: expected 2 to {MOST_PIECES + 1} knots and {degree} more at each end, "
                f"found {len(knots)}"
            )
        if not (np.diff(inner) > _LEAST_PIECE * np.ptp(inner)).all():
            raise InputError(
                f"knots: expected rising knots, each {_LEAST_PIECE:g} of their range or more above "
                f"the knot before, found {knots.tolist()}"
            )
        if (knots[:degree] != inner[0]).any() or (knots[-degree:] != inner[-1]).any():
            raise InputError(
                f"knots: expected {SPLINE_ORDER} equal knots at each end, found {knots.tolist()}"
            )
        return len(knots) - SPLINE_ORDER

    def _check_values(self) -> None:
        if self.shear[0] != 0.0:
            raise InputError(f"shear: expected 0 for the first input, found {self.shear[0]}")
        if len(self.knots):
            self._check_splines()
        sizes = (0, len(polynomial_exponents(self.inputs, 2)))
        if self.spread.shape[1] not in sizes:
            raise InputError(f"spread: expected {sizes} columns, found {self.spread.shape[1]}")

    def _check_splines(self) -> None:
        if self.shear[-1] != 0.0 or self.exponents[:, 0].any() or self.wave:
            raise InputError(
                "knots: expected splines in the first input alone, with a shear of 0 for the last "
                f"input, found a shear of {self.shear[-1]:g}, a wave of {self.wave:g} and degrees "
                f"up to {self.exponents[:, 0].max()} in the first input"
            )
        if self.inputs == 1 or len(self.points):
            raise InputError(
                "knots: expected two or more inputs and no points beside splines, found "
                f"{self.inputs} inputs and {len(self.points)} points"
            )

    @cached_property
    def packed(self) -> PackedRegressor:
        """The regressor for the library."""
        return PackedRegressor(self)

    def with_numbers(self, **numbers: FloatArray) -> Self:
        """Return the same regressor with other numbers, without checking the others again.

        Parameters
        ----------
        **numbers
            Any of `weights` (k, F), `inner_bias` (M, h), `knots` (L,) and `spread` (k, E) [1], of
            the shapes of the present ones.
        """
        found = object.__new__(type(self))
        state = {name: getattr(self, name) for name in _FIELDS}
        for name, array in numbers.items():
            check_in("numbers", name, _REPLACED)
            state[name] = check_array(name, array, state[name].shape)
        found.__setstate__(state | {"terms": self.terms})
        return found

    @cached_property
    def _posterior(self) -> Struct:
        kriging = len(self.points) and not self.spread.size
        return packed_posterior(self, posterior_factors(self) if kriging else None)

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the outputs (N, k) at inputs X (N, d) [any unit]; InputError if malformed."""
        return self.packed.evaluate(check_array("X", X, (None, self.inputs)))[0]

    def predict_with_jacobian(self, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the outputs (N, k) at inputs X (N, d) and d(output)/d(input) (N, k, d) [any unit].

        Raises `InputError` if X is malformed.
        """
        values, jacobians = self.packed.evaluate(check_array("X", X, (None, self.inputs)), 1)
        return values, jacobians

    def standard_error(self, X: ArrayLike) -> FloatArray:
        """Return the standard errors (N, k) of the outputs at inputs X (N, d) [any unit].

        NaN if the regressor has neither points nor a model of its errors (`spread`). Kriging: Sacks
        et al. 1989, Eq. 9; Rasmussen & Williams 2006, Eq. 2.42. Raises `InputError` if X is
        malformed or the correlations of the points are not positive definite.
        """
        inputs = check_array("X", X, (None, self.inputs))
        return self.packed.errors(inputs, self._posterior)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fields as arrays, such as weights (k, F) [1]; the inverse of `from_arrays`.

        Without `knots` if there are no splines.
        """
        arrays = super().to_arrays()
        if not self.pieces:
            del arrays["knots"]
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Self:
        """Build from the arrays of `to_arrays`, such as weights (k, F) [1].

        Raises `InputError` if an array other than `knots` is missing, or an array is malformed, as
        in all `from_arrays`.
        """
        return super().from_arrays({"knots": np.empty(0), **arrays})


def _integers(name: str, value: ArrayLike) -> NDArray[np.int64]:
    """Return integers as a new array; other numbers are refused, not rounded."""
    found = np.asarray(value)
    if found.dtype.kind not in "iu":
        raise InputError(f"{name}: expected whole numbers, found {found.dtype}")
    return np.array(found, dtype=np.int64, order="C")


_FIELDS = tuple(Regressor.__dataclass_fields__)
#: Fields of which a regressor can have other numbers with little cost.
_REPLACED = ("weights", "inner_bias", "knots", "spread")


def linear_in(
    family: str,
    scalings: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    exponents: NDArray[np.int64],
    weights: FloatArray,
    **parts: Any,
) -> Regressor:
    """Return a regressor of exponents (T, d), weights (k, features) [1], other fields empty."""
    # `scalings` are x_offset, x_scale (d,), y_offset, y_scale (k,).
    x_offset, _, y_offset, _ = scalings
    d, k = len(x_offset), len(y_offset)
    empty: dict[str, Any] = {
        "wave": 0.0, "knots": np.empty(0), "points": np.empty((0, d)), "lengths": np.ones(d),
        "kinds": np.zeros(d, dtype=np.int64), "shear": np.zeros(d),
        "inner": np.empty((0, d, 0)), "inner_bias": np.empty((0, 0)),
        "hidden": np.empty((0, 0, 0)), "hidden_bias": np.empty((0, 0)),
        "nugget": 0.0, "variance": np.zeros(k), "spread": np.empty((k, 0)),
    }  # fmt: skip
    named = empty | parts
    return Regressor(family, *scalings, exponents=exponents, weights=weights, **named)


@cache
def no_outputs(inputs: int) -> Regressor:
    """Return a regressor of `inputs` inputs without outputs."""
    none = np.empty(0)
    scalings = np.zeros(inputs), np.ones(inputs), none, none
    return linear_in("polynomial", scalings, np.zeros((1, inputs), np.int64), np.empty((0, 1)))


def arrays_of(parts: Sequence[str], regressors: Sequence[Regressor]) -> dict[str, NDArray[Any]]:
    """Return the arrays, such as weights (k, F) [1], of regressors with outputs, by part."""
    named: dict[str, NDArray[Any]] = {}
    for part, regressor in zip(parts, regressors, strict=True):
        if regressor.outputs:
            named |= under(part, regressor.to_arrays())
    return named


def regressors_of(arrays: Mapping[str, NDArray[Any]], inputs: Mapping[str, int]) -> list[Regressor]:
    """Return regressors from arrays, such as weights (k, F) [1]; `inputs` counts inputs by part."""
    own = {part: part_of(arrays, part) for part in inputs}
    return [Regressor.from_arrays(a) if a else no_outputs(inputs[p]) for p, a in own.items()]


def under(head: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return arrays (N, ...) [any unit] under names prefixed with `head` and a slash."""
    return {f"{head}/{name}": array for name, array in arrays.items()}


def part_of(arrays: Mapping[str, NDArray[Any]], part: str) -> dict[str, NDArray[Any]]:
    """Return arrays (N, ...) [any unit] of names with the prefix `part` and a slash, without it."""
    head = part + "/"
    return {name[len(head) :]: a for name, a in arrays.items() if name.startswith(head)}
