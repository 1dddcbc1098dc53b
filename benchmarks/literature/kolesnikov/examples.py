"""Examples of `examples/mechanics`, whose data are those of the document."""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dynamics.mechanics.unilateral import PlanarStructure, Structure, solve_structure

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "mechanics"
#: Load that the muscles of fig. 13 supply against the moment of 10, clockwise on the shank.
MOMENT = np.array([0.0, 10.0, 0.0, 0.0])


@cache
def example(name: str) -> dict[str, Any]:
    """Return what an example of `examples/mechanics` defines."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def two_joint_muscles() -> PlanarStructure:
    """Return the model of fig. 13 and table 1."""
    structure: PlanarStructure = example("two_joint_muscles")["structure"]()
    return structure


def muscle_forces(order: str = "force") -> Structure:
    """Return the solution of fig. 13."""
    structure = two_joint_muscles()
    return solve_structure(structure.balance, structure.stiffness, MOMENT, order=order)
