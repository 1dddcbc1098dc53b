"""Report of a run: `report.html` for people, `report.json` for programs.

Both are made from the files of the run directory alone, so a report can be written again at any
time. The page is self-contained: it includes pictures and style and loads nothing.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tomli_w

from foundation.base.errors import InputError
from pipeline.advice import in_folder
from pipeline.config.reading import dump_config, load_config
from pipeline.config.schema import Config
from pipeline.files import write_document
from pipeline.reports import accuracy as accuracy_panels
from pipeline.reports import pictures
from pipeline.reports.accuracy import (
    JUDGED_AT_LOAD,
    Accuracy,
    accuracy_of,
    domain_of,
    height_error,
    worst_load,
)
from pipeline.reports.contact_figures import (
    contact_of,
    contact_pictures,
    model_of,
    setting_rows,
)
from pipeline.reports.evidence import (
    BudgetRow,
    error_budget,
    evidence_of,
    more_samples,
    own_errors,
)
from pipeline.reports.gait_section import Gait, gait_of, knee_lines, knee_of, worn_files
from pipeline.reports.inputs import RunFiles, read_run
from pipeline.reports.live_knee import live_data
from pipeline.reports.model_section import layer_lines, spacing_lines
from pipeline.reports.overview_section import (
    Overview,
    Stages,
    overview_of,
    stages_of,
    summary_lines,
    warning_lines,
    writable,
)
from pipeline.reports.pages import glossary_of, write_page
from pipeline.reports.pictures import peak_picture
from pipeline.reports.pressure_view import view_data
from pipeline.reports.verdict import verdict, verdict_lines
from pipeline.simulation import GaitSimulation
from pipeline.stages.run_folder import read_path
from pipeline.store.job import flat_keys
from pipeline.store.run_documents import Part, StoredFinding, Verdict


class Provenance(Part):
    """Date, seeds, versions, digests and times of a run, and its configuration."""

    date: str
    seed: int
    held_out_seed: int
    workers: int
    python: str
    packages: dict[str, str]
    sha256: dict[str, str]
    stage_s: dict[str, float]
    total_s: float
    configuration: dict[str, Any]


class Report(Part):
    """`report.json`: figures in units for people, which the keys name."""

    summary: list[str]
    overview: Overview
    knee: dict[str, Any] | None
    verdict: Verdict
    elastic_layer: dict[str, Any] | None
    error_budget: list[BudgetRow]
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
        judged_at_load=JUDGED_AT_LOAD,
        worst_load=worst_load(files.validation.figures),
        height=height_error(files.figures),
        largest_height=height_error(files.figures, "maximum"),
        pictures=_pictures(files, report),
        view=view_data(files.fields, files.cycles),
        live=_live(files, folder),
        next_command=in_folder(report.verdict.next.command, folder),
        glossary=glossary_of(model_of(files.config["contact"])),
        settings=setting_rows(files.config["contact"], report.overview.settings),
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
        return live_data(files.knee, gait)
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
            *summary_lines(overview, files, gait),
            *spacing_lines(gait.node_spacing),
            *knee_lines(knee),
            *layer_lines(evidence.layer),
            *warning_lines(run),
            *verdict_lines(judged),
            *([f"gait: {gait.not_trusted}"] if gait.not_trusted else []),
        ],
        overview=overview,
        knee=knee,
        verdict=judged,
        elastic_layer=evidence.layer,
        error_budget=error_budget(evidence),
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
            configuration=writable(files.config),
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


def _pictures(files: RunFiles, report: Report) -> dict[str, Any]:
    """Return the pictures of the page by their section."""
    accuracy = report.validation
    drawn = {
        "path": pictures.path_pictures(files),
        "parity": accuracy_panels.parity_pictures(files),
        "residuals": accuracy_panels.residual_pictures(files),
        "learning": accuracy_panels.learning_pictures(
            accuracy.learning_curve, both=len(files.compartments) == 2
        ),
        "quantiles": accuracy_panels.quantile_pictures(files.validation.standardised),
        "domain": accuracy_panels.domain_pictures(files),
    }
    shown = {section: list(items) for section, items in {**drawn, **_of_gait(files)}.items()}
    return shown | {"peak": peak_picture(files)}


def _of_gait(files: RunFiles) -> dict[str, Iterable[Any]]:
    """Return the pictures of the simulated cycle by their section, empty without a cycle."""
    sections = {
        "inputs": pictures.input_pictures,
        "contact": contact_pictures,
        "kinematics": pictures.kinematics_pictures,
        "loads": pictures.load_pictures,
        "pressure": pictures.pressure_pictures,
        "wear": pictures.wear_pictures,
        "combinations": pictures.combination_pictures,
    }
    if worn_files(files) is None:
        del sections["wear"]
    return {name: draw(files) if files.cycles else () for name, draw in sections.items()}
