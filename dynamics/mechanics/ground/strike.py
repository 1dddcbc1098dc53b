"""A leg strikes compliant ground: integration with penalty contact.

The state is (q, q', deflection of every contact point, work lost in joints, normal and tangential).
The normal force jumps where a damped point arrives on the ground, so that the integration stops
there and restarts; between such instants the right-hand side is continuous. A point at rest on the
ground has a constant gap below zero and causes no event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.mechanics.ground.contact import ContactPoint, PenaltyGround, contact_arms
from dynamics.mechanics.ground.leg import Leg
from dynamics.mechanics.ground.result import ContactChange, StrikeResult
from dynamics.mechanics.planar_chain import ComplexArray
from dynamics.mechanics.switching import integrate_switching
from foundation.base.checks import FloatArray, check_count, check_in, check_number
from foundation.base.errors import InputError

BoolArray = NDArray[np.bool_]

METHODS = ("LSODA", "DOP853", "RK45", "Radau")
#: Height at which a point counts as having left the ground [m]. Above zero, so that rounding at the
#: instant of arrival cannot be mistaken for a departure.
_RELEASE = 1e-10
_MOST_EVENTS = 100_000


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
        The leg.
    points : sequence of ContactPoint
        Points of the leg that may touch the ground, P points.
    ground : PenaltyGround
        Contact and friction.
    position, velocity : (dof,) array_like
        Coordinates [m, rad] and rates at time 0.
    duration : float
        Simulated time [s], > 0.
    samples : int
        Number of instants in the result, equally spaced from 0 to the duration, >= 2.
    rtol, atol : float
        Relative and absolute tolerance of the integrator [1; m, rad, J].
    method : str
        Integrator of `scipy.integrate.solve_ivp`, one of `METHODS`.

    Raises
    ------
    SimulationError
        If the integrator fails.
    """
    check_in("method", method, METHODS)
    check_number("duration", duration, above=0.0, unit="s")
    count = check_count("samples", samples, at_least=2)
    check_number("rtol", rtol, above=0.0)
    check_number("atol", atol, above=0.0)
    if not isinstance(ground, PenaltyGround):
        raise InputError(f"ground: expected a PenaltyGround, found {ground!r}")
    arms = contact_arms(leg, points)
    q, v = leg.state(position, velocity)
    gap, rate = leg.positions(q, arms)[:, 1], leg.jacobian(q, arms)[:, 1] @ v
    closed = (gap < 0.0) | ((gap == 0.0) & (rate < 0.0))
    names = tuple(each.name for each in points)
    problem = _Problem(leg, ground, arms, names, closed)
    time = np.linspace(0.0, duration, count)
    states, modes = integrate_switching(
        problem,
        np.concatenate([q, v, np.zeros(len(arms) + 3)]),
        time,
        name="ground contact",
        most_events=_MOST_EVENTS,
        rtol=rtol,
        atol=atol,
        method=method,
    )
    return problem.result(time, states, modes)


@dataclass(eq=False)
class _Problem:
    """Equations of one leg on one ground; the mode holds the points in contact, (P,) bool."""

    leg: Leg
    ground: PenaltyGround
    arms: ComplexArray
    points: tuple[str, ...]
    mode: BoolArray
    changes: list[ContactChange] = field(default_factory=list)

    def heights(self, state: FloatArray) -> FloatArray:
        return self.leg.positions(state[: self.leg.freedoms], self.arms)[:, 1]

    def distances(self) -> list[tuple[Callable[[FloatArray], float], float]]:
        """Arrival of every open point, departure of every closed point."""
        return [
            (self._above(p, _RELEASE), -1.0) if shut else (self._above(p, 0.0), 1.0)
            for p, shut in enumerate(self.mode)
        ]

    def _above(self, point: int, level: float) -> Callable[[FloatArray], float]:
        return lambda state: float(self.heights(state)[point]) - level

    def switch(self, time: float, state: FloatArray, crossed: BoolArray) -> None:
        # Of points that meet or leave the ground together, one event alone is reported.
        gap, before = self.heights(state), self.mode
        self.mode = np.where(crossed, ~before, gap < np.where(before, _RELEASE, 0.0))
        self.changes += [
            ContactChange(time, self.points[p], bool(self.mode[p]))
            for p in np.flatnonzero(self.mode != before)
        ]

    def contact(
        self, state: FloatArray, closed: BoolArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Jacobian (P, 2, dof), gap (P,), velocity (P, 2), forces (P, 2), rate of deflection."""
        n = self.leg.freedoms
        jacobian = self.leg.jacobian(state[:n], self.arms)
        gap, rate = self.heights(state), jacobian @ state[n : 2 * n]
        forces, relaxing = self.ground.contact_forces(gap, rate, state[2 * n : -3], closed)
        return jacobian, gap, rate, forces, relaxing

    def derivative(self, time: float, state: FloatArray) -> FloatArray:
        n = self.leg.freedoms
        velocity = state[n : 2 * n]
        jacobian, gap, rate, forces, relaxing = self.contact(state, self.mode)
        matrix, bias = self.leg.equations(state[:n], velocity)
        pushed = forces.ravel() @ jacobian.reshape(forces.size, -1)
        acceleration = np.linalg.solve(matrix, pushed - bias)
        lost = self.ground.dissipation(gap, rate, forces, relaxing)
        joints = self.leg.joint_dissipation(velocity)
        return np.concatenate([velocity, acceleration, relaxing, [joints, *lost]])

    def result(self, time: FloatArray, states: FloatArray, modes: list[BoolArray]) -> StrikeResult:
        n = self.leg.freedoms
        contacts = [self.contact(y, shut) for y, shut in zip(states, modes, strict=True)]
        gap = np.array([each[1] for each in contacts])
        return StrikeResult.of(
            self.leg,
            time,
            states[:, :n],
            states[:, n : 2 * n],
            gap=gap,
            forces=np.array([each[3] for each in contacts]),
            stored=self.ground.stored_energy(gap, states[:, 2 * n : -3]),
            losses=states[:, -3:],
            points=self.points,
            changes=tuple(self.changes),
        )
