"""What a simulation asks of a contact model, and nothing more.

The original model and its surrogate both implement `ContactModel`, so that one replaces the other
in every simulation without a change.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from foundation.checks import FloatArray
from foundation.loads import ContactLoads
from foundation.pose import COORDINATE_UNITS, COORDINATES, Pose

_SHOWN = {"rad": (180.0 / np.pi, "deg"), "m": (1e3, "mm")}


@runtime_checkable
class ContactModel(Protocol):
    """Contact between femur and tibia as a function of the pose alone.

    The loads act on the femur, in the tibial frame, moments about the tibial origin (see
    `foundation.loads`). An implementation answers the same pose with the same loads whatever was
    asked before, and its loads are continuous in the pose: an implicit integrator relies on both.
    """

    def loads(self, pose: Pose) -> ContactLoads:
        """Return the loads at a pose."""
        ...

    def loads_and_jacobian(self, pose: Pose) -> tuple[ContactLoads, FloatArray]:
        """Return the loads and d(total wrench)/d(pose coordinates).

        Returns
        -------
        ContactLoads
            The loads, with flags where they are not to be trusted.
        (6, 6) float64
            Row: component of the total wrench [N, N m]; column: pose coordinate [rad, m].
        """
        ...


def describe_pose(pose: Pose) -> str:
    """Return a pose for people, in degrees and millimetres."""
    parts = []
    for name, unit, value in zip(COORDINATES, COORDINATE_UNITS, pose.array, strict=True):
        factor, shown = _SHOWN[unit]
        parts.append(f"{name} {factor * value:.4g} {shown}")
    return ", ".join(parts)
