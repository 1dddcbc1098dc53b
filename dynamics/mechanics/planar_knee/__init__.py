"""Planar knee after Machado et al. (2010).

Femur and tibia touch along polar splines, four tension-only ligaments connect the bones, and the
tibia moves in the plane under gravity and a pull. A revolute joint with clearance can replace the
contact.
"""

from dynamics.mechanics.planar_knee.clearance import ClearanceJoint
from dynamics.mechanics.planar_knee.contact_point import (
    ContactGeometry,
    ContactLocation,
    ProfileContact,
)
from dynamics.mechanics.planar_knee.knee import PlanarKnee, Pull
from dynamics.mechanics.planar_knee.ligaments import PlanarLigament
from dynamics.mechanics.planar_knee.machado import (
    machado_clearance_knee,
    machado_data,
    machado_knee,
    machado_ligaments,
    machado_state,
)
from dynamics.mechanics.planar_knee.motion import ContactStart, PlanarMotion
from dynamics.mechanics.planar_knee.profiles import PROFILE_KINDS, PolarProfile
from dynamics.mechanics.planar_knee.simulation import simulate_planar_knee
from foundation.former_names import renamed

__all__ = [
    "PROFILE_KINDS",
    "ClearanceJoint",
    "ContactGeometry",
    "ContactLocation",
    "ContactStart",
    "PlanarKnee",
    "PlanarLigament",
    "PlanarMotion",
    "PolarProfile",
    "ProfileContact",
    "Pull",
    "machado_clearance_knee",
    "machado_data",
    "machado_knee",
    "machado_ligaments",
    "machado_state",
    "simulate_planar_knee",
]

__getattr__ = renamed(
    __name__,
    {
        "ContactPoint": "ContactLocation",
        "Impact": "ContactStart",
        "simulate": "simulate_planar_knee",
    },
)
