"""Section 3.2: Hertz's theory, eqs. 4 to 13 and table 1."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.exact_layer import ExactContact, exact_contact, paraboloid
from benchmarks.exact_layer_axisymmetric import AxisymmetricContact
from benchmarks.exact_layer_compliance import Layer
from benchmarks.literature.statements import Statement, misprint
from foundation.contact_laws import (
    EllipseFactors,
    EllipticContact,
    approximate_factors,
    effective_modulus,
    exact_factors,
    sphere_stiffness,
)

_RATIOS = np.geomspace(1.0, 10.0, 91)
#: Cartilage on cartilage, E* [Pa].
_MODULUS = effective_modulus(5e6, 0.46, 5e6, 0.46)
_HALF_SPACE = Layer(10e6, 0.45, math.inf)


def _half_space() -> Statement:
    radius, errors = 30e-3, []
    shares = (0.05, 0.1, 0.2, 0.4, 0.8)
    for share in shares:
        ball = AxisymmetricContact(_HALF_SPACE, radius, share * radius, "sphere")
        hertz = 4.0 / 3.0 * _HALF_SPACE.plane_modulus * math.sqrt(radius) * ball.approach**1.5
        errors.append(100.0 * abs(hertz / ball.load - 1.0))
    listed = ", ".join(f"{e:.2g} % at {s:g}" for s, e in zip(shares, errors, strict=True))
    return Statement(
        "section 3.2",
        "Hertz: half-spaces, the contact small against bodies and radii of curvature, small "
        "deformations",
        f"force of a rigid sphere on a half-space at the same approach, off by a/R: {listed}",
        (np.diff(errors) > 0.0).all() and errors[0] < 0.1 and errors[-1] > 5.0,
        "the error vanishes with the square of a/R",
    )


def _eq_4() -> Statement:
    ball = AxisymmetricContact(_HALF_SPACE, 30e-3, 3e-3)
    exponent = ball.stiffness * ball.approach / ball.load
    ratio = ball.peak_pressure * ball.area / ball.load
    # Peak over mean pressure of both shapes; springs, p = k (δ - r²/(2R)), have F = π R k δ².
    at = np.linspace(0.0, 1.0, 2001)
    ellipsoid, parabola = (
        1.0 / float(np.trapezoid(2.0 * at * (1.0 - at**2) ** n, at)) for n in (0.5, 1.0)
    )
    return misprint(
        "eq. 4",
        "n = 1.5 where the contact stresses are parabolic",
        "n = 1.5 where they are half-ellipsoidal, as in eq. 7; parabolic stresses, of springs, "
        "have n = 2",
        f"half-space under a ball by the integral equation: n = {exponent:.4f}, peak over mean "
        f"pressure {ratio:.4f}; a half-ellipsoid has {ellipsoid:.3f}, a paraboloid {parabola:.3f}",
        abs(exponent - 1.5) < 1e-6
        and abs(ratio - ellipsoid) < 1e-3
        and abs(ratio - parabola) > 0.4,
    )


def _eq_5() -> Statement:
    # Two balls on the elastic half-space: one rigid ball of the relative radius, E* of both.
    soft, hard, radii = (5e6, 0.46), (20e6, 0.3), (0.04, 0.06)
    printed = (
        4.0
        / (3.0 * sum((1.0 - nu**2) / e for e, nu in (soft, hard)))
        * math.sqrt(radii[0] * radii[1] / (radii[0] + radii[1]))
    )
    # A half-space without Poisson's ratio has E for E*.
    ball = AxisymmetricContact(Layer(effective_modulus(*soft, *hard), 0.0, math.inf), 0.024, 1e-3)
    exact = ball.load / ball.approach**1.5
    ours = sphere_stiffness(*radii, *soft, *hard)
    return Statement(
        "eq. 5, 6, 12",
        "K = 4/(3(σᵢ + σⱼ)) √(RᵢRⱼ/(Rᵢ + Rⱼ)), σ = (1 - ν²)/E, E* = 1/(σᵢ + σⱼ)",
        f"balls of 40 and 60 mm, 5 and 20 MPa: {printed:.5g} N/m^1.5 as printed, {ours:.5g} by our "
        f"law, {exact:.5g} by the integral equation",
        abs(printed / exact - 1.0) < 1e-6 and abs(ours / printed - 1.0) < 1e-12,
        "the list of symbols gives K in MPa, which fits none of eqs. 1, 4 and 27",
    )


def elliptic_field() -> tuple[ExactContact, tuple[float, float]]:
    """Return the contact of an elliptic paraboloid on a grid, and Hertz's semi-axes [m]."""
    radii, load = (60e-3, 20e-3), 100.0
    hertz = EllipticContact(*radii, _HALF_SPACE.plane_modulus)
    a, b = hertz.semi_axes(load)
    return exact_contact(_HALF_SPACE, paraboloid(*radii), load=load, cells=64), (float(a), float(b))


def _eq_7() -> Statement:
    found, (a, b) = elliptic_field()
    largest = 1.5 * found.load / (math.pi * a * b)
    field = found.field
    inside = 1.0 - (field.x[:, None] / a) ** 2 - (field.y[None, :] / b) ** 2
    printed = largest * np.sqrt(np.maximum(inside, 0.0))
    core = inside > 0.2
    off = float(np.abs(field.pressure - printed)[core].max() / largest)
    return Statement(
        "eq. 7, 8",
        "p = p₀ √(1 - (y/b)² - (z/a)²), p₀ = 3P/(2πab)",
        f"elliptic paraboloid of 60 and 20 mm on a half-space, 100 N: p₀ = {1e-6 * largest:.4f} "
        f"MPa, by the solution on a grid {1e-6 * found.peak_pressure:.4f} MPa; the ellipsoid is "
        f"within {100.0 * off:.2g} % of p₀ where p > 0.45 p₀",
        abs(found.peak_pressure / largest - 1.0) < 1e-3 and off < 0.01,
    )


