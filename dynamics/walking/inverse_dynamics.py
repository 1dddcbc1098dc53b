"""Joint forces and moments of a leg in walking by the Newton-Euler equations, from the foot up.

The segments rotate in the sagittal plane that contains hip, knee and ankle, about the principal
axis z; the ground force is three-dimensional. docs/walking.md states the equations (Winter 2009,
ch. 5) and how far the pin of the knee is from a sliding knee. The accelerations are those of the
splines of the trial.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.constants import g as STANDARD_GRAVITY

from dynamics.mechanics.segments import LegSegments, Segment
from dynamics.walking.trial import GaitTrial
from foundation.base.checks import FloatArray, check_number

#: Angles of pelvis, thigh, shank and foot about z from the last four coordinates of a trial.
_SEGMENT_ANGLES = np.array(
    [
        [1.0, 0.0, 0.0, 0.0],
        [1.0, 1.0, 0.0, 0.0],
        [1.0, 1.0, -1.0, 0.0],
        [1.0, 1.0, -1.0, 1.0],
    ]
)


@dataclass(frozen=True, eq=False)
class JointLoad:
    """Load of the proximal on the distal segment at a joint, in the lab frame.

    Parameters
    ----------
    centre : (N, 3) float64
        Joint centre [m].
    force : (N, 3) float64
        Force [N].
    moment : (N, 3) float64
        Moment about the centre [N m].
    """

    centre: FloatArray
    force: FloatArray
    moment: FloatArray


@dataclass(frozen=True, eq=False)
class LegLoads:
    """Joint loads of a right leg over a stride.

    Parameters
    ----------
    time : (N,) float64
        Instants [s].
    hip, knee, ankle : JointLoad
        Loads on thigh, shank and foot.
    shank_rotation : (N, 3, 3) float64
        Rotation from the tibial frame (x anterior, y superior from ankle to knee, z lateral) to the
        lab frame [1].
    toe, heel : (N, 3) float64
        Metatarsal heads and lowest point of the heel, lab frame [m].
    """

    time: FloatArray
    hip: JointLoad
    knee: JointLoad
    ankle: JointLoad
    shank_rotation: FloatArray
    toe: FloatArray
    heel: FloatArray

    @property
    def moments(self) -> FloatArray:
        """Internal moments of hip and knee extension and plantarflexion, (N, 3) [N m]."""
        return np.column_stack(
            [-self.hip.moment[:, 2], self.knee.moment[:, 2], -self.ankle.moment[:, 2]]
        )

    @property
    def knee_force(self) -> FloatArray:
        """Intersegmental force on the tibia at the knee, tibial frame, (N, 3) [N].

        Anterior, superior, lateral; a negative superior component compresses the joint.
        """
        return np.einsum("nji,nj->ni", self.shank_rotation, self.knee.force)

    @property
    def knee_moment(self) -> FloatArray:
        """Intersegmental moment on the tibia at the knee, tibial frame, (N, 3) [N m].

        Internal moments of adduction, of internal rotation and of extension of the tibia.
        """
        return np.einsum("nji,nj->ni", self.shank_rotation, self.knee.moment)

    @property
    def external_adduction_moment(self) -> FloatArray:
        """External adduction moment of the knee, (N,) [N m]."""
        return -self.knee_moment[:, 0]


def inverse_dynamics(
    trial: GaitTrial, leg: LegSegments, *, gravity: float = STANDARD_GRAVITY
) -> LegLoads:
    """Return the joint loads of a stride.

    Parameters
    ----------
    trial : GaitTrial
        Motion and ground force.
    leg : LegSegments
        Masses and lengths.
    gravity : float
        Acceleration of free fall [m/s²], >= 0.

    Returns
    -------
    LegLoads
        Loads at the instants of the trial.

    Raises
    ------
    InputError
        If gravity is out of its range.
    """
    lift = np.array([0.0, check_number("gravity", gravity, at_least=0.0, unit="m/s²"), 0.0])
    thigh, shank, foot = _bodies(trial, leg)
    ankle = _proximal_load(foot, lift, trial.centre_of_pressure, trial.force, trial.torque)
    knee = _proximal_load(shank, lift, ankle.centre, -ankle.force, -ankle.moment)
    hip = _proximal_load(thigh, lift, knee.centre, -knee.force, -knee.moment)
    heel = foot.proximal + _swing(leg.heel, *foot.motion)[0]
    return LegLoads(trial.time, hip, knee, ankle, _rotation(shank.motion[0]), foot.distal, heel)


@dataclass(frozen=True, eq=False)
class _Body:
    """A segment in motion, in the lab frame: joints, centre of mass and its acceleration."""

    segment: Segment
    motion: tuple[FloatArray, FloatArray, FloatArray]
    proximal: FloatArray
    distal: FloatArray
    centre: FloatArray
    acceleration: FloatArray


def _bodies(trial: GaitTrial, leg: LegSegments) -> list[_Body]:
    """Return thigh, shank and foot, from the pelvis down."""
    angles, rates, turns = (
        (each[:, 3:] @ _SEGMENT_ANGLES.T).T
        for each in (trial.coordinates, trial.rates, trial.accelerations)
    )
    pelvis, *motions = zip(angles, rates, turns, strict=True)
    to_hip, relative = _swing(leg.hip, *pelvis)
    joint, acceleration = trial.coordinates[:, :3] + to_hip, trial.accelerations[:, :3] + relative
    bodies = []
    for segment, motion in zip((leg.thigh, leg.shank, leg.foot), motions, strict=True):
        to_centre, centre_relative = _swing(segment.centre_of_mass, *motion)
        to_end, end_relative = _swing(segment.end, *motion)
        end, centre = joint + to_end, joint + to_centre
        bodies.append(_Body(segment, motion, joint, end, centre, acceleration + centre_relative))
        joint, acceleration = end, acceleration + end_relative
    return bodies


def _proximal_load(
    body: _Body, lift: FloatArray, point: FloatArray, force: FloatArray, moment: FloatArray
) -> JointLoad:
    """Return the load at the proximal joint for a force and a moment at a point."""
    needed = body.segment.mass * (body.acceleration + lift) - force
    turning = np.zeros_like(needed)
    turning[:, 2] = body.segment.inertia * body.motion[2]
    turning -= moment + np.cross(point - body.centre, force)
    turning -= np.cross(body.proximal - body.centre, needed)
    return JointLoad(body.proximal, needed, turning)


def _swing(
    vector: FloatArray, angle: FloatArray, rate: FloatArray, turn: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return a vector fixed to a rotating segment and its second time derivative, (N, 3), lab."""
    turned = np.zeros((len(angle), 3))
    turned[:, : len(vector)] = vector
    turned = np.einsum("nij,nj->ni", _rotation(angle), turned)
    across = np.column_stack([-turned[:, 1], turned[:, 0], np.zeros(len(angle))])
    inward = turned * (1.0, 1.0, 0.0)
    return turned, turn[:, None] * across - (rate**2)[:, None] * inward


def _rotation(angle: FloatArray) -> FloatArray:
    """Return the rotation matrices about z, (N, 3, 3)."""
    rotation = np.zeros((len(angle), 3, 3))
    rotation[:, 0, 0] = rotation[:, 1, 1] = np.cos(angle)
    rotation[:, 1, 0] = np.sin(angle)
    rotation[:, 0, 1] = -rotation[:, 1, 0]
    rotation[:, 2, 2] = 1.0
    return rotation
