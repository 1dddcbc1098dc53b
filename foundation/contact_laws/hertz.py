"""Hertzian contact of spheres, with a plane or a socket, and of bodies with an elliptic area.

Spheres: F = K δ^(3/2), K = (4/3) E* √R (Johnson 1985, eq. 4.22-4.24). The contact radius must stay
small compared with both radii, which fails early in a socket of nearly the sphere's radius.

Ellipse: docs/mechanics.md states the semi-axes a >= b along the principal directions of the gap,
with its relative radii R' >= R" > 0 and q = √(R'/R") >= 1. Exact, with k = b/a, and the symmetric
integrals of Carlson, which do not cancel near the circle (after Johnson 1985, sec. 4.2):

    R'/R" = R_D(0, 1, k²) / R_D(0, k², 1),
    F₁³   = (4/(3 π)) k^(3/2) √(R_D(0, 1, k²) R_D(0, k², 1)),
    F₂    = (2/π) √k R_F(0, k², 1) / F₁,     F₄ = q k

Approximate, for 1 <= q <= 10: cubics in log₁₀ q (Lehtoranta 2011, table 1, whose c₂ of F₄ is
printed with the wrong sign).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import elliprd, elliprf

from foundation.base.checks import FloatArray, check_array, check_number
from foundation.base.errors import InputError


def effective_modulus(
    modulus_1: float, poisson_1: float, modulus_2: float, poisson_2: float
) -> float:
    """Return E* [Pa] of two elastic bodies.

    Parameters
    ----------
    modulus_1, modulus_2 : float
        Young's moduli [Pa], > 0; infinite for a rigid body, but not both.
    poisson_1, poisson_2 : float
        Poisson's ratios [1], -1 < ν <= 0.5.
    """
    first = _compliance("1", modulus_1, poisson_1)
    second = _compliance("2", modulus_2, poisson_2)
    if first + second == 0.0:
        raise InputError("modulus_1, modulus_2: expected a finite modulus, found two rigid bodies")
    return 1.0 / (first + second)


def _compliance(body: str, modulus: float, poisson: float) -> float:
    """Return (1 - ν²)/E [1/Pa], 0 for a rigid body."""
    nu = check_number(f"poisson_{body}", poisson, above=-1.0, at_most=0.5)
    if modulus == math.inf:
        return 0.0
    return (1.0 - nu**2) / check_number(f"modulus_{body}", modulus, above=0.0, unit="Pa")


def effective_radius(radius_1: float, radius_2: float | None = None) -> float:
    """Return R [m], 1/R = 1/R₁ + 1/R₂.

    Parameters
    ----------
    radius_1, radius_2 : float
        Radii of the bodies [m], positive if convex, negative if concave (a socket); None for a
        plane.

    Raises
    ------
    InputError
        If a radius is zero or not finite, or the sum of the curvatures is not positive: the contact
        of a ball and a socket no wider than the ball is not a point.
    """
    curvature = 0.0
    for name, radius in (("radius_1", radius_1), ("radius_2", radius_2)):
        if radius is not None:
            number = check_number(name, radius, unit="m")
            if number == 0.0:
                raise InputError(f"{name}: expected a radius other than 0 m, found 0 m")
            curvature += 1.0 / number
    if curvature <= 0.0:
        raise InputError(
            f"radius_1, radius_2: expected 1/R1 + 1/R2 > 0 1/m, found {curvature:g} 1/m "
            f"for {radius_1} m and {radius_2} m"
        )
    return 1.0 / curvature


def sphere_stiffness(
    radius_1: float,
    radius_2: float | None,
    modulus_1: float,
    poisson_1: float,
    modulus_2: float,
    poisson_2: float,
) -> float:
    """Return K = (4/3) E* √R [N/m^(3/2)] of two spheres.

    Arguments and exceptions are those of `effective_radius` and `effective_modulus`.
    """
    modulus = effective_modulus(modulus_1, poisson_1, modulus_2, poisson_2)
    return 4.0 / 3.0 * modulus * math.sqrt(effective_radius(radius_1, radius_2))


#: c₁, c₂, c₃ of the cubics of F₁, F₂ and F₄ in log₁₀ q.
_CUBICS = (
    (-0.0268, -0.2299, 0.0721),
    (-0.0032, -0.3007, 0.0906),
    (-0.7867, +0.4366, -0.1001),
)
#: Largest q for which the cubics are valid.
LARGEST_APPROXIMATE_RATIO = 10.0


class EllipseFactors(NamedTuple):
    """Factors of the ellipse relative to the equivalent circle [1]."""

    size: float
    """F₁ of √(a b)."""
    approach: float
    """F₂ of δ."""
    shape: float
    """F₄ = q b/a."""


def exact_factors(ratio: float) -> EllipseFactors:
    """Return F₁, F₂ and F₄ by elliptic integrals, of q = √(R'/R") [1], 1 <= q <= 1e6."""
    q = check_number("ratio", ratio, at_least=1.0, at_most=1e6)

    def mismatch(log_axes: float) -> float:
        """Return ln(R'/R") of an ellipse minus the target, from ln(b/a)."""
        square = math.exp(2.0 * log_axes)
        return float(np.log(elliprd(0, 1, square) / elliprd(0, square, 1))) - 2.0 * math.log(q)

    # q^-2 <= b/a <= q^-1; the margin keeps the ends apart at the circle.
    low, high = -2.0 * math.log(q) - 1e-9, -math.log(q) + 1e-9
    k = math.exp(min(0.0, brentq(mismatch, low, high, xtol=1e-15, rtol=1e-14)))
    product = float(elliprd(0, 1, k * k) * elliprd(0, k * k, 1))
    size = (4.0 / (3.0 * math.pi) * k**1.5 * math.sqrt(product)) ** (1.0 / 3.0)
    approach = 2.0 / math.pi * math.sqrt(k) * float(elliprf(0, k * k, 1)) / size
    return EllipseFactors(size, approach, q * k)


def approximate_factors(ratio: float) -> EllipseFactors:
    """Return F₁, F₂ and F₄ by the cubics in log₁₀ q, of q = √(R'/R") [1], 1 <= q <= 10."""
    q = check_number("ratio", ratio, at_least=1.0, at_most=LARGEST_APPROXIMATE_RATIO)
    x = math.log10(q)
    return EllipseFactors(*(1.0 + x * (c1 + x * (c2 + x * c3)) for c1, c2, c3 in _CUBICS))


def relative_radii(
    curvatures_1: Sequence[float], curvatures_2: Sequence[float], angle: float = 0.0
) -> tuple[float, float]:
    """Return R' >= R" [m] of the gap between two surfaces (Johnson 1985, sec. 4.1).

    1/R' and 1/R" are (Σκ ∓ Δ) / 2 with the principal curvatures κ [1/m] of both surfaces, (2,),
    positive if convex, α [rad] between their first directions, and

        Δ² = (κ₁₁ - κ₁₂)² + (κ₂₁ - κ₂₂)² + 2 (κ₁₁ - κ₁₂)(κ₂₁ - κ₂₂) cos 2α.
    """
    first = check_array("curvatures_1", curvatures_1, (2,))
    second = check_array("curvatures_2", curvatures_2, (2,))
    turn = check_number("angle", angle, unit="rad")
    total = float(first.sum() + second.sum())
    d1, d2 = float(first[0] - first[1]), float(second[0] - second[1])
    # |d1 + d2 exp(2 i α)|, without the root of a rounded square.
    spread = math.hypot(d1 + d2 * math.cos(2.0 * turn), d2 * math.sin(2.0 * turn))
    least, most = 0.5 * (total - spread), 0.5 * (total + spread)
    if least <= 1e-12 * abs(most):
        raise InputError(
            f"curvatures_1, curvatures_2: expected a gap that widens in every direction, found "
            f"relative curvatures {least:g} and {most:g} 1/m"
        )
    return 1.0 / least, 1.0 / most


@dataclass(frozen=True)
class EllipticContact:
    """Hertzian contact of two curved bodies as a function of force or approach.

    Parameters
    ----------
    greater_radius, smaller_radius : float
        R' >= R" > 0 of the gap [m], see `relative_radii`.
    modulus : float
        E* [Pa], > 0, see `effective_modulus`.
    exact : bool
        True for factors by elliptic integrals, False for the cubics (q <= 10).
    """

    greater_radius: float
    smaller_radius: float
    modulus: float
    exact: bool = True

    def __post_init__(self) -> None:
        check_number("smaller_radius", self.smaller_radius, above=0.0, unit="m")
        check_number("greater_radius", self.greater_radius, at_least=self.smaller_radius, unit="m")
        check_number("modulus", self.modulus, above=0.0, unit="Pa")
        _ = self.factors  # raises here, not later, if the ratio is out of range

    @cached_property
    def factors(self) -> EllipseFactors:
        """Factors F₁, F₂ and F₄ [1]."""
        ratio = math.sqrt(self.greater_radius / self.smaller_radius)
        return exact_factors(ratio) if self.exact else approximate_factors(ratio)

    @property
    def equivalent_radius(self) -> float:
        """Equivalent radius Re = √(R' R") [m]."""
        return math.sqrt(self.greater_radius * self.smaller_radius)

    @property
    def stiffness(self) -> float:
        """Stiffness K of F = K δ^(3/2) [N/m^(3/2)], for `HertzLaw` and the dissipative laws."""
        radius = self.equivalent_radius
        return 4.0 / 3.0 * self.modulus * math.sqrt(radius) / self.factors.approach**1.5

    def force(self, approach: ArrayLike) -> FloatArray:
        """Return the force [N] at approaches δ [m] of any shape; zero where δ <= 0."""
        depth = np.maximum(check_array("approach", approach), 0.0)
        return (self.stiffness * depth**1.5)[()]

    def approach(self, force: ArrayLike) -> FloatArray:
        """Return the approach δ [m] under forces [N], >= 0, of any shape."""
        return ((_not_negative(force) / self.stiffness) ** (2.0 / 3.0))[()]

    def semi_axes(self, force: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return a >= b [m] of the contact ellipse under forces [N], >= 0, of any shape."""
        scaled = 0.75 * _not_negative(force) * self.equivalent_radius / self.modulus
        mean = np.cbrt(scaled) * self.factors.size
        ratio = self.factors.shape * math.sqrt(self.smaller_radius / self.greater_radius)
        return mean / math.sqrt(ratio), mean * math.sqrt(ratio)

    def peak_pressure(self, force: ArrayLike) -> FloatArray:
        """Return p₀ [Pa] at the centre of the ellipse under forces [N], >= 0, of any shape."""
        load = 6.0 * _not_negative(force) * (self.modulus / self.equivalent_radius) ** 2
        return np.cbrt(load) / (math.pi * self.factors.size**2)


def _not_negative(force: ArrayLike) -> FloatArray:
    return check_array("force", force, at_least=0.0, unit="N")
