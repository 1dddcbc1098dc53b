"""Accuracy of a surrogate on held-out samples, and its speed against the original model."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from dynamics.protocol import ContactModel
from foundation.base.checks import FloatArray
from foundation.base.loads import AXIAL_FORCE, LOAD_COLUMNS, WRENCH_COLUMNS
from foundation.base.pose import Pose
from pipeline.config.schema import FeasibilityConfig
from pipeline.stages import StageError, infeasibility
from pipeline.store.run_documents import Speed
from pipeline.store.samples import loads_of, poses_of, usable
from pipeline.store.validation_document import (
    Compartment,
    Crossed,
    Figures,
    FrontRow,
    Judged,
    Standardised,
    Worst,
)
from surrogates.families.cross_validation import NORMAL_95, CrossCheck, coverage
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.selection import Selected
from surrogates.formulations.validation import (
    ErrorFigures,
    errors_at_load,
    errors_at_pose,
    predict_at_pose,
)
from surrogates.sampling.space import VARIABLES

#: Number of the worst held-out samples in the list.
WORST = 5
#: Quantiles of the standardised residuals that are kept for their plot.
_QUANTILES = 200
#: Scaled variable, and shear force over axial force, beyond which a sample gives a reason.
_NEAR_BORDER, _STEEP = 0.9, 0.2

#: Least number of poses in a timed loop, and number of loops.
_LOOP, _LOOPS = 200, 15


def feasible(table: pd.DataFrame, feasibility: FeasibilityConfig) -> pd.DataFrame:
    """Return the rows with true loads inside the feasibility bounds, without margin."""
    return table[infeasibility(loads_of(table), feasibility, 0.0) == ""]


def assess(
    knee: ContactSurrogate,
    held_out: pd.DataFrame,
    feasibility: FeasibilityConfig,
    checks: Mapping[str, Mapping[str, CrossCheck]] | None = None,
    fronts: Mapping[str, Selected] | None = None,
) -> Judged:
    """Return the held-out errors of a surrogate, per compartment, load and quantity.

    The errors are those of the evaluated samples inside the bounds of stage e, and also
    (`at_pose_all`) those of all samples. `checks` are the cross-validation residuals of the fit:
    compartment -> outputs -> residuals; `fronts` the surrogates from which those of the knee were
    chosen, by compartment. Raises `StageError` if a compartment has fewer than two feasible
    samples.
    """
    parts = {}
    for name in knee.compartments:
        rows = usable(held_out, name)
        inside = feasible(rows, feasibility)
        if len(inside) < 2:
            raise StageError(
                f"validation: expected at least 2 feasible held-out samples of the {name} "
                f"compartment, found {len(inside)} of {len(rows)} evaluated samples; increase "
                "validation.points or widen [feasibility]"
            )
        crossed = {} if checks is None else checks[name]
        parts[name] = _compartment(knee.compartment(name), rows, inside, crossed)
    nrmse = [part.at_pose[column].nrmse for part in parts.values() for column in WRENCH_COLUMNS]
    known = [value for value in nrmse if value is not None]
    return Judged(
        formulation=knee.compartment(knee.compartments[0]).formulation,
        family=knee.header.get("family", ""),
        fit_seconds=knee.header.get("fit_seconds"),
        worst_load_nrmse=max(known) if len(known) == len(nrmse) else None,
        compartments=parts,
        fronts={name: _front_rows(front) for name, front in (fronts or {}).items()},
    )


def _front_rows(selected: Selected) -> list[FrontRow]:
    return [
        FrontRow(
            family=point.family,
            size=point.size,
            load_error=point.load_error,
            height_um=1e6 * point.height_error,
            operations=point.operations,
            chosen=k == selected.chosen,
        )
        for k, point in enumerate(selected.front)
    ]


def _compartment(
    surrogate: CompartmentSurrogate,
    rows: pd.DataFrame,
    inside: pd.DataFrame,
    checks: Mapping[str, CrossCheck],
) -> Compartment:
    truth, poses = loads_of(inside), poses_of(inside)
    predicted = predict_at_pose(surrogate, poses)
    errors = surrogate.standard_error(poses)
    part = Compartment(
        points=len(rows),
        feasible=len(inside),
        at_pose=_known(errors_at_pose(surrogate, poses, truth)),
        at_pose_all=_known(errors_at_pose(surrogate, poses_of(rows), loads_of(rows))),
        coverage=_coverage(truth - predicted, errors),
        standardised=_standardised(truth[:, :6] - predicted[:, :6], errors[:, :6]),
        worst=_worst(surrogate, inside, predicted, errors),
        cross_validation=_cross_validation(checks),
    )
    if surrogate.learns_heights:
        part.at_load = _known(errors_at_load(surrogate, poses, truth))
    return part


def _coverage(residuals: FloatArray, errors: FloatArray) -> dict[str, float | None]:
    """Return the part of the loads inside the 95 % intervals [1], None without intervals."""
    known = np.isfinite(errors) & np.isfinite(residuals)
    inside = np.abs(residuals) <= NORMAL_95 * errors
    return {
        name: float(inside[known[:, k], k].mean()) if known[:, k].any() else None
        for k, name in enumerate(LOAD_COLUMNS)
    }


def _standardised(residuals: FloatArray, errors: FloatArray) -> Standardised:
    """Return quantiles of the standardised residuals of all six loads and the normal quantiles."""
    known = np.isfinite(errors) & (errors > 0.0)
    if not known.any():
        return Standardised(normal=[], held_out=[])
    probabilities = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    quantiles = np.quantile(residuals[known] / errors[known], probabilities)
    return Standardised(normal=ndtri(probabilities).tolist(), held_out=quantiles.tolist())


def _cross_validation(checks: Mapping[str, CrossCheck]) -> dict[str, Crossed]:
    """Return, for each group of outputs, RMSE and interval coverage of its residuals."""
    return {
        outputs: Crossed(
            kind=check.kind,
            points=len(check.rows),
            rmse=np.sqrt((check.residuals**2).mean(axis=0)).tolist(),
            coverage=coverage(check).tolist(),
        )
        for outputs, check in checks.items()
    }


def _known(figures: dict[str, ErrorFigures]) -> dict[str, Figures]:
    """Return error figures for the document: None for what is undefined."""
    return {
        name: Figures.model_validate(
            {key: value if np.isfinite(value) else None for key, value in f.to_dict().items()}
        )
        for name, f in figures.items()
    }


def _worst(
    surrogate: CompartmentSurrogate, rows: pd.DataFrame, predicted: FloatArray, errors: FloatArray
) -> list[Worst]:
    """Return the samples with the largest errors of the axial load at a given pose."""
    truth, poses = loads_of(rows), poses_of(rows)
    error = predicted[:, AXIAL_FORCE] - truth[:, AXIAL_FORCE]
    x, _ = surrogate.space.scaled(poses, truth[:, AXIAL_FORCE])
    worst = np.argsort(-np.abs(error), kind="stable")[:WORST]
    return [
        Worst(
            index=int(rows["index"].iloc[k]),
            flexion_deg=float(np.degrees(poses[k, 0])),
            adduction_deg=float(np.degrees(poses[k, 1])),
            rotation_deg=float(np.degrees(poses[k, 2])),
            anterior_mm=float(1e3 * poses[k, 3]),
            lateral_mm=float(1e3 * poses[k, 5]),
            axial_load_N=float(truth[k, 1]),
            error_N=float(error[k]),
            standard_error_N=float(errors[k, 1]) if np.isfinite(errors[k, 1]) else None,
            reason=location(x[k], truth[k]),
        )
        for k in worst
    ]


def location(variables: FloatArray, loads: FloatArray) -> str:
    """Return in words where a sample is in the sample space.

    `variables` (6,) [1] are the scaled `VARIABLES` of the space, `loads` (12,) [SI] the
    `LOAD_COLUMNS` of the compartment.
    """
    near = np.abs(variables[:5]) > _NEAR_BORDER
    places = [f"near the border in {name}" for name in np.array(VARIABLES)[:5][near]]
    if variables[5] > _NEAR_BORDER:
        places.append("near the largest load")
    for k, way in ((0, "AP"), (2, "ML")):
        if abs(loads[k]) > _STEEP * loads[1]:
            places.append(f"on a slope ({way} force {loads[k] / loads[1]:.2f} of axial)")
    return "; ".join(places) or "inside the box, on no slope"


def held_out_point(
    knee: ContactSurrogate, held_out: pd.DataFrame, feasibility: FeasibilityConfig
) -> dict[str, float]:
    """Return the errors of a point of the learning curve on the feasible held-out samples.

    RMS errors of the worse compartment, as `pipeline.stages.adaptive_sampling.learning_point` has
    them by cross-validation: `held_out_load_error` of the axial load at a given pose over the
    largest load of the sample space [1], and, of the formulation "inverted",
    `held_out_height_um` of the height at a given load [µm].
    """
    errors, heights = [], []
    for name in knee.compartments:
        rows = feasible(usable(held_out, name), feasibility)
        surrogate, poses, truth = knee.compartment(name), poses_of(rows), loads_of(rows)
        wrong = predict_at_pose(surrogate, poses)[:, AXIAL_FORCE] - truth[:, AXIAL_FORCE]
        errors.append(float(np.sqrt((wrong**2).mean())) / float(surrogate.space.load[1]))
        if surrogate.learns_heights:
            heights.append(1e6 * errors_at_load(surrogate, poses, truth)["superior_m"].rmse)
    point = {"held_out_load_error": max(errors)}
    return point | ({"held_out_height_um": max(heights)} if heights else {})


def prediction_table(
    knee: ContactSurrogate, held_out: pd.DataFrame, feasibility: FeasibilityConfig
) -> pd.DataFrame:
    """Return the feasible held-out samples with columns `predicted_<load>` of the surrogate."""
    parts = []
    for name in knee.compartments:
        rows = feasible(usable(held_out, name), feasibility)
        loads = predict_at_pose(knee.compartment(name), poses_of(rows))
        columns = {f"predicted_{c}": loads[:, k] for k, c in enumerate(LOAD_COLUMNS)}
        parts.append(rows.assign(**columns))
    return pd.concat(parts, ignore_index=True)


def speed(original: ContactModel, surrogate: ContactSurrogate, poses: FloatArray) -> Speed:
    """Return the median time of an evaluation with its Jacobian at poses (N, 6) [rad, m].

    The models are timed one after the other in this process: the original and the surrogate in
    calls from Python, of which the call is a small part for the original alone, and the surrogate
    in a compiled loop over all poses.
    """
    of_cycle = [(Pose.from_array(pose),) for pose in poses]
    slow, call = (
        median_seconds(partial(model.loads, order=1), of_cycle) for model in (original, surrogate)
    )
    # A loop over a few poses would time the call.
    many = np.tile(poses, (-(-_LOOP // len(poses)), 1))
    loop = median_seconds(surrogate.packed.loads, [(many, 1, 1)] * _LOOPS) / len(many)
    return Speed(
        original_us=1e6 * slow, surrogate_us=1e6 * loop, surrogate_call_us=1e6 * call,
        ratio=slow / loop,
    )  # fmt: skip


def median_seconds(
    function: Callable[..., object],
    calls: Sequence[tuple[Any, ...]],
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return the median time of calls of a function [s], after a call that is not timed.

    `clock` gives the time [s], by default the wall time.
    """
    function(*calls[0])  # fills caches
    times = []
    for arguments in calls:
        start = clock()
        function(*arguments)
        times.append(clock() - start)
    return float(np.median(times))
