"""Expressions of B-splines of one input."""

from __future__ import annotations

from typing import Any

import numpy as np

from foundation.base.checks import FloatArray
from surrogates.core.packing import spline_pieces
from surrogates.core.regressor_data import SPLINE_ORDER
from surrogates.expressions.functions import Expression, Functions


def spline_values(f: Functions, knots: FloatArray, x: Expression) -> Expression:
    """Return the cubic B-splines (S,) of knots (S + 4,) at x [1].

    The cubics of the first and of the last piece go on beyond the knots. The splines are sums over
    all pieces, as expressions of CasADi have no other choice of a piece: of each piece, powers of
    the distance from its beginning, times 1 in the piece and 0 elsewhere.
    """
    ends, powers = spline_pieces(knots)
    pieces = len(powers)
    inside, t = _piece(f, ends, x)
    matrix = np.zeros((pieces + SPLINE_ORDER - 1, pieces, SPLINE_ORDER))
    for piece, own in enumerate(powers):
        matrix[piece : piece + SPLINE_ORDER, piece] = own.T
    row = f.join([1.0 + 0.0 * t, t, t * t, t * t * t])
    return f.matmul(matrix.reshape(len(matrix), -1), f.outer(inside, row))


def four_splines(
    f: Any, knots: FloatArray, x: Expression, order: int
) -> tuple[Expression, Expression]:
    """Return the piece of x [1], and the B-splines that are not zero there with derivatives.

    Of functions of JAX: the number of the piece, which is that of the first of the four splines,
    and their values and derivatives (order + 1, 4) up to an order of at most 2. Beyond the knots as
    of `spline_values`.
    """
    ends, powers = spline_pieces(knots)
    jnp = f.jax.numpy
    piece = jnp.sum(x >= f.constant(ends[1:-1]), dtype=np.int32)
    t = x - f.constant(ends[:-1])[piece]
    one = jnp.ones_like(t)
    rows = [[one, t, t * t, t * t * t], [0.0 * one, one, 2.0 * t, 3.0 * t * t],
            [0.0 * one, 0.0 * one, 2.0 * one, 6.0 * t]]  # fmt: skip
    return piece, jnp.array(rows[: order + 1]) @ f.constant(powers)[piece]


def _piece(f: Functions, ends: FloatArray, x: Expression) -> tuple[Expression, Expression]:
    """Return 1 for the piece of x, 0 for others, (P,), and the distance from its beginning."""
    if len(ends) == 2:
        return f.constant(np.ones(1)), x - float(ends[0])
    inner = f.constant(ends[1:-1])
    beyond = f.where(x >= inner, 1.0 + 0.0 * inner, 0.0 * inner)
    inside = f.join([1.0, beyond]) - f.join([beyond, 0.0])
    return inside, x - f.matmul(ends[None, :-1], inside)[0]
