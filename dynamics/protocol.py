"""Contact models as simulations use them: the original model and its surrogate alike."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from foundation.base.loads import COMPARTMENTS, ContactLoads
from foundation.base.pose import COORDINATE_UNITS, COORDINATES, Pose
from surrogates.formulations.contact_surrogate import ContactSurrogate

_SHOWN = {"rad": (180.0 / np.pi, "deg"), "m": (1e3, "mm")}


@runtime_checkable
class ContactModel(Protocol):
    """Contact between femur and tibia as a function of the pose alone.

    The loads act on the femur, in the tibial frame, moments about the tibial origin (see
    `foundation.base.loads`). Results do not depend on evaluation history, and the loads are
    continuous in the pose: an implicit integrator relies on both.
    """

    def loads(self, poses: Any, order: int = 0) -> ContactLoads:
        """Return the loads at a pose; with `order` 1, their Jacobian too.

        Flags report where the loads are unreliable. A simulation asks for the loads at one `Pose`;
        the models of this project also take arrays and many poses.
        """
        ...


def in_library(model: ContactModel) -> ContactSurrogate | None:
    """Return a model whose two compartments the library evaluates without Python, or None."""
    if isinstance(model, ContactSurrogate) and model.compartments == COMPARTMENTS:
        return model
    return None


def describe_pose(pose: Pose) -> str:
    """Return a pose as text, in degrees and millimetres."""
    parts = []
    for name, unit, value in zip(COORDINATES, COORDINATE_UNITS, pose.array, strict=True):
        factor, shown = _SHOWN[unit]
        parts.append(f"{name} {factor * value:.4g} {shown}")
    return ", ".join(parts)
