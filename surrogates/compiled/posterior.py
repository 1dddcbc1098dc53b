"""Standard error of a regressor's prediction.

For Kriging, the variance of the posterior is the process variance times 1 + nugget - |w|^2 + |e|^2
with w = L^-1 r and e = Q^T w - Rq^-T h, where L L^T are the points' correlations with the nugget,
Q Rq = L^-1 H, and H and h the trend at the points and at the input (Sacks et al. 1989, Stat Sci
4:409-423, Eq. 9). Other families have a model of the logarithm of the standard error.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, frozen
from foundation.base.compiling import kernel, part
from foundation.base.errors import InputError
from surrogates.compiled import layout as slot
from surrogates.compiled.features import correlate, fill_table, scale_input, term_values
from surrogates.compiled.lanes import LANES, fma, load, store
from surrogates.compiled.layout import Arguments, new_work, rows_of, workspace_size
from surrogates.compiled.packing import blocks_of, read_only, sheared, side_by_side
from surrogates.compiled.regressor_data import RegressorData
from surrogates.compiled.sums import dot

# Places in `counts`, the last three the first rows in `numbers`
_POINTS, _TRENDS, _SPREAD, _FACTOR, _TREND_ROWS, _TRIANGLE = range(6)


class Posterior(NamedTuple):
    """Arguments of `standard_error` besides the regressor: counts (6,), then numbers (R, 8).

    The rows contain the model of other families; the factor L in columns of eight by eight blocks,
    from the diagonal down; Q by column; and Rq. Variance (k,) [any unit] and nugget follow.
    """

    counts: NDArray[np.int64]
    numbers: FloatArray
    variance: FloatArray
    nugget: float


def pack_posterior(regressor: RegressorData, arguments: Arguments) -> Posterior:
    """Return the packed factors for the standard error of a regressor; costs O(n³) of n points.

    Raises `InputError` if the correlations of the points are not positive definite, or the terms
    outnumber the points.
    """
    counts = np.zeros(6, dtype=np.int64)
    n, trends = len(regressor.points), len(regressor.exponents)
    counts[[_POINTS, _TRENDS, _SPREAD]] = n, trends, regressor.spread.shape[1]
    parts = [side_by_side(regressor.spread).reshape(-1, LANES)]
    counts[_FACTOR] = len(parts[0])
    if n:
        with _one_thread():
            factor, orthogonal, triangle = _factors(regressor, arguments)
        parts += [
            _block_columns(factor),
            side_by_side(orthogonal.T).reshape(-1, LANES),
            side_by_side(triangle.T).reshape(-1, LANES),
        ]
        counts[_TREND_ROWS] = counts[_FACTOR] + len(parts[1])
        counts[_TRIANGLE] = counts[_TREND_ROWS] + len(parts[2])
    rows = np.concatenate(parts)
    numbers = new_work(rows.size).reshape(rows.shape)
    numbers[:] = rows
    return Posterior(
        frozen(counts), read_only(numbers), frozen(regressor.variance.copy()), regressor.nugget
    )


def _one_thread() -> AbstractContextManager[object]:
    """Return a context of one thread: sums in threaded linear algebra depend on their number.

    Without threadpoolctl, which a trained surrogate does not need, the threads stay as they are.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(1)


