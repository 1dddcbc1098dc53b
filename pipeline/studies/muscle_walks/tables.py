"""Tables of a walk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd

from dynamics.motion.motion_tables import MotionTable, motion_text
from dynamics.musculoskeletal import ComakResult
from dynamics.musculoskeletal.joint_kinematics import BODY, Placement
from dynamics.musculoskeletal.osim_model import OsimModel
from dynamics.musculoskeletal.plant import CoordinateMotion, Plant, SimulatedFrames
from foundation.base.checks import FloatArray
from foundation.base.loads import CENTRE, FORCE, LOAD_COLUMNS, MOMENT
from pipeline.files import write_text
from pipeline.studies.muscle_walks.setup import WalkSetup

#: Tables of a simulation with a row per frame, by name and title, and those of a walk.
_TITLES = {
    "states.sto": "states",
    "kinematics.mot": "Coordinates",
    "forces.sto": "forces",
    "contact.sto": "contact",
}
FILES = (*_TITLES, "frames.csv")


class Simulated(Protocol):
    """A model with its multibody system along a motion."""

    @property
    def model(self) -> OsimModel:
        """The model."""
        ...

    @property
    def plant(self) -> Plant:
        """Its multibody system along the motion."""
        ...


def whole_motion(setup: Simulated, result: SimulatedFrames) -> CoordinateMotion:
    """Return the motion of all coordinates at the frames, the secondary ones as simulated."""
    motion = setup.plant.motion.first(len(result.time))
    values, speeds = motion.values.copy(), motion.speeds.copy()
    places = motion.index(result.secondary)
    values[:, places], speeds[:, places] = result.values, result.speeds
    return replace(motion, values=values, speeds=speeds)


def ligament_forces(setup: Simulated, result: SimulatedFrames) -> FloatArray:
    """Return the tensions (N, L) [N] of the ligaments."""
    plant = setup.plant
    rows = zip(result.values, result.speeds, strict=True)
    return np.array(
        [plant.ligament_tensions(frame, *row) for frame, row in enumerate(rows)]
    ).reshape(len(result.time), len(plant.ligaments.names))


def states_table(setup: Simulated, result: SimulatedFrames) -> MotionTable:
    """Return coordinates, speeds and activations with OpenSim's names [rad, m; per s; 1]."""
    motion, paths = whole_motion(setup, result), setup.model.coordinate_paths
    names, columns = [], []
    for k, name in enumerate(motion.names):
        names += [f"{paths[name]}/value", f"{paths[name]}/speed"]
        columns += [motion.values[:, k], motion.speeds[:, k]]
    names += [f"/forceset/{name}/activation" for name in result.muscles]
    values = np.column_stack([*columns, result.activations])
    return MotionTable(tuple(names), result.time, values, False, "states")


def kinematics_table(setup: Simulated, result: SimulatedFrames) -> MotionTable:
    """Return all coordinates by name [deg, m]."""
    motion = whole_motion(setup, result)
    factors = np.where(motion.rotational, 180.0 / np.pi, 1.0)
    return MotionTable(motion.names, motion.time, factors * motion.values, True, "kinematics")


def forces_table(setup: Simulated, result: SimulatedFrames, tensions: FloatArray) -> MotionTable:
    """Return forces of muscles, of ligaments with tensions (N, L), and reserves [N; N m, N]."""
    names = (*result.muscles, *setup.plant.ligaments.names)
    columns = [result.muscle_forces, tensions]
    if isinstance(result, ComakResult):
        names += tuple(f"{name}_reserve" for name in result.free)
        columns.append(result.reserves)
    return MotionTable(names, result.time, np.column_stack(columns), False, "forces")


def run_frames(setup: WalkSetup) -> dict[str, Placement]:
    """Return the placement of the frame of each surrogate's run in the frame of the bed."""
    pairs = zip(setup.springs, setup.contacts, strict=True)
    return {
        springs.name: springs.bed.inverse.after(contact.bed)
        for springs, contact in pairs
        if contact.model is not springs.model
    }


def contact_table(
    result: SimulatedFrames, frames: Mapping[str, Placement] | None = None
) -> MotionTable:
    """Return the loads of contacts and compartments in frames of the beds [SI]."""
    names, columns = [], []
    for k, contact in enumerate(result.contacts):
        loads = [frame[k] for frame in result.loads]
        parts = loads[0].compartments
        for part in ("total", *(parts if len(parts) > 1 else ())):
            names += [f"{contact}_{part}_{column}" for column in LOAD_COLUMNS]
            rows = np.array([each[part].array for each in loads])
            columns.append(_placed(rows, (frames or {}).get(contact, BODY)))
    values = np.nan_to_num(np.hstack([np.empty((len(result.time), 0)), *columns]))
    return MotionTable(tuple(names), result.time, values, False, "contact")


def _placed(rows: FloatArray, frame: Placement) -> FloatArray:
    """Return loads (N, 12) of a frame [SI] in the frame that it is placed in."""
    turned = rows.copy()
    for part in (FORCE, MOMENT, CENTRE):
        turned[:, part] = rows[:, part] @ frame.rotation.T
    turned[:, MOMENT] += np.cross(frame.origin, turned[:, FORCE])
    turned[:, CENTRE] += frame.origin
    return turned


def frames_table(setup: WalkSetup, result: ComakResult) -> pd.DataFrame:
    """Return how each frame was solved: iterations, error, cost, residuals, flags."""
    flags: list[list[str]] = [[] for _ in result.time]
    for each in result.contact_flags:
        flags[each.frame].append(f"{each.contact}: {each.flag}")
    balance = setup.plant.balance
    residuals = {}
    if balance is not None:
        residuals = {"residual_force_N": balance.force, "residual_moment_Nm": balance.moment}
    return pd.DataFrame(
        {
            "time_s": result.time,
            "converged": result.converged,
            "iterations": result.iterations,
            "acceleration_error": result.errors,
            "cost": result.costs,
            **residuals,
            "outside_record": result.outside.any(axis=1),
            "contact_flags": ["; ".join(texts) for texts in flags],
        }
    )


def write_tables(
    folder: Path,
    setup: Simulated,
    result: SimulatedFrames,
    tensions: FloatArray,
    frames: Mapping[str, Placement] | None = None,
) -> None:
    """Write the tables of a simulation; tensions (N, L) [N], `frames` as of `contact_table`."""
    tables = (
        states_table(setup, result),
        kinematics_table(setup, result),
        forces_table(setup, result, tensions),
        contact_table(result, frames),
    )
    for (name, title), table in zip(_TITLES.items(), tables, strict=True):
        if table.names:
            write_text(folder / name, motion_text(table, title=title))
