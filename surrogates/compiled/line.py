"""A regressor's first output along its last input, with the other inputs fixed, and its roots.

`prepare_line` computes everything that does not depend on the last input: the polynomials become a
polynomial of one variable, correlations keep their last factor, networks the contribution of the
last input to their first layer. The results stay in the scratch memory, which other functions may
use meanwhile.
"""

from __future__ import annotations

import math

from foundation.base.compiling import inlined, kernel, part
from surrogates.compiled import layout as slot
from surrogates.compiled.features import correlate, fill_table, scale_input, term_values
from surrogates.compiled.functions import decay, hyperbolic_tangent
from surrogates.compiled.lanes import LANES, absolute, fma, load, spread, store, total
from surrogates.compiled.layout import rows_of
from surrogates.compiled.regressor_data import SPLINE_ORDER
from surrogates.compiled.splines import blend
from surrogates.compiled.sums import combine

#: Newton steps of `solve_line`, and all steps, including the halvings that guarantee an end.
NEWTON_STEPS, MOST_STEPS = 30, 90
#: A step of this fraction of the range is the last: the next step would be about its square. After
#: a step by two points, the next step would be about the square of the step times the distance of
#: the points; at this product, over the square of the range, the step is the last, too.
LAST_STEP, LAST_PRODUCT = 1e-8, 1e-8


