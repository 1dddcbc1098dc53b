"""Common parts of the regressor families: checks of training data, scalings, polynomial terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from typing import Any

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


#: Largest block of a basis matrix in memory [bytes]; larger ones leave the processor's cache.
_BLOCK_BYTES = 6_000_000


def legendre_columns(z: FloatArray, degree: int) -> FloatArray:
    """Return Legendre polynomials P_0 ... P_degree (N, degree + 1) [1] at z (N,) [1]."""
    # Bonnet's recursion, (e + 1) P_(e+1) = (2 e + 1) z P_e - e P_(e-1).
    columns = np.ones((len(z), degree + 1))
    if degree > 0:
        columns[:, 1] = z
    for e in range(1, degree):
        columns[:, e + 1] = ((2 * e + 1) * z * columns[:, e] - e * columns[:, e - 1]) / (e + 1)
    return columns


def fourier_columns(z: FloatArray, degree: int, wave: float) -> FloatArray:
    """Return 1, sin(wave z), cos(wave z), sin(2 wave z), ... (N, degree + 1) [1] at z (N,) [1]."""
    columns = np.ones((len(z), degree + 1))
    for e in range(1, degree + 1):
        angle = ((e + 1) // 2) * wave * z
        columns[:, e] = np.sin(angle) if e % 2 else np.cos(angle)
    return columns


def basis_matrix(z: FloatArray, exponents: NDArray[np.int64], wave: float = 0.0) -> FloatArray:
    """Return features (N, T) [1] of exponents (T, d) and `wave` [1] at scaled inputs z (N, d)."""
    # A row for each term while it is filled: entries side by side in memory are read and written.
    matrix = np.ones((len(exponents), len(z)))
    for j, degrees in enumerate(exponents.T):
        used = np.flatnonzero(degrees)
        if not used.size:
            continue
        highest = int(degrees.max())
        if j == 0 and wave > 0.0:
            columns = fourier_columns(z[:, 0], highest, wave)
        else:
            columns = legendre_columns(z[:, j], highest)
        matrix[used] *= np.ascontiguousarray(columns.T)[degrees[used]]
    return matrix.T


def row_blocks(rows: int, columns: int) -> Iterator[slice]:
    """Yield slices that together cover all rows, each for a matrix block of bounded size."""
    step = max(1, _BLOCK_BYTES // (8 * max(1, columns)))
    for start in range(0, rows, step):
        yield slice(start, min(rows, start + step))


def minimise(
    function: Callable[[Any], Any],
    start: FloatArray,
    bounds: list[tuple[float, float]],
    iterations: int,
) -> tuple[FloatArray, float]:
    """Return a local minimiser (n,) and the minimum from L-BFGS-B [any unit]."""
    # `function` returns value and gradient, at most twice as often as `iterations`.
    # Imported here, since evaluation needs NumPy alone.
    from scipy import optimize

    solution = optimize.minimize(
        function, np.clip(start, *np.transpose(bounds)), jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": iterations, "maxfun": 2 * iterations},
    )  # fmt: skip
    return np.asarray(solution.x), float(solution.fun)
