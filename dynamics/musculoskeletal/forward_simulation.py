"""Forward simulation of the secondary coordinates while all others follow a motion.

Muscles pull with given forces; ligaments, springs, contact and external loads move the secondary
coordinates (OpenSim-JAM's ForsimTool: passive flexion, laxity tests). Implicit Euler steps follow
the slow, damped motion; integrators of higher order need thousands of steps, since the forces of
plane triangles and slack ligaments have kinks. Without inertia and speeds, each frame is an
equilibrium of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dynamics.musculoskeletal.muscle_drive import MuscleDrive
from dynamics.musculoskeletal.plant import Plant
from dynamics.musculoskeletal.plant_contacts import PlantContacts
from dynamics.musculoskeletal.secondary_motion import SecondaryMotion, SecondaryStep, Tensions
from dynamics.musculoskeletal.simulated_frames import SimulatedFrames
from foundation.base.checks import FloatArray, check_array, check_in
from foundation.base.errors import InputError, PoseError

KINDS = ("dynamic", "equilibrium")
#: Step in time with which an equilibrium is found that Newton's method does not find [s], most
#: steps, and change of a step below which the coordinates rest [rad, m].
_REST_STEP, _REST_STEPS, _AT_REST = 0.01, 500, 1e-6


@dataclass(frozen=True, eq=False, kw_only=True)
class ForwardFrames(SimulatedFrames):
    """Frames of a simulation, with what jumps leave (N, S) [N m, N] and why it ended early."""

    imbalance: FloatArray
    #: Instant and reason of the first frame without a balance; None for a whole simulation.
    failure: str | None = None


def simulate_forward(
    contacts: PlantContacts,
    tensions: FloatArray | MuscleDrive,
    start: FloatArray,
    *,
    kind: str = "dynamic",
    progress: Callable[[int], object] | None = None,
) -> ForwardFrames:
    """Simulate the secondary coordinates along the motion of a plant.

    An equilibrium that is lost, such as that of a patella that tilts over, goes on as a motion at
    rest of all other coordinates, which ends in another equilibrium.

    Parameters
    ----------
    contacts : PlantContacts
        The plant with its contacts.
    tensions : (M,) or (N, M) float64, or MuscleDrive
        Forces of the muscles, constant or at each frame [N], or activations by which the muscles
        pull as length and velocity of their fibres allow.
    start : (S,) float64
        Secondary coordinates at the first frame, at rest [rad, m]; for an equilibrium, the first
        guess.
    kind : {"dynamic", "equilibrium"}
        With inertia and damping, or an equilibrium at each frame; the speeds of the motion of an
        equilibrium are zero (`CoordinateMotion.resting`).
    progress : callable, optional
        Takes the number of frames that are done.

    Returns
    -------
    ForwardFrames
        The secondary coordinates and the loads of the contacts at all frames, or up to the frame
        that finds no balance.

    Raises
    ------
    InputError
        If an argument has another shape or value.
    PoseError
        If the first frame finds no balance; the message names the instant.
    """
    check_in("kind", kind, KINDS)
    plant = contacts.plant
    motion = plant.motion
    pulls = _drive(tensions, (len(motion.time), len(plant.muscles.names)))
    solver = _Stepper(contacts, kind)
    start = check_array("start", start, (len(plant.secondary),))
    found = SecondaryStep(start, np.zeros_like(start), np.zeros_like(start))
    rows, loads, failure = [], [], None
    for frame in range(len(motion.time)):
        if frame or kind == "equilibrium":
            try:
                found = solver.step(frame, _at_frame(pulls, plant, frame), found)
            except PoseError as error:
                failure = f"{motion.time[frame]:g} s: {error}"
                if not frame:
                    raise PoseError(failure) from error
                break
        tensions = pulls.tensions(plant, frame, found.values, found.speeds)
        rows.append((*found, tensions))
        loads.append(contacts.at(frame, found.values).loads)
        if progress is not None:
            progress(frame + 1)
    values, speeds, imbalance, forces = (np.array(column) for column in zip(*rows, strict=True))
    count = len(values)
    activations = np.where(np.isnan(pulls.forces), pulls.activations, 0.0)
    return ForwardFrames(
        time=motion.time[:count],
        secondary=plant.secondary,
        muscles=plant.muscles.names,
        contacts=contacts.names,
        values=values,
        speeds=speeds,
        activations=activations[:count],
        muscle_forces=forces,
        loads=tuple(loads),
        imbalance=imbalance,
        failure=failure,
    )


class _Stepper:
    """Steps of a kind of simulation."""

    def __init__(self, contacts: PlantContacts, kind: str) -> None:
        motion = contacts.plant.motion
        self._equilibria = kind == "equilibrium"
        self._solver = SecondaryMotion(contacts, None if self._equilibria else motion.step)
        self._resting = SecondaryMotion(contacts, _REST_STEP)

    def step(self, frame: int, tensions: Tensions, last: SecondaryStep) -> SecondaryStep:
        """Return the secondary coordinates at a frame; a `PoseError` if no balance is found."""
        try:
            return self._solver.step(frame, tensions, last.values, last.speeds)
        except PoseError:
            if not self._equilibria:
                raise
        rested = self._rest(frame, tensions, last.values)
        try:
            return self._solver.step(frame, tensions, rested.values, np.zeros_like(rested.values))
        except PoseError:
            return rested._replace(speeds=np.zeros_like(rested.values))

    def _rest(self, frame: int, tensions: Tensions, values: FloatArray) -> SecondaryStep:
        """Return where the coordinates come to rest at a frame from values (S,)."""
        found = SecondaryStep(values, np.zeros_like(values), np.zeros_like(values))
        for _ in range(_REST_STEPS):
            before = found.values
            found = self._resting.step(frame, tensions, before, found.speeds)
            if np.abs(found.values - before).max() < _AT_REST:
                return found
        raise PoseError(
            f"no equilibrium found; the coordinates do not come to rest within "
            f"{_REST_STEP * _REST_STEPS:g} s"
        )


def _drive(tensions: FloatArray | MuscleDrive, shape: tuple[int, int]) -> MuscleDrive:
    """Return the drive of forces or activations of a shape (N, M)."""
    if isinstance(tensions, MuscleDrive):
        given, found = tensions, tensions.forces.shape
    else:
        forces = check_array("tensions", tensions)
        found = forces.shape
        wide = np.broadcast_to(forces, shape) if found in (shape, shape[1:]) else forces
        given = MuscleDrive.of_forces(np.atleast_2d(wide))
    if given.forces.shape != shape:
        raise InputError(f"tensions: expected shape ({shape[1]}) or {shape}, found {found}")
    return given


def _at_frame(drive: MuscleDrive, plant: Plant, frame: int) -> Tensions:
    """Return the muscle forces at a frame, or how they follow from values and speeds."""
    if not np.isnan(drive.forces[frame]).any():
        return drive.forces[frame]
    return lambda values, speeds: drive.tensions(plant, frame, values, speeds)
