"""A rigid leg on rigid ground over time: Moreau's time stepping with Newton's restitution.

In a step h from (q, v) the points that penetrate or touch at the midpoint q + v h/2 obey the law of
`dynamics.mechanics.ground.impact` at the level of velocities (Moreau 1988; Jean 1999, Comput
Methods Appl Mech Eng 177:235-257). The order is 1. The reported reaction is impulse over step,
which in an impact grows without bound as the step shrinks: use impulses and energies, not peaks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dynamics.mechanics.ground.contact import ContactPoint, contact_arms
from dynamics.mechanics.ground.impact import check_law, jump
from dynamics.mechanics.ground.leg import Leg
from dynamics.mechanics.ground.result import ContactChange, StrikeResult
from dynamics.mechanics.planar_chain import ComplexArray
from foundation.base.checks import FloatArray, check_count, check_number


def simulate_rigid_strike(
    leg: Leg,
    points: Sequence[ContactPoint],
    position: ArrayLike,
    velocity: ArrayLike,
    duration: float,
    *,
    restitution: float,
    friction: float,
    steps: int = 5000,
) -> StrikeResult:
    """Return the motion of a leg above and on rigid ground.

    Parameters
    ----------
    leg, points, position, velocity, duration
        As of `simulate_strike`, with (dof,) coordinates [m, rad] and rates.
    restitution, friction : float
        Newton's e, 0 to 1, and coefficient of friction mu, >= 0 [1].
    steps : int
        Number of steps, >= 1; the result has steps + 1 instants.

    Raises
    ------
    dynamics.simulator.equations.SimulationError
        If no combination of sticking, sliding and opening satisfies the law.
    """
    check_number("duration", duration, above=0.0, unit="s")
    check_law(restitution, friction)
    count = check_count("steps", steps)
    arms = contact_arms(leg, points)
    h = duration / count
    q, v = (np.tile(each, (count + 1, 1)) for each in leg.state(position, velocity))
    forces, loss = np.zeros((len(q), len(points), 2)), np.zeros((len(q), 3))
    for k in range(count):
        middle = q[k] + 0.5 * h * v[k]
        v[k + 1], impulse, work = _step(leg, arms, middle, v[k], h, restitution, friction)
        q[k + 1] = middle + 0.5 * h * v[k + 1]
        forces[k + 1] = impulse / h
        joints = h * leg.joint_dissipation(0.5 * (v[k] + v[k + 1]))
        loss[k + 1] = loss[k] + np.array([joints, *(-work)])
    time = np.linspace(0.0, h * (len(q) - 1), len(q))
    pressed = forces[:, :, 1] > 0.0
    return StrikeResult.of(
        leg,
        time,
        q,
        v,
        gap=np.array([leg.positions(each, arms)[:, 1] for each in q]),
        forces=forces,
        stored=np.zeros(len(q)),
        losses=loss,
        points=tuple(each.name for each in points),
        changes=tuple(
            ContactChange(float(time[k + 1]), points[p].name, bool(pressed[k + 1, p]))
            for k, p in np.argwhere(pressed[1:] != pressed[:-1])
        ),
    )


def _step(
    leg: Leg,
    arms: ComplexArray,
    middle: FloatArray,
    velocity: FloatArray,
    h: float,
    restitution: float,
    friction: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the velocity after a step, impulses (P, 2), normal and tangential work (2,)."""
    mass, bias = leg.equations(middle, velocity)
    free = velocity - h * np.linalg.solve(mass, bias)
    impulse, work = np.zeros((len(arms), 2)), np.zeros(2)
    touching = leg.positions(middle, arms)[:, 1] <= 0.0
    if not touching.any():
        return free, impulse, work
    rows = leg.jacobian(middle, arms[touching]).reshape(-1, leg.freedoms)
    struck = jump(mass, rows, velocity, free, restitution, friction)
    impulse[touching] = struck.impulse
    work = (struck.impulse * 0.5 * (struck.before + struck.after)).sum(axis=0)[::-1]
    return struck.velocity, impulse, work
