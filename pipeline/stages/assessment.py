"""Accuracy and speed of a surrogate, its pressure fields, and where it can be trusted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dynamics.protocol import ContactModel
from foundation.base.checks import FloatArray
from foundation.base.loads import LOAD_COLUMNS, WRENCH_COLUMNS
from foundation.base.pose import Pose
from foundation.surface_contact import SurfaceContact
from pipeline.config.schema import FeasibilityConfig, SurrogateConfig
from pipeline.errors import StageError
from pipeline.originals.candidates import domain_candidates
from pipeline.originals.knee import OriginalModel
from pipeline.stages.adaptive_sampling import Sampled
from pipeline.stages.fitting import TrainedKnee, infeasibility
from pipeline.stages.run_folder import Run
from pipeline.store.figures import (
    AT_LOAD,
    AT_POSE,
    AT_POSE_ALL,
    CROSS_VALIDATION,
    Figure,
    Figures,
    FrontRow,
    of_model,
)
from pipeline.store.quantities import OUTPUTS
from pipeline.store.run_documents import Speed
from pipeline.store.samples import OK, loads_of, poses_of, usable
from surrogates.families.cross_validation import NORMAL_95, CrossCheck, coverage
from surrogates.fields.field_fit import FieldSamples, Places, fit_fields
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.domain import NO_LIMIT, Domain
from surrogates.formulations.domain_fit import DomainSamples, Predictor, SeenSamples, fit_domain
from surrogates.formulations.selection import Selected
from surrogates.formulations.validation import (
    ErrorFigures,
    errors_at_load,
    errors_at_pose,
    predict_at_pose,
)
from surrogates.sampling.space import SampleSpace

#: Samples along gait that tell the loads there, over the samples of the whole box [1].
_ALONG = 0.25


def learn_domains(
    run: Run,
    original: OriginalModel,
    space: SampleSpace,
    trained: Sequence[TrainedKnee],
    sampled: Sampled,
) -> list[TrainedKnee]:
    """Return trained knees that know where in the box they can be trusted."""
    known = original.model is None
    samples = sampled.evaluated if known else domain_samples(run, original, space, sampled)
    feasibility = run.config.feasibility
    names = run.config.knee.compartments
    own = {name: usable(samples, name) for name in names}
    along = {
        # They are in random order.
        name: sampled.along[sampled.along["compartment"] == name].head(round(_ALONG * len(rows)))
        for name, rows in own.items()
    }
    jobs = [
        (fitted.knee.compartment(name), own[name], feasibility, known, along[name])
        for fitted in trained
        for name in names
    ]
    found, count = run.execution.map(learn_domain, jobs), len(names)
    return [
        fitted._replace(knee=fitted.knee.with_domains(found[count * k : count * (k + 1)]))
        for k, fitted in enumerate(trained)
    ]


def domain_samples(
    run: Run, original: OriginalModel, space: SampleSpace, sampled: Sampled
) -> pd.DataFrame:
    """Return samples of the whole box that no surrogate is fitted to, `design.domain_samples`."""

    def evaluated() -> pd.DataFrame:
        design, seed = run.config.design, run.config.run.seed
        if not design.domain_samples:
            return sampled.candidates.head(0).assign(status=OK)
        drawn = domain_candidates(space, design, seed, run.config.knee.compartments)
        return run.evaluate(drawn, original.evaluation())

    return run.table("domain", evaluated)


def limits_of(feasibility: FeasibilityConfig) -> FloatArray:
    """Return the bounds (3,) of AP and ML force over axial load and of the peak pressure [Pa]."""
    bounds = feasibility.ap_ratio, feasibility.ml_ratio, 1e6 * feasibility.peak_pressure_MPa
    return np.minimum(bounds, NO_LIMIT)


def learn_domain(
    surrogate: Predictor,
    rows: pd.DataFrame,
    feasibility: FeasibilityConfig,
    known: bool = False,
    along: pd.DataFrame | None = None,
) -> Domain:
    """Return where a surrogate can be trusted, from evaluated samples of its compartment.

    `known` says whether the surrogate was fitted to them; it was to the samples `along` gait.
    """
    limits, margin = limits_of(feasibility), feasibility.margin
    if rows.empty:
        return Domain.within((1.0 + 0.5 * margin) * limits)
    loads = loads_of(rows)
    feasible = infeasibility(loads, feasibility, 0.0) == ""
    seen = None if along is None else SeenSamples(poses_of(along), loads_of(along))
    samples = DomainSamples(poses_of(rows), loads, feasible, known, seen)
    return fit_domain(surrogate, samples, limits, margin)


#: Triangles in contact from which on a field is judged, and share of them that counts as its top.
_FEWEST, _TOP = 10, 0.1


class FieldErrors(NamedTuple):
    """Errors of the field of one compartment at a pose, over the triangles of both patches [1].

    `nrmse` and `peak` are relative to the peak; `dice` is the overlap of the tenths with the
    largest pressures (Dice 1945, Ecology 26:297-302).
    """

    nrmse: float
    correlation: float
    dice: float
    peak: float


def with_fields(
    knee: ContactSurrogate,
    model: SurfaceContact,
    samples: pd.DataFrame,
    settings: SurrogateConfig,
    seed: int,
) -> ContactSurrogate:
    """Return a surrogate with pressure fields as [surrogate.fields] says, or without."""
    chosen = settings.fields
    if chosen is None:
        return knee
    rng = np.random.default_rng((seed, len(knee.compartments)))
    parts, places = {}, {}
    for name in knee.compartments:
        rows = usable(samples, name)
        if rows.empty:
            raise StageError(f"pressure fields: the {name} compartment has no usable sample")
        some = np.sort(rng.permutation(len(rows))[: chosen.samples])
        places[name] = Places(*model.pressure_places(name))
        own = np.arange(len(places[name].points))
        state = partial(model.place_state, compartment=name)
        parts[name] = FieldSamples.of(state, poses_of(rows)[some], own)
    fields = fit_fields(parts, places, len(model.tibia.faces), 1e-3 * chosen.spacing_mm)
    return replace(knee, fields=fields)


def field_errors(
    knee: ContactSurrogate, model: SurfaceContact, poses: FloatArray, name: str
) -> list[FieldErrors]:
    """Return the errors of fields at poses (N, 6) [rad, m] with ten triangles in contact."""
    own = np.asarray(model.compartments) == model.compartment_names.index(name)
    found = []
    for pose in map(Pose.from_array, poses):
        truth = model.spring_state(pose).pressure[own]
        if (truth > 0.0).sum() >= _FEWEST:
            found.append(errors_of(knee.pressure_field(pose).pressure[own], truth))
    return found


def errors_of(predicted: FloatArray, truth: FloatArray) -> FieldErrors:
    """Return the errors of a field (F,) [Pa] beside the true one (F,) [Pa], which has a patch."""
    at = (truth > 0.0) | (predicted > 0.0)
    peak = float(truth.max())
    rms = float(np.sqrt(((predicted - truth)[at] ** 2).mean()))
    spread = min(float(np.ptp(predicted[at])), float(np.ptp(truth[at])))
    correlation = float(np.corrcoef(predicted[at], truth[at])[0, 1]) if spread > 0.0 else np.nan
    count = max(1, round(_TOP * int((truth > 0.0).sum())))
    tops = [set(np.argsort(-each, kind="stable")[:count].tolist()) for each in (predicted, truth)]
    dice = len(tops[0] & tops[1]) / count
    return FieldErrors(rms / peak, correlation, dice, float(predicted.max()) / peak - 1.0)


def field_figures(
    knee: ContactSurrogate, model: SurfaceContact, held_out: pd.DataFrame
) -> dict[str, dict[str, float]]:
    """Return figures of the held-out fields by compartment, for the header of the file [1]."""
    figures = {}
    for name in knee.compartments:
        errors = field_errors(knee, model, poses_of(usable(held_out, name)), name)
        if not errors:
            continue
        nrmse, correlation, dice, peak = np.array(errors).T
        known = correlation[np.isfinite(correlation)]
        figures[name] = {
            "points": float(len(errors)),
            "nrmse": float(np.sqrt((nrmse**2).mean())),
            "median_correlation": float(np.median(known)) if len(known) else 0.0,
            "least_correlation": float(known.min(initial=1.0)),
            "dice": float(dice.mean()),
            "peak": float(np.sqrt((peak**2).mean())),
        }
    return figures


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
) -> Figures:
    """Return the held-out errors of a surrogate, per compartment, load and quantity."""
    figures: list[Figure] = []
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
        figures.extend(_errors(name, errors))
        figures.extend(_coverage(name, truth - predicted, expected))
        figures.extend(_cross_validation(name, {} if checks is None else checks[name]))
    return Figures(figures)


def compared(judged: Figures, model: int) -> list[Figure]:
    """Return the figures by which a further model of `validation.json` is compared."""
    kept = {(AT_POSE, "nrmse"): WRENCH_COLUMNS, (AT_LOAD, "rmse"): ("height_m",)}
    return [
        row.model_copy(update={"about": of_model(row.about, model)})
        for row in judged.root
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


def _cross_validation(name: str, checks: Mapping[str, CrossCheck]) -> Iterator[Figure]:
    """Yield RMSE and interval coverage of the residuals of each output, by kind of check."""
    for key, check in checks.items():
        columns = [column for group in key.split("+") for column in OUTPUTS[group]]
        about = f"{CROSS_VALIDATION}{check.kind}"
        found = {
            "rmse": np.sqrt((check.residuals**2).mean(axis=0)).tolist(),
            "coverage": coverage(check).tolist(),
        }
        for statistic, values in found.items():
            for column, value in zip(columns, values, strict=True):
                yield Figure.of(about, name, column, statistic, value, len(check.rows))


def held_out_point(judged: Figures, largest: float) -> dict[str, float | None]:
    """Return RMS errors of a point of the learning curve, of the force over the largest [N]."""
    force = judged.worst(AT_POSE, "rmse", "force_y_N")
    height = judged.worst(AT_LOAD, "rmse", "height_m")
    share = None if force is None or force.value is None else force.value / largest
    point = {"held_out_load_error_share": share}
    return point if height is None else point | {"held_out_height_m": height.value}


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


def median_seconds(function: Callable[..., object], calls: Sequence[tuple[Any, ...]]) -> float:
    """Return the median time of calls of a function [s], after one that is not timed."""
    function(*calls[0])  # fills caches
    times = []
    for arguments in calls:
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return float(np.median(times))
