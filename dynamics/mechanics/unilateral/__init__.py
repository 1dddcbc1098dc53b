"""Systems that act one way: complementarity problems, tension-only structures, links with gaps.

After Kolesnikov (2004), whose sequential switching is kept with a safeguard: a linear
complementarity problem (`solve_complementarity`), structures and muscle systems whose members pull
but never push (`solve_structure`, `PlanarStructure`), and the motion of masses with elastic-viscous
links that touch, part and rub (`simulate_links`).
"""

from dynamics.mechanics.unilateral.complementarity import (
    Complementarity,
    ComplementarityError,
    solve_complementarity,
)
from dynamics.mechanics.unilateral.links import Link, LinkMotion, simulate_links
from dynamics.mechanics.unilateral.planar import Member, PlanarStructure, Segment
from dynamics.mechanics.unilateral.structures import InfeasibleLoadError, Structure, solve_structure

__all__ = [
    "Complementarity",
    "ComplementarityError",
    "InfeasibleLoadError",
    "Link",
    "LinkMotion",
    "Member",
    "PlanarStructure",
    "Segment",
    "Structure",
    "simulate_links",
    "solve_complementarity",
    "solve_structure",
]
