"""Closed structures: terms of the equations, and the nearest closed state."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics.mechanics.planar import PointMotion
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

#: Ratio of singular values under which closures count as dependent.
DEPENDENT = 1e-9
#: Gap [m] and its rate [m/s] of a closed structure, and of a state in which forces are evaluated.
CLOSED, LARGEST_GAP = 1e-13, 1e-6
#: Most Newton steps to a closed structure, and longest change of a coordinate in one [rad or m].
STEPS, LONGEST_STEP = 50, 0.5


class Terms(NamedTuple):
    """M (n, n) [kg m²], b, Q (n,) [N m], and the motion of centres, links and closures."""

    mass: FloatArray
    bias: FloatArray
    force: FloatArray
    centres: PointMotion
    links: PointMotion
    closures: PointMotion


def close_state(
    state: FloatArray,
    free: NDArray[np.bool_],
    at: Callable[[FloatArray], Terms],
    reach: float,
) -> None:
    """Close the state (2, n) [rad or m; s] in place, by changes of the free coordinates (n,)."""
    # Rounding grows with the distance from the origin.
    scale = max(1.0, reach, np.abs(state[0]).max())
    for _ in range(STEPS):
        terms, weighted = _weighted(state, free, at)
        gap = terms.closures.rows()[0]
        if np.abs(gap).max() <= CLOSED * scale:
            break
        change = weighted @ gap
        state[0, free] -= change / max(1.0, np.abs(change).max() / LONGEST_STEP)
    else:
        raise InputError(
            f"closures: expected a closed structure near the stated one, found gaps of "
            f"{np.abs(gap).max():.3g} m after {STEPS} Newton steps: start closer"
        )
    for _ in range(2):  # the second step takes the rounding of the first
        terms, weighted = _weighted(state, free, at)
        state[1, free] -= weighted @ terms.closures.rows()[1]


def _weighted(
    state: FloatArray, free: NDArray[np.bool_], at: Callable[[FloatArray], Terms]
) -> tuple[Terms, FloatArray]:
    """Return the terms and M⁻¹ Gᵀ (G M⁻¹ Gᵀ)⁻¹ of the free coordinates, (F, 2 C)."""
    terms = at(state)
    rows = terms.closures.rows()[2][:, free]
    if not independent(rows):
        raise InputError(
            "closures: expected independent closures of free segments, found dependent "
            "closures or closures of fixed segments: remove closures, or start away from the "
            "dead point"
        )
    spread = np.linalg.solve(terms.mass[np.ix_(free, free)], rows.T)
    return terms, np.linalg.solve((rows @ spread).T, spread.T).T


def independent(rows: FloatArray) -> bool:
    """Return whether the rows of a Jacobian (m, F) [m or 1] are independent."""
    if rows.shape[0] > rows.shape[1]:
        return False
    values = np.linalg.svd(rows, compute_uv=False)
    return bool(values[-1] > DEPENDENT * values[0])


def check_closed(gap: float, speed: float) -> None:
    """Raise an InputError if a largest gap [m] or its rate [m/s] is too large."""
    if max(gap, speed) > LARGEST_GAP:
        raise InputError(
            f"angles, rates: expected a state that leaves closures open by at most "
            f"{LARGEST_GAP:g} m and opening by at most {LARGEST_GAP:g} m/s, found {gap:.3g} m and "
            f"{speed:.3g} m/s: take the nearest closed state from Assembly.close"
        )
