"""Free impact of a mass on a contact law: the restitution that the law returns.

The contact ends when the indentation or, earlier, the force is zero: surfaces do not pull. The
equation m δ̈ = -F(δ, δ̇, v) is integrated in δ/L and δ̇/v, with the largest indentation L of the
elastic part, so that the tolerance is independent of mass, stiffness and speed.
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp


@dataclass(frozen=True)
class FreeImpact:
    """Restitution [1], duration [s], largest indentation [m] and kinetic energy lost [J]."""

    restitution: float
    duration: float
    largest_indentation: float
    energy_loss: float


def free_impact(law, m, v, rtol=1e-10):
    """Return the outcome of an impact of a mass [kg] at a speed [m/s] on a law."""
    power = law.exponent + 1.0
    length = float((power * m * v**2 / (2.0 * law.stiffness)) ** (1.0 / power))

    def force(state):
        return float(law.bonded_force(length * state[0], v * state[1], v)) * length / (m * v**2)

    def phase(start, *events):
        for event in events:
            event.terminal, event.direction = True, -1.0
        found = solve_ivp(lambda _, s: (s[1], -force(s)), (0.0, 1e6), start, "DOP853",
                          events=events, rtol=rtol, atol=1e-2 * rtol)  # fmt: skip
        assert found.status == 1, found.message
        return found.t[-1], found.y[:, -1]

    # The turn separates the phases, since a law may change its branch there; the second phase
    # starts just after the turn, on the branch of retreat, and ends beyond rounding.
    turn_time, turn = phase(np.array([0.0, 1.0]), lambda _, s: s[1])
    back = np.array([turn[0], -np.finfo(float).tiny])
    return_time, end = phase(back, lambda _, s: s[0], lambda _, s: force(s) + 1e-10)
    e = max(float(-end[1]), 0.0)
    duration = (turn_time + return_time) * length / v
    return FreeImpact(e, duration, float(turn[0]) * length, 0.5 * m * v**2 * (1.0 - e**2))
