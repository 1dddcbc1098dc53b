"""Exclusions of complementarity problems in fractions: an oracle without rounding."""

from fractions import Fraction

import numpy as np

#: Positive definite; the most negative row is switched twice, and without end.
TWICE = (np.array([[1, -1, 0], [-1, 2, 1], [0, 1, 2]]), np.array([-3, -3, -4]))
WITHOUT_END = (
    np.array([[1, -4, 1, 5], [-4, 20, 2, -16], [1, 2, 15, 13], [5, -16, 13, 30]]),
    np.array([-2, 12, 14, -3]),
)


def most_negative_rows(a, b, most):
    """Rows of the most negative free term, by Jordan exclusions in fractions: no rounding."""
    n = len(b)
    table = [[Fraction(int(v)) for v in (*row, c)] for row, c in zip(a, b, strict=True)]
    rows = []
    while len(rows) < most and min(line[n] for line in table) < 0:
        r = min(range(n), key=lambda i: table[i][n])
        rows.append(r)
        pivot = table[r][r]
        solved = [-v / pivot for v in table[r]]
        solved[r] = 1 / pivot
        for i in range(n):
            if i != r:
                factor, table[i][r] = table[i][r], Fraction(0)
                table[i] = [v + factor * s for v, s in zip(table[i], solved, strict=True)]
        table[r] = solved
    return rows
