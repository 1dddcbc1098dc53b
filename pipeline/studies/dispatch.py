"""Studies, walks and forward simulations of every kind: from a configuration to its results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.config.reading import read_tree
from pipeline.store.run_documents import Computed
from pipeline.studies import study as cycles
from pipeline.studies.forward_motions import simulate as forward
from pipeline.studies.forward_motions import summary as forward_summary
from pipeline.studies.forward_motions.schema import ForwardFile
from pipeline.studies.muscle_walks import study as walk_study
from pipeline.studies.muscle_walks import summary as muscle_summary
from pipeline.studies.muscle_walks import walk as muscle_walk
from pipeline.studies.muscle_walks.schema import MuscleWalkFile
from pipeline.studies.muscle_walks.study_schema import WalkStudyFile
from pipeline.studies.optimisation import optimise as designs
from pipeline.studies.optimisation import words as design_words
from pipeline.studies.optimisation.schema import OptimisationFile
from pipeline.studies.schema import StudyFile

AnyFile = StudyFile | WalkStudyFile | MuscleWalkFile | ForwardFile | OptimisationFile


class _Kind(NamedTuple):
    """How a kind of configuration is carried out."""

    #: Section with the name of the results.
    section: str
    #: Takes configuration, folder and options; returns the document of the results.
    simulate: Callable[..., Computed]
    #: Takes that document and the folder; returns the lines on the terminal.
    lines: Callable[[Any, Path], str]


_KINDS = {
    StudyFile: _Kind("study", cycles.simulate_study, cycles.summary_text),
    WalkStudyFile: _Kind("study", walk_study.simulate_walk_study, walk_study.walk_study_text),
    MuscleWalkFile: _Kind("walk", muscle_walk.simulate_muscle_walk, muscle_summary.summary_text),
    ForwardFile: _Kind("forward", forward.simulate_forward_motion, forward_summary.summary_text),
    OptimisationFile: _Kind("optimisation", designs.optimise_designs, design_words.summary_text),
}


def load_file(section: str, path: Path, overrides: tuple[str, ...] = ()) -> AnyFile:
    """Read the configuration of a "study", "walk", "forward" or "optimisation" from a TOML file.

    Paths are relative to the file; `overrides` are `section.key=value` pairs. A study with the key
    `walk` is of a walk of an OpenSim model. Raises `ConfigError` if the file is missing or is not
    TOML, a key is unknown or a value out of range.
    """
    match section, read_tree(path, overrides).get(section):
        case "study", {"walk": _}:
            return walk_study.load_walk_study(path, overrides)
        case "study", _:
            return cycles.load_study(path, overrides)
        case "walk", _:
            return muscle_walk.load_muscle_walk(path, overrides)
        case "optimisation", _:
            return designs.load_optimisation(path, overrides)
    return forward.load_forward(path, overrides)


def simulate_file(file: AnyFile, out: Path | None = None, **options: bool) -> tuple[str, Computed]:
    """Carry out a configuration; return its lines on the terminal and its document.

    The folder is by default in `runs`, with the name of the configuration. `options` are `replace`,
    whether to replace results of another configuration in the folder, and, of studies and searches
    of designs, `resume`, whether to continue an interrupted one. Raises `RunError`, `ConfigError`
    or `InputError` if the configuration, or a run or file that it names, cannot be used, and
    `SimulationError` or `EquilibriumError` if a cycle cannot be simulated.
    """
    kind = _KINDS[type(file)]
    folder = out or Path("runs") / getattr(file, kind.section).name
    document = kind.simulate(file, folder, **options)
    return kind.lines(document, folder), document
