"""A plant recorded along a solution, which needs no OpenSim: for studies and continuous tests.

At each frame the record has forces, arms, columns and mass at the recorded secondary coordinates,
and lengths and arms of the ligaments. Elsewhere the needed forces are linear in the secondary
coordinates and their speeds; ligaments stretch by their arms and keep their law, so that their
stiffness and slack length may change. The record is valid near the recorded solution.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self

import numpy as np

from dynamics.musculoskeletal.comak import ComakResult
from dynamics.musculoskeletal.comak_settings import ComakSettings
from dynamics.musculoskeletal.ligament_set import LigamentSet
from dynamics.musculoskeletal.muscle_drive import length_derivatives
from dynamics.musculoskeletal.opensim_plant import OpenSimPlant
from dynamics.musculoskeletal.plant import (
    Contractions,
    CoordinateMotion,
    MuscleSet,
    PlantForces,
)
from foundation.checks import FloatArray, check_array
from foundation.errors import InputError

_FORMAT = "knee-contact recorded plant 1"


class RecordedFrames(NamedTuple):
    """What a plant gave along a solution of N frames.

    Parameters
    ----------
    values, speeds : (N, S) float64
        Secondary coordinates and their speeds [rad, m; per s].
    needed : (N, F) float64
        Forces that the motion needs, beyond those of the ligaments too [N m, N].
    arms : (N, F, M) float64
        Generalised force per newton of each muscle [m, 1].
    columns : (N, F, S) float64
        Derivative of arms @ tensions - needed by the values, at constant tensions of muscles and
        ligaments [N m, N per rad, m].
    speed_columns : (N, F, S) float64
        Derivative of `needed` by the speeds [N m, N per rad/s, m/s].
    mass : (N, F, F) float64
        Mass matrix [kg m², kg m, kg].
    lengths, rates : (N, L) float64
        Lengths of the ligaments and their rates [m, m/s].
    ligament_arms : (N, F, L) float64
        Generalised force per newton of each ligament [m, 1].
    active, passive : (N, M) float64
        Force of each muscle per unit of activation and without activation, by its fibres [N].
    active_by_length, active_by_rate, passive_by_length, passive_by_rate : (N, M) float64
        Derivatives of the two by the length of the muscle and its rate [N/m, N s/m].
    """

    values: FloatArray
    speeds: FloatArray
    needed: FloatArray
    arms: FloatArray
    columns: FloatArray
    speed_columns: FloatArray
    mass: FloatArray
    lengths: FloatArray
    rates: FloatArray
    ligament_arms: FloatArray
    active: FloatArray
    passive: FloatArray
    active_by_length: FloatArray
    active_by_rate: FloatArray
    passive_by_length: FloatArray
    passive_by_rate: FloatArray


@dataclass(frozen=True, eq=False)
class RecordedPlant:
    """A plant from a record; see `dynamics.musculoskeletal.plant.Plant`.

    Parameters
    ----------
    motion : CoordinateMotion
        Motion of all coordinates; secondary coordinates have the recorded values.
    free, secondary : tuple of str
        Names of the free and of the secondary coordinates.
    muscles : MuscleSet
        The muscles.
    ligaments : LigamentSet
        The ligaments.
    frames : RecordedFrames
        The record.
    start : (S,) float64
        Secondary coordinates before the first frame [rad, m].
    settings : ComakSettings
        Settings of the recorded solution.
    """

    motion: CoordinateMotion
    free: tuple[str, ...]
    secondary: tuple[str, ...]
    muscles: MuscleSet
    ligaments: LigamentSet
    frames: RecordedFrames
    start: FloatArray
    settings: ComakSettings
    _places: list[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", [self.free.index(name) for name in self.secondary])

    def forces(self, frame: int, values: FloatArray, speeds: FloatArray) -> PlantForces:
        """Return forces and arms at an instant; see `Plant.forces`."""
        found = self.frames
        steps, rates = values - found.values[frame], speeds - found.speeds[frame]
        needed = found.needed[frame] - found.columns[frame] @ steps
        needed += found.speed_columns[frame] @ rates
        tensions, _ = self._tensions(frame, steps, rates)
        return PlantForces(needed - found.ligament_arms[frame] @ tensions, found.arms[frame])

    def columns(
        self, frame: int, values: FloatArray, speeds: FloatArray, tensions: FloatArray
    ) -> FloatArray:
        """Return derivatives by secondary coordinates; see `Plant.columns`.

        The part of the muscles is that of the recorded tensions.
        """
        del tensions
        found = self.frames
        steps, rates = values - found.values[frame], speeds - found.speeds[frame]
        _, stiffness = self._tensions(frame, steps, rates)
        arms = found.ligament_arms[frame]
        # A ligament shortens by its arm per unit of a coordinate.
        return found.columns[frame] - (arms * stiffness) @ arms[self._places].T

    def mass(self, frame: int, values: FloatArray) -> FloatArray:
        """Return the mass matrix (F, F) [kg m², kg m, kg]; see `Plant.mass`."""
        del values
        return self.frames.mass[frame]

    def contractions(self, frame: int, values: FloatArray, speeds: FloatArray) -> Contractions:
        """Return what the muscles give, linear about the record; see `Plant.contractions`."""
        found = self.frames
        arms = found.arms[frame][self._places]
        longer = -(values - found.values[frame]) @ arms
        faster = -(speeds - found.speeds[frame]) @ arms
        active, passive = (
            getattr(found, kind)[frame]
            + getattr(found, f"{kind}_by_length")[frame] * longer
            + getattr(found, f"{kind}_by_rate")[frame] * faster
            for kind in ("active", "passive")
        )
        # Cost and balance of COMAK have no viscous part.
        return Contractions(np.maximum(active, 0.0), passive, np.zeros_like(passive))

    def ligament_tensions(self, frame: int, values: FloatArray, speeds: FloatArray) -> FloatArray:
        """Return the tensions (L,) [N] of the ligaments at an instant."""
        found = self.frames
        steps, rates = values - found.values[frame], speeds - found.speeds[frame]
        return self._tensions(frame, steps, rates)[0]

    def with_ligaments(self, ligaments: LigamentSet) -> Self:
        """Return the plant with other properties of the same ligaments.

        Raises
        ------
        InputError
            If the names are not the same.
        """
        if ligaments.names != self.ligaments.names:
            raise InputError(
                f"ligaments: expected {', '.join(self.ligaments.names)}, found "
                f"{', '.join(ligaments.names)}"
            )
        return replace(self, ligaments=ligaments)

    def _tensions(
        self, frame: int, steps: FloatArray, rates: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return tensions (L,) [N] and their derivatives by length (L,) [N/m]."""
        found = self.frames
        arms = found.ligament_arms[frame][self._places]
        lengths = found.lengths[frame] - steps @ arms
        speeds = found.rates[frame] - rates @ arms
        tensions = self.ligaments.tensions(lengths, speeds)
        return tensions.tension, tensions.by_length

    def save(self, path: str | Path | BinaryIO) -> None:
        """Write the record to a compressed `.npz` file, or an open binary file, without pickle."""
        motion, ligaments, muscles = self.motion, self.ligaments, self.muscles
        np.savez_compressed(
            path,
            format=_FORMAT,
            names=motion.names,
            rotational=motion.rotational,
            free=self.free,
            secondary=self.secondary,
            start=self.start,
            settings=self.settings.to_json(),
            muscle_names=muscles.names,
            ligament_names=ligaments.names,
            **{f"motion_{key}": getattr(motion, key) for key in _MOTION},
            **{f"muscle_{key}": getattr(muscles, key) for key in _MUSCLES},
            **{f"ligament_{key}": getattr(ligaments, key) for key in _LIGAMENTS},
            **self.frames._asdict(),
        )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a record that `save` wrote.

        Raises
        ------
        InputError
            If the file is missing, damaged, or no record of a plant.
        """
        try:
            with np.load(path, allow_pickle=False) as stored:
                data = {key: stored[key] for key in stored.files}
        except FileNotFoundError as error:
            raise InputError(f"{path}: no such file; check the path of the record") from error
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: expected a recorded plant, found {error}") from error
        if str(data.get("format")) != _FORMAT:
            raise InputError(f"{path}: expected {_FORMAT!r}, found {data.get('format')!r}")

        def names(key: str) -> tuple[str, ...]:
            return tuple(str(name) for name in data[key])

        try:
            return cls(
                CoordinateMotion(
                    names("names"),
                    tuple(bool(r) for r in data["rotational"]),
                    **{key: data[f"motion_{key}"] for key in _MOTION},
                ),
                names("free"),
                names("secondary"),
                MuscleSet(names("muscle_names"), *(data[f"muscle_{key}"] for key in _MUSCLES)),
                LigamentSet(
                    names("ligament_names"), *(data[f"ligament_{key}"] for key in _LIGAMENTS)
                ),
                RecordedFrames(**{key: data[key] for key in RecordedFrames._fields}),
                data["start"],
                ComakSettings.from_json(str(data["settings"])),
            )
        except KeyError as error:
            raise InputError(f"{path}: expected {error}, found none; record again") from error


_MOTION = ("time", "values", "speeds", "accelerations")
_MUSCLES = ("max_force", "optimal_length", "bounds")
_LIGAMENTS = ("stiffness", "slack_length", "transition_strain", "damping")


def record_plant(
    plant: OpenSimPlant, result: ComakResult, start: FloatArray, settings: ComakSettings
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

    Returns
    -------
    RecordedPlant
        The record, with the ligaments of the model.
    """
    places = [plant.free.index(name) for name in plant.secondary]
    rows = []
    for frame in range(len(result.time)):
        values, speeds = result.values[frame], result.speeds[frame]
        forces = plant.forces(frame, values, speeds)
        lengths, rates, arms = plant.ligament_paths(frame, values, speeds)
        tensions = plant.system.ligaments.tensions(lengths, rates)
        columns = plant.columns(frame, values, speeds, result.muscle_forces[frame])
        by_speed = plant.speed_columns(frame, values, speeds)
        rows.append(
            (
                values,
                speeds,
                forces.needed + arms @ tensions.tension,
                forces.arms,
                columns + (arms * tensions.by_length) @ arms[places].T,
                by_speed - (arms * tensions.by_rate) @ arms[places].T,
                plant.mass(frame, values),
                lengths,
                rates,
                arms,
                *plant.contractions(frame, values, speeds)[:2],
                *_contraction_derivatives(plant, frame, values, speeds, forces.arms[places]),
            )
        )
    frames = RecordedFrames(*(np.array(column) for column in zip(*rows, strict=True)))
    motion = _with_secondary(plant.motion, plant.secondary, result)
    return RecordedPlant(
        motion,
        plant.free,
        plant.secondary,
        plant.muscles,
        plant.system.ligaments,
        frames,
        check_array("start", start, (len(plant.secondary),)),
        settings,
    )


def _contraction_derivatives(
    plant: OpenSimPlant, frame: int, values: FloatArray, speeds: FloatArray, arms: FloatArray
) -> list[FloatArray]:
    """Return the derivatives (M,) of active and passive forces by length and rate."""

    def both(values: FloatArray, speeds: FloatArray) -> FloatArray:
        active, passive, _ = plant.contractions(frame, values, speeds)
        return np.concatenate([active, passive])

    found = length_derivatives(both, np.tile(arms, 2), values, speeds)
    (active_length, passive_length), (active_rate, passive_rate) = (
        np.split(rows, 2) for rows in found
    )
    return [active_length, active_rate, passive_length, passive_rate]


def _with_secondary(
    motion: CoordinateMotion, secondary: tuple[str, ...], result: ComakResult
) -> CoordinateMotion:
    """Return the motion with the secondary values of a solution."""
    values = motion.values.copy()
    values[:, motion.index(secondary)] = result.values
    return replace(motion, values=values)
