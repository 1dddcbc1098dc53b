"""Section of the report on the stages of a run: samples, reasons, sampling and sample space."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from foundation.base.quantities import QUANTITIES
from pipeline.reports.inputs import RunFiles
from pipeline.reports.units import kind_of
from pipeline.store.quantities import to_display
from pipeline.store.run_documents import Counts, Part, PathKnots
from pipeline.store.samples import FAILED, POSE_COLUMNS

#: Keys of [design] that the report shows, and keys of [space] by their keys in the report.
_SAMPLING = ("rounds", "budget", "infill", "follow", "wanted_error_percent")
_SPACE = {
    "flexion_deg": "flexion_range_deg",
    **{f"{key}_deg": f"{key}_half_width_deg" for key in ("adduction", "rotation")},
    **{f"{key}_mm": f"{key}_half_width_mm" for key in ("anterior", "lateral")},
    "load_N": "compartment_load_range_N",
}


class Stages(Part):
    """Samples through the stages; `path` has the knots of the reference path by coordinate."""

    counts: dict[str, Counts]
    drop_reasons: list[dict[str, Any]]
    failure_reasons: list[dict[str, Any]]
    sampling: dict[str, Any]
    space: dict[str, Any]
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
            {"stage": stage, **row}
            for stage, table in tables.items()
            for row in _by_kind(table.loc[table["status"] == FAILED, "reason"])
        ],
        sampling={
            **{key: design[key] for key in _SAMPLING},
            "budgets": files.run.budgets,
            **to_display(
                {f"{key}_share": feasibility[key] for key in ("margin", "outside_weight")}
            ),
        },
        space={shown: space[key] for key, shown in _SPACE.items()},
        path=knots_of(files.path),
    )


def _by_kind(reasons: Iterable[str]) -> list[dict[str, Any]]:
    """Return the kinds of reasons by count, the most frequent first, with an example."""
    kinds: dict[str, list[str]] = {}
    for reason in map(str, reasons):
        kinds.setdefault(kind_of(reason), []).append(reason)
    return [
        {"kind": kind, "count": len(texts), "example": texts[0]}
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
