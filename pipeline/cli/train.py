"""Commands that train a surrogate, or repeat a part of a finished run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from pipeline.cli.app import (
    TRAIN,
    Answer,
    Config,
    Force,
    OutFolder,
    Overrides,
    RunFolder,
    command,
    designs_answer,
    run_answer,
    study_and_folder,
)

_RESUME = (
    "Continue an interrupted run, or a finished run with a changed configuration: samples that "
    "were evaluated are not evaluated again."
)
_DESPITE_ERRORS = (
    "Go on with errors that `check` reports; the report states the errors. Without effect on a "
    "space of designs, which has checks of its own."
)


@command(TRAIN)
def run(
    config: Config = Path("implant"),
    /,
    *,
    overrides: Overrides = (),
    out: OutFolder = None,
    resume: Annotated[bool, Parameter(help=_RESUME)] = False,
    force: Force = False,
    despite_errors: Annotated[bool, Parameter(help=_DESPITE_ERRORS)] = False,
) -> Answer:
    """Make a surrogate of a knee: sample, fit, validate, simulate gait, report.

    Examples
    --------
    $ knee-contact run
    $ knee-contact run smoke
    $ knee-contact run mine.toml --set design.candidates=2000 --out runs/small
    $ knee-contact run mine.toml --resume
    $ knee-contact run mine.toml --resume --set design.budget=1500
    $ knee-contact run mine.toml --force
    """
    from pipeline.design_space.run import run_designs
    from pipeline.runner import run_study

    study, folder = study_and_folder(config, overrides, out)
    if study.design_space is not None:
        return designs_answer(run_designs(study, folder, resume=resume, replace=force), folder)
    report = run_study(study, folder, resume=resume, replace=force, despite_errors=despite_errors)
    return run_answer(report, folder)


@command(TRAIN)
def validate(folder: RunFolder, /) -> Answer:
    """Assess the surrogate of a run on its held-out samples.

    Examples
    --------
    $ knee-contact validate runs/implant
    """
    from pipeline.studies.repeated_stages import validate_again

    return run_answer(validate_again(folder), folder)


@command(TRAIN)
def simulate(folder: RunFolder, /) -> Answer:
    """Repeat the gait simulation of a run with its surrogate and its original model.

    Examples
    --------
    $ knee-contact simulate runs/implant
    """
    from pipeline.studies.repeated_stages import simulate_again

    return run_answer(simulate_again(folder), folder)


@command(TRAIN)
def report(folder: RunFolder, /) -> Answer:
    """Write the report of a run again from its files.

    Examples
    --------
    $ knee-contact report runs/implant
    """
    from pipeline.reports.report import write_report

    return run_answer(write_report(folder), folder)
