"""Report of a run: `report.html` for people, `report.json` for programs.

Both are made from the files of the run directory alone, so a report can be written again at any
time. The page is self-contained: it includes pictures and style and loads nothing.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import tomli_w

from foundation.base.errors import InputError
from pipeline.advice import in_folder
from pipeline.config.reading import dump_config, load_config
from pipeline.config.schema import Config
from pipeline.files import write_document
from pipeline.reports import pictures
from pipeline.reports.accuracy import (
    Accuracy,
    accuracy_of,
    domain_of,
    model_row,
    parity_pictures,
)
from pipeline.reports.contact_figures import contact_of, contact_pictures
from pipeline.reports.evidence import evidence_of, more_samples, own_errors
from pipeline.reports.gait_section import Gait, gait_of, knee_of, worn_files
from pipeline.reports.inputs import RunFiles, read_run
from pipeline.reports.live_knee import live_section
from pipeline.reports.overview_section import (
    Overview,
    Stages,
    overview_of,
    stages_of,
    table_line,
    warning_lines,
)
from pipeline.reports.pages import GLOSSARY, write_page
from pipeline.reports.pressure_view import view_data
from pipeline.reports.tiles import knee_tiles, surrogate_tiles
from pipeline.reports.units import shown_name
from pipeline.reports.verdict import verdict, verdict_lines
from pipeline.simulation import GaitSimulation
from pipeline.stages.run_folder import read_path
from pipeline.store.job import flat_keys
from pipeline.store.run_documents import LEVELS, MODELS, FromTable, Part, StoredFinding, Verdict


class Provenance(Part):
    """Date, seeds, versions, digests and times of a run."""

    date: str
    seed: int
    held_out_seed: int
    workers: int
    python: str
    packages: dict[str, str]
    sha256: dict[str, str]
    stage_s: dict[str, float]
    total_s: float


class Report(Part):
    """`report.json`: figures in units for people, which the keys name."""

    summary: list[str]
    overview: Overview
    knee: dict[str, Any] | None
    verdict: Verdict
    elastic_layer: dict[str, Any] | None
    remarks: list[StoredFinding]
    stages: Stages
    figures: list[dict[str, Any]]
    validation: Accuracy
    domain: dict[str, Any] | None
    gait: Gait
    contact: dict[str, Any] | None
    provenance: Provenance


def write_report(folder: Path) -> Report:
    """Write `report.html` and `report.json` of a finished run.

    Parameters
    ----------
    folder : Path
        Run directory.

    Returns
    -------
    Report
        The content of `report.json`.

    Raises
    ------
    ReportError
        If a file of the run is missing or damaged; the message names the file and the remedy.
    """
    folder = Path(folder)
    files = read_run(folder)
    report = report_of(files)
    write_page(
        folder / "report.html",
        report,
        held_out=files.figures,
        tables=_tables(files, report),
        knee_tiles=list(knee_tiles(report.knee, report.elastic_layer)),
        surrogate_tiles=list(surrogate_tiles(files, report.gait)),
        pictures=_pictures(files),
        view=view_data(files.fields, files.cycles),
        live=_live(files, folder),
        next_command=in_folder(report.verdict.next.command, folder),
        glossary=GLOSSARY,
        changed_keys=_changed_keys(files.config),
        config_text=tomli_w.dumps(files.config),
    )
    write_document(folder / "report.json", report)
    return report


def _live(files: RunFiles, folder: Path) -> dict[str, Any] | None:
    """Return what the page computes with, None without a knee, a cycle or its waveforms."""
    if files.knee is None or not files.cycles:
        return None
    try:
        gait = GaitSimulation.of(load_config(folder / "config.toml").simulation, read_path(folder))
        return live_section(files.knee, lambda _: gait)
    except InputError:  # a table of the cycle is no longer there
        return None


def report_of(files: RunFiles) -> Report:
    """Return the report of a run from its files."""
    run = files.run
    stages, accuracy, gait = stages_of(files), accuracy_of(files), gait_of(files)
    overview = overview_of(files, stages, accuracy, gait)
    knee, domain = knee_of(files), domain_of(files)
    evidence = evidence_of(files, gait, domain)
    judged = verdict(evidence, more_samples(files.config["design"]))
    judged.errors = own_errors(files, gait, judged)
    return Report(
        summary=[
            *([table_line(run.original)] if isinstance(run.original, FromTable) else []),
            *(tile.line for tile in knee_tiles(knee, evidence.layer)),
            *(tile.line for tile in surrogate_tiles(files, gait)),
            *([f"notes: {len(overview.notes)}, see the top of the report"] * bool(overview.notes)),
            *warning_lines(run),
            *verdict_lines(judged),
            *([f"gait: {gait.not_trusted}"] if gait.not_trusted else []),
        ],
        overview=overview,
        knee=knee,
        verdict=judged,
        elastic_layer=evidence.layer,
        remarks=run.remarks,
        stages=stages,
        figures=files.figures.displayed,
        validation=accuracy,
        domain=domain,
        gait=gait,
        contact=contact_of(files),
        provenance=Provenance(
            date=run.date,
            seed=run.seed,
            held_out_seed=run.held_out_seed,
            workers=run.workers,
            python=run.python,
            packages=run.packages,
            sha256=run.hashes,
            stage_s=run.seconds,
            total_s=sum(run.seconds.values()),
        ),
    )


def _changed_keys(config: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the keys of a configuration that differ from their defaults, with their values."""
    defaults = flat_keys(tomllib.loads(dump_config(Config())))
    return [
        (key, json.dumps(value, ensure_ascii=False).replace("Infinity", "inf"))
        for key, value in flat_keys(config).items()
        if key not in defaults or defaults[key] != value
    ]


def _pictures(files: RunFiles) -> dict[str, Any]:
    """Return the pictures of the page by their section."""
    drawn = {"parity": parity_pictures(files)}
    if files.cycles:
        for section in pictures.OVER_CYCLE:
            drawn[section] = pictures.cycle_pictures(files, section)
        drawn["contact"] = contact_pictures(files)
    if files.frames is not None:
        drawn["peaks"] = iter([pictures.peaks_picture(files)])
    if worn_files(files) is not None:
        drawn["wear"] = pictures.wear_pictures(files)
    shown: dict[str, Any] = {section: list(items) for section, items in drawn.items()}
    return shown | {"peak": pictures.peak_picture(files)}


def _tables(files: RunFiles, report: Report) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """Return head and record of each row of the tables that `report.json` has in another shape."""
    layer, worn = report.elastic_layer or {"compartments": {}}, report.gait.wear
    varied = report.gait.combinations or {"rows": []}
    return {
        "judged": [
            (part.what, finding.content() | {"level": LEVELS[finding.level]})
            for part in report.verdict.parts
            for finding in part.findings
        ],
        "layer": [
            (name, {"of": words} | part[key])
            for name, part in layer["compartments"].items()
            for key, words in (("at_peak", "its peak"), ("rms", f"RMS of {part['poses']} poses"))
        ],
        "wear": [
            (name, worn["per_million_cycles"][name] | {"deepest_um": deepest})
            for name, deepest in zip(
                MODELS, worn["deepest_per_million_cycles"].values(), strict=True
            )
        ]
        if worn
        else [],
        "combinations": [(row["name"], row) for row in varied["rows"]],
        "models": [
            (shown_name(row["formulation"]), row | model_row(files.figures, k))
            for k, row in enumerate(report.validation.models)
        ],
    }
