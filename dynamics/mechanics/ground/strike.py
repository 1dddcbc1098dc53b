"""A leg strikes compliant ground: integration with penalty contact.

The state is (q, q', deflection of every contact point, work lost in joints, normal and tangential).
The normal force jumps where a point with damping arrives on the ground, so that the integration
stops there and starts anew; between such instants the right-hand side is continuous. A point that
lies still on the ground has a constant gap below zero and needs no event. No step is longer than
1 ms: a point that dips below the ground and rises within one step would not be noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

from dynamics.mechanics.ground.contact import ContactPoint, PenaltyGround, contact_arms
from dynamics.mechanics.ground.leg import Leg
from dynamics.mechanics.ground.result import ContactChange, StrikeResult
from dynamics.simulator.equations import SimulationError
from foundation.checks import FloatArray, check_array, check_in, check_number
from foundation.errors import InputError

BoolArray = NDArray[np.bool_]

METHODS = ("LSODA", "DOP853", "RK45", "Radau")
#: Height at which a point counts as having left the ground [m]. Above zero, so that rounding at the
#: instant of arrival cannot be mistaken for a departure.
_RELEASE = 1e-10
#: [s].
_LONGEST_STEP = 1e-3
#: Height far below any that matters [m].
_ROUNDING = 1e-15
_MOST_CHANGES = 100_000


def simulate_strike(
    leg: Leg,
    points: Sequence[ContactPoint],
    ground: PenaltyGround,
    position: ArrayLike,
    velocity: ArrayLike,
    duration: float,
    *,
    samples: int = 1001,
    rtol: float = 1e-9,
    atol: float = 1e-10,
    method: str = "LSODA",
) -> StrikeResult:
    """Return the motion of a leg above and on the ground.

    Parameters
    ----------
    leg : Leg
        What moves.
    points : sequence of ContactPoint
        Where it may touch the ground, P points.
    ground : PenaltyGround
        Contact and friction.
    position, velocity : (dof,) array_like
        Coordinates [m, rad] and rates at time 0.
    duration : float
        [s], > 0.
    samples : int
        Number of instants in the result, equally spaced from 0 to the duration, >= 2.
    rtol, atol : float
        Tolerances of the integrator; the absolute one in the units of the state [m, rad, J].
    method : str
        Integrator of `scipy.integrate.solve_ivp`, one of `METHODS`.

    Raises
    ------
    InputError
        If an argument is out of its range.
    SimulationError
        If the integrator gives up.
    """
    check_in("method", method, METHODS)
    check_number("duration", duration, above=0.0, unit="s")
    check_number("samples", samples, at_least=2)
    check_number("rtol", rtol, above=0.0)
    check_number("atol", atol, above=0.0)
    if not isinstance(ground, PenaltyGround):
        raise InputError(f"ground: expected a PenaltyGround, found {ground!r}")
    problem = _Problem(leg, ground, contact_arms(leg, points))
    state = problem.start(position, velocity)
    options = {"rtol": rtol, "atol": atol, "method": method}
    time = np.linspace(0.0, duration, int(samples))
    states, closed, changes = _integrate(problem, state, time, options)
    names = tuple(each.name for each in points)
    return problem.result(time, states, closed, names, changes)


def _integrate(
    problem: _Problem, state: FloatArray, time: FloatArray, options: dict[str, Any]
) -> tuple[FloatArray, BoolArray, list[tuple[float, int, bool]]]:
    """Return states (T, N), contact (T, P) at the times, and the changes of contact."""
    now, closed = 0.0, problem.touching(state)
    states = np.empty((len(time), len(state)))
    contact = np.empty((len(time), len(closed)), dtype=bool)
    states[0], contact[0] = state, closed
    changes: list[tuple[float, int, bool]] = []
    while now < time[-1]:
        solution: Any = solve_ivp(  # its stubs do not know what options make of it
            problem.derivative,
            (now, time[-1]),
            state,
            args=(closed,),
            events=problem.events(now, closed),
            dense_output=True,
            max_step=_LONGEST_STEP,
            **options,
        )
        if solution.status < 0:
            raise SimulationError(f"ground contact at {solution.t[-1]:.6g} s: {solution.message}")
        inside = (time > now) & (time <= solution.t[-1])
        if inside.any():
            states[inside], contact[inside] = solution.sol(time[inside]).T, closed
        now, state = float(solution.t[-1]), solution.y[:, -1]
        if solution.status == 0:
            break
        met = np.array([len(found) > 0 for found in solution.t_events])
        before, closed = closed, problem.next_contact(state, closed, met)
        changes += [(now, int(p), bool(closed[p])) for p in np.flatnonzero(closed != before)]
        if len(changes) > _MOST_CHANGES:
            raise SimulationError(f"{_MOST_CHANGES} changes of contact until {now:.6g} s")
    return states, contact, changes


@dataclass(frozen=True, eq=False)
class _Problem:
    """Equations of one leg on one ground, in the state of this module."""

    leg: Leg
    ground: PenaltyGround
    arms: FloatArray

    def start(self, position: ArrayLike, velocity: ArrayLike) -> FloatArray:
        n = self.leg.freedoms
        q = check_array("position", position, (n,))
        v = check_array("velocity", velocity, (n,))
        return np.concatenate([q, v, np.zeros(len(self.arms) + 3)])

    def parts(self, state: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Coordinates, rates and deflections."""
        n = self.leg.freedoms
        return state[:n], state[n : 2 * n], state[2 * n : -3]

    def heights(self, state: FloatArray) -> FloatArray:
        return self.leg.positions(state[: self.leg.freedoms], self.arms)[:, 1]

    def touching(self, state: FloatArray) -> BoolArray:
        """Which points are in contact at the start, (P,) bool."""
        q, velocity, _ = self.parts(state)
        rate = self.leg.jacobian(q, self.arms)[:, 1] @ velocity
        gap = self.heights(state)
        return (gap < 0.0) | ((gap == 0.0) & (rate < 0.0))

    def next_contact(self, state: FloatArray, closed: BoolArray, met: BoolArray) -> BoolArray:
        """Which points are in contact after an event, (P,) bool.

        Of points that meet or leave the ground together, one event alone is reported.
        """
        gap = self.heights(state)
        return np.where(met, ~closed, gap < np.where(closed, _RELEASE, 0.0))

    def events(self, begin: float, closed: BoolArray) -> list[Callable[..., float]]:
        """Arrival of every open point, departure of every closed one, after a time."""
        return [self._event(begin, point, bool(shut)) for point, shut in enumerate(closed)]

    def _event(self, begin: float, point: int, shut: bool) -> Callable[..., float]:
        level, sign = (_RELEASE, -1.0) if shut else (0.0, 1.0)

        def crossing(time: float, state: FloatArray, closed: BoolArray) -> float:
            value = float(self.heights(state)[point]) - level
            # Of points that arrive or leave together one is first by rounding. At the beginning
            # the others have the sign of before, so that the search finds that they follow.
            return value if time > begin else sign * max(sign * value, _ROUNDING)

        crossing.terminal = True  # type: ignore[attr-defined]
        crossing.direction = 1.0 if shut else -1.0  # type: ignore[attr-defined]
        return crossing

    def contact(
        self, state: FloatArray, closed: BoolArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Jacobian (P, 2, dof), gap (P,), velocity (P, 2), forces (P, 2), rate of deflection."""
        q, velocity, deflection = self.parts(state)
        jacobian = self.leg.jacobian(q, self.arms)
        gap, rate = self.heights(state), jacobian @ velocity
        normal = np.where(closed, self.ground.normal_force(gap, rate[:, 1]), 0.0)
        friction, relaxing = self.ground.friction_force(deflection, rate[:, 0], normal)
        return jacobian, gap, rate, np.column_stack((friction, normal)), relaxing

    def derivative(self, time: float, state: FloatArray, closed: BoolArray) -> FloatArray:
        q, velocity, _ = self.parts(state)
        jacobian, gap, rate, forces, relaxing = self.contact(state, closed)
        matrix, bias = self.leg.equations(q, velocity)
        pushed = forces.ravel() @ jacobian.reshape(forces.size, -1)
        acceleration = np.linalg.solve(matrix, pushed - bias)
        lost = self.ground.dissipation(gap, rate, forces, relaxing)
        joints = self.leg.joint_dissipation(velocity)
        return np.concatenate([velocity, acceleration, relaxing, [joints, *lost]])

    def result(
        self,
        time: FloatArray,
        states: FloatArray,
        closed: BoolArray,
        names: tuple[str, ...],
        changes: list[tuple[float, int, bool]],
    ) -> StrikeResult:
        n = self.leg.freedoms
        found = [self.contact(y, shut) for y, shut in zip(states, closed, strict=True)]
        gap = np.array([each[1] for each in found])
        q, velocity = states[:, :n], states[:, n : 2 * n]
        return StrikeResult(
            time=time,
            position=q,
            velocity=velocity,
            gap=gap,
            forces=np.array([each[3] for each in found]),
            kinetic=np.array(
                [self.leg.kinetic_energy(*each) for each in zip(q, velocity, strict=True)]
            ),
            potential=np.array([self.leg.potential_energy(each) for each in q]),
            stored=self.ground.stored_energy(gap, states[:, 2 * n : -3]),
            joint_loss=states[:, -3],
            normal_loss=states[:, -2],
            tangential_loss=states[:, -1],
            weight=self.leg.weight,
            points=names,
            changes=tuple(ContactChange(t, names[p], shut) for t, p, shut in changes),
        )
