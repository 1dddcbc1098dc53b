"""Planar chains of rigid segments, free or prescribed, and what joins them.

Free chains are solved for the accelerations, prescribed ones for the torques that drive them.
Chains act on each other through attachments, closures and links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.constants
from numpy.typing import ArrayLike

from dynamics.mechanics.chains.chain import Chain, FreeBase, check_members
from dynamics.mechanics.chains.equations import Equations
from dynamics.mechanics.chains.links import GROUND, Connection, PinClosure, ViscoelasticLink
from dynamics.mechanics.chains.reactions import (
    EndPoints,
    external_loads,
    joint_reactions,
    momentum,
)
from dynamics.mechanics.chains.result import Instant
from dynamics.mechanics.chains.solution import (
    check_closed,
    close_structure,
    largest_gaps,
    orientation,
    solve_motion,
)
from dynamics.mechanics.planar_chain import as_vectors
from foundation.base.checks import (
    FloatArray,
    check_array,
    check_fields,
    check_in,
    check_number,
    check_unique,
)
from foundation.base.errors import InputError


@dataclass(frozen=True, eq=False)
class Assembly:
    """Chains and what joins them.

    Arrays over all N segments hold the chains one after another. The F free coordinates leave out
    chains with prescribed angles: segment by segment the absolute angle, or the displacement of a
    segment on a sliding joint; then x and y of each free base (`coordinate_names`). Without sliding
    joints and free bases they are the angles of the free segments.

    Parameters
    ----------
    chains : tuple of Chain
        At least one chain; names are unique.
    links : tuple of ViscoelasticLink
        Links with unique names between segments of the chains or to the ground; by default none.
    gravity : (2,) float64
        Acceleration [m/s²]; by default the standard one, along -y.
    closures : tuple of PinClosure
        Pins with unique names that close structures; by default none.

    Raises
    ------
    InputError
        If names are not unique, a base, link or closure refers to an unknown chain or segment, or
        attachments form a ring.
    """

    chains: tuple[Chain, ...]
    links: tuple[ViscoelasticLink, ...] = ()
    gravity: ArrayLike = (0.0, -scipy.constants.g)
    closures: tuple[PinClosure, ...] = ()

    def __post_init__(self) -> None:
        check_members("chains", self.chains, Chain)
        check_members("links", self.links, ViscoelasticLink)
        check_members("closures", self.closures, PinClosure)
        if not self.chains:
            raise InputError("chains: expected at least one chain, found none")
        groups: dict[str, Sequence[str]] = {
            "chains": [each.name for each in self.chains],
            "links": [each.name for each in self.links],
            "closures": [each.name for each in self.closures],
            "chain.segment": self.columns,
        }
        for kind, names in groups.items():
            check_unique(kind, names)
        check_fields(self, gravity=(2,))
        for member in (*self.links, *self.closures):
            self._check_ends(member)
        _ = self._equations  # raises if attachments are wrong

    def _check_ends(self, member: Connection) -> None:
        """Raise an InputError unless the ends are segments of the chains or the ground."""
        segments = {chain.name: chain.segment_names for chain in self.chains}
        for _, where, _ in member.ends:
            if where != GROUND:
                check_in(f"{member.label}: chain", where[0], segments)
                check_in(f"{member.label}: segment of {where[0]}", where[1], segments[where[0]])

    @property
    def columns(self) -> tuple[str, ...]:
        """Names `chain.segment` of all segments."""
        return tuple(f"{each.name}.{name}" for each in self.chains for name in each.segment_names)

    @property
    def slide_names(self) -> tuple[str, ...]:
        """Names `chain.segment` of the M segments on sliding joints."""
        return tuple(self.columns[k] for k in self._equations.forest.slides)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the F free coordinates, such as "leg.thigh" and "pelvis base x"."""
        bases = [each.name for each in self.chains if isinstance(each.base, FreeBase)]
        return (
            *(name for name, free in zip(self.columns, self.free, strict=True) if free),
            *(f"{name} base {axis}" for name in bases for axis in "xy"),
        )

    @cached_property
    def free(self) -> np.ndarray:
        """Whether each segment belongs to a free chain, (N,) bool [1]."""
        return np.array([chain.angles is None for chain in self.chains for _ in chain.segments])

    @property
    def reacts_on_free(self) -> bool:
        """Whether torques that impose prescribed angles react on free segments.

        True if a chain with prescribed absolute angles is attached to a free segment.
        """
        return bool(self._equations.joints.differences[~self.free][:, self.free].any())

    @cached_property
    def _free(self) -> np.ndarray:
        """Whether each coordinate is free, (n,)."""
        return np.concatenate([self.free, self._free_bases])

    @cached_property
    def _free_bases(self) -> np.ndarray:
        """Whether each coordinate of a base is free, (2 B,)."""
        bases = [self.chains[i].base for i in self._equations.forest.roots]
        return np.repeat([isinstance(base, FreeBase) for base in bases], 2)

    @cached_property
    def _equations(self) -> Equations:
        return Equations.of(self.chains, self.links, self.closures, np.asarray(self.gravity))

    @cached_property
    def _ends(self) -> tuple[EndPoints, EndPoints]:
        """Return the end points of links and of closures."""
        return EndPoints.of(self._equations, self.links), EndPoints.of(
            self._equations, self.closures
        )

    def free_coordinates(
        self,
        angles: ArrayLike = (),
        slides: ArrayLike = (),
        bases: ArrayLike = (),
        *,
        rates: bool = False,
    ) -> FloatArray:
        """Return the free coordinates, or their rates, as `evaluate` and others take them.

        Parameters
        ----------
        angles : array_like, any shape
            Absolute angles of the free segments on pin joints [rad], in the order of the segments.
        slides : array_like, any shape
            Displacements of the free segments on sliding joints [m].
        bases : (free bases, 2) array_like
            Positions of the free bases [m].
        rates : bool
            Whether these are rates [rad/s, m/s], for the names in messages.

        Returns
        -------
        coordinates : (F,) float64
            [rad, m].

        Raises
        ------
        InputError
            If a count is wrong or a number not finite.
        """
        names = ("rates", "slide_rates", "base_rates") if rates else ("angles", "slides", "bases")
        count = len(self.free)
        sliding = np.zeros(count, dtype=np.bool_)
        sliding[self._equations.forest.slides] = True
        found = np.zeros(len(self._free))
        turning = np.flatnonzero(self.free & ~sliding)
        found[turning] = check_array(names[0], angles, (len(turning),))
        moving = np.flatnonzero(self.free & sliding)
        found[moving] = check_array(names[1], slides, (len(moving),))
        based = count + np.flatnonzero(self._free_bases)
        if len(based) or np.size(bases):
            places = check_array(names[2], bases, (len(based) // 2, 2))
            found[based] = places.ravel()
        return found[self._free]

    def complete(
        self, time: float, angles: ArrayLike, rates: ArrayLike
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the angles of all segments from the free coordinates.

        Parameters
        ----------
        time : float
            Instant [s], inside the tables of prescribed motions.
        angles, rates : (F,) float64
            Free coordinates [rad, m] and their rates; see `free_coordinates`.

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
        state = self._state(time, angles, rates)
        forest = self._equations.forest
        turned = forest.turning[:-1] @ state[:, : forest.count].T
        return turned[:, 0] + forest.offsets[:-1], turned[:, 1], turned[:, 2]

    def terms(
        self, time: float, angles: ArrayLike, rates: ArrayLike
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return M, b and Q of the equations of motion, M q'' + b = Q + Tᵀ τ + Gᵀ λ.

        Parameters
        ----------
        time, angles, rates
            As of `complete`.

        Returns
        -------
        mass : (n, n) float64
            M, symmetric and positive definite [kg m², kg m, kg]: over the coordinates of all N
            segments, free and prescribed, then those of the free bases.
        bias : (n,) float64
            b, from velocities and the acceleration of the bases [N m or N].
        force : (n,) float64
            Q, from gravity, passive joints and links; drives not included [N m or N].

        Raises
        ------
        InputError
            As of `complete`.
        SimulationError
            If the points of a link of kind "line" coincide.
        """
        state = self._state(time, angles, rates)
        at = self._equations.geometry(state[0], state[1])
        mass, bias, force = self._equations.terms(at, state[0], state[1])
        kept = np.concatenate([np.ones(len(self.free), dtype=np.bool_), self._free_bases])
        bias = bias + mass[:, ~kept] @ state[2, ~kept]
        return mass[np.ix_(kept, kept)], bias[kept], force[kept]

    def accelerations(
        self, time: float, angles: ArrayLike, rates: ArrayLike, *, decay: float = 0.0
    ) -> FloatArray:
        """Return the accelerations of the free coordinates, (F,) [rad/s², m/s²].

        Parameters
        ----------
        time, angles, rates
            As of `complete`.
        decay : float
            Rate α at which gaps c of closures decay, c'' = -2 α c' - α² c [1/s].

        Raises
        ------
        InputError, SimulationError
            As of `evaluate`.
        """
        state = self._state(time, angles, rates)
        at = self._equations.geometry(state[0], state[1])
        drives = self._drives(time, state)
        found = solve_motion(self._equations, at, state, self._free, drives, decay)
        return found.accelerations[self._free]

    def evaluate(self, time: float, angles: ArrayLike, rates: ArrayLike) -> Instant:
        """Return state, torques (N,) [N m], forces [N] and energies [J].

        Arguments as of `complete`; the state must be a closed one (`close`).

        Raises
        ------
        InputError
            As of `complete`, or if closures are open by more than 1e-6 m or 1e-6 m/s.
        SimulationError
            If the points of a link of kind "line" coincide, closures depend on each other, or
            torques at the joints cannot impose the prescribed angles.
        """
        equations, forest = self._equations, self._equations.forest
        state = self._state(time, angles, rates)
        at = equations.geometry(state[0], state[1])
        check_closed(*largest_gaps(at))
        drives = self._drives(time, state)
        state[2], torques, pins = solve_motion(equations, at, state, self._free, drives, 0.0)
        pulls, turns = equations.link_forces(at), equations.link_torques(at)
        links = external_loads(equations, self._ends[0], state[0], pulls, turns)
        closed = external_loads(equations, self._ends[1], state[0], pins, np.zeros(len(pins)))
        loads = (links[0] + closed[0], links[1] + closed[1])
        joints = forest.motion(forest.joints, state[0], state[1])
        forces, moments = joint_reactions(equations, at, joints.position, state[2], loads)
        linear, angular = momentum(equations, at)
        kinetic, potential = equations.energies(at, state[0])
        bases = forest.motion(forest.bases, state[0], state[1])
        first = [part.start for _, part in forest.parts()]
        slides, slide_rates, slide_accelerations = state[:, forest.slides]
        return Instant(
            angles=at.angles[:-1],
            rates=at.spin[:-1],
            accelerations=forest.turning[:-1] @ state[2, : forest.count],
            torques=torques,
            link_forces=as_vectors(pulls),
            kinetic=kinetic,
            potential=potential,
            link_torques=turns,
            closure_forces=as_vectors(pins),
            joint_forces=as_vectors(forces),
            joint_moments=moments,
            momentum=as_vectors(np.array(linear)),
            angular_momentum=angular,
            joints=as_vectors(joints.position),
            slides=slides,
            slide_rates=slide_rates,
            slide_accelerations=slide_accelerations,
            bases=as_vectors(bases.position),
            base_rates=as_vectors(bases.velocity),
            base_accelerations=as_vectors(bases.jacobian @ state[2] + bases.bias),
            base_forces=as_vectors(forces[first]),
        )

    def close(
        self, time: float, angles: ArrayLike, rates: ArrayLike
    ) -> tuple[FloatArray, FloatArray]:
        """Return the free coordinates and rates, (F,) [rad, m], nearest to those stated, closed.

        Arguments as of `complete`. Near is meant by kinetic energy: heavy segments move least.

        Raises
        ------
        InputError
            As of `complete`, if the closures depend on each other, or no closed state is found.
        """
        state = close_structure(self._equations, self._state(time, angles, rates)[:2], self._free)
        return state[0, self._free], state[1, self._free]

    def gaps(self, time: float, angles: ArrayLike, rates: ArrayLike) -> tuple[float, float]:
        """Return the largest gap of a closure and the largest rate of one [m, m/s].

        Arguments (F,) and errors as of `complete`.
        """
        state = self._state(time, angles, rates)
        return largest_gaps(self._equations.geometry(state[0], state[1]))

    def orientation(self, time: float, angles: ArrayLike, rates: ArrayLike) -> float:
        """Return the sign of the determinant of the linear system of the unknowns [1].

        Arguments (F,) and errors as of `complete`. See `reacts_on_free`: a change of the sign along
        a motion means that the prescribed angles could not be imposed in between.
        """
        state = self._state(time, angles, rates)
        at = self._equations.geometry(state[0], state[1])
        return orientation(self._equations, at, state, self._free)

    def _state(self, time: float, angles: ArrayLike, rates: ArrayLike) -> FloatArray:
        """Return coordinates, rates and accelerations (3, n); free accelerations are zero."""
        check_number("time", time, unit="s")
        fixed, tables = self._equations.forest.prescribed
        state = fixed.copy()
        count = len(self.coordinate_names)
        state[0, self._free] = check_array("angles", angles, (count,))
        state[1, self._free] = check_array("rates", rates, (count,))
        for table, part in tables:
            state[:, part] = table.at(time)
        return state

    def _drives(self, time: float, state: FloatArray) -> FloatArray:
        """Return the torques of the drives of free chains, (N,) [N m]."""
        torques = np.zeros(len(self.free))
        for chain, part in self._equations.forest.parts():
            if chain.drive is not None:
                torque = chain.drive(time, state[0, part], state[1, part])
                torques[part] = check_array(
                    f"chain {chain.name}: drive", torque, (len(chain.segments),)
                )
        return torques
