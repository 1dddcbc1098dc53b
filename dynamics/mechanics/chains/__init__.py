"""Planar chains of rigid segments, such as a limb and its orthosis, joined by visco-elastic links.

A chain moves freely under gravity and torques at its joints, or follows a table of prescribed
angles. `simulate_chains` returns the motion of the free chains, the driving torques of the
prescribed chains and the forces in the links.
"""

from dynamics.mechanics.chains.assembly import Assembly, Instant
from dynamics.mechanics.chains.chain import Chain, ChainSegment, Joint
from dynamics.mechanics.chains.links import ViscoelasticLink
from dynamics.mechanics.chains.motion import PrescribedMotion, load_motion
from dynamics.mechanics.chains.simulation import ChainsResult, rk4, simulate_chains
from foundation.former_names import renamed

__all__ = [
    "Assembly",
    "Chain",
    "ChainSegment",
    "ChainsResult",
    "Instant",
    "Joint",
    "PrescribedMotion",
    "ViscoelasticLink",
    "load_motion",
    "rk4",
    "simulate_chains",
]

__getattr__ = renamed(
    __name__,
    {
        "Link": "ViscoelasticLink",
        "Motion": "PrescribedMotion",
        "Segment": "ChainSegment",
        "simulate": "simulate_chains",
    },
)
