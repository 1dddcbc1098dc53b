"""Sums of rows times weights: the contributions of a list of features to the outputs."""

from __future__ import annotations

from foundation.base.compiling import inlined, part
from surrogates.compiled.lanes import LANES, fma, load, peek, spread, store, total

#: Value of `places` for rows that are stored in the scratch memory.
STORED = -1


@part
def add_rows(work, rows, count, numbers, weights, step, line, sums, outputs, places):
    """Add `count` (whole eights) rows times their weights to the row of each output.

    Weights begin at row `weights` (`step` rows further for the next eight outputs), or at row
    `line` for a single output. For `rows` and `places`, see `_feature`.
    """
    if outputs == 1:
        _add_to_one(work, rows, count, numbers, line, sums, places)
        return
    for first in range(0, outputs, LANES):
        if outputs - first <= 6:
            _add_to_six(work, rows, count, numbers, weights, sums + first, places)
        else:
            add_to_eight(work, rows, count, numbers, weights, sums + first, places)
        weights += step


@inlined
def _feature(m, rows, places, here, work, numbers):
    """Return row m from `rows` on, or the row of a correlation.

    If all inputs are of the squared exponential, a row is the correlation (side by side from row
    `rows` on) times the distance to a point (from row `places` of the numbers on).
    """
    if places == STORED:
        return load(work, rows + m)
    return (load(numbers, places + m) - here) * peek(work, LANES * rows + m)


@inlined
def load_eight(work, first):
    """Return eight rows (8,) each [1] from `first` on."""
    return (
        load(work, first), load(work, first + 1), load(work, first + 2), load(work, first + 3),
        load(work, first + 4), load(work, first + 5), load(work, first + 6), load(work, first + 7),
    )  # fmt: skip


@inlined
def store_eight(work, first, s0, s1, s2, s3, s4, s5, s6, s7):
    """Write eight rows from `first` on."""
    store(work, first, s0)
    store(work, first + 1, s1)
    store(work, first + 2, s2)
    store(work, first + 3, s3)
    store(work, first + 4, s4)
    store(work, first + 5, s5)
    store(work, first + 6, s6)
    store(work, first + 7, s7)


@part
def _add_to_one(work, rows, count, numbers, line, sums, places):
    here = load(work, 1)
    s0 = load(work, sums)
    s1 = spread(0.0)
    s2 = s1
    s3 = s1
    for block in range(count // LANES):
        m = LANES * block
        w = line + block
        row = _feature(m, rows, places, here, work, numbers)
        s0 = fma(row, numbers[w, 0], s0)
        row = _feature(m + 1, rows, places, here, work, numbers)
        s1 = fma(row, numbers[w, 1], s1)
        row = _feature(m + 2, rows, places, here, work, numbers)
        s2 = fma(row, numbers[w, 2], s2)
        row = _feature(m + 3, rows, places, here, work, numbers)
        s3 = fma(row, numbers[w, 3], s3)
        row = _feature(m + 4, rows, places, here, work, numbers)
        s0 = fma(row, numbers[w, 4], s0)
        row = _feature(m + 5, rows, places, here, work, numbers)
        s1 = fma(row, numbers[w, 5], s1)
        row = _feature(m + 6, rows, places, here, work, numbers)
        s2 = fma(row, numbers[w, 6], s2)
        row = _feature(m + 7, rows, places, here, work, numbers)
        s3 = fma(row, numbers[w, 7], s3)
    store(work, sums, (s0 + s1) + (s2 + s3))


@part
def _add_to_six(work, rows, count, numbers, weights, sums, places):
    here = load(work, 1)
    s0, s1, s2, s3, s4, s5, s6, s7 = load_eight(work, sums)
    for m in range(count):
        row = _feature(m, rows, places, here, work, numbers)
        w = weights + m
        s0 = fma(row, numbers[w, 0], s0)
        s1 = fma(row, numbers[w, 1], s1)
        s2 = fma(row, numbers[w, 2], s2)
        s3 = fma(row, numbers[w, 3], s3)
        s4 = fma(row, numbers[w, 4], s4)
        s5 = fma(row, numbers[w, 5], s5)
    store_eight(work, sums, s0, s1, s2, s3, s4, s5, s6, s7)


@part
def add_to_eight(work, rows, count, numbers, weights, sums, places):
    """Add `count` rows times their weights for eight outputs to eight rows of sums."""
    here = load(work, 1)
    s0, s1, s2, s3, s4, s5, s6, s7 = load_eight(work, sums)
    for m in range(count):
        row = _feature(m, rows, places, here, work, numbers)
        w = weights + m
        s0 = fma(row, numbers[w, 0], s0)
        s1 = fma(row, numbers[w, 1], s1)
        s2 = fma(row, numbers[w, 2], s2)
        s3 = fma(row, numbers[w, 3], s3)
        s4 = fma(row, numbers[w, 4], s4)
        s5 = fma(row, numbers[w, 5], s5)
        s6 = fma(row, numbers[w, 6], s6)
        s7 = fma(row, numbers[w, 7], s7)
    store_eight(work, sums, s0, s1, s2, s3, s4, s5, s6, s7)


@part
def combine(work, values, blocks, numbers, weights):
    """Return the row of eight sums of numbers, side by side, times their rows of weights."""
    s0 = spread(0.0)
    s1 = s0
    s2 = s0
    s3 = s0
    for b in range(blocks):
        v = values + b
        w = weights + LANES * b
        s0 = fma(load(numbers, w), work[v, 0], s0)
        s1 = fma(load(numbers, w + 1), work[v, 1], s1)
        s2 = fma(load(numbers, w + 2), work[v, 2], s2)
        s3 = fma(load(numbers, w + 3), work[v, 3], s3)
        s0 = fma(load(numbers, w + 4), work[v, 4], s0)
        s1 = fma(load(numbers, w + 5), work[v, 5], s1)
        s2 = fma(load(numbers, w + 6), work[v, 6], s2)
        s3 = fma(load(numbers, w + 7), work[v, 7], s3)
    return (s0 + s1) + (s2 + s3)


@part
def dot(work, values, blocks, numbers, line):
    """Return the sum of numbers, side by side, times weights, side by side."""
    even = spread(0.0)
    odd = even
    for b in range(0, blocks - 1, 2):
        even = fma(load(work, values + b), load(numbers, line + b), even)
        odd = fma(load(work, values + b + 1), load(numbers, line + b + 1), odd)
    if blocks % 2:
        last = blocks - 1
        even = fma(load(work, values + last), load(numbers, line + last), even)
    return total(even + odd)


@part
def add_values(work, values, blocks, numbers, weights, step, line, value):
    """Add numbers, side by side, times their weights to the outputs."""
    if value.size == 1:
        value[0] += dot(work, values, blocks, numbers, line)
        return
    for first in range(0, value.size, LANES):
        store(work, 1, combine(work, values, blocks, numbers, weights))
        for o in range(min(LANES, value.size - first)):
            value[first + o] += work[1, o]
        weights += step
