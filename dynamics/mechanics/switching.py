"""Integration of equations that change their form at events, such as contacts that open and close.

Between events the right-hand side is smooth; the integration stops at each event, the equations
switch, and the integration starts anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from dynamics.simulator.equations import SimulationError
from foundation.base.checks import FloatArray

#: Longest step [s]: a contact or a flight that is shorter could be missed between two steps.
LONGEST_STEP = 1e-3
#: Size of an event function at its own start [m], far below any length that matters.
_ROUNDING = 1e-15


class SwitchingEquations(Protocol):
    """Equations of motion with a form that changes at events."""

    @property
    def mode(self) -> Any:
        """The present form of the equations, such as the points in contact."""
        ...

    def derivative(self, time: float, state: FloatArray) -> FloatArray:
        """Return the rate (n,) of the state [1/s] in the present form."""
        ...

    def distances(self) -> Sequence[tuple[Callable[[FloatArray], float], float]]:
        """Return functions of the state (n,) [1] and the sign, 1 or -1, of each in this form."""
        ...

    def switch(self, time: float, state: FloatArray, crossed: NDArray[np.bool_]) -> None:
        """Change the form at a state (n,) [1]; `crossed` flags the distances that changed sign."""
        ...


def integrate_switching(
    equations: SwitchingEquations,
    state: FloatArray,
    times: FloatArray,
    *,
    name: str,
    most_events: int,
    **options: Any,
) -> tuple[FloatArray, list[Any]]:
    """Return states (T, n) [1] and forms of the equations, a list, at increasing instants (T,) [s].

    The state (n,) is that at the first instant, in the unit of the equations; `name` is that of the
    system in messages, `options` are method and tolerances of `scipy.integrate.solve_ivp`. Raises
    `SimulationError` if the integrator fails or there are more than `most_events` events.
    """
    now, states = float(times[0]), []
    modes: list[Any] = []
    for _ in range(most_events + 1):
        wanted = times[len(modes) :]
        solution: Any = solve_ivp(  # the stubs do not resolve the options
            equations.derivative,
            (now, times[-1]),
            state,
            t_eval=wanted,
            events=[_event(now, *each) for each in equations.distances()],
            max_step=LONGEST_STEP,
            **options,
        )
        if solution.status < 0:
            raise SimulationError(f"{name} at {now:.6g} s: integration failed: {solution.message}")
        # Without an instant before the event, scipy returns empty lists.
        states.append(np.reshape(solution.y, (len(state), -1)).T)
        modes += [equations.mode] * len(states[-1])
        crossed = np.array([len(each) > 0 for each in solution.t_events])
        if not crossed.any():
            return np.concatenate(states), modes
        first = int(np.argmax(crossed))
        now, state = float(solution.t_events[first][0]), solution.y_events[first][0]
        if now >= times[-1]:
            return np.concatenate(states), modes
        equations.switch(now, state, crossed)
    raise SimulationError(f"{name} at {now:.6g} s: more than {most_events} contact events")


def _event(
    begin: float, distance: Callable[[FloatArray], float], sign: float
) -> Callable[[float, FloatArray], float]:
    """Return the terminal event at which a distance loses its sign after a time."""

    def crossing(time: float, state: FloatArray) -> float:
        # At the beginning rounding decides the sign. There the sign is set to that before the
        # event, so that a phase shorter than the first step, or of a contact that changes together
        # with another, is found.
        value = distance(state)
        return value if time > begin else sign * max(sign * value, _ROUNDING)

    crossing.terminal = True  # type: ignore[attr-defined]
    crossing.direction = -sign  # type: ignore[attr-defined]
    return crossing
