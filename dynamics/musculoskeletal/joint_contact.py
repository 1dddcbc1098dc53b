"""Contact of bodies: generalised forces of coordinates, with derivatives; of a plant; mirrored.

The bed (the tibia, patella or a meniscus of a knee, the casting mesh of OpenSim-JAM) and the target
(the femur) are fixed in two bodies, which one joint or a chain of joints connects; a contact model
gives the wrench on the target, in the frame of the bed, as a function of the target's pose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dynamics.musculoskeletal.opensim_plant import OpenSimPlant
from dynamics.musculoskeletal.osim_joints import BODY, KinematicChain, Placement
from dynamics.protocol import ContactModel
from foundation.base.checks import FloatArray
from foundation.base.loads import ContactLoads
from foundation.base.pose import Pose, pose_array, twist_jacobian


class JointContactForces(NamedTuple):
    """A contact at one position, as generalised forces (n,) of the coordinates [N m, N]."""

    forces: FloatArray
    #: Row: generalised force; column: coordinate (n, n) [N m, N per rad, m].
    jacobian: FloatArray
    #: Loads on the target, frame of the bed.
    loads: ContactLoads


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

    def evaluate(self, values: FloatArray) -> JointContactForces:
        """Return forces and derivatives at coordinates (n,) [rad, m]."""
        motion = self._frames.motion(values)
        pose = pose_of(motion.placement)
        loads = self.model.loads(pose, order=1)
        wrench, twists = loads.wrench, motion.twists
        by_twist = np.linalg.solve(twist_jacobian(pose).T, loads.total_jacobian.T).T
        stiffness = twists.T @ by_twist @ twists + motion.turning_forces(wrench)
        return JointContactForces(twists.T @ wrench, stiffness, loads)


def pose_of(placement: Placement) -> Pose:
    """Return the pose of a target; its angles are unique below 90 degrees of adduction."""
    r = placement.rotation
    adduction = np.arcsin(np.clip(r[1, 2], -1.0, 1.0))
    flexion = np.arctan2(r[1, 0], r[1, 1])
    rotation = np.arctan2(-r[0, 2], r[2, 2])
    return Pose(flexion, adduction, rotation, *placement.origin)


class ContactForces(NamedTuple):
    """All contacts at an instant, as forces (F,) [N m, N] on the F free coordinates."""

    #: Generalised forces (F,) [N m, N].
    forces: FloatArray
    #: Derivative with respect to the secondary coordinates (F, S) [N m, N per rad, m].
    columns: FloatArray
    #: Loads of each contact.
    loads: tuple[ContactLoads, ...]


class PlantContacts:
    """Contacts in the joints of a plant."""

    def __init__(self, plant: OpenSimPlant, contacts: Sequence[JointContact]) -> None:
        self.plant, self.contacts = plant, tuple(contacts)
        self.names = tuple(contact.name for contact in self.contacts)
        self._places = [plant.motion.index(c.coordinates) for c in self.contacts]
        self._free = plant.motion.index(plant.free)
        self._secondary = plant.motion.index(plant.secondary)

    def at(self, frame: int, values: FloatArray) -> ContactForces:
        """Return the contacts at a frame and secondary coordinates (S,) [rad, m]."""
        count = len(self.plant.motion.names)
        q = self.plant.motion.values[frame].copy()
        q[self._secondary] = values
        forces, columns, loads = np.zeros(count), np.zeros((count, count)), []
        for contact, places in zip(self.contacts, self._places, strict=True):
            found = contact.evaluate(q[places])
            forces[places] += found.forces
            columns[np.ix_(places, places)] += found.jacobian
            loads.append(found.loads)
        return ContactForces(
            forces[self._free],
            columns[np.ix_(self._free, self._secondary)],
            tuple(loads),
        )


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


def mirrored_pose(pose: Pose) -> Pose:
    """Return the pose of the mirror image of the target in that of the bed."""
    return Pose.from_array(_POSE * pose.array)
