"""Loads of a knee along a motion: evaluated, flagged, and written for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import surrogates
from dynamics.protocol import ContactModel
from dynamics.simulator.result_assembly import counted_flags
from dynamics.walking.motion_tables import OPENSIM_ENDINGS, MotionTable, motion_text
from foundation.checks import FloatArray, check_array, check_in
from foundation.loads import COMPARTMENTS, LOAD_COLUMNS
from foundation.pose import Pose
from pipeline.exchange.knee_motion import KneeColumns, knee_motion_table
from pipeline.files import replacing, write_text
from pipeline.stages.trained_run import TrainedRun
from pipeline.store.made_with import check_configuration
from pipeline.store.samples import POSE_COLUMNS, poses_of, read_table, without, write_table
from pipeline.store.workspace_lock import RunError

#: Endings of the files that loads are written to.
LOAD_ENDINGS = (*OPENSIM_ENDINGS, ".csv", ".parquet")
#: Bodies that the loads of `external_loads` act on, and their sign there.
_BODIES = (("femur", 1.0), ("tibia", -1.0))


def contact_of(source: Path, *, original: bool = False) -> ContactModel:
    """Return the trained surrogate of a run, or its original model.

    Parameters
    ----------
    source : Path
        A run directory, or the `.npz` file of a surrogate.
    original : bool
        Whether the original model is wanted, which needs the run directory.

    Raises
    ------
    RunError
        If the original model is wanted of a file, or the surfaces have changed since.
    SurrogateFileError
        If there is no usable surrogate.
    """
    if not source.is_dir():
        if original:
            raise RunError(f"{source}: expected a run directory for --original, found none")
        return surrogates.load(source)
    run = TrainedRun.open(source)
    return run.contact if original else run.surrogate


def loads_along(
    model: ContactModel, time: FloatArray, poses: FloatArray
) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """Evaluate a contact model along a motion.

    Parameters
    ----------
    model : ContactModel
        The surrogate or the original model.
    time : (N,) float64
        [s].
    poses : (N, 6) float64
        Pose coordinates [rad, m].

    Returns
    -------
    table : DataFrame
        A row per instant: `time_s`, the pose, `flagged` (1 where the loads are not to be trusted,
        as outside the trained domain), and the loads of `medial`, `lateral` and `total` on the
        femur, in the tibial frame, about the tibial origin; NaN where the model has none.
    flags : list of dict
        What the model had to say: `message` of the first time, `time_s` of it, `rows`.
    """
    rows = check_array("poses", poses, (None, 6))
    answers = [model.loads(Pose.from_array(row)) for row in rows]
    columns: dict[str, FloatArray] = {"time_s": check_array("time", time, (len(rows),))}
    columns |= dict(zip(POSE_COLUMNS, rows.T, strict=True))
    columns["flagged"] = np.array([float(bool(answer.flags)) for answer in answers])
    parts = (*COMPARTMENTS, "total")
    for part in parts:
        loads = np.array([getattr(answer, part).array for answer in answers])
        columns |= {f"{part}_{name}": loads[:, k] for k, name in enumerate(LOAD_COLUMNS)}
    said = [(t, words) for t, a in zip(time.tolist(), answers, strict=True) for words in a.flags]
    flags = [
        {"message": flag.message, "time_s": flag.time, "rows": flag.samples}
        for flag in counted_flags(said)
    ]
    # A surrogate of a table without areas, pressures or centres says nothing of these.
    lacking = getattr(model, "header", {}).get("not_given", ())
    return without(pd.DataFrame(columns), lacking, [f"{part}_" for part in parts]), flags


def external_loads(table: pd.DataFrame) -> MotionTable:
    """Return the loads as OpenSim's `ExternalLoads` takes them.

    Parameters
    ----------
    table : DataFrame
        Of `loads_along`.

    Returns
    -------
    MotionTable
        `flagged`, and of each compartment and of femur and tibia, on which opposite loads act at
        the same point: force `<compartment>_<body>_force_vx` [N], its point
        `<compartment>_<body>_force_px` [m], the centre of pressure (the tibial origin where there
        is none), and the moment that is left about it, `<compartment>_<body>_torque_x` [N m]. All
        are in the tibial frame.
    """
    columns = {"flagged": table["flagged"].to_numpy()}
    for part in COMPARTMENTS:
        loads = table[[f"{part}_{name}" for name in LOAD_COLUMNS]].to_numpy()
        force, moment, point = loads[:, :3], loads[:, 3:6], np.nan_to_num(loads[:, 9:])
        torque = moment - np.cross(point, force)
        for body, sign in _BODIES:
            head = f"{part}_{body}"
            for k, axis in enumerate("xyz"):
                columns[f"{head}_force_v{axis}"] = sign * force[:, k]
            for k, axis in enumerate("xyz"):
                columns[f"{head}_force_p{axis}"] = point[:, k]
            for k, axis in enumerate("xyz"):
                columns[f"{head}_torque_{axis}"] = sign * torque[:, k]
    values = np.column_stack(list(columns.values()))
    return MotionTable(tuple(columns), table["time_s"].to_numpy(), values, False, "knee loads")


def write_loads(table: pd.DataFrame, path: Path) -> None:
    """Write the loads of `loads_along`.

    Parameters
    ----------
    table : DataFrame
        The loads.
    path : Path
        `.sto` or `.mot`: as `external_loads`; `.csv` or `.parquet`: the table as it is.

    Raises
    ------
    InputError
        If the path ends in none of these.
    """
    ending = check_in(f"{path}: ending", path.suffix.lower(), LOAD_ENDINGS)
    if ending in OPENSIM_ENDINGS:
        write_text(path, motion_text(external_loads(table), title="knee contact loads"))
    elif ending == ".csv":
        with replacing(path) as partial:
            table.to_csv(partial, index=False)
    else:
        write_table(table, path)


def run_motion(
    folder: Path, model: str = "surrogate", columns: KneeColumns | None = None
) -> MotionTable:
    """Return the simulated gait cycle of a run as a motion for OpenSim.

    Parameters
    ----------
    folder : Path
        Run directory, or that of a walk.
    model : {"surrogate", "original"}
        Which of both simulations.
    columns : KneeColumns, optional
        As in `knee_motion_table`.

    Raises
    ------
    RunError
        If the folder holds no such simulation, or its `config.toml` was changed since.
    """
    stored = folder / "simulation.parquet"
    if not stored.is_file():
        raise RunError(f"{folder}: no simulated cycle, {stored.name} is missing; start with `run`")
    check_configuration(folder)
    table = read_table(stored, ("model", "time_s", *POSE_COLUMNS))
    rows = table[table["model"] == model]
    if rows.empty:
        found = ", ".join(sorted(set(table["model"])))
        raise RunError(f"{stored}: expected rows of the model {model!r}, found {found}")
    return knee_motion_table(rows["time_s"].to_numpy(), poses_of(rows), columns)


def write_motion(table: MotionTable, path: Path) -> None:
    """Write a motion as `.mot` or `.sto`; an InputError says so if the path ends in neither."""
    check_in(f"{path}: ending", path.suffix.lower(), OPENSIM_ENDINGS)
    write_text(path, motion_text(table, title=table.source))