def _eq_9() -> Statement:
    radius = 0.04
    truth = sphere_stiffness(radius, radius, 5e6, 0.46, 5e6, 0.46)
    relative = EllipticContact.from_curvatures([25.0] * 2, [25.0] * 2, _MODULUS).stiffness
    own = EllipticContact(radius, radius, _MODULUS).stiffness
    return misprint(
        "eq. 9-11",
        "Rᵢ and Rⱼ are radii of curvature of the bodies",
        "R′ and R″ are the relative radii of the gap",
        f"two spheres of 40 mm: K = {truth:.4g} N/m^1.5 by Hertz's theory of spheres, "
        f"{relative:.4g} with relative radii, {own:.4g} with those of the bodies",
        abs(relative / truth - 1.0) < 1e-9 and abs(own / truth - math.sqrt(2.0)) < 1e-9,
    )


def _eq_11() -> Statement:
    radius, load = 0.02, 100.0  # relative radius of two spheres of 40 mm
    contact = EllipticContact(radius, radius, _MODULUS)
    a, b = contact.semi_axes(load)
    largest = 1.5 * load / (math.pi * float(a) * float(b))
    with_force = (9.0 * load**2 / (16.0 * radius * _MODULUS**2)) ** (1.0 / 3.0)
    # The pressure has another unit than the force: the depth depends on the units.
    metres = (9.0 * largest**2 / (16.0 * radius * _MODULUS**2)) ** (1.0 / 3.0)
    millimetres = 1e-3 * (
        9.0 * (1e-6 * largest) ** 2 / (16.0 * 1e3 * radius * (1e-6 * _MODULUS) ** 2)
    ) ** (1.0 / 3.0)
    truth = (load / sphere_stiffness(0.04, 0.04, 5e6, 0.46, 5e6, 0.46)) ** (2.0 / 3.0)
    return misprint(
        "eq. 11",
        "δ = (9p²/(16 √(RᵢRⱼ) E*²))^⅓ F₂ with p, the pressure of eq. 7",
        "P², the force of eq. 8",
        f"two spheres of 40 mm, 100 N: {1e3 * truth:.4f} mm by Hertz's theory of spheres, "
        f"{1e3 * with_force:.4f} mm with P; with p₀ {1e3 * metres:.3g} mm in SI units, "
        f"{1e3 * millimetres:.3g} mm in N and mm",
        abs(with_force / truth - 1.0) < 1e-9
        and min(abs(d / truth - 1.0) for d in (metres, millimetres)) > 0.1,
    )


def _ratio() -> Statement:
    greater, smaller = 0.1, 0.025
    q, product = math.sqrt(greater / smaller), math.sqrt(greater * smaller)
    truth = exact_factors(q).size
    wanted = approximate_factors(q).size
    # The cubic of F₁ at the product of the radii, in metres and in millimetres.
    printed = [cubic(1e3**k * product, (-0.0268, -0.2299, 0.0721)) for k in (0, 1)]
    return misprint(
        "eq. of q",
        "q = (RᵢRⱼ)^½, called a ratio",
        "q = (R′/R″)^½",
        f"R′ = 100 mm, R″ = 25 mm: the product is a length, {product:g} m or {1e3 * product:g} mm, "
        f"with F₁ = {printed[0]:.3f} or {printed[1]:.3f}; the quotient has q = {q:g}, F₁ = "
        f"{wanted:.3f}, elliptic integrals {truth:.3f}",
        abs(wanted / truth - 1.0) < 5e-3 and min(abs(f / truth - 1.0) for f in printed) > 0.1,
    )


def cubic(ratio: float, coefficients: tuple[float, float, float]) -> float:
    """Return eq. 13 of a ratio q [1] with coefficients c₁, c₂ and c₃."""
    x = math.log10(ratio)
    return 1.0 + sum(c * x**k for k, c in enumerate(coefficients, start=1))


def _cubics() -> Statement:
    printed = (-0.0268, -0.2299, 0.0721), (-0.0032, -0.3007, 0.0906)
    pairs = [([cubic(q, c) for c in printed], exact_factors(q)) for q in _RATIOS]
    away = [100.0 * max(abs(p[k] / e[k] - 1.0) for p, e in pairs) for k in range(2)]
    return Statement(
        "eq. 13, table 1",
        "F₁ and F₂ are cubics in log q",
        f"{away[0]:.2f} and {away[1]:.2f} % from the elliptic integrals, 1 ≤ q ≤ 10",
        max(away) < 0.5,
        "the logarithm has the base 10",
    )


def _sign() -> Statement:
    exact: EllipseFactors = exact_factors(10.0)
    printed = cubic(10.0, (-0.7867, -0.4366, -0.1001))
    right = cubic(10.0, (-0.7867, +0.4366, -0.1001))
    return misprint(
        "table 1, F₄",
        "c₂ = −0.4366",
        "c₂ = +0.4366",
        f"q = 10: {printed:.4f} with minus, {right:.4f} with plus, {exact.shape:.4f} by elliptic "
        "integrals",
        abs(right / exact.shape - 1.0) < 1e-3 and abs(printed / exact.shape - 1.0) > 0.5,
    )


STATEMENTS = (
    _half_space,
    _eq_4,
    _eq_5,
    _eq_7,
    _eq_9,
    _eq_11,
    _ratio,
    _cubics,
    _sign,
)
