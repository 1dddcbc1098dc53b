"""Smoothing with which the edge of a contact patch passes over the points of the bed.

Pressure has a kink at the edge of the patch, contact area a step; summed over points, both would
make the loads rough in the pose. So a point near the edge stands for a disc around it of about its
area. With the indentation linear over the disc, h + r x, its part in contact is A(h/r), and the
mean of a pressure c d^m is c r^m M(h/r), where

    M(t) = 2/pi * integral of (t + x)^m sqrt(1 - x^2) dx over -1 < x < 1, t + x > 0.

A mean over the disc alone would be too large in sum: what smoothing adds at the kink it takes away
inside only where the pressure is curved, and there the points are not smoothed. Hence the kernel
is that of two discs, 4/3 of the one of half the radius less 1/3 of the whole one, which has no
second moment:

    T(t) = 4/3 (1/2)^m M(2 t) - 1/3 M(t).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.integrate import quad
from scipy.interpolate import PPoly, make_interp_spline

from foundation.checks import FloatArray, frozen
from foundation.kernels import DISC_END

#: Pieces of the splines, 1/100 each; the functions have weak singularities at -1, -1/2, 1/2 and 1,
#: which are nodes.
_PIECES = 500


def disc_mean(exponent: float, t: float) -> float:
    """Return M(t) for an exponent m > 0, by adaptive quadrature."""
    start = np.arcsin(np.clip(-t, -1.0, 1.0))

    def integrand(angle: float) -> float:
        return float(max(t + np.sin(angle), 0.0) ** exponent * np.cos(angle) ** 2)

    return float(2.0 / np.pi * quad(integrand, start, 0.5 * np.pi, epsabs=1e-14, epsrel=1e-12)[0])


def smoothed_power(exponent: float, t: float) -> float:
    """Return T(t) for an exponent m > 0."""
    inner = 4.0 / 3.0 * 0.5**exponent * disc_mean(exponent, 2.0 * t)
    return inner - disc_mean(exponent, t) / 3.0


def disc_fraction(t: float) -> float:
    """Return A(t), the part of a unit disc beyond a line at the distance t from its middle."""
    x = float(np.clip(t, -1.0, 1.0))
    return float(0.5 + (x * np.sqrt(1.0 - x * x) + np.arcsin(x)) / np.pi)


@cache
def disc_table(exponent: float) -> FloatArray:
    """Return the quintic pieces of T over -1 <= t <= `kernels.DISC_END`, (N, 6).

    Coefficients of each piece, highest power first, over the fraction of the piece passed.
    """
    return _pieces(lambda t: smoothed_power(exponent, t))


@cache
def area_table() -> FloatArray:
    """Return the pieces of A, as `disc_table`."""
    return _pieces(disc_fraction)


def _pieces(function: Callable[[float], float]) -> FloatArray:
    step = (DISC_END + 1.0) / _PIECES
    nodes = -1.0 + step * np.arange(_PIECES + 1)
    spline = make_interp_spline(nodes, [function(float(t)) for t in nodes], k=5)
    pieces = PPoly.from_spline((spline.t, spline.c, spline.k))
    factorials = np.cumprod([1.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    derivatives = np.array([pieces(nodes[:-1], order) for order in range(6)])
    scaled = derivatives * (step ** np.arange(6) / factorials)[:, None]
    return frozen(np.ascontiguousarray(scaled[::-1].T))
