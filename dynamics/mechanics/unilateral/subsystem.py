"""Solutions of the active subsystem A_aa x = r while the active rows a change.

The subsystem is factorised by Cholesky's method, or by LU where A_aa is not symmetric positive
definite. With d rows entered or left since, the unknowns are bordered by the x of the entered rows
and the y of the left ones, d more columns, so that the factors stay (Schur's complement; Golub &
Van Loan 2013, Matrix Computations, section 3.2; Gill, Murray, Saunders & Wright 1987, SIAM J Sci
Stat Comput 8:s37). A new factorisation is due where d columns cost more than that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from foundation.base.checks import FloatArray

#: Subsystems with fewer rows are factorised anew, which takes no longer than an update.
_SMALL = 48
#: Changed rows, as a part of the rows of the factorisation, that cost as much as a new one.
_SHARE = {"cholesky": 1.0 / 6.0, "lu": 1.0 / 3.0}


class PivotError(ArithmeticError):
    """A pivot is not positive: A is not a P-matrix, or not to working precision."""


class Subsystem:
    """Factorisation of A_aa for the active rows, (m, m) [1], and changes of the active rows.

    Parameters
    ----------
    matrix : (n, n) float64
        A [1].
    active : (n,) bool
        Active rows [1].

    Raises
    ------
    PivotError
        If A_aa is singular; of small ones `solve` raises it.
    """

    def __init__(self, matrix: FloatArray, active: NDArray[np.bool_]) -> None:
        self._matrix, self._base, self._rows = matrix, active.copy(), active.nonzero()[0]
        # Rows whose columns are solved, in the order of these columns.
        self._known: list[int] = []
        self._columns = np.empty((self._rows.size, 0), order="F")
        self._entered = self._left = np.empty(0, dtype=np.int64)
        self._block = matrix.take(self._rows, 0).take(self._rows, 1)
        self._weakest: float | None = None
        if self._rows.size >= _SMALL:
            self._factorise()

    @property
    def weakest_pivot(self) -> float:
        """Smallest pivot of the factorisation, as a part of the terms that it is the sum of [1]."""
        if self._weakest is None:
            self._factorise()
        return self._weakest or 0.0

    @property
    def is_new(self) -> bool:
        """Whether the active rows are those of the factorisation."""
        return self._entered.size + self._left.size == 0

    def _factorise(self) -> None:
        block, self._kind, self._weakest = self._block, "cholesky", 1.0
        if block.size == 0:
            return
        diagonal = block.diagonal()
        if diagonal.min() > 0.0 and (block == block.T).all():
            self._factor, failed = lapack.dpotrf(block.T, lower=1, clean=0)
            if not failed:
                self._weakest = float((self._factor.diagonal() ** 2 / diagonal).min())
                return
        self._kind, size = "lu", np.abs(block).max(axis=1)
        # The transposed matrix lies in the order of LAPACK.
        self._factor, self._pivots, failed = lapack.dgetrf(block.T)
        if failed:
            raise PivotError("the active subsystem is singular")
        self._weakest = float((np.abs(self._factor.diagonal()) / size).min())

    def _solve_base(self, right: FloatArray) -> FloatArray:
        """Return A_aa⁻¹ times (m,) or (m, k) [any unit] for the factorised rows."""
        if right.size == 0:
            return right
        if self._weakest is None:
            try:
                return np.asarray(np.linalg.solve(self._block, right), dtype=np.float64)
            except np.linalg.LinAlgError as error:
                raise PivotError("the active subsystem is singular") from error
        if self._kind == "cholesky":
            return lapack.dpotrs(self._factor, right, lower=1)[0]
        return lapack.dgetrs(self._factor, self._pivots, right, trans=1)[0]

    def update(self, active: NDArray[np.bool_]) -> bool:
        """Take over the active rows (n,) [1]; return False if a new factorisation is due.

        Raises
        ------
        PivotError
            If the new subsystem is singular.
        """
        changed = (active != self._base).nonzero()[0]
        if self._rows.size < _SMALL or changed.size > _SHARE[self._kind] * self._rows.size:
            return False
        left = self._base[changed]
        self._entered, self._left = changed[~left], changed[left]
        if changed.size:
            self._border()
        return True

    def _border(self) -> None:
        """Factorise Schur's complement of the border."""
        entered = self._entered
        rows = np.concatenate([entered, self._left])
        self._solve_columns([row for row in rows.tolist() if row not in set(self._known)])
        place = {row: column for column, row in enumerate(self._known)}
        self._solved = self._columns[:, [place[row] for row in rows.tolist()]]
        self._along = self._matrix.take(entered, 0).take(self._rows, 1)
        self._places = np.searchsorted(self._rows, self._left)
        schur = -np.vstack([self._along @ self._solved, self._solved[self._places]])
        size = np.abs(np.diagonal(schur))
        k = entered.size
        own = self._matrix.take(entered, 0).take(entered, 1)
        size[:k] += np.abs(np.diagonal(own))
        schur[:k, :k] += own
        self._schur, self._schur_pivots, failed = lapack.dgetrf(schur)
        if failed:
            raise PivotError("the active subsystem is singular")
        with np.errstate(divide="ignore", invalid="ignore"):
            weakest = np.nan_to_num(np.abs(np.diagonal(self._schur)) / size, nan=0.0).min()
        self._weakest_update = float(weakest)

    @property
    def weakest_update(self) -> float:
        """Smallest pivot of Schur's complement, as a part of the terms that it is the sum of."""
        return 1.0 if self.is_new else self._weakest_update

    def _solve_columns(self, rows: list[int]) -> None:
        """Solve for the columns of rows (k,): of A for new rows, of -I for rows of the base."""
        if not rows:
            return
        index = np.array(rows)
        right = np.zeros((self._rows.size, index.size), order="F")
        inside = self._base[index]
        right[:, ~inside] = self._matrix[self._rows[:, None], index[~inside]]
        right[np.searchsorted(self._rows, index[inside]), inside.nonzero()[0]] = -1.0
        self._columns = np.hstack([self._columns, self._solve_base(right)])
        self._known += rows

    def solve(self, right: FloatArray) -> FloatArray:
        """Return x (n,) with A_aa x_a = r_a for r (n,), zero in rows that are not active [1]."""
        x = np.zeros(right.size)
        inner = self._solve_base(right[self._rows])
        if not self.is_new:
            rest = np.concatenate(
                [right[self._entered] - self._along @ inner, -inner[self._places]]
            )
            border = lapack.dgetrs(self._schur, self._schur_pivots, rest)[0]
            inner = inner - self._solved @ border
            x[self._entered] = border[: self._entered.size]
        x[self._rows] = inner
        x[self._left] = 0.0
        return x
