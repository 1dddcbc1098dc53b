"""The features of a regressor and their gradients.

A feature with its gradient is a row: the derivatives by the inputs z in the first lanes, the value
in the last lane. Values without derivatives stand side by side, eight features in a row.
"""

from __future__ import annotations

import math

from foundation.base.compiling import inlined, kernel, part
from surrogates.compiled import layout as slot
from surrogates.compiled.functions import decay, hyperbolic_tangent
from surrogates.compiled.lanes import LANES, absolute, fma, load, peek, poke, spread, store
from surrogates.compiled.sums import STORED, add_to_eight, combine

_SQUARED_EXPONENTIAL, _MATERN_52 = 0, 1
_THIRD = 1.0 / 3.0


@part
def scale_input(x, inputs, layout, numbers, work):
    """Write z into row 0, inputs from `inputs` on being zero.

    If there are correlations, z in their units goes into row 1.
    """
    store(work, 0, spread(0.0))
    for j in range(inputs):
        work[0, j] = (x[j] - numbers[slot.OFFSET, j]) * numbers[slot.INVERSE_SCALE, j]
    if layout[slot.BLOCKS] == 0:
        return
    first = work[0, 0]
    for j in range(1, inputs):
        first += numbers[slot.SHEAR, j] * work[0, j]
    store(work, 1, load(work, 0) * load(numbers, slot.SCALE))
    work[1, 0] = first * numbers[slot.SCALE, 0]


# ---- polynomials


@kernel
def fill_table(layout, numbers, work):
    """Write the Legendre polynomials of all inputs side by side, a row for each degree.

    Their first and second derivatives follow, by P'_(m+1) = P'_(m-1) + (2 m + 1) P_m. The first
    input may have a Fourier series instead.
    """
    degree = layout[slot.DEGREE]
    first = layout[slot.TABLE]
    slope, bend = first + degree + 1, first + 2 * degree + 2
    z = load(work, 0)
    before, here = spread(0.0), spread(1.0)
    slope_before, slope_here = before, before
    bend_before, bend_here = before, before
    for m in range(degree + 1):
        store(work, first + m, here)
        store(work, slope + m, slope_here)
        store(work, bend + m, bend_here)
        odd = 2.0 * m + 1.0
        after = fma(z * here, odd / (m + 1.0), before * (-m / (m + 1.0)))
        slope_after = fma(here, odd, slope_before)
        bend_after = fma(slope_here, odd, bend_before)
        before, here = here, after
        slope_before, slope_here = slope_here, slope_after
        bend_before, bend_here = bend_here, bend_after
    if numbers[slot.WAVE, 0] > 0.0:
        _fill_fourier(degree, numbers[slot.WAVE, 0], first, slope, bend, work)


