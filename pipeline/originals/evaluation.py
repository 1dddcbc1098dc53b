"""Evaluation of a contact model over tables of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from foundation.base.errors import PoseError
from foundation.base.loads import LOAD_COLUMNS, STRAIN_LIMIT
from foundation.base.pose import Pose
from foundation.statics.balance import pose_at_loads
from foundation.statics.height import pose_at_load
from foundation.surface_contact import SurfaceContact
from pipeline.store.samples import FAILED, OK, RESULT_COLUMNS, poses_of


def evaluate_rows(model: SurfaceContact, table: pd.DataFrame, follow: str) -> pd.DataFrame:
    """Evaluate the original model at each row of `pipeline.store.samples.CANDIDATE_COLUMNS`.

    If `follow` is "load", the height that carries the row's load is found; if it is "pose", the
    load at the row's height. Return the table with the height and `RESULT_COLUMNS` added. A row
    without an answer has the status "failed", the reason, and NaN loads; no row is lost.
    """
    answer = _at_load if follow == "load" else _at_pose
    columns = poses_of(table), table["compartment"], table["load_N"]
    rows = [
        answer(model, Pose.from_array(pose), compartment, load)
        for pose, compartment, load in zip(*columns, strict=True)
    ]
    return _with_results(table, rows, "superior_m")


def _with_results(
    table: pd.DataFrame, rows: list[tuple[Any, ...]], *coordinates: str
) -> pd.DataFrame:
    """Return a table with the coordinates that were found, and `RESULT_COLUMNS`."""
    columns = pd.Index([*coordinates, *RESULT_COLUMNS])
    results = pd.DataFrame(rows, columns=columns, index=table.index)
    kept = table.drop(columns=list(RESULT_COLUMNS), errors="ignore")
    return kept.assign(**{name: results[name] for name in columns})


def _failed(reason: object, evaluations: int) -> tuple[Any, ...]:
    return FAILED, str(reason), evaluations, *np.full(len(LOAD_COLUMNS), np.nan)


def _at_load(model: SurfaceContact, pose: Pose, compartment: str, load: float) -> tuple[Any, ...]:
    try:
        found = pose_at_load(model, pose, compartment, load)
    except PoseError as error:
        return pose.superior, *_failed(error, 0)
    return found.pose.superior, OK, "", found.evaluations, *found.loads


def _at_pose(model: SurfaceContact, pose: Pose, compartment: str, load: float) -> tuple[Any, ...]:
    del load  # whatever the height carries is the sample's
    try:
        loads, _, depth = model.compartment_loads(pose, compartment)
    except PoseError as error:
        return pose.superior, *_failed(error, 1)
    if loads[1] <= 0.0:
        return pose.superior, *_failed("no contact at this height", 1)
    if depth[1] > STRAIN_LIMIT:
        return pose.superior, *_failed(f"the layer is pressed through (strain {depth[1]:.2f})", 1)
    if flags := model.compartment_flags(pose, compartment):
        return pose.superior, *_failed("; ".join(flags), 1)
    return pose.superior, OK, "", 1, *loads


def evaluate_knee_rows(model: SurfaceContact, table: pd.DataFrame, reach: float) -> pd.DataFrame:
    """Find height and adduction of whole-knee samples, within `reach` [rad] of their adduction.

    A sample has two rows of the same pose, for the medial and the lateral compartment. Return the
    table with the poses found and `pipeline.store.samples.RESULT_COLUMNS` added. A sample without
    an answer has the status "failed", the reason, and NaN loads.
    """
    rows: list[tuple[Any, ...]] = []
    poses = map(Pose.from_array, poses_of(table)[::2])
    loads = table["load_N"].to_numpy().reshape(-1, 2).tolist()
    for pose, (medial, lateral) in zip(poses, loads, strict=True):
        try:
            parts = pose_at_loads(model, pose, medial, lateral, reach)
        except PoseError as error:
            rows += [(pose.adduction, pose.superior, *_failed(error, 0))] * 2
            continue
        for part in parts:
            where = part.pose.adduction, part.pose.superior
            rows.append((*where, OK, "", part.evaluations, *part.loads))
    return _with_results(table, rows, "adduction_rad", "superior_m")
