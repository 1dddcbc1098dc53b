"""States of Y = A X + B between exclusions: basic variables, free terms, and their noise.

Of every pair (x_i, y_i) one is zero and the other basic; the free term of row i is the value of the
basic one. An exclusion of row i swaps the two. With the "active" rows, those with basic x,

    x_a = -A_aa⁻¹ B_a,   y_i = A_ia x_a + B_i,

and the pivot of row i is the factor between what leaves and what enters: Schur's complement
A_ii - A_ia A_aa⁻¹ A_ai of an inactive row, (A_aa⁻¹)_ii of an active one. Both are positive if all
principal minors of A are (a P-matrix; Cottle, Pang & Stone 1992, The Linear Complementarity
Problem, chapter 4).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from foundation.checks import FloatArray

#: A free term counts as negative beyond this part of the sum of the magnitudes it is made of.
NOISE = 1e-12
#: Schur's complement counts as zero below this part of the diagonal element.
ZERO_PIVOT = 1e-12


class PivotError(ArithmeticError):
    """A pivot is not positive: A is not a P-matrix, or not to working precision."""


class Noise:
    """Distance below zero at which a free term still counts as zero, for A (n, n) and B (n,) [1].

    For a y the distance is `NOISE` times the sum of the magnitudes of its terms; for an x the
    change that moves the y of its row by that much. The limits scale with rows and columns.
    """

    def __init__(self, matrix: FloatArray, constant: FloatArray) -> None:
        self._matrix, self._constant = np.abs(matrix), np.abs(constant)
        diagonal = np.diagonal(self._matrix)
        self._positive = diagonal > 0.0
        self._diagonal = np.where(self._positive, diagonal, 1.0)

    def limits(self, active: NDArray[np.bool_], free: FloatArray) -> FloatArray:
        """Return the limit of every row (n,), in the unit of the free terms [1]."""
        x = np.where(active, np.abs(free), 0.0)
        noise = NOISE * (self._matrix @ x + self._constant)
        own = np.where(self._positive, noise / self._diagonal, NOISE * x.max(initial=0.0))
        return np.where(active, own, noise)


class State(Protocol):
    """A state as the rules of switching use it: active rows (n,) and free terms (n,) [1]."""

    active: NDArray[np.bool_]
    free: FloatArray

    def exclude(self, row: int) -> None:
        """Swap x and y of the row, or raise `PivotError`."""


class Jordan:
    """The tableau (n, n) [1], transformed by Jordan exclusions, about n² multiplications each.

    Rounding accumulates from one exclusion to the next.
    """

    def __init__(self, matrix: FloatArray, constant: FloatArray) -> None:
        self.active = np.zeros(constant.size, dtype=np.bool_)
        self.free = constant.copy()
        self._diagonal = np.diagonal(matrix)
        self._tableau = matrix.copy()

    def exclude(self, row: int) -> None:
        """Swap x and y of the row, or raise `PivotError`."""
        pivot = self._tableau[row, row]
        if not pivot > (0.0 if self.active[row] else ZERO_PIVOT * self._diagonal[row]):
            raise PivotError(f"row {row}: the pivot is not positive")
        column = self._tableau[:, row] / pivot
        along = self._tableau[row].copy()
        along[row] = -1.0
        column[row] = 0.0
        value = self.free[row]
        self._tableau -= np.outer(column, along)
        self._tableau[:, row] = column
        self._tableau[row] = along / -pivot
        self.free -= column * value
        self.free[row] = -value / pivot
        self.active[row] = not self.active[row]


class Gauss:
    """The active subsystem (m, m) [1], solved anew by elimination: rounding does not accumulate."""

    def __init__(
        self,
        matrix: FloatArray,
        constant: FloatArray,
        noise: Noise,
        active: NDArray[np.bool_] | None = None,
    ) -> None:
        self._matrix, self._constant, self._noise = matrix, constant, noise
        self.active = np.zeros(constant.size, dtype=np.bool_) if active is None else active.copy()
        self.free = self._solve()

    def exclude(self, row: int) -> None:
        """Swap x and y of the row, or raise `PivotError`."""
        before = self.free[row]
        self.active[row] = not self.active[row]
        self.free = self._solve()
        # The pivot is the ratio of leaving and entering value, which have opposite signs. A pivot
        # close to zero shows as a disproportionate entering value.
        after = self.free[row]
        least = ZERO_PIVOT * self._matrix[row, row] if self.active[row] else 0.0
        wrong = after <= 0.0 and after < -self._noise.limits(self.active, self.free)[row]
        if wrong or -before <= least * after:
            raise PivotError(f"row {row}: the pivot is not positive")

    def _solve(self) -> FloatArray:
        rows = self.active.nonzero()[0]
        columns = self._matrix[:, rows]
        try:
            x = np.linalg.solve(columns[rows], -self._constant[rows])
        except np.linalg.LinAlgError as error:
            raise PivotError("the active subsystem is singular") from error
        free = columns @ x + self._constant
        free[rows] = x
        return free
