"""Smoothing of the edge of a contact patch over the points of the bed (docs/theory.md).

A point near the edge represents its surroundings up to a distance r. With a linear indentation
h + r x, a pressure c d^m enters as c r^m T_m(h/r), and the area of the point with the fraction
T_0(h/r), where T_m(t) is the integral of (t + x)^m w(x) dx over -1 < x < 1, t + x > 0. The second
moment of the kernel is zero: w(x) = 45/32 (1 - x²) (1 - 7/3 x²). For m = 0 and 1 the integrals are
the polynomials of `foundation/core/spring_laws.c`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.integrate import quad
from scipy.interpolate import PPoly, make_interp_spline

from foundation.base.checks import FloatArray, frozen
from foundation.core.library import CONSTANTS

#: Where the splines end.
EDGE_END = CONSTANTS["EDGE_END"]
#: Pieces of the splines, of width 1/100; the weak singularities at -1 and 1 are nodes.
_PIECES = 500


def edge_kernel(x: float) -> float:
    """Return w(x) of -1 <= x <= 1 [1]."""
    return 45.0 / 32.0 * (1.0 - x * x) * (1.0 - 7.0 / 3.0 * x * x)


def smoothed_power(exponent: float, t: float) -> float:
    """Return T_m(t) [1] for an exponent m >= 0, by adaptive quadrature."""
    if t <= -1.0:
        return 0.0
    # With y² = t + x the integrand is smooth at the edge for all m in use.
    low, high = np.sqrt(max(t - 1.0, 0.0)), np.sqrt(t + 1.0)

    def integrand(y: float) -> float:
        return float(2.0 * y ** (2.0 * exponent + 1.0) * edge_kernel(y * y - t))

    return float(quad(integrand, low, high, epsabs=1e-14, epsrel=1e-12)[0])


@cache
def edge_table(exponent: float) -> FloatArray:
    """Return quintics of T_m over -1 <= t <= `EDGE_END`, (N, 6) [1], highest power first."""
    step = (EDGE_END + 1.0) / _PIECES
    nodes = -1.0 + step * np.arange(_PIECES + 1)
    spline = make_interp_spline(nodes, [smoothed_power(exponent, float(t)) for t in nodes], k=5)
    pieces = PPoly.from_spline((spline.t, spline.c, spline.k))
    factorials = np.cumprod([1.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    derivatives = np.array([pieces(nodes[:-1], order) for order in range(6)])
    scaled = derivatives * (step ** np.arange(6) / factorials)[:, None]
    return frozen(np.ascontiguousarray(scaled[::-1].T))
