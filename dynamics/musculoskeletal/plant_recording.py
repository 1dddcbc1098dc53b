"""Recording of a plant along a solution, for replays without OpenSim."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dynamics.musculoskeletal.comak_settings import ComakSettings
from dynamics.musculoskeletal.comak_solution import ComakResult
from dynamics.musculoskeletal.muscle_drive import length_derivatives
from dynamics.musculoskeletal.opensim_plant import OpenSimPlant
from dynamics.musculoskeletal.plant import CoordinateMotion
from dynamics.musculoskeletal.recorded_plant import RecordedFrames, RecordedPlant, weighted
from foundation.base.checks import FloatArray


def record_plant(
    plant: OpenSimPlant,
    result: ComakResult,
    start: FloatArray,
    settings: ComakSettings,
    model: str = "",
) -> RecordedPlant:
    """Record a plant along a solution.

    Parameters
    ----------
    plant : OpenSimPlant
        The plant.
    result : ComakResult
        The solution.
    start : (S,) float64
        Secondary coordinates before the first frame [rad, m].
    settings : ComakSettings
        Settings of the solution.
    model : str
        Digest of the model.

    Returns
    -------
    RecordedPlant
        The record, with the ligaments of the model.
    """
    rows = [_recorded_frame(plant, result, frame) for frame in range(len(result.time))]
    frames = RecordedFrames(*(np.array(column) for column in zip(*rows, strict=True)))
    motion = _with_secondary(plant.motion, plant.secondary, result)
    return RecordedPlant(
        motion,
        plant.free,
        plant.secondary,
        plant.muscles,
        plant.system.ligaments,
        frames,
        start,
        settings,
        model,
        plant.balance,
    )


def _fibres(
    plant: OpenSimPlant, frame: int, values: FloatArray, speeds: FloatArray, arms: FloatArray
) -> FloatArray:
    """Return active and passive forces and their derivatives by length and rate (3, 2, M)."""

    def both(values: FloatArray, speeds: FloatArray) -> FloatArray:
        active, passive, _ = plant.contractions(frame, values, speeds)
        return np.concatenate([active, passive])

    found = length_derivatives(both, np.tile(arms, 2), values, speeds)
    return np.array([both(values, speeds), *found]).reshape(3, 2, -1)


def _recorded_frame(plant: OpenSimPlant, result: ComakResult, frame: int) -> RecordedFrames:
    """Return the record of a frame, without its axis N."""
    places = [plant.free.index(name) for name in plant.secondary]
    values, speeds = result.values[frame], result.speeds[frame]
    forces = plant.forces(frame, values, speeds)
    lengths, rates, arms = plant.ligament_paths(frame, values, speeds)
    found = plant.system.ligaments.tensions(lengths, rates)
    pulls = result.muscle_forces[frame]
    of_muscles, of_ligaments = plant.arm_columns(frame, values, speeds)
    columns = (
        weighted(of_muscles, pulls)
        - plant.columns(frame, values, speeds, pulls)
        + weighted(of_ligaments, found.tension)
        - (arms * found.by_length) @ arms[places].T
    )
    by_speed = plant.speed_columns(frame, values, speeds)
    return RecordedFrames(
        values=values,
        speeds=speeds,
        needed=forces.needed + arms @ found.tension,
        columns=columns,
        speed_columns=by_speed - (arms * found.by_rate) @ arms[places].T,
        mass=plant.mass(frame, values),
        arms=forces.arms,
        arm_columns=of_muscles.astype(np.float32),
        lengths=lengths,
        rates=rates,
        ligament_arms=arms,
        ligament_arm_columns=of_ligaments.astype(np.float32),
        fibres=_fibres(plant, frame, values, speeds, forces.arms[places]),
    )


def _with_secondary(
    motion: CoordinateMotion, secondary: tuple[str, ...], result: ComakResult
) -> CoordinateMotion:
    """Return the motion with the secondary values of a solution."""
    values = motion.values.copy()
    values[:, motion.index(secondary)] = result.values
    return replace(motion, values=values)
