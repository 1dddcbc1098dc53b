"""Factors of Hertz's elliptic contact as Chebyshev series, for kernels.

With the trace t and the determinant D of the relative curvature, the relative radii R' >= R" depend
on x = 4 D / t² alone except for their size, x = 1 in a circle. Over ln x the logarithms of the
factors of `foundation.contact_laws.ellipse` are smooth, at the circle as well.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, frozen
from foundation.contact_laws.ellipse import exact_factors

#: Largest q = √(R'/R") of the series [1].
LARGEST_RATIO = 100.0
_DEGREE = 24


def log_shape(ratio: float) -> float:
    """Return ln x = ln(4 q² / (1 + q²)²) of a ratio q = √(R'/R") [1]."""
    return math.log(4.0 * ratio**2 / (1.0 + ratio**2) ** 2)


@cache
def factor_series() -> tuple[FloatArray, float]:
    """Return the coefficients and the least ln x.

    Returns
    -------
    coefficients : (3, N) float64
        Chebyshev coefficients [1] over 1 - 2 ln x / ln x_least: of ln F₂^(-3/2), of its derivative
        by ln x, and of ln F₁; `EllipseFactors` has F₁ and F₂.
    least : float
        ln x of `LARGEST_RATIO` [1].
    """
    least = log_shape(LARGEST_RATIO)

    def factors(place: ArrayLike) -> FloatArray:
        x = np.exp(0.5 * least * (1.0 - np.asarray(place)))
        ratio = (1.0 + np.sqrt(1.0 - x)) / np.sqrt(x)
        return np.array([exact_factors(min(float(q), LARGEST_RATIO)) for q in ratio])

    stiffness = Chebyshev.interpolate(lambda p: -1.5 * np.log(factors(p)[:, 1]), _DEGREE)
    size = Chebyshev.interpolate(lambda p: np.log(factors(p)[:, 0]), _DEGREE)
    slope = stiffness.deriv() * (-2.0 / least)
    coefficients = np.zeros((3, _DEGREE + 1))
    for row, each in zip(coefficients, (stiffness, slope, size), strict=True):
        row[: len(each.coef)] = each.coef
    return frozen(coefficients), least
