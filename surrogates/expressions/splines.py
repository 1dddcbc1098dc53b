"""Expressions of B-splines of one input, with their derivatives."""

from __future__ import annotations

import numpy as np

from foundation.base.checks import FloatArray
from surrogates.compiled.packing import spline_pieces
from surrogates.compiled.regressor_data import SPLINE_ORDER
from surrogates.expressions.functions import Expression, Functions


def spline_values(f: Functions, knots: FloatArray, x: Expression, order: int) -> list[Expression]:
    """Return the cubic B-splines (S,) of knots (S + 4,) at x [1], and their first derivatives.

    Derivatives up to an order of at most 2. The cubics of the first and of the last piece go on
    beyond the knots. The splines are sums over all pieces: of each piece, powers of the distance
    from its beginning, times 1 in the piece and 0 elsewhere.
    """
    ends, powers = spline_pieces(knots)
    pieces = len(powers)
    inside, t = _piece(f, ends, x)
    matrix = np.zeros((pieces + SPLINE_ORDER - 1, pieces, SPLINE_ORDER))
    for piece, own in enumerate(powers):
        matrix[piece : piece + SPLINE_ORDER, piece] = own.T
    flat = matrix.reshape(len(matrix), -1)
    zero = 0.0 * t
    rows = [
        [1.0 + zero, t, t * t, t * t * t],
        [zero, 1.0 + zero, 2.0 * t, 3.0 * t * t],
        [zero, zero, 2.0 + zero, 6.0 * t],
    ]
    return [f.matmul(flat, f.outer(inside, f.join(row))) for row in rows[: order + 1]]


def _piece(f: Functions, ends: FloatArray, x: Expression) -> tuple[Expression, Expression]:
    """Return 1 for the piece of x, 0 for others, (P,), and the distance from its beginning."""
    if len(ends) == 2:
        return f.constant(np.ones(1)), x - float(ends[0])
    inner = f.constant(ends[1:-1])
    beyond = f.where(x >= inner, 1.0 + 0.0 * inner, 0.0 * inner)
    inside = f.join([1.0, beyond]) - f.join([beyond, 0.0])
    return inside, x - f.matmul(ends[None, :-1], inside)[0]
