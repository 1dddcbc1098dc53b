"""Complementarity problems that decide statements, and the document's algorithms to the letter."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dynamics.mechanics.unilateral import Complementarity, solve_complementarity
from foundation.base.checks import FloatArray, IntArray

#: Positive definite; the most negative row is switched twice, and without end.
TWICE = (np.array([[1, -1, 0], [-1, 2, 1], [0, 1, 2]]), np.array([-3, -3, -4]))
WITHOUT_END = (
    np.array([[1, -4, 1, 5], [-4, 20, 2, -16], [1, 2, 15, 13], [5, -16, 13, 30]]),
    np.array([-2, 12, 14, -3]),
)
#: Switching all negative rows at once returns to sets of rows that were left.
IN_CIRCLES = (
    np.array([[8.0, 8.0, -2.0], [8.0, 9.0, -4.0], [-2.0, -4.0, 5.0]]),
    np.array([-1.0, -3.0, 4.0]),
)
#: The free minimum has two or three negative values; the least of them belongs to a positive X.
TWO_ROWS = (np.array([[1.0, -5.0], [-5.0, 29.0]]), np.array([-1.0, 8.0]))
THREE_ROWS = (
    np.array([[1.0, -1.0, -1.0], [-1.0, 3.0, 0.0], [-1.0, 0.0, 2.0]]),
    np.array([-1.0, 2.0, 2.0]),
)
#: Equal values at the free minimum, and equal free terms, of rows that end differently.
EQUAL_REACTIONS = (np.array([[1.0, -2.0], [-2.0, 5.0]]), np.array([-1.0, 3.0]))
EQUAL_TERMS = (np.array([[1.0, 2.0], [2.0, 5.0]]), np.array([-1.0, -1.0]))


def by_rows(matrix: FloatArray, constant: FloatArray) -> Complementarity:
    """Return the solution of Y = A X + B by the most negative row (n, n), (n,) [1]."""
    return solve_complementarity(matrix, constant, rule="most_negative")


def free_minimum(matrix: FloatArray, constant: FloatArray) -> FloatArray:
    """Return X (n,) [1] of the minimum without limits, A X + B = 0."""
    return np.asarray(np.linalg.solve(matrix, -constant), dtype=np.float64)


def is_positive_definite(matrix: FloatArray) -> bool:
    """Return whether A (n, n) [1] is symmetric and positive definite."""
    return bool(np.array_equal(matrix, matrix.T) and np.linalg.eigvalsh(matrix)[0] > 0.0)


def energy(matrix: FloatArray, constant: FloatArray, x: FloatArray) -> float:
    """Return Xᵀ A X / 2 + Xᵀ B, eq. 4 [1]."""
    return float(0.5 * x @ matrix @ x + x @ constant)


def variants(matrix: FloatArray, constant: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield X and Y (n,) [1] of all 2ⁿ choices of links that are on (Y = 0, else X = 0)."""
    for choice in product((False, True), repeat=constant.size):
        on, x = np.flatnonzero(choice), np.zeros(constant.size)
        x[on] = np.linalg.solve(matrix[np.ix_(on, on)], -constant[on])
        y = matrix @ x + constant
        y[on] = 0.0
        yield x, y


def all_at_once(matrix: FloatArray, constant: FloatArray, most: int) -> list[tuple[bool, ...]]:
    """Return the sets of links that are on as all negative rows are switched at a time."""
    on: NDArray[np.bool_] = np.zeros(constant.size, dtype=np.bool_)
    passed = [tuple(on.tolist())]
    for _ in range(most):
        x = np.zeros(constant.size)
        x[on] = np.linalg.solve(matrix[np.ix_(on, on)], -constant[on])
        negative = np.where(on, x, matrix @ x + constant) < 0.0
        if not negative.any():
            break
        on = on ^ negative
        passed.append(tuple(on.tolist()))
    return passed


def by_algorithm_2(matrix: FloatArray, constant: FloatArray) -> tuple[FloatArray, list[int]]:
    """Return X (n,) [1] of algorithm 2 as printed, and the leading rows in their order.

    The forward pass of Gauss's elimination leads with the row of the most negative free term among
    those that have not led; the backward pass follows. Signs of X are not looked at.
    """
    a, b = matrix.astype(np.float64), constant.astype(np.float64)
    rest, led = list(range(b.size)), []
    while rest and min(b[rest]) < 0.0:
        lead = min(rest, key=lambda row: b[row])
        rest.remove(lead)
        led.append(lead)
        for row in rest:
            factor = a[row, lead] / a[lead, lead]
            a[row] -= factor * a[lead]
            b[row] -= factor * b[lead]
    x = np.zeros(b.size)
    for row in reversed(led):
        x[row] = -(b[row] + a[row] @ x) / a[row, row]
    return x, led


def numbers(rows: IntArray | list[int] | tuple[int, ...]) -> str:
    """Return the numbers of rows, from 1, as text."""
    return ", ".join(str(int(row) + 1) for row in rows)


def values(vector: FloatArray, digits: int = 3) -> str:
    """Return numbers as text, without negative zeros."""
    return ", ".join(f"{value + 0.0:.{digits}f}" for value in np.round(vector, digits))
