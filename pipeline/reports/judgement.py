"""Verdict of a run for what is made of the run: studies, walks, loads, wear and exports.

Verdict, errors and warnings are those of `report.json`. A surrogate without a report beside its
file is judged by the held-out errors in its header, the rest of it is not judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

import surrogates
from foundation.base.loads import WRENCH_COLUMNS
from foundation.base.wording import counted
from pipeline.advice import FOLDER, command_line, in_folder
from pipeline.reports.units import ASCII, largest, scaled
from pipeline.reports.verdict import LEVELS, Evidence, Finding, ascii_line, part_of, summed, verdict
from pipeline.store.documents import read_document, read_json
from pipeline.store.run_documents import Optional, Part, Remarked

Row = dict[str, Any]
#: Remedies of findings on the contact model itself, whichever model drives a simulation.
_OF_CONTACT_MODEL = ("mesh", "ridges", "spacing")
#: What to do about a contact model that is not trusted.
_SEE = {"text": "see what the checks say of the mesh and the nodes"}
#: Warnings of a run that the terminal shows.
_MOST = 3
_PRESSURE, _PRESSURE_COLUMN = "peak pressure", "_peak_pressure_Pa"


class _Found(Part):
    """Finding of a rule of the verdict."""

    level: Literal[0, 1, 2]
    figure_percent: Optional
    reason: str
    remedy: str
    judges: bool


class _JudgedPart(Part):
    """Part of the verdict; reports of earlier versions have no findings."""

    what: str
    level: Literal["trust", "care", "do not use"]
    figure_percent: Optional
    sign: str
    reasons: list[str]
    text: str
    findings: list[_Found] = Field(default_factory=list)


class _Next(Part):
    """What to do next, and the command."""

    text: str
    command: str


class _OwnError(Part):
    """Error of the surrogate in a quantity of the cycle (`pipeline.reports.evidence`)."""

    column: str
    unit: str
    error_percent: Optional = None


class _Verdict(Part):
    """Verdict of a run; reports of earlier versions have no errors by quantity."""

    parts: list[_JudgedPart] = Field(min_length=1)
    next: _Next
    errors: list[_OwnError] = Field(default_factory=list)


class _Provenance(Part):
    """Provenance of a run: digests of original model and samples."""

    sha256: dict[str, str]


class _Report(Part):
    """What `report.json` tells those who use the run."""

    verdict: _Verdict | None = None
    remarks: list[Remarked] = Field(default_factory=list)
    provenance: _Provenance


class _Figure(Part):
    """Error of a load at held-out poses, in the header of a surrogate's file."""

    nrmse: Optional = None


class _AtPose(Part):
    """Errors of a compartment at held-out poses, in the header of a surrogate's file."""

    at_pose: dict[str, _Figure]


_HEADER_ERRORS = TypeAdapter(dict[str, _AtPose])


def judgement(source: Path, model: str = "surrogate") -> Row | None:
    """Return the verdict on what a model of a run computes.

    Parameters
    ----------
    source : Path
        Run directory, or `.npz` file of a surrogate.
    model : {"surrogate", "original"}
        The model. Of an original model, the mesh and the node spacing are judged.

    Returns
    -------
    dict or None
        `run` (the source), `model`, `level`, `parts`, `line`, `next` (words and command), `errors`
        (of the model, by quantity) and `warnings` of the run; None if nothing is judged, as of a
        surrogate that was not validated.

    Raises
    ------
    ReportError
        If `report.json` is damaged.
    SurrogateFileError
        If the surrogate cannot be used.
    """
    folder = source if source.is_dir() else source.parent
    header = surrogates.load(folder / "knee.npz" if source.is_dir() else source).header
    head = {"run": str(source), "model": model}
    report = _report(folder, header)
    if report is None or report.verdict is None:
        if model == "original" or "errors" not in header:
            return None
        return {**head, **_by_header(header, source)}
    content = report.verdict.content()
    parts, errors = content["parts"], content.get("errors", [])
    step = {key: in_folder(text, folder) for key, text in content["next"].items()}
    if model == "original":
        step = _SEE | {"command": command_line("check", folder / "config.toml")}
        parts = _of_contact_model(report.verdict)
        errors = _of_pressures(errors, parts)
    if not parts:
        return None
    return {
        **head,
        **summed(parts),
        "next": step,
        "errors": errors,
        "warnings": [f"{r.about}: {r.text}" for r in report.remarks if r.level != "note"],
    }


