"""Repeated stages of a finished run: validation, comparison, simulation."""

from __future__ import annotations

from pathlib import Path

from pipeline.files import write_document
from pipeline.reports.report import Report, write_report
from pipeline.stages.assessment import assess
from pipeline.stages.gait_cycle import simulate_cycle
from pipeline.stages.run_folder import Run
from pipeline.stages.trained_run import TrainedRun
from pipeline.store.documents import read_document
from pipeline.store.figures import Figures, Validation
from pipeline.store.workspace_lock import alone_in_folder


@alone_in_folder
def validate_again(folder: Path) -> Report:
    """Repeat the validation of a run on its held-out samples; return its report.

    Raises
    ------
    RunError
        If the folder is not a finished run, or another process writes to it.
    """
    run = TrainedRun.open(folder)
    stored = read_document(folder / "validation.json", Validation)
    judged = assess(run.surrogate, run.samples("heldout"), run.config.feasibility)
    # Cross-validation and the other models belong to the fit, which is not repeated.
    again = {row.about for row in judged.figures}
    kept = [row for row in stored.figures.root if row.about not in again]
    stored.figures = Figures([*judged.figures, *kept])
    stored.standardised, stored.worst = judged.standardised, judged.worst
    write_document(folder / "validation.json", stored)
    return write_report(folder)


@alone_in_folder
def simulate_again(folder: Path) -> Report:
    """Repeat the gait simulation of a run with its models; return its report.

    Raises as `validate_again`.
    """
    trained = TrainedRun.open(folder)
    simulate_cycle(Run(trained.config, folder), trained.original, trained.surrogate, trained.path)
    return write_report(folder)
