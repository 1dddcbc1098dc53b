"""Forward simulation of the secondary coordinates while all others follow a motion.

Muscles pull with given forces; ligaments, springs, contact and external loads move the secondary
coordinates (OpenSim-JAM's ForsimTool: passive flexion, laxity tests). Implicit Euler steps follow
the slow, damped motion; integrators of higher order need thousands of steps, since the forces of
plane triangles and slack ligaments have kinks. Without inertia and speeds, each frame is an
equilibrium of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from dynamics.musculoskeletal.muscle_drive import MuscleDrive, length_derivatives
from dynamics.musculoskeletal.plant import Plant
from dynamics.musculoskeletal.plant_contacts import PlantContacts
from dynamics.musculoskeletal.simulated_frames import SimulatedFrames
from foundation.base.checks import FloatArray, check_array, check_in
from foundation.base.errors import InputError, PoseError

KINDS = ("dynamic", "equilibrium")
#: Most iterations of a step, and iterations with the same derivatives of the plant.
_ITERATIONS, _REUSES = 60, 6
#: Iterations with these derivatives, and with whole steps; shortest part of a step.
_PATIENCE, _WHOLE, _SHORTEST = 12, 18, 1.0 / 64.0
#: Iterations that hardly lessen the change before forces count as jumping.
_STUCK, _FALLS = 3, 0.5
#: Changes by which iterations may still go to and fro where the forces of triangles jump [rad, m],
#: and iterations with shortened steps before.
_JUMP_ANGLE, _JUMP_LENGTH, _TRIES = 1e-5, 2e-7, 12
#: Change of an iteration below which a step has converged, and largest change [rad, m].
_CONVERGED, _LARGEST = 1e-9, 0.02
#: Step of the derivatives with respect to speeds [rad/s, m/s].
_SPEED_STEP = 1e-4
#: Muscle forces (M,) [N], or a function that returns them at secondary values and speeds (S,).
Tensions = FloatArray | Callable[[FloatArray, FloatArray], FloatArray]


def simulate_forward(
    contacts: PlantContacts,
    tensions: FloatArray | MuscleDrive,
    start: FloatArray,
    *,
    kind: str = "dynamic",
    progress: Callable[[int], object] | None = None,
) -> SimulatedFrames:
    """Simulate the secondary coordinates along the motion of a plant.

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
    SimulatedFrames
        The secondary coordinates and the loads of the contacts.

    Raises
    ------
    InputError
        If an argument has another shape or value.
    PoseError
        If a step finds no balance; the message names the instant.
    """
    check_in("kind", kind, KINDS)
    plant = contacts.plant
    motion = plant.motion
    pulls = _drive(tensions, (len(motion.time), len(plant.muscles.names)))
    solver = SecondaryMotion(contacts, motion.step if kind == "dynamic" else None)
    values = check_array("start", start, (len(plant.secondary),))
    speeds = np.zeros_like(values)
    rows, loads = [], []
    for frame in range(len(motion.time)):
        pull = _at_frame(pulls, plant, frame)
        if frame or kind == "equilibrium":
            try:
                values, speeds = solver.step(frame, pull, values, speeds)
            except PoseError as error:
                raise PoseError(f"{motion.time[frame]:g} s: {error}") from error
        rows.append((values, speeds, pulls.tensions(plant, frame, values, speeds)))
        loads.append(contacts.at(frame, values).loads)
        if progress is not None:
            progress(frame + 1)
    values, speeds, forces = (np.array(column) for column in zip(*rows, strict=True))
    return SimulatedFrames(
        time=motion.time,
        secondary=plant.secondary,
        muscles=plant.muscles.names,
        contacts=contacts.names,
        values=values,
        speeds=speeds,
        activations=np.where(np.isnan(pulls.forces), pulls.activations, 0.0),
        muscle_forces=forces,
        loads=tuple(loads),
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


class _Step(NamedTuple):
    """A step from values and speeds (S,) before to a frame, with the muscle forces there."""

    frame: int
    tensions: Tensions
    before: FloatArray
    speeds: FloatArray


class SecondaryMotion:
    """Steps of the secondary coordinates of a plant.

    Parameters
    ----------
    contacts : PlantContacts
        The plant with its contacts.
    length : float or None
        Length of the implicit Euler steps [s]; None for equilibria without inertia and speeds.
    """

    def __init__(self, contacts: PlantContacts, length: float | None) -> None:
        self._contacts, self._plant, self._length = contacts, contacts.plant, length
        self._places = [self._plant.free.index(name) for name in self._plant.secondary]
        self._derivatives: tuple[FloatArray, FloatArray] | None = None
        motion = self._plant.motion
        angles = np.array(motion.rotational)[motion.index(self._plant.secondary)]
        self._jumps = np.where(angles, _JUMP_ANGLE, _JUMP_LENGTH)

    def step(
        self, frame: int, tensions: Tensions, before: FloatArray, speeds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return values and speeds (S,) at a frame from those before [rad, m; per s].

        With muscle forces (M,) [N], or a function that returns them at values and speeds.
        Raises `PoseError` if no balance is found.
        """
        step = _Step(frame, tensions, before, speeds)
        start = before + (0.0 if self._length is None else self._length) * speeds
        values, size, stuck = start, np.inf, 0
        for iteration in range(_WHOLE):
            if iteration and (iteration % _REUSES == 0 or iteration > _PATIENCE):
                self._derivatives = None
            change = np.linalg.solve(*self._linear(step, values))
            last, size = size, float(np.abs(change).max())
            values = values + change * min(1.0, _LARGEST / max(1e-30, size))
            stuck += iteration > _PATIENCE and size > _FALLS * last
            jumps = stuck >= _STUCK and np.abs(change / self._jumps).max() < 1.0
            if size < _CONVERGED or jumps:
                return values, self._rates(step, values)
        return self._damped(step, start)

    def _damped(self, step: _Step, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return values and speeds by Newton's method with steps that are halved as needed.

        A step is halved until the change that would follow with the same derivatives is smaller
        (Deuflhard 2011, Newton Methods for Nonlinear Problems, section 3.3): kinks and stiff
        contacts of light bodies send whole steps to and fro. Where forces jump, no values have a
        balance; those with the least change are returned.
        """
        values, best, least = start, start, np.inf
        for iteration in range(_ITERATIONS):
            self._derivatives = None
            matrix, rest = self._linear(step, values)
            factors = lu_factor(matrix)
            change = lu_solve(factors, rest)
            size = float(np.abs(change).max())
            if size < _CONVERGED:
                return values + change, self._rates(step, values + change)
            jump = float(np.abs(change / self._jumps).max())
            if jump < least:
                best, least = values, jump
            if iteration >= _TRIES and least < 1.0:
                return best, self._rates(step, best)
            part = min(1.0, _LARGEST / size)
            while part > _SHORTEST:
                after = lu_solve(factors, self._surplus(step, values + part * change)[0])
                if np.abs(after).max() < (1.0 - 0.5 * part) * size:
                    break
                part *= 0.5
            values = values + part * change
        raise PoseError(
            f"no balance of inertia, ligaments and contact found in {_WHOLE + _ITERATIONS} "
            f"iterations; {self._plant.secondary[int(np.abs(change).argmax())]} still changes"
        )

    def _rates(self, step: _Step, values: FloatArray) -> FloatArray:
        """Return the speeds (S,) of a step to values; zero for an equilibrium."""
        if self._length is None:
            return np.zeros_like(values)
        return (values - step.before) / self._length

    def _linear(self, step: _Step, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return matrix (S, S) and right side (S,) of the change of the values by Newton's method.

        With derivatives of the plant of an earlier iteration, if there are any.
        """
        rest, stiffness, inertia = self._surplus(step, values)
        if self._derivatives is None:
            now = self._rates(step, values)
            self._derivatives = self._plant_derivatives(step.frame, step.tensions, values, now)
        by_values, by_speeds = self._derivatives
        stiffness = by_values + stiffness
        if self._length is None:
            return -stiffness, rest
        return inertia / self._length - stiffness - by_speeds / self._length, rest

    def _surplus(
        self, step: _Step, values: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return surplus forces (S,), derivatives (S, S) of the contacts, and inertia over time."""
        places, plant, now = self._places, self._plant, self._rates(step, values)
        contact = self._contacts.at(step.frame, values)
        forces = plant.forces(step.frame, values, now)
        tensions = step.tensions
        pulls = tensions(values, now) if callable(tensions) else tensions
        surplus = (forces.arms @ pulls + contact.forces - forces.needed)[places]
        if self._length is None:
            return surplus, contact.columns[places], np.zeros((len(places), len(places)))
        inertia = plant.mass(step.frame, values)[np.ix_(places, places)] / self._length
        return surplus - inertia @ (now - step.speeds), contact.columns[places], inertia

    def _plant_derivatives(
        self, frame: int, tensions: Tensions, values: FloatArray, speeds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives (S, S) of the plant's forces by values and by speeds."""
        places, plant = self._places, self._plant
        pulls = tensions(values, speeds) if callable(tensions) else tensions
        by_values = plant.columns(frame, values, speeds, pulls)[places]
        by_speeds = np.zeros_like(by_values)
        if callable(tensions):
            arms = plant.forces(frame, values, speeds).arms[places]
            fibres = length_derivatives(tensions, arms, values, speeds)
            by_values = by_values + fibres.columns(arms, arms)
            by_speeds = fibres.speed_columns(arms, arms)
        if self._length is None:
            return by_values, by_speeds
        needed = plant.forces(frame, values, speeds).needed[places]
        for k in range(len(values)):
            moved = speeds.copy()
            moved[k] += _SPEED_STEP
            changed = plant.forces(frame, values, moved).needed[places]
            by_speeds[:, k] += (needed - changed) / _SPEED_STEP
        return by_values, by_speeds
