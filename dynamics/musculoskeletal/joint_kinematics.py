"""Motion of a body in another one through the joints between the two bodies.

In OpenSim's `CustomJoint`, the child turns about three axes in sequence, the first one fixed in
the parent, and moves along three axes of the parent; here, each angle and each displacement is a
linear function of one coordinate (Seth et al. 2010, Nonlinear Dyn 62:291-303). Joints in series are
a product of exponentials of screws (Lynch & Park 2017, Modern Robotics, chapters 4 and 5), whose
first and second derivatives are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation

from foundation.base.checks import FloatArray, check_array, check_fields
from foundation.base.errors import InputError
from foundation.base.pose import cross_matrix


class Placement(NamedTuple):
    """Rotation (3, 3) [1] and origin (3,) [m] of a frame: x_body = rotation x_frame + origin."""

    #: Rotation matrix (3, 3) [1].
    rotation: FloatArray
    #: Origin of the frame in the body (3,) [m].
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


class ChainMotion(NamedTuple):
    """Placement of the last frame of a chain in the first, and its screws (m, 6) [m/s, rad/s]."""

    placement: Placement
    #: Velocity at the origin of the first frame and angular velocity, axes of the first frame, per
    #: unit rate of an angle or displacement.
    screws: FloatArray
    #: Angle or displacement per unit of each coordinate (m, n) [1; rad/m, m/rad].
    slopes: FloatArray

    @property
    def twists(self) -> FloatArray:
        """Twist (6, n) of the last frame per unit rate of each coordinate [m/s, rad/s]."""
        return self.screws.T @ self.slopes

    def turning_forces(self, wrench: FloatArray) -> FloatArray:
        """Return the derivative (n, n) of `twists.T @ wrench` of a wrench (6,) [N, N m]."""
        force, moment = cross_matrix(wrench[:3]), cross_matrix(wrench[3:])
        moving, turning = self.screws[:, :3], self.screws[:, 3:]
        # A screw moves with the joints before its own: the derivative is the bracket of both.
        by_force = turning @ force.T
        brackets = by_force @ moving.T + (turning @ moment.T + moving @ force.T) @ turning.T
        return self.slopes.T @ np.triu(brackets, 1).T @ self.slopes


@dataclass(frozen=True, eq=False)
class KinematicChain:
    """Motion of a frame in another one: exponentials of screws (m, 6) [m/s, rad/s], then `home`."""

    #: Names of the n coordinates.
    coordinates: tuple[str, ...] = ()
    #: Velocity at the origin of the first frame and angular velocity of each screw where all screws
    #: are at zero, axes of the first frame (m, 6) [m/s, rad/s]; an angular velocity is 1 or 0.
    screws: FloatArray = field(default_factory=lambda: np.zeros((0, 6)))
    #: Angle or displacement per unit of each coordinate (m, n) [1; rad/m, m/rad where units
    #: differ].
    slopes: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    #: Angles and displacements at zero coordinates (m,) [rad, m].
    offsets: FloatArray = field(default_factory=lambda: np.zeros(0))
    #: Placement of the last frame in the first one where all screws are at zero.
    home: Placement = BODY
    #: Cross products with the angular velocities (m, 3, 3), once and twice.
    _crosses: FloatArray = field(init=False, repr=False)
    _squares: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        count = len(check_array("screws", self.screws, (None, 6)))
        check_fields(self, slopes=(count, len(self.coordinates)), offsets=(count,))
        crosses = np.array([cross_matrix(screw[3:]) for screw in self.screws]).reshape(-1, 3, 3)
        object.__setattr__(self, "_crosses", crosses)
        object.__setattr__(self, "_squares", crosses @ crosses)

    @classmethod
    def of_joint(
        cls,
        coordinates: tuple[str, ...],
        axes: FloatArray,
        slopes: FloatArray,
        offsets: FloatArray,
    ) -> Self:
        """Return the motion by axes (6, 3) [1]: three rotations in sequence, three translations."""
        axes = check_array("axes", axes, (6, 3))
        slopes = check_array("slopes", slopes, (6, len(coordinates)))
        offsets = check_array("offsets", offsets, (6,))
        length = np.linalg.norm(axes, axis=1, keepdims=True)
        if not (length > 0.0).all():
            raise InputError(f"axes: expected axes with a length, found {axes.tolist()}")
        screws = np.zeros((6, 6))
        screws[:3, 3:], screws[3:, :3] = (axes / length)[:3], (axes / length)[3:]
        # The displacements along axes of the parent come before the rotations.
        order = np.array([3, 4, 5, 0, 1, 2])
        moves = order[slopes[order].any(axis=1) | (offsets[order] != 0.0)]
        return cls(coordinates, screws[moves], slopes[moves], offsets[moves])

    @property
    def inverse(self) -> Self:
        """Motion of the first frame in the last one."""
        back = self.home.inverse
        screws = -_seen_from(back, self.screws)[::-1]
        return type(self)(self.coordinates, screws, self.slopes[::-1], self.offsets[::-1], back)

    def then(self, other: Self) -> Self:
        """Return the motion of the last frame of a chain that starts where this one ends."""
        both = [name for name in other.coordinates if name in self.coordinates]
        if both:
            raise InputError(
                f"coordinates: expected other names in each joint of a chain, found "
                f"{', '.join(both)} twice"
            )
        return type(self)(
            (*self.coordinates, *other.coordinates),
            np.concatenate([self.screws, _seen_from(self.home, other.screws)]),
            block_diag(self.slopes, other.slopes),
            np.concatenate([self.offsets, other.offsets]),
            self.home.after(other.home),
        )

    def between(self, first: Placement, last: Placement) -> Self:
        """Return the motion between other frames, placed in the first and in the last frame."""
        back = first.inverse
        screws, home = _seen_from(back, self.screws), back.after(self.home).after(last)
        return type(self)(self.coordinates, screws, self.slopes, self.offsets, home)

    def motion(self, values: FloatArray) -> ChainMotion:
        """Return the motion at coordinates (n,) [rad, m]."""
        q = check_array("coordinates", values, (len(self.coordinates),))
        sizes = self.slopes @ q + self.offsets
        # Rodrigues' formula, for all screws at once.
        sines, versines = np.sin(sizes), 1.0 - np.cos(sizes)
        turns = np.eye(3) + (
            sines[:, None, None] * self._crosses + versines[:, None, None] * self._squares
        )
        moving = self.screws[:, :3]
        shifts = (
            sizes[:, None] * moving
            + (
                (versines[:, None, None] * self._crosses) @ moving[:, :, None]
                + ((sizes - sines)[:, None, None] * self._squares) @ moving[:, :, None]
            )[:, :, 0]
        )
        rotations, origins = np.empty_like(turns), np.empty_like(shifts)
        rotation, origin = np.eye(3), np.zeros(3)
        for k, (turn, shift) in enumerate(zip(turns, shifts, strict=True)):
            rotations[k], origins[k] = rotation, origin
            origin = origin + rotation @ shift
            rotation = rotation @ turn
        angular = (rotations @ self.screws[:, 3:, None])[:, :, 0]
        linear = (rotations @ moving[:, :, None])[:, :, 0] + np.cross(origins, angular)
        placement = Placement(rotation, origin).after(self.home)
        return ChainMotion(placement, np.hstack([linear, angular]), self.slopes)


def _seen_from(placement: Placement, screws: FloatArray) -> FloatArray:
    """Return screws (m, 6) of a frame in the frame that the frame is placed in."""
    angular = screws[:, 3:] @ placement.rotation.T
    linear = screws[:, :3] @ placement.rotation.T + np.cross(placement.origin, angular)
    return np.hstack([linear, angular])
