"""Assemblies that strike the ground: compliant contact with stick-slip friction, rigid impact.

`simulate_strike` integrates one leg or two (`striking_legs`, `standing_start`) on compliant ground
and balances the energy. `newton_impact` is the rigid model with Newton's restitution, which can
create energy; `path_impact` uses Poisson's or Stronge's restitution.
"""

from dynamics.mechanics.contact import ContactChange, StrikeResult
from dynamics.mechanics.ground.impact import RigidImpact, newton_impact, path_impact
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
    "ContactChange",
    "ContactPoint",
    "PenaltyGround",
    "RigidImpact",
    "StrikeResult",
    "newton_impact",
    "path_impact",
    "simulate_strike",
    "standing_start",
    "striking_legs",
]
