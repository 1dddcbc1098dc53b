"""Passive sweep of a coordinate, by which ligaments and contact give the secondary coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import make_interp_spline

from dynamics.musculoskeletal.constraint_functions import ConstraintFunctions
from dynamics.musculoskeletal.forward_simulation import simulate_forward
from dynamics.musculoskeletal.joint_contact import JointContact
from dynamics.musculoskeletal.opensim_plant import OpenSimPlant
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.osim_joints import OsimJoint, path_to_ground
from dynamics.musculoskeletal.plant import CoordinateMotion
from dynamics.musculoskeletal.plant_contacts import PlantContacts
from dynamics.musculoskeletal.prescribed_motion import Course, prescribe_motion
from dynamics.musculoskeletal.settling import settle
from foundation.base.errors import InputError, PoseError

#: Activation of the muscles, without regard to length and velocity, and time step [1, s].
_ACTIVATION, _STEP = 0.01, 0.01


@dataclass(frozen=True)
class Sweep:
    """A passive sweep of a coordinate."""

    #: The coordinate that moves.
    coupled: str
    #: The coordinates that follow from ligaments and contact.
    secondary: tuple[str, ...]
    #: First and last value of the coupled coordinate [rad, m].
    start: float = 0.0
    stop: float = float(np.radians(110.0))
    #: Duration [s].
    seconds: float = 3.0
    #: Change within 0.01 s below which secondary coordinates have settled before [rad, m].
    settle_threshold: float = 1e-4
    #: Number of points of each function.
    points: int = 20
    #: Simulation in time, or an equilibrium at each instant.
    kind: str = "dynamic"

    @property
    def course(self) -> Course:
        """The coupled coordinate, a parabola over time that starts at rest."""
        time = _STEP * np.arange(round(self.seconds / _STEP) + 1.0)
        return Course(time, self.start + (self.stop - self.start) * (time / time[-1]) ** 2)


def followers(
    joints: Sequence[OsimJoint], coupled: Sequence[str], secondary: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Return the secondary coordinates that follow each coupled one: those of its leg."""
    if len(coupled) == 1:
        return {coupled[0]: tuple(secondary)}
    chains = {
        name: {each.name for each in path_to_ground(joints, joint.child)}
        for joint in joints
        for name in joint.coordinates
    }
    found: dict[str, tuple[str, ...]] = dict.fromkeys(coupled, ())
    for name in secondary:
        missing = [each for each in (name, *coupled) if each not in chains]
        if missing:
            raise InputError(
                f"coupled coordinates: expected coordinates of the model, found {missing[0]}"
            )
        nearest = min(coupled, key=lambda each: len(chains[each] ^ chains[name]))
        found[nearest] = (*found[nearest], name)
    alone = [name for name, own in found.items() if not own]
    if alone:
        raise InputError(
            f"coupled coordinates: expected a secondary coordinate of the leg of {alone[0]}, found "
            "none; add those of its joints to inverse_kinematics.secondary"
        )
    return found


def passive_functions(
    system: OpenSimSystem, contacts: Sequence[JointContact], sweep: Sweep
) -> ConstraintFunctions:
    """Return how secondary coordinates follow a coupled one while muscles hardly pull."""
    course, moved = sweep.course, set(sweep.secondary)
    contacts = [each for each in contacts if moved.intersection(each.coordinates)]
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
