"""Contact of the other leg: a contact model of a right knee for its mirror image, or the reverse.

The frame of a bed has x forward, y up and z right; the mirror image reverses z.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynamics.musculoskeletal.joint_contact import PotentialGradient
from dynamics.protocol import ContactModel
from foundation.base.checks import FloatArray
from foundation.base.loads import ContactLoads
from foundation.base.pose import Pose

#: Signs of a pose (adduction, rotation and lateral change), of a wrench, and of all loads.
_POSE = np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0])
_WRENCH = np.array([1.0, 1.0, -1.0, -1.0, -1.0, 1.0])
_LOADS = np.array([*_WRENCH, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0])


@dataclass(frozen=True, eq=False)
class MirroredContact:
    """The mirror image of a contact model with loads on the target in the frame of the bed."""

    model: ContactModel

    def loads(self, pose: Pose) -> ContactLoads:
        """Return the loads at a pose."""
        return _mirrored(self.model.loads(mirrored_pose(pose)))

    def loads_and_jacobian(self, pose: Pose) -> tuple[ContactLoads, FloatArray]:
        """Return loads and the derivative (6, 6) of the wrench by the pose [N, N m / rad, m]."""
        loads, jacobian = self.model.loads_and_jacobian(mirrored_pose(pose))
        return _mirrored(loads), _WRENCH[:, None] * jacobian * _POSE


@dataclass(frozen=True, eq=False)
class MirroredGradient:
    """The mirror image of the derivative of the energy that a contact stores."""

    energy: PotentialGradient

    def wrench(self, pose: Pose) -> FloatArray:
        """Return minus the derivative of the energy by the twist of the target, (6,) [N, N m]."""
        return _WRENCH * self.energy.wrench(mirrored_pose(pose))


def mirrored_pose(pose: Pose) -> Pose:
    """Return the pose of the mirror image of the target in that of the bed."""
    return Pose.from_array(_POSE * pose.array)


def _mirrored(loads: ContactLoads) -> ContactLoads:
    parts = {name: _LOADS * loads[name].array for name in loads.compartments}
    return ContactLoads.from_compartments(parts, flags=loads.flags)
