"""Common parts of the regressor families: checks of training data, scalings, polynomial terms."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array
from foundation.base.errors import InputError


def check_training(inputs: ArrayLike, outputs: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return inputs (N, d), outputs (N, k) as finite float64 arrays of equal length [any unit]."""
    x = check_array("X", inputs, (None, None))
    y = check_array("Y", outputs, (None, None))
    if len(x) != len(y):
        raise InputError(
            f"Y: expected one row for each of the {len(x)} rows of X, found {len(y)} rows"
        )
    if x.size == 0 or y.size == 0:
        raise InputError(
            f"X, Y: expected at least one row and column, found shapes {x.shape} and {y.shape}"
        )
    return x, y


def check_weights(weights: ArrayLike | None, rows: int) -> FloatArray:
    """Return positive weights (N,) [1] of the samples, by default ones."""
    if weights is None:
        return np.ones(rows)
    return check_array("weights", weights, (rows,), above=0.0)


def positive_or_one(scale: FloatArray, level: FloatArray) -> FloatArray:
    """Return `scale` (d,) with ones where it is only rounding of `level` (d,) [any unit]."""
    # A constant column scatters by about ten roundings: it must not vary on one machine alone.
    tiny = 64.0 * np.finfo(float).eps * np.abs(level)
    return np.where(scale > tiny, scale, 1.0)


def mean_and_deviation(data: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and deviation (d,) of columns (N, d) [any unit]; deviation 1 if constant."""
    mean = data.mean(axis=0)
    deviation = data.std(axis=0, ddof=1) if len(data) > 1 else np.ones(data.shape[1])
    return mean, positive_or_one(deviation, np.abs(data).max(axis=0))


def middle_and_half_range(data: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return offset and scale (d,) that map columns (N, d) [any unit] onto [-1, 1]."""
    low, high = data.min(axis=0), data.max(axis=0)
    half = 0.5 * (high - low)
    return 0.5 * (low + high), positive_or_one(half, np.maximum(np.abs(low), np.abs(high)))


def polynomial_exponents(dimension: int, degree: int) -> NDArray[np.int64]:
    """Return exponents (T, d) up to a total degree, in the order 1, x0, x1, ..., x0^2, x0 x1."""
    rows = []
    for total in range(degree + 1):
        for chosen in combinations_with_replacement(range(dimension), total):
            rows.append(np.bincount(np.array(chosen, dtype=np.int64), minlength=dimension))
    return np.array(rows, dtype=np.int64)
