"""Packing of a regressor into the arrays of `surrogates.compiled.layout`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, frozen
from surrogates.compiled import layout
from surrogates.compiled.lanes import LANES
from surrogates.compiled.layout import Arguments, new_work
from surrogates.compiled.regressor_data import SPLINE_ORDER, RegressorData


def blocks_of(count: int) -> int:
    """Return the number of rows of eight for `count` numbers."""
    return -(-count // LANES)


def side_by_side(values: FloatArray) -> FloatArray:
    """Return (..., n) [any unit] as rows (..., ceil(n / 8), 8), padded with zeros."""
    n = values.shape[-1]
    padded = np.zeros((*values.shape[:-1], blocks_of(n) * LANES))
    padded[..., :n] = values
    return padded.reshape(*values.shape[:-1], blocks_of(n), LANES)


def _even(values: FloatArray) -> FloatArray:
    """Return (m, n) padded with zeros for an even number of rows of eight."""
    n = values.shape[1]
    padded = np.zeros((len(values), n + -n % (2 * LANES)))
    padded[:, :n] = values
    return padded


def pack(regressor: RegressorData) -> Arguments:
    """Return the kernels' form of a regressor."""
    terms, rests = _term_list(regressor.terms), _rest_list(regressor)
    parts = {layout.FIXED: _constants(regressor), **_point_rows(regressor)}
    parts |= {layout.INNER: _inner_rows(regressor)} | _network_rows(regressor)
    parts |= _spline_rows(regressor) | _weights_in_rows(regressor)
    count = sum(len(rows) for rows in parts.values())
    numbers = new_work(LANES * count).reshape(count, LANES)
    head, row = _counts(regressor), 0
    for part, rows in parts.items():
        head[part] = row
        numbers[row : row + len(rows)] = rows
        row += len(rows)
    head[[layout.TERMS, layout.RESTS]] = len(terms), len(rests)
    head[layout.REST_LIST] = len(head) + terms.size
    _place_work(head)
    whole = np.concatenate([head, terms.ravel(), rests.ravel()])
    return Arguments(frozen(whole), read_only(numbers))


def repack(regressor: RegressorData, like: Arguments) -> Arguments:
    """Return the kernels' form of a regressor, the same as of `pack`.

    `like` is that of a regressor that differs from this one in the weights, the biases of the inner
    units and the knots alone; the rest is copied.
    """
    numbers = new_work(like.numbers.size).reshape(like.numbers.shape)
    numbers[:] = like.numbers
    parts = {layout.INNER: _inner_rows(regressor), **_weights_in_rows(regressor)}
    if regressor.pieces:
        parts |= _spline_rows(regressor)
    for part, rows in parts.items():
        row = like.layout[part]
        numbers[row : row + len(rows)] = rows
    return Arguments(like.layout, read_only(numbers))


def _weights_in_rows(regressor: RegressorData) -> dict[int, FloatArray]:
    """Return the weights of all features, in the units of the outputs, in rows."""
    t, n = len(regressor.exponents) * regressor.splines, len(regressor.points)
    weights = regressor.weights * regressor.y_scale[:, None]
    # The B-splines of a piece add up to 1, as does the single constant without splines.
    weights[:, 0 : t : len(regressor.exponents)] += regressor.y_offset[:, None]
    parts = {layout.REST_WEIGHTS: _rest_weights(regressor, weights)}
    for place, line, group in (
        (layout.TERM_WEIGHTS, layout.TERM_LINE, _padded(weights[:, :t], regressor.splines)),
        (layout.POINT_WEIGHTS, layout.POINT_LINE, _even(weights[:, t : t + n])),
        (layout.UNIT_WEIGHTS, layout.UNIT_LINE, _padded(weights[:, t + n :], len(regressor.inner))),
    ):
        parts[place], parts[line] = _weight_rows(group)
    return parts


