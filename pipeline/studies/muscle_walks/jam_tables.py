"""Tables of a simulated walk with OpenSim-JAM's names of files and columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dynamics.motion.motion_tables import MotionTable, motion_text
from dynamics.musculoskeletal import ComakResult
from foundation.base.checks import FloatArray
from pipeline.files import write_text
from pipeline.studies.muscle_walks.setup import WalkSetup
from pipeline.studies.muscle_walks.tables import kinematics_table, whole_motion

#: Ends of the names of the files, without prefix.
FILES = tuple(f"_{name}.sto" for name in ("activation", "force", "values", "kinematics"))


def jam_tables(setup: WalkSetup, result: ComakResult) -> dict[str, MotionTable]:
    """Return the tables by the ends of the names of their files.

    `activation` [1] and `force` [N; N m, N] of muscles and of the reserves of the settings, or of
    one on each coordinate; zero on prescribed ones; `values` of all coordinates [deg, m];
    `kinematics`: their values, speeds and simulated accelerations [deg, m; per s; per s²].
    """
    motion, paths = whole_motion(setup, result), setup.model.coordinate_paths
    settings = setup.settings
    full = dict(settings.reserve_forces)
    names = dict(zip(full, settings.reserve_names, strict=False))
    reserved = tuple(name for name in full or motion.names if name in motion.names)
    places = motion.index(reserved)
    strength = np.array([full.get(name, 1.0) for name in result.free])
    actuators = (
        *(f"/forceset/{name}" for name in result.muscles),
        *(f"/forceset/{names.get(name) or f'{name}_reserve'}" for name in reserved),
    )
    reserves = _on_all(setup, result, result.reserves)[:, places]
    forces = np.column_stack([result.muscle_forces, reserves])
    controls = _on_all(setup, result, result.reserves / strength)[:, places]
    activations = np.column_stack([result.activations, controls])
    factors = np.where(motion.rotational, 180.0 / np.pi, 1.0)
    courses = (motion.values, motion.speeds, accelerations(setup, result))
    columns = [
        f"{paths[name]}/{kind}" for name in motion.names for kind in ("value", "speed", "acc")
    ]
    each = np.stack([factors * course for course in courses], axis=-1)
    whole = each.reshape(len(result.time), -1)
    return {
        "activation": MotionTable(actuators, result.time, activations, False, "activation"),
        "force": MotionTable(actuators, result.time, forces, False, "force"),
        "values": kinematics_table(setup, result),
        "kinematics": MotionTable(tuple(columns), result.time, whole, True, "kinematics"),
    }


def accelerations(setup: WalkSetup, result: ComakResult) -> FloatArray:
    """Return the simulated accelerations (N, n) of all coordinates [rad/s², m/s²].

    Those of prescribed coordinates are measured, and so are all those of a frame that has the
    solution of the previous frame.
    """
    motion = setup.plant.motion
    found = motion.accelerations.copy()
    found[:, motion.index(result.secondary)] = 0.0
    found[:, motion.index(result.free)] += np.nan_to_num(result.surplus)
    return found


def _on_all(setup: WalkSetup, result: ComakResult, of_free: FloatArray) -> FloatArray:
    """Return values (N, n) of all coordinates from those (N, F) of the free ones, else zero."""
    motion = setup.plant.motion
    found = np.zeros(motion.values.shape)
    found[:, motion.index(result.free)] = of_free
    return found


def write_jam_tables(folder: Path, prefix: str, setup: WalkSetup, result: ComakResult) -> None:
    """Write the tables of a walk to a folder, as files whose names begin with a prefix."""
    for name, table in jam_tables(setup, result).items():
        title = f"COMAK {name}"
        write_text(folder / f"{prefix}_{name}.sto", motion_text(table, title=title))