def _report(folder: Path, header: Mapping[str, Any]) -> _Report | None:
    """Return the report of the run that a surrogate with this header is of, None without one."""
    file = folder / "report.json"
    if not file.is_file():
        return None
    report = read_document(file, _Report)
    made, known = header.get("provenance"), report.provenance.sha256
    samples = made.get("samples") if isinstance(made, Mapping) else None
    return report if samples is None or known.get("samples", samples) == samples else None


def _by_header(header: Mapping[str, Any], source: Path) -> Row:
    """Return the verdict by the held-out errors in the header of a surrogate."""
    try:
        parts = _HEADER_ERRORS.validate_python(header["errors"])
    except ValidationError:
        parts = {}
    known = [
        part.at_pose[column].nrmse
        for part in parts.values()
        for column in WRENCH_COLUMNS
        if column in part.at_pose
    ]
    worst = scaled(largest(known), 100.0) if known else None
    found = verdict(Evidence({}, None, worst, {}, 0.0, simulated=False), "")
    reason = "not judged, as no report.json of its run is beside the surrogate"
    unknown = part_of(
        "gait and peak pressure", [Finding(1, None, reason, "report", judges=False)], ""
    )
    folder = source if source.is_dir() else FOLDER
    return {
        **summed([*found["parts"], unknown]),
        "next": {
            "text": "write the report of the run that the surrogate is of",
            "command": command_line("report", folder),
        },
        "errors": [],
        "warnings": [],
    }


def _of_contact_model(judged: _Verdict) -> list[Row]:
    """Return the parts of a verdict by the findings on the contact model alone."""
    parts = []
    for part in judged.parts:
        own = [f for f in part.findings if f.remedy in _OF_CONTACT_MODEL]
        if own:
            found = [Finding(f.level, f.figure_percent, f.reason, f.remedy, f.judges) for f in own]
            parts.append(part_of(part.what, found, part.sign))
    return parts


def _of_pressures(errors: list[Row], parts: list[Row]) -> list[Row]:
    """Return the errors of peak pressures with the figure of the parts of a verdict."""
    figures = {part["what"]: part["figure_percent"] for part in parts}
    return [
        row | {"error_percent": figures.get(_PRESSURE)}
        for row in errors
        if row["column"].endswith(_PRESSURE_COLUMN)
    ]


def stored_judgement(source: Path, model: str = "surrogate") -> Row | None:
    """Return the verdict on a model of a run, a surrogate's file, or the folder of a walk."""
    if not source.is_dir() or (source / "knee.npz").is_file():
        return judgement(source, model)
    walk = source / "walk.json"
    found = read_json(walk).get("verdict") if walk.is_file() else None
    return found if isinstance(found, dict) else None


def joint(judged: Mapping[str, Row | None]) -> Row | None:
    """Return the verdicts on several contacts, by their names, as one; None without any."""
    known = {name: found for name, found in judged.items() if found is not None}
    if not known:
        return None
    parts = [
        part | {key: f"{name}: {part[key]}" for key in ("what", "text")}
        for name, found in known.items()
        for part in found["parts"]
    ]
    worst = max(known.values(), key=lambda found: LEVELS.index(found["level"]))
    return {
        "run": ", ".join(found["run"] for found in known.values()),
        "model": worst["model"],
        **summed(parts),
        "next": worst["next"],
        "errors": [row for name, found in known.items() for row in _of_contact(name, found)],
        "warnings": [text for found in known.values() for text in found["warnings"]],
    }


def _of_contact(name: str, found: Row) -> list[Row]:
    """Return the errors of the peak pressures of a contact, with its name in the columns."""
    rows = [row for row in found["errors"] if row["column"].endswith(_PRESSURE_COLUMN)]
    total = [rows[0] | {"column": f"total{_PRESSURE_COLUMN}"}] if rows else []
    return [row | {"column": f"{name}_{row['column']}"} for row in (*rows, *total)]


def judgement_lines(found: Row | None) -> list[str]:
    """Return the lines for the terminal on what was made of a run, in ASCII characters."""
    if found is None:
        return []
    run, step = found["run"], found["next"]
    of = f"{run}, original model" if found["model"] == "original" else run
    lines = [f"verdict of {of}: {ascii_line(found)}"]
    told = found["warnings"]
    lines += [f"warning of {run}: {text.translate(ASCII)}" for text in told[:_MOST]]
    if len(told) > _MOST:
        lines.append(f"{counted(len(told) - _MOST, 'more warning')} of {run}: see its report")
    if found["level"] == LEVELS[-1]:
        lines.append(
            f'do not use these results: {of} is marked "{LEVELS[-1]}"; {step["text"]}: '
            f"{step['command']}"
        )
    return lines
