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
from dynamics.mechanics.planar_knee.knee import PROXIMAL, PlanarKnee, Pull
from dynamics.mechanics.planar_knee.ligaments import (
    PLANAR_LIGAMENT_KINDS,
    LigamentExcess,
    LigamentLimitWarning,
    PlanarLigament,
)
from dynamics.mechanics.planar_knee.machado import (
    MACHADO_LAWS,
    SOCKET_CLEARANCE,
    compare_machado_laws,
    machado_clearance_knee,
    machado_data,
    machado_knee,
    machado_laws,
    machado_ligaments,
    machado_state,
)
from dynamics.mechanics.planar_knee.motion import ContactStart, PlanarMotion
from dynamics.mechanics.planar_knee.profiles import PROFILE_KINDS, PolarProfile
from dynamics.mechanics.planar_knee.simulation import simulate_planar_knee

__all__ = [
    "MACHADO_LAWS",
    "PLANAR_LIGAMENT_KINDS",
    "PROFILE_KINDS",
    "PROXIMAL",
    "SOCKET_CLEARANCE",
    "ClearanceJoint",
    "ContactGeometry",
    "ContactLocation",
    "ContactStart",
    "LigamentExcess",
    "LigamentLimitWarning",
    "PlanarKnee",
    "PlanarLigament",
    "PlanarMotion",
    "PolarProfile",
    "ProfileContact",
    "Pull",
    "compare_machado_laws",
    "machado_clearance_knee",
    "machado_data",
    "machado_knee",
    "machado_laws",
    "machado_ligaments",
    "machado_state",
    "simulate_planar_knee",
]
