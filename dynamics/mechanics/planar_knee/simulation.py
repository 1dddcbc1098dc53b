"""Simulation of the planar knee, contact by contact.

The integrator is DOP853 (Hairer, Nørsett & Wanner 1993, section II.5, as in SciPy); it stops at
every start and end of a contact, where the indentation passes zero. The rate at the start, the
impact rate, enters the contact law until the end of the contact. The work of the pull and the loss
in the contact are states, so that the energy balance checks the integration.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.mechanics.planar_knee.contact_point import Angles
from dynamics.mechanics.planar_knee.knee import ContactState, PlanarKnee
from dynamics.mechanics.planar_knee.ligaments import warn_of_limits
from dynamics.mechanics.planar_knee.motion import ContactStart, PlanarMotion, collect_motion
from dynamics.mechanics.switching import integrate_switching
from foundation.base.checks import FloatArray, check_array, check_number

#: Absolute tolerances of x, y, φ, v_x, v_y, ω, W and D as parts of the relative tolerance.
_SCALES = np.array([1e-2, 1e-2, 1e-1, 1e-1, 1e-1, 1.0, 1e-1, 1e-1])
#: Limit against endless chatter.
_MOST_EVENTS = 10_000


@dataclass
class _Phases:
    """Equations of motion with their memory: last contact point, phase, impact rate."""

    knee: PlanarKnee
    start: Angles | None = None
    touching: bool = False
    mode: float = 0.0  # the impact rate of the contact [m/s]
    impacts: list[ContactStart] = field(default_factory=list)

    def contact(self, state: FloatArray) -> ContactState:
        contact = self.knee.contact_state(state, self.start)
        self.start = contact.point.angles
        return contact

    def derivative(self, time: float, state: FloatArray) -> FloatArray:
        contact = self.contact(state)
        if not self.touching:
            # A step of free flight may reach into the bodies before the event ends the flight:
            # there the equations continue smoothly.
            contact = contact._replace(indentation=min(contact.indentation, 0.0))
        loads = self.knee.loads(time, state, contact, self.mode)
        f_x, f_y, moment = loads.force
        mass, inertia = self.knee.mass, self.knee.inertia
        rates = (f_x / mass, f_y / mass, moment / inertia, loads.pull_power, loads.loss_power)
        return np.array([*state[3:6].tolist(), *rates])

    def distances(self) -> list[tuple[Callable[[FloatArray], float], float]]:
        return [(lambda state: self.contact(state).indentation, 1.0 if self.touching else -1.0)]

    def switch(self, time: float, state: FloatArray, crossed: NDArray[np.bool_]) -> None:
        del crossed
        self.touching = not self.touching
        if self.touching:
            self.mode = self.contact(state).rate
            self.impacts.append(ContactStart(time, self.mode))


def simulate_planar_knee(
    knee: PlanarKnee,
    initial: ArrayLike,
    duration: float = 0.5,
    *,
    step: float = 5e-4,
    tolerance: float = 1e-9,
) -> PlanarMotion:
    """Simulate the motion of the tibia from a state.

    Parameters
    ----------
    knee : PlanarKnee
        The knee.
    initial : (6,) float64
        (x, y, φ, v_x, v_y, ω) at t = 0 [m, rad, s]. Bodies that overlap at the start count as in
        contact since an impact at that rate (but see `PlanarKnee.least_impact_rate`).
    duration : float
        Simulated time [s], > 0; by default that of Machado et al. (2010).
    step : float
        Time between the instants of the result [s], > 0; the integrator chooses its own steps.
    tolerance : float
        Relative tolerance of the integrator, 1e-13 to 1e-2.

    Returns
    -------
    PlanarMotion
        Motion, loads and energies.

    Raises
    ------
    InputError
        If an argument is not finite or out of its range.
    SimulationError
        If the integrator fails, or the tibia leaves the profile.

    Warns
    -----
    LigamentLimitWarning
        For every limit of strain or force that a ligament passes (`PlanarMotion.limits_passed`).
    """
    start = check_array("initial", initial, (6,))
    check_number("duration", duration, above=0.0, unit="s")
    check_number("step", step, above=0.0, unit="s")
    check_number("tolerance", tolerance, at_least=1e-13, at_most=1e-2)
    instants = np.linspace(0.0, duration, max(math.ceil(duration / step - 1e-9), 1) + 1)
    phases = _Phases(knee)
    first = phases.contact(start)
    phases.touching, phases.mode = first.indentation > 0.0, first.rate
    states, impact_rates = integrate_switching(
        phases,
        np.concatenate((start, np.zeros(2))),
        instants,
        name="planar knee",
        most_events=_MOST_EVENTS,
        method="DOP853",
        rtol=tolerance,
        atol=tolerance * _SCALES,
    )
    motion = collect_motion(knee, instants, states, impact_rates, tuple(phases.impacts))
    warn_of_limits(motion.limits_passed)
    return motion
