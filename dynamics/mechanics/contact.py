"""Simulation of assemblies with compliant contacts that open and close.

The state is (q, q', deflection of every contact, energy lost, work of the load). A normal force may
jump where a contact closes, so that the integration restarts there. A contact at rest has a
constant gap below zero and causes no event.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from dynamics.mechanics.chains import Assembly, Terms
from dynamics.mechanics.planar import ComplexArray, PointMotion, Pose
from dynamics.simulator.equations import SimulationError
from foundation.base.checks import FloatArray, IntArray, check_number
from foundation.contact_laws.normal import CompliantFriction, ContactLaw

BoolArray = NDArray[np.bool_]

#: Longest step [s]: a contact or a flight that is shorter could be missed between two steps.
LONGEST_STEP = 1e-3
#: Size of an event function at its own start [m], far below any length that matters.
_ROUNDING = 1e-15
#: Lower limit of the impact rate of a law [m/s].
_LEAST_APPROACH = 0.01
#: Limit against endless chatter.
_MOST_EVENTS = 100_000


class Located(NamedTuple):
    """P places where a body may touch a fixed one, every field (P,) [m]."""

    #: (P,) [m], negative in contact.
    gap: FloatArray
    #: Bodies (P,), and the places in their frames (P,) [m].
    body: IntArray
    place: ComplexArray
    #: Outward normals of the fixed bodies, (P,) [1].
    normal: ComplexArray


class Contacts(Protocol):
    """P places of an assembly that may touch fixed bodies."""

    #: Gap at which a contact counts as open [m].
    release: float
    #: Names of the contacts.
    names: tuple[str, ...]

    def locate(self, pose: Pose) -> Located:
        """Return the contacts at a pose of the tree."""
        ...


@dataclass(frozen=True)
class CompliantGround:
    """Compliant ground, or another contact, with any normal law.

    Where a surface leaves faster than the other follows, the energy left in the spring is lost.
    """

    #: Normal force over indentation and rate.
    normal: ContactLaw
    #: Friction; by default none.
    friction: CompliantFriction | None = None

    def normal_force(
        self, gap: FloatArray, gap_rate: FloatArray | float, approach: FloatArray | float = 1.0
    ) -> FloatArray:
        """Return Fn (P,) [N] of closed contacts at gaps (P,) [m], rates, rates at closing."""
        started = np.maximum(approach, _LEAST_APPROACH)
        return np.maximum(self.normal.bonded_force(-gap, -np.asarray(gap_rate), started), 0.0)

    def contact_forces(
        self,
        gap: FloatArray,
        rate: FloatArray,
        deflection: FloatArray,
        closed: BoolArray,
        approach: FloatArray | float = 1.0,
    ) -> tuple[FloatArray, FloatArray]:
        """Return T and Fn (P, 2) [N] on the bodies, and rates of deflections (P,) [m/s]."""
        normal = np.where(closed, self.normal_force(gap, rate[:, 1], approach), 0.0)
        if self.friction is None:
            return np.column_stack((np.zeros(len(gap)), normal)), np.zeros(len(gap))
        force, relaxing = self.friction.evaluate(deflection[:, None], rate[:, :1], normal)
        return np.column_stack((force[:, 0], normal)), relaxing[:, 0]

    def stored_energy(self, gap: FloatArray, deflection: FloatArray) -> FloatArray:
        """Return the total spring energy [J] at gaps and deflections (..., P) [m]."""
        normal = np.asarray(self.normal.energy(-gap)).sum(axis=-1)
        return normal + (0.0 if self.friction is None else self.friction.energy(deflection))

    def dissipation(
        self, gap: FloatArray, rate: FloatArray, forces: FloatArray, relaxing: FloatArray
    ) -> float:
        """Return the power lost [W], >= 0, of gaps (P,), rates and forces (P, 2)."""
        viscous = 0.0 if self.friction is None else self.friction.damping * relaxing**2
        sliding = viscous - forces[:, 0] * (rate[:, 0] - relaxing)
        return float(((self.normal_force(gap, 0.0) - forces[:, 1]) * rate[:, 1] + sliding).sum())


class Mode(NamedTuple):
    """Which contacts (P,) are closed, and the rate of approach at which they closed [m/s]."""

    closed: BoolArray
    approach: FloatArray


@dataclass(frozen=True)
class ContactChange:
    """A contact, `point`, that closed or opened at an instant [s], at a rate of approach [m/s]."""

    time: float
    point: str
    closed: bool
    rate: float


@dataclass(frozen=True, eq=False)
class ContactMotion:
    """Motion, contact forces and energy at T instants, with P contacts and F free coordinates."""

    #: Instants (T,) [s].
    time: FloatArray
    #: Free coordinates of the assembly (T, F) [m, rad] and their rates.
    position: FloatArray
    velocity: FloatArray
    #: Heights of the contact points (T, P) [m].
    gap: FloatArray
    #: Velocities of the points (T, P, 2) [m/s] and forces on them [N], forward and up.
    rate: FloatArray
    forces: FloatArray
    #: Kinetic energy, potential energy of gravity, joints and links, and that in contacts (T,) [J].
    kinetic: FloatArray
    potential: FloatArray
    stored: FloatArray
    #: Work lost so far in dampers of joints and links and in contacts, and work of external loads
    #: so far (T,) [J].
    loss: FloatArray
    work: FloatArray
    #: Weight of all segments [N].
    weight: float
    #: Contacts that closed and opened, in the order of time.
    changes: tuple[ContactChange, ...]

    @property
    def energy(self) -> FloatArray:
        """Kinetic, potential and stored energy together, (T,) [J]."""
        return self.kinetic + self.potential + self.stored

    @property
    def energy_error(self) -> FloatArray:
        """Change of energy that loss and work do not explain, (T,) [J], without drives, tables."""
        return self.energy - self.energy[0] + self.loss - self.work

    @property
    def reaction(self) -> FloatArray:
        """Ground reaction, forward and up, (T, 2) [N]."""
        return self.forces.sum(axis=1)

    @property
    def peak_reaction(self) -> float:
        """Largest vertical ground reaction over the weight [1]."""
        check_number("weight", self.weight, above=0.0, unit="N")
        return float(self.reaction[:, 1].max() / self.weight)


class _Touch(NamedTuple):
    """State (3, n), equations, points, gaps, rates and forces of the contacts at an instant."""

    state: FloatArray
    terms: Terms
    points: PointMotion
    normal: ComplexArray
    gap: FloatArray
    rate: FloatArray
    forces: FloatArray
    relaxing: FloatArray


@dataclass(eq=False)
class ContactProblem:
    """An assembly of F free coordinates with P contacts, under a load (n,) [N, N m] over time."""

    assembly: Assembly
    contacts: Contacts
    law: CompliantGround
    load: Callable[[float], FloatArray] | None = None
    mode: Mode = field(init=False)
    changes: list[ContactChange] = field(default_factory=list)

    def simulate(
        self,
        position: FloatArray,
        velocity: FloatArray,
        times: FloatArray,
        *,
        atol: float | FloatArray,
        **options: Any,
    ) -> ContactMotion:
        """Return the motion at times (T,) [s] from free coordinates (F,) [rad, m] and rates."""
        # Tolerances are of coordinates and rates; the last one holds for deflections and works as
        # well.
        count = len(self.contacts.names)
        state = np.concatenate([position, velocity, np.zeros(count + 2)])
        tolerance = np.full(len(state), np.atleast_1d(atol)[-1])
        tolerance[: np.size(atol)] = atol
        self.mode = Mode(np.zeros(count, dtype=bool), np.zeros(count))
        at = self.touch(float(times[0]), state, self.mode)
        closed = (at.gap < 0.0) | ((at.gap == 0.0) & (at.rate[:, 1] < 0.0))
        self.mode = Mode(closed, -at.rate[:, 1])
        return self._result(times, *self._integrate(state, times, atol=tolerance, **options))

    def _integrate(
        self, state: FloatArray, times: FloatArray, **options: Any
    ) -> tuple[FloatArray, list[Mode]]:
        """Return states (T, n) and modes at the instants (T,)."""
        now, states = float(times[0]), []
        modes: list[Mode] = []
        for _ in range(_MOST_EVENTS):
            events = [self._event(now, p) for p in range(len(self.mode.closed))]
            solution: Any = solve_ivp(  # the stubs do not resolve the options
                self.derivative, (now, times[-1]), state, t_eval=times[len(modes) :],
                events=events, max_step=LONGEST_STEP, **options,
            )  # fmt: skip
            if solution.status < 0:
                raise SimulationError(f"contacts at {now:.6g} s: {solution.message}")
            # Without an instant before the event, scipy returns empty lists.
            states.append(np.reshape(solution.y, (len(state), -1)).T)
            modes += [self.mode] * len(states[-1])
            crossed = np.array([len(each) > 0 for each in solution.t_events], dtype=bool)
            if not crossed.any():
                break
            first = int(np.argmax(crossed))
            now, state = float(solution.t_events[first][0]), solution.y_events[first][0]
            if now >= times[-1]:
                break
            self._switch(now, state, crossed)
        else:
            raise SimulationError(f"contacts at {now:.6g} s: more than {_MOST_EVENTS} events")
        return np.concatenate(states), modes

    def _event(self, begin: float, point: int) -> Callable[[float, FloatArray], float]:
        """Return the terminal event at which a contact closes or opens after a time."""
        closed = bool(self.mode.closed[point])
        level, sign = (self.contacts.release, -1.0) if closed else (0.0, 1.0)

        def crossing(time: float, state: FloatArray) -> float:
            # At the beginning rounding decides the sign. There the sign is set to that before the
            # event, so that a phase shorter than the first step, or of a contact that changes
            # together with another, is found.
            pose = self._pose(time, state)[1]
            value = float(self.contacts.locate(pose).gap[point]) - level
            return value if time > begin else sign * max(sign * value, _ROUNDING)

        crossing.terminal = True  # type: ignore[attr-defined]
        crossing.direction = -sign  # type: ignore[attr-defined]
        return crossing

    def _switch(self, time: float, state: FloatArray, crossed: BoolArray) -> None:
        # Of contacts that close or open together, one event alone is reported.
        at, before = self.touch(time, state, self.mode), self.mode.closed
        closed = np.where(crossed, ~before, at.gap < np.where(before, self.contacts.release, 0.0))
        rate = -at.rate[:, 1]
        self.mode = Mode(closed, np.where(closed & ~before, rate, self.mode.approach))
        self.changes += [
            ContactChange(time, self.contacts.names[p], bool(closed[p]), float(rate[p]))
            for p in np.flatnonzero(closed != before)
        ]

    def _pose(self, time: float, state: FloatArray) -> tuple[FloatArray, Pose]:
        half = len(self.assembly.coordinate_names)
        full = self.assembly.complete(time, state[:half], state[half : 2 * half])
        return full, self.assembly.tree.at(full[0], full[1])

    def touch(self, time: float, state: FloatArray, mode: Mode) -> _Touch:
        """Return the contacts (P,) at a time [s] in a state of 2 F + P + 2 entries."""
        full, pose = self._pose(time, state)
        found = self.contacts.locate(pose)
        points = pose.points(found.body, found.place)
        # The tangent is the normal turned clockwise.
        along = found.normal.conj() * points.velocity
        rate = np.column_stack([-along.imag, along.real])
        deflection = state[-2 - len(found.gap) : -2]
        forces, relaxing = self.law.contact_forces(found.gap, rate, deflection, *mode)
        terms = self.assembly.equations(pose, full)
        return _Touch(full, terms, points, found.normal, found.gap, rate, forces, relaxing)

    def derivative(self, time: float, state: FloatArray) -> FloatArray:
        """Return the rate (n,) of a state of n = 2 F + P + 2 entries [any unit] at a time [s]."""
        assembly, at = self.assembly, self.touch(time, state, self.mode)
        full = at.state
        pushed = at.points.force((at.forces[:, 1] - 1j * at.forces[:, 0]) * at.normal)
        load = np.zeros(full.shape[1]) if self.load is None else self.load(time)
        terms = at.terms._replace(force=at.terms.force + pushed + load)
        acceleration = assembly.solve(time, terms, full)[0]
        # A step of free flight may reach into the other body before the event ends the flight.
        gap = np.where(self.mode.closed, at.gap, 0.0)
        lost = self.law.dissipation(gap, at.rate, at.forces, at.relaxing)
        works = [assembly.dissipation(at.terms, full) + lost, load @ full[1]]
        free = assembly.free
        return np.concatenate([full[1, free], acceleration[free], at.relaxing, works])

    def _result(self, times: FloatArray, states: FloatArray, modes: list[Mode]) -> ContactMotion:
        assembly, half = self.assembly, len(self.assembly.coordinate_names)
        touched = [self.touch(t, y, m) for t, y, m in zip(times, states, modes, strict=True)]
        energy = np.array([assembly.energies(each.terms, each.state) for each in touched])
        gap = np.array([each.gap for each in touched])
        return ContactMotion(
            time=times,
            position=states[:, :half],
            velocity=states[:, half : 2 * half],
            gap=gap,
            rate=np.array([each.rate for each in touched]),
            forces=np.array([each.forces for each in touched]),
            kinetic=energy[:, 0],
            potential=energy[:, 1],
            stored=self.law.stored_energy(gap, states[:, 2 * half : -2]),
            loss=states[:, -2],
            work=states[:, -1],
            weight=assembly.weight,
            changes=tuple(self.changes),
        )
