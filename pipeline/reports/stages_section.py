"""Section of the report on the stages of a run: samples, reasons, sampling and sample space."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from foundation.base.quantities import QUANTITIES
from pipeline.reports.inputs import RunFiles
from pipeline.reports.units import kind_of
from pipeline.store.run_documents import Budget, Counts, Part, PathKnots
from pipeline.store.samples import FAILED, POSE_COLUMNS


class Reason(Part):
    """Kind of a reason, the number of samples with the reason, and an example."""

    kind: str
    count: int
    example: str


class FailureReason(Reason):
    """Reason of failed evaluations of a stage."""

    stage: str


class Sampling(Part):
    """Keys of [design] and [feasibility], and the budgets of the rounds."""

    rounds: int
    budget: int
    infill: str
    follow: str
    wanted_error_percent: float
    budgets: list[Budget]
    margin_percent: float
    outside_weight_percent: float


class Space(Part):
    """Range of the flexion and of the load, and half widths of the box about the path."""

    flexion_range_deg: list[float]
    adduction_half_width_deg: float
    rotation_half_width_deg: float
    anterior_half_width_mm: float
    lateral_half_width_mm: float
    compartment_load_range_N: list[float]


class Stages(Part):
    """Samples through the stages; `path` has the knots of the reference path by coordinate."""

    counts: dict[str, Counts]
    drop_reasons: list[Reason]
    failure_reasons: list[FailureReason]
    sampling: Sampling
    space: Space
    path: dict[str, list[float]]


def stages_of(files: RunFiles) -> Stages:
    """Return the section on stages a to h of the report of a run."""
    tables = {"b: first": files.first, "f: kept": files.kept, "held-out": files.held_out}
    dropped = files.screened.loc[files.screened["screening"] == "dropped", "drop_reason"]
    design, feasibility, space = (files.config[k] for k in ("design", "feasibility", "space"))
    return Stages(
        counts=files.run.counts,
        drop_reasons=_by_kind(dropped),
        failure_reasons=[
            FailureReason(stage=stage, **row.content())
            for stage, table in tables.items()
            for row in _by_kind(table.loc[table["status"] == FAILED, "reason"])
        ],
        sampling=Sampling(
            rounds=design["rounds"],
            budget=design["budget"],
            infill=design["infill"],
            follow=design["follow"],
            wanted_error_percent=design["wanted_error_percent"],
            budgets=files.run.budgets,
            margin_percent=100.0 * feasibility["margin"],
            outside_weight_percent=100.0 * feasibility["outside_weight"],
        ),
        space=Space(
            flexion_range_deg=space["flexion_deg"],
            adduction_half_width_deg=space["adduction_deg"],
            rotation_half_width_deg=space["rotation_deg"],
            anterior_half_width_mm=space["anterior_mm"],
            lateral_half_width_mm=space["lateral_mm"],
            compartment_load_range_N=space["load_N"],
        ),
        path=knots_of(files.path),
    )


def _by_kind(reasons: Iterable[str]) -> list[Reason]:
    """Return the kinds of reasons by count, the most frequent first, with an example."""
    kinds: dict[str, list[str]] = {}
    for reason in map(str, reasons):
        kinds.setdefault(kind_of(reason), []).append(reason)
    return [
        Reason(kind=kind, count=len(texts), example=texts[0])
        for kind, texts in sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0]))
    ]


def knots_of(path: PathKnots) -> dict[str, list[float]]:
    """Return the knots of the reference path by coordinate [deg, mm]."""
    knots = np.column_stack([path.flexion_rad, path.coordinates_rad_m])
    return {
        quantity.column_for_people: quantity.for_people(column).tolist()
        for quantity, column in zip(
            [QUANTITIES[name] for name in POSE_COLUMNS], knots.T, strict=True
        )
    }
