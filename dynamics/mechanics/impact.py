"""Free impact of a mass on a contact law, and the resulting coefficient of restitution.

The contact ends when the indentation or, earlier, the force is zero: surfaces do not pull. The
equation m δ̈ = -F(δ, δ̇, v) is integrated in δ/L and δ̇/v, with the largest indentation L of the
elastic part, so that the tolerance is independent of mass, stiffness and speed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from dynamics.simulator.equations import SimulationError
from foundation.base.checks import FloatArray, check_number
from foundation.base.errors import InputError
from foundation.contact_laws import ContactLaw

#: Pull, relative to the largest elastic force, that indicates separation beyond rounding.
_PULL = 1e-10
#: Longest contact [L/v].
_LONGEST = 1e6


@dataclass(frozen=True)
class FreeImpact:
    """Outcome of one impact.

    Parameters
    ----------
    restitution : float
        Speed of separation over speed of approach, e [1].
    duration, largest_indentation : float
        Time from first touch to separation [s], and largest indentation [m].
    energy_loss : float
        Kinetic energy lost, m v² (1 - e²) / 2 [J].
    """

    restitution: float
    duration: float
    largest_indentation: float
    energy_loss: float


def coefficient_of_restitution(
    law: ContactLaw, mass: float, speed: float, *, rtol: float = 1e-10
) -> FreeImpact:
    """Return the outcome of a free impact on a law.

    Parameters
    ----------
    law : ContactLaw
        Contact law.
    mass : float
        Mass m [kg], > 0; for two free bodies 1/m = 1/m₁ + 1/m₂.
    speed : float
        Speed of approach v [m/s], > 0.
    rtol : float
        Relative tolerance of the integration [1], 1e-13 to 1e-3.

    Returns
    -------
    FreeImpact
        Restitution, duration, largest indentation and energy loss.

    Raises
    ------
    InputError
        If an argument is out of its range.
    SimulationError
        If the integration fails or the contact lasts longer than 1e6 L/v, as is possible for a
        restitution below 1e-6.
    """
    if not isinstance(law, ContactLaw):
        raise InputError(f"law: expected a ContactLaw, found {law!r}")
    m = check_number("mass", mass, above=0.0, unit="kg")
    v = check_number("speed", speed, above=0.0, unit="m/s")
    tolerance = check_number("rtol", rtol, at_least=1e-13, at_most=1e-3)
    power = law.exponent + 1.0
    length = float((power * m * v**2 / (2.0 * law.stiffness)) ** (1.0 / power))

    def force(state: FloatArray) -> float:
        """Return F L / (m v²) at (δ/L, δ̇/v)."""
        if not np.isfinite(state).all():
            raise SimulationError(f"impact on {law}: the damping is too large for the integrator")
        bonded = law.bonded_force(length * state[0], v * state[1], v)
        return float(bonded) * length / (m * v**2)

    # The turn separates the phases, since a law may change its branch there; the second phase
    # starts just after the turn, on the branch of retreat.
    turn_time, turn = _integrate(force, np.array([0.0, 1.0]), [lambda _, s: s[1]], tolerance)
    start = np.array([turn[0], -np.finfo(np.float64).tiny])
    events = [lambda _, s: s[0], lambda _, s: force(s) + _PULL]
    return_time, end = _integrate(force, start, events, tolerance)
    restitution = max(float(-end[1]), 0.0)  # not below zero by integration errors
    return FreeImpact(
        restitution,
        (turn_time + return_time) * length / v,
        float(turn[0]) * length,
        0.5 * m * v**2 * (1.0 - restitution**2),
    )


def _integrate(
    force: Callable[[FloatArray], float],
    start: FloatArray,
    events: list[Callable[[float, FloatArray], float]],
    rtol: float,
) -> tuple[float, FloatArray]:
    """Return time and state (2,) at the first downward zero crossing of an event."""
    for event in events:
        event.terminal, event.direction = True, -1.0  # type: ignore[attr-defined]
    with np.errstate(over="ignore", invalid="ignore"):
        solution = solve_ivp(
            lambda time, state: (state[1], -force(state)),
            (0.0, _LONGEST),
            start,
            method="DOP853",
            events=events,
            rtol=rtol,
            atol=1e-2 * rtol,
        )
    if solution.status != 1:
        raise SimulationError(f"the contact did not end: {solution.message}")
    return float(solution.t[-1]), solution.y[:, -1]
