"""Sections of the report on the accuracy of the surrogate and on its trained domain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.loads import WRENCH_COLUMNS
from foundation.base.quantities import QUANTITIES
from pipeline.config.schema import FeasibilityConfig
from pipeline.reports.charts import parity_chart
from pipeline.reports.figures import Picture
from pipeline.reports.inputs import RunFiles
from pipeline.reports.units import largest
from pipeline.stages.assessment import feasible
from pipeline.store import figures as stored
from pipeline.store.figures import AT_LOAD, AT_POSE, Figures, of_model
from pipeline.store.quantities import CATALOGUE, axis_label, to_display
from pipeline.store.run_documents import Part
from pipeline.store.samples import FAILED, loads_of, poses_of, usable
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.domain import beyond
from surrogates.formulations.domain_fit import ERRORS, WRONG, is_wrong


def domain_of(files: RunFiles) -> dict[str, Any] | None:
    """Return numbers of held-out samples with a flag, and of wrong answers without one."""
    if files.knee is None:
        return None
    feasibility = FeasibilityConfig.model_validate(
        {k: tuple(v) if isinstance(v, list) else v for k, v in files.config["feasibility"].items()}
    )
    return {
        "wrong_percent_of_largest": 100.0 * WRONG,
        "standard_errors": ERRORS,
        "compartments": {
            name: judged(files.knee.compartment(name), usable(files.held_out, name), feasibility)
            for name in files.compartments
        },
    }


def judged(
    surrogate: CompartmentSurrogate, rows: pd.DataFrame, feasibility: FeasibilityConfig
) -> dict[str, int]:
    """Return how many samples of a compartment are flagged, feasible and wrong."""
    poses, truth = poses_of(rows), loads_of(rows)
    found = surrogate.loads(poses, order=1)
    loads, flagged = found.array, is_flagged(found.variables)
    largest = float(surrogate.space.load[1])
    expected = surrogate.standard_error(poses)[:, :3]
    wrong = is_wrong(loads - truth, expected, largest)
    kept = rows.index.isin(feasible(rows, feasibility).index)
    return {
        "points": len(rows),
        "flagged": int(flagged.sum()),
        "feasible": int(kept.sum()),
        "feasible_flagged": int((flagged & kept).sum()),
        "wrong": int(wrong.sum()),
        "wrong_without_flag": int((wrong & ~flagged).sum()),
    }


def is_flagged(variables: FloatArray) -> np.ndarray:
    """Return whether poses are outside the domain (N,), by their variables (N, 7) [1]."""
    return np.asarray(beyond(variables).any(axis=1))


#: Expected coverage of 95 % intervals on held-out loads [%].
COVERAGE_RANGE = (90.0, 99.0)


class Accuracy(Part):
    """Held-out samples, and the surrogates judged by them, that of the run first."""

    seed: int
    design: str
    points_per_compartment: int
    failed: int
    wanted_error_percent: float | None
    models: list[dict[str, Any]]
    compartments: list[str]
    too_narrow: list[str]
    learning_curve: list[dict[str, Any]]
    front: list[dict[str, Any]]


def accuracy_of(files: RunFiles) -> Accuracy:
    """Return the section on the accuracy of the report of a run."""
    validation, settings = files.validation, files.config["validation"]
    shown: dict[str, Any] = to_display(validation)
    low, _ = COVERAGE_RANGE
    covered = [
        (row, row.displayed["value"])
        for row in files.figures.of(AT_POSE, "coverage", *WRENCH_COLUMNS)
    ]
    return Accuracy(
        seed=files.run.held_out_seed,
        design="rows of the table" if files.run.triangles is None else settings["kind"],
        points_per_compartment=settings["points"],
        failed=int((files.held_out["status"] == FAILED).sum()),
        wanted_error_percent=files.config["surrogate"].get("wanted_error_percent"),
        models=shown["models"],
        compartments=list(validation.parts),
        too_narrow=[
            f"{row.part} {CATALOGUE[row.quantity].label} ({value:.0f} %)"
            for row, value in covered
            if value is not None and value < low
        ],
        learning_curve=[
            {"stage": "g: final" if k == len(validation.learning_curve) else f"c: round {k}", **row}
            for k, row in enumerate(shown["learning_curve"], start=1)
        ],
        front=shown.get("front", []),
    )


def worst_load(figures: Figures, model: int = 0) -> stored.Figure:
    """Return the largest NRMSE of the six loads at a given pose; undefined is largest."""
    found = figures.worst(of_model(AT_POSE, model), "nrmse", *WRENCH_COLUMNS)
    assert found is not None  # `Validation` has them
    return found


def height_error(figures: Figures, statistic: str = "rmse", model: int = 0) -> stored.Figure | None:
    """Return the height error at a given load of the worse compartment, None if undefined."""
    found = figures.worst(of_model(AT_LOAD, model), statistic, "height_m")
    return None if found is None or found.value is None else found


def model_row(figures: Figures, model: int) -> dict[str, float | None]:
    """Return the errors of a model for people: worst load, axial force, and height at a load."""
    axial = largest(row.value for row in figures.of(of_model(AT_POSE, model), "nrmse", "force_y_N"))
    height = height_error(figures, model=model)
    return {
        "worst_load": worst_load(figures, model).displayed["value"],
        "axial_force": None if axial is None else 100.0 * axial,
        "height": None if height is None else height.displayed["value"],
    }


def verdict_of_coverage(percent: float | None) -> str:
    """Return "low" or "high" for a coverage outside of `COVERAGE_RANGE`, else ""."""
    low, high = COVERAGE_RANGE
    if percent is None or low <= percent <= high:
        return ""
    return "low" if percent < low else "high"


_PARITY = (*WRENCH_COLUMNS, "area_m2", "peak_pressure_Pa")
#: Most samples of a compartment in a figure; of more, every k-th is drawn.
_MOST = 400


def parity_pictures(files: RunFiles) -> Iterator[Picture]:
    """Yield predicted over true loads of the held-out samples, a picture per quantity."""
    table = files.predictions
    drawn = {
        name: rows.iloc[:: -(-len(rows) // _MOST)]
        for name, rows in table.groupby("compartment", sort=False)
    }
    for column in (c for c in _PARITY if QUANTITIES[c].name not in files.hidden):
        quantity = QUANTITIES[column]
        truth, predicted = (
            {str(name): quantity.for_people(rows[c]) for name, rows in drawn.items()}
            for c in (column, f"predicted_{column}")
        )
        text = f"Surrogate over original: {quantity.label}"
        yield parity_chart(f"parity-{column}", text, truth, predicted, axis_label(quantity))
