"""Linear complementarity problems: Y = A X + B, Y >= 0, X >= 0, Yᵀ X = 0.

An exclusion interchanges x and y of a row; the free terms follow from the active subsystem,
x_a = -A_aa⁻¹ B_a and y_i = A_ia x_a + B_i. The fast rule takes the row with the most negative free
term until none is negative (Kolesnikov 2004), which ends for K-matrices (Chandrasekaran 1970,
Opsearch 7:263-268), not for every positive-definite A. Where the rule returns to a state, or a
pivot may be zero, Lemke's method follows, which ends for every P-matrix. docs/mechanics.md has a
matrix on which the fast rule cycles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, frozen

#: Exclusions, in rows, after which Lemke's method follows.
_MOST = 100
#: A free term counts as negative beyond this part of the sum of the magnitudes it is made of.
_NOISE = 1e-12
#: Floor of the noise, a few rounding errors of the largest value.
_FLOOR = 1e-14
#: A pivot counts as zero below this part of the diagonal element.
_ZERO_PIVOT = 1e-12
#: Elements of Lemke's tableau count as zero below this part of the largest.
_EPSILON = 1e-11

BoolArray = NDArray[np.bool_]


class ComplementarityError(RuntimeError):
    """The problem has no solution, or the methods do not cover its matrix."""


class PivotError(ArithmeticError):
    """A pivot is not positive, or the fast rule does not end."""


@dataclass(frozen=True, eq=False)
class Complementarity:
    """A solution of Y = A X + B, Y >= 0, X >= 0, Yᵀ X = 0."""

    #: x, y (n,) [1]: one of each pair exactly zero.
    x: FloatArray
    y: FloatArray
    #: Rows with basic x, y = 0 (n,).
    active: BoolArray
    #: Rows in the order in which the fast rule switched them.
    exclusions: tuple[int, ...]
    #: Whether Lemke's method has the solution.
    by_lemke: bool


def solve_complementarity(matrix: ArrayLike, constant: ArrayLike) -> Complementarity:
    """Solve Y = A X + B, Y >= 0, X >= 0, Yᵀ X = 0 [1] of A (n, n) and B (n,)."""
    # The unique solution for a P-matrix, such as a positive-definite one; a solution, if any, for a
    # positive-semidefinite one, else `ComplementarityError`.
    b = check_array("constant", constant, (None,))
    return _Problem(check_array("matrix", matrix, (b.size, b.size)), b).solve()


def free_terms(matrix: FloatArray, constant: FloatArray, active: BoolArray) -> FloatArray:
    """Return x of the active rows and y of the others (n,) [1], or raise `PivotError`."""
    on, x = active.nonzero()[0], np.zeros(constant.size)
    try:
        x[on] = np.linalg.solve(matrix[np.ix_(on, on)], -constant[on])
    except np.linalg.LinAlgError as error:
        raise PivotError("the active subsystem is singular") from error
    return np.where(active, x, matrix @ x + constant)


class _Problem:
    """A problem and the rows that the fast rule has switched."""

    def __init__(self, a: FloatArray, b: FloatArray) -> None:
        self._a, self._b, self._size, self._exclusions = a, b, np.abs(a), list[int]()

    def solve(self) -> Complementarity:
        """Return the solution by the fast rule, else by Lemke's method."""
        by_lemke = False
        try:
            active, free = self._by_rows()
        except PivotError:
            by_lemke, (active, free) = True, self._by_lemke()
        # Values within rounding of zero are zero.
        value = np.where(free > self._limits(active, free), free, 0.0)
        x, y = np.where(active, value, 0.0), np.where(active, 0.0, value)
        rows = tuple(self._exclusions)
        return Complementarity(frozen(x), frozen(y), frozen(active), rows, by_lemke)

    def _limits(self, active: BoolArray, free: FloatArray) -> FloatArray:
        """Return how far below zero a free term (n,) still counts as zero."""
        x, diagonal = np.where(active, free, 0.0), np.diagonal(self._size)
        noise = _NOISE * (self._size @ np.abs(x) + np.abs(self._b))
        largest = _NOISE * np.abs(x).max(initial=0.0)
        # Rounding errors spread from row to row, in proportion to the roots of the diagonal.
        root = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        floor = _FLOOR * np.abs(x * root).max(initial=0.0)
        own = np.where(diagonal > 0.0, noise / root**2, largest)
        return np.where(active, own + floor / root, noise + floor * root)

    def _by_rows(self) -> tuple[BoolArray, FloatArray]:
        """Switch the most negative row until none is; return active rows (n,), free terms (n,)."""
        active, seen = np.zeros(self._b.size, dtype=np.bool_), set[bytes]()
        free = free_terms(self._a, self._b, active)
        while (negative := np.flatnonzero(free < -self._limits(active, free))).size:
            if active.tobytes() in seen or len(self._exclusions) > _MOST * self._b.size:
                raise PivotError("the fast rule does not end")
            seen.add(active.tobytes())
            row = int(negative[np.argmin(free[negative])])
            before = free[row]
            active[row] = not active[row]
            free = free_terms(self._a, self._b, active)
            # The pivot is the ratio of leaving and entering value, which have opposite signs. A
            # pivot close to zero shows as a disproportionate entering value.
            least = _ZERO_PIVOT * self._a[row, row] if active[row] else 0.0
            wrong = free[row] <= 0.0 and free[row] < -self._limits(active, free)[row]
            if wrong or -before <= least * free[row]:
                raise PivotError(f"row {row}: the pivot is not positive")
            self._exclusions.append(row)
        return active, free

    def _by_lemke(self) -> tuple[BoolArray, FloatArray]:
        """Return active rows (n,) and free terms (n,) by Lemke's method."""
        active = lemke(self._a, self._b)
        if active is None:
            raise ComplementarityError(
                f"no solution of the complementarity problem of {self._b.size} rows was found: "
                "Lemke's method ended on a ray (for a positive-semidefinite matrix: no solution "
                "exists)"
            )
        try:
            free = free_terms(self._a, self._b, active)
        except PivotError as error:
            raise ComplementarityError("Lemke's method lost the solution in rounding") from error
        if (free < -1e3 * self._limits(active, free)).any():
            raise ComplementarityError("Lemke's method lost the solution in rounding")
        return active, free


def lemke(matrix: FloatArray, constant: FloatArray) -> BoolArray | None:
    """Return where (n,) X may exceed 0 in a solution of Y = A X + B [1]; None: ended on a ray."""
    # The lexicographic rule breaks ties, so that the method does not cycle (Cottle, Pang & Stone
    # 1992, The Linear Complementarity Problem, section 4.9).
    n = constant.size
    if (constant >= 0.0).all():
        return np.zeros(n, dtype=np.bool_)
    artificial = 2 * n
    # Columns: y, x, the artificial variable, B. Rows are divided by their pivot, columns are not.
    table = np.hstack([np.eye(n), -matrix, -np.ones((n, 1)), constant[:, None]])
    basis = np.arange(n)
    # The last of equally negative rows: then the rows stay lexicographically positive.
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
    rows = np.flatnonzero(column > _EPSILON * np.abs(column).max())
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
