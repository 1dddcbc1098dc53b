"""Axisymmetric contact of an elastic layer on a rigid base, by an integral equation.

With p(r) = g(a)/√(a² - r²) - ∫ g'(t)/√(t² - r²) dt, t from r to a, the Hankel transform of the
pressure is ∫ g(t) cos(k t) dt, and Abel's transform of the displacement δ - s(r) gives

    (π/2) g(x) - ½ ∫ m(x - t) g(t) dt = E/(2 (1 - ν²)) U(x),   m(z) = ∫ (1 - φ(k h)) cos(k z) dk,

with t from -a to a, g even, k from 0 to ∞, and U(x) = d/dx ∫ r (δ - s(r)) / √(x² - r²) dr, r from
0 to x: a Fredholm equation of the second kind as that of Hayes et al. (1972, J. Biomech.
5:541-551), whose kernel is smooth, so that Gauss-Legendre nodes converge exponentially.
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, pi

import numpy as np
from numpy.polynomial import Legendre, legendre
from scipy.optimize import brentq

from foundation.base.checks import check_in, check_number
from foundation.base.errors import InputError
from tests.oracles.exact_layer_compliance import Layer, check_demand

SHAPES = ("paraboloid", "sphere")


@dataclass(frozen=True)
class AxisymmetricContact:
    """A rigid ball of radius R pressed on a layer until the patch has the radius a [m].

    Its shape is s(r) = r²/(2 R), "paraboloid", as in Hertz and Hayes, or s(r) = R - √(R² - r²),
    "sphere".
    """

    layer: Layer
    radius: float
    contact_radius: float
    shape: str = "paraboloid"

    def __post_init__(self):
        check_in("shape", self.shape, SHAPES)
        check_number("radius", self.radius, above=0.0, unit="m")
        below = self.radius if self.shape == "sphere" else None
        check_number("contact_radius", self.contact_radius, above=0.0, below=below, unit="m")

    @property
    def approach(self):
        """Return δ [m]: that at which the pressure ends at the edge without a jump."""
        punch, shape = self._solutions
        return float(shape(self.contact_radius) / punch(self.contact_radius))

    @property
    def load(self):
        """Return F [N]."""
        return pi * self.contact_radius * 2.0 * float(self._density.coef[0])

    @property
    def peak_pressure(self):
        """Return p(0) [Pa]."""
        return float(self.pressure(np.zeros(1))[0])

    @property
    def area(self):
        """Return π a² [m²]."""
        return pi * self.contact_radius**2

    @property
    def stiffness(self):
        """Return dF/dδ [N/m], that of a flat punch of the radius of the patch."""
        return pi * self.contact_radius * 2.0 * float(self._solutions[0].coef[0])

    def pressure(self, distance):
        """Return p(r) [Pa] at distances from the axis (N,) [m], at most a."""
        nodes, weights = legendre.leggauss(_count(self.layer, self.contact_radius))
        half = 0.5 * np.sqrt(self.contact_radius**2 - np.asarray(distance) ** 2)
        # With t² = r² + s² the root disappears.
        t = np.hypot(np.asarray(distance)[:, None], half[:, None] * (nodes + 1.0))
        return -half * ((self._density.deriv()(t) / t) @ weights)

    @property
    def _density(self):
        """g of the ball [Pa m]."""
        punch, shape = self._solutions
        return self.approach * punch - shape

    @cached_property
    def _solutions(self):
        """g of U = 1 and of U of the shape, over [-a, a] [Pa, Pa m]."""
        a, modulus = self.contact_radius, 0.5 * self.layer.plane_modulus
        nodes, weights = legendre.leggauss(2 * _count(self.layer, a))
        t = a * nodes
        drop = t**2 / self.radius
        if self.shape == "sphere":
            drop = t * np.arctanh(t / self.radius)
        kernel = self.layer.deficit_transform(np.cos, np.abs(t[:, None] - t))
        matrix = 0.5 * pi * np.eye(len(t)) - 0.5 * a * weights * kernel
        values = np.linalg.solve(matrix, modulus * np.stack([np.ones_like(t), drop], axis=1))
        degrees = len(t) // 2
        basis = legendre.legvander(nodes, degrees) * weights[:, None]
        series = (np.arange(degrees + 1)[:, None] + 0.5) * (basis.T @ values)
        return Legendre(series[:, 0], domain=[-a, a]), Legendre(series[:, 1], domain=[-a, a])


def press_ball(layer, radius, *, load=None, approach=None, shape="paraboloid"):
    """Return the contact of a rigid ball of a radius [m] at a load [N] or an approach [m]."""
    name, target = check_demand(load, approach)

    def excess(logarithm):
        found = AxisymmetricContact(layer, radius, float(np.exp(logarithm)), shape)
        return float(np.log(getattr(found, name) / target))

    # The half-space's patch at the load is the largest, that at the approach the smallest.
    if name == "load":
        start = (0.75 * target * radius / layer.plane_modulus) ** (1.0 / 3.0)
    else:
        start = np.sqrt(radius * target)
    logarithm = _root(excess, np.log(start), np.log(0.999 * radius))
    return AxisymmetricContact(layer, radius, float(np.exp(logarithm)), shape)


def _root(function, start, limit):
    """Return the zero of an increasing function, at most `limit`, by steps from `start`."""
    low = high = min(start, limit)
    while function(low) > 0.0:
        low -= 0.3
    while function(high) < 0.0:
        if high == limit:
            raise InputError("ball: expected a patch smaller than the ball, found a larger one")
        high = min(high + 0.3, limit)
    return float(brentq(function, low, high, xtol=1e-13, rtol=1e-14)) if low < high else low


def _count(layer, contact_radius):
    """Return the number of nodes over the radius of the patch."""
    return 24 + ceil(12.0 * contact_radius / layer.thickness)
