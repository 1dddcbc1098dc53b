"""Chains and what joins them: equations of motion, closures, torques and reactions.

With the coordinates q of `dynamics.mechanics.planar`, masses m, inertias J and joint angles T q,

    M q'' + b = Q + Tᵀ τ + Gᵀ λ,    M = Re(Rᴴ m R) + Γᵀ J Γ,    G q'' + G' q' = 0.

Unknown are the accelerations of free coordinates, the torques τ of prescribed ones, and the forces
λ of the closures. A simulation integrates the free coordinates; gaps c of closures decay at a rate
α, c'' = -2 α c' - α² c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.constants
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from dynamics.mechanics.chain_parts import (
    GROUND,
    Attachment,
    Chain,
    ChainSegment,
    Connection,
    FreeBase,
    Joint,
    PinClosure,
    PrescribedMotion,
    ViscoelasticLink,
)
from dynamics.mechanics.planar import (
    ComplexArray,
    PointMotion,
    Pose,
    Tree,
    as_complex,
    as_vectors,
    cross,
)
from dynamics.simulator.equations import SimulationError
from foundation.base.checks import (
    FloatArray,
    IntArray,
    check_array,
    check_fields,
    check_in,
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
    "ViscoelasticLink",
    "simulate_chains",
]
#: α in a simulation [1/s].
DECAY = 20.0
#: Largest gap [m] of a closure, and its rate [m/s], at the start of a simulation.
LARGEST_GAP = 1e-6


class Terms(NamedTuple):
    """M (n, n) [kg m²], b, Q (n,) [N m], and the motion of centres, links and closures."""

    mass: FloatArray
    bias: FloatArray
    force: FloatArray
    centres: PointMotion
    links: PointMotion
    closures: PointMotion


@dataclass(frozen=True, eq=False)
class Instant:
    """State and forces at one time, of n coordinates, N segments, L links and C closures.

    Forces and places are in the global frame.
    """

    #: All coordinates, free and prescribed: absolute angles or displacements of the segments, then
    #: x and y of the free bases, with rates and accelerations (n,) [rad or m; s].
    position: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    #: Driving torque (of a slide force) at the joint proximal of each segment, positive on that
    #: segment (N,) [N m or N]: prescribed chains need it, free chains have it from their drive;
    #: without the passive torques.
    torques: FloatArray
    #: Force on the second point (L, 2), (C, 2) [N]; the opposite acts on the first.
    link_forces: FloatArray
    closure_forces: FloatArray
    #: Torque on the second segment of each link (L,) [N m].
    link_torques: FloatArray
    #: Force and moment on each segment at its proximal joint (N, 2), (N,) [N, N m]; the moment is
    #: passive torque and drive of a pin, that of the guide of a slide.
    joint_forces: FloatArray
    joint_moments: FloatArray
    #: Proximal joints of the segments (N, 2) [m], and their velocities [m/s].
    joints: FloatArray
    joint_rates: FloatArray
    #: Kinetic energy, and potential energy of gravity, joints and links [J].
    kinetic: Any
    potential: Any


@dataclass(frozen=True, eq=False)
class ChainsResult(Instant):
    """Motion and forces at T instants, along a new first axis, as `position` (T, n) [rad or m]."""

    #: Instants (T,) [s].
    time: FloatArray

    @property
    def energy(self) -> FloatArray:
        """Kinetic and potential energy together, (T,) [J]."""
        return self.kinetic + self.potential


@dataclass(frozen=True, eq=False)
class Assembly:
    """Chains and what joins them, with F free coordinates.

    Arrays over all N segments hold the chains one after another. The free coordinates
    (`coordinate_names`) are those of segments of free chains, the absolute angle or the
    displacement of a slide, then x and y of each free base.
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
        check_unique("links and closures", [each.name for each in (*self.links, *self.closures)])
        check_fields(self, gravity=(2,))
        _ = self.tree, self._ends  # raise here if a segment is wrong

    @property
    def columns(self) -> tuple[str, ...]:
        """Names `chain.segment` of all segments."""
        return tuple(
            f"{chain.name}.{each.name}" for chain in self.chains for each in chain.segments
        )

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the F free coordinates, such as "leg.thigh" and "pelvis base x"."""
        moving = [each.name for each in self.chains if isinstance(each.base, FreeBase)]
        names = (*self.columns, *(f"{name} base {axis}" for name in moving for axis in "xy"))
        return tuple(name for name, free in zip(names, self.free, strict=True) if free)

    @cached_property
    def free(self) -> np.ndarray:
        """Whether each coordinate is free, (n,) bool [1]."""
        angles = [chain.angles is None for chain in self.chains for _ in chain.segments]
        return np.array(angles + [True, True] * len(self.tree.bases))

    # ---- the tree of the chains ----

    def parts(self) -> Iterator[tuple[Chain, slice]]:
        """Yield each chain and the slice of its segments."""
        start = 0
        for chain in self.chains:
            yield chain, slice(start, start + len(chain.segments))
            start += len(chain.segments)

    def index(self, of: str, where: tuple[str, str]) -> int:
        """Return the index of (chain, segment), N for the ground; `of` precedes a message."""
        if where == GROUND:
            return len(self.columns)
        return self.columns.index(check_in(f"{of}: segment", ".".join(where), self.columns))

    @cached_property
    def tree(self) -> Tree:
        """The tree of the N segments."""
        parent: list[int] = []
        place: list[complex] = []
        slides, bases = {}, []
        for chain, part in self.parts():
            above, at = len(self.columns), 0j
            if isinstance(chain.base, FreeBase):
                bases.append(part.start)
            elif isinstance(chain.base, Attachment):
                above, at = self._carrier(chain, chain.base, part.start), complex(*chain.base.point)
            else:
                at = complex(*np.asarray(chain.base))
            for segment, joint in zip(chain.segments, chain.joints, strict=True):
                if joint.axis is not None:
                    slides[len(parent)] = joint.axis, joint.angle
                parent.append(above)
                place.append(at)
                above, at = len(parent) - 1, segment.end
        return Tree.of(parent, np.array(place), bases, slides)

    def _carrier(self, chain: Chain, base: Attachment, start: int) -> int:
        """Return the segment below an attached chain, whose first segment is that at `start`."""
        of = f"chain {chain.name}: base"
        carrier = self.index(of, (base.chain, base.segment))
        (below,) = (each for each in self.chains if each.name == base.chain)
        if carrier >= start or (chain.angles is not None and below.angles is None):
            # In some positions, no torque at the joint imposes absolute angles on a free carrier.
            raise InputError(
                f"{of}: expected a segment of an earlier chain, which is prescribed if {chain.name}"
                f" is, found {base.chain}.{base.segment}"
            )
        return carrier

    @cached_property
    def _masses(self) -> tuple[FloatArray, FloatArray, ComplexArray]:
        """Masses (N,) [kg], inertias (N,) [kg m²] and centres of mass (N,) [m]."""
        segments = [each for chain in self.chains for each in chain.segments]
        data = np.array([[each.mass, each.inertia, *each.centre] for each in segments])
        return data[:, 0], data[:, 1], as_complex(data[:, 2:])

    @cached_property
    def _joint_angles(self) -> FloatArray:
        """T, angles or displacements of the joints over the coordinates, (N, n) [1]."""
        tree = self.tree
        rows = tree.turning[:-1] - tree.turning[tree.parent]
        rows[:, : len(rows)] += np.diag((tree.axis != 0.0).astype(float))
        return rows

    @cached_property
    def _passive(self) -> FloatArray:
        """Stiffness, damping and neutral position of the joints, (3, N)."""
        joints = [each for chain in self.chains for each in chain.joints]
        laws = np.array([[each.stiffness, each.damping, each.neutral] for each in joints]).T
        tree = self.tree
        # A constant in the difference of the absolute angles acts as a change of θ₀.
        change = tree.offsets[:-1] - tree.offsets[tree.parent]
        laws[2] -= np.where(tree.axis == 0.0, change, 0.0)
        return laws

    @cached_property
    def _ends(self) -> tuple[IntArray, ComplexArray]:
        """Bodies and places (2, L + C) of the first and second ends of links and closures."""
        members: Sequence[Connection] = (*self.links, *self.closures)
        ends = [
            [(self.index(f"{each.called} {each.name}", where), complex(*point))
             for _, where, point in each.ends]
            for each in members
        ]  # fmt: skip
        table = np.array(ends, dtype=complex).reshape(len(members), 2, 2).T
        return table[0].real.astype(np.int64), table[1]

    @cached_property
    def _points(self) -> tuple[IntArray, ComplexArray]:
        """Bodies and places of all centres of mass, first and second ends."""
        bodies, places = self._ends
        centres = self._masses[2]
        return np.append(np.arange(len(centres)), bodies), np.append(centres, places)

    # ---- equations of motion ----

    def complete(self, time: float, coordinates: FloatArray, rates: FloatArray) -> FloatArray:
        """Return coordinates, rates and accelerations (3, n) [rad or m; s]; free ones are zero."""
        state = np.zeros((3, len(self.free)))
        state[0, self.free], state[1, self.free] = coordinates, rates
        for chain, part in self.parts():
            if chain.angles is not None:
                state[:, part] = chain.angles.at(time)
        return state

    def equations(self, pose: Pose, state: FloatArray) -> Terms:
        """Return the terms of the equations at a pose and its state (2 or more, n) [rad or m]."""
        mass, inertia, _ = self._masses
        t, turning, (stiffness, damping, neutral) = self._joint_angles, self._turning, self._passive
        points, ends, count = pose.points(*self._points), len(self._ends[0][0]), len(self.links)
        at, last = points.part(slice(len(mass))), slice(len(mass) + ends, None)
        vectors = points.part(last).minus(points.part(slice(len(mass), len(mass) + ends)))
        links = vectors.part(slice(count))
        pulls, torques = self._pulls(pose, state, links)
        force = at.force(mass * complex(*np.asarray(self.gravity))) + links.force(pulls)
        force += self._turns.T @ torques
        force -= t.T @ (stiffness * (t @ state[0] - neutral) + damping * (t @ state[1]))
        matrix = (at.jacobian.conj().T @ (mass[:, None] * at.jacobian)).real
        matrix += turning.T @ (inertia[:, None] * turning)
        bias = at.force(mass * at.bias)
        return Terms(matrix, bias, force, at, links, vectors.part(slice(count, None)))

    @property
    def _turning(self) -> FloatArray:
        return self.tree.turning[:-1]

    @cached_property
    def _turns(self) -> FloatArray:
        """Angles of the links over the coordinates, (L, n) [1]."""
        first, second = self._ends[0][:, : len(self.links)]
        return self.tree.turning[second] - self.tree.turning[first]

    def _twist(self, state: FloatArray) -> FloatArray:
        """Angles and their rates between the segments of the links, (L, 2) [rad, rad/s]."""
        first, second = self._ends[0][:, : len(self.links)]
        offsets = self.tree.offsets[second] - self.tree.offsets[first]
        return np.column_stack([self._turns @ state[0] + offsets, self._turns @ state[1]])

    def _pulls(
        self, pose: Pose, state: FloatArray, links: PointMotion
    ) -> tuple[ComplexArray, FloatArray]:
        """Return forces and torques (L,) [N, N m] on the second ends of the links."""
        motion = zip(links.position, links.velocity, strict=True)
        pulls = [link.force(*each) for link, each in zip(self.links, motion, strict=True)]
        twist = zip(self.links, self._twist(state), strict=True)
        return np.array(pulls, dtype=complex), np.array([link.torque(*at) for link, at in twist])

    def _at(
        self, time: float, coordinates: ArrayLike, rates: ArrayLike
    ) -> tuple[FloatArray, Pose, Terms]:
        """Return state, pose and terms at free coordinates (F,) and their rates."""
        count = len(self.coordinate_names)
        position = check_array("position", coordinates, (count,))
        state = self.complete(time, position, check_array("velocity", rates, (count,)))
        pose = self.tree.at(state[0], state[1])
        return state, pose, self.equations(pose, state)

    def terms(
        self, time: float, position: ArrayLike, velocity: ArrayLike
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return M (n, n) [kg m², kg m, kg], b and Q (n,) [N m or N], without drives."""
        return self._at(time, position, velocity)[2][:3]

    def accelerations(
        self, time: float, position: ArrayLike, velocity: ArrayLike, *, decay: float = 0.0
    ) -> FloatArray:
        """Return the accelerations (F,) [rad/s², m/s²] in a state of the free coordinates (F,)."""
        state, _, terms = self._at(time, position, velocity)
        return self.solve(time, terms, state, decay)[0][self.free]

    def drives(self, time: float, state: FloatArray) -> FloatArray:
        """Return the torques of the drives of free chains, (N,) [N m], in a state [rad or m]."""
        torques = np.zeros(len(self.columns))
        for chain, part in self.parts():
            if chain.drive is not None:
                torque = chain.drive(time, state[0, part], state[1, part])
                of, count = f"chain {chain.name}: drive", len(chain.segments)
                torques[part] = check_array(of, torque, (count,))
        return torques

    def solve(
        self, time: float, terms: Terms, state: FloatArray, decay: float = DECAY
    ) -> tuple[FloatArray, FloatArray]:
        """Return accelerations (n,) [rad/s², m/s²] of a state (3, n), and λ (2 C,) [N]."""
        found, free = state[2].copy(), self.free
        right = terms.force - terms.bias - terms.mass @ found
        right += self._joint_angles.T @ self.drives(time, state)
        mass = terms.mass[np.ix_(free, free)]
        if not self.closures:
            found[free] = np.linalg.solve(mass, right[free])
            return found, np.zeros(0)
        gap, speed, rows, curved = terms.closures.rows()
        own, zero = rows[:, free], np.zeros((len(rows), len(rows)))
        if np.linalg.matrix_rank(own) < len(rows):
            raise SimulationError(
                "closures: expected independent closures, found dependent closures: remove a "
                "closure that repeats others, or avoid the dead point of the structure"
            )
        wanted = -(rows @ found) - curved - 2.0 * decay * speed - decay**2 * gap
        matrix = np.block([[mass, -own.T], [own, zero]])
        both = np.linalg.solve(matrix, np.concatenate([right[free], wanted]))
        found[free] = both[: len(mass)]
        return found, both[len(mass) :]

    # ---- all that an instant has ----

    def evaluate(self, time: float, position: ArrayLike, velocity: ArrayLike) -> Instant:
        """Return torques, forces and energies in a closed state (F,) [rad, m] of coordinates."""
        state, pose, terms = self._at(time, position, velocity)
        state[2], multipliers = self.solve(time, terms, state, 0.0)
        count, pulls, turns = len(self.columns), *self._pulls(pose, state, terms.links)
        along, up = multipliers.reshape(2, -1)
        pins = along + 1j * up
        missing = terms.mass @ state[2] + terms.bias - terms.force - terms.closures.force(pins)
        torques = np.linalg.solve(self._joint_angles[:, :count].T, missing[:count])
        forces, moments = self._reactions(pose, terms, state, np.append(pulls, pins), turns)
        kinetic, potential = self.energies(terms, state)
        return Instant(
            state[0],
            state[1],
            state[2],
            np.where(self.free[:count], self.drives(time, state), torques),
            as_vectors(pulls),
            as_vectors(pins),
            turns,
            as_vectors(forces),
            moments,
            as_vectors(pose.joints.position[:-1]),
            as_vectors(pose.joints.velocity[:-1]),
            kinetic,
            potential,
        )

    def _reactions(
        self, pose: Pose, terms: Terms, state: FloatArray, pulls: ComplexArray, turns: FloatArray
    ) -> tuple[ComplexArray, FloatArray]:
        """Return force and moment (N,) on each segment at its joint: all that hangs from it."""
        mass, inertia, _ = self._masses
        count, tree = len(mass), self.tree
        acceleration = terms.centres.jacobian @ state[2] + terms.centres.bias
        force = mass * (acceleration - complex(*np.asarray(self.gravity)))
        moment = inertia * (self._turning @ state[2]) + cross(terms.centres.position, force)
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
        mass, (stiffness, _, neutral) = self._masses[0], self._passive
        height = -(complex(*np.asarray(self.gravity)).conjugate() * terms.centres.position).real
        potential = mass @ height
        potential += 0.5 * stiffness @ (self._joint_angles @ state[0] - neutral) ** 2
        at = zip(self.links, terms.links.position, self._twist(state)[:, 0], strict=True)
        potential += sum(link.energy(*each) for link, *each in at)
        return float(0.5 * state[1] @ terms.mass @ state[1]), float(potential)

    def dissipation(self, terms: Terms, state: FloatArray) -> float:
        """Return the power [W] that dampers of joints and links take in a state (2, n) [rad, m]."""
        joints = self._passive[1] @ (self._joint_angles @ state[1]) ** 2
        twist = self._turns @ state[1]
        at = zip(self.links, terms.links.position, terms.links.velocity, twist, strict=True)
        return float(joints + sum(link.dissipation(*each) for link, *each in at))


