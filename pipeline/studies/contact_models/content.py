"""Content of `compared_models.json` and its table: every figure with its unit and meaning."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from pipeline.files import plain, write_text
from pipeline.reports.judgement import judgement
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
from pipeline.studies.contact_models.registry import MODELS
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

Row = dict[str, Any]


def comparison_content(knee: ComparedKnee, measured: dict[str, Measured], truth: Truth) -> Row:
    """Return the content of `compared_models.json` from the measurements by model."""
    weights = dict(WEIGHTS)
    elements = knee.elements_config.contact.finite_element
    assert elements is not None  # the configuration of the finite elements
    content = {
        "name": knee.config.run.name,
        "truth": {
            "node_spacing_mm": elements.node_spacing_mm,
            "extrapolated": sorted(truth.extrapolated),
            "poses": len(truth.loads),
            "patches_in_contact": int(truth.touching.sum()),
            "wear_mm3_per_million_cycles": 1e15 * float(truth.wear.sum()),
        },
        "columns": [_column(column) for column in COLUMNS],
        "criteria": CRITERIA,
        "weights": weights,
        "rule": RULE,
        "models": [
            _row(kind, measured[kind.name], truth, weights)
            | {"verdict": _verdict(knee.folder / kind.name)}
            for kind in MODELS
            if kind.name in measured
        ],
    }
    return dict(plain(content))


def _verdict(folder: Path) -> Judgement | None:
    """Return the verdict on the surrogate of a run in the folder, None without a surrogate."""
    return judgement(folder) if (folder / "knee.npz").is_file() else None


def _column(column: Any) -> Row:
    names = ("key", "label", "unit", "group", "meaning", "best", "worst", "criterion")
    return {name: getattr(column, name) for name in names}


def _row(kind: Any, measured: Measured, truth: Truth, weights: dict[str, float]) -> Row:
    figures = figures_of(measured, truth)
    marks = marks_of(figures, unknown_groups(measured, truth))
    volume = measured.arrays.get("wear_volume")
    return {
        "name": kind.name,
        "label": kind.label,
        "group": kind.group,
        "known_beforehand": kind.known,
        "figures": figures,
        "wear_mm3_per_million_cycles": None if volume is None else 1e15 * float(volume.sum()),
        "evaluations_of_cycle": measured.numbers.get("evaluations"),
        "marks": marks,
        "weighted_sum": weighted_sum(marks, weights),
        "failures": measured.failures,
        "flags": measured.flags,
    }


def write_table(path: Path, content: Row) -> None:
    """Write the figures as CSV: a row per model, a column per figure, whose name has the unit."""
    keys = [column["key"] for column in content["columns"]]
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    table.writerow(["model", *keys, "weighted_sum", "known_beforehand", "failures"])
    for row in content["models"]:
        figures = [_cell(row["figures"][key]) for key in keys]
        total = _cell(row["weighted_sum"])
        reasons = "; ".join(f"{part}: {text}" for part, text in row["failures"].items())
        table.writerow([row["name"], *figures, total, row["known_beforehand"], reasons])
    write_text(path, stream.getvalue())


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
