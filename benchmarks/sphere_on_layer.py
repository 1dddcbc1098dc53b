"""The linear layer bonded to a rigid base, under a rigid frictionless punch or sphere: exact.

The contact is an integral equation for a function χ on the contact radius (Lebedev & Ufliand 1958;
Hayes et al. 1972, J Biomech 5:541-551). With the surface compliance 2 (1 - ν²) φ(k h)/(E k) at wave
number k, pressures whose Hankel transform is ∫ χ(t) cos(k t) dt vanish outside the contact, and

    χ(t) - (1/π) ∫ χ(s) K(t, s) ds = E/(π (1 - ν²)) d/dt ∫ r w(r)/√(t² - r²) dr,
    K(t, s) = ∫ (1 - φ(k h)) (cos k(t - s) + cos k(t + s)) dk,

w being the indentation. The force is 2π ∫ χ dt, the pressure on the axis -∫ χ'(t)/t dt.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import Legendre
from numpy.polynomial.legendre import leggauss
from scipy.optimize import brentq

from benchmarks.axisymmetric_layer import Case
from foundation.checks import FloatArray

_POINTS, _DEGREE = 80, 24
#: Wave numbers times thickness beyond which 1 - φ is below 1e-13, and points up to there.
_WAVES, _WAVE_POINTS = 40.0, 400


def compliance_factor(depth: FloatArray, poissons_ratio: float) -> FloatArray:
    """Return φ at k h [1], 1 on a half-space."""
    decay = np.exp(-2.0 * depth)
    stiff = 3.0 - 4.0 * poissons_ratio
    rest = 2.0 * depth**2 + 5.0 - 12.0 * poissons_ratio + 8.0 * poissons_ratio**2
    return (stiff * (1.0 - decay**2) - 4.0 * depth * decay) / (
        stiff * (1.0 + decay**2) + 2.0 * rest * decay
    )


def punch(case: Case, contact: float) -> float:
    """Return force over approach of a flat punch of radius `contact` [N/m]."""
    _, weights, chi = _chi(case, contact, np.ones_like)
    return float(2.0 * np.pi * weights[:-1] @ chi[:-1])


def sphere(case: Case, approach: float, paraboloid: bool = False) -> tuple[float, float, float]:
    """Return force [N], pressure on the axis [Pa] and contact radius [m] at an approach [m].

    The height of the sphere is R - √(R² - r²), that of the paraboloid of the literature r²/(2 R).
    """

    def indentation(t: FloatArray) -> FloatArray:
        return approach - t * (t / case.radius if paraboloid else np.arctanh(t / case.radius))

    def at_edge(contact: float) -> float:
        return float(_chi(case, contact, indentation)[2][-1])

    scale = np.sqrt(case.radius * approach)
    contact = brentq(at_edge, 0.2 * scale, 1.6 * scale, xtol=1e-12 * scale)
    points, weights, chi = _chi(case, contact, indentation)
    even = Legendre.fit(np.append(-points, points), np.append(chi, chi), _DEGREE)
    inner = points[:-1]
    pressure = -weights[:-1] @ (even.deriv()(inner) / inner)
    return float(2.0 * np.pi * weights[:-1] @ chi[:-1]), float(pressure), float(contact)


def _chi(
    case: Case, contact: float, indentation: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return points, the edge last, weights and χ there, of the Abel transform of w(r)."""
    abscissae, weights = leggauss(_POINTS)
    points = np.append(0.5 * contact * (abscissae + 1.0), contact)
    weights = np.append(0.5 * contact * weights, 0.0)
    waves, measure = leggauss(_WAVE_POINTS)
    depth = 0.5 * _WAVES * (waves + 1.0)
    missing = 1.0 - compliance_factor(depth, case.poissons_ratio)
    cosines = np.cos(np.outer(points, depth / case.thickness))
    kernel = 2.0 * (cosines * missing * measure * 0.5 * _WAVES / case.thickness) @ cosines.T
    plane = case.youngs_modulus / (np.pi * (1.0 - case.poissons_ratio**2))
    matrix = np.eye(len(points)) - kernel * weights / np.pi
    return points, weights, np.linalg.solve(matrix, plane * indentation(points))
