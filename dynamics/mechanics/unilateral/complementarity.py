"""Linear complementarity problems: Y = A X + B, Y >= 0, X >= 0, Yᵀ X = 0, with equalities beside.

An exclusion interchanges x and y of a row; the free terms follow from the active subsystem,
x_a = -A_aa⁻¹ B_a and y_i = A_ia x_a + B_i. The fast rule takes the row with the most negative free
term until none is negative (Kolesnikov 2004), which ends for K-matrices (Chandrasekaran 1970,
Opsearch 7:263-268), not for every positive-definite A. Once n exclusions have not lowered the
number of negative rows, the negative row of least index is taken until the number falls (Kostreva
1978, Linear Algebra Appl 21:207-215; Júdice & Pires 1994, Computers Ops Res 21:587-596), which ends
for every P-matrix (Murty 1974, Opsearch 11:123-130). Large problems switch all negative rows at
once, as long as their number falls (Kostreva 1978). Where a pivot may be zero or the safeguard
takes too long, Lemke's method follows. docs/mechanics.md has matrices on which the fast rule
repeats rows or cycles.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, IntArray, check_array, check_in, frozen
from foundation.base.errors import InputError

#: Rules that choose the negative rows to switch.
RULES = ("blocks", "most_negative", "least_index")
#: Problems with fewer rows take about as long row by row as by blocks.
_SMALL = 64
#: Blocks without fewer negative rows after which single rows follow.
_PATIENCE = 4
#: Exclusions of single rows, in rows, before Lemke's method: the least index can take 2^n of them.
_MOST = 100
#: A free term counts as negative beyond this part of the sum of the magnitudes it is made of.
_NOISE = 1e-12
#: Floor of the noise, a few rounding errors, where problems stall without.
_FLOOR = 1e-14
#: A pivot counts as zero below this part of the diagonal element.
_ZERO_PIVOT = 1e-12
#: Elements of Lemke's tableau count as zero below this part of the largest.
_EPSILON = 1e-11

BoolArray = NDArray[np.bool_]


class ComplementarityError(RuntimeError):
    """The problem has no solution, or the methods do not cover its matrix."""


class PivotError(ArithmeticError):
    """A pivot is not positive: A is not a P-matrix, or not to working precision."""


@dataclass(frozen=True, eq=False)
class Complementarity:
    """A solution of Y = A X + B, Y >= 0, X >= 0, Yᵀ X = 0."""

    #: x, y (n,) [1]: one of each pair exactly zero; the x of an equality has either sign.
    x: FloatArray
    y: FloatArray
    #: Rows with basic x, y = 0 (n,); not equalities that depend on others, x = y = 0.
    active: BoolArray
    #: Rows in the order in which they were switched, without equalities.
    exclusions: tuple[int, ...]
    #: Rule of that order: "blocks", "most_negative" or "least_index"; rows of a block ascend.
    order: str
    #: Whether the rule failed: least index used, or single rows in place of blocks.
    safeguarded: bool
    #: Whether a pivot was not positive, or switching took too long.
    by_lemke: bool

    @property
    def repeated(self) -> bool:
        """Whether a row was switched twice."""
        return len(set(self.exclusions)) < len(self.exclusions)


def solve_complementarity(
    matrix: ArrayLike,
    constant: ArrayLike,
    *,
    rule: str | None = None,
    equalities: ArrayLike = (),
) -> Complementarity:
    """Solve Y = A X + B, Y >= 0, X >= 0, Yᵀ X = 0 [1]; (k,) or (n,) equalities: Y = 0, any X."""
    # The unique solution for a P-matrix A (n, n), such as a positive-definite one; a solution, if
    # any, for a positive-semidefinite one, else `ComplementarityError`. The rule says which
    # negative rows to switch: all, the most negative (Kolesnikov 2004, the default for less than 64
    # rows), or the least index.
    b = check_array("constant", constant, (None,))
    a = check_array("matrix", matrix, (b.size, b.size))
    rule = check_in("rule", rule or ("most_negative" if b.size < _SMALL else "blocks"), RULES)
    return _Problem(a, b, row_mask("equalities", equalities, b.size)).solve(rule)


def row_mask(name: str, rows: ArrayLike, n: int) -> BoolArray:
    """Return indices (k,) or truth values (n,) of rows as truth values (n,) [1], or raise."""
    given = np.asarray(rows)
    mask = np.zeros(n, dtype=np.bool_)
    if given.size == 0:
        return mask
    if given.dtype == np.bool_ and given.shape == (n,):
        return given.copy()
    if given.dtype.kind not in "iu" or given.ndim != 1 or given.min() < 0 or given.max() >= n:
        raise InputError(
            f"{name}: expected indices from 0 to {n - 1}, or {n} truth values, found {rows!r}"
        )
    mask[given] = True
    return mask


def free_terms(matrix: FloatArray, constant: FloatArray, active: BoolArray) -> FloatArray:
    """Return x of the active rows and y of the others (n,) [1], or raise `PivotError`."""
    on, x = active.nonzero()[0], np.zeros(constant.size)
    try:
        x[on] = np.linalg.solve(matrix[np.ix_(on, on)], -constant[on])
    except np.linalg.LinAlgError as error:
        raise PivotError("the active subsystem is singular") from error
    return np.where(active, x, matrix @ x + constant)


class _Problem:
    """A problem and the rows that its methods have switched."""

    def __init__(self, a: FloatArray, b: FloatArray, equalities: BoolArray) -> None:
        self._a, self._b, self._equalities = a, b, equalities
        self._size, self._floor = np.abs(a), 0.0
        diagonal = np.abs(np.diagonal(a))
        self._diagonal = np.where(diagonal > 0.0, diagonal, 1.0)
        self._exclusions: list[int] = []
        self._safeguarded = False

    def solve(self, rule: str) -> Complementarity:
        """Return the solution by a rule, by single rows after it and at last by Lemke's method."""
        by_lemke, order = False, rule
        try:
            active = self._by_blocks() if rule == "blocks" else None
            if active is None:
                order = "most_negative" if rule == "blocks" and not self._exclusions else rule
                self._safeguarded |= bool(self._exclusions)
                active = self._by_rows("most_negative" if rule == "blocks" else rule)
            free = free_terms(self._a, self._b, active)
        except PivotError:
            by_lemke, (active, free) = True, self._by_lemke()
        # Values within rounding of zero are zero.
        beyond = (free > self._limits(active, free)) | (self._equalities & active)
        value = np.where(beyond, free, 0.0)
        return Complementarity(
            frozen(np.where(active, value, 0.0)),
            frozen(np.where(active, 0.0, value)),
            frozen(active),
            tuple(self._exclusions),
            order,
            self._safeguarded,
            by_lemke and not self._floor,
        )

    def _limits(self, active: BoolArray, free: FloatArray) -> FloatArray:
        """Return how far below zero a free term (n,) still counts as zero."""
        x = np.where(active, free, 0.0)
        root = np.sqrt(self._diagonal)
        noise = _NOISE * (self._size @ np.abs(x) + np.abs(self._b))
        floor = self._floor * np.abs(x * root).max(initial=0.0)
        own = np.where(np.diagonal(self._size) > 0.0, noise / self._diagonal,
                       _NOISE * np.abs(x).max(initial=0.0))  # fmt: skip
        return np.where(active, own + floor / root, noise + floor * root)

    def _negative(self, active: BoolArray, free: FloatArray) -> IntArray:
        """Return the rows whose free term is negative beyond rounding, but for equalities."""
        negative = (free < -self._limits(active, free)) & ~self._equalities
        return np.asarray(negative.nonzero()[0], dtype=np.int64)

    def _by_blocks(self) -> BoolArray | None:
        """Switch all negative rows until none is left; return None where that stalls."""
        if not (np.diagonal(self._a)[~self._equalities] > 0.0).all():
            return None
        active, least, stalled = self._equalities.copy(), self._b.size + 1, 0
        while stalled < _PATIENCE:
            try:
                rows = self._negative(active, free_terms(self._a, self._b, active))
            except PivotError:
                return None
            if rows.size == 0:
                return active
            # Blocks that only enter end by themselves; of a K-matrix all blocks do.
            if rows.size < least:
                least, stalled = rows.size, 0
            elif active[rows].any():
                stalled += 1
            self._exclusions += rows.tolist()
            active[rows] = ~active[rows]
        return None

    def _by_rows(self, rule: str) -> BoolArray:
        """Switch single rows until none is negative; return the active rows (n,)."""
        size, active = self._b.size, self._equalities.copy()
        free = free_terms(self._a, self._b, active)
        least, patience = size + 1, size
        seen: set[bytes] = set()
        for count in itertools.count():
            negative = self._negative(active, free)
            if negative.size == 0:
                return active
            if negative.size < least:
                least, patience = negative.size, size
                seen.clear()
            if rule == "most_negative" and patience > 0:
                patience -= 1
                row = int(negative[np.argmin(free[negative])])
            else:
                self._safeguarded |= rule == "most_negative"
                row = int(negative[0])
                # Of a P-matrix the least index meets no state twice.
                key = active.tobytes()
                if key in seen:
                    raise PivotError("the least index cycles")
                seen.add(key)
            if count > _MOST * size:
                raise PivotError("single rows take too long")
            free = self._excluded(active, free, row)
            self._exclusions.append(row)
        raise AssertionError("unreachable: the count has no end")

    def _excluded(self, active: BoolArray, free: FloatArray, row: int) -> FloatArray:
        """Switch a row of the active rows (n,) in place and return the new free terms (n,)."""
        before = free[row]
        active[row] = not active[row]
        free = free_terms(self._a, self._b, active)
        # The pivot is the ratio of leaving and entering value, which have opposite signs. A pivot
        # close to zero shows as a disproportionate entering value.
        least = _ZERO_PIVOT * self._a[row, row] if active[row] else 0.0
        wrong = free[row] <= 0.0 and free[row] < -self._limits(active, free)[row]
        if wrong or -before <= least * free[row]:
            raise PivotError(f"row {row}: the pivot is not positive")
        return free

    def _by_lemke(self) -> tuple[BoolArray, FloatArray]:
        """Return active rows (n,) and free terms (n,) by Lemke's method."""
        a, b, equal = self._a, self._b, self._equalities
        rows = np.flatnonzero(equal)  # an equality is a pair of inequalities
        wide = np.block([[a, -a[:, rows]], [-a[rows], a[np.ix_(rows, rows)]]])
        active = lemke(wide, np.concatenate([b, -b[rows]]))
        if active is None:
            return self._beyond_rounding(
                f"no solution of the complementarity problem of {b.size} rows was found: Lemke's "
                "method ended on a ray (for a positive-semidefinite matrix: no solution exists)"
            )
        active[rows] |= active[b.size :]
        active = active[: b.size]
        # Equalities that depend on other rows hold with x = 0.
        for tried in (active | equal, active):
            try:
                free = free_terms(a, b, tried)
            except PivotError:
                continue
            beyond = 1e3 * self._limits(tried, free)
            missed = np.where(equal, ~tried & (np.abs(free) > beyond), free < -beyond)
            if not missed.any():
                return tried, free
        return self._beyond_rounding("Lemke's method lost the solution in rounding")

    def _beyond_rounding(self, failure: str) -> tuple[BoolArray, FloatArray]:
        """Return active rows (n,) and free terms (n,) with a floor of the noise, or raise."""
        if self._floor:
            raise ComplementarityError(failure)
        self._floor = _FLOOR
        self._exclusions.clear()
        try:
            active = self._by_rows("most_negative")
            on = np.flatnonzero(active)
            if on.size and np.linalg.cond(self._a[np.ix_(on, on)]) > 1.0 / _ZERO_PIVOT:
                raise ComplementarityError(failure)
            return active, free_terms(self._a, self._b, active)
        except PivotError as error:
            raise ComplementarityError(failure) from error


def lemke(matrix: FloatArray, constant: FloatArray) -> BoolArray | None:
    """Return whether x is basic in each row of a solution (n,) [1], or None after a ray."""
    # The lexicographic rule breaks ties, so that the method does not cycle (Cottle, Pang & Stone
    # 1992, The Linear Complementarity Problem, section 4.9).
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
    rows = np.flatnonzero(column > _EPSILON * np.abs(column).max())
    if rows.size == 0:
        return None
    keys: Sequence[int] = (table.shape[1] - 1, *range(basis.size))
    for key in keys:
        ratios = table[rows, key] / column[rows]
        rows = rows[ratios <= ratios.min() + _EPSILON * (np.abs(ratios).max() + 1e-300)]
        if artificial in basis[rows]:
            return int(rows[basis[rows] == artificial][0])
        if rows.size == 1:
            break
    return int(rows[0])
