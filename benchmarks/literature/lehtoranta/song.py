"""Section 3.8, the second: the compliant contact with friction of Song et al., eqs. 34 to 44.

In the normal and in the tangential direction λ = f(δ) + g(δ, δ̇), f = Kδ^β and g = 3/2 αKδ^β δ̇.
Tangential deflections have both signs: δ^β is sign(δ)abs(δ)^β in f and abs(δ)^β in g.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.literature.statements import Statement, misprint
from dynamics.simulator.equations import SimulationError
from foundation.base.checks import FloatArray
from foundation.contact_laws import (
    CompliantFriction,
    ConstantHuntCrossleyLaw,
    HuntCrossleyLaw,
    returned_restitution,
)

GRAVITY = 9.81
#: Below this deflection [m] the damping is constant: eq. 38 has no damping at zero, where
#: eq. 43 would divide by zero.
_LEAST = 1e-7


@dataclass(frozen=True)
class SongLaw:
    """f and g of one direction, eqs. 37 and 38: K [N/m^β], α [s/m], β [1]."""

    stiffness: float
    material: float
    exponent: float

    def elastic(self, deflection: float) -> float:
        """Return f [N] at a deflection [m]."""
        return self.stiffness * math.copysign(abs(deflection) ** self.exponent, deflection)

    def viscosity(self, deflection: float) -> float:
        """Return g over the rate [N s/m] at a deflection [m]."""
        size = max(abs(deflection), _LEAST)
        return 1.5 * self.material * self.stiffness * size**self.exponent


@dataclass(frozen=True)
class SongContact:
    """A contact with friction: laws of both directions and Coulomb's coefficient [1]."""

    normal: SongLaw
    tangential: SongLaw
    coefficient: float

    def normal_force(self, gap: float, gap_rate: float) -> float:
        """Return λ_N [N] at φ_N [m] and its rate [m/s], eqs. 39 and 40."""
        depth = max(0.0, -gap)
        if depth == 0.0:
            return 0.0
        # As for the tangential part, but without a least deflection: g vanishes with f.
        damping = 1.5 * self.normal.material * self.normal.elastic(depth)
        return max(0.0, self.normal.elastic(depth) - damping * gap_rate)

    def tangential_force(
        self, deflection: float, velocity: float, normal: float
    ) -> tuple[float, float]:
        """Return λ_T on the moving body [N] and the rate of δ_T [m/s], eqs. 36 and 41 to 43.

        While σ = φ̇_T + δ̇_T is zero the contact sticks, and λ_T = f + g(δ_T, -φ̇_T); where this is
        beyond μλ_N the contact slips with λ_T = -μλ_N sign(σ), and δ̇_T follows from λ_T - f.
        """
        elastic, viscosity = (
            self.tangential.elastic(deflection),
            self.tangential.viscosity(deflection),
        )
        stuck = elastic - viscosity * velocity
        limit = self.coefficient * normal
        if abs(stuck) <= limit:
            return stuck, -velocity
        force = math.copysign(limit, stuck)
        return force, (force - elastic) / viscosity


CONTACT = SongContact(SongLaw(1e6, 0.2, 1.5), SongLaw(2e5, 60.0, 1.0), 0.3)
#: Our law, with the damping of the other at the deflection at which the block slips.
LINEAR = CompliantFriction(2e5, 1.5 * 60.0 * 0.3 * GRAVITY, 0.3)


def slide(contact: SongContact, slope: float, speed: float, duration: float) -> FloatArray:
    """Return the motion of a block of 1 kg on a slope.

    Rows of x, v, δ_T, z, v_z at 400 instants, (5, 400) [m, m/s]: along the slope downwards, and the
    gap. The block starts in its equilibrium across the slope.
    """
    depth = (GRAVITY * math.cos(slope) / contact.normal.stiffness) ** (1 / contact.normal.exponent)

    def motion(_: float, y: FloatArray) -> list[float]:
        normal = contact.normal_force(y[3], y[4])
        force, rate = contact.tangential_force(y[2], y[1], normal)
        along = force + GRAVITY * math.sin(slope)
        return [y[1], along, rate, y[4], normal - GRAVITY * math.cos(slope)]

    return _solved(motion, [0.0, speed, 0.0, -depth, 0.0], duration)


def slide_linear(law: CompliantFriction, slope: float, speed: float, duration: float) -> FloatArray:
    """Return x, v and the deflection (3, 400) [m, m/s] with our law of stick and slip."""
    weight = np.array(GRAVITY * math.cos(slope))

    def motion(_: float, y: FloatArray) -> list[float]:
        force, rate = law.evaluate(y[2:], y[1:2], weight)
        return [y[1], float(force[0]) + GRAVITY * math.sin(slope), float(rate[0])]

    return _solved(motion, [0.0, speed, 0.0], duration)


def _solved(
    motion: Callable[[float, FloatArray], list[float]], start: list[float], duration: float
) -> FloatArray:
    times = np.linspace(0.0, duration, 400)
    found = solve_ivp(
        motion, (0.0, duration), start, "Radau", times, rtol=1e-6, atol=1e-9, max_step=1e-2
    )
    if not found.success:
        raise SimulationError(f"block on a slope: {found.message}")
    return found.y


