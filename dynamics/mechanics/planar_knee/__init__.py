"""Planar knee after Machado et al. (2010), with profiles or a revolute joint with clearance."""

from dynamics.mechanics.planar_knee.knee import (
    PlanarKnee,
    PlanarLigament,
    PlanarMotion,
    simulate_planar_knee,
)
from dynamics.mechanics.planar_knee.machado import (
    machado_clearance_knee,
    machado_knee,
    machado_ligaments,
    machado_state,
)
from dynamics.mechanics.planar_knee.profiles import ClearanceJoint, PolarProfile

__all__ = [
    "ClearanceJoint",
    "PlanarKnee",
    "PlanarLigament",
    "PlanarMotion",
    "PolarProfile",
    "machado_clearance_knee",
    "machado_knee",
    "machado_ligaments",
    "machado_state",
    "simulate_planar_knee",
]
