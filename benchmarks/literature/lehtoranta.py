"""Lehtoranta (2011, Kontaktimallit ihmisen polvinivelen mallinnuksessa, Lappeenranta)."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from matplotlib.figure import Figure

from benchmarks.literature.statements import Paper, Statement, misprint
from benchmarks.planar_knee import LIGAMENTS, free
from dynamics.mechanics.impact import coefficient_of_restitution
from dynamics.mechanics.planar_knee import MACHADO_LAWS, PlanarMotion, machado_laws
from foundation.checks import FloatArray
from foundation.contact_laws import (
    EllipseFactors,
    EllipticContact,
    FloresLaw,
    HuntCrossleyLaw,
    LankaraniNikraveshLaw,
    LinearHysteresisLaw,
    approximate_factors,
    effective_modulus,
    exact_factors,
    returned_restitution,
    sphere_stiffness,
)
from foundation.elastic_foundation.laws import ModifiedLaw

_RATIOS = np.geomspace(1.0, 10.0, 91)
_GIVEN = np.linspace(0.05, 0.95, 19)
#: Cartilage on cartilage, E* [Pa].
_MODULUS = effective_modulus(5e6, 0.46, 5e6, 0.46)


@cache
def statements() -> list[Statement]:
    """Return the statements of the thesis."""
    return [_cubics(), *_restitutions(), _laws_on_the_knee()]


def _cubics() -> Statement:
    pairs = [(approximate_factors(q), exact_factors(q)) for q in _RATIOS]
    away = [100.0 * max(abs(a[k] / e[k] - 1.0) for a, e in pairs) for k in range(3)]
    return Statement(
        "table 1",
        "F₁, F₂ and F₄ of the contact ellipse are cubics in log q, 1 ≤ q ≤ 10",
        f"{away[0]:.2f}, {away[1]:.2f} and {away[2]:.2f} % from the elliptic integrals",
        away[0] < 0.5 and away[1] < 0.5 and away[2] < 0.1,
        "with a positive c₂ of F₄, see below",
    )


def _restitutions() -> list[Statement]:
    rows = []
    for name, law, factor in (
        ("Hunt-Crossley", HuntCrossleyLaw, "3(1 - c)/2"),
        ("Lankarani-Nikravesh", LankaraniNikraveshLaw, "3(1 - c²)/4"),
        ("Flores", FloresLaw, "8(1 - c)/(5c)"),
    ):
        returned = [returned_restitution(law(1.0, c).hysteresis_factor) for c in _GIVEN]
        away = np.abs(returned - _GIVEN).max()
        agrees = bool(away < 0.05)
        rows.append(
            Statement(
                "section 3",
                f"{name}: the damping {factor} belongs to the restitution c",
                f"restitution up to {away:.3f} off, c = 0.05 to 0.95",
                agrees,
                "" if agrees else "valid near c = 1 alone",
            )
        )
    return rows


def _laws_on_the_knee() -> Statement:
    runs = {name: free(50.0, name) for name in MACHADO_LAWS}
    deep = {name: 1e3 * each.indentation.max() for name, each in runs.items()}
    lost = {name: float(each.contact_loss[-1]) for name, each in runs.items()}
    balanced = [abs(each.energy_error).max() / each.kinetic.max() for each in runs.values()]
    listed = ", ".join(f"{name} {deep[name]:.1f} mm and {lost[name]:.2f} J" for name in runs)
    return Statement(
        "figure 8",
        "the laws of Hertz, Hunt-Crossley, Lankarani-Nikravesh and Flores in one multibody model",
        f"planar knee of Machado et al., 50 N, 0.5 s, indentation and loss: {listed}",
        bool(max(balanced) < 1e-6 and lost["hertz"] == 0.0 and _ordered(deep)),
        "more damping, shallower contact; energies balance within 1e-6",
    )


def _ordered(deep: dict[str, float]) -> bool:
    """Whether indentations fall with the factor of the damping, Hertz first."""
    factors = {n: getattr(law, "hysteresis_factor", 0.0) for n, law in machado_laws().items()}
    order = sorted(deep, key=lambda name: factors[name])
    return bool((np.diff([deep[name] for name in order]) < 0.0).all())


@cache
def errata() -> list[Statement]:
    """Return the errors in print."""
    return [_eq_3(), _eq_9(), _ratio(), _sign(), _figure_5(), _eq_23(), _reference()]


def _eq_3() -> Statement:
    # The law with √c in place of c retreats on c K δ, as printed.
    returned = {
        c: coefficient_of_restitution(LinearHysteresisLaw(1e5, math.sqrt(c)), 0.3, 0.8).restitution
        for c in (0.2, 0.5, 0.8)
    }
    right = coefficient_of_restitution(LinearHysteresisLaw(1e5, 0.5), 0.3, 0.8).restitution
    listed = ", ".join(f"{e:.3f} for c = {c:g}" for c, e in returned.items())
    return misprint(
        "eq. 3",
        "F = cKδ in retreat",
        "F = c²Kδ in retreat",
        f"as printed an impact returns √c: {listed}; with c² it returns {right:.3f} for c = 0.5",
        all(abs(e - math.sqrt(c)) < 1e-6 for c, e in returned.items()) and abs(right - 0.5) < 1e-6,
    )


def _eq_9() -> Statement:
    radius = 0.04
    truth = sphere_stiffness(radius, radius, 5e6, 0.46, 5e6, 0.46)
    relative = EllipticContact.from_curvatures([25.0] * 2, [25.0] * 2, _MODULUS).stiffness
    own = EllipticContact(radius, radius, _MODULUS).stiffness
    return misprint(
        "eq. 9-11",
        "R′ and R″ are radii of the bodies",
        "R′ and R″ are the relative radii of the gap",
        f"two spheres of 40 mm: K = {truth:.4g} N/m^1.5 by Hertz's theory of spheres, "
        f"{relative:.4g} with relative radii, {own:.4g} with those of the bodies",
        abs(relative / truth - 1.0) < 1e-9 and abs(own / truth - math.sqrt(2.0)) < 1e-9,
    )


def _ratio() -> Statement:
    greater, smaller = 0.1, 0.025
    q, product = math.sqrt(greater / smaller), math.sqrt(greater * smaller)
    truth = exact_factors(q).size
    wanted = approximate_factors(q).size
    # The cubic of F₁ at the product of the radii, in metres and in millimetres.
    printed = [_cubic(1e3**k * product, (-0.0268, -0.2299, 0.0721)) for k in (0, 1)]
    return misprint(
        "eq. of q",
        "q = (RᵢRⱼ)^½",
        "q = (R′/R″)^½",
        f"R′ = 100 mm, R″ = 25 mm: the product is a length, {product:g} m or {1e3 * product:g} mm, "
        f"with F₁ = {printed[0]:.3f} or {printed[1]:.3f}; the quotient has q = {q:g}, F₁ = "
        f"{wanted:.3f}, elliptic integrals {truth:.3f}",
        abs(wanted / truth - 1.0) < 5e-3 and min(abs(f / truth - 1.0) for f in printed) > 0.1,
    )


def _cubic(ratio: float, coefficients: tuple[float, float, float]) -> float:
    x = math.log10(ratio)
    return 1.0 + sum(c * x**k for k, c in enumerate(coefficients, start=1))


def _sign() -> Statement:
    exact: EllipseFactors = exact_factors(10.0)
    printed = _cubic(10.0, (-0.7867, -0.4366, -0.1001))
    right = _cubic(10.0, (-0.7867, +0.4366, -0.1001))
    return misprint(
        "table 1, F₄",
        "c₂ = −0.4366",
        "c₂ = +0.4366",
        f"q = 10: {printed:.4f} with minus, {right:.4f} with plus, {exact.shape:.4f} by elliptic "
        "integrals",
        abs(right / exact.shape - 1.0) < 1e-3 and abs(printed / exact.shape - 1.0) > 0.5,
    )


def axis_coefficients(theta: float) -> tuple[float, float]:
    """Return m and n of the semi-axes a = m s, b = n s, s³ = 3F/(4E*(A + B)).

    Parameters
    ----------
    theta : float
        Angle of cos θ = (B - A)/(A + B) [rad], with A = 1/(2R′) and B = 1/(2R″).
    """
    total, spread = 50.0, 50.0 * math.cos(theta)
    contact = EllipticContact(1.0 / (total - spread), 1.0 / (total + spread), _MODULUS)
    scale = (0.75 / (_MODULUS * total)) ** (1.0 / 3.0)
    a, b = contact.semi_axes(1.0)
    return float(a) / scale, float(b) / scale


def _figure_5() -> Statement:
    m, n = axis_coefficients(math.radians(60.0))
    near = axis_coefficients(math.radians(30.0))
    return misprint(
        "figure 5, read as the coefficients of the semi-axes over θ",
        "curves of n and m, each with the name of the other",
        "m, of the greater semi-axis, is the curve above 1; n is that below",
        f"elliptic integrals: m = {m:.3f}, n = {n:.3f} at θ = 60°, {near[0]:.3f} and {near[1]:.3f} "
        "at 30°; both are 1 at 90°",
        near[0] > m > 1.0 > n > near[1] and abs(axis_coefficients(0.5 * math.pi)[0] - 1.0) < 1e-9,
    )


def _eq_23() -> Statement:
    shares = {}
    for c in (0.3, 0.6, 0.9):
        law = FloresLaw(1e6, c)
        impact = coefficient_of_restitution(law, 0.3, 0.5)
        approach = 0.5 * 0.3 * 0.5**2 - float(law.energy(impact.largest_indentation))
        shares[c] = impact.energy_loss / approach
    listed = ", ".join(f"{share:.2f} for c = {c:g}" for c, share in shares.items())
    # With 1 - c the approach alone would lose 1 + c times the kinetic energy.
    factors = [(8.0 / 5.0) * (1.0 - c) / c for c in shares]
    derived = [flores_factor(c) for c in shares]
    return misprint(
        "eq. 23, read as the loss in the derivation of Flores's law",
        "loss of an impact ¼ χ (1 − c) δ̇₀ δₘ^(5/2)",
        "¼ χ (1 + c) δ̇₀ δₘ^(5/2)",
        f"loss of an impact over that of its approach, Flores's law: {listed}; the factor "
        "8(1 − c)/(5c) follows with plus alone, with minus the approach loses more than the "
        "kinetic energy",
        all(abs(share - 1.0 - c) < 0.1 for c, share in shares.items())
        and bool(np.allclose(derived, factors)),
    )


def flores_factor(restitution: float) -> float:
    """Return a = χ δ̇₀/K [1] from the energies of approach and of the whole impact.

    With the kinetic energy as unit: ¼ χ δ̇₀ X (1 + c) = 1 - c², ⅖ K X = 1 - ¼ χ δ̇₀ X, X = δₘ^(5/2).
    """
    lost = (1.0 - restitution**2) / (1.0 + restitution)
    return 4.0 * lost / (2.5 * (1.0 - lost))


def _reference() -> Statement:
    pressures = {}
    for unit, scale in (("m", 1.0), ("mm", 1e3)):
        depth, reference, thickness = 1e-4 * scale, 1e-3 * scale, 8e-3 * scale
        nominal = depth**0.5 * reference**0.5 / thickness
        pressures[unit] = nominal, nominal * reference**0.5
    right, twice = (pressures["mm"][k] / pressures["m"][k] for k in (0, 1))
    law = ModifiedLaw(463e6, 0.46, 8e-3, f=math.inf, m=0.5, reference_indentation=1e-3)
    ours = float(law.confined_modulus) * pressures["m"][0]
    return misprint(
        "eq. 46-49",
        "δref in the pressure and in the effective thickness",
        "δref once, p = C E δref^(1−m) δ^m/h",
        f"m = 0.5: in mm in place of m the pressure is {twice:.1f} times as high with δref twice, "
        f"{right:.0f} times with δref once ({1e-6 * ours:.1f} MPa at 0.1 mm)",
        abs(right - 1.0) < 1e-9 and abs(twice - math.sqrt(1e3)) < 1e-6,
    )


def picture() -> Figure:
    """Draw the four laws of figure 8 on the planar knee."""
    figure = Figure(figsize=(10.0, 6.4), layout="constrained", dpi=110)
    axes = figure.subplots(2, 2)
    runs: dict[str, PlanarMotion] = {name: free(50.0, name) for name in MACHADO_LAWS}
    for name, motion in runs.items():
        time = 1e3 * motion.time
        values: tuple[tuple[FloatArray, str], ...] = (
            (motion.contact_force, "contact force [N]"),
            (1e3 * np.maximum(motion.indentation, 0.0), "indentation [mm]"),
            (np.degrees(motion.flexion), "flexion [deg]"),
            (motion.ligament_force[:, -1], f"tension of the {LIGAMENTS[-1].name} [N]"),
        )
        for each, (value, label) in zip(axes.flat, values, strict=True):
            each.plot(time, value, label=name)
            each.set(ylabel=label)
    for each in axes[1]:
        each.set(xlabel="time [ms]")
    axes[0, 0].legend(fontsize="small")
    return figure


def rows() -> list[Statement]:
    """Return all statements."""
    return [*statements(), *errata()]


PAPER = Paper(
    "lehtoranta",
    "Lehtoranta 2011, contact laws for the knee",
    rows,
    picture,
)
