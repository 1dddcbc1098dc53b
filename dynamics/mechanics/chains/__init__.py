"""Planar chains of rigid segments, such as a limb and its orthosis, joined by visco-elastic links.

A chain moves freely under gravity and torques at its joints, or its angles are prescribed as a
table over time and the torques that drive it come out. `simulate` yields the motion of the free
chains, the driving torques of the prescribed ones and the forces in the links.
"""

from dynamics.mechanics.chains.assembly import Assembly, Instant
from dynamics.mechanics.chains.chain import Chain, Joint, Segment
from dynamics.mechanics.chains.links import Link
from dynamics.mechanics.chains.motion import Motion, load_motion
from dynamics.mechanics.chains.simulation import ChainsResult, rk4, simulate

__all__ = [
    "Assembly",
    "Chain",
    "ChainsResult",
    "Instant",
    "Joint",
    "Link",
    "Motion",
    "Segment",
    "load_motion",
    "rk4",
    "simulate",
]
