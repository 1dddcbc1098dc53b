"""Second derivatives of regressors.

The sums of an output are rows of second derivatives, one for each input: row `BENDS` + j k + o for
input j and output o, with k outputs padded to whole eights.
"""

from __future__ import annotations

from foundation.base.compiling import inlined, kernel, part
from surrogates.compiled import layout as slot
from surrogates.compiled.features import (
    correlate,
    curvature,
    fill_table,
    scale_input,
    steepness,
    term_rows,
    unit_rows,
)
from surrogates.compiled.lanes import LANES, fma, load, peek, spread, store, total
from surrogates.compiled.layout import rows_of
from surrogates.compiled.splines import (
    BENDS,
    SLOPES,
    VALUES,
    blend,
    blend_weights,
    slopes_by_first,
)
from surrogates.compiled.sums import STORED, add_rows


@kernel
def evaluate_hessian(x, arguments, hessian, work):
    """Fill the second derivatives (d, d) of the first output at one input (d,).

    `work` as for `evaluate`.
    """
    d = x.size
    evaluate_hessians(x, arguments, hessian.reshape(1, d, d), work)


@kernel
def evaluate_hessians(x, arguments, hessians, work):
    """Fill the second derivatives (m, d, d) of the first m outputs at one input (d,).

    `work` as for `evaluate`.
    """
    outputs = hessians.shape[0]
    if outputs == 0:
        return
    layout, numbers = arguments.layout, arguments.numbers
    work = rows_of(work)
    d, step = layout[slot.INPUTS], _stride(layout)
    scale_input(x, d, layout, numbers, work)
    for row in range(layout[slot.BENDS], layout[slot.BENDS] + slot.VALUE * step):
        store(work, row, spread(0.0))
    if layout[slot.BLOCKS] > 0:
        _bend_correlations(outputs, layout, numbers, work)
    fill_table(layout, numbers, work)
    term_rows(layout, numbers, work)
    if layout[slot.PIECES] > 0:
        _bend_splines(outputs, layout, numbers, work)
    else:
        for j in range(d):
            _bend_terms(j, outputs, layout, numbers, numbers, layout[slot.TERM_WEIGHTS],
                        layout[slot.TERM_LINE], work)  # fmt: skip
    for net in range(layout[slot.NETS]):
        _bend_network(net, outputs, layout, numbers, work)
    for o in range(outputs):
        sums = layout[slot.BENDS] + o
        for a in range(d):
            for b in range(a + 1):
                scale = numbers[slot.INVERSE_SCALE, a] * numbers[slot.INVERSE_SCALE, b]
                hessians[o, a, b] = scale * work[sums + a * step, b]
                hessians[o, b, a] = hessians[o, a, b]


