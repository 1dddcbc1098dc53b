"""Equations of motion of planar chains joined by visco-elastic links.

The angles φ of all segments are the coordinates; M φ'' + b = Q + Tᵀ τ by virtual work, with the
torques τ that drive the joints (docs/mechanics.md derives M, b and Q). R = ∂z/∂φ is the matrix of
the centres of mass, D = ∂d/∂φ that of the vectors d from the first to the second points of the
links.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag

from dynamics.mechanics.chains.chain import Chain, Joint
from dynamics.mechanics.chains.links import LinkLaws, ViscoelasticLink
from dynamics.mechanics.planar_chain import (
    ComplexArray,
    PassiveJoints,
    as_complex,
    generalised_force,
    mass_matrix,
)
from foundation.checks import FloatArray


class Geometry(NamedTuple):
    """Geometry at one instant, of N centres of mass and L links, as complex numbers [m, m/s, m/s²].

    R (N, N), position, velocity and acceleration at φ'' = 0 (N,) of the centres of mass; D (L, N),
    d and its rate (L,) of the links.
    """

    jacobian: ComplexArray  # (N, N), R
    centre: ComplexArray  # (N,)
    velocity: ComplexArray  # (N,)
    bias: ComplexArray  # (N,), acceleration of the centres of mass at φ'' = 0
    link_jacobian: ComplexArray  # (L, N), D
    link_vector: ComplexArray  # (L,), d
    link_velocity: ComplexArray  # (L,)


class Equations(NamedTuple):
    """Equations of C chains, N segments and L links, and their constants [kg, kg m², m].

    `centres` (N, N) and `link_coefficients` (L, N) are those of exp(i φ) in the centres of mass and
    in the vectors of the links, `link_bases` (L, C) those of the bases; `chain_of` (N,) is the
    index of the chain of each segment.
    """

    chains: tuple[Chain, ...]
    mass: FloatArray  # (N,)
    inertia: FloatArray  # (N,)
    centres: ComplexArray  # (N, N), a, coefficients of exp(i φ) in the centres of mass
    chain_of: np.ndarray  # (N,), index of the chain of each segment
    joints: PassiveJoints  # N
    laws: LinkLaws
    link_coefficients: ComplexArray  # (L, N), of exp(i φ) in the vectors of the links
    link_bases: FloatArray  # (L, C), of the bases in them
    gravity: complex

    @classmethod
    def of(
        cls, chains: tuple[Chain, ...], links: Sequence[ViscoelasticLink], gravity: FloatArray
    ) -> Equations:
        """Return the equations of chains and links under gravity (2,) [m/s²]."""
        segments = [each for chain in chains for each in chain.segments]
        joints = [
            each for chain in chains for each in chain.joints or (Joint(),) * len(chain.segments)
        ]
        counts = [len(chain.segments) for chain in chains]
        centres = [[c.reach(each.name, each.centre) for each in c.segments] for c in chains]
        coefficients, bases = _link_vectors(chains, links)
        return cls(
            chains=chains,
            mass=np.array([each.mass for each in segments]),
            inertia=np.array([each.inertia for each in segments]),
            centres=block_diag(*(np.array(each) for each in centres)),
            chain_of=np.repeat(np.arange(len(chains)), counts),
            joints=PassiveJoints.of(
                counts,
                np.array([each.stiffness for each in joints]),
                np.array([each.damping for each in joints]),
                np.array([each.neutral for each in joints]),
            ),
            laws=LinkLaws.of(links),
            link_coefficients=coefficients,
            link_bases=bases,
            gravity=complex(as_complex(gravity)),
        )

    def geometry(self, time: float, angles: FloatArray, rates: FloatArray) -> Geometry:
        """Return the geometry at angles and rates (N,) [rad, rad/s]."""
        base, base_velocity, base_acceleration = np.array(
            [chain.base_at(time) for chain in self.chains]
        ).T
        unit = np.exp(1j * angles)
        jacobian = 1j * self.centres * unit
        link_jacobian = 1j * self.link_coefficients * unit
        return Geometry(
            jacobian,
            base[self.chain_of] + self.centres @ unit,
            base_velocity[self.chain_of] + jacobian @ rates,
            base_acceleration[self.chain_of] - self.centres @ (unit * rates**2),
            link_jacobian,
            self.link_bases @ base + self.link_coefficients @ unit,
            self.link_bases @ base_velocity + link_jacobian @ rates,
        )

    def terms(
        self, at: Geometry, angles: FloatArray, rates: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return M (N, N) [kg m²], b and Q (N,) [N m]."""
        force = self.joints.torque(angles, rates)
        force += generalised_force(at.jacobian, self.mass * self.gravity)
        force += generalised_force(at.link_jacobian, self.link_forces(at))
        bias = generalised_force(at.jacobian, self.mass * at.bias)
        return mass_matrix(at.jacobian, self.mass, self.inertia), bias, force

    def link_forces(self, at: Geometry) -> ComplexArray:
        """Return the force of each link on its second point, (L,) [N]."""
        return self.laws.forces(at.link_vector, at.link_velocity)

    def energies(self, at: Geometry, angles: FloatArray, rates: FloatArray) -> tuple[float, float]:
        """Return kinetic and potential energy [J] (gravity: zero at the origin) at (N,) angles."""
        kinetic = 0.5 * (self.mass @ np.abs(at.velocity) ** 2 + self.inertia @ rates**2)
        height = -(self.gravity.conjugate() * at.centre).real
        potential = self.mass @ height + self.joints.energy(angles)
        potential += self.laws.energy(at.link_vector)
        return float(kinetic), float(potential)


def _link_vectors(
    chains: Sequence[Chain], links: Sequence[ViscoelasticLink]
) -> tuple[ComplexArray, FloatArray]:
    """Return the coefficients of exp(i φ) and of the bases in the vectors of the links."""
    names = [chain.name for chain in chains]
    starts = np.cumsum([0, *(len(chain.segments) for chain in chains)])
    coefficients = np.zeros((len(links), starts[-1]), dtype=np.complex128)
    bases = np.zeros((len(links), len(chains)))
    for row, link in enumerate(links):
        for sign, (name, segment), point in link.ends:
            index = names.index(name)
            reach = chains[index].reach(segment, point)
            coefficients[row, starts[index] : starts[index + 1]] += sign * reach
            bases[row, index] += sign
    return coefficients, bases
