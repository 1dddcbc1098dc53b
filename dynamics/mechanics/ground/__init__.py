"""A leg that strikes the ground: compliant contact with stick-slip friction, and rigid impact.

`simulate_strike` integrates a leg (`Leg`, `striking_leg`) on compliant ground (`PenaltyGround`) and
balances the energy. `newton_impact` and `simulate_rigid_strike` are the rigid model with Newton's
restitution, which can create energy; `path_impact` uses Poisson's or Stronge's restitution.
"""

from dynamics.mechanics.ground.anthropometry import striking_leg
from dynamics.mechanics.ground.contact import ContactPoint, PenaltyGround
from dynamics.mechanics.ground.impact import RigidImpact, newton_impact
from dynamics.mechanics.ground.impulse_path import path_impact
from dynamics.mechanics.ground.leg import Leg
from dynamics.mechanics.ground.result import ContactChange, StrikeResult
from dynamics.mechanics.ground.strike import simulate_strike
from dynamics.mechanics.ground.time_stepping import simulate_rigid_strike
from foundation.former_names import renamed

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
    "striking_leg",
]

__getattr__ = renamed(__name__, {"Impact": "RigidImpact"})
