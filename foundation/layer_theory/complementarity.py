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

from foundation.base.checks import FloatArray, IntArray
from foundation.core import lapack
from foundation.core.library import CONSTANTS

START, TOLERANCE = CONSTANTS["START"], CONSTANTS["WRONG"]
PATIENCE = int(CONSTANTS["PATIENCE"])

#: Nodes that are farther from the femur than this part of the largest overlap are checked last.
_NEAR = 0.3

#: Returns the block of given rows and columns of a compliance; if both are the same array, at least
#: its part up to the diagonal.
Compliance = Callable[[IntArray, IntArray], FloatArray]


class NodalContact(NamedTuple):
    """Solution: nodes `active` (A,), forces (A,) [N], Cholesky factor of C there (A, A)."""

    active: IntArray
    forces: FloatArray
    factor: FloatArray


def solve_contact(compliance: Compliance, overlaps: FloatArray) -> NodalContact | None:
    """Return the contact of nodes with overlaps (n,) [m], or None if no node overlaps."""
    # Block principal pivoting: all wrong nodes change sides at once, and single nodes where this
    # does not lessen their number (Judice & Pires 1994, Comput Oper Res 21:587-596), which always
    # ends.
    deepest = float(overlaps.max(initial=0.0))
    if deepest <= 0.0:
        return None
    inside = overlaps > START * deepest
    close = overlaps > -_NEAR * deepest
    fewest, patience = len(overlaps) + 1, PATIENCE
    while True:
        found = _held(compliance, overlaps, np.flatnonzero(inside))
        wrong = _wrong(found, compliance, overlaps, close & ~inside)
        if len(wrong) == 0:
            wrong = _wrong(found, compliance, overlaps, ~close & ~inside)
        if len(wrong) == 0:
            return found
        patience = PATIENCE if len(wrong) < fewest else patience - 1
        fewest = min(fewest, len(wrong))
        inside[wrong if patience >= 0 else wrong[-1:]] ^= True


def _held(compliance: Compliance, overlaps: FloatArray, active: IntArray) -> NodalContact:
    """Return the contact when the active nodes (A,), and no others, are held."""
    factor = lapack.cholesky(compliance(active, active))
    return NodalContact(active, lapack.solve_factored(factor, overlaps[active]), factor)


def _wrong(
    found: NodalContact, compliance: Compliance, overlaps: FloatArray, apart: NDArray[np.bool_]
) -> IntArray:
    """Return the nodes, sorted, that are pulled, or that enter the femur from those apart."""
    strongest = max(float(np.abs(found.forces).max(initial=0.0)), 1e-300)
    pulled = found.active[found.forces < -TOLERANCE * strongest]
    watched = np.flatnonzero(apart)
    gaps = found.forces @ compliance(found.active, watched) - overlaps[watched]
    return np.union1d(pulled, watched[gaps < -TOLERANCE * overlaps.max()])
