"""Legs that strike the ground: compliant contact with stick-slip friction, and rigid impact.

`simulate_strike` integrates one leg (`Leg`, `striking_leg`) or two legs on one hip
(`striking_legs`, `standing_start`) on compliant ground (`PenaltyGround`) and balances the energy.
`newton_impact` and `simulate_rigid_strike` are the rigid model with Newton's restitution, which can
create energy; `path_impact` uses Poisson's or Stronge's restitution.
"""

from dynamics.mechanics.ground.anthropometry import striking_leg, striking_legs
from dynamics.mechanics.ground.contact import ContactPoint, PenaltyGround
from dynamics.mechanics.ground.impact import RigidImpact, newton_impact
from dynamics.mechanics.ground.impulse_path import path_impact
from dynamics.mechanics.ground.leg import Leg
from dynamics.mechanics.ground.result import ContactChange, StrikeResult
from dynamics.mechanics.ground.standing import standing_start
from dynamics.mechanics.ground.strike import simulate_strike
from dynamics.mechanics.ground.time_stepping import simulate_rigid_strike

__all__ = [
    "ContactChange",
    "ContactPoint",
    "Leg",
    "PenaltyGround",
    "RigidImpact",
    "StrikeResult",
    "newton_impact",
    "path_impact",
    "simulate_rigid_strike",
    "simulate_strike",
    "standing_start",
    "striking_leg",
    "striking_legs",
]
