"""Chains and what joins them: equations of motion, closures, torques and reactions.

With the coordinates q of `dynamics.mechanics.planar`, masses m, inertias J and joint angles T q,

    M q'' + b = Q + Tᵀ τ + Gᵀ λ,    M = Re(Rᴴ m R) + Γᵀ J Γ,    G q'' + G' q' = 0.

Unknown are the accelerations of free coordinates, the torques τ and base forces of prescribed ones,
and the forces λ of the closures. A simulation integrates the free coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
import scipy.constants
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from dynamics.mechanics.chain_parts import (
    GROUND,
    Attachment,
    Chain,
    ChainSegment,
    ChainsResult,
    Connection,
    FreeBase,
    Instant,
    Joint,
    LinkLaws,
    PinClosure,
    PrescribedMotion,
    SlidingJoint,
    Terms,
    ViscoelasticLink,
    check_closed,
    close_state,
    independent,
)
from dynamics.mechanics.planar import (
    ComplexArray,
    Pose,
    Tree,
    as_complex,
    as_vectors,
    cross,
    outwards,
)
from dynamics.simulator.equations import SimulationError
from foundation.base.checks import (
    FloatArray,
    IntArray,
    check_array,
    check_fields,
    check_in,
    check_number,
    check_unique,
)
from foundation.base.errors import InputError

__all__ = [
    "GROUND",
    "Assembly",
    "Attachment",
    "Chain",
    "ChainSegment",
    "ChainsResult",
    "FreeBase",
    "Joint",
    "PinClosure",
    "PrescribedMotion",
    "SlidingJoint",
    "ViscoelasticLink",
    "simulate_chains",
]
#: Rate at which gaps decay in an integration [1/s].
DECAY = 20.0


@dataclass(frozen=True, eq=False)
class Assembly:
    """Chains and what joins them, with F free coordinates.

    Arrays over all N segments hold the chains one after another. The free coordinates
    (`coordinate_names`) are those of segments of free chains, the absolute angle or the
    displacement of a sliding joint, then x and y of each free base.
    """

    #: At least one chain; names are unique.
    chains: tuple[Chain, ...]
    #: Links with unique names between segments of the chains or to the ground; by default none.
    links: tuple[ViscoelasticLink, ...] = ()
    #: Acceleration (2,) [m/s²]; by default the standard one, along -y.
    gravity: ArrayLike = (0.0, -scipy.constants.g)
    #: Pins with unique names that close structures; by default none.
    closures: tuple[PinClosure, ...] = ()

    def __post_init__(self) -> None:
        check_unique("chains", [each.name for each in self.chains], some=True)
        check_unique("links", [each.name for each in self.links])
        check_unique("closures", [each.name for each in self.closures])
        check_unique("chain.segment", self.columns)
        check_fields(self, gravity=(2,))
        for member in (*self.links, *self.closures):
            for _, where, _ in member.ends:
                if where != GROUND:
                    self._check_segment(member.label, "", where)
        # The tree raises if attachments are wrong. In some positions no torque at the joint imposes
        # absolute angles on a free carrier.
        reacts = self._joint_angles[:, : len(self.free)][:, self.free].any(axis=1) & ~self.free
        for chain, part in self.parts():
            if reacts[part].any():
                raise InputError(
                    f"chain {chain.name}: base: expected a relative Attachment of prescribed "
                    "angles on a free segment, found an absolute one; set relative=True"
                )

    def _check_segment(self, of: str, part: str, where: tuple[str, str]) -> None:
        """Raise an InputError unless there is this (chain, segment)."""
        segments = {chain.name: chain.segment_names for chain in self.chains}
        check_in(f"{of}: {part}chain", where[0], segments)
        check_in(f"{of}: {part}segment of {where[0]}", where[1], segments[where[0]])

    @property
    def columns(self) -> tuple[str, ...]:
        """Names `chain.segment` of all segments."""
        return tuple(f"{each.name}.{name}" for each in self.chains for name in each.segment_names)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the F free coordinates, such as "leg.thigh" and "pelvis base x"."""
        moving = [self.chains[i].name for i in self._moving]
        names = (*self.columns, *(f"{name} base {axis}" for name in moving for axis in "xy"))
        return tuple(name for name, free in zip(names, self._free, strict=True) if free)

    @cached_property
    def free(self) -> np.ndarray:
        """Whether each segment belongs to a free chain, (N,) bool [1]."""
        return np.array([chain.angles is None for chain in self.chains for _ in chain.segments])

    # ---- the tree of the chains ----

    def parts(self) -> Iterator[tuple[Chain, slice]]:
        """Yield each chain and the slice of its segments."""
        start = 0
        for chain in self.chains:
            yield chain, slice(start, start + len(chain.segments))
            start += len(chain.segments)

    def index(self, where: tuple[str, str]) -> int:
        """Return the index of (chain, segment); N for the ground."""
        return len(self.columns) if where == GROUND else self.columns.index(".".join(where))

    @cached_property
    def _moving(self) -> list[int]:
        """Chains with a free base or a path."""
        kinds = PrescribedMotion | FreeBase
        return [i for i, chain in enumerate(self.chains) if isinstance(chain.base, kinds)]

    @cached_property
    def tree(self) -> Tree:
        """The tree of the N segments."""
        count = len(self.columns)
        parent: list[int] = []
        place: list[complex] = []
        slides, carriers = {}, {}
        for chain in self.chains:
            above, at, carrier = self._base(chain)
            for segment, joint in zip(chain.segments, chain.all_joints, strict=True):
                k = len(parent)
                if isinstance(joint, SlidingJoint):
                    slides[k] = joint.axis, joint.angle
                if isinstance(chain.base, Attachment) and chain.base.relative:
                    carriers[k] = carrier
                parent.append(above)
                place.append(at)
                above, at = k, segment.end
        order = outwards(parent)
        if len(order) < count:
            left = [c.name for c, part in self.parts() if part.start not in order]
            raise InputError(
                f"chains {', '.join(left)}: expected bases on chains that lead to a fixed, "
                "prescribed or free base, found a ring of attachments; close a ring by a PinClosure"
            )
        starts = [part.start for _, part in self.parts()]
        return Tree.of(
            parent, np.array(place), slides=slides, carriers=carriers,
            bases=[starts[i] for i in self._moving],
        )  # fmt: skip

    def _base(self, chain: Chain) -> tuple[int, complex, int]:
        """Return the body below the base of a chain, the place on it, and the body once more."""
        base, ground = chain.base, len(self.columns)
        if isinstance(base, Attachment):
            self._check_segment(f"chain {chain.name}", "base: ", (base.chain, base.segment))
            carrier = self.index((base.chain, base.segment))
            return carrier, complex(*base.point), carrier
        if isinstance(base, PrescribedMotion | FreeBase):
            return ground, 0j, ground
        return ground, complex(*np.asarray(base)), ground

    @cached_property
    def _free(self) -> np.ndarray:
        """Whether each coordinate is free, (n,)."""
        bases = [isinstance(self.chains[i].base, FreeBase) for i in self._moving]
        return np.concatenate([self.free, np.repeat(np.array(bases, dtype=bool), 2)])

    @cached_property
    def _tables(self) -> list[tuple[PrescribedMotion, slice]]:
        """Prescribed motions and their coordinates."""
        found = [(chain.angles, part) for chain, part in self.parts() if chain.angles is not None]
        for row, i in enumerate(self._moving):
            base, start = self.chains[i].base, len(self.columns) + 2 * row
            if isinstance(base, PrescribedMotion):
                found.append((base, slice(start, start + 2)))
        return found

    @cached_property
    def _masses(self) -> tuple[FloatArray, FloatArray, ComplexArray]:
        """Masses (N,) [kg], inertias (N,) [kg m²] and centres of mass (N,) [m]."""
        segments = [each for chain in self.chains for each in chain.segments]
        return (
            np.array([each.mass for each in segments]),
            np.array([each.inertia for each in segments]),
            as_complex(np.array([each.centre for each in segments])),
        )

    @cached_property
    def _joint_angles(self) -> FloatArray:
        """T, angles or displacements of the joints over the coordinates, (N, n) [1]."""
        tree = self.tree
        rows = tree.turning[:-1] - tree.turning[tree.parent]
        rows[self.tree.slides, self.tree.slides] = 1.0
        return rows

    @cached_property
    def _passive(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Stiffness, damping and neutral position of the joints, (N,) each."""
        joints = [each for chain in self.chains for each in chain.all_joints]
        laws = np.array([[each.stiffness, each.damping, each.neutral] for each in joints])
        tree = self.tree
        # A constant in the difference of the absolute angles acts as a change of θ₀.
        change = tree.offsets[:-1] - tree.offsets[tree.parent]
        laws[:, 2] -= np.where(tree.axis == 0.0, change, 0.0)
        return laws[:, 0], laws[:, 1], laws[:, 2]

    @cached_property
    def _laws(self) -> LinkLaws:
        return LinkLaws.of(self.links)

    @cached_property
    def _ends(self) -> tuple[IntArray, ComplexArray]:
        """Bodies and places (2, L + C) of the first and second ends of links and closures."""
        members: Sequence[Connection] = (*self.links, *self.closures)
        bodies = [[self.index(each.ends[end][1]) for each in members] for end in (0, 1)]
        places = [[complex(*each.ends[end][2]) for each in members] for end in (0, 1)]
        return np.array(bodies, dtype=int), np.array(places, dtype=complex)

    @cached_property
    def _points(self) -> tuple[IntArray, ComplexArray]:
        """Bodies and places of all centres of mass, first and second ends."""
        bodies, places = self._ends
        count, centres = len(self.columns), self._masses[2]
        return np.append(np.arange(count), bodies), np.append(centres, places)

    # ---- equations of motion ----

    def state(self, time: float, coordinates: ArrayLike, rates: ArrayLike) -> FloatArray:
        """Return all coordinates, rates and accelerations (3, n) [rad or m]; free ones are zero."""
        check_number("time", time, unit="s")
        count = len(self.coordinate_names)
        position = check_array("position", coordinates, (count,))
        return self.complete(time, position, check_array("velocity", rates, (count,)))

    def complete(self, time: float, coordinates: FloatArray, rates: FloatArray) -> FloatArray:
        """Return `state` of free coordinates (F,) [rad, m] that need no check."""
        state = np.zeros((3, len(self._free)))
        state[0, self._free], state[1, self._free] = coordinates, rates
        for table, part in self._tables:
            state[:, part] = table.at(time)
        return state

    def equations(self, pose: Pose, state: FloatArray) -> Terms:
        """Return the terms of the equations at a pose and its state (2 or more, n) [rad or m]."""
        mass, inertia, _ = self._masses
        turning, count, ends = self.tree.turning[:-1], len(mass), len(self._ends[0][0])
        points = pose.points(*self._points)
        at = points.part(slice(count))
        first, second = points.part(slice(count, count + ends)), points.part(slice(-ends, None))
        vectors = second.minus(first) if ends else points.part(slice(0))
        links = vectors.part(slice(len(self.links)))
        closures = vectors.part(slice(len(self.links), None))
        stiffness, damping, neutral = self._passive
        t = self._joint_angles
        force = at.force(mass * complex(*np.asarray(self.gravity)))
        force -= t.T @ (stiffness * (t @ state[0] - neutral) + damping * (t @ state[1]))
        if self.links:
            laws = self._laws
            force += links.force(laws.forces(links.position, links.velocity))
            force += self._turns.T @ laws.torques(*self._twist(state))
        matrix = (at.jacobian.conj().T @ (mass[:, None] * at.jacobian)).real
        matrix += turning.T @ (inertia[:, None] * turning)
        return Terms(matrix, at.force(mass * at.bias), force, at, links, closures)

    @cached_property
    def _turns(self) -> FloatArray:
        """Angles of the links over the coordinates, (L, n) [1]."""
        first, second = self._ends[0][:, : len(self.links)]
        return self.tree.turning[second] - self.tree.turning[first]

    def _twist(self, state: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Angles and their rates between the segments of the links, (L,) each [rad, rad/s]."""
        first, second = self._ends[0][:, : len(self.links)]
        offsets = self.tree.offsets[second] - self.tree.offsets[first]
        return self._turns @ state[0] + offsets, self._turns @ state[1]

    def _at(
        self, time: float, coordinates: ArrayLike, rates: ArrayLike
    ) -> tuple[FloatArray, Pose, Terms]:
        """Return state, pose and terms at free coordinates (F,) and their rates."""
        state = self.state(time, coordinates, rates)
        pose = self.tree.at(state[0], state[1])
        return state, pose, self.equations(pose, state)

    def terms(
        self, time: float, angles: ArrayLike, rates: ArrayLike
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return M (n, n) [kg m², kg m, kg], b and Q (n,) [N m or N], without drives."""
        # Over the coordinates of all N segments, free and prescribed, then those of the free bases,
        # in a state (F,) [rad or m] of the free coordinates.
        state, _, found = self._at(time, angles, rates)
        kept = np.ones(len(self._free), dtype=bool)
        kept[len(self.free) :] = self._free[len(self.free) :]
        bias = found.bias + found.mass[:, ~kept] @ state[2, ~kept]
        return found.mass[np.ix_(kept, kept)], bias[kept], found.force[kept]

    def accelerations(
        self, time: float, angles: ArrayLike, rates: ArrayLike, *, decay: float = 0.0
    ) -> FloatArray:
        """Return the accelerations (F,) [rad/s², m/s²] in a state of the free coordinates (F,)."""
        # Gaps c of closures decay at a rate α [1/s], c'' = -2 α c' - α² c.
        state, _, terms = self._at(time, angles, rates)
        return self.solve(time, terms, state, decay)

    def solve(
        self, time: float, terms: Terms, state: FloatArray, decay: float = DECAY
    ) -> FloatArray:
        """Return the accelerations (F,) [rad/s², m/s²] of a state (3, n) with its terms."""
        return self._solve(terms, state, self._drives(time, state), decay)[0][self._free]

    def _drives(self, time: float, state: FloatArray) -> FloatArray:
        """Return the torques of the drives of free chains, (N,) [N m]."""
        torques = np.zeros(len(self.free))
        for chain, part in self.parts():
            if chain.drive is not None:
                torque = chain.drive(time, state[0, part], state[1, part])
                of, count = f"chain {chain.name}: drive", len(chain.segments)
                torques[part] = check_array(of, torque, (count,))
        return torques

    def _solve(
        self, terms: Terms, state: FloatArray, drives: FloatArray, decay: float
    ) -> tuple[FloatArray, FloatArray, ComplexArray]:
        """Return accelerations (n,), torques (N,) and forces λ (C,) of the closures."""
        free, count = self._free, len(self.free)
        gap, speed, rows, curved = terms.closures.rows()
        if self.closures and not independent(rows[:, free]):
            raise SimulationError(
                "closures: expected independent closures, found dependent closures: remove a "
                "closure that repeats others, or avoid the dead point of the structure"
            )
        known = np.where(free, 0.0, state[2])
        right = terms.force - terms.bias - terms.mass @ known + self._joint_angles.T @ drives
        if free.all() and not self.closures:
            moved = np.asarray(np.linalg.solve(terms.mass, right), dtype=np.float64)
            return moved, drives, np.zeros(0, dtype=np.complex128)
        wanted = -(rows @ known) - curved - 2.0 * decay * speed - decay**2 * gap
        found = np.linalg.solve(self._matrix(terms.mass, rows), np.append(right, wanted))
        multipliers = found[len(free) :].reshape(2, -1)
        torques = np.where(free[:count], drives, found[:count])
        return (
            np.where(free, found[: len(free)], known),
            torques,
            multipliers[0] + 1j * multipliers[1],
        )

    def _matrix(self, mass: FloatArray, rows: FloatArray) -> FloatArray:
        """Matrix of the unknowns: accelerations, torques and base forces of coordinates, and λ."""
        free, count, size = self._free, len(self.free), len(self._free)
        matrix = np.zeros((size + len(rows), size + len(rows)))
        matrix[:size, :size] = -np.eye(size)
        matrix[:size, :count] = -self._joint_angles.T
        matrix[:size, :size][:, free] = mass[:, free]
        matrix[:size, size:] = -rows.T
        matrix[size:, :size] = np.where(free, rows, 0.0)
        return matrix

    # ---- closures ----

    def constraint_rows(self, coordinates: ArrayLike, rates: ArrayLike) -> FloatArray:
        """Return G of the closures (2 C, F) [m or 1] in a state (F,) [rad, m] at time 0."""
        _, _, terms = self._at(0.0, coordinates, rates)
        return terms.closures.rows()[2][:, self._free]

    def gaps(self, time: float, angles: ArrayLike, rates: ArrayLike) -> tuple[float, float]:
        """Return largest gap and rate of a closure [m, m/s] in a state (F,) [rad, m]."""
        if not self.closures:
            return 0.0, 0.0
        found = self._at(time, angles, rates)[2].closures
        return float(np.abs(found.position).max()), float(np.abs(found.velocity).max())

    def close(
        self, time: float, angles: ArrayLike, rates: ArrayLike
    ) -> tuple[FloatArray, FloatArray]:
        """Return the nearest free coordinates and rates (F,) [rad, m] with all closures closed."""
        # Near by the kinetic energy of the difference: the mass matrix weighs the changes.
        state, free = self.state(time, angles, rates)[:2], self._free
        if self.closures:
            at = lambda state: self.equations(self.tree.at(state[0], state[1]), state)  # noqa: E731
            close_state(state, free, at, float(np.abs(self.tree.place).max()))
        return state[0, free], state[1, free]

    # ---- all that an instant has ----

    def evaluate(self, time: float, angles: ArrayLike, rates: ArrayLike) -> Instant:
        """Return torques, forces and energies in a closed state (F,) [rad, m] of coordinates."""
        check_closed(*self.gaps(time, angles, rates))
        state, pose, terms = self._at(time, angles, rates)
        state[2], torques, pins = self._solve(terms, state, self._drives(time, state), 0.0)
        pulls = self._laws.forces(terms.links.position, terms.links.velocity)
        turns = self._laws.torques(*self._twist(state))
        forces, moments = self._reactions(pose, terms, state, np.append(pulls, pins), turns)
        mass, inertia, _ = self._masses
        linear, centres, spin = (
            mass * terms.centres.velocity,
            terms.centres.position,
            pose.spin[:-1],
        )
        kinetic, potential = self.energies(terms, state)
        below = [self._base(chain)[:2] for chain in self.chains]
        at = pose.points(np.array([each[0] for each in below]), np.array([e[1] for e in below]))
        bases = [as_vectors(at.position), as_vectors(at.velocity),
                 as_vectors(at.jacobian @ state[2] + at.bias)]  # fmt: skip
        for values, row in zip(bases, state, strict=True):
            values[self._moving] = row[len(mass) :].reshape(-1, 2)
        slides, slide_rates, slide_accelerations = state[:, self.tree.slides]
        return Instant(
            angles=(self.tree.turning @ state[0] + self.tree.offsets)[:-1],
            rates=spin,
            accelerations=(self.tree.turning @ state[2])[:-1],
            torques=torques,
            link_forces=as_vectors(pulls),
            kinetic=kinetic,
            potential=potential,
            link_torques=turns,
            closure_forces=as_vectors(pins),
            joint_forces=as_vectors(forces),
            joint_moments=moments,
            momentum=as_vectors(np.array(linear.sum())),
            angular_momentum=float(inertia @ spin + cross(centres, linear).sum()),
            joints=as_vectors(pose.joints.position[:-1]),
            slides=slides,
            slide_rates=slide_rates,
            slide_accelerations=slide_accelerations,
            bases=bases[0],
            base_rates=bases[1],
            base_accelerations=bases[2],
            base_forces=as_vectors(forces[[part.start for _, part in self.parts()]]),
        )

    def _reactions(
        self, pose: Pose, terms: Terms, state: FloatArray, pulls: ComplexArray, turns: FloatArray
    ) -> tuple[ComplexArray, FloatArray]:
        """Return force and moment (N,) on each segment at its joint: all that hangs from it."""
        mass, inertia, _ = self._masses
        count, tree = len(mass), self.tree
        acceleration = terms.centres.jacobian @ state[2] + terms.centres.bias
        force = mass * (acceleration - complex(*np.asarray(self.gravity)))
        moment = inertia * (tree.turning[:-1] @ state[2]) + cross(terms.centres.position, force)
        torques = np.append(turns, np.zeros(len(self.closures)))
        force, moment = np.append(force, 0.0), np.append(moment, 0.0)  # and the ground
        for sign, body, place in zip((1.0, -1.0), *self._ends, strict=True):
            at = pose.points(body, place).position
            np.add.at(force, body, sign * pulls)
            np.add.at(moment, body, sign * (torques + cross(at, pulls)))
        force, moment = tree.carried.T @ force[:count], tree.carried.T @ moment[:count]
        return force, moment - cross(pose.joints.position[:count], force)

    @property
    def weight(self) -> float:
        """Weight of all segments [N]."""
        return float(self._masses[0].sum() * np.hypot(*np.asarray(self.gravity)))

    def energies(self, terms: Terms, state: FloatArray) -> tuple[float, float]:
        """Return kinetic and potential energy [J] of a state (2 or more, n) [rad, m]."""
        mass, _, _ = self._masses
        stiffness, _, neutral = self._passive
        height = -(complex(*np.asarray(self.gravity)).conjugate() * terms.centres.position).real
        potential = mass @ height
        potential += 0.5 * stiffness @ (self._joint_angles @ state[0] - neutral) ** 2
        potential += self._laws.energy(terms.links.position, self._twist(state)[0])
        return float(0.5 * state[1] @ terms.mass @ state[1]), float(potential)

    def dissipation(self, terms: Terms, state: FloatArray) -> float:
        """Return the power [W] that dampers of joints and links take in a state (2, n) [rad, m]."""
        damping = self._passive[1]
        joints = damping @ (self._joint_angles @ state[1]) ** 2 if damping.any() else 0.0
        links, turning = terms.links, self._twist(state)[1]
        return float(joints) + self._laws.dissipation(links.position, links.velocity, turning)


#: Fixed step, then scipy's adaptive ones: explicit of order 8, and implicit for stiff links.
METHODS = ("RK4", "DOP853", "Radau")
#: Gap that the integration may leave until it is closed [m].
LARGEST_DRIFT = 1e-5
#: Coordinates and rates above which an integration has diverged [rad, m; per s].
_DIVERGED = 1e9
_Method: TypeAlias = Literal["RK4", "DOP853", "Radau"]


def simulate_chains(
    assembly: Assembly,
    times: ArrayLike,
    position: ArrayLike = (),
    velocity: ArrayLike = (),
    *,
    method: _Method = "DOP853",
    step: float = 1e-3,
    rtol: float = 1e-9,
    atol: float = 1e-11,
) -> ChainsResult:
    """Simulate an assembly from free coordinates (F,) [rad, m]; return it at instants (T,) [s].

    `step` is the longest of "RK4" [s]; `rtol` and `atol` are those of the adaptive integrators.
    """
    # The integrators resolve every vibration, so that the cost grows with the highest frequency
    # √(k/m), that of the stiffest link; k = 1e4 to 1e6 N/m suffices for an almost rigid link.
    instants = check_array("times", times, (None,))
    if len(instants) < 2 or np.diff(instants).min() <= 0.0:
        raise InputError(f"times: expected at least two increasing instants, found {times!r}")
    check_in("method", method, METHODS)
    check_number("step", step, above=0.0, unit="s")
    check_number("rtol", rtol, above=0.0)
    check_number("atol", atol, above=0.0)
    check_closed(*assembly.gaps(instants[0], position, velocity))
    closed = np.concatenate(assembly.close(instants[0], position, velocity))
    return _evaluated(
        assembly, instants, _integrate(assembly, closed, instants, method, step, rtol, atol)
    )


def _evaluated(assembly: Assembly, instants: FloatArray, states: FloatArray) -> ChainsResult:
    """Return motion and forces in the states (T, 2 F) [rad, m], closed first."""
    half = states.shape[1] // 2
    drift, evaluated = [], []
    for time, state in zip(instants, states, strict=True):
        drift.append(assembly.gaps(time, state[:half], state[half:])[0])
        if drift[-1] > LARGEST_DRIFT:
            raise SimulationError(
                f"closures: expected gaps of at most {LARGEST_DRIFT:g} m from the integration, "
                f"found {drift[-1]:.3g} m at {time:g} s: reduce the step or the tolerances, and "
                "avoid dead points"
            )
        closed = assembly.close(time, state[:half], state[half:])
        evaluated.append(assembly.evaluate(time, *closed))
    columns = {
        field.name: np.array([getattr(each, field.name) for each in evaluated])
        for field in fields(Instant)
    }
    return ChainsResult(**columns, time=instants, drift=np.array(drift))


def _integrate(
    assembly: Assembly,
    start: FloatArray,
    instants: FloatArray,
    method: _Method,
    step: float,
    rtol: float,
    atol: float,
) -> FloatArray:
    """Return the free coordinates and their rates at the instants, (T, 2 F)."""
    half = len(start) // 2
    if half == 0:
        return np.empty((len(instants), 0))

    def derivative(time: float, state: FloatArray) -> FloatArray:
        # NaN is not below the limit either.
        if not (np.abs(state) < _DIVERGED).all():
            raise SimulationError(
                f"{method} failed before {time:g} s: the state grows beyond all limits; reduce the "
                "step or the tolerances"
            )
        at, rates = state[:half], state[half:]
        return np.concatenate([rates, assembly.accelerations(time, at, rates, decay=DECAY)])

    with np.errstate(over="ignore", invalid="ignore"):
        if method == "RK4":
            states = _rk4(derivative, start, instants, step)
            derivative(instants[-1], states[-1])  # checks the last state
            return states
        span = (instants[0], instants[-1])
        solution = solve_ivp(derivative, span, start, method, t_eval=instants, rtol=rtol, atol=atol)
    if not solution.success:
        raise SimulationError(f"{method} failed at {solution.t[-1]:g} s: {solution.message}")
    return solution.y.T


def _rk4(
    derivative: Callable[[float, FloatArray], FloatArray],
    state: FloatArray,
    times: FloatArray,
    step: float,
) -> FloatArray:
    """Return states (T, n) by the classical Runge-Kutta method in equal steps of at most `step`."""
    states = [state]
    for start, end in pairwise(times):
        count = math.ceil((end - start) / step * (1.0 - 1e-12))
        h = (end - start) / count
        for i in range(count):
            t = start + i * h
            k1 = derivative(t, state)
            k2 = derivative(t + 0.5 * h, state + 0.5 * h * k1)
            k3 = derivative(t + 0.5 * h, state + 0.5 * h * k2)
            k4 = derivative(t + h, state + h * k3)
            state = state + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        states.append(state)
    return np.array(states)
