"""Hertzian contact of two spheres, of a sphere in a socket and of a sphere on a plane.

F = K δ^(3/2), K = (4/3) E* √R (Johnson 1985, eq. 4.22-4.24). The contact radius must stay small
compared with both radii, which fails early in a socket of nearly the sphere's radius.
"""

from __future__ import annotations

import math

from foundation.base.checks import check_number
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
