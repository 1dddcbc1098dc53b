"""Lemke's complementary pivoting with the lexicographic rule, the last resort of the solver."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray

_EPSILON = 1e-11


def lemke(matrix: FloatArray, constant: FloatArray) -> NDArray[np.bool_] | None:
    """Return whether x is basic in each row of a solution of Y = A X + B [1], or None after a ray.

    A is (n, n), B (n,). An artificial z times a column of ones makes all rows feasible; then the
    partner of the variable that left enters until z leaves. For a P-matrix the method finds the
    solution; for a positive-semidefinite matrix a solution, or a ray, which proves that no Y >= 0
    with X >= 0 exists (Lemke 1965, Management Sci 11:681-689; Cottle, Pang & Stone 1992, chapter
    4). The lexicographic ratio test prevents cycling.
    """
    n = constant.size
    if (constant >= 0.0).all():
        return np.zeros(n, dtype=np.bool_)
    artificial = 2 * n
    # Columns: y, x, z, right side. Rows are divided by their size, columns are not scaled.
    table = np.hstack([np.eye(n), -matrix, -np.ones((n, 1)), constant[:, None]])
    basis = np.arange(n)
    # Of equal rows the last: then the rows stay lexicographically positive.
    entering, row = artificial, int(np.flatnonzero(constant == constant.min())[-1])
    while True:
        leaving = int(basis[row])
        _pivot(table, row, entering)
        basis[row] = entering
        if leaving == artificial:
            return np.isin(np.arange(n) + n, basis)
        entering = leaving + n if leaving < n else leaving - n
        following = _leaving_row(table, basis, entering, artificial)
        if following is None:
            return None
        row = following


def _pivot(table: FloatArray, row: int, column: int) -> None:
    table[row] /= table[row, column]
    factor = table[:, column].copy()
    factor[row] = 0.0
    table -= np.outer(factor, table[row])


def _leaving_row(
    table: FloatArray, basis: NDArray[np.int_], entering: int, artificial: int
) -> int | None:
    """Return the lexicographically least row of (right side, inverse basis) over the column."""
    column = table[:, entering]
    rows = np.flatnonzero(column > _EPSILON * np.abs(table[:, entering]).max())
    if rows.size == 0:
        return None
    for key in (table.shape[1] - 1, *range(basis.size)):
        ratios = table[rows, key] / column[rows]
        rows = rows[ratios <= ratios.min() + _EPSILON * (np.abs(ratios).max() + 1e-300)]
        if artificial in basis[rows]:
            return int(rows[basis[rows] == artificial][0])
        if rows.size == 1:
            break
    return int(rows[0])
