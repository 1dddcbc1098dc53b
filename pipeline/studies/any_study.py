"""Studies of either kind: gait cycles of a run, or a walk with muscles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.config.reading import read_tree
from pipeline.studies import study as cycles
from pipeline.studies.factors import describe_factors
from pipeline.studies.muscle_walks import study as walks
from pipeline.studies.muscle_walks.study_schema import WalkStudyFile
from pipeline.studies.schema import StudyFile


def simulate_any_study(
    path: Path,
    overrides: tuple[str, ...] = (),
    out: Path | None = None,
    *,
    resume: bool = False,
    replace: bool = False,
) -> tuple[str, dict[str, Any]]:
    """Simulate the study of a configuration; return its lines on the terminal and `summary.json`.

    Parameters
    ----------
    path : Path
        Configuration; with `study.walk`, a study over a walk of an OpenSim model.
    overrides : tuple of str
        `section.key=value` pairs that replace values of the file.
    out : Path, optional
        Folder of the results; by default in `runs`, with the name of the study.
    resume : bool
        Whether to continue an interrupted study in the folder.
    replace : bool
        Whether to replace a study of another configuration in the folder.

    Raises
    ------
    RunError, ConfigError, InputError
        If the configuration, or the run or walk that it names, cannot be used.
    SimulationError, EquilibriumError
        If the nominal cycle cannot be simulated.
    """
    file = load_any_study(path, overrides)
    folder = out or Path("runs") / file.study.name
    if isinstance(file, WalkStudyFile):
        summary = walks.simulate_walk_study(file, folder, resume=resume, replace=replace)
        return walks.walk_study_text(summary, folder, file.study.walk), summary
    summary = cycles.simulate_study(file, folder, resume=resume, replace=replace)
    return cycles.summary_text(summary, folder), summary


def load_any_study(path: Path, overrides: tuple[str, ...] = ()) -> StudyFile | WalkStudyFile:
    """Read the configuration of a study of either kind; paths are relative to the file."""
    study = read_tree(path, overrides).get("study", {})
    if isinstance(study, dict) and "walk" in study:
        return walks.load_walk_study(path, overrides)
    return cycles.load_study(path, overrides)


def describe_any_factors(walk: Path | None) -> str:
    """Return a line per input that a study can vary: of gait cycles, or of a recorded walk."""
    return describe_factors() if walk is None else walks.describe_walk_factors(walk)
