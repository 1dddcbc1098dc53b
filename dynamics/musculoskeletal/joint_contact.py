"""Contact of two bodies: generalised forces of the coordinates between both, with derivatives.

The bed (the tibia, patella or a meniscus of a knee, the casting mesh of OpenSim-JAM) and the target
(the femur) are fixed in two bodies, which one joint or a chain of joints connects; a contact model
gives the wrench on the target, in the frame of the bed, as a function of the target's pose.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from dynamics.musculoskeletal.joint_kinematics import BODY, KinematicChain, Placement
from dynamics.protocol import ContactModel
from foundation.base.checks import FloatArray
from foundation.base.loads import ContactLoads
from foundation.base.pose import Pose, twist_jacobian


class PotentialGradient(Protocol):
    """Derivative of the energy that a contact stores."""

    def wrench(self, pose: Pose) -> FloatArray:
        """Return minus the derivative of the energy by the twist of the target, (6,) [N, N m]."""
        ...


class JointContactForces(NamedTuple):
    """A contact at one position, as generalised forces (n,) of the coordinates [N m, N]."""

    forces: FloatArray
    #: Row: generalised force; column: coordinate (n, n) [N m, N per rad, m].
    jacobian: FloatArray
    #: Loads on the target, frame of the bed.
    loads: ContactLoads
    #: Derivative of the stored energy (n,) [J/rad, J/m]; NaN where it is unknown.
    energy_gradient: FloatArray


@dataclass(frozen=True, eq=False)
class JointContact:
    """A contact model between two bodies that a chain of joints connects."""

    #: Name of the contact, such as "tf_contact".
    name: str
    #: Loads on the target in the frame of the bed.
    model: ContactModel
    #: Motion of the body of the target in the body of the bed.
    chain: KinematicChain
    #: Placements of the frames of bed and target in their bodies.
    bed: Placement = BODY
    target: Placement = BODY
    #: Gradient of the stored energy; needed where the energy has a weight in a cost.
    energy: PotentialGradient | None = None
    _frames: KinematicChain = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_frames", self.chain.between(self.bed, self.target))

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the n coordinates that move the target in the frame of the bed."""
        return self.chain.coordinates

    def pose(self, values: FloatArray) -> Pose:
        """Return the pose of the target in the frame of the bed at coordinates (n,) [rad, m]."""
        return pose_of(self._frames.motion(values).placement)

    def evaluate(self, values: FloatArray, *, energy: bool = False) -> JointContactForces:
        """Return forces and derivatives at coordinates (n,) [rad, m]."""
        motion = self._frames.motion(values)
        pose = pose_of(motion.placement)
        loads = self.model.loads(pose, order=1)
        wrench, twists = loads.wrench, motion.twists
        by_twist = np.linalg.solve(twist_jacobian(pose).T, loads.total_jacobian.T).T
        stiffness = twists.T @ by_twist @ twists + motion.turning_forces(wrench)
        gradient = np.full(len(values), np.nan)
        if energy and self.energy is not None:
            gradient = -twists.T @ self.energy.wrench(pose)
        return JointContactForces(twists.T @ wrench, stiffness, loads, gradient)


def pose_of(placement: Placement) -> Pose:
    """Return the pose of a target; its angles are unique below 90 degrees of adduction."""
    r = placement.rotation
    adduction = np.arcsin(np.clip(r[1, 2], -1.0, 1.0))
    flexion = np.arctan2(r[1, 0], r[1, 1])
    rotation = np.arctan2(-r[0, 2], r[2, 2])
    return Pose(flexion, adduction, rotation, *placement.origin)
