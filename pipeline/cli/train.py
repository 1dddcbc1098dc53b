"""Commands that train a surrogate or carry out a study, and report finished runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from pipeline.cli.app import (
    TRAIN,
    Answer,
    Config,
    Force,
    OutFolder,
    Overrides,
    RunFolder,
    answer_of,
    command,
)

_RESUME = (
    "Continue what was interrupted, or a finished run or search with a changed configuration: what "
    "was evaluated is not evaluated again."
)
_DESPITE_ERRORS = (
    "Go on with errors that `check` reports; the report states the errors. Only of a run of one "
    "knee."
)


@Parameter(name="*", group=Group("Options of settings of OpenSim-JAM", sort_key=5))
@dataclass(frozen=True)
class JamOptions:
    """Options of walks and forward simulations with files of OpenSim-JAM.

    Parameters
    ----------
    model : Path, optional
        Model that replaces the model of the settings.
    geometry : Path, optional
        Folder with the mesh files that the folder of the model lacks.
    """

    model: Path | None = None
    geometry: Path | None = None


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
    jam: JamOptions = JamOptions(),
) -> Answer:
    """Make a surrogate of a knee, or carry out the study that a section of the file asks for.

    A surrogate: sample, fit, validate, simulate gait, report. The studies: [study] varies the gait
    cycle of a run; [optimisation] searches the designs of a run over designs;
    [walk] simulates measured walking by an OpenSim model; [forward] moves a joint of an OpenSim
    model; [laxity] computes laxity tests and calibrates ligaments. Settings
    of OpenSim-JAM's COMAKTool or ForsimTool (.xml) are a walk or a forward simulation; with an
    option of OpenSim-JAM, a walk also writes tables with the names of OpenSim-JAM.

    Examples
    --------
    $ knee-contact run
    $ knee-contact run mine.toml --set design.candidates=2000 --out runs/small
    $ knee-contact run mine.toml --resume --set design.budget=1500
    $ knee-contact run configs/montecarlo.toml --set study.run=runs/mine
    $ knee-contact run implant_front --set optimisation.generations=60 --resume
    $ knee-contact run comak_settings.xml --geometry Geometry --out walk
    """
    from pipeline.config.reading import find_config
    from pipeline.studies.dispatch import carry_out, load_study
    from pipeline.studies.jam_settings import jam_file

    path, options = find_config(config), asdict(jam)
    with_jam = path.suffix.lower() == ".xml" or any(options.values())
    file = jam_file(path, overrides, **options) if with_jam else load_study(path, overrides)
    return answer_of(
        carry_out(file, out, resume=resume, replace=force, despite_errors=despite_errors)
    )


@command(TRAIN)
def report(folder: RunFolder, /) -> Answer:
    """Write the report of a run again from its files.

    Examples
    --------
    $ knee-contact report runs/implant
    """
    from pipeline.reports.report import write_report
    from pipeline.studies.dispatch import reported

    return answer_of(reported(write_report(folder), folder))


@command(TRAIN)
def compare_runs(one: RunFolder, other: RunFolder, /) -> Answer:
    """Compare the figures, keys and verdicts of two finished runs.

    Examples
    --------
    $ knee-contact compare-runs runs/dish60 runs/dish80
    $ knee-contact compare-runs runs/dish60 runs/dish80 --json
    """
    from pipeline.reports.comparison import compare_runs

    lines, content = compare_runs(one, other)
    return Answer("\n".join(lines), content)
