"""Evaluation of a contact model over tables of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from foundation.elastic_foundation.balance import pose_at_loads
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.elastic_foundation.statics import StaticsError, pose_at_load
from foundation.kernels import STRAIN_LIMIT
from foundation.loads import LOAD_COLUMNS
from foundation.pose import Pose
from pipeline.store.samples import FAILED, OK, poses_of


def evaluate_rows(model: ElasticFoundation, table: pd.DataFrame, follow: str) -> pd.DataFrame:
    """Evaluate the original model at each row.

    Parameters
    ----------
    model : ElasticFoundation
        The original model.
    table : DataFrame
        With `pipeline.store.samples.CANDIDATE_COLUMNS`.
    follow : {"load", "pose"}
        Whether the height that carries the row's load is found, or the row's height is taken and
        its load found.

    Returns
    -------
    DataFrame
        The table with the height found and `pipeline.store.samples.RESULT_COLUMNS` added. A row
        that has no answer keeps the status "failed", the reason, and NaN loads; no row is lost.
    """
    answer = _at_load if follow == "load" else _at_pose
    rows = [
        answer(model, Pose.from_array(coordinates), compartment, load)
        for coordinates, compartment, load in zip(
            poses_of(table), table["compartment"], table["load_N"], strict=True
        )
    ]
    columns = ("superior_m", "status", "reason", "evaluations", *LOAD_COLUMNS)
    results = pd.DataFrame(rows, columns=pd.Index(columns), index=table.index)
    kept = table.drop(columns=[c for c in columns if c in table.columns and c != "superior_m"])
    return kept.assign(**{name: results[name] for name in columns})


def _at_load(
    model: ElasticFoundation, pose: Pose, compartment: str, load: float
) -> tuple[Any, ...]:
    try:
        found = pose_at_load(model, pose, compartment, load)
    except StaticsError as error:
        return (pose.superior, FAILED, str(error), 0, *np.full(12, np.nan))
    return (found.pose.superior, OK, "", found.evaluations, *found.loads)


def _at_pose(
    model: ElasticFoundation, pose: Pose, compartment: str, load: float
) -> tuple[Any, ...]:
    del load  # whatever the height carries is the sample's
    loads, _, depth = model.compartment_loads(pose, compartment)
    if loads[1] <= 0.0:
        return (pose.superior, FAILED, "no contact at this height", 1, *np.full(12, np.nan))
    if depth[1] > STRAIN_LIMIT:
        reason = f"the layer is pressed through (strain {depth[1]:.2f})"
        return (pose.superior, FAILED, reason, 1, *np.full(12, np.nan))
    return (pose.superior, OK, "", 1, *loads)


def evaluate_knee_rows(model: ElasticFoundation, table: pd.DataFrame, reach: float) -> pd.DataFrame:
    """Find height and adduction of whole-knee samples.

    Parameters
    ----------
    model : ElasticFoundation
        The original model.
    table : DataFrame
        Two rows per sample, of the same pose: for the medial and the lateral compartment.
    reach : float
        Largest distance from the adduction of the row that is searched [rad].

    Returns
    -------
    DataFrame
        The table with the poses found and `pipeline.store.samples.RESULT_COLUMNS` added. A sample
        without an answer has the status "failed", the reason, and NaN loads.
    """
    found = []
    for pose, loads in zip(
        map(Pose.from_array, poses_of(table)[::2]),
        table["load_N"].to_numpy().reshape(-1, 2).tolist(),
        strict=True,
    ):
        try:
            medial, lateral = pose_at_loads(model, pose, loads[0], loads[1], reach)
        except StaticsError as error:
            none = (pose.adduction, pose.superior, FAILED, str(error), 0, *np.full(12, np.nan))
            found += [none, none]
            continue
        for part in (medial, lateral):
            where = part.pose.adduction, part.pose.superior
            found.append((*where, OK, "", part.evaluations, *part.loads))
    columns = ("adduction_rad", "superior_m", "status", "reason", "evaluations", *LOAD_COLUMNS)
    results = pd.DataFrame(found, columns=pd.Index(columns), index=table.index)
    return table.assign(**{name: results[name] for name in columns})