@inlined
def _stride(layout):
    """Return the number of rows of sums from one input to the next."""
    return LANES * ((layout[slot.OUTPUTS] + LANES - 1) // LANES)


@inlined
def _weight(numbers, weights, line, step, o, m):
    """Return the weight of feature m for output o; `step` rows lie between eights of outputs."""
    if o == 0:
        return peek(numbers, LANES * line + m)
    return peek(numbers, LANES * (weights + (o >> 3) * step + m) + (o & 7))


@part
def _bend_terms(j, outputs, layout, numbers, holder, weights, line, work):
    """Add the derivatives by input j of the gradients of all terms to the sums of input j.

    The weights are rows of `holder`, as `add_rows` takes them.
    """
    rows, bent = layout[slot.ROWS], layout[slot.ROWS] + layout[slot.TERMS]
    table, degrees = LANES * layout[slot.TABLE], LANES * (layout[slot.DEGREE] + 1)
    count = layout[slot.TERMS]
    store(work, bent, spread(0.0))
    for t in range(1, count):
        at = slot.TERM_LIST + 3 * t
        parent, variable, factor = layout[at], layout[at + 1], table + layout[at + 2]
        slope = peek(work, factor + degrees)
        if variable == j:
            row = load(work, rows + parent) * slope
            value = peek(work, LANES * (rows + parent) + slot.VALUE)
            steep = value * peek(work, factor + 2 * degrees)
        else:
            row = load(work, bent + parent) * peek(work, factor)
            steep = peek(work, LANES * (rows + parent) + j) * slope
        row = fma(load(numbers, slot.UNIT + variable), steep, row)
        store(work, bent + t, row)
    add_rows(
        work, bent, count, holder, weights, count, line,
        layout[slot.BENDS] + j * _stride(layout), outputs, STORED,
    )  # fmt: skip


@part
def _bend_splines(outputs, layout, numbers, work):
    """Add the second derivatives of a spline-polynomial: of its terms, mixed, and of its splines.

    With w the sheared first input, by which the splines are differentiated.
    """
    d, step, bends = layout[slot.INPUTS], _stride(layout), layout[slot.BENDS]
    count, blended, sums = layout[slot.TERMS], layout[slot.BLENDED], layout[slot.SUMS]
    piece = blend(layout, numbers, work)
    blend_weights(piece, VALUES, outputs, layout, numbers, work)
    for j in range(d):
        _bend_terms(j, outputs, layout, numbers, work, blended, blended, work)
    along = load(numbers, slot.UNIT) + load(numbers, slot.SHEAR)
    blend_weights(piece, SLOPES, outputs, layout, numbers, work)
    for o in range(outputs):
        store(work, sums + o, spread(0.0))
    add_rows(work, layout[slot.ROWS], count, work, blended, count, blended, sums, outputs, STORED)
    for o in range(outputs):
        mixed = load(work, sums + o)
        for j in range(d):
            by_first = 1.0 if j == 0 else numbers[slot.SHEAR, j]
            row = fma(along, work[sums + o, j], load(work, bends + j * step + o))
            store(work, bends + j * step + o, fma(mixed, by_first, row))
    blend_weights(piece, BENDS, outputs, layout, numbers, work)
    for first in range(0, outputs, LANES):
        store(work, 1, slopes_by_first(first, outputs, layout, work))
        for o in range(first, min(first + LANES, outputs)):
            for j in range(d):
                by_first = 1.0 if j == 0 else numbers[slot.SHEAR, j]
                row = load(work, bends + j * step + o)
                store(work, bends + j * step + o, fma(along, by_first * work[1, o - first], row))


@part
def add_squares(work, rows, count, weights, sums, step):
    """Add the outer products of `count` rows with themselves, times weights side by side."""
    s0, s1, s2 = load(work, sums), load(work, sums + step), load(work, sums + 2 * step)
    s3, s4 = load(work, sums + 3 * step), load(work, sums + 4 * step)
    s5, s6 = load(work, sums + 5 * step), load(work, sums + 6 * step)
    for i in range(count):
        m = rows + i
        row = load(work, m) * peek(work, LANES * weights + i)
        s0 = fma(row, work[m, 0], s0)
        s1 = fma(row, work[m, 1], s1)
        s2 = fma(row, work[m, 2], s2)
        s3 = fma(row, work[m, 3], s3)
        s4 = fma(row, work[m, 4], s4)
        s5 = fma(row, work[m, 5], s5)
        s6 = fma(row, work[m, 6], s6)
    store(work, sums, s0)
    store(work, sums + step, s1)
    store(work, sums + 2 * step, s2)
    store(work, sums + 3 * step, s3)
    store(work, sums + 4 * step, s4)
    store(work, sums + 5 * step, s5)
    store(work, sums + 6 * step, s6)


@part
def _bend_correlations(outputs, layout, numbers, work):
    """Add the second derivatives of the correlations: r g g', with r rho''/rho on the diagonal."""
    d, n, rows = layout[slot.INPUTS], layout[slot.BLOCKS] * LANES, layout[slot.ROWS]
    radii, step = layout[slot.RADII], _stride(layout)
    weights = layout[slot.BENDS] + slot.VALUE * step
    surplus = weights + slot.POINT_GROUP // LANES
    correlate(0, d, layout, numbers, work, radii)
    here = load(work, 1)
    for first in range(0, n, slot.POINT_GROUP):
        count = min(slot.POINT_GROUP, n - first)
        for i in range(count):
            u = here - load(numbers, layout[slot.PLACES] + first + i)
            steep = steepness(u, numbers)
            store(work, rows + i, steep)
            store(work, surplus + i, fma(steep * -1.0, steep, curvature(u, numbers)))
        for o in range(outputs):
            diagonal = spread(0.0)
            for i in range(count):
                weight = _weight(numbers, layout[slot.POINT_WEIGHTS], layout[slot.POINT_LINE], n,
                                 o, first + i)  # fmt: skip
                weight *= peek(work, LANES * radii + first + i)
                work[weights + (i >> 3), i & 7] = weight
                diagonal = fma(load(work, surplus + i), weight, diagonal)
            sums = layout[slot.BENDS] + o
            add_squares(work, rows, count, weights, sums, step)
            store(work, weights, diagonal)
            for j in range(d):
                work[sums + j * step, j] += work[weights, j]
    for o in range(outputs):
        _unshear(layout[slot.BENDS] + o, step, d, numbers, work)


@part
def _unshear(sums, step, d, numbers, work):
    """Turn derivatives by sheared inputs in the correlations' units into derivatives by z."""
    for j in range(d):
        scale, row = numbers[slot.SCALE, j], sums + j * step
        store(work, row, load(work, row) * load(numbers, slot.SCALE) * scale)
    shear = load(numbers, slot.SHEAR)
    for j in range(d):
        row = sums + j * step
        store(work, row, fma(shear, work[row, 0], load(work, row)))
    for j in range(1, d):
        row = sums + j * step
        store(work, row, fma(load(work, sums), numbers[slot.SHEAR, j], load(work, row)))


@part
def _bend_network(net, outputs, layout, numbers, work):
    """Add the second derivatives of a network, first through the outer tanh, then the inner."""
    blocks, step = layout[slot.UNIT_BLOCKS], _stride(layout)
    count, units = blocks * LANES, layout[slot.UNITS]
    slopes, bends = units + 2 * blocks, units + 3 * blocks
    outer = unit_rows(net, layout, numbers, work)
    rows = layout[slot.ROWS]
    hidden = layout[slot.HIDDEN] + net * blocks * blocks * LANES
    inner = layout[slot.INNER_ROWS] + net * count
    for u in range(count):
        store(work, rows + u, load(numbers, inner + u))
    for o in range(outputs):
        sums = layout[slot.BENDS] + o
        # tanh'' = -2 t (1 - t^2), and the rows hold (1 - t^2) times the gradient of the argument.
        for v in range(count):
            t = work[outer + v, slot.VALUE]
            slope = 1.0 - t * t
            weight = _weight(
                numbers, layout[slot.UNIT_WEIGHTS] + net * count,
                layout[slot.UNIT_LINE] + net * blocks, layout[slot.NETS] * count, o, v,
            )  # fmt: skip
            work[slopes + (v >> 3), v & 7] = weight * slope
            work[bends + (v >> 3), v & 7] = -2.0 * t * weight / slope if slope > 0.0 else 0.0
        add_squares(work, outer, count, bends, sums, step)
        # Back through the hidden weights: the factor of each inner unit's argument
        for u in range(count):
            back = spread(0.0)
            for b in range(blocks):
                back = fma(load(numbers, hidden + b * count + u), load(work, slopes + b), back)
            t = peek(work, LANES * units + u) * peek(work, LANES * (units + blocks) + u)
            work[bends + (u >> 3), u & 7] = -2.0 * t * total(back)
        add_squares(work, rows, count, bends, sums, step)
