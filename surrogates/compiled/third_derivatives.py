"""Third derivatives of a regressor's first output, for the second derivatives of an energy's loads.

The sums are rows of derivatives by a third input: row `BENDS` + 8 j + i for inputs i and j.
"""

from __future__ import annotations

from foundation.base.compiling import kernel, part
from surrogates.compiled import layout as slot
from surrogates.compiled.curvature import add_squares
from surrogates.compiled.features import (
    correlate,
    curvature,
    fill_table,
    scale_input,
    steepness,
    unit_rows,
)
from surrogates.compiled.lanes import LANES, fma, load, peek, spread, store, total
from surrogates.compiled.layout import rows_of

_MOST = slot.VALUE  # inputs


@kernel
def evaluate_third(x, arguments, third, work):
    """Fill the third derivatives (d, d, d) of the first output at one input (d,).

    `work` as for `evaluate`.
    """
    layout, numbers = arguments.layout, arguments.numbers
    work = rows_of(work)
    d, sums = layout[slot.INPUTS], layout[slot.BENDS]
    third[:, :, :] = 0.0
    scale_input(x, d, layout, numbers, work)
    if layout[slot.BLOCKS] > 0:
        _clear(sums, work)
        _third_of_correlations(third, layout, numbers, work)
    for net in range(layout[slot.NETS]):
        _clear(sums, work)
        _third_of_network(net, layout, numbers, work)
        for a in range(d):
            for b in range(d):
                for c in range(d):
                    third[a, b, c] += work[sums + LANES * b + a, c]
    fill_table(layout, numbers, work)
    _third_of_terms(third, layout, numbers, work)
    for a in range(d):
        for b in range(d):
            for c in range(d):
                scale = numbers[slot.INVERSE_SCALE, a] * numbers[slot.INVERSE_SCALE, b]
                third[a, b, c] *= scale * numbers[slot.INVERSE_SCALE, c]


@part
def _clear(sums, work):
    for row in range(sums, sums + LANES * _MOST + 2 * LANES):
        store(work, row, spread(0.0))


# ---- polynomials


