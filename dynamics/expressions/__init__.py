"""The knee simulator's forces and equations of motion as expressions of CasADi, JAX or NumPy."""

from dynamics.expressions.elementary import Elementary, plus
from dynamics.expressions.equations import KneeExpressions
from dynamics.expressions.forces import line_forces, wrench_forces
from dynamics.expressions.ligaments import ligament_forces, ligament_tensions

__all__ = [
    "Elementary",
    "KneeExpressions",
    "ligament_forces",
    "ligament_tensions",
    "line_forces",
    "plus",
    "wrench_forces",
]
