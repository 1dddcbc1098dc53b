"""Planar knee after Machado et al. (2010), with profiles or a revolute joint with clearance."""

from dynamics.mechanics.planar_knee.knee import (
    PLANAR_LIGAMENT_KINDS,
    PROXIMAL,
    LigamentExcess,
    LigamentLimitWarning,
    PlanarKnee,
    PlanarLigament,
    PlanarMotion,
    Pull,
    simulate_planar_knee,
)
from dynamics.mechanics.planar_knee.machado import (
    MACHADO_LAWS,
    machado_clearance_knee,
    machado_data,
    machado_knee,
    machado_laws,
    machado_ligaments,
    machado_state,
)
from dynamics.mechanics.planar_knee.profiles import (
    PROFILE_KINDS,
    ClearanceJoint,
    ContactGeometry,
    ContactLocation,
    PolarProfile,
    ProfileContact,
)

__all__ = [
    "MACHADO_LAWS",
    "PLANAR_LIGAMENT_KINDS",
    "PROFILE_KINDS",
    "PROXIMAL",
    "ClearanceJoint",
    "ContactGeometry",
    "ContactLocation",
    "LigamentExcess",
    "LigamentLimitWarning",
    "PlanarKnee",
    "PlanarLigament",
    "PlanarMotion",
    "PolarProfile",
    "ProfileContact",
    "Pull",
    "machado_clearance_knee",
    "machado_data",
    "machado_knee",
    "machado_laws",
    "machado_ligaments",
    "machado_state",
    "simulate_planar_knee",
]
