"""Accuracy of a surrogate on held-out samples, and its speed against the original model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri

from dynamics.protocol import ContactModel
from foundation.base.checks import FloatArray
from foundation.base.loads import AXIAL_FORCE, LOAD_COLUMNS, WRENCH_COLUMNS
from foundation.base.pose import Pose
from pipeline.config.schema import FeasibilityConfig
from pipeline.stages import StageError, infeasibility
from pipeline.store.figures import (
    AT_LOAD,
    AT_POSE,
    AT_POSE_ALL,
    CROSS_VALIDATION,
    Figure,
    FrontRow,
    Standardised,
    Worst,
    of_model,
)
from pipeline.store.quantities import OUTPUTS
from pipeline.store.run_documents import Speed
from pipeline.store.samples import loads_of, poses_of, usable
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


class Judged(NamedTuple):
    """Errors of a surrogate at held-out samples: parts of `validation.json`."""

    figures: list[Figure]
    standardised: dict[str, Standardised]
    worst: list[Worst]


def assess(
    knee: ContactSurrogate,
    held_out: pd.DataFrame,
    feasibility: FeasibilityConfig,
    checks: Mapping[str, Mapping[str, CrossCheck]] | None = None,
) -> Judged:
    """Return the held-out errors of a surrogate, per compartment, load and quantity."""
    judged = Judged([], {}, [])
    for name in knee.compartments:
        rows = usable(held_out, name)
        inside = feasible(rows, feasibility)
        if len(inside) < 2:
            raise StageError(
                f"validation: expected at least 2 feasible held-out samples of the {name} "
                f"compartment, found {len(inside)} of {len(rows)} evaluated samples; increase "
                "validation.points or widen [feasibility]"
            )
        surrogate = knee.compartment(name)
        truth, poses = loads_of(inside), poses_of(inside)
        predicted = predict_at_pose(surrogate, poses)
        expected = surrogate.standard_error(poses)
        errors = {
            AT_POSE: errors_at_pose(surrogate, poses, truth),
            AT_POSE_ALL: errors_at_pose(surrogate, poses_of(rows), loads_of(rows)),
        }
        if surrogate.learns_heights:
            errors[AT_LOAD] = errors_at_load(surrogate, poses, truth)
        judged.figures.extend(_errors(name, errors))
        judged.figures.extend(_coverage(name, truth - predicted, expected))
        judged.figures.extend(_cross_validation(name, {} if checks is None else checks[name]))
        judged.standardised[name] = _standardised(truth[:, :6] - predicted[:, :6], expected[:, :6])
        judged.worst.extend(_worst(name, surrogate, inside, predicted, expected))
    return judged


def compared(judged: Judged, model: int) -> list[Figure]:
    """Return the figures by which a further model of `validation.json` is compared."""
    kept = {(AT_POSE, "nrmse"): WRENCH_COLUMNS, (AT_LOAD, "rmse"): ("height_m",)}
    return [
        row.model_copy(update={"about": of_model(row.about, model)})
        for row in judged.figures
        if row.quantity in kept.get((row.about, row.statistic), ())
    ]


def front_rows(fronts: Mapping[str, Selected]) -> list[FrontRow]:
    """Return the surrogates from which those of the compartments were chosen."""
    return [
        FrontRow(
            part=name,
            family=point.family,
            size=point.size,
            load_error_share=point.load_error,
            height_m=point.height_error,
            operations=point.operations,
            chosen=k == selected.chosen,
        )
        for name, selected in fronts.items()
        for k, point in enumerate(selected.front)
    ]


def _errors(name: str, errors: Mapping[str, Mapping[str, ErrorFigures]]) -> Iterator[Figure]:
    """Yield the errors of a compartment by what is given."""
    for about, found in errors.items():
        for column, error in found.items():
            # The superior position at a load is the height that carries the load.
            quantity = "height_m" if column == "superior_m" else column
            for statistic in ("rmse", "mae", "maximum", "nrmse", "q2"):
                value = getattr(error, statistic)
                yield Figure.of(about, name, quantity, statistic, value, error.points)


def _coverage(name: str, residuals: FloatArray, errors: FloatArray) -> Iterator[Figure]:
    """Yield the part of each load inside the 95 % intervals [1], undefined without intervals."""
    known = np.isfinite(errors) & np.isfinite(residuals)
    inside = np.abs(residuals) <= NORMAL_95 * errors
    for k, column in enumerate(LOAD_COLUMNS):
        rows = known[:, k]
        value = float(inside[rows, k].mean()) if rows.any() else np.nan
        yield Figure.of(AT_POSE, name, column, "coverage", value, int(rows.sum()))


def _standardised(residuals: FloatArray, errors: FloatArray) -> Standardised:
    """Return quantiles of the standardised residuals of all six loads and the normal quantiles."""
    known = np.isfinite(errors) & (errors > 0.0)
    if not known.any():
        return Standardised(normal_ratio=[], held_out_ratio=[])
    probabilities = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    quantiles = np.quantile(residuals[known] / errors[known], probabilities)
    return Standardised(
        normal_ratio=ndtri(probabilities).tolist(), held_out_ratio=quantiles.tolist()
    )


def _cross_validation(name: str, checks: Mapping[str, CrossCheck]) -> Iterator[Figure]:
    """Yield RMSE and interval coverage of the residuals of each output, by kind of check."""
    for key, check in checks.items():
        groups, _, kind = key.partition(", ")
        columns = [column for group in groups.split("+") for column in OUTPUTS[group]]
        about = f"{CROSS_VALIDATION}{kind or check.kind}"
        found = {
            "rmse": np.sqrt((check.residuals**2).mean(axis=0)).tolist(),
            "coverage": coverage(check).tolist(),
        }
        for statistic, values in found.items():
            for column, value in zip(columns, values, strict=True):
                yield Figure.of(about, name, column, statistic, value, len(check.rows))


def _worst(
    name: str,
    surrogate: CompartmentSurrogate,
    rows: pd.DataFrame,
    predicted: FloatArray,
    errors: FloatArray,
) -> list[Worst]:
    """Return the samples with the largest errors of the axial load at a given pose."""
    truth, poses = loads_of(rows), poses_of(rows)
    error = predicted[:, AXIAL_FORCE] - truth[:, AXIAL_FORCE]
    x, _ = surrogate.space.scaled(poses, truth[:, AXIAL_FORCE])
    worst = np.argsort(-np.abs(error), kind="stable")[:WORST]
    return [
        Worst(
            part=name,
            index=int(rows["index"].iloc[k]),
            flexion_rad=float(poses[k, 0]),
            adduction_rad=float(poses[k, 1]),
            rotation_rad=float(poses[k, 2]),
            anterior_m=float(poses[k, 3]),
            lateral_m=float(poses[k, 5]),
            axial_load_N=float(truth[k, 1]),
            error_N=float(error[k]),
            standard_error_N=float(errors[k, 1]) if np.isfinite(errors[k, 1]) else None,
            reason=location(x[k], truth[k]),
        )
        for k in worst
    ]


def location(variables: FloatArray, loads: FloatArray) -> str:
    """Return in words where a sample of variables (6,) [1] and loads (12,) [SI] is."""
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
    """Return RMS errors of a point of the learning curve at feasible held-out samples."""
    errors, heights = [], []
    for name in knee.compartments:
        rows = feasible(usable(held_out, name), feasibility)
        surrogate, poses, truth = knee.compartment(name), poses_of(rows), loads_of(rows)
        wrong = predict_at_pose(surrogate, poses)[:, AXIAL_FORCE] - truth[:, AXIAL_FORCE]
        errors.append(float(np.sqrt((wrong**2).mean())) / float(surrogate.space.load[1]))
        if surrogate.learns_heights:
            heights.append(errors_at_load(surrogate, poses, truth)["superior_m"].rmse)
    point = {"held_out_load_error_share": max(errors)}
    return point | ({"held_out_height_m": max(heights)} if heights else {})


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
    """Return the median time of an evaluation with its Jacobian at poses (N, 6) [rad, m]."""
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
    """Return the median time of calls of a function [s] by `clock`, after one that is not timed."""
    function(*calls[0])  # fills caches
    times = []
    for arguments in calls:
        start = clock()
        function(*arguments)
        times.append(clock() - start)
    return float(np.median(times))
