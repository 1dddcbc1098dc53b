"""Heel strikes and an impact of a leg on compliant and on rigid ground.

The postures and speeds at the start are chosen, in the range of walking, and not measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from dynamics.mechanics.ground import (
    ContactPoint,
    Leg,
    PenaltyGround,
    StrikeResult,
    simulate_rigid_strike,
    simulate_strike,
    striking_leg,
)
from dynamics.mechanics.ground.contact import contact_arms
from foundation.base.checks import FloatArray
from foundation.contact_laws import CompliantFriction

#: Of the reversing impact, as in Newton's law.
FRICTION, RESTITUTION = 0.5, 0.5


@dataclass(frozen=True, eq=False)
class Start:
    """A leg, the points that may touch the ground, coordinates and rates."""

    leg: Leg
    points: tuple[ContactPoint, ...]
    position: FloatArray
    velocity: FloatArray


def heel_strike(ankle: str = "locked") -> Start:
    """Return the body on one leg, 1 mm above the ground, with a spring in the knee (and ankle)."""
    n = 2 if ankle == "locked" else 3
    leg, points = striking_leg(
        ankle=ankle,
        joint_stiffness=[0.0, 400.0, 300.0][:n],
        joint_damping=[0.0, 10.0, 8.0][:n],
        joint_rest=np.radians([0.0, -5.0, 0.0][:n]),
    )
    position = np.array([0.0, 0.0, *np.radians([25.0, 18.0, 18.0][:n])])
    position[1] = 1e-3 - leg.positions(position, contact_arms(leg, points))[:, 1].min()
    velocity = np.array([1.3, -0.2, *[-1.0, -2.0, -2.0][:n]])
    return Start(leg, points, position, velocity)


def reversing_impact() -> Start:
    """Return a leg pinned at the hip, the heel on the ground, that slides back at first."""
    position, velocity = np.radians([45.0, 39.0]), np.array([-1.5, -3.0])
    leg, points = striking_leg(anchor=[0.0, 0.0])
    height = leg.positions(position, contact_arms(leg, points[:1]))[0, 1]
    leg, points = striking_leg(anchor=[0.0, -height])
    return Start(leg, points[:1], position, velocity)


@cache
def soft(name: str, duration: float = 0.4) -> StrikeResult:
    """Return a simulation on compliant ground: "locked", "hinged" or "reversing"."""
    reversing = name == "reversing"
    start = reversing_impact() if reversing else heel_strike(name)
    friction = CompliantFriction(1e5, 200.0, FRICTION if reversing else 0.8)
    ground = PenaltyGround(friction=friction)
    return simulate_strike(
        start.leg, start.points, ground, start.position, start.velocity, duration, samples=2001
    )


@cache
def rigid(name: str, restitution: float, duration: float = 0.4, steps: int = 4000) -> StrikeResult:
    """Return a simulation on rigid ground after Newton and Coulomb."""
    reversing = name == "reversing"
    start = reversing_impact() if reversing else heel_strike(name)
    return simulate_rigid_strike(
        start.leg,
        start.points,
        start.position,
        start.velocity,
        duration,
        restitution=restitution,
        friction=FRICTION if reversing else 0.8,
        steps=steps,
    )
