"""Second derivatives of a regressor's first output."""

from __future__ import annotations

from foundation.compiling import kernel, part
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
from surrogates.compiled.lanes import LANES, fma, load, peek, spread, store
from surrogates.compiled.layout import rows_of
from surrogates.compiled.sums import load_eight, store_eight


@kernel
def evaluate_hessian(x, arguments, hessian, work):
    """Fill the second derivatives (d, d) of the first output at one input (d,).

    `work` as for `evaluate`.
    """
    layout, numbers = arguments.layout, arguments.numbers
    work = rows_of(work)
    d, sums = layout[slot.INPUTS], layout[slot.SUMS]
    scale_input(x, d, layout, numbers, work)
    for j in range(LANES):
        store(work, sums + j, spread(0.0))
    if layout[slot.BLOCKS] > 0:
        _bend_correlations(layout, numbers, work)
    fill_table(layout, numbers, work)
    term_rows(layout, numbers, work)
    for j in range(d):
        _bend_terms(j, layout, numbers, work)
    for net in range(layout[slot.NETS]):
        _bend_network(net, layout, numbers, work)
    for a in range(d):
        for b in range(a + 1):
            scale = numbers[slot.INVERSE_SCALE, a] * numbers[slot.INVERSE_SCALE, b]
            hessian[a, b] = scale * work[sums + a, b]
            hessian[b, a] = hessian[a, b]


@part
def _bend_terms(j, layout, numbers, work):
    """Add the derivatives by input j of the gradients of all terms to row j of the sums."""
    rows, sums, bent = layout[slot.ROWS], layout[slot.SUMS], layout[slot.ROWS] + layout[slot.TERMS]
    table, degrees = LANES * layout[slot.TABLE], LANES * (layout[slot.DEGREE] + 1)
    weights = LANES * layout[slot.TERM_LINE]
    store(work, bent, spread(0.0))
    total = load(work, sums + j)
    for t in range(1, layout[slot.TERMS]):
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
        total = fma(row, peek(numbers, weights + t), total)
    store(work, sums + j, total)


@part
def _add_squares(work, rows, count, weights, sums):
    """Add the outer products of `count` rows with themselves, times weights side by side."""
    s0, s1, s2, s3, s4, s5, s6, s7 = load_eight(work, sums)
    for i in range(count):
        m = rows + i
        row = load(work, m) * work[weights + (i >> 3), i & 7]
        s0 = fma(row, work[m, 0], s0)
        s1 = fma(row, work[m, 1], s1)
        s2 = fma(row, work[m, 2], s2)
        s3 = fma(row, work[m, 3], s3)
        s4 = fma(row, work[m, 4], s4)
        s5 = fma(row, work[m, 5], s5)
        s6 = fma(row, work[m, 6], s6)
    store_eight(work, sums, s0, s1, s2, s3, s4, s5, s6, s7)


@part
def _bend_correlations(layout, numbers, work):
    """Add the second derivatives of the correlations: r g g', with r rho''/rho on the diagonal."""
    d, n, rows = layout[slot.INPUTS], layout[slot.BLOCKS] * LANES, layout[slot.ROWS]
    radii, sums, line = layout[slot.RADII], layout[slot.SUMS], layout[slot.POINT_LINE]
    correlate(0, d, layout, numbers, work, radii)
    for b in range(layout[slot.BLOCKS]):
        store(work, radii + b, load(work, radii + b) * load(numbers, line + b))
    here, diagonal = load(work, 1), spread(0.0)
    for first in range(0, n, slot.POINT_GROUP):
        count = min(slot.POINT_GROUP, n - first)
        for i in range(first, first + count):
            u = here - load(numbers, layout[slot.PLACES] + i)
            steep = steepness(u, numbers)
            store(work, rows + i - first, steep)
            surplus = fma(steep * -1.0, steep, curvature(u, numbers))
            diagonal = fma(surplus, work[radii + (i >> 3), i & 7], diagonal)
        _add_squares(work, rows, count, radii + first // LANES, sums)
    store(work, rows, diagonal)
    for j in range(d):
        work[sums + j, j] += work[rows, j]
    # From sheared inputs in the correlations' units to z
    for j in range(d):
        scale = numbers[slot.SCALE, j]
        store(work, sums + j, load(work, sums + j) * load(numbers, slot.SCALE) * scale)
    shear = load(numbers, slot.SHEAR)
    for j in range(d):
        store(work, sums + j, fma(shear, work[sums + j, 0], load(work, sums + j)))
    for j in range(1, d):
        store(work, sums + j, fma(load(work, sums), numbers[slot.SHEAR, j], load(work, sums + j)))


@part
def _bend_network(net, layout, numbers, work):
    """Add the second derivatives of a network, first through the outer tanh, then the inner."""
    blocks = layout[slot.UNIT_BLOCKS]
    count, sums, units = blocks * LANES, layout[slot.SUMS], layout[slot.UNITS]
    line = layout[slot.UNIT_LINE] + net * blocks
    outer = unit_rows(net, layout, numbers, work)
    # tanh'' = -2 t (1 - t^2), and the rows hold (1 - t^2) times the gradient of the argument.
    slopes, bends = units + 2 * blocks, units + 3 * blocks
    for v in range(count):
        block, lane = v >> 3, v & 7
        t = work[outer + v, slot.VALUE]
        slope = 1.0 - t * t
        weight = numbers[line + block, lane]
        work[slopes + block, lane] = weight * slope
        work[bends + block, lane] = -2.0 * t * weight / slope if slope > 0.0 else 0.0
    _add_squares(work, outer, count, bends, sums)
    # Back through the hidden weights: the factor of each inner unit's argument
    hidden = layout[slot.HIDDEN] + net * blocks * blocks * LANES
    rows, inner = layout[slot.ROWS], layout[slot.INNER_ROWS] + net * count
    for u in range(count):
        total = 0.0
        for v in range(count):
            weight = numbers[hidden + (v >> 3) * count + u, v & 7]
            total += weight * work[slopes + (v >> 3), v & 7]
        block, lane = u >> 3, u & 7
        bend = -2.0 * work[units + block, lane] * work[units + blocks + block, lane]
        work[bends + block, lane] = total * bend
    for u in range(count):
        store(work, rows + u, load(numbers, inner + u))
    _add_squares(work, rows, count, bends, sums)
