"""The features of a regressor and their gradients.

A feature with its gradient is a row: its derivatives by the inputs z in the first lanes, its value
in the last. Where values alone are wanted, features stand side by side, eight in a row.
"""

from __future__ import annotations

import math

from foundation.compiling import inlined, kernel, part
from surrogates.compiled.functions import decay, hyperbolic_tangent
from surrogates.compiled.lanes import LANES, absolute, fma, load, peek, poke, spread, store
from surrogates.compiled.layout import (
    BEND,
    BLOCKS,
    DEGREE,
    HIDDEN,
    HIDDEN_BIAS,
    INNER,
    INNER_ROWS,
    INPUTS,
    INVERSE_SCALE,
    KINDS,
    LOWER,
    OFFSET,
    OTHERS,
    PLACES,
    POINTS,
    RADII,
    ROUGH,
    ROUGH_LIST,
    ROWS,
    SCALE,
    SHEAR,
    STEEPS,
    TABLE,
    TERM_LIST,
    TERMS,
    UNIT,
    UNIT_BLOCKS,
    UNITS,
    UPPER,
    VALUE,
    WAVE,
)
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
        work[0, j] = (x[j] - numbers[OFFSET, j]) * numbers[INVERSE_SCALE, j]
    if layout[BLOCKS] == 0:
        return
    first = work[0, 0]
    for j in range(1, inputs):
        first += numbers[SHEAR, j] * work[0, j]
    store(work, 1, load(work, 0) * load(numbers, SCALE))
    work[1, 0] = first * numbers[SCALE, 0]


# ---- polynomials


@kernel
def fill_table(layout, numbers, work):
    """Write the Legendre polynomials of all inputs side by side, a row for each degree.

    Their first and second derivatives follow, by P'_(m+1) = P'_(m-1) + (2 m + 1) P_m. The first
    input may have a Fourier series instead.
    """
    degree = layout[DEGREE]
    first, slope, bend = layout[TABLE], layout[TABLE] + degree + 1, layout[TABLE] + 2 * degree + 2
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
    if numbers[WAVE, 0] > 0.0:
        _fill_fourier(degree, numbers[WAVE, 0], first, slope, bend, work)


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
    rows, table = layout[ROWS], LANES * layout[TABLE]
    slopes = table + LANES * (layout[DEGREE] + 1)
    store(work, rows, load(numbers, UNIT + VALUE))
    for t in range(1, layout[TERMS]):
        at = TERM_LIST + 3 * t
        parent, variable, factor = rows + layout[at], layout[at + 1], layout[at + 2]
        steep = peek(work, LANES * parent + VALUE) * peek(work, slopes + factor)
        row = load(work, parent) * peek(work, table + factor)
        store(work, rows + t, fma(load(numbers, UNIT + variable), steep, row))


@kernel
def term_values(terms, count, layout, work):
    """Write the terms of the list that begins at `terms`, side by side."""
    values, table = LANES * layout[ROWS], LANES * layout[TABLE]
    poke(work, values, 1.0)
    for t in range(1, count):
        at = terms + 3 * t
        parent, factor = values + layout[at], table + layout[at + 2]
        poke(work, values + t, peek(work, parent) * peek(work, factor))


# ---- correlations


@part
def correlate(first, last, layout, numbers, work, out):
    """Write the correlations with all points, side by side, over inputs `first` to `last` - 1.

    Two rows at a time, of which there is an even number: one would wait for its results.
    """
    blocks, points = layout[BLOCKS], layout[POINTS]
    for b in range(0, blocks, 2):
        exponent, other_exponent = spread(0.0), spread(0.0)
        factor, other_factor = spread(1.0), spread(1.0)
        for j in range(first, last):
            at, here = points + j * blocks + b, peek(work, LANES + j)
            u, v = load(numbers, at) - here, load(numbers, at + 1) - here
            kind = layout[KINDS + j]
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
    """Write what the rows of correlations lack for inputs in `ROUGH_LIST`, side by side.

    That is, the derivative less that of a squared exponential over its scale.
    """
    blocks, radii, out = layout[BLOCKS], layout[RADII], layout[STEEPS]
    for i in range(layout[ROUGH]):
        j = layout[ROUGH_LIST + i]
        points = layout[POINTS] + j * blocks
        c0, c1 = numbers[UPPER, j], numbers[UPPER + 1, j]
        c2, c3 = numbers[LOWER, j], numbers[LOWER + 1, j]
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
    upper = fma(a, load(numbers, UPPER + 1), load(numbers, UPPER))
    lower = fma(fma(a, load(numbers, LOWER + 1), load(numbers, LOWER)), a, 1.0)
    return u * -1.0 * upper / lower


