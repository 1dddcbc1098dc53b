"""Equations of motion of planar chains joined by visco-elastic links and closures.

In the coordinates q of `forest`, M q'' + b = Q + Tᵀ τ + Gᵀ λ by virtual work (docs/mechanics.md
derives the terms), with the torques τ that drive the joints and the forces λ of the closures.
R = ∂z/∂q is the matrix of the centres of mass, D = ∂d/∂q that of the vectors d from the first to
the second points of the links, and G that of the gaps of the closures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dynamics.mechanics.chains.chain import Chain, Joint
from dynamics.mechanics.chains.forest import Forest, PointMotion, Points
from dynamics.mechanics.chains.links import LinkLaws, PinClosure, ViscoelasticLink
from dynamics.mechanics.planar_chain import (
    ComplexArray,
    PassiveJoints,
    as_complex,
    generalised_force,
)
from foundation.base.checks import FloatArray


class Geometry(NamedTuple):
    """Geometry at one instant, of N segments and L links.

    Parameters
    ----------
    angles, spin : (N + 1,) float64
        Absolute angles [rad] and their rates [rad/s]; the ground is last.
    centres, links, closures : PointMotion
        Centres of mass, vectors of the links, gaps of the closures.
    """

    angles: FloatArray
    spin: FloatArray
    centres: PointMotion
    links: PointMotion
    closures: PointMotion


class Equations(NamedTuple):
    """Equations of chains of N segments with L links and C closures, in n coordinates.

    Parameters
    ----------
    forest : Forest
        Topology and coordinates.
    mass, inertia : (N,) float64
        Masses [kg] and moments of inertia about the centres of mass [kg m²].
    points : Points
        Centres of mass, vectors of the links, then gaps of the closures.
    joints : PassiveJoints
        The N joints, as functions of the first N coordinates.
    laws : LinkLaws
        Laws of the links.
    turns : (L, N + 1) float64
        Second segment minus first of every link [1].
    gravity : complex
        Acceleration [m/s²].
    """

    forest: Forest
    mass: FloatArray
    inertia: FloatArray
    points: Points
    joints: PassiveJoints
    laws: LinkLaws
    turns: FloatArray
    gravity: complex

    @classmethod
    def of(
        cls,
        chains: tuple[Chain, ...],
        links: Sequence[ViscoelasticLink],
        closures: Sequence[PinClosure],
        gravity: FloatArray,
    ) -> Equations:
        """Return the equations of chains, links and closures under gravity (2,) [m/s²]."""
        forest = Forest.of(chains)
        segments = [each for chain in chains for each in chain.segments]
        places = np.array([complex(as_complex(each.centre)) for each in segments])
        centres = forest.points(range(forest.count), places)
        vectors = forest.differences(
            [*(each.ends for each in links), *(each.ends for each in closures)]
        )
        turns = np.zeros((len(links), forest.count + 1))
        for row, link in enumerate(links):
            turns[row, forest.index(link.first)] -= 1.0
            turns[row, forest.index(link.second)] += 1.0
        return cls(
            forest=forest,
            mass=np.array([each.mass for each in segments]),
            inertia=np.array([each.inertia for each in segments]),
            points=Points.joined(centres, vectors),
            joints=_joints(forest),
            laws=LinkLaws.of(links),
            turns=turns,
            gravity=complex(as_complex(gravity)),
        )

    def geometry(self, coordinates: FloatArray, rates: FloatArray) -> Geometry:
        """Return the geometry at coordinates (n,) [rad or m] and their rates."""
        forest, count = self.forest, self.forest.count
        motion = forest.motion(self.points, coordinates, rates)
        gaps = count + len(self.turns)
        return Geometry(
            forest.angles(coordinates),
            forest.turning @ rates[:count],
            motion.part(0, count),
            motion.part(count, gaps),
            motion.part(gaps, len(motion.position)),
        )

    def terms(
        self, at: Geometry, coordinates: FloatArray, rates: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return M (n, n) [kg, kg m, kg m²], b and Q (n,) [N, N m] in a state (n,) [rad or m]."""
        count, turning = self.forest.count, self.forest.turning
        jacobian = at.centres.jacobian
        mass = generalised_force(jacobian, self.mass[:, None] * jacobian)
        mass[:count, :count] += turning[:-1].T @ (self.inertia[:, None] * turning[:-1])
        force = generalised_force(jacobian, self.mass * self.gravity)
        force += generalised_force(at.links.jacobian, self.link_forces(at))
        force[:count] += self.joints.torque(coordinates[:count], rates[:count])
        force[:count] += turning.T @ (self.turns.T @ self.link_torques(at))
        bias = generalised_force(jacobian, self.mass * at.centres.bias)
        return mass, bias, force

    @property
    def closures(self) -> int:
        """Number of closures, C."""
        return len(self.points.bases) - self.forest.count - len(self.turns)

    def link_forces(self, at: Geometry) -> ComplexArray:
        """Return the force of each link on its second point, (L,) [N]."""
        return self.laws.forces(at.links.position, at.links.velocity)

    def link_torques(self, at: Geometry) -> FloatArray:
        """Return the torque of each link on its second segment, (L,) [N m]."""
        return self.laws.torques(self.turns @ at.angles, self.turns @ at.spin)

    def constraints(self, at: Geometry) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return c, c', G and G' q' of the gaps c (C,) of the closures [m, m/s, m or 1, m/s²].

        All have 2 C rows, first those of x, then those of y; G has n columns.
        """
        gap, speed, jacobian, bias = at.closures
        return (
            np.concatenate([gap.real, gap.imag]),
            np.concatenate([speed.real, speed.imag]),
            np.concatenate([jacobian.real, jacobian.imag]),
            np.concatenate([bias.real, bias.imag]),
        )

    def energies(self, at: Geometry, coordinates: FloatArray) -> tuple[float, float]:
        """Return kinetic and potential energy [J] (gravity: zero at the origin) at (n,) [rad]."""
        spin = at.spin[:-1]
        kinetic = 0.5 * (self.mass @ np.abs(at.centres.velocity) ** 2 + self.inertia @ spin**2)
        height = -(self.gravity.conjugate() * at.centres.position).real
        potential = self.mass @ height + self.joints.energy(coordinates[: self.forest.count])
        potential += self.laws.energy(at.links.position, self.turns @ at.angles)
        return float(kinetic), float(potential)


def _joints(forest: Forest) -> PassiveJoints:
    """Return the passive joints over the coordinates of the segments."""
    joints = [each for chain in forest.chains for each in chain.all_joints]
    differences = np.eye(forest.count)
    neutral = np.array([each.neutral for each in joints])
    for k, joint in enumerate(joints):
        if isinstance(joint, Joint):
            proximal = forest.parent[k]
            differences[k] = forest.turning[k] - forest.turning[proximal]
            # A constant in the difference of the absolute angles acts as a change of θ₀.
            neutral[k] -= forest.offsets[k] - forest.offsets[proximal]
    stiffness = np.array([each.stiffness for each in joints])
    damping = np.array([each.damping for each in joints])
    return PassiveJoints(differences, stiffness, damping, neutral)
