"""Functions of the six pose coordinates with first and second derivatives: sums, products, chains.

A *series* is a row (43,): the value, the gradient (6,), the second derivatives (6, 6) by rows.
"""

from __future__ import annotations

from foundation.base.compiling import part

#: Numbers of a series, and where its second derivatives begin.
SERIES, BEND = 43, 7


@part
def put(value, slope, bend, series):
    """Fill a series from its value, slope (6,) and second derivatives (6, 6)."""
    series[0] = value
    for i in range(6):
        series[1 + i] = slope[i]
        for j in range(6):
            series[BEND + 6 * i + j] = bend[i, j]


@part
def apply(value, slope, bend, a, series):
    """Fill the series of f(a) from f(a), f'(a), f''(a) and the series a, which may be the same."""
    for i in range(6):
        for j in range(6):
            at = BEND + 6 * i + j
            series[at] = slope * a[at] + bend * a[1 + i] * a[1 + j]
    for i in range(1, 7):
        series[i] = slope * a[i]
    series[0] = value


@part
def add(factor, a, series):
    """Add a factor times the series a to a series."""
    for i in range(SERIES):
        series[i] += factor * a[i]


@part
def multiply(a, b, series):
    """Fill the series of a b."""
    series[0] = a[0] * b[0]
    for i in range(1, 7):
        series[i] = a[0] * b[i] + b[0] * a[i]
        for j in range(1, 7):
            at = BEND + 6 * (i - 1) + j - 1
            series[at] = a[0] * b[at] + b[0] * a[at] + a[i] * b[j] + a[j] * b[i]


@part
def chain(value, slope, bend, inputs, series, row):
    """Fill the series of a function of n variables, which are the series inputs (n, 43).

    From the function's value, gradient (n,) and second derivatives (n, n); `row` (6,) is scratch.
    """
    series[:] = 0.0
    n = slope.size
    for a in range(n):
        for i in range(1, SERIES):
            series[i] += slope[a] * inputs[a, i]
        for j in range(6):
            total = 0.0
            for b in range(n):
                total += bend[a, b] * inputs[b, 1 + j]
            row[j] = total
        for i in range(6):
            for j in range(6):
                series[BEND + 6 * i + j] += inputs[a, 1 + i] * row[j]
    series[0] = value
