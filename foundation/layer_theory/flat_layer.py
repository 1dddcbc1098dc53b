"""Compliance of a flat elastic layer at a point, and the part of a node of a lattice by itself.

The surface compliance of a layer of thickness t at the wave number k is 2 (1 - ν²)/(E k) φ(k t)
(Hayes et al. 1972, J Biomech 5:541-551), so that a unit force moves the surface at the distance r
by B (1/r - D(r/t)/t), B = (1 - ν²)/(π E), D(x) = ∫ (1 - φ(s)) J0(s x) ds over s from 0 to ∞. The
first part, that of the half-space, is singular and depends on the material alone; D is smooth.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import j0, roots_legendre

from foundation.base.checks import FloatArray
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
    s, found = np.ascontiguousarray(s, np.float64), np.empty(len(s))
    CORE.deficit_transform(len(s), address(s), poissons_ratio, address(found))
    return found


@lru_cache(maxsize=8)
def deficit_table(poissons_ratio: float) -> FloatArray:
    """Return cubic pieces (P, 4) [1] of D, coefficients of powers of the place in the piece."""
    count = int(_CUT * _REACH)
    nodes, weights = roots_legendre(64 + count)
    s = 0.5 * _CUT * (nodes + 1.0)
    weights = 0.5 * _CUT * weights * deficit_transform(s, poissons_ratio)
    x = np.arange(0.0, _REACH + 0.5 / PER_STEP, 1.0 / PER_STEP)
    values = np.array([j0(at * s) @ weights for at in x])
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
    rows, found = np.ascontiguousarray(np.transpose(metric)), np.empty(len(first))
    CORE.lattice_own_parts(len(first), address(rows), address(found))
    return found
