"""Contact of the other leg: a contact model of a right knee for its mirror image, or the reverse.

The frame of a bed has x forward, y up and z right; the mirror image reverses z.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dynamics.musculoskeletal.joint_contact import PotentialGradient
from dynamics.protocol import ContactModel
from foundation.base.checks import FloatArray
from foundation.base.loads import ContactLoads
from foundation.base.pose import Pose, pose_array

#: Signs of a pose (adduction, rotation and lateral change), of a wrench, and of all loads.
_POSE = np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0])
_WRENCH = np.array([1.0, 1.0, -1.0, -1.0, -1.0, 1.0])
_LOADS = np.array([*_WRENCH, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0])


@dataclass(frozen=True, eq=False)
class MirroredContact:
    """The mirror image of a contact model with loads on the target in the frame of the bed."""

    model: ContactModel

    def loads(self, poses: Any, order: int = 0) -> ContactLoads:
        """Return the loads at one pose or at many poses."""
        one = isinstance(poses, Pose)
        mirrored = mirrored_pose(poses) if one else _POSE * pose_array(poses)
        loads = self.model.loads(mirrored, order)
        slopes = (_WRENCH[:, None] * loads.jacobian * _POSE,) if order else ()
        return ContactLoads(_LOADS * loads.values, loads.compartments, loads.flags, slopes)


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
