"""Switching of whole blocks of rows: a few factorisations in place of one update per row.

All negative rows are switched at once (Kostreva 1978, Linear Algebra Appl 21:207-215; Portugal,
Júdice & Vicente 1994, Math Comp 63:625-643), from a prediction of the active rows by projected
gradient steps. Blocks can cycle. Where the number of negative rows does not fall, a multiple of
the diagonal is added to A, with which blocks end soon, and taken away in stages (regularisation;
Facchinei & Pang 2003, Finite-Dimensional Variational Inequalities and Complementarity Problems,
chapter 12). Where that fails, too, the caller switches single rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics.mechanics.unilateral.exclusion import Gauss, Noise, State
from dynamics.mechanics.unilateral.subsystem import PivotError
from foundation.base.checks import FloatArray, IntArray

#: Problems with fewer rows start from Y = B: a prediction costs as much as it saves.
_SMALL = 150
#: Most gradient steps, and the part of the rows whose change in a step ends them.
_STEPS, _FEW = 16, 0.01
#: Blocks without fewer negative rows after which stages follow, or single rows.
_PATIENCE = 4
#: Stages: least multiple of the diagonal before none, least and largest ratio of two multiples.
_LEAST_ADDED, _SHARE, _LARGEST_SHARE = 1e-3, 0.5, 0.998
#: Active rows with x beyond this part of the largest are not checked for rounding.
_NOT_IDLE = 1e-8


def predicted(
    matrix: FloatArray, constant: FloatArray, equalities: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return active rows (n,) [1] after steps along the gradient A X + B, X >= 0.

    The step lengths are those of Barzilai & Borwein (1988, IMA J Numer Anal 8:141-148), projected
    as in Dai & Fletcher (2005, Numer Math 100:21-47), for variables X √A_ii. The rows of
    equalities are active, their x has either sign.
    """
    active, diagonal = equalities.copy(), np.diagonal(matrix).copy()
    if constant.size < _SMALL or not diagonal.min() > 0.0:
        return active
    least = np.where(equalities, -np.inf, 0.0)
    x, gradient = np.zeros(constant.size), constant
    target = np.where(equalities | (gradient < 0.0), -gradient / diagonal, 0.0)
    along = target @ (matrix @ target)
    if not along > 0.0:
        return active
    length = -(gradient @ target) / along
    target *= length
    for step in range(_STEPS):
        following = np.maximum(target, least)
        moved, x = following - x, following
        before, gradient = gradient, matrix @ x + constant
        change = gradient - before
        along = moved @ change
        if not along > 0.0:
            break
        if step % 2:
            length = along / (change @ (change / diagonal))
        else:
            length = (moved @ (diagonal * moved)) / along
        target = x - (length / diagonal) * gradient
        old, active = active, equalities | (target > 0.0)
        if step > 2 and np.count_nonzero(old != active) <= _FEW * x.size:
            break
    return active


def switch_blocks(
    matrix: FloatArray,
    constant: FloatArray,
    noise: Noise,
    equalities: NDArray[np.bool_],
    exclusions: list[int],
) -> tuple[Gauss, bool]:
    """Switch blocks until no row is negative, or blocks fail; return the state and success.

    Parameters
    ----------
    matrix : (n, n) float64
        A [1].
    constant : (n,) float64
        B [1].
    noise : Noise
        Limits of rounding of A and B.
    equalities : (n,) bool
        Rows with y = 0 and any x [1].
    exclusions : list of int
        Takes up the rows that are switched.

    Raises
    ------
    PivotError
        If a subsystem is singular to working precision.
    """
    state = Gauss(matrix, constant, noise, predicted(matrix, constant, equalities))
    exclusions += np.flatnonzero(state.active & ~equalities).tolist()
    if _switched(state, noise, equalities, exclusions):
        return state, True
    return _by_stages(matrix, constant, noise, equalities, exclusions)


def _by_stages(
    matrix: FloatArray,
    constant: FloatArray,
    noise: Noise,
    equalities: NDArray[np.bool_],
    exclusions: list[int],
) -> tuple[Gauss, bool]:
    """Add a multiple of the diagonal to A and take it away in stages; return state and success.

    Each stage starts from the active rows of the stage before, and a stage that stalls is tried
    again with less taken away. A P-matrix remains one.
    """
    diagonal = np.diag(np.maximum(np.diagonal(matrix), 0.0))
    scaled = matrix / np.outer(noise.root_diagonal, noise.root_diagonal)
    # Twice the mean size of a row, where the diagonal is one.
    first = 2.0 * max(1.0, float(np.linalg.norm(scaled)) / np.sqrt(constant.size))
    state = Gauss(matrix, constant, noise, equalities)
    reached, share, last = first, _SHARE, 0.5
    while share < _LARGEST_SHARE and last > _LEAST_ADDED:
        added = reached * share if reached > last else 0.0
        raised = matrix + added * diagonal
        own = Noise(raised, constant)
        stage = Gauss(raised, constant, own, state.active)
        if _switched(stage, own, equalities, exclusions):
            state, reached, share = stage, added, max(_SHARE, share**1.5)
            if added == 0.0:
                return state, True
        elif added == 0.0:
            last *= 0.25
        else:
            share = np.sqrt(share)
    return Gauss(matrix, constant, noise, state.active), False


def _switched(
    state: Gauss, noise: Noise, equalities: NDArray[np.bool_], exclusions: list[int]
) -> bool:
    """Switch all negative rows at once until none is left; return False where that stalls."""
    least, stalled, idle = state.free.size + 1, 0, False
    while stalled < _PATIENCE:
        if state.is_weak:
            raise PivotError("a pivot of the active subsystem is zero")
        rows = negative_rows(state, noise, equalities)
        if rows.size == 0:
            state.settle()
            rows = negative_rows(state, noise, equalities)
            if rows.size == 0:
                rows = np.empty(0, dtype=np.int64) if idle else idle_rows(state, noise, equalities)
                idle = True
            if rows.size == 0:
                return True
        # Blocks that only enter end by themselves; of a K-matrix all blocks do.
        if rows.size < least:
            least, stalled = rows.size, 0
        elif state.active[rows].any():
            stalled += 1
        exclusions += rows.tolist()
        state.exclude_block(rows)
    return False


def idle_rows(state: Gauss, noise: Noise, equalities: NDArray[np.bool_]) -> IntArray:
    """Return the active rows (k,) whose x is zero but for rounding.

    They leave, so that terms of the size of their rounding errors find their sign in other rows.
    """
    scale, b = noise.root_diagonal, noise.magnitudes
    scaled = np.where(state.active, state.free * scale, 0.0)
    # Beyond this part of the largest no sum of a positive-definite A counts as rounding.
    few = scaled <= _NOT_IDLE * (scaled.max(initial=0.0) + b / scale)
    rows = (state.active & ~equalities & few).nonzero()[0]
    return rows[state.free[rows] <= noise.limits(state.active, state.free, rows)]


def negative_rows(state: State, noise: Noise, equalities: NDArray[np.bool_]) -> IntArray:
    """Return the rows (k,) whose free term is negative beyond rounding, but for equalities."""
    rows = ((state.free < 0.0) & ~equalities).nonzero()[0]
    return rows[state.free[rows] < -noise.limits(state.active, state.free, rows)]
