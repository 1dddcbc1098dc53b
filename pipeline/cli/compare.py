"""Commands `calibrate` and `compare`: contact models of one knee."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from pipeline.cli.app import TRAIN, Answer, Config, Force, Overrides, command

_OUT = "Folder to write (default: runs/<name>_comparison)."
_RESUME = "Continue an interrupted comparison; measured models are not measured again."


@command(TRAIN)
def compare(
    config: Config = Path("finite_element_implant"),
    /,
    *,
    overrides: Overrides = (),
    out: Annotated[Path | None, Parameter(help=_OUT)] = None,
    resume: Annotated[bool, Parameter(help=_RESUME)] = False,
    force: Force = False,
) -> Answer:
    """Compare contact models on one knee: springs, finite elements, surrogates.

    Examples
    --------
    $ python -m pipeline compare
    $ python -m pipeline compare finite_element_grand_challenge --out runs/models
    $ python -m pipeline compare mine.toml --set "comparison.models=['linear']"
    $ python -m pipeline compare mine.toml --resume
    """
    from pipeline.config.reading import find_config, load_config
    from pipeline.studies.contact_models.compare import compare_models, summary_text

    study = load_config(find_config(config), overrides)
    folder = out or Path("runs") / f"{study.run.name}_comparison"
    content = compare_models(study, folder, resume=resume, replace=force)
    return Answer(summary_text(content, folder), content)


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
    $ python -m pipeline calibrate
    $ python -m pipeline calibrate mine.toml --out runs/laws
    $ python -m pipeline calibrate mine.toml --set "calibration.laws=['coupled']"
    """
    from pipeline.config.reading import find_config, load_config
    from pipeline.studies.calibration.calibrate import calibrate_laws, summary_text

    study = load_config(find_config(config), overrides)
    folder = out or Path("runs") / f"{study.run.name}_calibration"
    content = calibrate_laws(study, folder, resume=resume, replace=force)
    return Answer(summary_text(content, folder), content)
