"""A contact model with displaced components or another material."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynamics.protocol import ContactModel
from foundation.base.checks import FloatArray, check_fields, check_number, frozen
from foundation.base.loads import MEAN_PRESSURE, PEAK_PRESSURE, ContactLoads
from foundation.base.pose import Pose, pose_array

#: Indices of the loads that scale with the stiffness: the wrench and both pressures.
_SCALED = np.array([*range(6), PEAK_PRESSURE, MEAN_PRESSURE])


@dataclass(frozen=True, eq=False)
class VariedContact:
    """Contact at the pose plus an offset, in that frame, its loads times a factor."""

    # The offset is constant: generalised forces act on the unchanged coordinates by virtual work.

    model: ContactModel
    #: Displacement of the components from the modelled pose (6,) [rad, m].
    offset: ArrayLike = field(default_factory=lambda: np.zeros(6))
    #: Factor on loads and pressures [1], > 0: that of Young's modulus for all spring laws.
    stiffness: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self, offset=(6,))
        check_number("stiffness", self.stiffness, above=0.0)

    def loads(self, poses: Any, order: int = 0) -> ContactLoads:
        """Return the loads at one pose or at many poses, in the frame of the offset tibia."""
        placed = pose_array(poses) + np.asarray(self.offset)
        loads = self.model.loads(
            Pose.from_array(placed) if isinstance(poses, Pose) else placed, order
        )
        values = scaled_loads(loads.values, self.stiffness)
        derivatives = tuple(self.stiffness * derivative for derivative in loads.derivatives)
        return ContactLoads.trusted(
            values=frozen(values),
            compartments=loads.compartments,
            _flags=lambda: loads.flags,
            derivatives=derivatives,
        )


def without_variation(model: ContactModel) -> tuple[ContactModel, FloatArray, float]:
    """Return the inner model, the offset (6,) [rad, m] of its pose, and the factor on its loads."""
    offset, factor = np.zeros(6), 1.0
    while isinstance(model, VariedContact):
        offset, factor = offset + np.asarray(model.offset), factor * model.stiffness
        model = model.model
    return model, offset, factor


def scaled_loads(values: FloatArray, factor: float) -> FloatArray:
    """Return loads (..., 12) [N, N m, m², Pa, m] of a model with its stiffness times a factor."""
    scaled = np.array(values)
    scaled[..., _SCALED] *= factor
    return scaled
