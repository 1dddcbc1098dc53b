"""Walks of either kind: a planar leg with a trained knee, or an OpenSim model with muscles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.config.reading import read_tree
from pipeline.studies.muscle_walks import summary as muscle_summary
from pipeline.studies.muscle_walks.schema import MuscleWalkFile
from pipeline.studies.muscle_walks.walk import load_muscle_walk, simulate_muscle_walk
from pipeline.studies.walks import walk as planar
from pipeline.studies.walks.schema import WalkFile

PLANAR = "planar"


def simulate_any_walk(
    path: Path,
    overrides: tuple[str, ...] = (),
    out: Path | None = None,
    *,
    replace: bool = False,
) -> tuple[str, dict[str, Any]]:
    """Simulate the walk of a configuration; return its lines on the terminal and `walk.json`.

    Parameters
    ----------
    path : Path
        Configuration; `walk.model` is "planar", the default, or an `.osim` file.
    overrides : tuple of str
        `section.key=value` pairs that replace values of the file.
    out : Path, optional
        Folder of the results; by default in `runs`, with the name of the walk.
    replace : bool
        Whether to replace a walk of another configuration in the folder.

    Raises
    ------
    ConfigError, InputError
        If the configuration or a file of the walk cannot be used.
    SimulationError, EquilibriumError
        If the cycle of a planar walk cannot be simulated.
    """
    file = load_any_walk(path, overrides)
    if isinstance(file, MuscleWalkFile):
        return muscle_walk_answer(file, out, replace=replace)
    folder = out or Path("runs") / file.walk.name
    content = planar.simulate_walk(file, folder, replace=replace)
    return planar.summary_text(content, folder), content


def muscle_walk_answer(
    file: MuscleWalkFile, out: Path | None, *, replace: bool = False
) -> tuple[str, dict[str, Any]]:
    """Simulate the walk of an OpenSim model as `simulate_any_walk` does."""
    folder = out or Path("runs") / file.walk.name
    content = simulate_muscle_walk(file, folder, replace=replace)
    return muscle_summary.summary_text(content, folder), content


def load_any_walk(path: Path, overrides: tuple[str, ...] = ()) -> WalkFile | MuscleWalkFile:
    """Read the configuration of a walk of either kind; paths are relative to the file."""
    walk = read_tree(path, overrides).get("walk", {})
    if not isinstance(walk, dict) or walk.get("model", PLANAR) == PLANAR:
        return planar.load_walk(path, overrides)
    return load_muscle_walk(path, overrides)
