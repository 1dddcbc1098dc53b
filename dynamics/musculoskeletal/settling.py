"""Settling of the secondary coordinates at the first instant: a forward simulation.

All other coordinates are held at the first instant, at rest; muscles pull with 2 % of their
largest force and no external load acts. The motion of the secondary coordinates is slow, since
the model damps them; the simulation ends when none of them changes by more than a threshold within
0.01 s (OpenSim-JAM's settling simulation). Implicit Euler steps of 0.01 s follow the slow motion;
integrators of higher order need thousands of steps, since the forces of plane triangles and
slack ligaments have kinks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dynamics.musculoskeletal.comak import Comak
from foundation.checks import FloatArray, check_array
from foundation.errors import InputError, PoseError

#: Activation of the muscles, and step of the simulation [s].
_ACTIVATION, _STEP = 0.02, 0.01
#: Most steps of a simulation and iterations of a step, and iterations with the same derivatives.
_STEPS, _ITERATIONS, _REUSES = 1000, 40, 6
#: Change of an iteration below which a step has converged, and largest change [rad, m].
_CONVERGED, _LARGEST = 1e-9, 0.05
#: Step of the derivatives by speeds [rad/s, m/s].
_SPEED_STEP = 1e-4


class Settled(NamedTuple):
    """Settled secondary coordinates.

    Parameters
    ----------
    values : (S,) float64
        Secondary coordinates [rad, m].
    time : (T,) float64
        Instants of the simulation, from 0 in steps of 0.01 s [s].
    history : (T, S) float64
        Secondary coordinates over time [rad, m].
    """

    values: FloatArray
    time: FloatArray
    history: FloatArray


def settle(comak: Comak, start: FloatArray) -> Settled:
    """Let the secondary coordinates settle at the first frame of a plant.

    Parameters
    ----------
    comak : Comak
        Plant, without external loads and at rest in its first frame, with its contacts.
    start : (S,) float64
        Secondary coordinates to start from [rad, m].

    Returns
    -------
    Settled
        The settled coordinates and how they settled.

    Raises
    ------
    InputError
        If the start is not S finite numbers, or the coordinates do not settle within 10 s.
    """
    values = check_array("start", start, (len(comak.plant.secondary),))
    motion = _SecondaryMotion(comak)
    history, speeds = [values], np.zeros_like(values)
    for _ in range(_STEPS):
        try:
            values, speeds = motion.step(values, speeds)
        except PoseError as error:
            raise InputError(f"secondary coordinates do not settle: {error}") from error
        changes = np.abs(values - history[-1])
        history.append(values)
        if changes.max() < comak.settings.settle_threshold:
            return Settled(values, _STEP * np.arange(len(history)), np.array(history))
    raise InputError(
        f"secondary coordinates: expected changes below {comak.settings.settle_threshold:g} "
        f"(settle_threshold) within {_STEPS * _STEP:g} s, found {changes.max():.3g} of "
        f"{comak.plant.secondary[int(changes.argmax())]}; check ligaments, contacts and the first "
        "values of the secondary coordinates"
    )


class _SecondaryMotion:
    """Motion of the secondary coordinates at the first frame, by implicit Euler steps."""

    def __init__(self, comak: Comak) -> None:
        self._comak, self._plant = comak, comak.plant
        self._tensions = _ACTIVATION * comak.plant.muscles.max_force
        self._places = [comak.plant.free.index(name) for name in comak.plant.secondary]
        self._derivatives: tuple[FloatArray, FloatArray] | None = None

    def step(self, before: FloatArray, speeds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return values and speeds after a step; raise `PoseError` if no values are found."""
        values = before.copy()
        for iteration in range(_ITERATIONS):
            now = (values - before) / _STEP
            if iteration and iteration % _REUSES == 0:
                self._derivatives = None
            change = self._change(values, now, speeds)
            values = values + change * min(1.0, _LARGEST / float(np.abs(change).max()))
            if np.abs(change).max() < _CONVERGED:
                return values, (values - before) / _STEP
        raise PoseError(
            f"no equilibrium of inertia, ligaments and contact found in {_ITERATIONS} iterations"
        )

    def _change(self, values: FloatArray, now: FloatArray, before: FloatArray) -> FloatArray:
        """Return the change of the values by Newton's method."""
        places, plant = self._places, self._plant
        contact = self._comak.contact_forces(0, values)
        forces = plant.forces(0, values, now)
        surplus = (forces.arms @ self._tensions + contact.forces - forces.needed)[places]
        mass = plant.mass(0, values)[np.ix_(places, places)]
        if self._derivatives is None:
            self._derivatives = self._plant_derivatives(values, now)
        by_values, by_speeds = self._derivatives
        stiffness = by_values + contact.columns[places] + by_speeds / _STEP
        inertia = mass / _STEP
        matrix, right = inertia / _STEP - stiffness, surplus - inertia @ (now - before)
        return np.linalg.solve(matrix, right).astype(np.float64)

    def _plant_derivatives(
        self, values: FloatArray, speeds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives (S, S) of the plant's forces by values and by speeds."""
        places, plant = self._places, self._plant
        by_values = plant.columns(0, values, speeds, self._tensions)[places]
        needed = plant.forces(0, values, speeds).needed[places]
        by_speeds = np.empty_like(by_values)
        for k in range(len(values)):
            moved = speeds.copy()
            moved[k] += _SPEED_STEP
            changed = plant.forces(0, values, moved).needed[places]
            by_speeds[:, k] = (needed - changed) / _SPEED_STEP
        return by_values, by_speeds