def _factors(
    regressor: RegressorData, arguments: Arguments
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return L (n, n), Q (n, T) and Rq (T, T)."""
    if len(regressor.exponents) > len(regressor.points):
        raise InputError(
            f"exponents: expected at most {len(regressor.points)} terms for the standard error, "
            f"the number of points, found {len(regressor.exponents)}"
        )
    matrix = _point_correlations(regressor)
    matrix[np.diag_indices_from(matrix)] += regressor.nugget
    try:
        factor: FloatArray = np.linalg.cholesky(matrix).astype(np.float64, copy=False)
    except np.linalg.LinAlgError as error:
        raise InputError(
            "points: expected a positive definite correlation matrix, found a singular or "
            f"indefinite matrix for the {len(matrix)} points with the nugget "
            f"{regressor.nugget:g}; drop repeated points"
        ) from error
    trend = _trend_at(arguments, regressor.points, len(regressor.exponents))
    orthogonal, triangle = np.linalg.qr(np.linalg.solve(factor, trend))
    return factor, orthogonal, triangle


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


def _trend_at(arguments: Arguments, z: FloatArray, terms: int) -> FloatArray:
    """Return the polynomial terms (N, T) at scaled inputs (N, d)."""
    layout, numbers = arguments
    work = np.zeros((len(z), terms))
    scratch = new_work(int(workspace_size(arguments))).reshape(-1, LANES)
    for row, here in enumerate(z):
        scratch[0] = 0.0
        scratch[0, : len(here)] = here
        fill_table(layout, numbers, scratch)
        term_values(slot.TERM_LIST, layout[slot.TERMS], layout, scratch)
        work[row] = scratch[layout[slot.ROWS] :].ravel()[: work.shape[1]]
    return work


def _block_columns(factor: FloatArray) -> FloatArray:
    """Return L in block columns; the padded part is a unit matrix."""
    blocks = blocks_of(len(factor))
    padded = np.eye(blocks * LANES)
    padded[: len(factor), : len(factor)] = factor
    # Rows of eight equations, for each unknown of the block column
    cut = padded.reshape(blocks, LANES, blocks, LANES).transpose(2, 0, 3, 1)
    return np.concatenate([cut[b, b:].reshape(-1, LANES) for b in range(blocks)])


@kernel
def relative_variance(x, arguments, posterior, work):
    """Return the variance of a prediction of Kriging at x (d,), relative to the process variance.

    `work` as for `evaluate`; NaN without points.
    """
    layout, numbers = arguments.layout, arguments.numbers
    work = rows_of(work)
    counts, matrix = posterior.counts, posterior.numbers
    if layout[slot.BLOCKS] == 0:
        return math.nan
    blocks, w = (counts[_POINTS] + LANES - 1) // LANES, layout[slot.RADII]
    scale_input(x, layout[slot.INPUTS], layout, numbers, work)
    correlate(0, layout[slot.INPUTS], layout, numbers, work, w)
    for m in range(counts[_POINTS], blocks * LANES):
        work[w + (m >> 3), m & 7] = 0.0
    _substitute(blocks, matrix, counts[_FACTOR], work, w)
    explained = 0.0
    for m in range(blocks * LANES):
        explained += work[w + (m >> 3), m & 7] ** 2
    fill_table(layout, numbers, work)
    term_values(slot.TERM_LIST, layout[slot.TERMS], layout, work)
    inflated = 0.0
    trends, f = counts[_TRENDS], layout[slot.ROWS]
    width = (trends + LANES - 1) // LANES
    for t in range(trends):
        # Rq^T f = h, in the place of h
        side, row = work[f + (t >> 3), t & 7], counts[_TRIANGLE] + t * width
        for s in range(t):
            side -= matrix[row + (s >> 3), s & 7] * work[f + (s >> 3), s & 7]
        side /= matrix[row + (t >> 3), t & 7]
        work[f + (t >> 3), t & 7] = side
        side -= dot(work, w, blocks, matrix, counts[_TREND_ROWS] + t * blocks)
        inflated += side * side
    return max(1.0 + posterior.nugget - explained + inflated, 0.0)


@part
def _substitute(blocks, matrix, row, work, w):
    """Solve L w = r in place, eight unknowns at a time."""
    for b in range(blocks):
        for c in range(LANES):
            unknown = work[w + b, c] / matrix[row + c, c]
            store(work, w + b, fma(load(matrix, row + c), -unknown, load(work, w + b)))
            work[w + b, c] = unknown
        row += LANES
        for a in range(b + 1, blocks):
            left = load(work, w + a)
            for c in range(LANES):
                left = fma(load(matrix, row + c), -work[w + b, c], left)
            store(work, w + a, left)
            row += LANES


@kernel
def standard_error(x, arguments, posterior, error, work):
    """Fill the standard errors (k,) of the outputs at one input (d,), in their units.

    `posterior` is that of the regressor, `work` as for `evaluate`. NaN without a model of errors.
    """
    if error.size == 0:
        return
    if posterior.counts[_POINTS] == 0:
        _modelled_error(x, arguments, posterior, error)
        return
    relative = relative_variance(x, arguments, posterior, work)
    for o in range(error.size):
        error[o] = math.sqrt(relative * posterior.variance[o])


@part
def _modelled_error(x, arguments, posterior, error):
    """Fill the exponentials of Legendre polynomials of total degree 2 of the clipped inputs."""
    layout, numbers, model = arguments.layout, arguments.numbers, posterior.numbers
    d, count = layout[slot.INPUTS], posterior.counts[_SPREAD]
    rows = (count + LANES - 1) // LANES
    for o in range(error.size):
        if count == 0:
            error[o] = math.nan
            continue
        row = o * rows
        log = model[row, 0]
        s = d + 1
        for i in range(d):
            z = (x[i] - numbers[slot.OFFSET, i]) * numbers[slot.INVERSE_SCALE, i]
            z = min(max(z, -1.0), 1.0)
            log += model[row + ((i + 1) >> 3), (i + 1) & 7] * z
            for j in range(i, d):
                other = (x[j] - numbers[slot.OFFSET, j]) * numbers[slot.INVERSE_SCALE, j]
                other = min(max(other, -1.0), 1.0)
                product = 0.5 * (3.0 * z * z - 1.0) if i == j else z * other
                log += model[row + (s >> 3), s & 7] * product
                s += 1
        error[o] = math.exp(log)


@kernel
def standard_errors(inputs, arguments, posterior, errors, work):
    """Fill standard errors (N, k) at inputs (N, d); see `standard_error`."""
    for row in range(inputs.shape[0]):
        standard_error(inputs[row], arguments, posterior, errors[row], work)
