"""Settling of the secondary coordinates at the first instant: a forward simulation.

All other coordinates are held at the first instant, at rest; muscles pull with 2 % of their
largest force and no external load acts. The simulation ends when no secondary coordinate changes
by more than a threshold within 0.01 s (OpenSim-JAM's settling simulation).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dynamics.musculoskeletal.plant_contacts import PlantContacts
from dynamics.musculoskeletal.secondary_motion import SecondaryMotion
from foundation.base.checks import FloatArray, check_array, check_number
from foundation.base.errors import InputError, PoseError

#: Activation of the muscles, step of the simulation [s], and most steps.
_ACTIVATION, _STEP, _STEPS = 0.02, 0.01, 1000


class Settled(NamedTuple):
    """Settled secondary coordinates (S,), and their history (T, S) at instants (T,) [rad, m; s]."""

    #: Secondary coordinates (S,) [rad, m].
    values: FloatArray
    #: Instants of the simulation, from 0 in steps of 0.01 s (T,) [s].
    time: FloatArray
    #: Secondary coordinates over time (T, S) [rad, m].
    history: FloatArray


def settle(
    contacts: PlantContacts,
    start: FloatArray,
    *,
    threshold: float = 1e-5,
    activation: float = _ACTIVATION,
) -> Settled:
    """Let the secondary coordinates settle at the first frame of a plant.

    Parameters
    ----------
    contacts : PlantContacts
        Plant, without external loads and at rest in its first frame, with its contacts.
    start : (S,) float64
        Secondary coordinates to start from [rad, m].
    threshold : float
        Change within 0.01 s below which a coordinate has settled [rad, m].
    activation : float
        Muscle forces relative to the largest ones [1].

    Returns
    -------
    Settled
        The settled coordinates and how they settled.

    Raises
    ------
    InputError
        If the start is not S finite numbers, or the coordinates do not settle within 10 s.
    """
    plant = contacts.plant
    check_number("threshold", threshold, above=0.0)
    values = check_array("start", start, (len(plant.secondary),))
    motion, tensions = SecondaryMotion(contacts, _STEP), activation * plant.muscles.max_force
    history, speeds = [values], np.zeros_like(values)
    for _ in range(_STEPS):
        try:
            values, speeds, _ = motion.step(0, tensions, values, speeds)
        except PoseError as error:
            raise InputError(
                f"secondary coordinates do not settle: {error}; give first values at which the "
                "surfaces just touch, or leave out the settling (comak.settle=false)"
            ) from error
        changes = np.abs(values - history[-1])
        history.append(values)
        if changes.max() < threshold:
            return Settled(values, _STEP * np.arange(float(len(history))), np.array(history))
    raise InputError(
        f"secondary coordinates: expected changes below {threshold:g} (settle_threshold) within "
        f"{_STEPS * _STEP:g} s, found {changes.max():.3g} of "
        f"{plant.secondary[int(changes.argmax())]}; check ligaments, contacts and the first values "
        "of the secondary coordinates"
    )
