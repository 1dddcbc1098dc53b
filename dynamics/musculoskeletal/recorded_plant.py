"""A plant recorded along a solution, which needs no OpenSim: for studies and continuous tests.

At each frame the record has needed forces, arms of muscles and ligaments, and mass at the recorded
secondary coordinates, with derivatives. Elsewhere needed forces and arms are linear in the
secondary coordinates, and lengths of ligaments quadratic; ligaments keep their law, so that their
stiffness and slack length may change. The record is valid near the recorded solution, within
`RANGE` of each secondary coordinate.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from dynamics.musculoskeletal.comak import ComakResult
from dynamics.musculoskeletal.comak_settings import ComakSettings
from dynamics.musculoskeletal.ground_balance import GroundBalance
from dynamics.musculoskeletal.opensim_plant import OpenSimPlant
from dynamics.musculoskeletal.plant import (
    Contractions,
    CoordinateMotion,
    LigamentSet,
    MuscleSet,
    PlantForces,
    length_derivatives,
)
from foundation.base.checks import FloatArray, check_array
from foundation.base.errors import InputError

#: Distances from the recorded values within which a record is valid [rad, m].
RANGE = (0.1, 0.005)
_FORMAT = "knee-contact recorded plant 1"


class RecordedFrames(NamedTuple):
    """Record of a plant along a solution of N frames, such as forces (N, F) [N m, N]."""

    #: Secondary coordinates and their speeds (N, S) [rad, m; per s].
    values: FloatArray
    speeds: FloatArray
    #: Forces that the motion needs, beyond those of the ligaments too (N, F) [N m, N].
    needed: FloatArray
    #: Derivative of `needed` by the values (N, F, S) [N m, N per rad, m].
    columns: FloatArray
    #: Derivative of `needed` by the speeds (N, F, S) [N m, N per rad/s, m/s].
    speed_columns: FloatArray
    #: Mass matrix (N, F, F) [kg m², kg m, kg].
    mass: FloatArray
    #: Generalised force per newton of each muscle (N, F, M) [m, 1].
    arms: FloatArray
    #: Derivative of `arms` by the values (N, F, M, S) [m, 1 per rad, m].
    arm_columns: NDArray[np.float32]
    #: Lengths of the ligaments and their rates (N, L) [m, m/s].
    lengths: FloatArray
    rates: FloatArray
    #: Generalised force per newton of each ligament (N, F, L) [m, 1].
    ligament_arms: FloatArray
    #: Derivative of `ligament_arms` by the values (N, F, L, S) [m, 1 per rad, m].
    ligament_arm_columns: NDArray[np.float32]
    fibres: FloatArray


#: Axes of the arrays of a record.
_SHAPES = {
    **dict.fromkeys(("values", "speeds"), "NS"),
    "needed": "NF",
    **dict.fromkeys(("columns", "speed_columns"), "NFS"),
    "mass": "NFF",
    "arms": "NFM",
    "arm_columns": "NFMS",
    **dict.fromkeys(("lengths", "rates"), "NL"),
    "ligament_arms": "NFL",
    "ligament_arm_columns": "NFLS",
    "fibres": "N32M",
}


class _Ligaments(NamedTuple):
    """Ligaments away from a record: arms (F, L), tensions and their derivatives by length (L,)."""

    arms: FloatArray
    tension: FloatArray
    by_length: FloatArray


@dataclass(frozen=True, eq=False)
class RecordedPlant:
    """A plant from a record; see `dynamics.musculoskeletal.plant.Plant`."""

    #: Motion of all coordinates; secondary coordinates have the recorded values.
    motion: CoordinateMotion
    #: Names of the free and of the secondary coordinates.
    free: tuple[str, ...]
    secondary: tuple[str, ...]
    #: The muscles.
    muscles: MuscleSet
    #: The ligaments.
    ligaments: LigamentSet
    #: The record.
    frames: RecordedFrames
    #: Secondary coordinates before the first frame (S,) [rad, m].
    start: FloatArray
    #: Settings of the recorded solution.
    settings: ComakSettings
    #: Digest of the model without its contact; empty in records of earlier versions.
    model: str = ""
    #: Residual of the motion with its external loads; None in records of earlier versions.
    balance: GroundBalance | None = None
    _places: list[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        missing = [name for name in self.secondary if name not in self.free]
        if missing:
            raise InputError(f"secondary: expected free coordinates, found {', '.join(missing)}")
        object.__setattr__(self, "_places", [self.free.index(name) for name in self.secondary])
        sizes = {
            "N": len(self.motion.time),
            "F": len(self.free),
            "S": len(self.secondary),
            "M": len(self.muscles.names),
            "L": len(self.ligaments.names),
            **{"3": 3, "2": 2},
        }
        for name, axes in _SHAPES.items():
            shape = tuple(sizes[axis] for axis in axes)
            check_array(name, getattr(self.frames, name), shape)
        check_array("mass", np.diagonal(self.frames.mass, axis1=1, axis2=2), above=0.0)
        check_array("start", self.start, (sizes["S"],))

    def forces(self, frame: int, values: FloatArray, speeds: FloatArray) -> PlantForces:
        """Return forces and arms for values and speeds (S,) [rad, m; per s]; see `Plant.forces`."""
        found = self.frames
        steps, rates = values - found.values[frame], speeds - found.speeds[frame]
        needed = found.needed[frame] + found.columns[frame] @ steps
        needed += found.speed_columns[frame] @ rates
        ligaments = self._ligaments(frame, steps, rates)
        arms = found.arms[frame] + found.arm_columns[frame] @ steps
        return PlantForces(needed - ligaments.arms @ ligaments.tension, arms)

    def columns(
        self, frame: int, values: FloatArray, speeds: FloatArray, tensions: FloatArray
    ) -> FloatArray:
        """Return derivatives (F, S) by secondary coordinates [rad, m]; see `Plant.columns`."""
        found = self.frames
        steps, rates = values - found.values[frame], speeds - found.speeds[frame]
        arms, tension, by_length = self._ligaments(frame, steps, rates)
        # A ligament shortens by its arm per unit of a coordinate.
        stretching = -(arms * by_length) @ arms[self._places].T
        turning = weighted(found.ligament_arm_columns[frame], tension)
        pulling = weighted(found.arm_columns[frame], tensions)
        return pulling + turning + stretching - found.columns[frame]

    def outside(self, values: FloatArray) -> NDArray[np.bool_]:
        """Return whether values (N, S) [rad, m] are further from the record than `RANGE`."""
        rotational = np.array(self.motion.rotational)[self.motion.index(self.secondary)]
        outside: NDArray[np.bool_] = np.abs(values - self.frames.values) > np.where(
            rotational, *RANGE
        )
        return outside

    def mass(self, frame: int, values: FloatArray) -> FloatArray:
        """Return the mass matrix (F, F) [kg m², kg m, kg]; see `Plant.mass`."""
        del values
        return self.frames.mass[frame]

    def contractions(self, frame: int, values: FloatArray, speeds: FloatArray) -> Contractions:
        """Return forces (M,) [N] by fibres, linear about the record; see `Plant.contractions`."""
        found = self.frames
        arms = found.arms[frame][self._places]
        longer = -(values - found.values[frame]) @ arms
        faster = -(speeds - found.speeds[frame]) @ arms
        forces, by_length, by_rate = found.fibres[frame]
        active, passive = forces + by_length * longer + by_rate * faster
        # Cost and balance of COMAK have no viscous part.
        return Contractions(np.maximum(active, 0.0), passive, np.zeros_like(passive))

    def ligament_tensions(self, frame: int, values: FloatArray, speeds: FloatArray) -> FloatArray:
        """Return the tensions (L,) [N] of the ligaments at an instant."""
        found = self.frames
        steps, rates = values - found.values[frame], speeds - found.speeds[frame]
        return self._ligaments(frame, steps, rates).tension

    def _ligaments(self, frame: int, steps: FloatArray, rates: FloatArray) -> _Ligaments:
        """Return the ligaments at steps and rates (S,) from the record [rad, m; per s]."""
        found = self.frames
        recorded = found.ligament_arms[frame]
        arms = recorded + found.ligament_arm_columns[frame] @ steps
        mean = 0.5 * (recorded + arms)[self._places]
        lengths = found.lengths[frame] - steps @ mean
        tensions = self.ligaments.tensions(lengths, found.rates[frame] - rates @ mean)
        return _Ligaments(arms, tensions.tension, tensions.by_length)

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
            model=self.model,
            muscle_names=muscles.names,
            ligament_names=ligaments.names,
            **{f"motion_{key}": getattr(motion, key) for key in _MOTION},
            **{f"muscle_{key}": getattr(muscles, key) for key in _MUSCLES},
            **{f"ligament_{key}": getattr(ligaments, key) for key in _LIGAMENTS},
            **self.frames._asdict(),
            **({} if self.balance is None else self.balance.to_arrays()),
        )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a record that `save` wrote; an `InputError` names what is missing or damaged."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                data = {key: stored[key] for key in stored.files}
        except FileNotFoundError as error:
            raise InputError(f"{path}: no such file; check the path of the record") from error
        # NumPy would advise to allow pickle.
        except (OSError, EOFError, BadZipFile, zlib.error, ValueError, AttributeError) as error:
            raise InputError(
                f"{path}: expected a recorded plant (plant.npz), found another or a damaged file"
            ) from error
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
                str(data.get("model", "")),
                GroundBalance.from_arrays(data, data["motion_time"]),
            )
        except KeyError as error:
            raise InputError(f"{path}: expected {error}, found none; record again") from error
        except (InputError, TypeError) as error:
            raise InputError(f"{path}: {error}; record again") from error


_MOTION = ("time", "values", "speeds", "accelerations")
_MUSCLES = ("max_force", "optimal_length", "bounds")
_LIGAMENTS = ("stiffness", "slack_length", "transition_strain", "damping")


def weighted(arms: NDArray[Any], forces: FloatArray) -> FloatArray:
    """Return the sum (F, S) of derivatives of arms (F, K, S) times forces (K,) [N]."""
    return np.einsum("fks,k->fs", arms, forces)


def record_plant(
    plant: OpenSimPlant,
    result: ComakResult,
    start: FloatArray,
    settings: ComakSettings,
    model: str = "",
) -> RecordedPlant:
    """Record a plant along a solution that began at secondary coordinates (S,) [rad, m]."""
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
