"""State and forces of chains at one instant, and over a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from foundation.base.checks import FloatArray


class Instant(NamedTuple):
    """State and forces at one time, of N segments, K chains, L links, C closures, M sliding joints.

    Absolute angles (N,) [rad], rates [rad/s] and accelerations [rad/s²]; driving torques (N,) [N m]
    at each joint, on the distal segment; link forces (L, 2) [N] on the second point in the global
    frame; kinetic energy, and potential energy [J] of gravity, joints and links. The other fields
    are those of `ChainsResult` at one time.
    """

    angles: FloatArray  # (N,) [rad], absolute
    rates: FloatArray  # (N,) [rad/s]
    accelerations: FloatArray  # (N,) [rad/s²]
    torques: FloatArray  # (N,) [N m], driving at each joint, on the distal segment
    link_forces: FloatArray  # (L, 2) [N], on the second point in the global frame
    kinetic: float  # [J]
    potential: float  # [J], of gravity, joints and links
    link_torques: FloatArray  # (L,) [N m], on the second segment
    closure_forces: FloatArray  # (C, 2) [N], on the second point
    joint_forces: FloatArray  # (N, 2) [N], on each segment at its proximal joint
    joint_moments: FloatArray  # (N,) [N m], likewise
    momentum: FloatArray  # (2,) [kg m/s]
    angular_momentum: float  # [kg m²/s], about the origin
    joints: FloatArray  # (N, 2) [m], proximal joints
    slides: FloatArray  # (M,) [m]
    slide_rates: FloatArray  # (M,) [m/s]
    slide_accelerations: FloatArray  # (M,) [m/s²]
    bases: FloatArray  # (K, 2) [m]
    base_rates: FloatArray  # (K, 2) [m/s]
    base_accelerations: FloatArray  # (K, 2) [m/s²]
    base_forces: FloatArray  # (K, 2) [N]


@dataclass(frozen=True, eq=False)
class ChainsResult:
    """Motion and forces of an assembly at T instants.

    Of N segments, M of them on sliding joints, K chains, L links and C closures. Forces and
    positions are in the global frame.

    Parameters
    ----------
    columns : tuple of str
        Segments in the order of the arrays, chain.segment, N.
    link_names : tuple of str
        Links in the order of the arrays, L.
    time : (T,) float64
        Instants [s].
    angles, rates, accelerations : (T, N) float64
        Absolute, of the segments [rad, rad/s, rad/s²].
    torques : (T, N) float64
        Driving torques at the joint proximal of each segment, positive on that segment [N m]: of
        inverse dynamics for prescribed chains, of the drive for free chains; without the passive
        torques of the joints. Of a sliding joint the driving force along its axis [N].
    link_forces : (T, L, 2) float64
        Force on the second point of each link [N]; the opposite acts on the first.
    kinetic, potential : (T,) float64
        Energies [J].
    link_torques : (T, L) float64
        Torque on the second segment of each link by its rotational stiffness and damping [N m].
    closure_forces : (T, C, 2) float64
        Force on the second point of each closure [N]; the opposite acts on the first.
    joint_forces : (T, N, 2) float64
        Force on each segment at its proximal joint [N].
    joint_moments : (T, N) float64
        Moment on each segment at its proximal joint [N m]: of a pin joint passive torque and drive
        together, of a sliding joint the moment of its guide.
    momentum : (T, 2) float64
        Linear momentum [kg m/s].
    angular_momentum : (T,) float64
        Angular momentum about the origin [kg m²/s].
    joints : (T, N, 2) float64
        Proximal joints of the segments [m].
    slides, slide_rates, slide_accelerations : (T, M) float64
        Displacements of the sliding joints [m, m/s, m/s²].
    bases, base_rates, base_accelerations : (T, K, 2) float64
        Bases of the chains, their velocities and accelerations [m, m/s, m/s²].
    base_forces : (T, K, 2) float64
        Force on the first segment of each chain at its base, by the ground or by the segment that
        carries the base [N]; zero of a free base.
    drift : (T,) float64
        Largest gap of a closure in the integration, before it was closed [m].
    slide_names, closure_names, chain_names : tuple of str
        Segments on sliding joints M, closures C and chains K, in the order of the arrays.
    """

    columns: tuple[str, ...]
    link_names: tuple[str, ...]
    time: FloatArray
    angles: FloatArray
    rates: FloatArray
    accelerations: FloatArray
    torques: FloatArray
    link_forces: FloatArray
    kinetic: FloatArray
    potential: FloatArray
    link_torques: FloatArray
    closure_forces: FloatArray
    joint_forces: FloatArray
    joint_moments: FloatArray
    momentum: FloatArray
    angular_momentum: FloatArray
    joints: FloatArray
    slides: FloatArray
    slide_rates: FloatArray
    slide_accelerations: FloatArray
    bases: FloatArray
    base_rates: FloatArray
    base_accelerations: FloatArray
    base_forces: FloatArray
    drift: FloatArray
    slide_names: tuple[str, ...]
    closure_names: tuple[str, ...]
    chain_names: tuple[str, ...]

    @property
    def energy(self) -> FloatArray:
        """Kinetic and potential energy together, (T,) [J]."""
        return self.kinetic + self.potential
