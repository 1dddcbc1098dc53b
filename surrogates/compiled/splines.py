"""Cubic B-splines of the sheared first input, times the polynomial terms of the other inputs.

On a piece between two knots four B-splines are not zero. The weight of a term there is the sum of
its weights for the four splines times their values: the *blended* weight, a cubic polynomial of the
sheared first input w. With blended weights a spline-polynomial is a polynomial, and its derivatives
by w have the weights blended by the derivatives of the splines.
"""

from __future__ import annotations

from foundation.base.compiling import part
from surrogates.compiled import layout as slot
from surrogates.compiled.lanes import LANES, fma, load, peek, spread, store
from surrogates.compiled.regressor_data import SPLINE_ORDER
from surrogates.compiled.sums import STORED, add_rows, combine, dot, store_eight

#: First blends in the rows `BLENDS`: by the splines, their first, and their second derivatives.
VALUES, SLOPES, BENDS = 0, SPLINE_ORDER, LANES + SPLINE_ORDER


@part
def blend(layout, numbers, work):
    """Write values and derivatives of four splines at the scaled input; return the first spline.

    Into two rows from `BLENDS` on: four values and four first derivatives, then first and second
    derivatives.
    """
    w = work[0, 0]
    for j in range(1, layout[slot.INPUTS] - 1):
        w += numbers[slot.SHEAR, j] * work[0, j]
    pieces, knots = layout[slot.PIECES], LANES * layout[slot.KNOTS]
    low, high = peek(numbers, knots), peek(numbers, knots + pieces)
    # Knots are equally spaced, or nearly so. NaN stays in the first piece, and a number too large
    # for an integer in the last.
    piece = 0
    if w >= high:
        piece = pieces - 1
    elif w > low:
        piece = min(int((w - low) / (high - low) * pieces), pieces - 1)
    while piece > 0 and w < peek(numbers, knots + piece):
        piece -= 1
    while piece < pieces - 1 and w >= peek(numbers, knots + piece + 1):
        piece += 1
    t, row = w - peek(numbers, knots + piece), layout[slot.SPLINES] + SPLINE_ORDER * piece
    c0, c1 = load(numbers, row), load(numbers, row + 1)
    c2, c3 = load(numbers, row + 2), load(numbers, row + 3)
    store(work, layout[slot.BLENDS], fma(fma(fma(c3, t, c2), t, c1), t, c0))
    store(work, layout[slot.BLENDS] + 1, fma(fma(c3 * 3.0, t, c2 * 2.0), t, c1))
    return piece


@part
def _blend_rows(blends, numbers, first, step, count, work, out):
    """Write `count` rows of weights, blended; rows of the next spline begin `step` rows further."""
    b0, b1 = peek(work, blends), peek(work, blends + 1)
    b2, b3 = peek(work, blends + 2), peek(work, blends + 3)
    for m in range(count):
        row = load(numbers, first + m) * b0
        row = fma(load(numbers, first + step + m), b1, row)
        row = fma(load(numbers, first + 2 * step + m), b2, row)
        store(work, out + m, fma(load(numbers, first + 3 * step + m), b3, row))


