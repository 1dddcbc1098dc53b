"""A planar leg: a chain of rigid segments that hangs from the hip.

Frame: x forward, y up, the ground is y = 0. The coordinates are q = (x, y of the hip; absolute
angle of every segment), or the angles alone where the hip is pinned. At angle 0 thigh and shank
hang straight down and the foot points forward; a positive angle swings the distal end forward and
the toes up. The equations of motion are

    M(q) q'' + h(q, q') = Q,

h being the velocity-squared terms, gravity and the torques of springs and dampers at the joints, Q
the generalised forces of the ground. Every point is p = hip + sum_k R(phi_k) a_k with constant arms
a_k, so that its Jacobian has the columns R(phi_k) S a_k (S a quarter turn) and its acceleration at
q'' = 0 is -sum_k phi_k'^2 R(phi_k) a_k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dynamics.walking.segments import Segment
from foundation.checks import FloatArray, check_array, check_in, check_number, frozen
from foundation.errors import InputError

#: Standard acceleration of free fall, rounded [m/s²].
GRAVITY = 9.81


@dataclass(frozen=True, eq=False)
class Leg:
    """Segments in series, the mass at the hip, and springs and dampers at the joints.

    Joint k lies at the proximal end of segment k. The springs of the hip act against a trunk that
    keeps its direction; the other joints act between neighbours.

    Parameters
    ----------
    segments : mapping of str to Segment
        Names and segments from proximal to distal, n of them. The origin of a segment's frame is
        its proximal joint.
    hip_mass : float
        Point mass that moves with a free hip [kg], >= 0: trunk, arms, the other leg.
    anchor : (2,) float64, optional
        Where the hip is pinned [m]; by default it moves freely.
    joint_stiffness : (n,) float64, optional
        [N m/rad], >= 0, by default 0.
    joint_damping : (n,) float64, optional
        [N m s/rad], >= 0, by default 0.
    joint_rest : (n,) float64, optional
        Joint angles (of a segment from its proximal neighbour) without torque [rad], by default 0.
    gravity : float
        [m/s²], >= 0.

    Raises
    ------
    InputError
        If a parameter is out of its range.
    """

    segments: Mapping[str, Segment]
    hip_mass: float = 0.0
    anchor: ArrayLike | None = None
    joint_stiffness: ArrayLike | None = None
    joint_damping: ArrayLike | None = None
    joint_rest: ArrayLike | None = None
    gravity: float = GRAVITY

    def __post_init__(self) -> None:
        object.__setattr__(self, "segments", dict(self.segments))
        if not self.segments:
            raise InputError("segments: expected one or more, found none")
        check_number("hip_mass", self.hip_mass, at_least=0.0, unit="kg")
        check_number("gravity", self.gravity, at_least=0.0, unit="m/s²")
        if self.anchor is not None:
            object.__setattr__(self, "anchor", frozen(check_array("anchor", self.anchor, (2,))))
        for name in ("joint_stiffness", "joint_damping", "joint_rest"):
            given = getattr(self, name)
            value = (
                np.zeros(len(self.segments))
                if given is None
                else check_array(name, given, (len(self.segments),))
            )
            if name != "joint_rest" and (value < 0.0).any():
                raise InputError(f"{name}: expected >= 0, found {value.min()}")
            object.__setattr__(self, name, frozen(value))

    @property
    def base(self) -> int:
        """Number of coordinates before the angles: 2, or 0 where the hip is pinned."""
        return 2 if self.anchor is None else 0

    @property
    def freedoms(self) -> int:
        """Number of coordinates."""
        return self.base + len(self.segments)

    @property
    def mass(self) -> float:
        """All of the moving mass [kg]."""
        return self.hip_mass + float(self._masses.sum())

    @property
    def weight(self) -> float:
        """Weight of all of the moving mass [N]."""
        return self.mass * self.gravity

    def index(self, name: str) -> int:
        """Return the place of a segment in the chain.

        Raises
        ------
        InputError
            If there is no segment of that name.
        """
        check_in("segment", name, self.segments)
        return list(self.segments).index(name)

    def arms(self, segments: Sequence[int], positions: ArrayLike) -> FloatArray:
        """Return the arms a_k of points fixed to segments, (P, n, 2) [m].

        Parameters
        ----------
        segments : sequence of int
            The segment of each point.
        positions : (P, 2) array_like
            In the frames of those segments [m].
        """
        arms = np.zeros((len(segments), len(self.segments), 2))
        for row, (segment, position) in enumerate(
            zip(segments, np.reshape(positions, (-1, 2)), strict=True)
        ):
            arms[row, :segment] = self._ends[:segment]
            arms[row, segment] = position
        return arms

    def positions(self, q: FloatArray, arms: FloatArray) -> FloatArray:
        """Return where points of given arms are, (P, 2) [m]."""
        hip = q[:2] if self.anchor is None else np.asarray(self.anchor)
        return hip + self._turned(q, arms).sum(axis=1)

    def jacobian(self, q: FloatArray, arms: FloatArray) -> FloatArray:
        """Return d(positions)/dq, (P, 2, dof)."""
        return self._jacobian(self._turned(q, arms))

    def equations(self, q: FloatArray, velocity: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return M (dof, dof) and h (dof,) of the equations of motion.

        Parameters
        ----------
        q, velocity : (dof,) float64
            Coordinates [m, rad] and their rates.
        """
        turned = self._turned(q, self._center_arms)
        jacobian = self._jacobian(turned)
        acceleration = -(velocity[self.base :, None] ** 2 * turned).sum(axis=1)
        acceleration[:, 1] += self.gravity
        acceleration *= self._masses[:, None]
        force = acceleration.ravel() @ jacobian.reshape(-1, self.freedoms)
        if self.base:
            force[1] += self.hip_mass * self.gravity
        to_joints = self._joints_from_coordinates
        spring = np.asarray(self.joint_stiffness) * (to_joints @ q - np.asarray(self.joint_rest))
        damper = np.asarray(self.joint_damping) * (to_joints @ velocity)
        return self._mass_matrix(jacobian), force + to_joints.T @ (spring + damper)

    def mass_matrix(self, q: FloatArray) -> FloatArray:
        """Return M(q), (dof, dof) [kg, kg m, kg m²]."""
        return self._mass_matrix(self.jacobian(q, self._center_arms))

    def kinetic_energy(self, q: FloatArray, velocity: FloatArray) -> float:
        """Return the kinetic energy [J]."""
        return float(0.5 * velocity @ self.mass_matrix(q) @ velocity)

    def potential_energy(self, q: FloatArray) -> float:
        """Return the energy of gravity, from y = 0, and of the joint springs [J]."""
        height = self.positions(q, self._center_arms)[:, 1]
        lifted = self._masses @ height + (self.hip_mass * q[1] if self.base else 0.0)
        stretch = self._joints_from_coordinates @ q - np.asarray(self.joint_rest)
        return float(self.gravity * lifted + 0.5 * np.asarray(self.joint_stiffness) @ stretch**2)

    def joint_dissipation(self, velocity: FloatArray) -> float:
        """Return the power that the joint dampers take [W], >= 0."""
        rate = self._joints_from_coordinates @ velocity
        return float(np.asarray(self.joint_damping) @ rate**2)

    def _jacobian(self, turned: FloatArray) -> FloatArray:
        jacobian = np.empty((len(turned), 2, self.freedoms))
        jacobian[:, :, : self.base] = np.eye(2)[:, : self.base]
        jacobian[:, 0, self.base :] = -turned[:, :, 1]
        jacobian[:, 1, self.base :] = turned[:, :, 0]
        return jacobian

    def _mass_matrix(self, jacobian: FloatArray) -> FloatArray:
        rows = jacobian.reshape(-1, self.freedoms)
        matrix = (np.repeat(self._masses, 2)[:, None] * rows).T @ rows
        matrix[np.diag_indices(self.freedoms)] += self._own_inertia
        return matrix

    def _turned(self, q: FloatArray, arms: FloatArray) -> FloatArray:
        """R(phi_k) a_k, (P, n, 2)."""
        c, s = np.cos(q[self.base :]), np.sin(q[self.base :])
        x, y = arms[:, :, 0], arms[:, :, 1]
        return np.stack((c * x - s * y, s * x + c * y), axis=-1)

    @cached_property
    def _masses(self) -> FloatArray:
        return np.array([each.mass for each in self.segments.values()])

    @cached_property
    def _ends(self) -> FloatArray:
        return np.array([each.end for each in self.segments.values()])

    @cached_property
    def _own_inertia(self) -> FloatArray:
        hip = [self.hip_mass] * self.base
        return np.array([*hip, *(each.inertia for each in self.segments.values())])

    @cached_property
    def _center_arms(self) -> FloatArray:
        centers = np.array([each.centre_of_mass for each in self.segments.values()])
        return self.arms(range(len(centers)), centers)

    @cached_property
    def _joints_from_coordinates(self) -> FloatArray:
        """Joint angles from coordinates, (n, dof)."""
        n = len(self.segments)
        return np.hstack([np.zeros((n, self.base)), np.eye(n) - np.eye(n, k=-1)])
