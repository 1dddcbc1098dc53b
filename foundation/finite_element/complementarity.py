"""Contact forces between a compliant surface and a rigid one: a linear complementarity problem.

The forces f at the nodes press the surface by C f. With the overlaps d of the undeformed surfaces

    C f - d >= 0,   f >= 0,   f . (C f - d) = 0,

the optimality conditions of the least of f . C f / 2 - d . f over f >= 0. The compliance C is
positive definite, so that there is one solution, which does not depend on the start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from foundation.checks import FloatArray, IntArray

#: Part of the largest overlap above which a node counts as in contact at the start. In Hertz's
#: contact the edge is where half of the approach is left.
_START = 0.4
#: Exchanges of all wrong nodes at once without fewer wrong ones, before single nodes are exchanged.
_PATIENCE = 8
#: A gap or force is wrong if it is negative by more than this part of the largest.
_TOLERANCE = 1e-12


class NodalContact(NamedTuple):
    """Solution of the complementarity problem.

    Parameters
    ----------
    active : (A,) int64
        Nodes in contact.
    forces : (A,) float64
        Force at each [N].
    factor : tuple
        Factor of C over the active nodes, as of `scipy.linalg.cho_factor`.
    gaps : (n,) float64
        C f - d at all nodes [m], 0 in contact.
    """

    active: IntArray
    forces: FloatArray
    factor: tuple[FloatArray, bool]
    gaps: FloatArray


def solve_contact(
    compliance: Callable[[IntArray], FloatArray], overlaps: FloatArray
) -> NodalContact | None:
    """Return the contact of nodes with given overlaps; None if no node overlaps.

    Block principal pivoting: all wrong nodes change sides at once, and single nodes where this does
    not lessen their number (Judice & Pires 1994, Comput Oper Res 21:587-596), which always ends.

    Parameters
    ----------
    compliance : callable
        Returns the rows (k, n) [m/N] of given nodes (k,) of the compliance, which is symmetric and
        positive definite.
    overlaps : (n,) float64
        Overlap of each node [m], negative where the surfaces are apart.
    """
    deepest = float(overlaps.max(initial=0.0))
    if deepest <= 0.0:
        return None
    inside = overlaps > _START * deepest
    fewest, patience = len(overlaps) + 1, _PATIENCE
    while True:
        found = _held(compliance, overlaps, inside)
        wrong = _wrong(found, overlaps, inside, deepest)
        count = int(wrong.sum())
        if count == 0:
            return found
        patience = _PATIENCE if count < fewest else patience - 1
        fewest = min(fewest, count)
        if patience < 0:
            last = int(np.flatnonzero(wrong)[-1])
            wrong = np.arange(len(wrong)) == last
        inside ^= wrong


def _held(
    compliance: Callable[[IntArray], FloatArray], overlaps: FloatArray, inside: NDArray[np.bool_]
) -> NodalContact:
    """Return forces and gaps when the nodes inside, and no others, are held in contact."""
    active = np.flatnonzero(inside)
    rows = compliance(active)
    factor = cho_factor(rows[:, active], lower=True, overwrite_a=True, check_finite=False)
    forces = cho_solve(factor, overlaps[active], check_finite=False)
    gaps = forces @ rows - overlaps
    gaps[active] = 0.0
    return NodalContact(active, forces, factor, gaps)


def _wrong(
    found: NodalContact, overlaps: FloatArray, inside: NDArray[np.bool_], deepest: float
) -> NDArray[np.bool_]:
    """Return the nodes that are pulled, or that enter the femur."""
    wrong = found.gaps < -_TOLERANCE * deepest
    pulled = found.forces < -_TOLERANCE * max(float(np.abs(found.forces).max(initial=0.0)), 1e-300)
    wrong[found.active[pulled]] = True
    return wrong
