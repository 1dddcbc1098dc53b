"""Studies of every kind: from a configuration, whose section names the kind, to its results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.advice import in_folder
from pipeline.config.reading import load_section, read_tree
from pipeline.config.schema import Config
from pipeline.config.schema_base import Section, describe_section
from pipeline.design_space.run import DesignsDocument, run_designs
from pipeline.reports.report import Report
from pipeline.runner import run_study
from pipeline.studies.conduct import Conducted, Study, conduct
from pipeline.studies.forward_motions import FORWARD_MOTION
from pipeline.studies.laxity.study import LAXITY_STUDY
from pipeline.studies.muscle_walks.walk import MUSCLE_WALK
from pipeline.studies.optimisation.optimise import OPTIMISATION_STUDY
from pipeline.studies.study import CYCLE_STUDY

#: Studies by the section that asks for them; the first that a configuration has counts.
STUDIES: dict[str, Study[Any, Any]] = {
    "study": CYCLE_STUDY,
    "walk": MUSCLE_WALK,
    "forward": FORWARD_MOTION,
    "optimisation": OPTIMISATION_STUDY,
    "laxity": LAXITY_STUDY,
}


def study_of(keys: Mapping[str, Any]) -> Study[Any, Any] | None:
    """Return the kind of study that a configuration asks for, None for a run."""
    return next((STUDIES[name] for name in STUDIES if name in keys), None)


def load_study(path: str | Path, overrides: tuple[str, ...] = ()) -> Any:
    """Read a configuration of any kind: of a run (`Config`), or of the study of its section.

    Parameters
    ----------
    path : str or Path
        TOML file; file paths in it are relative to the file.
    overrides : tuple of str
        `section.key=value` pairs that replace values of the file.

    Returns
    -------
    Section
        `Config`, `StudyFile`, `MuscleWalkFile`, `ForwardFile` or `OptimisationFile`.

    Raises
    ------
    ConfigError
        If the file is missing or is not TOML, a key is unknown or a value out of range.
    """
    study = study_of(read_tree(path, overrides))
    return load_section(path, Config if study is None else study.schema, overrides)


def carry_out(
    file: Section,
    out: Path | None = None,
    *,
    resume: bool = False,
    replace: bool = False,
    despite_errors: bool = False,
) -> Conducted:
    """Carry out a configuration: a run, or the study of its section; write the folder.

    Parameters
    ----------
    file : Section
        Configuration, as of `load_study`.
    out : Path, optional
        Folder of the results (default: `runs/<name>`).
    resume : bool
        Whether to continue what was interrupted in the folder.
    replace : bool
        Whether to replace results of another configuration in the folder.
    despite_errors : bool
        Whether a run goes on with errors of the checks.

    Returns
    -------
    Conducted
        Document of the results (the content of the JSON file), and the lines on the terminal.

    Raises
    ------
    RunError, ConfigError, InputError
        If the configuration, or a run or file that it names, cannot be used.
    StageError, SimulationError, EquilibriumError, PoseError
        If a stage fails, or a motion cannot be simulated.
    """
    study = study_of(file.model_dump(exclude_none=True))
    if study is not None:
        return conduct(study, file, out, resume=resume, replace=replace)
    assert isinstance(file, Config)
    folder = out or Path("runs") / file.run.name
    report: Report | DesignsDocument
    if file.design_space is None:
        report = run_study(
            file, folder, resume=resume, replace=replace, despite_errors=despite_errors
        )
    else:
        report = run_designs(file, folder, resume=resume, replace=replace)
    return reported(report, folder)


def reported(report: Report | DesignsDocument, folder: Path) -> Conducted:
    """Return the report of a run in a folder with its lines on the terminal."""
    lines = [in_folder(line, folder) for line in report.summary]
    return Conducted(report, "\n".join([*lines, f"report: {folder / 'report.html'}"]))


def describe_schemas() -> str:
    """Return every key of all configurations as Markdown tables."""
    schemas: list[type[Section]] = [Config, *(study.schema for study in STUDIES.values())]
    return "\n".join(map(describe_section, schemas))