def simulate_chains(
    assembly: Assembly,
    times: ArrayLike,
    position: ArrayLike = (),
    velocity: ArrayLike = (),
    *,
    method: Literal["DOP853", "RK45", "Radau", "LSODA"] = "DOP853",
    rtol: float = 1e-9,
    atol: float = 1e-11,
) -> ChainsResult:
    """Simulate an assembly from free coordinates (F,) [rad, m]; return it at instants (T,) [s].

    `method`, `rtol` and `atol` are those of `scipy.integrate.solve_ivp`.
    """
    # The integrators resolve every vibration, so that the cost grows with the highest frequency
    # √(k/m), that of the stiffest link; k = 1e4 to 1e6 N/m suffices for an almost rigid link.
    instants = check_array("times", times, (None,))
    if len(instants) < 2 or np.diff(instants).min() <= 0.0:
        raise InputError(f"times: expected at least two increasing instants, found {times!r}")
    start, _, terms = assembly._at(instants[0], position, velocity)
    gaps = [float(np.abs(each).max(initial=0.0)) for each in terms.closures[:2]]
    if max(gaps) > LARGEST_GAP:
        raise InputError(
            f"position, velocity: expected closures open by at most {LARGEST_GAP:g} m and opening "
            f"by at most {LARGEST_GAP:g} m/s, found {gaps[0]:.3g} m and {gaps[1]:.3g} m/s"
        )
    half, free = int(assembly.free.sum()), assembly.free

    def derivative(time: float, state: FloatArray) -> FloatArray:
        at, rates = state[:half], state[half:]
        return np.concatenate([rates, assembly.accelerations(time, at, rates, decay=DECAY)])

    states = np.zeros((len(instants), 0))
    if half:
        solution: Any = solve_ivp(  # the stubs do not resolve the options
            derivative, (instants[0], instants[-1]), start[:2, free].ravel(), t_eval=instants,
            method=method, rtol=rtol, atol=atol,
        )  # fmt: skip
        if not solution.success:
            raise SimulationError(f"{method} failed at {solution.t[-1]:g} s: {solution.message}")
        states = solution.y.T
    found = [
        assembly.evaluate(time, state[:half], state[half:])
        for time, state in zip(instants, states, strict=True)
    ]
    columns = {
        field.name: np.array([getattr(each, field.name) for each in found])
        for field in fields(Instant)
    }
    return ChainsResult(**columns, time=instants)
