"""Compliance of a flat elastic layer at a point, and the part of a node of a lattice by itself.

The surface compliance of a layer of thickness t at the wave number k is 2 (1 - ν²)/(E k) φ(k t)
(Hayes et al. 1972, J Biomech 5:541-551), so that a unit force moves the surface at the distance r
by B (1/r - D(r/t)/t), B = (1 - ν²)/(π E), D(x) = ∫ (1 - φ(s)) J0(s x) ds over s from 0 to ∞. The
first part, that of the half-space, is singular and depends on the material alone; D is smooth.

A rigid surface in contact is a linear complementarity problem. The forces f at the nodes press the
surface by C f. With the overlaps d of the undeformed surfaces

    C f - d >= 0,   f >= 0,   f . (C f - d) = 0,

the optimality conditions of the least of f . C f / 2 - d . f over f >= 0. The compliance C is
positive definite, so that there is one solution, which does not depend on the start.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.special import j0, roots_legendre

from foundation.base.checks import FloatArray, IntArray
from foundation.core import lapack
from foundation.core.library import CORE, address

#: 1 - φ is below 1e-14 from there on.
_CUT = 20.0
#: Steps of the table per thickness, and thicknesses up to which the table reaches.
PER_STEP = 16.0
_REACH = 24.0


def strength(youngs_modulus: float, poissons_ratio: float) -> float:
    """Return B [m²/N] of Young's modulus [Pa] and Poisson's ratio [1]."""
    return (1.0 - poissons_ratio**2) / (np.pi * youngs_modulus)


def wave_compliance(
    youngs_modulus: float, poissons_ratio: float, thickness: float, wave_number: float
) -> float:
    """Return the compliance 2 (1 - ν²)/(E k) φ(k t) [m/Pa] at a wave number k > 0 [1/m]."""
    s = np.array([wave_number * thickness])
    phi = 1.0 - float(deficit_transform(s, poissons_ratio)[0])
    return 2.0 * (1.0 - poissons_ratio**2) / (youngs_modulus * wave_number) * phi


def deficit_transform(s: FloatArray, poissons_ratio: float) -> FloatArray:
    """Return 1 - φ at wave numbers times the thickness, (N,) [1]."""
    s, deficits = np.ascontiguousarray(s, np.float64), np.empty(len(s))
    CORE.deficit_transform(len(s), address(s), poissons_ratio, address(deficits))
    return deficits


@lru_cache(maxsize=8)
def deficit_table(poissons_ratio: float) -> FloatArray:
    """Return cubic pieces (P, 4) [1] of D, coefficients of powers of the place in the piece."""
    count = int(_CUT * _REACH)
    nodes, weights = roots_legendre(64 + count)
    s = 0.5 * _CUT * (nodes + 1.0)
    weights = 0.5 * _CUT * weights * deficit_transform(s, poissons_ratio)
    x = np.arange(0.0, _REACH + 0.5 / PER_STEP, 1.0 / PER_STEP)
    values = np.array([j0(distance * s) @ weights for distance in x])
    # D is even, and ends as 1/x.
    ends: Any = ((1, 0.0), (1, -1.0 / _REACH**2))
    spline = CubicSpline(x, values, bc_type=ends)
    return np.ascontiguousarray(spline.c[::-1].T / PER_STEP ** np.arange(4.0))


def own_part(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return what replaces 1/r at a node of a lattice itself, (N,) [1/m], from edges (N, 3) [m]."""
    # The trapezoidal rule then integrates a smooth function over r up to third order: minus the
    # lattice sum of 1/r, continued analytically (Ewald's form of the Epstein zeta function, DLMF
    # 20.9 and 25.5), e.g. 3.90026 for squares of edge 1.
    metric = [(a * b).sum(axis=1) for a, b in ((first, first), (first, second), (second, second))]
    rows, parts = np.ascontiguousarray(np.transpose(metric)), np.empty(len(first))
    CORE.lattice_own_parts(len(first), address(rows), address(parts))
    return parts


#: Nodes of more than this part of the largest overlap start in contact: in Hertz's contact the edge
#: is where half of the approach is left.
START = 0.4
#: Negative part of the largest gap or force that is wrong.
TOLERANCE = 1e-12
#: Exchanges of all wrong nodes without fewer wrong ones, before single nodes are exchanged.
PATIENCE = 8
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
        contact = _held(compliance, overlaps, np.flatnonzero(inside))
        wrong = _wrong(contact, compliance, overlaps, close & ~inside)
        if len(wrong) == 0:
            wrong = _wrong(contact, compliance, overlaps, ~close & ~inside)
        if len(wrong) == 0:
            return contact
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
