"""Sections 4 and 5 of Machado et al. (2010): contact forces and ligaments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.literature.statements import Statement, undecidable
from benchmarks.measures import max_abs
from benchmarks.planar_knee import free
from dynamics.ligaments.bundles import TRANSITION_STRAIN
from dynamics.mechanics.planar_knee import (
    PlanarLigament,
    machado_data,
    machado_ligaments,
    machado_state,
)
from foundation.base.checks import FloatArray
from foundation.contact_laws import LankaraniNikraveshLaw, returned_restitution, sphere_stiffness

#: Share of a value that rounding may change.
_ROUNDING = 1e-10


def _printed_stiffness(radii: tuple[float, float], moduli: FloatArray, ratios: FloatArray) -> float:
    """Return K of eq. 25, 26 [N/m^(3/2)]."""
    r_i, r_j = radii
    sigma = (1.0 - ratios**2) / moduli
    return float(4.0 / (3.0 * sigma.sum()) * np.sqrt(r_i * r_j / (r_i + r_j)))


def _stiffness() -> Statement:
    away = 0.0
    for radii in ((0.04, 0.03), (0.04, 0.5), (0.01, 0.01)):
        for moduli, ratios in (([5e6, 5e6], [0.46, 0.46]), ([5e6, 1e9], [0.46, 0.3])):
            printed = _printed_stiffness(radii, np.array(moduli), np.array(ratios))
            ours = sphere_stiffness(*radii, moduli[0], ratios[0], moduli[1], ratios[1])
            away = max(away, abs(ours / printed - 1.0))
    motion = free(50.0)
    touching = motion.indentation > 1e-5
    logarithms = np.log(motion.indentation[touching]), np.log(motion.contact_force[touching])
    exponent, constant = np.polyfit(*logarithms, 1)
    # A plane is a sphere without curvature.
    plane = _printed_stiffness((0.04, 1e9), np.full(2, 5e6), np.full(2, 0.46))
    known = np.exp(constant) / plane - 1.0
    return Statement(
        "section 4, eq. 24-26",
        "F = K δⁿ, n = 1.5, K = 4/(3(σ_i + σ_j)) √(R_i R_j/(R_i + R_j)), σ = (1 - ν²)/E",
        f"K of three pairs of spheres, alike and unlike, within {away:.0e}; in the motion at 50 N "
        f"n = {exponent:.6f} and K = {np.exp(constant):.4g} N/m^1.5, that of a sphere of 40 mm on "
        f"a plane within {abs(known):.0e}",
        away < _ROUNDING and abs(exponent - 1.5) < 1e-6 and abs(known) < 1e-5,
    )


def _hysteresis() -> Statement:
    away = 0.0
    depth, rate = np.meshgrid([1e-4, 1e-3, 8e-3], [-0.2, 0.0, 0.1, 0.3])
    for restitution in (0.0, 0.3, 0.9):
        law = LankaraniNikraveshLaw(8.4e5, restitution)
        printed = 8.4e5 * depth**1.5 * (1.0 + 3.0 * (1.0 - restitution**2) / 4.0 * rate / 0.3)
        away = max(away, max_abs(law.force(depth, rate, 0.3) / printed - 1.0))
    given = machado_data()["restitution"]
    factor = LankaraniNikraveshLaw(8.4e5, given).hysteresis_factor
    return Statement(
        "section 4, eq. 27",
        "F = K δⁿ (1 + 3(1 - c²)/4 δ̇/δ̇⁻)",
        f"the force within {away:.0e} for c = 0, 0.3 and 0.9; the factor for c = 0.3 is "
        f"{factor:.4f}",
        away < _ROUNDING,
        f"an impact under the law with c = {given:g} returns "
        f"{returned_restitution(factor):.2f} of the speed: c is the restitution only near 1; "
        "the force here never pulls",
    )


def _compartments() -> Statement:
    radius, tibia = 0.04, 0.06
    cartilage = 5e6, 0.46
    shapes = {"convex": tibia, "plane": None, "concave": -tibia}
    stiffness = {
        name: sphere_stiffness(radius, other, *cartilage, *cartilage)
        for name, other in shapes.items()
    }
    listed = ", ".join(f"{name} {each / 1e5:.2f}" for name, each in stiffness.items())
    return undecidable(
        "section 4, figure 6",
        "average radii of the compartments; the medial surfaces (convex on concave) conform best, "
        "the lateral ones (convex on convex) worst, and the load is higher on the lateral side, "
        "where the cartilage is thicker",
        "the figure with the radii is missing, and a planar model has one compartment, hence no "
        "share of the load",
        f"K of a femur of 40 mm on a tibia of 60 mm, our radii: {listed} 10⁵ N/m^1.5; the more "
        "conforming contact is the stiffer one",
    )


def _stress_strain() -> Statement:
    strain = np.linspace(0.0, machado_ligaments()[0].strain_limit, 341)
    toe = np.where(
        strain < TRANSITION_STRAIN,
        strain**2 / (2.0 * TRANSITION_STRAIN),
        strain - 0.5 * TRANSITION_STRAIN,
    )
    k = float((toe * strain**2).sum() / (strain**4).sum())
    away = 100.0 * max_abs(toe - k * strain**2) / toe.max()
    return undecidable(
        "section 5, figure 7",
        "the typical curve of stress and strain (zone I of growing stiffness, zone II of nearly "
        "constant stiffness, zone III of rupture) can be represented by a quadratic force",
        "the figure with the curve is missing, and no measure of the likeness is printed",
        f"the best quadratic differs by {away:.0f} % of the largest force from a force with a toe "
        f"up to {100 * TRANSITION_STRAIN:.0f} % and a constant stiffness up to "
        f"{100 * strain[-1]:.0f} % of strain; the stiffness of a quadratic force never becomes "
        "constant",
    )


def _ligaments() -> Statement:
    away = slope = 0.0
    for each in machado_ligaments():
        for extra in (-5e-3, 0.0, 1e-3, 4e-3):
            printed = each.stiffness * extra**2 if extra > 0.0 else 0.0
            force = each.tension(each.rest_length + extra)
            away = max(away, abs(force - printed) / (printed or 1.0))
        taut = replace(each, rest_length=0.8 * each.rest_length)
        slope = max(slope, _off_the_line(taut))
    double = machado_ligaments()[0]
    ratio = double.tension(double.rest_length + 2e-3) / double.tension(double.rest_length + 1e-3)
    return Statement(
        "section 5, eq. 28, 29",
        "F = k (l - l⁰)² for l > l⁰, else 0, along the line through the insertions",
        f"the tension of the four ligaments within {away:.0e}, {ratio:.3f} times as large at twice "
        f"the elongation, zero when slack; load on the tibia off the line by {slope:.0e} of the "
        "tension",
        away < _ROUNDING and slope < _ROUNDING and abs(ratio - 4.0) < 1e-6,
        "no linear term: the law that Lehtoranta (2011, eq. 45) prints for these ligaments lacks "
        "the square, though k of table 2 is in N/m²",
    )


def _off_the_line(ligament: PlanarLigament) -> float:
    """Return the part of the load across the line of the insertions, by the tension [1]."""
    x, y, angle = machado_state()[:3]
    tibial = complex(x, y) + np.exp(1j * angle) * complex(*ligament.tibial)
    line = complex(*ligament.femoral) - tibial
    f_x, f_y, _ = ligament.load((x, y, angle))
    across = complex(f_x, f_y) - ligament.tension(abs(line)) * line / abs(line)
    return abs(across) / ligament.tension(abs(line))


STATEMENTS = (
    _stiffness,
    _hysteresis,
    _compartments,
    _stress_strain,
    _ligaments,
)
