"""Commands that train a surrogate, or repeat a part of a finished run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from foundation.base.errors import InputError
from pipeline.cli.app import (
    TRAIN,
    Answer,
    Config,
    Force,
    ForceFiles,
    OutFolder,
    Overrides,
    RunFolder,
    command,
    run_answer,
)

_RESUME = (
    "Continue an interrupted run, or a finished run with a changed configuration: samples that "
    "were evaluated are not evaluated again."
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
) -> Answer:
    """Make a surrogate of a knee: sample, fit, validate, simulate gait, report.

    Examples
    --------
    $ python -m pipeline run
    $ python -m pipeline run smoke
    $ python -m pipeline run mine.toml --set design.candidates=2000 --out runs/small
    $ python -m pipeline run mine.toml --resume
    $ python -m pipeline run mine.toml --resume --set design.budget=1500
    $ python -m pipeline run mine.toml --force
    """
    from pipeline.config.reading import find_config, load_config
    from pipeline.runner import run_study

    study = load_config(find_config(config), overrides)
    folder = out or Path("runs") / study.run.name
    return run_answer(run_study(study, folder, resume=resume, replace=force), folder)


@command(TRAIN)
def validate(folder: RunFolder, /) -> Answer:
    """Assess the surrogate of a run on its held-out samples.

    Examples
    --------
    $ python -m pipeline validate runs/implant
    """
    from pipeline.studies.repeated_stages import validate_again

    return run_answer(validate_again(folder), folder)


@command(TRAIN)
def simulate(folder: RunFolder, /) -> Answer:
    """Repeat the gait simulation of a run with its surrogate and its original model.

    Examples
    --------
    $ python -m pipeline simulate runs/implant
    """
    from pipeline.studies.repeated_stages import simulate_again

    return run_answer(simulate_again(folder), folder)


@command(TRAIN)
def report(
    folder: RunFolder,
    other: RunFolder | None = None,
    /,
    *,
    out: Path | None = None,
    force: ForceFiles = False,
) -> Answer:
    """Write the report of a run again from its files, or compare two runs on one page.

    Parameters
    ----------
    folder : Path
        Run directory.
    other : Path
        Second run directory, to compare with the first.
    out : Path
        Folder of compare.html and compare.json of two runs (default: the current folder).
    force : bool
        Replace files of other contents.

    Examples
    --------
    $ python -m pipeline report runs/implant
    $ python -m pipeline report runs/dish60 runs/dish80 --out runs/dishes
    """
    if other is None:
        if out is not None:
            raise InputError("--out: expected two run directories to compare, found one")
        from pipeline.reports.report import write_report

        return run_answer(write_report(folder), folder)
    from pipeline.files import replacing_together
    from pipeline.reports.comparison import write_comparison

    target = Path() if out is None else out
    with replacing_together(others=force):
        found = write_comparison(folder, other, target)
    return Answer("\n".join([f"page: {target / 'compare.html'}", *found["summary"]]), found)


@command(TRAIN)
def bench(folder: RunFolder, /) -> Answer:
    """Time one evaluation of the original model and of the surrogate of a run.

    Examples
    --------
    $ python -m pipeline bench runs/implant
    """
    from pipeline.reports.judgement import judgement, judgement_lines
    from pipeline.studies.repeated_stages import bench as time_models

    times = time_models(folder)
    text = (
        f"original {times['original_us']:.0f} us, surrogate {times['surrogate_us']:.1f} us per "
        f"evaluation with Jacobian: {times['ratio']:.0f} times faster"
    )
    found = judgement(folder)
    return Answer("\n".join([text, *judgement_lines(found)]), {**times, "verdict": found})
