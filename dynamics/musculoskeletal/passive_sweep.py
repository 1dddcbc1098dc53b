"""Passive sweep of a coordinate, by which ligaments and contact give the secondary coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import make_interp_spline

from dynamics.musculoskeletal.constraint_functions import ConstraintFunctions
from dynamics.musculoskeletal.forward_simulation import simulate_forward
from dynamics.musculoskeletal.joint_contact import JointContact
from dynamics.musculoskeletal.opensim_plant import OpenSimPlant
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.plant import CoordinateMotion
from dynamics.musculoskeletal.plant_contacts import PlantContacts
from dynamics.musculoskeletal.prescribed_motion import Course, prescribe_motion
from dynamics.musculoskeletal.settling import settle
from foundation.base.errors import PoseError

#: Activation of the muscles, without regard to length and velocity, and time step [1, s].
_ACTIVATION, _STEP = 0.01, 0.01


@dataclass(frozen=True)
class Sweep:
    """A passive sweep of a coordinate.

    Parameters
    ----------
    coupled : str
        The coordinate that moves.
    secondary : tuple of str
        The coordinates that follow from ligaments and contact.
    start, stop : float
        First and last value of the coupled coordinate [rad, m].
    seconds : float
        Duration [s].
    settle_threshold : float
        Change within 0.01 s below which secondary coordinates have settled before [rad, m].
    points : int
        Number of points of each function.
    kind : {"dynamic", "equilibrium"}
        Simulation in time, or an equilibrium at each instant.
    """

    coupled: str
    secondary: tuple[str, ...]
    start: float = 0.0
    stop: float = float(np.radians(110.0))
    seconds: float = 3.0
    settle_threshold: float = 1e-4
    points: int = 20
    kind: str = "dynamic"

    @property
    def course(self) -> Course:
        """The coupled coordinate, a parabola over time that starts at rest."""
        time = _STEP * np.arange(round(self.seconds / _STEP) + 1.0)
        return Course(time, self.start + (self.stop - self.start) * (time / time[-1]) ** 2)


def passive_functions(
    system: OpenSimSystem, contacts: Sequence[JointContact], sweep: Sweep
) -> ConstraintFunctions:
    """Return how secondary coordinates follow a coupled one while the muscles hardly pull.

    All other coordinates keep the defaults of the model; no external load acts, and muscles pull
    with 1 % of their largest force.

    Parameters
    ----------
    system : OpenSimSystem
        The model.
    contacts : sequence of JointContact
        Contacts of joint surfaces.
    sweep : Sweep
        The sweep, after the secondary coordinates have settled at its start.

    Raises
    ------
    InputError
        If a name is not a coordinate of the model, or the coordinates do not settle.
    PoseError
        If no balance is found; the message names the instant.
    """
    course = sweep.course
    motion = prescribe_motion(system, {sweep.coupled: course}, course.time)
    if sweep.kind == "equilibrium":
        motion = motion.resting

    def along(motion_of: CoordinateMotion) -> PlantContacts:
        return PlantContacts(OpenSimPlant(system, motion_of, (), sweep.secondary), contacts)

    with system.unloaded():
        start = motion.values[0, motion.index(sweep.secondary)]
        settled = settle(
            along(motion.resting),
            start,
            threshold=sweep.settle_threshold,
            activation=_ACTIVATION,
        )
        tensions = _ACTIVATION * system.muscles.max_force
        found = simulate_forward(along(motion), tensions, settled.values, kind=sweep.kind)
    if found.failure is not None:
        raise PoseError(found.failure)
    at = np.linspace(sweep.start, sweep.stop, sweep.points)
    swept, values = course.values, found.values
    if swept[0] > swept[-1]:
        swept, values, at = swept[::-1], values[::-1], at[::-1]
    through = make_interp_spline(swept, values, k=3)(at)
    return ConstraintFunctions(sweep.coupled, sweep.secondary, at, through)
