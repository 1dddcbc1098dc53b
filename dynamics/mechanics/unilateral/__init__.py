"""Unilateral systems after Kolesnikov (2004): tension-only structures, links with gaps."""

from dynamics.mechanics.unilateral.complementarity import (
    Complementarity,
    ComplementarityError,
    solve_complementarity,
)
from dynamics.mechanics.unilateral.links import LinkMotion, UnilateralLink, simulate_links
from dynamics.mechanics.unilateral.structures import (
    InfeasibleLoadError,
    Member,
    PinnedSegment,
    PlanarStructure,
    Structure,
    solve_structure,
)

__all__ = [
    "Complementarity",
    "ComplementarityError",
    "InfeasibleLoadError",
    "LinkMotion",
    "Member",
    "PinnedSegment",
    "PlanarStructure",
    "Structure",
    "UnilateralLink",
    "simulate_links",
    "solve_complementarity",
    "solve_structure",
]
