"""Assemblies that strike the ground: compliant contact with stick-slip friction, rigid impact."""

from dynamics.mechanics.contact import StrikeResult
from dynamics.mechanics.ground.impact import newton_impact, path_impact
from dynamics.mechanics.ground.legs import striking_legs
from dynamics.mechanics.ground.strike import (
    CompliantGround,
    ContactPoint,
    PenaltyGround,
    simulate_strike,
    standing_start,
)

__all__ = [
    "CompliantGround",
    "ContactPoint",
    "PenaltyGround",
    "StrikeResult",
    "newton_impact",
    "path_impact",
    "simulate_strike",
    "standing_start",
    "striking_legs",
]
