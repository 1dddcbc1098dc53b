"""Planar chains of rigid segments, such as a limb and its orthosis, and what joins them."""

from dynamics.mechanics.chains.assembly import Assembly
from dynamics.mechanics.chains.links import ChainsResult, Instant
from dynamics.mechanics.chains.parts import (
    GROUND,
    Attachment,
    Chain,
    ChainSegment,
    FreeBase,
    Joint,
    PinClosure,
    PrescribedMotion,
    SlidingJoint,
    ViscoelasticLink,
)
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
    "simulate_chains",
]
