"""A contact model with its components out of line or of another material."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from dynamics.protocol import ContactModel
from foundation.checks import FloatArray, check_array, check_number, frozen
from foundation.loads import ContactLoads
from foundation.pose import (
    Pose,
)

#: Places in `foundation.loads.LOAD_COLUMNS` of what grows with the stiffness: the wrench and both
#: pressures.
_SCALED = np.array([0, 1, 2, 3, 4, 5, 7, 8])


@dataclass(frozen=True, eq=False)
class VariedContact:
    """Contact at the pose plus an offset, its loads times a factor; implements `ContactModel`.

    The loads are those in the frame of the offset tibia. Since the offset is constant, virtual
    work is that of the offset pose: the generalised forces there act on the coordinates as they
    are.

    Parameters
    ----------
    model : ContactModel
        The contact as modelled.
    offset : (6,) float64
        Added to the pose coordinates [rad, m]: how far the components stand from where they were
        modelled.
    stiffness : float
        Factor on loads and pressures, > 0. For springs whose pressure is linear in Young's
        modulus, which all laws of `foundation.elastic_foundation.laws` are, it is that of the
        modulus.

    Raises
    ------
    InputError
        If an argument is out of its range.
    """

    model: ContactModel
    offset: ArrayLike = field(default_factory=lambda: np.zeros(6))
    stiffness: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "offset", frozen(check_array("offset", self.offset, (6,))))
        check_number("stiffness", self.stiffness, above=0.0)

    def contact_pose(self, pose: Pose) -> Pose:
        """Return the pose at which the contact is taken."""
        return Pose.from_array(pose.array + np.asarray(self.offset))

    def loads(self, pose: Pose) -> ContactLoads:
        """Return the loads at a pose, in the frame of the offset tibia."""
        return self._scaled(self.model.loads(self.contact_pose(pose)))

    def loads_and_jacobian(self, pose: Pose) -> tuple[ContactLoads, FloatArray]:
        """Return the loads and d(total wrench)/d(pose coordinates), (6, 6) [N, N m per rad, m]."""
        loads, jacobian = self.model.loads_and_jacobian(self.contact_pose(pose))
        return self._scaled(loads), self.stiffness * jacobian

    def _scaled(self, loads: ContactLoads) -> ContactLoads:
        medial = scaled_loads(loads.medial.array, self.stiffness)
        lateral = scaled_loads(loads.lateral.array, self.stiffness)
        return ContactLoads.trusted(medial, lateral, loads.flags)


def without_variation(model: ContactModel) -> tuple[ContactModel, FloatArray, float]:
    """Return the model inside, the offset of its pose (6,), and the factor on its loads."""
    offset, factor = np.zeros(6), 1.0
    while isinstance(model, VariedContact):
        offset, factor = offset + np.asarray(model.offset), factor * model.stiffness
        model = model.model
    return model, offset, factor


def scaled_loads(values: FloatArray, factor: float) -> FloatArray:
    """Return loads (..., 12) in the order of `LOAD_COLUMNS` of a model times a factor."""
    scaled = np.array(values)
    scaled[..., _SCALED] *= factor
    return scaled
