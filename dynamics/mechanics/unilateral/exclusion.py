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

from dynamics.mechanics.unilateral.subsystem import PivotError, Subsystem
from foundation.base.checks import FloatArray, IntArray

#: A free term counts as negative beyond this part of the sum of the magnitudes it is made of.
NOISE = 1e-12
#: Schur's complement counts as zero below this part of the diagonal element.
ZERO_PIVOT = 1e-12
#: Pivots of an updated factorisation below this part of their terms ask for a new factorisation.
_WEAK_PIVOT = 1e-8
#: Part of the noise that the equations of the active rows may miss.
_ROUNDING = 1e-2


class Noise:
    """Distance below zero at which a free term still counts as zero, for A (n, n) and B (n,) [1].

    For a y the distance is `NOISE` times the sum of the magnitudes of its terms; for an x the
    change that moves the y of its row by that much. The limits scale with rows and columns.

    With a `floor` [1], that part of the largest X √A_ii comes on top: rounding errors of one row
    that reach rows with nothing but zeros, in sparse degenerate problems.

    `magnitudes` are those of B (n,), `root_diagonal` the roots of those of A_ii, 1 for zero (n,).
    """

    def __init__(self, matrix: FloatArray, constant: FloatArray, floor: float = 0.0) -> None:
        self._matrix, self.magnitudes, self._floor = matrix, np.abs(constant), floor
        diagonal = np.abs(np.diagonal(matrix))
        self._positive = diagonal > 0.0
        self._diagonal = np.where(self._positive, diagonal, 1.0)
        self.root_diagonal = np.sqrt(self._diagonal)

    def limits(
        self, active: NDArray[np.bool_], free: FloatArray, rows: IntArray | None = None
    ) -> FloatArray:
        """Return the limit of every row (n,), or of the given rows (k,), like `free` [1]."""
        x = np.where(active, free, 0.0)
        at = slice(None) if rows is None else rows
        noise, positive = self.of_sums(x, rows), self._positive[at]
        own = noise / self._diagonal[at]
        if not positive.all():
            own = np.where(positive, own, NOISE * np.abs(x).max(initial=0.0))
        if self._floor:
            root = self.root_diagonal[at]
            floor = self._floor * np.abs(x * self.root_diagonal).max(initial=0.0)
            own, noise = own + floor / root, noise + floor * root
        return np.where(active[at], own, noise)

    def of_sums(self, x: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """Return the limits of A X + B, all (n,) or of the given rows (k,), for X (n,) [1]."""
        if rows is None:
            return NOISE * (np.abs(self._matrix) @ np.abs(x) + self.magnitudes)
        return NOISE * (np.abs(self._matrix.take(rows, 0)) @ np.abs(x) + self.magnitudes[rows])


class State(Protocol):
    """A state as the rules of switching use it: active rows (n,) and free terms (n,) [1]."""

    active: NDArray[np.bool_]
    free: FloatArray

    def exclude(self, row: int) -> None:
        """Swap x and y of the row, or raise `PivotError`."""

    def settle(self) -> None:
        """Free the terms from rounding errors as far as the method does, or raise `PivotError`."""


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

    def settle(self) -> None:
        """Do nothing: the tableau keeps its rounding errors."""


class Gauss:
    """The active subsystem (m, m) [1], solved by elimination: rounding does not accumulate.

    The factorisation is updated while few rows differ from those it was made for.
    """

    def __init__(
        self,
        matrix: FloatArray,
        constant: FloatArray,
        noise: Noise,
        active: NDArray[np.bool_] | None = None,
    ) -> None:
        self._matrix, self._constant, self._noise = matrix, constant, noise
        self.active = np.zeros(constant.size, dtype=np.bool_) if active is None else active.copy()
        self._subsystem = Subsystem(matrix, self.active)
        self._solve()

    @property
    def is_weak(self) -> bool:
        """Whether a pivot of the factorisation is zero to working precision."""
        return self._subsystem.weakest_pivot <= ZERO_PIVOT

    def exclude(self, row: int) -> None:
        """Swap x and y of the row, or raise `PivotError`."""
        before = self.free[row]
        self.exclude_block(np.array([row]))
        # The pivot is the ratio of leaving and entering value, which have opposite signs. A pivot
        # close to zero shows as a disproportionate entering value.
        after = self.free[row]
        least = ZERO_PIVOT * self._matrix[row, row] if self.active[row] else 0.0
        wrong = after <= 0.0 and after < -self._noise.limits(self.active, self.free)[row]
        if wrong or -before <= least * after:
            raise PivotError(f"row {row}: the pivot is not positive")

    def exclude_block(self, rows: IntArray) -> None:
        """Swap x and y of all given rows (k,), or raise `PivotError`."""
        self.active[rows] = ~self.active[rows]
        if not self._subsystem.update(self.active):
            self._subsystem = Subsystem(self._matrix, self.active)
        self._solve()

    def settle(self) -> None:
        """Free the terms from the rounding errors of updates, or raise `PivotError`."""
        subsystem = self._subsystem
        if subsystem.is_new:
            return
        if min(subsystem.weakest_pivot, subsystem.weakest_update) > _WEAK_PIVOT:
            # Two of the terms are a lower bound of their sum that costs nothing.
            some = np.abs(np.diagonal(self._matrix) * self.x) + np.abs(self._constant)
            if (np.abs(self._rest) <= _ROUNDING * NOISE * some).all():
                return
            for _ in range(2):
                if self._is_accurate():
                    return
                self._take(self.x - subsystem.solve(self._rest))
        self._subsystem = Subsystem(self._matrix, self.active)
        self._solve()

    def _is_accurate(self) -> bool:
        return bool((np.abs(self._rest) <= _ROUNDING * self._noise.of_sums(self.x)).all())

    def _solve(self) -> None:
        self._take(self._subsystem.solve(-self._constant))

    def _take(self, x: FloatArray) -> None:
        """Set the free terms for X (n,), and what is left of the active rows."""
        self.x, self._y = x, self._matrix @ x + self._constant
        self.free = np.where(self.active, x, self._y)

    @property
    def _rest(self) -> FloatArray:
        """What the equations of the active rows miss (n,) [1]."""
        return np.where(self.active, self._y, 0.0)