@part
def blend_weights(piece, which, outputs, layout, numbers, work):
    """Write the terms' blended weights for the first `outputs` outputs, from row `BLENDED` on.

    In rows of eight terms for a single output, else in rows of eight outputs; `which` is `VALUES`,
    `SLOPES` or `BENDS`.
    """
    count, out = layout[slot.TERMS], layout[slot.BLENDED]
    blends = LANES * layout[slot.BLENDS] + which
    if outputs == 1:
        lines = count // LANES
        _blend_rows(blends, numbers, layout[slot.TERM_LINE] + piece * lines, lines, lines, work,
                    out)  # fmt: skip
        return
    splines = layout[slot.PIECES] + SPLINE_ORDER - 1
    for first in range(0, outputs, LANES):
        weights = layout[slot.TERM_WEIGHTS] + ((first // LANES) * splines + piece) * count
        _blend_rows(blends, numbers, weights, count, count, work, out)
        out += count


@part
def add_spline_rows(layout, numbers, work, outputs, steep):
    """Add the values of the outputs, and the gradients of the first `steep`, to their rows of sums.

    A single output takes its weights side by side; more take them by eights of outputs.
    """
    count, rows, blended = layout[slot.TERMS], layout[slot.ROWS], layout[slot.BLENDED]
    sums, blends = layout[slot.SUMS], LANES * layout[slot.BLENDS]
    piece = blend(layout, numbers, work)
    if outputs == 1:
        blend_weights(piece, VALUES, outputs, layout, numbers, work)
        add_rows(work, rows, count, work, blended, count, blended, sums, outputs, STORED)
        blend_weights(piece, SLOPES, outputs, layout, numbers, work)
        by_first = slopes_by_first(0, outputs, layout, work)
        along = load(numbers, slot.UNIT) + load(numbers, slot.SHEAR)
        store(work, sums, fma(along, by_first, load(work, sums)))
        return
    splines = layout[slot.PIECES] + SPLINE_ORDER - 1
    for first in range(0, outputs, LANES):
        weights = layout[slot.TERM_WEIGHTS] + ((first // LANES) * splines + piece) * count
        if first < steep:
            _add_eight(weights, blends, rows, count, numbers, work, blended)
            for o in range(min(LANES, outputs - first)):
                by_first = work[blended, o]
                work[sums + first + o, slot.VALUE] += work[blended + slot.VALUE, o]
                work[sums + first + o, 0] += by_first
                for j in range(1, slot.VALUE):
                    own = work[blended + j, o] + numbers[slot.SHEAR, j] * by_first
                    work[sums + first + o, j] += own
        else:
            store(work, blended, _eight_values(weights, blends, rows, count, numbers, work))
            for o in range(min(LANES, outputs - first)):
                work[sums + first + o, slot.VALUE] += work[blended, o]


@part
def _add_eight(weights, blends, rows, count, numbers, work, out):
    """Write derivatives by w and by the other inputs, and values, of eight outputs, a row for each.

    In one pass over the weights, the largest part of what is read.
    """
    b0, b1, b2, b3 = (peek(work, blends), peek(work, blends + 1), peek(work, blends + 2),
                      peek(work, blends + 3))  # fmt: skip
    d0, d1, d2, d3 = (peek(work, blends + 4), peek(work, blends + 5), peek(work, blends + 6),
                      peek(work, blends + 7))  # fmt: skip
    value, by_first, s1, s2 = spread(0.0), spread(0.0), spread(0.0), spread(0.0)
    s3, s4, s5, s6 = spread(0.0), spread(0.0), spread(0.0), spread(0.0)
    for m in range(count):
        w = weights + m
        w0, w1 = load(numbers, w), load(numbers, w + count)
        w2, w3 = load(numbers, w + 2 * count), load(numbers, w + 3 * count)
        here = fma(w3, b3, fma(w2, b2, fma(w1, b1, w0 * b0)))
        along = fma(w3, d3, fma(w2, d2, fma(w1, d1, w0 * d0)))
        r = rows + m
        value = fma(here, work[r, slot.VALUE], value)
        by_first = fma(along, work[r, slot.VALUE], by_first)
        s1 = fma(here, work[r, 1], s1)
        s2 = fma(here, work[r, 2], s2)
        s3 = fma(here, work[r, 3], s3)
        s4 = fma(here, work[r, 4], s4)
        s5 = fma(here, work[r, 5], s5)
        s6 = fma(here, work[r, 6], s6)
    store_eight(work, out, by_first, s1, s2, s3, s4, s5, s6, value)


@part
def _eight_values(weights, blends, rows, count, numbers, work):
    """Return the values of eight outputs from rows of terms."""
    even, odd = spread(0.0), spread(0.0)
    b0, b1, b2, b3 = (peek(work, blends), peek(work, blends + 1), peek(work, blends + 2),
                      peek(work, blends + 3))  # fmt: skip
    for m in range(0, count, 2):
        w = weights + m
        here = fma(load(numbers, w + count), b1, load(numbers, w) * b0)
        here = fma(load(numbers, w + 3 * count), b3, fma(load(numbers, w + 2 * count), b2, here))
        even = fma(here, work[rows + m, slot.VALUE], even)
        w += 1
        here = fma(load(numbers, w + count), b1, load(numbers, w) * b0)
        here = fma(load(numbers, w + 3 * count), b3, fma(load(numbers, w + 2 * count), b2, here))
        odd = fma(here, work[rows + m + 1, slot.VALUE], odd)
    return even + odd


@part
def slopes_by_first(first, outputs, layout, work):
    """Return the sums of the terms' values times blended weights, of eight outputs from `first`."""
    count, rows, blended = layout[slot.TERMS], layout[slot.ROWS], layout[slot.BLENDED]
    even, odd = spread(0.0), spread(0.0)
    if outputs == 1:
        total = 0.0
        for m in range(count):
            total += work[rows + m, slot.VALUE] * peek(work, LANES * blended + m)
        return spread(total)
    weights = blended + (first // LANES) * count
    for m in range(0, count, 2):
        even = fma(load(work, weights + m), work[rows + m, slot.VALUE], even)
        odd = fma(load(work, weights + m + 1), work[rows + m + 1, slot.VALUE], odd)
    return even + odd


@part
def add_spline_values(first, layout, numbers, work, value):
    """Add the values of outputs number `first` (0 or a multiple of eight) on to `value`.

    The terms stand side by side from row `ROWS` on.
    """
    count, rows = layout[slot.TERMS], layout[slot.ROWS]
    piece, blends = blend(layout, numbers, work), LANES * layout[slot.BLENDS]
    lines = count // LANES
    if layout[slot.OUTPUTS] == 1:
        for s in range(SPLINE_ORDER):
            line = layout[slot.TERM_LINE] + (piece + s) * lines
            value[0] += peek(work, blends + s) * dot(work, rows, lines, numbers, line)
        return
    splines = layout[slot.PIECES] + SPLINE_ORDER - 1
    for o in range(first, first + value.size, LANES):
        row = spread(0.0)
        for s in range(SPLINE_ORDER):
            weights = layout[slot.TERM_WEIGHTS] + ((o // LANES) * splines + piece + s) * count
            row = fma(combine(work, rows, lines, numbers, weights), peek(work, blends + s), row)
        store(work, 1, row)
        for k in range(min(LANES, first + value.size - o)):
            value[o - first + k] += work[1, k]
