"""Planar legs: chains or trees of rigid segments that hang from the hip.

Frame: x forward, y up, the ground is y = 0. The coordinates are q = (x, y of the hip; absolute
angle of every segment), or the angles alone where the hip is pinned. At angle 0 thigh and shank
hang straight down and the foot points forward; a positive angle swings the distal end forward and
the toes up. The equations of motion are M(q) q'' + h(q, q') = Q, with h the velocity-squared terms,
gravity and the joint torques, and Q the generalised forces of the ground.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dynamics.mechanics.planar_chain import (
    ComplexArray,
    PassiveJoints,
    as_complex,
    as_vectors,
    generalised_force,
    mass_matrix,
)
from dynamics.mechanics.segments import Segment
from foundation.base.checks import (
    FloatArray,
    check_array,
    check_fields,
    check_in,
    check_numbers,
    frozen,
)
from foundation.base.errors import InputError

#: Standard acceleration of free fall, rounded [m/s²].
GRAVITY = 9.81


@dataclass(frozen=True, eq=False)
class Leg:
    """Segments in series or as a tree, the mass at the hip, springs and dampers at the joints.

    Joint k lies at the proximal end of segment k. The springs of the hip act against a trunk of
    constant orientation; the other joints act between neighbouring segments. Several legs on one
    hip are one `Leg`, whose `parents` say where each segment hangs (`striking_legs`).

    Parameters
    ----------
    segments : mapping of str to Segment
        Names and segments from proximal to distal, n of them. The origin of the frame of a segment
        is its proximal joint, which is the distal end of its parent, or the hip.
    hip_mass : float
        Point mass that moves with a free hip [kg], >= 0: trunk, arms, the other leg.
    anchor : (2,) float64, optional
        Position of a pinned hip [m]; by default the hip moves freely.
    joint_stiffness : (n,) float64, optional
        Stiffness of the joints [N m/rad], >= 0, by default 0.
    joint_damping : (n,) float64, optional
        Damping of the joints [N m s/rad], >= 0, by default 0.
    joint_rest : (n,) float64, optional
        Joint angles (of a segment from its proximal neighbour) without torque [rad], by default 0.
    gravity : float
        Acceleration of free fall [m/s²], >= 0.
    parents : mapping of str to (str or None), optional
        Parent of each segment, one of the segments before it, or None for the hip. By default every
        segment hangs from the previous one, and the first from the hip.

    Raises
    ------
    InputError
        If the parents do not name every segment once, or a parent does not precede its child.
    """

    segments: Mapping[str, Segment]
    hip_mass: float = 0.0
    anchor: ArrayLike | None = None
    joint_stiffness: ArrayLike | None = None
    joint_damping: ArrayLike | None = None
    joint_rest: ArrayLike | None = None
    gravity: float = GRAVITY
    parents: Mapping[str, str | None] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "segments", dict(self.segments))
        count = len(self.segments)
        if not count:
            raise InputError("segments: expected at least one segment, found none")
        check_numbers(self, at_least=0.0, hip_mass="kg", gravity="m/s²")
        check_fields(self, anchor=(2,))
        object.__setattr__(self, "parents", _checked_parents(list(self.segments), self.parents))
        for name in ("joint_stiffness", "joint_damping", "joint_rest"):
            stated = np.zeros(count) if getattr(self, name) is None else getattr(self, name)
            least = None if name == "joint_rest" else 0.0
            checked = check_array(name, stated, (count,), at_least=least)
            object.__setattr__(self, name, frozen(checked))

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
        """Total moving mass [kg]."""
        return self.hip_mass + float(self._masses.sum())

    @property
    def weight(self) -> float:
        """Weight of the moving mass [N]."""
        return self.mass * self.gravity

    def index(self, name: str) -> int:
        """Return the index of a segment.

        Raises
        ------
        InputError
            If the leg does not have the segment.
        """
        check_in("segment", name, self.segments)
        return list(self.segments).index(name)

    def state(self, position: ArrayLike, velocity: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return copies of coordinates and rates, (dof,) each [m, rad; s].

        Raises
        ------
        InputError
            If a shape is wrong or a number is not finite.
        """
        q = check_array("position", position, (self.freedoms,))
        return q, check_array("velocity", velocity, (self.freedoms,))

    def arms(self, segments: Sequence[int], positions: ArrayLike) -> ComplexArray:
        """Return the coefficients of points fixed to segments, (P, n) [m].

        A point lies at hip + Σ a_j exp(i φ_j) with its coefficients a: the point itself for its
        segment, the distal ends of the segments between it and the hip, and zero else.

        Parameters
        ----------
        segments : sequence of int
            Index of the segment of each point.
        positions : (P, 2) array_like
            Points in the frames of the segments [m].
        """
        points = as_complex(np.reshape(positions, (-1, 2)))
        ends = as_complex(np.array([each.end for each in self.segments.values()]))
        coefficients = np.zeros((len(points), len(ends)), dtype=np.complex128)
        for row, segment, point in zip(coefficients, segments, points, strict=True):
            row[segment] = point
            proximal = self._proximal[segment]
            while proximal is not None:
                row[proximal] = ends[proximal]
                proximal = self._proximal[proximal]
        return coefficients

    def positions(self, q: FloatArray, arms: ComplexArray) -> FloatArray:
        """Return the positions (P, 2) [m] of points with coefficients (P, n) at q (dof,)."""
        hip = q[:2] if self.anchor is None else np.asarray(self.anchor)
        return hip + as_vectors(arms @ self._turn(q))

    def jacobian(self, q: FloatArray, arms: ComplexArray) -> FloatArray:
        """Return d(positions)/dq, (P, 2, dof) [1, m], of points with coefficients (P, n)."""
        return np.moveaxis(as_vectors(self._jacobian(arms * self._turn(q))), -1, 1)

    def equations(self, q: FloatArray, velocity: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return M (dof, dof) [kg, kg m, kg m²] and h (dof,) [N, N m].

        Parameters
        ----------
        q, velocity : (dof,) float64
            Coordinates [m, rad] and their rates.
        """
        turned = self._centre_arms * self._turn(q)
        jacobian = self._jacobian(turned)
        acceleration = 1j * self.gravity - turned @ velocity[self.base :] ** 2
        bias = generalised_force(jacobian, self._masses * acceleration)
        if self.base:
            bias[1] += self.hip_mass * self.gravity
        bias[self.base :] -= self._joints.torque(q[self.base :], velocity[self.base :])
        return mass_matrix(jacobian, self._masses, self._own_inertia), bias

    def mass_matrix(self, q: FloatArray) -> FloatArray:
        """Return M(q), (dof, dof) [kg, kg m, kg m²]."""
        jacobian = self._jacobian(self._centre_arms * self._turn(q))
        return mass_matrix(jacobian, self._masses, self._own_inertia)

    def kinetic_energy(self, q: FloatArray, velocity: FloatArray) -> float:
        """Return the kinetic energy [J] at coordinates and rates (dof,)."""
        return float(0.5 * velocity @ self.mass_matrix(q) @ velocity)

    def potential_energy(self, q: FloatArray) -> float:
        """Return the energy [J] of gravity, from y = 0, and of the joint springs at q (dof,)."""
        height = self.positions(q, self._centre_arms)[:, 1]
        moment = self._masses @ height + (self.hip_mass * q[1] if self.base else 0.0)
        return float(self.gravity * moment + self._joints.energy(q[self.base :]))

    def joint_dissipation(self, velocity: FloatArray) -> float:
        """Return the power [W] of the joint dampers at rates (dof,); it is not negative."""
        return self._joints.dissipation(velocity[self.base :])

    def _turn(self, q: FloatArray) -> ComplexArray:
        return np.exp(1j * q[self.base :])

    def _jacobian(self, turned: ComplexArray) -> ComplexArray:
        """Return d(positions)/dq, (P, dof) complex."""
        hip = np.broadcast_to(np.array([1.0, 1j])[: self.base], (len(turned), self.base))
        return np.hstack([hip, 1j * turned])

    @cached_property
    def _masses(self) -> FloatArray:
        return np.array([each.mass for each in self.segments.values()])

    @cached_property
    def _own_inertia(self) -> FloatArray:
        hip = [self.hip_mass] * self.base
        return np.array([*hip, *(each.inertia for each in self.segments.values())])

    @cached_property
    def _centre_arms(self) -> ComplexArray:
        centres = np.array([each.centre_of_mass for each in self.segments.values()])
        return self.arms(range(len(centres)), centres)

    @cached_property
    def _proximal(self) -> list[int | None]:
        """Index of the parent of each segment, None at the hip."""
        names = list(self.segments)
        parents = (self.parents or {}).get
        return [None if (above := parents(name)) is None else names.index(above) for name in names]

    @cached_property
    def _joints(self) -> PassiveJoints:
        laws = (self.joint_stiffness, self.joint_damping, self.joint_rest)
        differences = np.eye(len(self.segments))
        for segment, proximal in enumerate(self._proximal):
            if proximal is not None:
                differences[segment, proximal] = -1.0
        return PassiveJoints(differences, *(np.asarray(each) for each in laws))


def _checked_parents(
    names: list[str], parents: Mapping[str, str | None] | None
) -> dict[str, str | None]:
    """Return the parent of each segment, by default the previous one."""
    if parents is None:
        return dict(zip(names, [None, *names[:-1]], strict=True))
    if sorted(parents) != sorted(names):
        raise InputError(
            f"parents: expected one for each of {', '.join(names)}, found {', '.join(parents)}"
        )
    for place, name in enumerate(names):
        if (above := parents[name]) is not None and above not in names[:place]:
            raise InputError(
                f"parents: expected a segment before {name} or None (the hip) as its parent, found "
                f"{above!r}; state the segments from proximal to distal"
            )
    return dict(parents)
