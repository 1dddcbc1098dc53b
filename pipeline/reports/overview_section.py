"""Sections of the report on the knee, with notes, and on the stages of the run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from foundation.base.wording import counted
from pipeline.reports.accuracy import Accuracy
from pipeline.reports.gait_section import Gait
from pipeline.reports.inputs import RunFiles
from pipeline.reports.units import ASCII, kind_of, number
from pipeline.store.quantities import CATALOGUE, to_display
from pipeline.store.run_documents import Counts, FromTable, Part, RunRecord
from pipeline.store.samples import FAILED


class Overview(Part):
    """The knee, the contact model or table (`original`), and notes."""

    name: str
    knee: dict[str, str | int] | None
    original: dict[str, Any]
    notes: list[dict[str, str]]


def overview_of(files: RunFiles, stages: Stages, accuracy: Accuracy, gait: Gait) -> Overview:
    """Return the section at the top of the report of a run."""
    return Overview(
        name=files.run.name,
        knee=_knee(files),
        original=_original(files.run),
        notes=list(_notes(files, stages, accuracy, gait)),
    )


def _knee(files: RunFiles) -> dict[str, str | int] | None:
    """Return the bodies of the knee with their triangles, None of a table."""
    section, triangles = files.config["knee"], files.run.triangles
    if triangles is None:
        return None
    knee: dict[str, str | int] = {"source": section["source"], "side": section["side"]}
    for body in ("femur", "tibia"):
        made = section["source"] == "builtin"
        knee[body] = "built-in condylar implant" if made else _names(section[body]["file"])
        knee[f"{body}_triangles"] = getattr(triangles, body)
    return knee


def _original(run: RunRecord) -> dict[str, Any]:
    """Return the original model of the surrogate, errors of a table in units for people."""
    return dict(to_display(run.original.content()) | {"kind": run.original.kind})


def _names(files: str | list[str]) -> str:
    """Return the name of a mesh file, or the names of several ones."""
    return ", ".join(Path(file).name for file in ([files] if isinstance(files, str) else files))


# ---- Notes and lines -----------------------------------------------------------------------------


def _notes(
    files: RunFiles, stages: Stages, accuracy: Accuracy, gait: Gait
) -> Iterator[dict[str, str]]:
    """Yield the notes to read before the figures."""
    original = files.run.original
    for remark in files.run.remarks:
        if remark.level != "note":
            yield {"where": remark.about, "text": remark.text}
    if isinstance(original, FromTable):
        for text in _table_notes(original):
            yield {"where": original.file, "text": text}
    if gait.not_trusted:
        yield {"where": "gait, surrogate", "text": gait.not_trusted}
    for flag in gait.flags:
        yield {"where": f"gait, {flag['model']}", "text": flag["message"]}
    for failure in gait.combinations["failures"] if gait.combinations else ():
        yield {"where": f"combination {failure['where']}", "text": failure["text"]}
    total = stages.counts["total"]
    if failed := total.first_failed + total.evaluated_failed:
        evaluated = total.first + total.evaluated
        text = f"{failed} of {evaluated} evaluations have no answer"
        yield {"where": "training samples", "text": text}
    if accuracy.failed:
        words = ("held-out evaluation has no answer", "held-out evaluations have no answer")
        yield {"where": "held-out samples", "text": counted(accuracy.failed, *words)}
    if accuracy.too_narrow:
        text = f"too narrow, covering less than 90 %: {', '.join(accuracy.too_narrow)}"
        yield {"where": "predicted 95 % intervals", "text": text}


def _table_notes(table: FromTable) -> Iterator[str]:
    """Yield the notes on a table in the place of the original model."""
    yield (
        "a table of poses and loads took the place of the original model: the gait cycle is that "
        "of the surrogate alone, without a comparison"
    )
    if table.not_given:
        # The three coordinates of the centre of pressure are one entry.
        labels = dict.fromkeys(
            re.sub(r" [xyz]$", "", CATALOGUE[name].label) for name in table.not_given
        )
        yield f"not given: {', '.join(labels)}; not shown, and wear is not computed"
    for count, words in (
        (table.out_of_contact, "without contact are not used"),
        (table.no_answer, "marked as failed are not used"),
        (table.outside_space, "outside [space] are not used"),
    ):
        if count:
            yield f"{number(count)} rows of a compartment {words}"
    if table.ignored_columns:
        yield f"columns not used: {', '.join(table.ignored_columns)}"


def warning_lines(run: RunRecord) -> Iterator[str]:
    """Yield the warnings of the checks for the terminal, in units of ASCII characters."""
    for remark in run.remarks:
        if remark.level != "note":
            yield f"warning: {remark.words.translate(ASCII)}"


def table_line(table: FromTable) -> str:
    """Return the line of the terminal on a table."""
    text = f"original: table {table.file}, {table.rows} rows"
    parts = to_display(table.errors_found or {}).values()
    if not parts:
        return text
    height, ap, ml = (number(max(part[key] for part in parts)) for key in next(iter(parts)))
    return (
        f"{text}; errors found in them: height {height} um, AP and ML force {ap} % and {ml} % of "
        "the axial force"
    )


class Stages(Part):
    """Samples through the stages."""

    counts: dict[str, Counts]
    drop_reasons: list[dict[str, Any]]
    failure_reasons: list[dict[str, Any]]


def stages_of(files: RunFiles) -> Stages:
    """Return the section on stages a to h of the report of a run."""
    tables = {"b: first": files.first, "f: kept": files.kept, "held-out": files.held_out}
    dropped = files.screened.loc[files.screened["screening"] == "dropped", "drop_reason"]
    return Stages(
        counts=files.run.counts,
        drop_reasons=_by_kind(dropped),
        failure_reasons=[
            {"stage": stage, **row}
            for stage, table in tables.items()
            for row in _by_kind(table.loc[table["status"] == FAILED, "reason"])
        ],
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