@part
def _third_table(layout, numbers, work):
    """Write the third derivatives of the table of `fill_table` to the rows from `BENDS` on."""
    degree, out = layout[slot.DEGREE], layout[slot.BENDS]
    slope = layout[slot.TABLE] + degree + 1
    bend = slope + degree + 1
    before, here = spread(0.0), spread(0.0)
    for m in range(degree + 1):
        store(work, out + m, here)
        after = fma(load(work, bend + m), 2.0 * m + 1.0, before)
        before, here = here, after
    wave = numbers[slot.WAVE, 0]
    if wave > 0.0:
        for m in range(1, degree + 1):
            turns = wave * ((m + 1) // 2)
            work[out + m, 0] = -turns * turns * work[slope + m, 0]


@part
def _factor(place, order, layout, work):
    """Return a derivative of a factor of a term from the table."""
    if order == 3:
        return peek(work, LANES * layout[slot.BENDS] + place)
    return peek(work, LANES * (layout[slot.TABLE] + order * (layout[slot.DEGREE] + 1)) + place)


@part
def _product(t, a, b, c, layout, work):
    """Return term t differentiated by the inputs of its factors a, b and c."""
    product = 1.0
    while t > 0:
        at = slot.TERM_LIST + 3 * t
        order = (t == a) + (t == b) + (t == c)
        product *= _factor(layout[at + 2], order, layout, work)
        t = layout[at]
    return product


@part
def _third_of_terms(third, layout, numbers, work):
    """Add the derivatives of all terms; the factors of a term are those of its line of parents."""
    _third_table(layout, numbers, work)
    first = slot.TERM_LIST
    for t in range(1, layout[slot.TERMS]):
        weight = peek(numbers, LANES * layout[slot.TERM_LINE] + t)
        if weight == 0.0:
            continue
        c = t
        while c > 0:
            b = c
            while b > 0:
                a = b
                while a > 0:
                    value = weight * _product(t, a, b, c, layout, work)
                    inputs = layout[first + 3 * a + 1], layout[first + 3 * b + 1]
                    _spread_out(*inputs, layout[first + 3 * c + 1], value, third)
                    a = layout[first + 3 * a]
                b = layout[first + 3 * b]
            c = layout[first + 3 * c]


@part
def _spread_out(a, b, c, value, third):
    """Add a derivative by inputs a <= b <= c to all its places."""
    third[a, b, c] += value
    if b != c:
        third[a, c, b] += value
        third[c, a, b] += value
    if a != b:
        third[b, a, c] += value
        third[b, c, a] += value
    if a != b and b != c:
        third[c, b, a] += value


# ---- correlations


@part
def _third_surplus(u, steep, surplus, layout, row, work):
    """Write rho'''/rho - g^3 - 3 e g of all inputs, g the steepness and e the surplus."""
    store(work, row, u)
    for j in range(layout[slot.INPUTS]):
        v = work[row, j]
        a, kind = abs(v), layout[slot.KINDS + j]
        if kind == 0:
            third = v * (12.0 - 8.0 * v * v)
        elif kind == 1:
            third = v * (3.0 - a) / (3.0 + 3.0 * a + a * a)
        else:
            third = (2.0 - a) / (1.0 + a) if v >= 0.0 else (a - 2.0) / (1.0 + a)
        work[row, j] = third
    rest = load(work, row) - steep * steep * steep
    store(work, row, rest - steep * surplus * 3.0)


@part
def _third_of_correlations(third, layout, numbers, work):
    """Add g g g, with e on pairs of equal inputs, and the rest on triples of them, each times r."""
    d, n, rows = layout[slot.INPUTS], layout[slot.BLOCKS] * LANES, layout[slot.ROWS]
    radii, sums, line = layout[slot.RADII], layout[slot.BENDS], layout[slot.POINT_LINE]
    pairs, triples = sums + LANES * _MOST, sums + LANES * _MOST + LANES
    scratch, weights = triples + 1, triples + 2
    correlate(0, d, layout, numbers, work, radii)
    here = load(work, 1)
    for b in range(layout[slot.BLOCKS]):
        store(work, radii + b, load(work, radii + b) * load(numbers, line + b))
    for first in range(0, n, slot.POINT_GROUP):
        count = min(slot.POINT_GROUP, n - first)
        for i in range(count):
            weight = peek(work, LANES * radii + first + i)
            u = here - load(numbers, layout[slot.PLACES] + first + i)
            steep = steepness(u, numbers)
            store(work, rows + i, steep)
            surplus = fma(steep * -1.0, steep, curvature(u, numbers))
            _third_surplus(u, steep, surplus, layout, scratch, work)
            store(work, triples, fma(load(work, scratch), weight, load(work, triples)))
            store(work, scratch, surplus * weight)
            for a in range(d):
                store(work, pairs + a, fma(steep, work[scratch, a], load(work, pairs + a)))
        for a in range(d):
            for i in range(count):
                weight = peek(work, LANES * radii + first + i)
                work[weights + (i >> 3), i & 7] = weight * work[rows + i, a]
            add_squares(work, rows, count, weights, sums + a, LANES)
    _put_together(third, pairs, triples, layout, numbers, work)


@part
def _put_together(third, pairs, triples, layout, numbers, work):
    """Add up the sums, and turn derivatives by sheared inputs into derivatives by z."""
    d, sums = layout[slot.INPUTS], layout[slot.BENDS]
    for a in range(d):
        for b in range(d):
            for c in range(d):
                value = work[sums + LANES * b + a, c]
                value += work[pairs + a, c] if a == b else 0.0
                value += work[pairs + a, b] if a == c else 0.0
                value += work[pairs + b, a] if b == c else 0.0
                value += work[triples, a] if a == b and b == c else 0.0
                scale = numbers[slot.SCALE, a] * numbers[slot.SCALE, b] * numbers[slot.SCALE, c]
                third[a, b, c] = value * scale
    for axis in range(3):
        for j in range(1, d):
            shear = numbers[slot.SHEAR, j]
            for a in range(d):
                for b in range(d):
                    if axis == 0:
                        third[j, a, b] += shear * third[0, a, b]
                    elif axis == 1:
                        third[a, j, b] += shear * third[a, 0, b]
                    else:
                        third[a, b, j] += shear * third[a, b, 0]


# ---- networks


@part
def _third_of_network(net, layout, numbers, work):
    """Add tanh''' A A A + tanh'' (A A' + ...) + tanh' A'' of the outer units' arguments A."""
    blocks, d, sums = layout[slot.UNIT_BLOCKS], layout[slot.INPUTS], layout[slot.BENDS]
    count, units, rows = blocks * LANES, layout[slot.UNITS], layout[slot.ROWS]
    slopes, weights, bends = units + 2 * blocks, units + 3 * blocks, sums + LANES * _MOST
    outer = unit_rows(net, layout, numbers, work)
    hidden = layout[slot.HIDDEN] + net * blocks * blocks * LANES
    line, inner = layout[slot.UNIT_LINE] + net * blocks, layout[slot.INNER_ROWS] + net * count
    for u in range(count):
        store(work, rows + u, load(numbers, inner + u))
    for v in range(count):
        t, weight = work[outer + v, slot.VALUE], peek(numbers, LANES * line + v)
        slope = 1.0 - t * t
        work[slopes + (v >> 3), v & 7] = weight * slope
        if weight == 0.0 or slope == 0.0:
            continue
        # from (1 - t^2) times the gradient to the gradient of the argument
        store(work, outer + v, load(work, outer + v) * (1.0 / slope))
        _inner_bends(v, hidden, blocks, layout, numbers, bends, work)
        _add_outer(outer + v, bends, t, weight * slope, d, sums, work)
    for a in range(d):
        for u in range(count):
            back = spread(0.0)
            for b in range(blocks):
                back = fma(load(numbers, hidden + b * count + u), load(work, slopes + b), back)
            t, slope = peek(work, LANES * units + u), peek(work, LANES * (units + blocks) + u)
            bend = slope * (6.0 * t * t - 2.0) * total(back)
            work[weights + (u >> 3), u & 7] = bend * work[rows + u, a]
        add_squares(work, rows, count, weights, sums + a, LANES)


@part
def _inner_bends(v, hidden, blocks, layout, numbers, bends, work):
    """Write the second derivatives of the argument of outer unit v to rows from `bends` on."""
    units, rows, count = layout[slot.UNITS], layout[slot.ROWS], blocks * LANES
    weights = units + 3 * blocks
    for j in range(_MOST):
        store(work, bends + j, spread(0.0))
    for u in range(count):
        t, slope = peek(work, LANES * units + u), peek(work, LANES * (units + blocks) + u)
        weight = numbers[hidden + (v >> 3) * count + u, v & 7]
        work[weights + (u >> 3), u & 7] = -2.0 * t * slope * weight
    add_squares(work, rows, count, weights, bends, 1)


@part
def _add_outer(row, bends, t, weight, d, sums, work):
    """Add tanh''' and tanh'' of one unit, of argument gradient `row` and second derivatives."""
    by_input = load(work, row)
    for a in range(d):
        for b in range(d):
            at, twice = sums + LANES * b + a, -2.0 * t
            both = work[row, a] * work[row, b] * (6.0 * t * t - 2.0) + twice * work[bends + a, b]
            bent = by_input * both
            bent = fma(load(work, bends + a), twice * work[row, b], bent)
            bent = fma(load(work, bends + b), twice * work[row, a], bent)
            store(work, at, fma(bent, weight, load(work, at)))