@inlined
def curvature(u, numbers):
    """Return (d2 correlation/du2) / correlation of all inputs; the value's lane is not used."""
    a = absolute(u)
    upper = fma(fma(a, load(numbers, BEND + 2), load(numbers, BEND + 1)), a, load(numbers, BEND))
    lower = fma(fma(a, load(numbers, LOWER + 1), load(numbers, LOWER)), a, 1.0)
    return upper / lower


@part
def point_rows(first, count, layout, numbers, work):
    """Write the rows of some correlations; derivatives are by the inputs over `STEEP_SCALE`.

    Those of squared exponentials are the correlation times the distance; what others lack, of which
    there is at least one, has been written by `steepen`.
    """
    rows, places, radii = layout[ROWS], layout[PLACES] + first, LANES * layout[RADII] + first
    here = load(work, 1)
    unit = load(numbers, UNIT + layout[ROUGH_LIST])
    steeps = LANES * layout[STEEPS] + first
    for m in range(count):
        row = (load(numbers, places + m) - here) * peek(work, radii + m)
        store(work, rows + m, fma(unit, peek(work, steeps + m), row))
    for i in range(1, layout[ROUGH]):
        unit = load(numbers, UNIT + layout[ROUGH_LIST + i])
        steeps += LANES * layout[BLOCKS]
        for m in range(count):
            row = fma(unit, peek(work, steeps + m), load(work, rows + m))
            store(work, rows + m, row)


# ---- networks


@part
def inner_units(net, layout, numbers, work):
    """Write tanh of the first layer of a network and its derivative, side by side, at `UNITS`."""
    d, blocks = layout[INPUTS], layout[UNIT_BLOCKS]
    inner, units = layout[INNER] + net * (d + 1) * blocks, layout[UNITS]
    for b in range(blocks):
        a = load(numbers, inner + b)
        for j in range(d):
            a = fma(load(numbers, inner + (j + 1) * blocks + b), work[0, j], a)
        t = hyperbolic_tangent(a)
        store(work, units + b, t)
        store(work, units + blocks + b, fma(t * -1.0, t, 1.0))


@part
def outer_values(net, layout, numbers, work):
    """Write the outer units of a network, side by side, behind the inner ones."""
    blocks = layout[UNIT_BLOCKS]
    hidden = layout[HIDDEN] + net * blocks * blocks * LANES
    bias, units = layout[HIDDEN_BIAS] + net * blocks, layout[UNITS]
    for b in range(blocks):
        weights = hidden + b * blocks * LANES
        a = combine(work, units, blocks, numbers, weights) + load(numbers, bias + b)
        store(work, units + 2 * blocks + b, hyperbolic_tangent(a))


@part
def unit_rows(net, layout, numbers, work):
    """Write the rows of the outer units of a network; returns the first."""
    blocks = layout[UNIT_BLOCKS]
    inner_units(net, layout, numbers, work)
    rows, units, count = layout[ROWS], layout[UNITS], blocks * LANES
    weights = layout[INNER_ROWS] + net * count
    value = load(numbers, UNIT + VALUE)
    values, slopes = LANES * units, LANES * (units + blocks)
    for u in range(count):
        row = load(numbers, weights + u) * peek(work, slopes + u)
        store(work, rows + u, fma(value, peek(work, values + u), row))
    outer = rows + count
    hidden = layout[HIDDEN] + net * blocks * blocks * LANES
    bias = layout[HIDDEN_BIAS] + net * blocks
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
        work[scratch, lane] = work[first + lane, VALUE]
    t = hyperbolic_tangent(load(work, scratch))
    store(work, scratch, t)
    store(work, scratch + 1, fma(t * -1.0, t, 1.0))
    value, others = load(numbers, UNIT + VALUE), load(numbers, OTHERS)
    for lane in range(LANES):
        row = load(work, first + lane) * others * work[scratch + 1, lane]
        store(work, first + lane, fma(value, work[scratch, lane], row))
