"""What a surrogate is worth: held-out errors and speed against the original model."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from dynamics.protocol import ContactModel
from foundation.checks import FloatArray
from foundation.loads import COMPARTMENTS, LOAD_COLUMNS, WRENCH_COLUMNS
from foundation.pose import Pose
from pipeline.config.schema import FeasibilityConfig
from pipeline.stages import StageError, infeasibility
from pipeline.store.samples import loads_of, poses_of, usable
from surrogates.families.cross_validation import NORMAL_95, CrossCheck, coverage
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.validation import (
    ErrorFigures,
    errors_at_load,
    errors_at_pose,
    predict_at_pose,
)
from surrogates.formulations.whole_knee import AnyCompartment, AnyKnee
from surrogates.sampling.space import VARIABLES

#: How many of the worst held-out samples are listed.
WORST = 5
#: Quantiles of the standardised residuals that are kept for their plot.
_QUANTILES = 200
#: From where a scaled variable, or a shear force over the axial one, is told as a reason.
_NEAR_BORDER, _STEEP = 0.9, 0.2


def feasible(table: pd.DataFrame, feasibility: FeasibilityConfig) -> pd.DataFrame:
    """Return the rows whose true loads lie inside the feasibility bounds, without margin."""
    return table[infeasibility(loads_of(table), feasibility, 0.0) == ""]


def assess(
    knee: AnyKnee,
    held_out: pd.DataFrame,
    feasibility: FeasibilityConfig,
    checks: Mapping[str, Mapping[str, CrossCheck]] | None = None,
) -> dict[str, Any]:
    """Return the held-out errors of a surrogate, per compartment, load and quantity.

    Parameters
    ----------
    knee : KneeSurrogate or WholeKneeSurrogate
        What is judged; its header tells family and fitting time.
    held_out : DataFrame
        Evaluated held-out samples.
    feasibility : FeasibilityConfig
        The bounds of stage e: the figures are those of the samples inside them, beside those of
        all samples.
    checks : mapping, optional
        Compartment -> outputs -> cross-validation residuals of the fit.

    Returns
    -------
    dict
        `compartments` -> name -> (`points`, `feasible`, `at_pose`, `at_load`, `at_pose_all`,
        `coverage`, `standardised`, `cross_validation`, `worst`); `worst_load_nrmse`: the largest
        NRMSE of the six loads of both compartments where the pose is given.

    Raises
    ------
    StageError
        If a compartment has fewer than two feasible samples.
    """
    parts = {}
    for name in COMPARTMENTS:
        rows = usable(held_out, name)
        inside = _enough(feasible(rows, feasibility), name, len(rows))
        part = _compartment(knee.compartment(name), rows, inside)
        part["cross_validation"] = {} if checks is None else _cross_validation(checks[name])
        parts[name] = part
    return {
        "formulation": knee.medial.formulation,
        "family": knee.header.get("family"),
        "fit_seconds": knee.header.get("fit_seconds"),
        "worst_load_nrmse": _worst_nrmse(parts),
        "compartments": parts,
    }


def _worst_nrmse(parts: Mapping[str, Any]) -> float | None:
    """Return the largest NRMSE of the six loads, None if one is undefined."""
    found = [
        parts[name]["at_pose"][column]["nrmse"]
        for name in COMPARTMENTS
        for column in WRENCH_COLUMNS
    ]
    return None if None in found else max(found)


def _compartment(
    surrogate: AnyCompartment, rows: pd.DataFrame, inside: pd.DataFrame
) -> dict[str, Any]:
    truth, poses = loads_of(inside), poses_of(inside)
    predicted = predict_at_pose(surrogate, poses)
    errors = surrogate.standard_error(poses)
    part: dict[str, Any] = {
        "points": len(rows),
        "feasible": len(inside),
        "at_pose": _plain(errors_at_pose(surrogate, poses, truth)),
        "at_pose_all": _plain(errors_at_pose(surrogate, poses_of(rows), loads_of(rows))),
        "coverage": _coverage(truth - predicted, errors),
        "standardised": _standardised(truth[:, :6] - predicted[:, :6], errors[:, :6]),
        "worst": _worst(surrogate, inside, predicted, errors),
    }
    if isinstance(surrogate, CompartmentSurrogate) and surrogate.formulation == "inverted":
        part["at_load"] = _plain(errors_at_load(surrogate, poses, truth))
    return part


def _coverage(residuals: FloatArray, errors: FloatArray) -> dict[str, float | None]:
    """Return the part of held-out loads within their 95 % intervals, None without intervals."""
    known = np.isfinite(errors) & np.isfinite(residuals)
    inside = np.abs(residuals) <= NORMAL_95 * errors
    return {
        name: float(inside[known[:, k], k].mean()) if known[:, k].any() else None
        for k, name in enumerate(LOAD_COLUMNS)
    }


def _standardised(residuals: FloatArray, errors: FloatArray) -> dict[str, list[float]]:
    """Return quantiles of the standardised residuals of all six loads beside the normal ones."""
    known = np.isfinite(errors) & (errors > 0.0)
    if not known.any():
        return {"normal": [], "held_out": []}
    probabilities = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    found = np.quantile(residuals[known] / errors[known], probabilities)
    return {"normal": norm.ppf(probabilities).tolist(), "held_out": found.tolist()}


def _cross_validation(checks: Mapping[str, CrossCheck]) -> dict[str, Any]:
    """Return, for each group of outputs, RMSE and interval coverage of its residuals."""
    return {
        outputs: {
            "kind": check.kind,
            "points": len(check.rows),
            "rmse": np.sqrt((check.residuals**2).mean(axis=0)).tolist(),
            "coverage": coverage(check).tolist(),
        }
        for outputs, check in checks.items()
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


def _worst(
    surrogate: AnyCompartment, rows: pd.DataFrame, predicted: FloatArray, errors: FloatArray
) -> list[dict[str, Any]]:
    """Return the samples with the largest errors of the axial load where the pose is given."""
    truth, poses = loads_of(rows), poses_of(rows)
    error = predicted[:, 1] - truth[:, 1]
    x, _ = surrogate.space.scaled(poses, truth[:, 1])
    worst = np.argsort(-np.abs(error), kind="stable")[:WORST]
    return [
        {
            "index": int(rows["index"].iloc[k]),
            "flexion_deg": float(np.degrees(poses[k, 0])),
            "adduction_deg": float(np.degrees(poses[k, 1])),
            "rotation_deg": float(np.degrees(poses[k, 2])),
            "anterior_mm": float(1e3 * poses[k, 3]),
            "lateral_mm": float(1e3 * poses[k, 5]),
            "axial_load_N": float(truth[k, 1]),
            "error_N": float(error[k]),
            "standard_error_N": float(errors[k, 1]) if np.isfinite(errors[k, 1]) else None,
            "reason": _reason(x[k], truth[k]),
        }
        for k in worst
    ]


def _reason(x: FloatArray, loads: FloatArray) -> str:
    """Say what is particular about a sample: scaled variables (6,) of the box and loads (12,)."""
    found = []
    for name in np.array(VARIABLES)[:5][np.abs(x[:5]) > _NEAR_BORDER]:
        found.append(f"near the border in {name}")
    if x[5] > _NEAR_BORDER:
        found.append("near the largest load")
    for k, way in ((0, "AP"), (2, "ML")):
        if abs(loads[k]) > _STEEP * loads[1]:
            found.append(f"on a slope ({way} force {loads[k] / loads[1]:.2f} of axial)")
    return "; ".join(found) or "inside the box, on no slope"


def prediction_table(
    knee: AnyKnee, held_out: pd.DataFrame, feasibility: FeasibilityConfig
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
