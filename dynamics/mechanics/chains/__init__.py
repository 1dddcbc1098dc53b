"""Planar chains of rigid segments, such as a limb and its orthosis, and what joins them.

A chain moves freely under gravity and torques at its joints, or follows a table of prescribed
angles. Its base is fixed, follows a path, is free, or sits on another chain; visco-elastic links
and rigid closures join the chains.
"""

from dynamics.mechanics.chains.assembly import Assembly
from dynamics.mechanics.chains.motion import PrescribedMotion, load_motion
from dynamics.mechanics.chains.parts import (
    GROUND,
    Attachment,
    Chain,
    ChainSegment,
    FreeBase,
    Joint,
    PinClosure,
    SlidingJoint,
    ViscoelasticLink,
)
from dynamics.mechanics.chains.result import ChainsResult, Instant
from dynamics.mechanics.chains.simulation import simulate_chains

__all__ = [
    "GROUND",
    "Assembly",
    "Attachment",
    "Chain",
    "ChainSegment",
    "ChainsResult",
    "FreeBase",
    "Instant",
    "Joint",
    "PinClosure",
    "PrescribedMotion",
    "SlidingJoint",
    "ViscoelasticLink",
    "load_motion",
    "simulate_chains",
]
