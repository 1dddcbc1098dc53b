"""Section of the report on the accuracy of the surrogate at held-out samples."""

from __future__ import annotations

from typing import Any

from foundation.base.loads import WRENCH_COLUMNS
from pipeline.reports.inputs import RunFiles
from pipeline.reports.units import largest
from pipeline.store.figures import AT_LOAD, AT_POSE, Figure, Figures, of_model
from pipeline.store.quantities import CATALOGUE, to_display
from pipeline.store.run_documents import Part
from pipeline.store.samples import FAILED

#: Expected coverage of 95 % intervals on held-out loads [%].
COVERAGE_RANGE = (90.0, 99.0)
#: Errors at a given load by which users judge a surrogate: column, statistic, words.
JUDGED_AT_LOAD = (
    ("height_m", "rmse", "height, RMS"),
    ("force_x_over_axial", "rmse", "AP force over axial force, RMS"),
    ("force_z_over_axial", "rmse", "ML force over axial force, RMS"),
    ("cop_distance_m", "rmse", "centre of pressure, RMS distance"),
    ("cop_distance_m", "maximum", "centre of pressure, largest distance"),
)


class Accuracy(Part):
    """Held-out samples, and the surrogates judged by them; `figures` of the report has the errors.

    The first of the `models` is the surrogate of the run.
    """

    seed: int
    design: str
    points_per_compartment: int
    failed: int
    wanted_error_percent: float | None
    models: list[dict[str, Any]]
    compartments: list[str]
    quantiles: dict[str, Any]
    worst_cases: list[dict[str, Any]]
    too_narrow: list[str]
    learning_curve: list[dict[str, Any]]
    front: list[dict[str, Any]]


def accuracy_of(files: RunFiles) -> Accuracy:
    """Return the section on the accuracy of the report of a run."""
    stored, settings = files.validation, files.config["validation"]
    shown: dict[str, Any] = to_display(stored)
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
        compartments=list(stored.parts),
        quantiles=shown["standardised"],
        worst_cases=shown["worst"],
        too_narrow=[
            f"{row.part} {CATALOGUE[row.quantity].label} ({value:.0f} %)"
            for row, value in covered
            if value is not None and value < low
        ],
        learning_curve=[
            {"stage": "g: final" if k == len(stored.learning_curve) else f"c: round {k}", **row}
            for k, row in enumerate(shown["learning_curve"], start=1)
        ],
        front=shown.get("front", []),
    )


def worst_load(figures: Figures, model: int = 0) -> Figure:
    """Return the largest NRMSE of the six loads at a given pose.

    An undefined NRMSE (the load of the original never changes, that of the surrogate does) counts
    as the largest.
    """
    found = figures.worst(of_model(AT_POSE, model), "nrmse", *WRENCH_COLUMNS)
    assert found is not None  # `Validation` has them
    return found


def height_error(figures: Figures, statistic: str = "rmse", model: int = 0) -> Figure | None:
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