def _counts(regressor: RegressorData) -> NDArray[np.int64]:
    """Return the head of `layout` with all entries that are not row numbers."""
    d, exponents = regressor.inputs, regressor.exponents
    rough = np.flatnonzero(regressor.kinds)
    head = np.zeros(layout.TERM_LIST, dtype=np.int64)
    head[layout.INPUTS], head[layout.OUTPUTS] = d, regressor.outputs
    head[layout.DEGREE], head[layout.LAST_DEGREE] = exponents.max(), exponents[:, -1].max()
    head[layout.BLOCKS] = 2 * -(-len(regressor.points) // (2 * LANES))
    head[layout.NETS] = len(regressor.inner)
    head[layout.UNIT_BLOCKS] = blocks_of(regressor.inner.shape[2])
    head[layout.LAST_MOVES_FIRST] = regressor.shear[-1] != 0.0
    head[layout.PIECES] = regressor.pieces
    head[layout.KINDS : layout.KINDS + d] = regressor.kinds
    head[layout.ROUGH] = len(rough)
    head[layout.ROUGH_LIST : layout.ROUGH_LIST + len(rough)] = rough
    return head


def _term_list(terms: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return parent, input and place of the factor in the table, for each term, padded."""
    padded = np.zeros((blocks_of(len(terms)) * LANES, 3), dtype=np.int64)
    padded[: len(terms)] = terms
    padded[:, 2] = LANES * padded[:, 2] + padded[:, 1]
    return padded


def _rest_list(regressor: RegressorData) -> NDArray[np.int64]:
    """Return the list of the terms without the last input, with parents numbered in that list."""
    chosen = regressor.exponents[:, -1] == 0
    terms = regressor.terms[chosen]
    terms[:, 0] = (np.cumsum(chosen) - 1)[terms[:, 0]]
    return _term_list(terms)


def _rest_weights(regressor: RegressorData, weights: FloatArray) -> FloatArray:
    """Return the first output's weight of each term without the last input times each degree of it.

    In rows of eight degrees: of all such terms for the first eight degrees, then for the next; of
    one spline after the other.
    """
    degrees = regressor.exponents[:, -1]
    number = np.cumsum(degrees == 0) - 1
    rest = np.where(degrees == 0, np.arange(len(degrees)), regressor.terms[:, 0])
    parts = []
    for spline in range(regressor.splines):
        rows = np.zeros((blocks_of(int(degrees.max()) + 1) * LANES, int(number[-1]) + 1))
        if regressor.outputs:
            first = spline * len(degrees)
            rows[degrees, number[rest]] = weights[0, first : first + len(degrees)]
        parts.append(_weight_rows(rows)[0])
    return np.concatenate(parts)


def _spline_rows(regressor: RegressorData) -> dict[int, FloatArray]:
    """Return the ends of the pieces, and the coefficients of their splines and derivatives.

    Of each piece there is a row for each power of the distance from the piece's beginning: of four
    splines, then of their derivatives.
    """
    rows = np.zeros((regressor.pieces, SPLINE_ORDER, LANES))
    ends, powers = spline_pieces(regressor.knots)
    rows[:, :, :SPLINE_ORDER] = powers
    rows[:, :-1, SPLINE_ORDER:] = powers[:, 1:] * np.arange(1, SPLINE_ORDER)[:, None]
    return {layout.KNOTS: side_by_side(ends[None]).reshape(-1, LANES),
            layout.SPLINES: rows.reshape(-1, LANES)}  # fmt: skip


def spline_pieces(knots: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends (P + 1,) [1] of the P pieces between knots, and the B-splines on the pieces.

    The B-splines are coefficients (P, 4, 4) [1]: of each piece, for each power of the distance from
    the piece's beginning, those of the four splines that are not zero there. Without knots there
    are no pieces. By the recursion of Cox and de Boor (de Boor 1972, J Approx Theory 6:50-62).
    """
    degree = SPLINE_ORDER - 1
    ends = knots[degree : len(knots) - degree]
    powers = np.zeros((max(len(ends) - 1, 0), SPLINE_ORDER, SPLINE_ORDER))
    for piece, splines in enumerate(powers):
        splines[0, degree] = 1.0
        for order in range(1, SPLINE_ORDER):
            lower = splines.copy()
            splines[:] = 0.0
            # A spline of a degree less adds to its left neighbour, falling, and to itself, rising.
            for s in range(SPLINE_ORDER - order, SPLINE_ORDER):
                first, last = knots[piece + s], knots[piece + s + order]
                share, slope = (ends[piece] - first) / (last - first), 1.0 / (last - first)
                splines[:, s] += share * lower[:, s]
                splines[1:, s] += slope * lower[:-1, s]
                splines[:, s - 1] += (1.0 - share) * lower[:, s]
                splines[1:, s - 1] -= slope * lower[:-1, s]
    return ends, powers


def _padded(weights: FloatArray, parts: int) -> FloatArray:
    """Return weights (k, parts m), padded to eights of each part (network or spline)."""
    m = weights.shape[1] // max(parts, 1)
    rows = side_by_side(weights.reshape(len(weights), parts, m))
    return rows.reshape(len(weights), parts * blocks_of(m) * LANES)


def read_only(rows: FloatArray) -> FloatArray:
    """Return rows (R, 8) [any unit], set read-only in place to keep their alignment."""
    rows.flags.writeable = False
    return rows


def _place_work(head: NDArray[np.int64]) -> None:
    """Divide the scratch memory: row 0 holds the scaled input, row 1 the sheared one."""
    units = head[layout.UNIT_BLOCKS]
    row = 2
    # The rows of terms, of points and of hidden units share one place.
    features = max(
        2 * head[layout.TERMS], layout.POINT_GROUP if head[layout.BLOCKS] else 0, 16 * units
    )
    outputs = blocks_of(head[layout.OUTPUTS]) * LANES
    # Sums of second derivatives by up to seven inputs; weights and rows of a group of points.
    bends = layout.VALUE * outputs + layout.POINT_GROUP // LANES + layout.POINT_GROUP
    for place, rows in (
        (layout.SUMS, outputs),
        (layout.TABLE, 3 * (head[layout.DEGREE] + 1)),
        (layout.ROWS, features),
        (layout.RADII, head[layout.BLOCKS]),
        (layout.STEEPS, head[layout.BLOCKS] * head[layout.ROUGH]),
        (layout.UNITS, 4 * units),
        (layout.LINE, 1 + blocks_of(int(head[layout.LAST_DEGREE]) + 1)),
        (layout.LINE_BASE, head[layout.BLOCKS]),
        (layout.LINE_UNITS, head[layout.NETS] * units),
        (layout.BENDS, bends),
        (layout.BLENDS, 2 if head[layout.PIECES] else 0),
        (layout.BLENDED, _blended_rows(head) if head[layout.PIECES] else 0),
    ):
        head[place] = row
        row += rows
    head[layout.WORK_SIZE] = row


def _blended_rows(head: NDArray[np.int64]) -> int:
    """Return the rows for blended weights, and for the sums of eight outputs."""
    return max(int(head[layout.TERMS]) * blocks_of(int(head[layout.OUTPUTS])), LANES)


def correlation_scales(regressor: RegressorData) -> FloatArray:
    """Return the factors (d,) [1] from distances to u of exp(-u^2) or (1 + u + ...) exp(-u)."""
    roots = np.array([math.sqrt(0.5), math.sqrt(5.0), math.sqrt(3.0)])
    return roots[regressor.kinds] / regressor.lengths


def sheared(regressor: RegressorData, z: FloatArray) -> FloatArray:
    """Return points (n, d) sheared and in the units of the correlations [1]."""
    out = z.copy()
    out[:, 0] += z @ regressor.shear
    return out * correlation_scales(regressor)


def _constants(regressor: RegressorData) -> FloatArray:
    d = regressor.inputs
    rows = np.zeros((layout.FIXED_ROWS, LANES))
    rows[layout.UNIT : layout.UNIT + LANES] = np.eye(LANES)
    rows[layout.OFFSET, :d] = regressor.x_offset
    rows[layout.INVERSE_SCALE, :d] = 1.0 / regressor.x_scale
    rows[layout.SCALE, :d] = correlation_scales(regressor)
    rows[[layout.INVERSE_SCALE, layout.SCALE], layout.VALUE] = 1.0
    rows[layout.SHEAR, :d] = regressor.shear
    rows[layout.UPPER : layout.BEND + 3, :d] = _CONSTANTS[regressor.kinds].T
    rows[layout.UPPER, layout.VALUE] = 1.0
    rows[layout.STEEP_SCALE, :d] = rows[layout.SCALE, :d] * np.where(regressor.kinds == 0, 2.0, 1.0)
    rows[layout.STEEP_SCALE, layout.VALUE] = 1.0
    rows[layout.OTHERS] = 1.0 - np.eye(LANES)[layout.VALUE]
    rows[layout.WAVE] = regressor.wave
    return rows


#: For exp(-u^2), Matern 5/2 and 3/2 with a = |u|, constants of
#: rho'/rho = -u (c0 + c1 a) / (1 + c2 a + c3 a^2), rho''/rho = (c4 + c5 a + c6 a^2) / (the same).
_CONSTANTS = np.array(
    [
        [2.0, 0.0, 0.0, 0.0, -2.0, 0.0, 4.0],
        [1 / 3, 1 / 3, 1.0, 1 / 3, -1 / 3, -1 / 3, 1 / 3],
        [1.0, 0.0, 1.0, 0.0, -1.0, 1.0, 0.0],
    ]
)


def _point_rows(regressor: RegressorData) -> dict[int, FloatArray]:
    """Return the points side by side, and in a row each, with u = -1 in the lane of the value."""
    d = regressor.inputs
    points = _even(sheared(regressor, regressor.points).T)
    places = np.zeros((points.shape[1], LANES))
    places[:, :d] = points.T
    places[:, layout.VALUE] = 1.0
    return {layout.POINTS: side_by_side(points).reshape(-1, LANES), layout.PLACES: places}


def _inner_rows(regressor: RegressorData) -> FloatArray:
    """Return the inner weights by unit, with the bias first."""
    with_bias = np.concatenate([regressor.inner_bias[:, None], regressor.inner], axis=1)
    return side_by_side(with_bias).reshape(-1, LANES)


def _network_rows(regressor: RegressorData) -> dict[int, FloatArray]:
    """Return inner weights by input; hidden ones by unit."""
    nets, d, h = regressor.inner.shape
    full = blocks_of(h) * LANES
    rows = np.zeros((nets, full, LANES))
    rows[:, :h, :d] = regressor.inner.transpose(0, 2, 1)
    hidden = np.zeros((nets, full, full))
    hidden[:, :h, :h] = regressor.hidden
    by_eight = hidden.reshape(nets, full, full // LANES, LANES).transpose(0, 2, 1, 3)
    return {
        layout.INNER_ROWS: rows.reshape(-1, LANES),
        # All units for eight outer units, then for the next eight
        layout.HIDDEN: by_eight.reshape(-1, LANES),
        layout.HIDDEN_BIAS: side_by_side(regressor.hidden_bias).reshape(-1, LANES),
    }


def _weight_rows(weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return weights (k, m) by feature for each eight outputs, and side by side for the first."""
    k, m = weights.shape
    full = blocks_of(m) * LANES
    padded = np.zeros((blocks_of(k) * LANES, full))
    padded[:k, :m] = weights
    rows = padded.reshape(blocks_of(k), LANES, full).transpose(0, 2, 1).reshape(-1, LANES)
    return (rows if k > 1 else rows[:0]), padded[:1].reshape(-1, LANES)
