"""Assemblies that strike the ground: compliant contact with stick-slip friction, rigid impact."""

from dynamics.mechanics.contact import CompliantGround, StrikeResult
from dynamics.mechanics.ground.impact import newton_impact
from dynamics.mechanics.ground.legs import striking_legs
from dynamics.mechanics.ground.strike import (
    ContactPoint,
    penalty_ground,
    simulate_strike,
    standing_start,
)

__all__ = [
    "CompliantGround",
    "ContactPoint",
    "StrikeResult",
    "newton_impact",
    "penalty_ground",
    "simulate_strike",
    "standing_start",
    "striking_legs",
]
