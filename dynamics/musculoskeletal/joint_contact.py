"""Contact in a joint: generalised forces of the joint's coordinates, with their derivative.

The bed (the tibia or patella of a knee, the casting mesh of OpenSim-JAM) and the target (the
femur) are fixed in the two bodies of the joint; a contact model gives the wrench on the target,
in the frame of the bed, as a function of the target's pose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from dynamics.musculoskeletal.joint_kinematics import BODY, JointKinematics, JointMotion, Placement
from dynamics.protocol import ContactModel
from foundation.base.checks import FloatArray
from foundation.base.loads import ContactLoads
from foundation.base.pose import Pose, cross_matrix, twist_jacobian


class PotentialGradient(Protocol):
    """Derivative of the energy that a contact stores."""

    def wrench(self, pose: Pose) -> FloatArray:
        """Return minus the derivative of the energy by the twist of the target, (6,) [N, N m]."""
        ...


class JointContactForces(NamedTuple):
    """Contact in a joint at one position.

    Parameters
    ----------
    forces : (n,) float64
        Generalised forces of the coordinates of the joint [N m, N].
    jacobian : (n, n) float64
        Row: generalised force; column: coordinate [N m, N per rad, m].
    loads : ContactLoads
        Loads on the target, frame of the bed.
    energy_gradient : (n,) float64
        Derivative of the stored energy by the coordinates [J/rad, J/m]; NaN where it is unknown.
    """

    forces: FloatArray
    jacobian: FloatArray
    loads: ContactLoads
    energy_gradient: FloatArray


@dataclass(frozen=True, eq=False)
class JointContact:
    """A contact model between the two bodies of a joint.

    Parameters
    ----------
    name : str
        Name of the contact, such as "tf_contact".
    model : ContactModel
        Loads on the target in the frame of the bed.
    joint : JointKinematics
        The joint between the two bodies.
    bed, target : Placement
        Placements of the frame of the bed and of the target in their joint frames: in the
        parent or the child frame of the joint.
    bed_on_child : bool
        Whether the bed is fixed in the child of the joint and the target in its parent, or the
        other way round.
    energy : PotentialGradient, optional
        Gradient of the stored energy; needed where the energy has a weight in a cost.
    """

    name: str
    model: ContactModel
    joint: JointKinematics
    bed: Placement = BODY
    target: Placement = BODY
    bed_on_child: bool = True
    energy: PotentialGradient | None = None

    def pose(self, values: FloatArray) -> Pose:
        """Return the pose of the target in the frame of the bed at coordinates (n,) [rad, m]."""
        return self._pose(self.joint.motion(values))

    def _pose(self, motion: JointMotion) -> Pose:
        child = motion.placement
        between = child.inverse if self.bed_on_child else child
        relative = self.bed.inverse.after(between.after(self.target))
        return pose_of(relative)

    def evaluate(self, values: FloatArray, *, energy: bool = False) -> JointContactForces:
        """Return forces and derivatives at coordinates (n,) [rad, m] of the joint.

        With `energy`, the gradient of the stored energy too.

        Raises
        ------
        InputError
            If the values are not n finite numbers.
        """
        motion = self.joint.motion(values)
        pose = self._pose(motion)
        loads, jacobian = self.model.loads_and_jacobian(pose)
        wrench, frame = loads.wrench, self._frame(motion)
        twists = self._twists(motion, frame)
        by_twist = np.linalg.solve(twist_jacobian(pose).T, jacobian.T).T
        stiffness = twists.T @ by_twist @ twists + self._turning_wrench(motion, frame, wrench)
        gradient = np.full(len(values), np.nan)
        if energy and self.energy is not None:
            gradient = -twists.T @ self.energy.wrench(pose)
        return JointContactForces(twists.T @ wrench, stiffness, loads, gradient)

    def _frame(self, motion: JointMotion) -> Placement:
        """Return the placement of the bed in the parent."""
        return motion.placement.after(self.bed) if self.bed_on_child else self.bed

    def _twists(self, motion: JointMotion, frame: Placement) -> FloatArray:
        """Return the twist (6, n) of the target per unit rate, frame of the bed [m/s, rad/s]."""
        arm = frame.origin - motion.placement.origin
        velocity = motion.moving + cross_matrix(arm).T @ motion.turning
        sign = -1.0 if self.bed_on_child else 1.0
        back = sign * frame.rotation.T
        return np.vstack([back @ velocity, back @ motion.turning])

    def _turning_wrench(
        self, motion: JointMotion, frame: Placement, wrench: FloatArray
    ) -> FloatArray:
        """Return the derivative (n, n) of the generalised forces of a wrench fixed in the bed."""
        force, moment = frame.rotation @ wrench[:3], frame.rotation @ wrench[3:]
        arm = frame.origin - motion.placement.origin
        axes = motion.turning
        about_child = moment + cross_matrix(arm) @ force
        geometric = np.tensordot(about_child, motion.bending, 1)
        if not self.bed_on_child:
            # The arm shortens as the child moves.
            return geometric - (cross_matrix(force) @ axes).T @ motion.moving
        # The wrench turns with the child, and the arm too.
        turned = axes.T @ cross_matrix(about_child).T @ axes
        moved = motion.moving.T @ cross_matrix(force).T @ axes
        return -(geometric + turned + moved)


def pose_of(placement: Placement) -> Pose:
    """Return the pose of a target that a placement puts into the frame of the bed.

    The angles of Grood & Suntay are unique for adductions below 90 degrees.
    """
    r = placement.rotation
    adduction = np.arcsin(np.clip(r[1, 2], -1.0, 1.0))
    flexion = np.arctan2(r[1, 0], r[1, 1])
    rotation = np.arctan2(-r[0, 2], r[2, 2])
    return Pose(flexion, adduction, rotation, *placement.origin)
