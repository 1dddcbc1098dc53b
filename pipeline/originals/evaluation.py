"""Evaluation of a contact model over tables of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from foundation.base.errors import PoseError
from foundation.base.flags import worded
from foundation.base.loads import LOAD_COLUMNS, STRAIN_LIMIT
from foundation.base.pose import Pose
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
    given = poses_of(table), table["compartment"], table["load_N"]
    rows = [
        answer(model, Pose.from_array(pose), compartment, load)
        for pose, compartment, load in zip(*given, strict=True)
    ]
    columns = pd.Index(["superior_m", *RESULT_COLUMNS])
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
    del load  # the load of the sample is the load at the height
    try:
        loads, _, depth = model.compartment_loads(pose, compartment)
    except PoseError as error:
        return pose.superior, *_failed(error, 1)
    if loads[1] <= 0.0:
        return pose.superior, *_failed("no contact at this height", 1)
    if depth[1] > STRAIN_LIMIT:
        return pose.superior, *_failed(f"the layer is pressed through (strain {depth[1]:.2f})", 1)
    if flags := model.compartment_flags(pose, compartment):
        return pose.superior, *_failed(worded(flags), 1)
    return pose.superior, OK, "", 1, *loads
