"""Machado et al. (2010, Nonlinear Dyn 60:459-478): a planar knee with contact and ligaments.

In the paper, body i is the tibia and body j the femur.
"""

from __future__ import annotations

from benchmarks.literature.machado import data, forces, geometry, joint, motions
from benchmarks.literature.statements import Paper
from benchmarks.planar_knee import figure

PAPER = Paper(
    "machado",
    "Machado et al. 2010, a planar knee with contact and ligaments",
    (
        *geometry.STATEMENTS,
        *forces.STATEMENTS,
        *data.STATEMENTS,
        *motions.STATEMENTS,
        *joint.STATEMENTS,
    ),
    figure,
    "planar_knee.png",
)
