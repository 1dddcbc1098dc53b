"""State and forces of chains at one instant, and over a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foundation.base.checks import FloatArray


@dataclass(frozen=True, eq=False)
class Instant:
    """State and forces at one time, of N segments, K chains, L links, C closures, M sliding joints.

    Forces and positions are in the global frame.

    Parameters
    ----------
    angles, rates, accelerations : (N,) float64
        Absolute, of the segments [rad, rad/s, rad/s²].
    torques : (N,) float64
        Driving torque (of a sliding joint force) at the joint proximal of each segment, positive on
        that segment [N m or N]: prescribed chains need it, free chains have it from their drive;
        without the passive torques.
    link_forces, closure_forces : (L, 2) and (C, 2) float64
        Force on the second point [N]; the opposite acts on the first.
    link_torques : (L,) float64
        Torque on the second segment of each link [N m].
    kinetic, potential : float
        Kinetic energy, and potential energy of gravity, joints and links [J].
    joint_forces, joint_moments : (N, 2) and (N,) float64
        Force and moment on each segment at its proximal joint [N, N m]; the moment is passive
        torque and drive of a pin, that of the guide of a sliding joint.
    momentum, angular_momentum : (2,) float64 and float
        Linear [kg m/s], and angular about the origin [kg m²/s].
    joints : (N, 2) float64
        Proximal joints of the segments [m].
    slides, slide_rates, slide_accelerations : (M,) float64
        Displacements of the sliding joints [m, m/s, m/s²].
    bases, base_rates, base_accelerations : (K, 2) float64
        Bases of the chains [m, m/s, m/s²].
    base_forces : (K, 2) float64
        Force on the first segment of each chain at its base [N]; zero of a free base.
    """

    angles: FloatArray
    rates: FloatArray
    accelerations: FloatArray
    torques: FloatArray
    link_forces: FloatArray
    kinetic: Any
    potential: Any
    link_torques: FloatArray
    closure_forces: FloatArray
    joint_forces: FloatArray
    joint_moments: FloatArray
    momentum: FloatArray
    angular_momentum: Any
    joints: FloatArray
    slides: FloatArray
    slide_rates: FloatArray
    slide_accelerations: FloatArray
    bases: FloatArray
    base_rates: FloatArray
    base_accelerations: FloatArray
    base_forces: FloatArray


@dataclass(frozen=True, eq=False)
class ChainsResult(Instant):
    """Motion and forces of an assembly at T instants.

    Every field of `Instant` has the instants along a new first axis, such as `angles`, (T, N)
    [rad], and `kinetic`, (T,) [J].

    Parameters
    ----------
    columns : tuple of str
        Segments in the order of the arrays, chain.segment, N.
    time : (T,) float64
        Instants [s].
    drift : (T,) float64
        Largest gap of a closure in the integration, before it was closed [m].
    link_names, slide_names, closure_names, chain_names : tuple of str
        Links L, segments on sliding joints M, closures C and chains K, in the order of the arrays.
    """

    columns: tuple[str, ...]
    time: FloatArray
    drift: FloatArray
    link_names: tuple[str, ...]
    slide_names: tuple[str, ...]
    closure_names: tuple[str, ...]
    chain_names: tuple[str, ...]

    @property
    def energy(self) -> FloatArray:
        """Kinetic and potential energy together, (T,) [J]."""
        return self.kinetic + self.potential
