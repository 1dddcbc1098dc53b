"""Unilateral systems: complementarity problems, tension-only structures, links with gaps.

After Kolesnikov (2004), with a safeguard of the sequential switching: linear complementarity
problems (`solve_complementarity`), structures and muscle systems with tension-only members
(`solve_structure`, `PlanarStructure`), and masses with visco-elastic links that touch, separate and
rub (`simulate_links`).
"""

from dynamics.mechanics.unilateral.complementarity import (
    Complementarity,
    ComplementarityError,
    solve_complementarity,
)
from dynamics.mechanics.unilateral.links import LinkMotion, UnilateralLink, simulate_links
from dynamics.mechanics.unilateral.planar import Member, PinnedSegment, PlanarStructure
from dynamics.mechanics.unilateral.structures import InfeasibleLoadError, Structure, solve_structure

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
