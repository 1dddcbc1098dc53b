"""Content of `compared_models.json` and its table: every figure with its unit and meaning."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pipeline.reports.judgement import judgement
from pipeline.store.run_documents import Computed
from pipeline.store.verdict_document import Judgement
from pipeline.studies.contact_models.figures import (
    COLUMNS,
    CRITERIA,
    WEIGHTS,
    figures_of,
    marks_of,
    unknown_groups,
    weighted_sum,
)
from pipeline.studies.contact_models.knee import ComparedKnee
from pipeline.studies.contact_models.measurement import Measured
from pipeline.studies.contact_models.registry import MODELS, ModelKind
from pipeline.studies.contact_models.truth import Truth

#: Rule of the marks, for readers.
RULE = (
    "A figure has mark 1 at or below the best value of its column and mark 0 at or above the "
    "worst; between them the mark is linear in the logarithm of the figure. The mark of a "
    "criterion is the mean over its columns, where a column without an answer counts 0; "
    "versatility is the share of the errors that the model has an answer for. The weighted sum is "
    "the mean of the marks of the criteria with the weights; columns in which the error of a model "
    "is not known are left out."
)


class ComparedColumn(Computed):
    """A column of the table, a `pipeline.studies.contact_models.figures.Column`."""

    key: str
    label: str
    unit: str
    group: str
    meaning: str
    best: float | None
    worst: float | None
    criterion: str


class ComparedModel(Computed):
    """A row of the table: figures by column, marks by criterion, and what could not be computed."""

    name: str
    label: str
    group: str
    known_beforehand: str
    figures: dict[str, float | None]
    wear_mm3_per_million_cycles: float | None
    evaluations_of_cycle: float | None
    marks: dict[str, float | None]
    weighted_sum: float | None
    failures: dict[str, str]
    flags: list[str]
    verdict: Judgement | None


class ComparedTruth(Computed):
    """The extrapolated finite elements that all models are compared with."""

    node_spacing_mm: float
    extrapolated: list[str]
    poses: int
    patches_in_contact: int
    wear_mm3_per_million_cycles: float | None


class ModelComparison(Computed):
    """`compared_models.json`: every figure of every model, and how the figures are marked."""

    name: str
    truth: ComparedTruth
    columns: list[ComparedColumn]
    criteria: dict[str, str]
    weights: dict[str, float]
    rule: str
    models: list[ComparedModel]


def comparison_content(
    knee: ComparedKnee, measured: dict[str, Measured], truth: Truth
) -> ModelComparison:
    """Return the comparison from the measurements by model."""
    elements = knee.elements_config.contact.finite_element
    assert elements is not None  # the configuration of the finite elements
    return ModelComparison(
        name=knee.config.run.name,
        truth=ComparedTruth(
            node_spacing_mm=elements.node_spacing_mm,
            extrapolated=sorted(truth.extrapolated),
            poses=len(truth.loads),
            patches_in_contact=int(truth.touching.sum()),
            wear_mm3_per_million_cycles=1e15 * float(truth.wear.sum()),
        ),
        columns=[ComparedColumn.model_validate(c, from_attributes=True) for c in COLUMNS],
        criteria=CRITERIA,
        weights=WEIGHTS,
        rule=RULE,
        models=[
            _row(kind, measured[kind.name], truth, knee.folder / kind.name)
            for kind in MODELS
            if kind.name in measured
        ],
    )


def _row(kind: ModelKind, measured: Measured, truth: Truth, run: Path) -> ComparedModel:
    """Return the row of a model; the run is that of a surrogate."""
    figures = figures_of(measured, truth)
    marks = marks_of(figures, unknown_groups(measured, truth))
    volume = measured.arrays.get("wear_volume")
    return ComparedModel(
        name=kind.name,
        label=kind.label,
        group=kind.group,
        known_beforehand=kind.known,
        figures=figures,
        wear_mm3_per_million_cycles=None if volume is None else 1e15 * float(volume.sum()),
        evaluations_of_cycle=measured.numbers.get("evaluations"),
        marks=marks,
        weighted_sum=weighted_sum(marks, WEIGHTS),
        failures=measured.failures,
        flags=measured.flags,
        verdict=judgement(run) if (run / "knee.npz").is_file() else None,
    )


def table_of(content: ModelComparison) -> pd.DataFrame:
    """Return a row per model and a column per figure, whose name has the unit."""
    keys = [column.key for column in content.columns]
    return pd.DataFrame(
        {
            "model": row.name,
            **{key: row.figures[key] for key in keys},
            "weighted_sum": row.weighted_sum,
            "known_beforehand": row.known_beforehand,
            "failures": "; ".join(f"{part}: {text}" for part, text in row.failures.items()),
        }
        for row in content.models
    ).astype(dict.fromkeys([*keys, "weighted_sum"], float))