@part
def _fill_fourier(degree, wave, first, slope, bend, work):
    sine, cosine = math.sin(wave * work[0, 0]), math.cos(wave * work[0, 0])
    s, c = 0.0, 1.0
    for m in range(1, degree + 1):
        turns = wave * ((m + 1) // 2)
        if m % 2 == 1:
            s, c = s * cosine + c * sine, c * cosine - s * sine
            work[first + m, 0], work[slope + m, 0] = s, turns * c
        else:
            work[first + m, 0], work[slope + m, 0] = c, -turns * s
        work[bend + m, 0] = -turns * turns * work[first + m, 0]


@part
def term_rows(layout, numbers, work):
    """Write the rows of the terms; a term is its parent times one more factor of a new input."""
    rows, table = layout[slot.ROWS], LANES * layout[slot.TABLE]
    slopes = table + LANES * (layout[slot.DEGREE] + 1)
    store(work, rows, load(numbers, slot.UNIT + slot.VALUE))
    for t in range(1, layout[slot.TERMS]):
        at = slot.TERM_LIST + 3 * t
        parent, variable, factor = rows + layout[at], layout[at + 1], layout[at + 2]
        steep = peek(work, LANES * parent + slot.VALUE) * peek(work, slopes + factor)
        row = load(work, parent) * peek(work, table + factor)
        store(work, rows + t, fma(load(numbers, slot.UNIT + variable), steep, row))


@kernel
def term_values(terms, count, layout, work):
    """Write the terms of the list that begins at `terms`, side by side."""
    values, table = LANES * layout[slot.ROWS], LANES * layout[slot.TABLE]
    poke(work, values, 1.0)
    for t in range(1, count):
        at = terms + 3 * t
        parent, factor = values + layout[at], table + layout[at + 2]
        poke(work, values + t, peek(work, parent) * peek(work, factor))


# ---- correlations


@part
def correlate(first, last, layout, numbers, work, out):
    """Write the correlations with all points, side by side, over inputs `first` to `last` - 1.

    Two rows at a time, of an even number, as a single row would stall on its own results.
    """
    blocks, points = layout[slot.BLOCKS], layout[slot.POINTS]
    for b in range(0, blocks, 2):
        exponent, other_exponent = spread(0.0), spread(0.0)
        factor, other_factor = spread(1.0), spread(1.0)
        for j in range(first, last):
            at, here = points + j * blocks + b, peek(work, LANES + j)
            u, v = load(numbers, at) - here, load(numbers, at + 1) - here
            kind = layout[slot.KINDS + j]
            if kind == _SQUARED_EXPONENTIAL:
                exponent = fma(u, u, exponent)
                other_exponent = fma(v, v, other_exponent)
                continue
            u, v = absolute(u), absolute(v)
            exponent = exponent + u
            other_exponent = other_exponent + v
            bend = _THIRD if kind == _MATERN_52 else 0.0
            factor = factor * fma(fma(u, bend, 1.0), u, 1.0)
            other_factor = other_factor * fma(fma(v, bend, 1.0), v, 1.0)
        store(work, out + b, factor * decay(exponent))
        store(work, out + b + 1, other_factor * decay(other_exponent))


@part
def steepen(layout, numbers, work):
    """Write the derivative minus that of a squared exponential for inputs in `ROUGH_LIST`.

    Side by side, over the scale of the derivative; `point_rows` adds the result to its rows.
    """
    blocks, radii, out = layout[slot.BLOCKS], layout[slot.RADII], layout[slot.STEEPS]
    for i in range(layout[slot.ROUGH]):
        j = layout[slot.ROUGH_LIST + i]
        points = layout[slot.POINTS] + j * blocks
        c0, c1 = numbers[slot.UPPER, j], numbers[slot.UPPER + 1, j]
        c2, c3 = numbers[slot.LOWER, j], numbers[slot.LOWER + 1, j]
        for b in range(blocks):
            u = load(numbers, points + b) - peek(work, LANES + j)
            a = absolute(u)
            steep = (a * c1 + c0) / fma(fma(a, c3, c2), a, 1.0)
            store(work, out + b, (steep - 1.0) * u * load(work, radii + b))
        out += blocks


@inlined
def steepness(u, numbers):
    """Return d(log correlation)/du of all inputs, 1 in the lane of the value."""
    a = absolute(u)
    upper = fma(a, load(numbers, slot.UPPER + 1), load(numbers, slot.UPPER))
    lower = fma(fma(a, load(numbers, slot.LOWER + 1), load(numbers, slot.LOWER)), a, 1.0)
    return u * -1.0 * upper / lower


@inlined
def curvature(u, numbers):
    """Return (d2 correlation/du2) / correlation of all inputs; the value's lane is not used."""
    a = absolute(u)
    upper = fma(a, load(numbers, slot.BEND + 2), load(numbers, slot.BEND + 1))
    upper = fma(upper, a, load(numbers, slot.BEND))
    lower = fma(fma(a, load(numbers, slot.LOWER + 1), load(numbers, slot.LOWER)), a, 1.0)
    return upper / lower


@part
def point_rows(first, count, layout, numbers, work):
    """Write the rows of some correlations; derivatives are by the inputs over `STEEP_SCALE`.

    For squared exponentials, the derivative is the correlation times the distance; `steepen` has
    written the difference for the other inputs, of which at least one exists.
    """
    rows, places = layout[slot.ROWS], layout[slot.PLACES] + first
    radii = LANES * layout[slot.RADII] + first
    here = load(work, 1)
    unit = load(numbers, slot.UNIT + layout[slot.ROUGH_LIST])
    steeps = LANES * layout[slot.STEEPS] + first
    for m in range(count):
        row = (load(numbers, places + m) - here) * peek(work, radii + m)
        store(work, rows + m, fma(unit, peek(work, steeps + m), row))
    for i in range(1, layout[slot.ROUGH]):
        unit = load(numbers, slot.UNIT + layout[slot.ROUGH_LIST + i])
        steeps += LANES * layout[slot.BLOCKS]
        for m in range(count):
            row = fma(unit, peek(work, steeps + m), load(work, rows + m))
            store(work, rows + m, row)


# ---- networks


@part
def inner_units(net, layout, numbers, work):
    """Write tanh of the first layer of a network and its derivative, side by side, at `UNITS`."""
    d, blocks = layout[slot.INPUTS], layout[slot.UNIT_BLOCKS]
    inner, units = layout[slot.INNER] + net * (d + 1) * blocks, layout[slot.UNITS]
    for b in range(blocks):
        a = load(numbers, inner + b)
        for j in range(d):
            a = fma(load(numbers, inner + (j + 1) * blocks + b), work[0, j], a)
        t = hyperbolic_tangent(a)
        store(work, units + b, t)
        store(work, units + blocks + b, fma(t * -1.0, t, 1.0))


@part
def outer_values(net, layout, numbers, work):
    """Write the outer units of a network, side by side, behind the inner units."""
    blocks = layout[slot.UNIT_BLOCKS]
    hidden = layout[slot.HIDDEN] + net * blocks * blocks * LANES
    bias, units = layout[slot.HIDDEN_BIAS] + net * blocks, layout[slot.UNITS]
    for b in range(blocks):
        weights = hidden + b * blocks * LANES
        a = combine(work, units, blocks, numbers, weights) + load(numbers, bias + b)
        store(work, units + 2 * blocks + b, hyperbolic_tangent(a))


@part
def unit_rows(net, layout, numbers, work):
    """Write the rows of the outer units of a network; return the first row."""
    blocks = layout[slot.UNIT_BLOCKS]
    inner_units(net, layout, numbers, work)
    rows, units, count = layout[slot.ROWS], layout[slot.UNITS], blocks * LANES
    weights = layout[slot.INNER_ROWS] + net * count
    value = load(numbers, slot.UNIT + slot.VALUE)
    values, slopes = LANES * units, LANES * (units + blocks)
    for u in range(count):
        row = load(numbers, weights + u) * peek(work, slopes + u)
        store(work, rows + u, fma(value, peek(work, values + u), row))
    outer = rows + count
    hidden = layout[slot.HIDDEN] + net * blocks * blocks * LANES
    bias = layout[slot.HIDDEN_BIAS] + net * blocks
    for b in range(blocks):
        first = outer + LANES * b
        for lane in range(LANES):
            store(work, first + lane, value * numbers[bias + b, lane])
        add_to_eight(work, rows, count, numbers, hidden + b * count, first, STORED)
        _bend_rows(first, units + 2 * blocks, numbers, work)
    return outer


@part
def _bend_rows(first, scratch, numbers, work):
    """Put eight rows through tanh."""
    for lane in range(LANES):
        work[scratch, lane] = work[first + lane, slot.VALUE]
    t = hyperbolic_tangent(load(work, scratch))
    store(work, scratch, t)
    store(work, scratch + 1, fma(t * -1.0, t, 1.0))
    value, others = load(numbers, slot.UNIT + slot.VALUE), load(numbers, slot.OTHERS)
    for lane in range(LANES):
        row = load(work, first + lane) * others * work[scratch + 1, lane]
        store(work, first + lane, fma(value, work[scratch, lane], row))
