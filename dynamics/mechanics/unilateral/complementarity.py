"""Linear complementarity problems: Y = A X + B, Y >= 0, X >= 0, Yᵀ X = 0.

The fast rule switches the row with the most negative free term until none is negative (Kolesnikov
2004). The rule ends for K-matrices (Chandrasekaran 1970, Opsearch 7:263-268; Cottle, Pang & Stone
1992, The Linear Complementarity Problem, chapter 4), not for every positive-definite A. Once n
exclusions have not lowered the number of negative rows, the negative row of least index is taken
until the number falls (Kostreva 1978, Linear Algebra Appl 21:207-215; Júdice & Pires 1994,
Computers Ops Res 21:587-596), which ends for every P-matrix (Murty 1974, Opsearch 11:123-130).
Where a pivot may be zero, Lemke's method follows (`dynamics.mechanics.unilateral.lemke`).
docs/mechanics.md has matrices on which the fast rule repeats rows or cycles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.mechanics.unilateral.exclusion import Gauss, Jordan, Noise, PivotError, State
from dynamics.mechanics.unilateral.lemke import lemke
from foundation.checks import FloatArray, check_array, check_in, frozen

#: Rules that choose the negative row to switch.
RULES = ("most_negative", "least_index")
#: Methods for the free terms: the whole tableau, or the active subsystem.
ELIMINATIONS = ("gauss", "jordan")


class ComplementarityError(RuntimeError):
    """The problem has no solution, or the methods do not cover its matrix."""


@dataclass(frozen=True, eq=False)
class Complementarity:
    """A solution of Y = A X + B, Y >= 0, X >= 0, Yᵀ X = 0.

    Attributes
    ----------
    x, y : (n,) float64
        The two sides, >= 0, one of each pair exactly zero [1].
    active : (n,) bool
        Rows with basic x, that is with y = 0 [1].
    exclusions : tuple of int
        Rows in the order in which they were switched.
    safeguarded : bool
        Whether the fast rule failed and the least index was used.
    by_lemke : bool
        Whether switching met a pivot that is not positive, so that Lemke's method was used.
    """

    x: FloatArray
    y: FloatArray
    active: NDArray[np.bool_]
    exclusions: tuple[int, ...]
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
    rule: str = "most_negative",
    elimination: str = "gauss",
) -> Complementarity:
    """Solve Y = A X + B, Y >= 0, X >= 0, Yᵀ X = 0.

    Parameters
    ----------
    matrix : (n, n) float64
        A [1]. For a P-matrix (all principal minors positive, such as a positive-definite matrix)
        the unique solution is found; for a positive-semidefinite matrix a solution, if any exists.
    constant : (n,) float64
        B [1].
    rule : {"most_negative", "least_index"}
        Row to switch: the fast rule with its safeguard, or the least index from the start.
    elimination : {"gauss", "jordan"}
        Solve the active subsystem, or transform the whole tableau. Both switch the same rows.

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
    check_in("rule", rule, RULES)
    check_in("elimination", elimination, ELIMINATIONS)
    noise = Noise(a, b)
    exclusions: list[int] = []
    safeguarded = by_lemke = False
    try:
        state: State = Jordan(a, b) if elimination == "jordan" else Gauss(a, b, noise)
        safeguarded = _switch(noise, state, rule, exclusions)
        if elimination == "jordan":
            # The subsystem reveals and corrects the rounding errors of the tableau.
            state = Gauss(a, b, noise, state.active)
            safeguarded |= _switch(noise, state, rule, exclusions)
        active, free = state.active, state.free
    except PivotError:
        by_lemke = True
        active, free = _by_lemke(a, b, noise)
    # Values within rounding of zero are zero.
    value = np.where(free > noise.limits(active, free), free, 0.0)
    x, y = frozen(np.where(active, value, 0.0)), frozen(np.where(active, 0.0, value))
    return Complementarity(x, y, frozen(active), tuple(exclusions), safeguarded, by_lemke)


def _switch(noise: Noise, state: State, rule: str, exclusions: list[int]) -> bool:
    """Switch until no row is negative; return whether the safeguard was needed."""
    n = state.free.size
    least, patience = n + 1, n
    seen: set[bytes] = set()
    safeguarded = False
    while True:
        negative = np.flatnonzero(state.free < -noise.limits(state.active, state.free))
        if negative.size == 0:
            return safeguarded
        if negative.size < least:
            least, patience = negative.size, n
            seen.clear()
        if rule == "most_negative" and patience > 0:
            patience -= 1
            row = int(negative[np.argmin(state.free[negative])])
        else:
            safeguarded |= rule == "most_negative"
            row = int(negative[0])
            # Of a P-matrix the least index meets no state twice.
            key = state.active.tobytes()
            if key in seen:
                raise PivotError("the least index cycles")
            seen.add(key)
        state.exclude(row)
        exclusions.append(row)


def _by_lemke(a: FloatArray, b: FloatArray, noise: Noise) -> tuple[NDArray[np.bool_], FloatArray]:
    active = lemke(a, b)
    if active is None:
        raise ComplementarityError(
            f"no solution of the complementarity problem of {b.size} rows was found: Lemke's "
            "method ended on a ray (for a positive-semidefinite matrix: no solution exists)"
        )
    try:
        free = Gauss(a, b, noise, active).free
    except PivotError as error:
        raise ComplementarityError(f"Lemke's method ended where {error}") from error
    if (free < -1e3 * noise.limits(active, free)).any():
        raise ComplementarityError("Lemke's method lost the solution in rounding")
    return active, free
