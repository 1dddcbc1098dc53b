"""Planar chains of rigid segments, free or prescribed, and the links between them.

Free chains are solved for the accelerations, prescribed ones for the torques that drive them.
Chains act on each other through the links alone, by their positions and velocities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.constants
from numpy.typing import ArrayLike

from dynamics.mechanics.chains.chain import Chain
from dynamics.mechanics.chains.equations import Equations, Geometry
from dynamics.mechanics.chains.links import ViscoelasticLink
from dynamics.mechanics.planar_chain import as_vectors
from foundation.checks import FloatArray, check_array, check_fields, check_in, check_number
from foundation.errors import InputError


class Instant(NamedTuple):
    """State and forces at one time, of N segments and L links in the order of the assembly.

    Absolute angles (N,) [rad], rates [rad/s] and accelerations [rad/s²]; driving torques (N,) [N m]
    at each joint, on the distal segment; link forces (L, 2) [N] on the second point in the global
    frame; kinetic energy, and potential energy [J] of gravity, joints and links.
    """

    angles: FloatArray  # (N,) [rad], absolute
    rates: FloatArray  # (N,) [rad/s]
    accelerations: FloatArray  # (N,) [rad/s²]
    torques: FloatArray  # (N,) [N m], driving at each joint, on the distal segment
    link_forces: FloatArray  # (L, 2) [N], on the second point in the global frame
    kinetic: float  # [J]
    potential: float  # [J], of gravity, joints and links


@dataclass(frozen=True, eq=False)
class Assembly:
    """Chains and the links between them.

    Arrays over all N segments hold the chains one after another; those over the F free segments
    leave out chains with prescribed angles.

    Parameters
    ----------
    chains : tuple of Chain
        At least one chain; names are unique.
    links : tuple of ViscoelasticLink
        Links with unique names between segments of the chains; by default none.
    gravity : (2,) float64
        Acceleration [m/s²]; by default the standard one, along -y.

    Raises
    ------
    InputError
        If names are not unique, or a link refers to an unknown chain or segment.
    """

    chains: tuple[Chain, ...]
    links: tuple[ViscoelasticLink, ...] = ()
    gravity: ArrayLike = (0.0, -scipy.constants.g)

    def __post_init__(self) -> None:
        if not self.chains:
            raise InputError("chains: expected at least one chain, found none")
        groups: dict[str, Sequence[Chain | ViscoelasticLink]] = {
            "chains": self.chains,
            "links": self.links,
        }
        for kind, members in groups.items():
            names = [each.name for each in members]
            if len(set(names)) != len(names):
                raise InputError(f"{kind}: expected unique names, found {', '.join(names)}")
        check_fields(self, gravity=(2,))
        segments = {chain.name: chain.segment_names for chain in self.chains}
        for link in self.links:
            for _, (chain, segment), _ in link.ends:
                check_in(f"link {link.name}: chain", chain, segments)
                check_in(f"link {link.name}: segment of {chain}", segment, segments[chain])

    @property
    def columns(self) -> tuple[str, ...]:
        """Names `chain.segment` of all segments."""
        return tuple(f"{each.name}.{name}" for each in self.chains for name in each.segment_names)

    @cached_property
    def free(self) -> np.ndarray:
        """Whether each segment is free, (N,) bool [1]."""
        return np.array([chain.angles is None for chain in self.chains for _ in chain.segments])

    @cached_property
    def _equations(self) -> Equations:
        return Equations.of(self.chains, self.links, np.asarray(self.gravity))

    def complete(
        self, time: float, angles: ArrayLike, rates: ArrayLike
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the state of all segments from that of the free ones.

        Parameters
        ----------
        time : float
            Instant [s], inside the tables of prescribed motions.
        angles, rates : (F,) float64
            State of the free segments [rad, rad/s].

        Returns
        -------
        angles, rates, accelerations : (N,) float64
            State of all segments [rad, rad/s, rad/s²]; accelerations of free segments are zero.

        Raises
        ------
        InputError
            If a shape is wrong, a number not finite, or a prescribed motion does not cover the
            time.
        """
        check_number("time", time, unit="s")
        free = self.free
        count = int(free.sum())
        state = np.zeros((3, len(free)))
        state[0, free] = check_array("angles", angles, (count,))
        state[1, free] = check_array("rates", rates, (count,))
        for chain, part in self._parts:
            if chain.angles is not None:
                state[:, part] = chain.angles.at(time)
        return state[0], state[1], state[2]

    def terms(
        self, time: float, angles: ArrayLike, rates: ArrayLike
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return M, b and Q of the equations of motion.

        Parameters
        ----------
        time, angles, rates
            As of `complete`.

        Returns
        -------
        mass : (N, N) float64
            M, symmetric and positive definite [kg m²].
        bias : (N,) float64
            b, from velocities and the acceleration of the bases [N m].
        force : (N,) float64
            Q, from gravity, passive joints and links; drives not included [N m].

        Raises
        ------
        InputError
            As of `complete`.
        SimulationError
            If the points of a link of kind "line" coincide.
        """
        all_angles, all_rates, _ = self.complete(time, angles, rates)
        at = self._equations.geometry(time, all_angles, all_rates)
        return self._equations.terms(at, all_angles, all_rates)

    def accelerations(self, time: float, angles: ArrayLike, rates: ArrayLike) -> FloatArray:
        """Return the angular accelerations of the free segments, (F,) [rad/s²].

        Arguments and errors as of `terms`.
        """
        return self._solve(time, angles, rates)[0][2, self.free]

    def evaluate(self, time: float, angles: ArrayLike, rates: ArrayLike) -> Instant:
        """Return state [rad, s], torques (N,) [N m], link forces (L, 2) [N] and energies [J].

        Arguments and errors as of `terms`.
        """
        state, driving, at, mass, force = self._solve(time, angles, rates)
        required = mass @ state[2] - force
        inverse = np.linalg.solve(self._equations.joints.differences.T, required)
        positions, speeds, accelerations = state
        kinetic, potential = self._equations.energies(at, positions, speeds)
        torques = np.where(self.free, driving, inverse)
        links = as_vectors(self._equations.link_forces(at))
        return Instant(positions, speeds, accelerations, torques, links, kinetic, potential)

    def _solve(
        self, time: float, angles: ArrayLike, rates: ArrayLike
    ) -> tuple[FloatArray, FloatArray, Geometry, FloatArray, FloatArray]:
        """Return angles, rates and accelerations (3, N), drives, geometry, M and Q - b."""
        state = np.array(self.complete(time, angles, rates))
        equations, free = self._equations, self.free
        at = equations.geometry(time, state[0], state[1])
        mass, bias, force = equations.terms(at, state[0], state[1])
        torques = self._drives(time, state[0], state[1])
        driven = force - bias + equations.joints.differences.T @ torques
        state[2, free] = np.linalg.solve(mass[np.ix_(free, free)], driven[free])
        return state, torques, at, mass, force - bias

    def _drives(self, time: float, angles: FloatArray, rates: FloatArray) -> FloatArray:
        """Return the torques of the drives of free chains, (N,) [N m]."""
        torques = np.zeros(len(angles))
        for chain, part in self._parts:
            if chain.drive is not None:
                torque = chain.drive(time, angles[part], rates[part])
                torques[part] = check_array(
                    f"chain {chain.name}: drive", torque, (len(chain.segments),)
                )
        return torques

    @cached_property
    def _parts(self) -> list[tuple[Chain, slice]]:
        """Return each chain and the slice of its segments in the arrays."""
        ends = np.cumsum([len(chain.segments) for chain in self.chains])
        return [
            (chain, slice(int(end) - len(chain.segments), int(end)))
            for chain, end in zip(self.chains, ends, strict=True)
        ]
