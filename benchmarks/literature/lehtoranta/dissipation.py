"""Sections 3.2 to 3.5: laws that dissipate, eqs. 14 to 25."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.integrate import quad, solve_ivp

from benchmarks.literature.statements import Statement, misprint
from dynamics.mechanics.impact import coefficient_of_restitution
from foundation.base.checks import FloatArray
from foundation.contact_laws import (
    FloresLaw,
    HertzLaw,
    HuntCrossleyLaw,
    HysteresisLaw,
    KelvinVoigtLaw,
    LankaraniNikraveshLaw,
    LinearHysteresisLaw,
    returned_restitution,
)

#: Difference of two coefficients of restitution that counts as none [1].
_CLOSE = 0.05
_GIVEN = np.linspace(0.05, 0.95, 19)
#: Stiffness [N/m^1.5], mass [kg] and speed [m/s] of the impacts; the restitution needs none.
_STIFFNESS, _MASS, _SPEED = 1e6, 0.3, 0.5


def _ends() -> Statement:
    law, hertz = KelvinVoigtLaw(1e5, 0.5, _MASS), HertzLaw(_STIFFNESS)
    hunt = HuntCrossleyLaw(_STIFFNESS, 0.5)
    tiny = 1e-9  # m, just after the first touch and just before the separation
    rate = returned_restitution(hunt.hysteresis_factor) * _SPEED
    start = float(law.bonded_force(tiny, _SPEED))
    end = float(law.bonded_force(tiny, -0.5 * _SPEED))
    none = float(hertz.force(tiny))
    both = [float(hunt.force(tiny, v, _SPEED)) for v in (_SPEED, -rate)]
    return Statement(
        "section 3.2 and 3.3, eq. 14-17",
        "just before the separation Hertz transmits no stress, Kelvin and Voigt do; F = Kδⁿ(1 + "
        "3(1 - c)δ̇/(2δ̇ₐ)) is zero at start and end",
        f"c = 0.5, 0.5 m/s, δ → 0: Hertz {none:.0e} N, eq. 17 {both[0]:.0e} N at the start and "
        f"{both[1]:.0e} N at the end, spring and dashpot in parallel {start:.0f} N at the start "
        f"and {end:.0f} N at the end",
        max(none, *both) < 1e-6 and min(abs(start), abs(end)) > 1.0,
        "true of the spring and dashpot of section 3.1; by eqs. 2 and 3 the force ends at zero as "
        "well",
    )


def restitution_errors(law: type[HysteresisLaw]) -> FloatArray:
    """Return the restitution of impacts minus c, for c = 0.05 to 0.95, (19,) [1]."""
    returned = [returned_restitution(law(1.0, c).hysteresis_factor) for c in _GIVEN]
    return np.array(returned) - _GIVEN


def _hunt_crossley() -> Statement:
    off = np.abs(restitution_errors(HuntCrossleyLaw))
    return Statement(
        "eq. 16",
        "Hunt and Crossley: μ = 3K(1 - c)/(2δ̇ₐ), with the coefficient of restitution c",
        f"an impact returns up to {off.max():.3f} more than c (c = 0.05), {off[-1]:.3f} at 0.95",
        off.max() < _CLOSE,
        "of first order in 1 - c; the document states no limit",
    )


def _energies() -> Statement:
    c, masses, mass = 0.95, (0.4, 1.2), 0.4 * 1.2 / 1.6
    damping = 0.75 * _STIFFNESS * (1.0 - c * c) / _SPEED
    lost = 0.5 * mass * _SPEED**2 * (1.0 - c * c)
    simulated = two_body_loss(LinearHysteresisLaw(_STIFFNESS, c), masses, _SPEED)
    loop = elastic_loop(damping, _STIFFNESS, mass, _SPEED)
    printed = 2.0 * damping * mass * _SPEED**3 / (3.0 * _STIFFNESS)
    # How much less than eq. 18 an impact by eq. 22 loses, for c towards 1.
    short = [1.0 - lankarani_loss_share(each) for each in (c, 0.99, 0.999)]
    return Statement(
        "eq. 18-21",
        "ΔT = ½ m_eff δ̇ₐ²(1 - c²), m_eff = mᵢmⱼ/(mᵢ + mⱼ); ∮μδⁿδ̇dδ ≅ 2μm_eff δ̇ₐ³/(3K); hence μ = "
        "3K(1 - c²)/(4δ̇ₐ)",
        f"0.4 and 1.2 kg, 0.5 m/s, c = 0.95: {1e3 * lost:.3f} mJ by eq. 18, "
        f"{1e3 * simulated:.3f} mJ in an impact of two free bodies with this restitution; the "
        f"integral at the elastic rate is {1e3 * loop:.3f} mJ, by eq. 19 {1e3 * printed:.3f} mJ "
        f"with eq. 21; an impact by eq. 22 loses {100.0 * short[0]:.1f} % less, "
        f"{100.0 * short[1]:.1f} % less at c = 0.99, {100.0 * short[2]:.2f} % less at 0.999",
        abs(simulated / lost - 1.0) < 1e-6
        and abs(loop / printed - 1.0) < 1e-8
        and abs(printed / lost - 1.0) < 1e-12
        and short[0] > 4.0 * short[1] > 16.0 * short[2] > 0.0,
        "figure 3, the shape of the loop, is missing",
    )


def lankarani_loss_share(restitution: float) -> float:
    """Return the loss of an impact by eq. 22 over that of eq. 18 with the same c [1]."""
    returned = returned_restitution(LankaraniNikraveshLaw(1.0, restitution).hysteresis_factor)
    return (1.0 - returned**2) / (1.0 - restitution**2)


def two_body_loss(law: LinearHysteresisLaw, masses: tuple[float, float], speed: float) -> float:
    """Return the kinetic energy that two free bodies of masses [kg] lose in an impact [J]."""

    def motion(_: float, y: FloatArray) -> list[float]:
        force = float(law.force(y[0] - y[1], y[2] - y[3]))
        return [y[2], y[3], -force / masses[0], force / masses[1]]

    def turned(_: float, y: FloatArray) -> float:
        return float(y[2] - y[3])

    def apart(_: float, y: FloatArray) -> float:
        return float(y[0] - y[1])

    for event in (turned, apart):
        event.terminal, event.direction = True, -1.0  # type: ignore[attr-defined]
    start = np.array([0.0, 0.0, speed, 0.0])

    def integrated(state: FloatArray, event: Callable[[float, FloatArray], float]) -> FloatArray:
        found: FloatArray = solve_ivp(
            motion, (0.0, 1.0), state, "DOP853", events=event, rtol=1e-11, atol=1e-14
        ).y[:, -1]
        return found

    turn = integrated(start, turned)
    turn[2] = turn[3] - np.finfo(float).tiny  # on the branch of retreat
    out = integrated(turn, apart)
    return 0.5 * (masses[0] * (speed**2 - out[2] ** 2) - masses[1] * out[3] ** 2)


def elastic_loop(damping: float, stiffness: float, mass: float, speed: float) -> float:
    """Return 2 ∫ μ δ^1.5 δ̇ dδ at the rate of the elastic impact [J], eq. 19."""
    deepest = (1.25 * mass * speed**2 / stiffness) ** 0.4

    def power(part: float) -> float:
        # δ = part deepest; δ̇ = δ̇ₐ √(1 - part^2.5).
        return (part * deepest) ** 1.5 * speed * math.sqrt(max(1.0 - part**2.5, 0.0)) * deepest

    return 2.0 * damping * float(quad(power, 0.0, 1.0, epsabs=0.0, epsrel=1e-10)[0])


def _lankarani_nikravesh() -> Statement:
    off = restitution_errors(LankaraniNikraveshLaw)
    factors = {
        c: [law(1.0, c).hysteresis_factor for law in (HuntCrossleyLaw, LankaraniNikraveshLaw)]
        for c in (0.0, 1.0)
    }
    plastic = returned_restitution(factors[0.0][1])
    return Statement(
        "section 3.4, eq. 22",
        "suits losses small against the elastic energy, c near 1; at c = 1 the factors of eqs. 16 "
        "and 21 are zero, at c = 0 not infinite",
        f"an impact returns {off[-1]:.3f} more than c at c = 0.95, {off[9]:.3f} at 0.5, "
        f"{off[0]:.3f} at 0.05; μδ̇ₐ/K is {factors[1.0][0]:g} and {factors[1.0][1]:g} at c = 1, "
        f"{factors[0.0][0]:g} and {factors[0.0][1]:g} at c = 0, where eq. 22 returns {plastic:.2f}",
        (np.diff(off) < 0.0).all()
        and off[-1] < 0.005
        and factors[1.0] == [0.0, 0.0]
        and all(0.0 < f < math.inf for f in factors[0.0]),
    )


def _eq_23() -> Statement:
    shares = {}
    for c in (0.3, 0.6, 0.9):
        law = FloresLaw(_STIFFNESS, c)
        impact = coefficient_of_restitution(law, _MASS, _SPEED)
        approach = 0.5 * _MASS * _SPEED**2 - float(law.energy(impact.largest_indentation))
        shares[c] = impact.energy_loss / approach
    listed = ", ".join(f"{share:.2f} for c = {c:g}" for c, share in shares.items())
    factors = [1.6 * (1.0 - c) / c for c in shares]
    # With 1 - c the approach alone would lose 1 + c times the kinetic energy.
    derived = [flores_factor(c) for c in shares]
    return misprint(
        "eq. 23",
        "ΔT = ¼ μ (1 − c) δ̇ₐ δₘ^(5/2)",
        "¼ μ (1 + c) δ̇ₐ δₘ^(5/2)",
        f"loss of an impact over that of its approach, Flores's law: {listed}; eq. 24, which is "
        "said to follow from eqs. 18 and 23, follows with plus alone, with minus the approach "
        "loses more than the kinetic energy",
        all(abs(share - 1.0 - c) < 0.1 for c, share in shares.items())
        and np.allclose(derived, factors),
    )


def flores_factor(restitution: float) -> float:
    """Return a = μ δ̇ₐ/K [1] from the energies of approach and of the whole impact.

    With the kinetic energy as unit: ¼ μ δ̇ₐ X (1 + c) = 1 - c², ⅖ K X = 1 - ¼ μ δ̇ₐ X, X = δₘ^(5/2).
    """
    lost = (1.0 - restitution**2) / (1.0 + restitution)
    return 4.0 * lost / (2.5 * (1.0 - lost))


def _flores() -> Statement:
    laws = FloresLaw, HuntCrossleyLaw, LankaraniNikraveshLaw
    off, *others = (np.abs(restitution_errors(law)) for law in laws)
    depth, rate = np.array([1e-4, 1e-3]), np.array([0.3, -0.2])
    printed = _STIFFNESS * depth**1.5 * (1.0 + 8.0 * (1.0 - 0.4) / (5.0 * 0.4) * rate / _SPEED)
    same = np.allclose(FloresLaw(_STIFFNESS, 0.4).bonded_force(depth, rate, _SPEED), printed)
    return Statement(
        "eq. 24, 25",
        "Flores: μ = 8K(1 - c)/(5cδ̇ₐ), for hard and soft materials",
        f"an impact returns c within {off.max():.3f}, c = 0.05 to 0.95; Hunt-Crossley "
        f"{others[0].max():.3f}, Lankarani-Nikravesh {others[1].max():.3f}",
        same and off.max() < _CLOSE,
        f"the document states no accuracy; {_CLOSE:g} counts here as for eq. 16",
    )


STATEMENTS = (
    _ends,
    _hunt_crossley,
    _energies,
    _lankarani_nikravesh,
    _eq_23,
    _flores,
)
