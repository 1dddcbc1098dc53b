"""Equations of motion of planar chains joined by visco-elastic links.

Each segment has three coordinates, the position z of its centre of mass (complex, see
`dynamics.mechanics.chains.chain`) and its angle φ. The pins make z depend on the angles, z = f(t,
φ), so that the angles alone are kept:

    dz/dt = R φ' + dz_base/dt,       R = ∂f/∂φ,   R_kj = i a_kj exp(i φ_j),
    d²z/dt² = R φ'' + R' φ' + d²z_base/dt²,       (R' φ')_k = -Σ_j a_kj exp(i φ_j) φ'_j².

By virtual work of the inertial and applied forces on displacements that the pins admit,

    M φ'' + b = Q + Tᵀ τ,
    M = Re(Rᴴ m R) + J,   b = Re(Rᴴ m (R' φ' + d²z_base/dt²)),
    Q = Re(Rᴴ m g) + Tᵀ τ_passive + Re(Dᴴ F).

m and J are the masses and inertias, τ the torques that drive the joints and θ = T φ the angles of
the joints, each of a segment from the one before. F are the forces of the links on their second
points, and D = ∂d/∂φ, d being the vectors from their first points to the second.

The terms R' φ' are quadratic in the velocities (centripetal accelerations). An equation of state
that lacks them, as that of Popović's model of a limb with an orthosis does, loses or gains energy
without a cause. The equations here are derived from virtual work, not taken from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag

from dynamics.mechanics.chains.chain import Chain, ComplexArray, Joint, as_complex
from dynamics.mechanics.chains.links import Link, LinkLaws
from foundation.checks import FloatArray


class Geometry(NamedTuple):
    """Positions, velocities and bias accelerations at one instant."""

    jacobian: ComplexArray  # (N, N), R
    centre: ComplexArray  # (N,)
    velocity: ComplexArray  # (N,)
    bias: ComplexArray  # (N,), acceleration of the centres of mass at φ'' = 0
    link_jacobian: ComplexArray  # (L, N), D
    link_vector: ComplexArray  # (L,), d
    link_velocity: ComplexArray  # (L,)


class Equations(NamedTuple):
    """What does not change in a motion of C chains, N segments and L links; and the equations."""

    chains: tuple[Chain, ...]
    mass: FloatArray  # (N,)
    inertia: FloatArray  # (N,)
    centres: ComplexArray  # (N, N), a, coefficients of exp(i φ) in the centres of mass
    chain_of: np.ndarray  # (N,), index of the chain of each segment
    differences: FloatArray  # (N, N), T
    stiffness: FloatArray  # (N,), of joints
    damping: FloatArray  # (N,)
    neutral: FloatArray  # (N,)
    laws: LinkLaws
    link_coefficients: ComplexArray  # (L, N), of exp(i φ) in the vectors of the links
    link_bases: FloatArray  # (L, C), of the bases in them
    gravity: complex

    @classmethod
    def of(cls, chains: tuple[Chain, ...], links: Sequence[Link], gravity: FloatArray) -> Equations:
        """Return the equations of chains and links, possibly none."""
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
            differences=block_diag(*(np.eye(count) - np.eye(count, k=-1) for count in counts)),
            stiffness=np.array([each.stiffness for each in joints]),
            damping=np.array([each.damping for each in joints]),
            neutral=np.array([each.neutral for each in joints]),
            laws=LinkLaws.of(links),
            link_coefficients=coefficients,
            link_bases=bases,
            gravity=as_complex(gravity),
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
        weighted = at.jacobian.conj().T * self.mass
        joint_angles, joint_rates = self.differences @ angles, self.differences @ rates
        passive = -self.stiffness * (joint_angles - self.neutral) - self.damping * joint_rates
        force = self.differences.T @ passive + (weighted.sum(axis=1) * self.gravity).real
        if len(at.link_vector):
            force += (at.link_jacobian.conj().T @ self.link_forces(at)).real
        mass = (weighted @ at.jacobian).real + np.diag(self.inertia)
        return mass, (weighted @ at.bias).real, force

    def link_forces(self, at: Geometry) -> ComplexArray:
        """Return the force of each link on its second point, (L,) [N]."""
        return self.laws.forces(at.link_vector, at.link_velocity)

    def energies(self, at: Geometry, angles: FloatArray, rates: FloatArray) -> tuple[float, float]:
        """Return the kinetic and the potential energy [J], gravity's being zero at the origin."""
        kinetic = 0.5 * (self.mass @ np.abs(at.velocity) ** 2 + self.inertia @ rates**2)
        height = -(self.gravity.conjugate() * at.centre).real
        joints = self.stiffness @ (self.differences @ angles - self.neutral) ** 2
        potential = self.mass @ height + 0.5 * joints + self.laws.energy(at.link_vector)
        return float(kinetic), float(potential)


def _link_vectors(
    chains: Sequence[Chain], links: Sequence[Link]
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
