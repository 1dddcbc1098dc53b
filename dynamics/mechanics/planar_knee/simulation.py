"""Simulation of the planar knee, contact by contact.

The integrator, DOP853 of scipy (Hairer, Nørsett & Wanner 1993, II.5), stops at every start and end
of a contact, where the indentation passes zero. The rate at the start, the impact rate, is kept
for the law until the end. The work of the pull W and the loss in the contact D are states of their
own, so that

    kinetic + gravitational + ligaments + contact + D - W

is constant but for the error of integration.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from dynamics.mechanics.planar_knee.contact_point import Angles
from dynamics.mechanics.planar_knee.knee import ContactState, PlanarKnee
from dynamics.mechanics.planar_knee.motion import Impact, Phase, PlanarMotion, collect_motion
from dynamics.simulator.equations import SimulationError
from foundation.checks import FloatArray, check_array, check_number

#: Absolute tolerances of x, y, φ, v_x, v_y, ω, W and D as parts of the relative tolerance.
_SCALES = np.array([1e-2, 1e-2, 1e-1, 1e-1, 1e-1, 1.0, 1e-1, 1e-1])
#: Longest step [s]: a shorter contact or flight could be missed between two steps.
_LONGEST_STEP = 1e-3
#: Indentation [m] far below any that matters.
_TOUCH = 1e-15
#: Most phases of a simulation, against endless chatter.
_MOST_PHASES = 10_000


@dataclass
class _Phases:
    """Equations of motion and their memory: last contact point, phase, impact rate."""

    knee: PlanarKnee
    start: Angles | None = None
    touching: bool = False
    impact_rate: float = 0.0
    impacts: list[Impact] = field(default_factory=list)

    def contact(self, state: FloatArray) -> ContactState:
        found = self.knee.contact_state(state, self.start)
        self.start = found.point.angles
        return found

    def derivative(self, time: float, state: FloatArray) -> FloatArray:
        contact = self.contact(state)
        if not self.touching:
            # A step of free flight may reach into the bodies before the event cuts it short:
            # there the equations go on smoothly.
            contact = contact._replace(indentation=min(contact.indentation, 0.0))
        loads = self.knee.loads(time, state, contact, self.impact_rate)
        f_x, f_y, moment = loads.force
        mass, inertia = self.knee.mass, self.knee.inertia
        rates = (f_x / mass, f_y / mass, moment / inertia, loads.pull_power, loads.loss_power)
        return np.array([*state[3:6].tolist(), *rates])

    def ending(self, begin: float) -> Callable[[float, FloatArray], float]:
        """Return the indentation as the event that ends the phase that begins at a time.

        At the beginning itself rounding decides the sign. There it is set to that of the phase,
        so that a phase shorter than the first step is seen to end.
        """
        sign = 1.0 if self.touching else -1.0

        def crossing(time: float, state: FloatArray) -> float:
            depth = self.contact(state).indentation
            return depth if time > begin else sign * max(sign * depth, _TOUCH)

        crossing.terminal = True  # type: ignore[attr-defined]
        crossing.direction = -sign  # type: ignore[attr-defined]
        return crossing

    def switch(self, time: float, state: FloatArray) -> None:
        """Start or end a contact."""
        self.touching = not self.touching
        if self.touching:
            self.impact_rate = self.contact(state).rate
            self.impacts.append(Impact(time, self.impact_rate))


def simulate(
    knee: PlanarKnee,
    initial: ArrayLike,
    duration: float,
    *,
    step: float = 5e-4,
    tolerance: float = 1e-9,
) -> PlanarMotion:
    """Simulate the motion of the tibia from a state.

    Parameters
    ----------
    knee : PlanarKnee
        The system.
    initial : (6,) float64
        (x, y, φ, v_x, v_y, ω) at t = 0 [m, rad, s]. Bodies that overlap there count as in contact
        since an impact at that rate (but see `PlanarKnee.least_impact_rate`).
    duration : float
        [s], > 0.
    step : float
        Between the instants of the result [s], > 0; the integrator chooses its own steps.
    tolerance : float
        Relative tolerance of the integrator, 1e-13 to 1e-2.

    Raises
    ------
    InputError
        If an argument is not finite or out of its range.
    SimulationError
        If the integrator fails, or the tibia leaves the profile.
    """
    start = check_array("initial", initial, (6,))
    check_number("duration", duration, above=0.0, unit="s")
    check_number("step", step, above=0.0, unit="s")
    check_number("tolerance", tolerance, at_least=1e-13, at_most=1e-2)
    count = max(math.ceil(duration / step - 1e-9), 1)
    instants = np.linspace(0.0, duration, count + 1)
    phases = _Phases(knee)
    first = phases.contact(start)
    phases.touching, phases.impact_rate = first.indentation > 0.0, first.rate
    now, state = 0.0, np.concatenate((start, np.zeros(2)))
    parts: list[Phase] = []
    while now < duration:
        if len(parts) == _MOST_PHASES:
            raise SimulationError(f"planar knee at {now:g} s: {_MOST_PHASES} phases of contact")
        wanted = instants[instants > now] if parts else instants
        part, now, state = _integrate(phases, now, state, wanted, tolerance)
        parts.append(part)
        if now < duration:
            phases.switch(now, state)
    return collect_motion(knee, parts, tuple(phases.impacts))


def _integrate(
    phases: _Phases, begin: float, state: FloatArray, instants: FloatArray, tolerance: float
) -> tuple[Phase, float, FloatArray]:
    """Return the phase up to its end or the last instant, and time and state there."""
    solved = solve_ivp(
        phases.derivative,
        (begin, instants[-1]),
        state,
        method="DOP853",
        t_eval=instants,
        events=phases.ending(begin),
        rtol=tolerance,
        atol=tolerance * _SCALES,
        max_step=_LONGEST_STEP,
    )
    if solved.status < 0:
        raise SimulationError(f"planar knee at {begin:g} s: integration failed: {solved.message}")
    # Without an instant in the phase, scipy returns empty lists.
    phase = Phase(np.array(solved.t), np.reshape(solved.y, (8, -1)).T, phases.impact_rate)
    if solved.t_events is None or solved.y_events is None or solved.t_events[0].size == 0:
        return phase, float(instants[-1]), state
    return phase, float(solved.t_events[0][0]), solved.y_events[0][0]
