"""The muscles of fig. 13 and table 1, as in examples/mechanics/two_joint_muscles.py."""

from __future__ import annotations

import numpy as np

from benchmarks.literature.examples import mechanics_example
from dynamics.mechanics.unilateral import PlanarStructure, Structure, solve_structure

#: Load that the muscles of fig. 13 supply against the moment of 10, clockwise on the shank.
MOMENT = np.array([0.0, 10.0, 0.0, 0.0])


def two_joint_muscles() -> PlanarStructure:
    """Return the model of fig. 13 and table 1."""
    structure: PlanarStructure = mechanics_example("two_joint_muscles")["structure"]()
    return structure


def muscle_forces(order: str = "force") -> Structure:
    """Return the solution of fig. 13."""
    structure = two_joint_muscles()
    return solve_structure(structure.balance, structure.stiffness, MOMENT, order=order)
