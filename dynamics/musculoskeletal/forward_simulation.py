"""Forward simulation of the secondary coordinates while all others follow a motion.

Muscles pull with given forces; ligaments, springs, contact and external loads move the secondary
coordinates (OpenSim-JAM's ForsimTool: passive flexion, laxity tests). Implicit Euler steps follow
the slow, damped motion; integrators of higher order need thousands of steps, since the forces of
plane triangles and slack ligaments have kinks. Without inertia and speeds, each frame is an
equilibrium of its own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dynamics.musculoskeletal.muscle_drive import MuscleDrive, length_derivatives
from dynamics.musculoskeletal.plant import Plant
from dynamics.musculoskeletal.plant_contacts import PlantContacts
from dynamics.musculoskeletal.simulated_frames import SimulatedFrames
from foundation.base.checks import FloatArray, check_array, check_in
from foundation.base.errors import InputError, PoseError

KINDS = ("dynamic", "equilibrium")
#: Most iterations of a step, and iterations with the same derivatives of the plant.
_ITERATIONS, _REUSES = 60, 6
#: Iterations with these derivatives, and with whole steps: thereafter steps that do not halve the
#: change are halved themselves, which ends iterations to and fro across kinks of the forces.
_PATIENCE, _WHOLE, _FALLS = 12, 18, 0.5
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

    def step(
        self, frame: int, tensions: Tensions, before: FloatArray, speeds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return values and speeds (S,) at a frame from those before [rad, m; per s].

        With muscle forces (M,) [N], or a function that returns them at values and speeds.
        Raises `PoseError` if no balance is found.
        """
        length = self._length
        values = before + (0.0 if length is None else length) * speeds
        size = np.inf
        for iteration in range(_ITERATIONS):
            if iteration and (iteration % _REUSES == 0 or iteration > _PATIENCE):
                self._derivatives = None
            now = np.zeros_like(values) if length is None else (values - before) / length
            change = self._change(frame, tensions, values, now, speeds)
            last, size = size, float(np.abs(change).max())
            part = 0.5 if iteration > _WHOLE and size > _FALLS * last else 1.0
            values = values + change * min(part, _LARGEST / max(1e-30, size))
            if size < _CONVERGED:
                rest = np.zeros_like(values) if length is None else (values - before) / length
                return values, rest
        raise PoseError(
            f"no balance of inertia, ligaments and contact found in {_ITERATIONS} iterations; "
            f"{self._plant.secondary[int(np.abs(change).argmax())]} still changes"
        )

    def _change(
        self,
        frame: int,
        tensions: Tensions,
        values: FloatArray,
        now: FloatArray,
        before: FloatArray,
    ) -> FloatArray:
        """Return the change of the values by Newton's method."""
        places, plant = self._places, self._plant
        contact = self._contacts.at(frame, values)
        forces = plant.forces(frame, values, now)
        pulls = tensions(values, now) if callable(tensions) else tensions
        surplus = (forces.arms @ pulls + contact.forces - forces.needed)[places]
        if self._derivatives is None:
            self._derivatives = self._plant_derivatives(frame, tensions, values, now)
        by_values, by_speeds = self._derivatives
        stiffness = by_values + contact.columns[places]
        if self._length is None:
            return np.linalg.solve(-stiffness, surplus).astype(np.float64)
        inertia = plant.mass(frame, values)[np.ix_(places, places)] / self._length
        matrix = inertia / self._length - stiffness - by_speeds / self._length
        return np.linalg.solve(matrix, surplus - inertia @ (now - before)).astype(np.float64)

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
