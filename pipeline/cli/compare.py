"""Commands `compare-models`, `compare-runs` and `calibrate`: contact models and runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from pipeline.cli.app import (
    TRAIN,
    Answer,
    Config,
    Force,
    Overrides,
    RunFolder,
    command,
    study_and_folder,
)

Labels = Annotated[tuple[str, ...], Parameter(consume_multiple=False)]
_OUT = "Folder to write (default: runs/<name>_comparison)."
_RESUME = "Continue an interrupted comparison; measured models are not measured again."


@command(TRAIN)
def compare_models(
    config: Config = Path("finite_element_implant"),
    /,
    *,
    overrides: Overrides = (),
    out: Annotated[Path | None, Parameter(help=_OUT)] = None,
    resume: Annotated[bool, Parameter(help=_RESUME)] = False,
    force: Force = False,
) -> Answer:
    """Compare contact models on one knee, each measured: springs, finite elements, surrogates.

    Examples
    --------
    $ knee-contact compare-models
    $ knee-contact compare-models finite_element_grand_challenge --out runs/models
    $ knee-contact compare-models mine.toml --set "comparison.models=['linear']"
    $ knee-contact compare-models mine.toml --resume
    """
    from pipeline.studies.contact_models import compare

    study, folder = study_and_folder(config, overrides, out, "_comparison")
    content = compare.compare_models(study, folder, resume=resume, replace=force)
    return Answer(compare.summary_text(content, folder), content)


@command(TRAIN, files=True)
def compare_runs(
    one: RunFolder, other: RunFolder, /, *, out: Path = Path(), label: Labels = ()
) -> Answer:
    """Compare two finished runs on one page: figures, pressures, cycles, verdicts.

    Parameters
    ----------
    one, other : Path
        Run directories.
    out : Path
        Folder of compared_runs.html and compared_runs.json.
    label : tuple of str
        Name of a run in tables and figures, once for each run (default: the folders).

    Examples
    --------
    $ knee-contact compare-runs runs/dish60 runs/dish80 --out runs/dishes
    $ knee-contact compare-runs runs/a runs/b --label "60 mm" --label "80 mm"
    """
    from pipeline.reports import comparison

    found = comparison.compare_runs(one, other, out, label)
    return Answer("\n".join([f"page: {out / comparison.PAGE}", *found.summary]), found)


_CALIBRATION_OUT = "Folder to write (default: runs/<name>_calibration)."
_CALIBRATION_RESUME = "Use the condensed finite elements of an interrupted calibration."


@command(TRAIN)
def calibrate(
    config: Config = Path("finite_element_implant"),
    /,
    *,
    overrides: Overrides = (),
    out: Annotated[Path | None, Parameter(help=_CALIBRATION_OUT)] = None,
    resume: Annotated[bool, Parameter(help=_CALIBRATION_RESUME)] = False,
    force: Force = False,
) -> Answer:
    """Find the spring law that is closest to finite elements of a knee, and write it.

    Examples
    --------
    $ knee-contact calibrate
    $ knee-contact calibrate mine.toml --out runs/laws
    $ knee-contact calibrate mine.toml --set "calibration.laws=['coupled']"
    """
    from pipeline.studies.calibration.calibrate import calibrate_laws, summary_text

    study, folder = study_and_folder(config, overrides, out, "_calibration")
    content = calibrate_laws(study, folder, resume=resume, replace=force)
    return Answer(summary_text(content, folder), content)
