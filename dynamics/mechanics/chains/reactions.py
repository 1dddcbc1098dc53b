"""Forces and moments that joints transmit, and momentum, by Newton's and Euler's laws.

All segments beyond a joint together need the joint's force F and its moment about the origin N,

    F = Σ m (a - g) - Σ f,      N = Σ (J φ'' + c × m (a - g)) - Σ (r × f + t),

with the forces f at points r and the torques t of links and closures on them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dynamics.mechanics.chains.equations import Equations, Geometry
from dynamics.mechanics.chains.forest import Points
from dynamics.mechanics.chains.links import Connection
from dynamics.mechanics.planar_chain import ComplexArray, as_complex
from foundation.base.checks import FloatArray


class EndPoints(NamedTuple):
    """First and second points of members, P each, and the indices of their segments (P,)."""

    segments: tuple[np.ndarray, np.ndarray]
    points: tuple[Points, Points]

    @classmethod
    def of(cls, equations: Equations, members: tuple[Connection, ...]) -> EndPoints:
        """Return the end points of members."""
        forest = equations.forest
        segments, points = [], []
        for end in (0, 1):
            index = [forest.index(member.ends[end][1]) for member in members]
            at = np.array([complex(as_complex(member.ends[end][2])) for member in members])
            segments.append(np.array(index, dtype=np.int64))
            points.append(forest.points(index, at))
        return cls((segments[0], segments[1]), (points[0], points[1]))


def external_loads(
    equations: Equations,
    ends: EndPoints,
    coordinates: FloatArray,
    forces: ComplexArray,
    torques: FloatArray,
) -> tuple[ComplexArray, FloatArray]:
    """Return what members exert on the segments: force and moment about the origin.

    Parameters
    ----------
    equations : Equations
        Equations of N segments in n coordinates.
    ends : EndPoints
        End points of P members.
    coordinates : (n,) float64
        Coordinates [rad or m].
    forces : (P,) complex128
        Forces on the second points [N].
    torques : (P,) float64
        Torques on the second segments [N m].

    Returns
    -------
    force : (N,) complex128
        [N].
    moment : (N,) float64
        [N m].
    """
    count = equations.forest.count
    force, moment = np.zeros(count + 1, dtype=np.complex128), np.zeros(count + 1)
    still = np.zeros_like(coordinates)
    for sign, segments, points in zip((-1.0, 1.0), *ends, strict=True):
        at = equations.forest.motion(points, coordinates, still).position
        np.add.at(force, segments, sign * forces)
        np.add.at(moment, segments, sign * (torques + cross(at, forces)))
    return force[:-1], moment[:-1]


def joint_reactions(
    equations: Equations,
    at: Geometry,
    joints: ComplexArray,
    accelerations: FloatArray,
    loads: tuple[ComplexArray, FloatArray],
) -> tuple[ComplexArray, FloatArray]:
    """Return the force (N,) [N] and the moment (N,) [N m] on each segment at its proximal joint.

    Parameters
    ----------
    equations : Equations
        Equations of N segments in n coordinates.
    at : Geometry
        The geometry.
    joints : (N,) complex128
        Positions of the proximal joints [m].
    accelerations : (n,) float64
        q'' [rad/s² or m/s²].
    loads : tuple
        As of `external_loads`.
    """
    forest = equations.forest
    below = forest.below
    acceleration = at.centres.jacobian @ accelerations + at.centres.bias
    inertial = equations.mass * (acceleration - equations.gravity)
    turning = forest.turning[:-1] @ accelerations[: forest.count]
    moment = equations.inertia * turning + cross(at.centres.position, inertial)
    force = below @ (inertial - loads[0])
    return force, below @ (moment - loads[1]) - cross(joints, force)


def momentum(equations: Equations, at: Geometry) -> tuple[complex, float]:
    """Return linear momentum [kg m/s] and angular momentum about the origin [kg m²/s]."""
    linear = equations.mass * at.centres.velocity
    turning = equations.inertia @ at.spin[:-1] + cross(at.centres.position, linear).sum()
    return complex(linear.sum()), float(turning)


def cross(place: ComplexArray, vector: ComplexArray) -> FloatArray:
    """Return place × vector, about z, (P,) of points (P,) [m] and forces (P,) [N] or the like."""
    return (place.conj() * vector).imag
