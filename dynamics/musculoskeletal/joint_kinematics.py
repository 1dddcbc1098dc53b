"""Kinematics of a joint with up to six coordinates, as OpenSim's `CustomJoint` defines them.

The child turns about three axes in sequence, the first one fixed in the parent, and moves along
three axes of the parent; each angle and each displacement is a linear function of one coordinate
(Seth et al. 2010, Nonlinear Dyn 62:291-303). Contact acts between a target fixed in one body and
a bed fixed in the other one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from foundation.base.checks import FloatArray, check_array, check_fields
from foundation.base.errors import InputError
from foundation.base.pose import cross_matrix


class Placement(NamedTuple):
    """Placement of a frame in a body: x_body = rotation x_frame + origin.

    Parameters
    ----------
    rotation : (3, 3) float64
        Rotation matrix [1].
    origin : (3,) float64
        Origin of the frame in the body [m].
    """

    rotation: FloatArray
    origin: FloatArray

    @classmethod
    def of(cls, orientation: FloatArray, origin: FloatArray) -> Placement:
        """Return the placement of OpenSim's angles (3,) [rad], body-fixed XYZ, and origin [m]."""
        return cls(Rotation.from_euler("XYZ", orientation).as_matrix(), np.array(origin))

    @classmethod
    def about(cls, turn: FloatArray) -> Placement:
        """Return the placement of a frame that is turned by a rotation vector (3,) [rad]."""
        return cls(Rotation.from_rotvec(turn).as_matrix(), np.zeros(3))

    def after(self, other: Placement) -> Placement:
        """Return the placement of a frame that `other` places in this frame."""
        return Placement(self.rotation @ other.rotation, self.rotation @ other.origin + self.origin)

    @property
    def inverse(self) -> Placement:
        """Placement of the body in the frame."""
        return Placement(self.rotation.T, -self.rotation.T @ self.origin)


BODY = Placement(np.eye(3), np.zeros(3))


class JointMotion(NamedTuple):
    """Position of the child in the parent, and its motion per unit of each coordinate.

    Parameters
    ----------
    placement : Placement
        Placement of the child frame in the parent frame.
    turning : (3, n) float64
        Angular velocity per unit rate of each coordinate, parent axes [rad/s].
    moving : (3, n) float64
        Velocity of the child's origin per unit rate of each coordinate, parent axes [m/s].
    bending : (3, n, n) float64
        Derivative of `turning` [., k] by coordinate l, at [., k, l].
    """

    placement: Placement
    turning: FloatArray
    moving: FloatArray
    bending: FloatArray


@dataclass(frozen=True, eq=False)
class JointKinematics:
    """A joint of up to six coordinates.

    Parameters
    ----------
    coordinates : tuple of str
        Names of the n coordinates of the joint.
    axes : (6, 3) float64
        Unit vectors of the three rotations, in sequence, and of the three translations [1].
    slopes : (6, n) float64
        Angle or displacement per unit of each coordinate [1; rad/m, m/rad where units differ].
    offsets : (6,) float64
        Angles and displacements at zero coordinates [rad, m].

    Raises
    ------
    InputError
        If a shape does not fit or an axis has no length.
    """

    coordinates: tuple[str, ...]
    axes: FloatArray
    slopes: FloatArray
    offsets: FloatArray
    #: Cross products with the axes of rotation (3, 3, 3), twice, and velocities (3, n).
    _crosses: FloatArray = field(init=False, repr=False)
    _squares: FloatArray = field(init=False, repr=False)
    _moving: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self, axes=(6, 3), slopes=(6, len(self.coordinates)), offsets=(6,))
        length = np.linalg.norm(self.axes, axis=1)
        if not (length > 0.0).all():
            raise InputError(f"axes: expected axes with a length, found {self.axes.tolist()}")
        axes = self.axes / length[:, None]
        crosses = np.array([cross_matrix(axis) for axis in axes[:3]])
        for name, value in (
            ("axes", axes),
            ("_crosses", crosses),
            ("_squares", crosses @ crosses),
            ("_moving", axes[3:].T @ self.slopes[3:]),
        ):
            object.__setattr__(self, name, value)

    def motion(self, values: FloatArray) -> JointMotion:
        """Return the motion of the child in the parent at coordinates (n,) [rad, m].

        Raises
        ------
        InputError
            If the values are not n finite numbers.
        """
        q = check_array("coordinates", values, (len(self.coordinates),))
        found = self.slopes @ q + self.offsets
        # Rodrigues' formula: once for each joint and iteration, where objects would cost more.
        sines, versines = np.sin(found[:3]), 1.0 - np.cos(found[:3])
        turned, rotation = np.empty((3, 3)), np.eye(3)
        for k in range(3):
            turned[:, k] = rotation @ self.axes[k]
            rotation = rotation + rotation @ (
                sines[k] * self._crosses[k] + versines[k] * self._squares[k]
            )
        bending = np.zeros((3, 3, 3))
        # An axis turns with the rotations before it in the sequence.
        bending[:, 1, 0] = cross_matrix(turned[:, 0]) @ turned[:, 1]
        bending[:, 2, :2] = (cross_matrix(turned[:, 2]).T @ turned)[:, :2]
        slopes = self.slopes[:3]
        return JointMotion(
            Placement(rotation, found[3:] @ self.axes[3:]),
            turned @ slopes,
            self._moving,
            slopes.T @ bending @ slopes,
        )
