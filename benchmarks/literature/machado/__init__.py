"""Machado et al. (2010, Nonlinear Dyn 60:459-478): a planar knee with contact and ligaments.

In the paper, body i is the tibia and body j the femur.
"""

from __future__ import annotations

from functools import cache

from benchmarks.literature.machado import data, forces, geometry, joint, motions
from benchmarks.literature.statements import Paper, Statement
from benchmarks.planar_knee import figure


@cache
def statements() -> list[Statement]:
    """Return the statements of the paper, in its order."""
    return [
        *geometry.statements(),
        *forces.statements(),
        *data.statements(),
        *motions.statements(),
        *joint.statements(),
    ]


PAPER = Paper(
    "machado",
    "Machado et al. 2010, a planar knee with contact and ligaments",
    statements,
    figure,
)
