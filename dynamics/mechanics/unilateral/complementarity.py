"""Linear complementarity problems: Y = A X + B, Y >= 0, X >= 0, Yᵀ X = 0, with equalities beside.

Large problems switch blocks of rows (`dynamics.mechanics.unilateral.blocks`). One row at a time,
the fast rule switches the row with the most negative free term until none is negative (Kolesnikov
2004). The rule ends for K-matrices (Chandrasekaran 1970, Opsearch 7:263-268; Cottle, Pang & Stone
1992, The Linear Complementarity Problem, chapter 4), not for every positive-definite A. Once n
exclusions have not lowered the number of negative rows, the negative row of least index is taken
until the number falls (Kostreva 1978, Linear Algebra Appl 21:207-215; Júdice & Pires 1994,
Computers Ops Res 21:587-596), which ends for every P-matrix (Murty 1974, Opsearch 11:123-130).
Where a pivot may be zero or the safeguard takes too long, Lemke's method follows
(`dynamics.mechanics.unilateral.lemke`).
docs/mechanics.md has matrices on which the fast rule repeats rows or cycles.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.mechanics.unilateral.blocks import negative_rows, switch_blocks
from dynamics.mechanics.unilateral.exclusion import Gauss, Jordan, Noise, State
from dynamics.mechanics.unilateral.lemke import lemke
from dynamics.mechanics.unilateral.subsystem import PivotError
from foundation.base.checks import FloatArray, check_array, check_in, frozen
from foundation.base.errors import InputError

#: Rules that choose the negative rows to switch.
RULES = ("blocks", "most_negative", "least_index")
#: Methods for the free terms: the whole tableau, or the active subsystem.
ELIMINATIONS = ("gauss", "jordan")
#: Problems with fewer rows take about as long row by row as by blocks.
_SMALL = 64
#: Exclusions of single rows, in rows, before Lemke's method: the least index can take 2^n of them.
_MOST, _MOST_AFTER_BLOCKS = 100, 4
#: Floor of the noise, a few rounding errors, where problems stall without.
_FLOOR = 1e-14


class ComplementarityError(RuntimeError):
    """The problem has no solution, or the methods do not cover its matrix."""


@dataclass(frozen=True, eq=False)
class Complementarity:
    """A solution of Y = A X + B, Y >= 0, X >= 0, Yᵀ X = 0.

    Attributes
    ----------
    x, y : (n,) float64
        The two sides, >= 0, one of each pair exactly zero; the x of an equality has either sign
        [1].
    active : (n,) bool
        Rows with basic x, that is with y = 0 [1]; without equalities that depend on others, which
        have x = y = 0.
    exclusions : tuple of int
        Rows in the order in which they were switched, rows of equalities left out.
    order : {"blocks", "most_negative", "least_index"}
        Rule of that order: blocks of rows, ascending within a block and the prediction first; or
        single rows, the most negative free term or the least index first.
    safeguarded : bool
        Whether the rule failed: the least index was used, or single rows in place of blocks.
    by_lemke : bool
        Whether switching met a pivot that is not positive, or took too long, so that Lemke's method
        was used.
    """

    x: FloatArray
    y: FloatArray
    active: NDArray[np.bool_]
    exclusions: tuple[int, ...]
    order: str
    safeguarded: bool
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
    elimination: str = "gauss",
    equalities: ArrayLike = (),
) -> Complementarity:
    """Solve Y = A X + B, Y >= 0, X >= 0, Yᵀ X = 0; rows of equalities have Y = 0 and any X.

    Parameters
    ----------
    matrix : (n, n) float64
        A [1]. For a P-matrix (all principal minors positive, such as a positive-definite matrix)
        the unique solution is found; for a positive-semidefinite matrix a solution, if any exists.
    constant : (n,) float64
        B [1].
    rule : {"blocks", "most_negative", "least_index"}, optional
        Rows to switch: blocks of negative rows, which is fast; the most negative row with its
        safeguard, the order of Kolesnikov (2004); or the least index from the start. The default is
        "most_negative" for less than 64 rows or with Jordan exclusions, else "blocks".
    elimination : {"gauss", "jordan"}
        Solve the active subsystem, or transform the whole tableau, one row at a time. Both switch
        the same rows.
    equalities : (k,) int or (n,) bool
        Rows with y = 0 whose x is free in sign; by default none [1].

    Returns
    -------
    Complementarity
        The solution.

    Raises
    ------
    InputError
        If an argument is not as described.
    ComplementarityError
        If no solution was found.
    """
    b = check_array("constant", constant, (None,))
    a = check_array("matrix", matrix, (b.size, b.size))
    check_in("elimination", elimination, ELIMINATIONS)
    rule = check_in("rule", rule or _default_rule(elimination, b.size), RULES)
    if (rule, elimination) == ("blocks", "jordan"):
        raise InputError(
            'rule: expected "most_negative" or "least_index" with Jordan exclusions, found "blocks"'
        )
    problem = _Problem(a, b, row_mask("equalities", equalities, b.size))
    try:
        if rule != "blocks" or not problem.by_blocks():
            problem.by_single_rows(rule, elimination)
        active, free = problem.state.active, problem.state.free
    except PivotError:
        active, free = problem.by_lemke()
    return problem.solution(active, free)


def _default_rule(elimination: str, n: int) -> str:
    return "most_negative" if elimination == "jordan" or n < _SMALL else "blocks"


def row_mask(name: str, rows: ArrayLike, n: int) -> NDArray[np.bool_]:
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


class _Problem:
    """A problem, the state that its methods have reached, and the rows they have switched."""

    def __init__(self, a: FloatArray, b: FloatArray, equalities: NDArray[np.bool_]) -> None:
        self._a, self._b, self._equalities = a, b, equalities
        self._noise = Noise(a, b)
        self.exclusions: list[int] = []
        self._order, self._safeguarded, self.is_by_lemke = "blocks", False, False
        self.state: State

    def by_blocks(self) -> bool:
        """Switch blocks; return False where single rows have to follow."""
        diagonal = np.diagonal(self._a)
        if not (diagonal[~self._equalities] > 0.0).all():
            return False
        try:
            if self._switched_blocks(self._noise):
                return True
            state = self.state
            # Terms of the size of rounding errors can stall the blocks.
            if self._switched_blocks(Noise(self._a, self._b, _FLOOR)):
                return True
        except PivotError:
            self.exclusions.clear()
            return False
        self._safeguarded, self.state = True, state
        self._switch(state, "most_negative", _MOST_AFTER_BLOCKS)
        return True

    def _switched_blocks(self, noise: Noise) -> bool:
        """Switch blocks; return whether that ended, so that the noise is that of the problem."""
        self.state, solved = switch_blocks(
            self._a, self._b, noise, self._equalities, self.exclusions
        )
        if solved:
            self._noise = noise
        return solved

    def by_single_rows(self, rule: str, elimination: str) -> None:
        """Switch one row at a time, from Y = B."""
        self._order = "most_negative" if rule == "blocks" else rule
        start = self._equalities
        if elimination == "jordan":
            self.state = Jordan(self._a, self._b)
            for row in np.flatnonzero(start):
                self.state.exclude(int(row))
            self._switch(self.state, self._order)
            # The subsystem reveals and corrects the rounding errors of the tableau.
            start = self.state.active
        self.state = Gauss(self._a, self._b, self._noise, start)
        self._switch(self.state, self._order)

    def _switch(self, state: State, rule: str, most: int = _MOST) -> None:
        """Switch single rows until none is negative, at most so many times their number."""
        least, patience = self._b.size + 1, self._b.size
        seen: set[bytes] = set()
        for count in itertools.count():
            negative = negative_rows(state, self._noise, self._equalities)
            if negative.size == 0:
                state.settle()
                negative = negative_rows(state, self._noise, self._equalities)
                if negative.size == 0:
                    return
            if negative.size < least:
                least, patience = negative.size, self._b.size
                seen.clear()
            if rule == "most_negative" and patience > 0:
                patience -= 1
                row = int(negative[np.argmin(state.free[negative])])
            else:
                self._safeguarded |= rule == "most_negative"
                row = int(negative[0])
                # Of a P-matrix the least index meets no state twice.
                key = state.active.tobytes()
                if key in seen:
                    raise PivotError("the least index cycles")
                seen.add(key)
            if count > most * self._b.size:
                raise PivotError("single rows take too long")
            state.exclude(row)
            self.exclusions.append(row)

    def by_lemke(self) -> tuple[NDArray[np.bool_], FloatArray]:
        """Return active rows (n,) and free terms (n,) [1] by Lemke's method."""
        a, b, noise, equalities = self._a, self._b, self._noise, self._equalities
        self.is_by_lemke = True
        active = _lemke_with_equalities(a, b, equalities)
        if active is None:
            return self._beyond_rounding(
                f"no solution of the complementarity problem of {b.size} rows was found: Lemke's "
                "method ended on a ray (for a positive-semidefinite matrix: no solution exists)"
            )
        try:
            active, free = self._ended(active)
        except PivotError as error:
            raise ComplementarityError(f"Lemke's method ended where {error}") from error
        beyond = 1e3 * noise.limits(active, free)
        if (free < -beyond)[~equalities].any() or (np.abs(free) > beyond)[
            equalities & ~active
        ].any():
            return self._beyond_rounding("Lemke's method lost the solution in rounding")
        return active, free

    def _ended(self, active: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], FloatArray]:
        """Return active rows (n,), all equalities if possible, and free terms (n,) [1]."""
        try:
            every = active | self._equalities
            return every, Gauss(self._a, self._b, self._noise, every).free
        except PivotError:
            # Equalities that depend on other rows hold with x = 0.
            if (active | ~self._equalities).all():
                raise
            return active, Gauss(self._a, self._b, self._noise, active).free

    def _beyond_rounding(self, failure: str) -> tuple[NDArray[np.bool_], FloatArray]:
        """Return active rows (n,) and free terms (n,) [1] with a floor of the noise, or raise."""
        self._noise, self.is_by_lemke = Noise(self._a, self._b, _FLOOR), False
        self.exclusions.clear()
        try:
            self.by_single_rows("most_negative", "gauss")
            state = Gauss(self._a, self._b, self._noise, self.state.active)
        except PivotError as error:
            raise ComplementarityError(failure) from error
        if state.is_weak:
            raise ComplementarityError(failure)
        return state.active, state.free

    def solution(self, active: NDArray[np.bool_], free: FloatArray) -> Complementarity:
        """Return the solution from active rows (n,) and free terms (n,) [1]."""
        # Values within rounding of zero are zero.
        beyond = (free > self._noise.limits(active, free)) | (self._equalities & active)
        value = np.where(beyond, free, 0.0)
        return Complementarity(
            frozen(np.where(active, value, 0.0)),
            frozen(np.where(active, 0.0, value)),
            frozen(active),
            tuple(self.exclusions),
            self._order,
            self._safeguarded,
            self.is_by_lemke,
        )


def _lemke_with_equalities(
    a: FloatArray, b: FloatArray, equalities: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """Return the active rows (n,), or None after a ray; an equality is a pair of inequalities."""
    if not equalities.any():
        return lemke(a, b)
    rows = np.flatnonzero(equalities)
    wide = np.block([[a, -a[:, rows]], [-a[rows], a[np.ix_(rows, rows)]]])
    active = lemke(wide, np.concatenate([b, -b[rows]]))
    if active is None:
        return None
    active[rows] |= active[b.size :]
    return active[: b.size]
