"""Unilateral systems after Kolesnikov (2004): tension-only structures, links with gaps."""

from dynamics.mechanics.unilateral.links import UnilateralLink, simulate_links
from dynamics.mechanics.unilateral.structures import (
    InfeasibleLoadError,
    Member,
    PinnedSegment,
    PlanarStructure,
    solve_structure,
)

__all__ = [
    "InfeasibleLoadError",
    "Member",
    "PinnedSegment",
    "PlanarStructure",
    "UnilateralLink",
    "simulate_links",
    "solve_structure",
]
