"""Obvious, slow twins of the compiled kernels and closed forms."""

from __future__ import annotations

from math import exp, prod, sqrt

import numpy as np
from numpy.polynomial import legendre


def correlation(name, theta, a, b):
    """Product correlation of two scaled points."""
    lengths = [t * abs(p - q) for t, p, q in zip(theta, a, b, strict=True)]
    if name == "squar_exp":
        return exp(-sum(t * (p - q) ** 2 for t, p, q in zip(theta, a, b, strict=True)))
    if name == "matern52":
        return prod((1 + sqrt(5) * x + 5 / 3 * x * x) * exp(-sqrt(5) * x) for x in lengths)
    return prod((1 + sqrt(3) * x) * exp(-sqrt(3) * x) for x in lengths)


def term(exponents, z):
    """Product of Legendre polynomials of a scaled point."""
    return prod(legendre.legval(x, np.eye(e + 1)[e]) for e, x in zip(exponents, z, strict=True))


def predict(exponents, coefficients, name, theta, points, weights, scalings, x):
    """The one sum that every family is (see surrogates.kernels)."""
    x_offset, x_scale, y_offset, y_scale = scalings
    z = (x - x_offset) / x_scale
    total = sum(c * term(e, z) for e, c in zip(exponents, coefficients, strict=True))
    for point, weight in zip(points, weights, strict=True):
        total = total + weight * correlation(name, theta, z, point)
    return y_offset + y_scale * total


def central_differences(function, x, step=1e-5):
    """Derivatives (k, d) of a function of one point."""
    columns = []
    for j in range(len(x)):
        shift = np.zeros(len(x))
        shift[j] = step
        columns.append((function(x + shift) - function(x - shift)) / (2 * step))
    return np.array(columns).T
