"""What a surrogate is worth: held-out errors and speed against the original model."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

from dynamics.protocol import ContactModel
from foundation.checks import FloatArray
from foundation.loads import COMPARTMENTS, LOAD_COLUMNS, WRENCH_COLUMNS
from foundation.pose import Pose
from pipeline.samples import loads_of, poses_of, usable
from pipeline.schema import FeasibilityConfig
from pipeline.stages import StageError, infeasibility
from surrogates.formulations import InvertedCompartment
from surrogates.knee import KneeSurrogate
from surrogates.validation import ErrorFigures, errors_at_load, errors_at_pose, predict_at_pose

#: How many of the worst held-out samples are listed.
WORST = 5


def feasible(table: pd.DataFrame, feasibility: FeasibilityConfig) -> pd.DataFrame:
    """Return the rows whose true loads lie inside the feasibility bounds, without margin."""
    return table[infeasibility(loads_of(table), feasibility, 0.0) == ""]


def assess(
    knee: KneeSurrogate, held_out: pd.DataFrame, feasibility: FeasibilityConfig
) -> dict[str, Any]:
    """Return the held-out errors of a surrogate, per compartment, load and quantity.

    Parameters
    ----------
    knee : KneeSurrogate
        What is judged; its header tells family and fitting time.
    held_out : DataFrame
        Evaluated held-out samples.
    feasibility : FeasibilityConfig
        The bounds of stage e: the figures are those of the samples inside them, beside those of
        all samples.

    Returns
    -------
    dict
        `compartments` -> name -> (`points`, `feasible`, `at_pose`, `at_load`, `at_pose_all`,
        `worst`); `worst_load_nrmse`: the largest NRMSE of the six loads of both compartments where
        the pose is given.

    Raises
    ------
    StageError
        If a compartment has fewer than two feasible samples.
    """
    parts = {}
    for name in COMPARTMENTS:
        rows = usable(held_out, name)
        inside = _enough(feasible(rows, feasibility), name, len(rows))
        surrogate = knee.compartment(name)
        at_pose = errors_at_pose(surrogate, poses_of(inside), loads_of(inside))
        part: dict[str, Any] = {
            "points": len(rows),
            "feasible": len(inside),
            "at_pose": _plain(at_pose),
            "at_pose_all": _plain(errors_at_pose(surrogate, poses_of(rows), loads_of(rows))),
            "worst": _worst(knee, inside, name),
        }
        if isinstance(surrogate, InvertedCompartment):
            part["at_load"] = _plain(errors_at_load(surrogate, poses_of(inside), loads_of(inside)))
        parts[name] = part
    return {
        "formulation": knee.medial.formulation,
        "family": knee.header.get("family"),
        "fit_seconds": knee.header.get("fit_seconds"),
        "worst_load_nrmse": max(
            parts[name]["at_pose"][column]["nrmse"]
            for name in COMPARTMENTS
            for column in WRENCH_COLUMNS
        ),
        "compartments": parts,
    }


def _enough(rows: pd.DataFrame, name: str, answered: int) -> pd.DataFrame:
    if len(rows) < 2:
        raise StageError(
            f"validation: expected at least 2 feasible held-out samples of the {name} compartment, "
            f"found {len(rows)} of {answered} answered ones; draw more (validation.points) or "
            "widen [feasibility]"
        )
    return rows


def _plain(figures: dict[str, ErrorFigures]) -> dict[str, dict[str, float | None]]:
    return {
        name: {k: v if np.isfinite(v) else None for k, v in f.to_dict().items()}
        for name, f in figures.items()
    }


def _worst(knee: KneeSurrogate, rows: pd.DataFrame, name: str) -> list[dict[str, float]]:
    """Return the samples with the largest errors of the axial load where the pose is given."""
    predicted = predict_at_pose(knee.compartment(name), poses_of(rows))[:, 1]
    error = predicted - rows["force_y_N"].to_numpy()
    worst = np.argsort(-np.abs(error), kind="stable")[:WORST]
    poses = poses_of(rows)
    return [
        {
            "index": int(rows["index"].iloc[k]),
            "flexion_deg": float(np.degrees(poses[k, 0])),
            "adduction_deg": float(np.degrees(poses[k, 1])),
            "rotation_deg": float(np.degrees(poses[k, 2])),
            "anterior_mm": float(1e3 * poses[k, 3]),
            "lateral_mm": float(1e3 * poses[k, 5]),
            "axial_load_N": float(rows["force_y_N"].iloc[k]),
            "error_N": float(error[k]),
        }
        for k in worst
    ]


def prediction_table(
    knee: KneeSurrogate, held_out: pd.DataFrame, feasibility: FeasibilityConfig
) -> pd.DataFrame:
    """Return the feasible held-out samples with the surrogate's answers at their poses.

    Columns `predicted_<load>` beside the true ones.
    """
    parts = []
    for name in COMPARTMENTS:
        rows = feasible(usable(held_out, name), feasibility)
        loads = predict_at_pose(knee.compartment(name), poses_of(rows))
        columns = {f"predicted_{c}": loads[:, k] for k, c in enumerate(LOAD_COLUMNS)}
        parts.append(rows.assign(**columns))
    return pd.concat(parts, ignore_index=True)


def speed(original: ContactModel, surrogate: ContactModel, poses: FloatArray) -> dict[str, float]:
    """Return the time of one evaluation with its jacobian, for both models at the same poses.

    Parameters
    ----------
    original, surrogate : ContactModel
        What is timed, in turn, in this process.
    poses : (N, 6) float64
        Poses of a simulated cycle [rad, m].
    """
    seconds = {}
    for name, model in (("original", original), ("surrogate", surrogate)):
        model.loads_and_jacobian(Pose.from_array(poses[0]))
        times = []
        for pose in map(Pose.from_array, poses):
            start = time.perf_counter()
            model.loads_and_jacobian(pose)
            times.append(time.perf_counter() - start)
        seconds[name] = float(np.median(times))
    return {
        "original_us": 1e6 * seconds["original"],
        "surrogate_us": 1e6 * seconds["surrogate"],
        "ratio": seconds["original"] / seconds["surrogate"],
    }
