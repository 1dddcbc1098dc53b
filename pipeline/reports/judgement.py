"""Verdict of a run for uses of the run: studies, walks, loads, wear and exports.

Verdict, errors and warnings are those of `report.json`; a surrogate without the report of its run
beside its file is not judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import surrogates
from foundation.base.wording import counted
from pipeline.advice import command_line, in_folder
from pipeline.reports.units import ASCII
from pipeline.reports.verdict import MODEL, ascii_line, level_and_line, part_of
from pipeline.store.documents import read_document
from pipeline.store.job import is_over_designs
from pipeline.store.run_documents import (
    LEVELS,
    JudgedPart,
    JudgedReport,
    JudgedWalk,
    Judgement,
    NextStep,
    OwnError,
    Verdict,
)

#: Remedies of findings on the contact model itself, whichever model drives a simulation.
_OF_CONTACT_MODEL = ("mesh", "ridges", "spacing", "layer", "elements")
#: Warnings of a run that the terminal shows.
_MOST = 3
_PRESSURE, _PRESSURE_COLUMN = "peak pressure", "_peak_pressure_Pa"


def judgement(source: Path, model: str = "surrogate") -> Judgement | None:
    """Return the verdict on what a model of a run, or of a surrogate's file, computes.

    Of an original model, the mesh and the node spacing are judged; None without a report, or if
    nothing is judged.
    """
    folder = source if source.is_dir() else source.parent
    header = surrogates.load(folder / "knee.npz" if source.is_dir() else source).header
    report = _report(folder, header)
    if report is None or report.verdict is None:
        return None
    stored = report.verdict
    parts, errors = stored.parts, stored.errors
    step = NextStep(
        text=in_folder(stored.next.text, folder), command=in_folder(stored.next.command, folder)
    )
    if model == "original":
        if not _next_is_of_contact_model(stored):
            command = command_line("check", folder / "config.toml")
            text = "see what the checks say of the mesh and the nodes"
            step = NextStep(text=text, command=command)
        parts = _of_contact_model(stored)
        errors = _of_pressures(errors, parts)
    if not parts:
        return None
    warnings = [r.words for r in report.remarks if r.level != "note"]
    return _judgement(str(source), model, parts, step, errors, warnings)


def _judgement(
    run: str,
    model: str,
    parts: list[JudgedPart],
    step: NextStep,
    errors: list[OwnError],
    warnings: list[str],
) -> Judgement:
    """Return a judgement with the worst level and the words of its parts."""
    level, line = level_and_line(parts)
    return Judgement(
        run=run,
        model=model,
        level=level,
        parts=parts,
        line=line,
        next=step,
        errors=errors,
        warnings=warnings,
    )


def _report(folder: Path, header: Mapping[str, Any]) -> JudgedReport | None:
    """Return the report of the run that a surrogate with this header is of, None without one."""
    file = folder / "report.json"
    if not file.is_file():
        return None
    report = read_document(file, JudgedReport)
    made, known = header.get("provenance"), report.provenance.sha256
    samples = made.get("samples") if isinstance(made, Mapping) else None
    return report if samples is None or known.get("samples", samples) == samples else None


def _of_contact_model(judged: Verdict) -> list[JudgedPart]:
    """Return the parts of a verdict by the findings on the contact model alone."""
    own = [
        (part, [finding for finding in part.findings if finding.remedy in _OF_CONTACT_MODEL])
        for part in judged.parts
    ]
    return [part_of(part.what, findings, part.sign) for part, findings in own if findings]


def _next_is_of_contact_model(judged: Verdict) -> bool:
    """Return whether the next step of a verdict is another contact model."""
    wrong = (part.what for part in judged.parts if part.level != LEVELS[0])
    return next(wrong, "") == MODEL


def _of_pressures(errors: list[OwnError], parts: list[JudgedPart]) -> list[OwnError]:
    """Return the errors of peak pressures with the figure of the parts of a verdict."""
    figures = {part.what: part.figure_percent for part in parts}
    return [
        error.model_copy(update={"error_percent": figures.get(_PRESSURE)})
        for error in errors
        if error.column.endswith(_PRESSURE_COLUMN)
    ]


def stored_judgement(source: Path, model: str = "surrogate") -> Judgement | None:
    """Return the verdict on a run of one knee, a surrogate's file, or a walk; None without any."""
    if is_over_designs(source):
        return None
    if not source.is_dir() or (source / "knee.npz").is_file():
        return judgement(source, model)
    walk = source / "walk.json"
    return read_document(walk, JudgedWalk).verdict if walk.is_file() else None


def joint(judged: Mapping[str, Judgement | None]) -> Judgement | None:
    """Return the verdicts on several contacts, by their names, as one; None without any."""
    known = {name: found for name, found in judged.items() if found is not None}
    if not known:
        return None
    parts = [
        part.model_copy(update={"what": f"{name}: {part.what}", "text": f"{name}: {part.text}"})
        for name, found in known.items()
        for part in found.parts
    ]
    worst = max(known.values(), key=lambda found: LEVELS.index(found.level))
    return _judgement(
        ", ".join(found.run for found in known.values()),
        worst.model,
        parts,
        worst.next,
        [error for name, found in known.items() for error in _of_contact(name, found)],
        [text for found in known.values() for text in found.warnings],
    )


def _of_contact(name: str, found: Judgement) -> list[OwnError]:
    """Return the errors of the peak pressures of a contact, with its name in the columns."""
    own = [error for error in found.errors if error.column.endswith(_PRESSURE_COLUMN)]
    total = [error.model_copy(update={"column": f"total{_PRESSURE_COLUMN}"}) for error in own[:1]]
    return [
        error.model_copy(update={"column": f"{name}_{error.column}"}) for error in (*own, *total)
    ]


def judgement_lines(found: Judgement | None) -> list[str]:
    """Return the lines for the terminal on what was made of a run, in ASCII characters."""
    if found is None:
        return []
    of = f"{found.run}, original model" if found.model == "original" else found.run
    lines = [f"verdict of {of}: {ascii_line(found)}"]
    told = found.warnings
    lines += [f"warning of {found.run}: {text.translate(ASCII)}" for text in told[:_MOST]]
    if len(told) > _MOST:
        lines.append(f"{counted(len(told) - _MOST, 'more warning')} of {found.run}: see its report")
    if found.level == LEVELS[-1]:
        lines.append(
            f'do not use these results: {of} is marked "{found.level}"; {found.next.text}: '
            f"{found.next.command}"
        )
    return lines