@cache
def blocks() -> dict[str, FloatArray]:
    """Return the motions of the block: thrown on a plane, at rest on a gentle and a steep slope."""
    friction = math.atan(CONTACT.coefficient)
    return {
        "song": slide(CONTACT, 0.0, 0.5, 0.4),
        "ours": slide_linear(LINEAR, 0.0, 0.5, 0.4),
        "gentle": slide(CONTACT, 0.8 * friction, 0.0, 1.0),
        "steep": slide(CONTACT, 1.2 * friction, 0.0, 0.5),
    }


def _law() -> Statement:
    made = blocks()
    coulomb = 0.5**2 / (2.0 * CONTACT.coefficient * GRAVITY)
    song, ours = float(made["song"][0, -1]), float(made["ours"][0, -1])
    crept = float(abs(made["gentle"][0, -1] - made["gentle"][0, 200]))
    slope = 1.2 * math.atan(CONTACT.coefficient)
    faster = GRAVITY * (math.sin(slope) - CONTACT.coefficient * math.cos(slope))
    gained = float(made["steep"][1, -1] - made["steep"][1, 200]) / (0.5 * 199 / 399)
    # Separation faster than the material follows: f + g is negative, λ_N is not.
    depth, rate = 1e-4, 10.0
    pull = CONTACT.normal.elastic(depth) * (1.0 - 1.5 * CONTACT.normal.material * rate)
    none = CONTACT.normal_force(-depth, rate)
    return Statement(
        "second section 3.8, eq. 34-36, 39-42",
        "λ = f + g in both directions, λ_N = max(0, f + g), abs(λ_T) ≤ μλ_N; sliding with σ = φ̇_T "
        "+ δ̇_T has λ_T = -μλ_N sign(σ)",
        f"block thrown with 0.5 m/s, μ = 0.3: stops after {1e3 * song:.2f} mm, by our law of stick "
        f"and slip {1e3 * ours:.2f} mm, by Coulomb {1e3 * coulomb:.2f} mm; at 0.8 of the friction "
        f"angle creeps {1e9 * crept:.3f} nm from 0.5 to 1 s, at 1.2 gains {gained:.4f} m/s², by "
        f"Coulomb {faster:.4f}; retreat at 10 m/s: f + g = {pull:.1f} N, λ_N = {none:.0f} N",
        abs(song / coulomb - 1.0) < 5e-3
        and abs(song / ours - 1.0) < 5e-3
        and crept < 1e-8
        and abs(gained / faster - 1.0) < 5e-3
        and pull < 0.0 == none,
        "stiffnesses, material and friction are chosen here",
    )


def _hunt_crossley() -> Statement:
    speed = 0.5
    errors = []
    for c in (0.9, 0.95, 0.975):
        material = (1.0 - c) / speed
        errors.append(ConstantHuntCrossleyLaw(1e6, 1.5 * material).restitution(speed) - c)
    law, song = HuntCrossleyLaw(1e6, 0.9), SongLaw(1e6, 0.1 / speed, 1.5)
    at, rate = 1e-3, 0.3
    one = float(law.bonded_force(at, rate, speed))
    other = song.elastic(at) + song.viscosity(at) * rate
    returned = returned_restitution(law.hysteresis_factor)
    return Statement(
        "eq. 37, 38",
        "f = Kδ^β, g = 3/2 αKδ^β δ̇ after Hunt and Crossley, α a function of the material",
        f"with α = (1 - c)/δ̇ₐ the force is that of eq. 17, {other:.4f} and {one:.4f} N at 1 mm and "
        f"0.3 m/s; an impact returns 1 - αδ̇ₐ and {errors[0]:.4f}, {errors[1]:.5f}, "
        f"{errors[2]:.5f} more for αδ̇ₐ = 0.1, 0.05, 0.025",
        abs(other / one - 1.0) < 1e-12
        and errors[0] > 3.5 * errors[1] > 12.25 * errors[2] > 0.0
        and abs(returned - 0.9 - errors[0]) < 1e-9,
        "the factor 3/2 of eq. 38 is that of eq. 16; a constant α lets c fall with the speed",
    )


def eq_43() -> Statement:
    """Return the statement on the rate of the tangential deflection."""
    law = CONTACT.tangential
    deflection, rates = 3e-4, (0.2, -0.05)
    inverse, reciprocal = [], []
    for rate in rates:
        damping = law.viscosity(deflection) * rate
        rest = (law.elastic(deflection) + damping) - law.elastic(deflection)
        inverse.append(rest / law.viscosity(deflection))
        reciprocal.append(rest / damping)
    listed = " and ".join(f"{r:g}" for r in rates)
    return misprint(
        "eq. 43, 44",
        "δ̇_T = h(λ_T - f(δ_T)) with h the reciprocal of g, δ_T its integral",
        "h the inverse function of g over δ̇_T, at the same δ_T",
        f"δ̇_T = {listed} m/s: the inverse function returns {inverse[0]:g} and {inverse[1]:g} m/s, "
        f"the reciprocal of g {reciprocal[0]:g} and {reciprocal[1]:g}, without a unit",
        np.allclose(inverse, rates, rtol=1e-9) and np.allclose(reciprocal, 1.0, rtol=1e-9),
        "g has no damping at δ_T = 0, so that h is not defined there",
    )


STATEMENTS = (
    _law,
    _hunt_crossley,
    eq_43,
)