@kernel
def prepare_line(x, arguments, work):
    """Prepare `on_line` and `solve_line` for the line through x (d,), ignoring its last number.

    `work` as for `evaluate`; it keeps the line until the next `prepare_line`.
    """
    layout, numbers = arguments.layout, arguments.numbers
    work = rows_of(work)
    last = layout[slot.INPUTS] - 1
    scale_input(x, last, layout, numbers, work)
    if layout[slot.BLOCKS] > 0:
        # The first input's distances in a shear by the last depend on both.
        moved = layout[slot.LAST_MOVES_FIRST]
        work[layout[slot.LINE], 0] = work[1, 0]
        base = layout[slot.LINE_BASE]
        correlate(moved, last, layout, numbers, work, base)
        for b in range(layout[slot.BLOCKS]):
            weights = load(numbers, layout[slot.POINT_LINE] + b)
            store(work, base + b, load(work, base + b) * weights)
    fill_table(layout, numbers, work)
    rests = layout[slot.RESTS]
    term_values(layout[slot.REST_LIST], rests, layout, work)
    eights = layout[slot.LAST_DEGREE] // LANES + 1
    piece = blend(layout, numbers, work) if layout[slot.PIECES] > 0 else 0
    for c in range(eights):
        weights = layout[slot.REST_WEIGHTS] + (piece * eights + c) * rests
        row = combine(work, layout[slot.ROWS], rests // LANES, numbers, weights)
        if layout[slot.PIECES] > 0:
            row = row * work[layout[slot.BLENDS], 0]
            for s in range(1, SPLINE_ORDER):
                weights += eights * rests
                other = combine(work, layout[slot.ROWS], rests // LANES, numbers, weights)
                row = fma(other, work[layout[slot.BLENDS], s], row)
        store(work, layout[slot.LINE] + 1 + c, row)
    for net in range(layout[slot.NETS]):
        _fix_inputs(net, last, layout, numbers, work)


@part
def _fix_inputs(net, last, layout, numbers, work):
    blocks = layout[slot.UNIT_BLOCKS]
    inner = layout[slot.INNER] + net * (last + 2) * blocks
    out = layout[slot.LINE_UNITS] + net * blocks
    for b in range(blocks):
        a = load(numbers, inner + b)
        for j in range(last):
            a = fma(load(numbers, inner + (j + 1) * blocks + b), work[0, j], a)
        store(work, out + b, a)


@kernel
def on_line(x_last, arguments, work):
    """Return the first output and its derivative by the last input, at that input.

    On the line that `prepare_line` has put into `work`.
    """
    layout, numbers = arguments.layout, arguments.numbers
    return _on_line(x_last, layout, numbers, rows_of(work))


@part
def _on_line(x_last, layout, numbers, work):
    last = layout[slot.INPUTS] - 1
    inverse = numbers[slot.INVERSE_SCALE, last]
    z = (x_last - numbers[slot.OFFSET, last]) * inverse
    value, slope = _polynomial(z, last, layout, numbers, work)
    if layout[slot.BLOCKS] > 0:
        more, steeper = _correlations(z, last, layout, numbers, work)
        value += more
        slope += steeper
    for net in range(layout[slot.NETS]):
        more, steeper = _network(net, z, last, layout, numbers, work)
        value += more
        slope += steeper
    return value, slope * inverse


@part
def _polynomial(z, last, layout, numbers, work):
    line, wave = layout[slot.LINE] + 1, numbers[slot.WAVE, 0]
    value, slope = work[line, 0], 0.0
    if last == 0 and wave > 0.0:
        for e in range(1, layout[slot.LAST_DEGREE] + 1):
            turns = wave * ((e + 1) // 2)
            sine, cosine = math.sin(turns * z), math.cos(turns * z)
            coefficient = work[line + (e >> 3), e & 7]
            value += coefficient * (sine if e % 2 == 1 else cosine)
            slope += coefficient * turns * (cosine if e % 2 == 1 else -sine)
        return value, slope
    before, here, slope_before, slope_here = 1.0, z, 0.0, 1.0
    for e in range(1, layout[slot.LAST_DEGREE] + 1):
        coefficient = work[line + (e >> 3), e & 7]
        value += coefficient * here
        slope += coefficient * slope_here
        odd = 2.0 * e + 1.0
        after = (odd * z * here - e * before) / (e + 1.0)
        slope_after = slope_before + odd * here
        before, here, slope_before, slope_here = here, after, slope_here, slope_after
    return value, slope


@inlined
def _one_input(u, j, kind, numbers):
    """Return exponent, factor and logarithmic derivative of the correlation along input j."""
    if kind == 0:
        return u * u, spread(1.0), u * -2.0
    a = absolute(u)
    c0, c1 = numbers[slot.UPPER, j], numbers[slot.UPPER + 1, j]
    c2, c3 = numbers[slot.LOWER, j], numbers[slot.LOWER + 1, j]
    factor = fma(fma(a, c3, c2), a, 1.0)
    upper = a * c1 + c0
    return a, factor, u * -1.0 * upper / factor


@part
def _correlations(z, last, layout, numbers, work):
    blocks, points, base = layout[slot.BLOCKS], layout[slot.POINTS], layout[slot.LINE_BASE]
    here, kind = z * numbers[slot.SCALE, last], layout[slot.KINDS + last]
    moved = layout[slot.LAST_MOVES_FIRST] != 0
    shear = numbers[slot.SHEAR, last] * numbers[slot.SCALE, 0]
    first = work[layout[slot.LINE], 0] + shear * z
    value, slope = spread(0.0), spread(0.0)
    for b in range(blocks):
        u = (load(numbers, points + last * blocks + b) - here) * -1.0
        exponent, factor, steep = _one_input(u, last, kind, numbers)
        steep = steep * numbers[slot.SCALE, last]
        if moved:
            u = (load(numbers, points + b) - first) * -1.0
            more, other, by_first = _one_input(u, 0, layout[slot.KINDS], numbers)
            exponent = exponent + more
            factor = factor * other
            steep = fma(by_first, shear, steep)
        r = load(work, base + b) * factor * decay(exponent)
        value = value + r
        slope = fma(r, steep, slope)
    return total(value), total(slope)


@part
def _network(net, z, last, layout, numbers, work):
    blocks, units = layout[slot.UNIT_BLOCKS], layout[slot.UNITS]
    inner = layout[slot.INNER] + (net * (last + 2) + last + 1) * blocks
    fixed = layout[slot.LINE_UNITS] + net * blocks
    for b in range(blocks):
        by_last = load(numbers, inner + b)
        t = hyperbolic_tangent(fma(by_last, z, load(work, fixed + b)))
        store(work, units + b, t)
        store(work, units + blocks + b, fma(t * -1.0, t, 1.0) * by_last)
    hidden = layout[slot.HIDDEN] + net * blocks * blocks * LANES
    bias, line = layout[slot.HIDDEN_BIAS] + net * blocks, layout[slot.UNIT_LINE] + net * blocks
    value, slope = spread(0.0), spread(0.0)
    for b in range(blocks):
        weights = hidden + b * blocks * LANES
        a = combine(work, units, blocks, numbers, weights) + load(numbers, bias + b)
        by_last = combine(work, units + blocks, blocks, numbers, weights)
        t, weight = hyperbolic_tangent(a), load(numbers, line + b)
        value = fma(t, weight, value)
        slope = fma(fma(t * -1.0, t, 1.0) * by_last, weight, slope)
    return total(value), total(slope)


@kernel
def on_line_at(x, arguments, work):
    """Return the first output at x (d,) and its derivative by the last input."""
    prepare_line(x, arguments, work)
    return on_line(x[x.size - 1], arguments, work)


@kernel
def find_on_line(target, x, arguments, work):
    """Return `solve_line` from -1 to 1 on the line through x (d,): whether there is one, where."""
    prepare_line(x, arguments, work)
    return solve_line(target, -1.0, 1.0, arguments, work)


@kernel
def solve_line(target, low, high, arguments, work):
    """Return whether the first output reaches a value, and at which last input.

    The root is sought by cubics of the last input over the output through the last two points, kept
    inside a bracket `low` to `high`, in a bounded number of steps, on the line that `prepare_line`
    has put into `work`; the output is taken to fall. False and `low` if the output is not above the
    target there. Beyond `high` the output goes on along its tangent, or, should that rise, along
    its chord.
    """
    layout, numbers = arguments.layout, arguments.numbers
    work = rows_of(work)
    touch, slope = _on_line(low, layout, numbers, work)
    if not target < touch:
        return False, low
    before, output, steep = low, touch, slope
    x = low + (target - touch) / slope if slope < 0.0 else 0.5 * (low + high)
    x = min(x, high)
    width, bracketed = high - low, False
    chord = 1.0 / width
    for step in range(MOST_STEPS):
        found, slope = _on_line(x, layout, numbers, work)
        if found <= target:
            high = x
            bracketed = True
        elif x >= high:
            return True, high + (target - found) / _fall(target, found, slope, touch, chord)
        else:
            low = x
        nearer, apart = math.nan, width
        if slope < 0.0 and step < NEWTON_STEPS:
            nearer = x - (found - target) / slope
            if steep < 0.0 and found != output:
                nearer += _bend(target, x, found, slope, before, output, steep)
                apart = abs(x - before)
        if not (low <= nearer <= high):
            # Without a bracket the root is beyond, or the output does not fall: ask the far end.
            nearer = 0.5 * (low + high) if bracketed else high
            apart = width
        before, output, steep = x, found, slope
        moved = abs(nearer - x)
        x = nearer
        # The far end must be looked at, since the root may lie beyond.
        last = moved <= LAST_STEP * width or moved * apart <= LAST_PRODUCT * width * width
        if last and (bracketed or x < high):
            break
    return True, x


@part
def _bend(target, x, found, slope, before, output, steep):
    """Return by how much the cubic over the output, through two points, differs from the tangent.

    Of the last input at the target. The cubic has the values `x`, `before` and the slopes of the
    last input at the outputs `found`, `output` (Hermite).
    """
    apart, beyond = found - output, target - found
    chord = (x - before) / apart
    here = (1.0 / slope - chord) / apart
    there = (chord - 1.0 / steep) / apart
    return beyond * beyond * (here + (here - there) / apart * (target - output))


@part
def _fall(target, found, slope, touch, chord):
    """Return a negative slope with which to go on beyond the range."""
    if slope < 0.0:
        return slope
    by_chord = (found - touch) * chord
    return by_chord if by_chord < 0.0 else target - found  # neither falls: any fall will do
