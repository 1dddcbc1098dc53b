"""Studies over a recorded walk: Monte Carlo and sensitivity."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dynamics.musculoskeletal import ComakResult, OsimModel
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError, PoseError
from pipeline.config.data_folder import data_file
from pipeline.config.reading import load_section
from pipeline.flagged_instants import joined_kinds
from pipeline.reports.judgement import stored_judgement
from pipeline.store.job import Job
from pipeline.store.samples import FAILED, OK
from pipeline.store.workspace_lock import RunError
from pipeline.studies.catalogue import Catalogue
from pipeline.studies.design import study_table
from pipeline.studies.experiment import Experiment, study_of_runs
from pipeline.studies.muscle_walks.contact_forces import contact_flags
from pipeline.studies.muscle_walks.schema import MuscleWalkFile
from pipeline.studies.muscle_walks.setup import WalkSetup, prepare_walk
from pipeline.studies.muscle_walks.study_schema import WalkStudyFile
from pipeline.studies.muscle_walks.variation import check_walk_factor, varied_walk, walk_factors
from pipeline.studies.muscle_walks.walk_outputs import (
    PERCENT,
    walk_catalogue,
    walk_outputs,
    walk_waves,
)

#: Errors of a run that become the reason of its failure; other errors are faults of the program.
_FAILURES = InputError, PoseError, ArithmeticError, np.linalg.LinAlgError


@dataclass(frozen=True)
class WalkTask:
    """Common settings of the runs of a study, as sent to worker processes."""

    #: Folder of the walk.
    folder: str
    #: What becomes of a run with frames that do not converge: "flag" or "fail".
    unconverged: str
    #: SHA-256 of these settings and the files of the walk.
    source: str

    @classmethod
    def of(cls, folder: Path, unconverged: str) -> WalkTask:
        """Return the task of a finished walk; raise a RunError if the folder is not one."""
        for name in ("config.toml", "plant.npz", "walk.json"):
            if not (folder / name).is_file():
                raise RunError(
                    f"{folder}: expected the folder of a walk with articular contact, with {name}; "
                    "make it with `knee-contact run` and walk.record = true"
                )
        content = hashlib.sha256(unconverged.encode())
        for path in (folder / "config.toml", folder / "plant.npz", *_files_of(folder)):
            content.update(path.read_bytes())
        return cls(str(folder.resolve()), unconverged, content.hexdigest())


def _files_of(folder: Path) -> list[Path]:
    """Return the files from which the contacts of a walk are made."""
    walk = load_section(folder / "config.toml", MuscleWalkFile).walk
    model = data_file(walk.model)
    beds = [mesh for contact in OsimModel(model).contacts for mesh in (contact.bed, contact.target)]
    meshes = [data_file(walk.meshes.get(mesh.file.name, str(mesh.file))) for mesh in beds]
    runs = [Path(run) / "knee.npz" for run in walk.surrogates.values()]
    return [path for path in (model, *meshes, *runs) if path.is_file()]


@lru_cache(maxsize=2)
def recorded_walk(folder: str) -> tuple[WalkSetup, ComakResult, Catalogue]:
    """Return a walk that replays its own record, its result, and its inputs and outputs.

    Raises `ConfigError` or `InputError` if the files of the walk cannot be used.
    """
    record = str(Path(folder) / "plant.npz")
    setup = replayed(load_section(Path(folder) / "config.toml", MuscleWalkFile), record)
    result = setup.comak.run(setup.first_values())
    return setup, result, walk_catalogue(setup, result)


def replayed(file: MuscleWalkFile, record: str) -> WalkSetup:
    """Return the setup of a walk that replays a record."""
    walk = file.walk.model_copy(update={"replay": record})
    return prepare_walk(file.model_copy(update={"walk": walk}))


def _prepare(file: WalkStudyFile, _: Job) -> Experiment:
    """Return the walks of a study, prepared and checked."""
    study = file.study
    task = WalkTask.of(Path(study.walk), study.unconverged)
    setup, result, catalogue = recorded_walk(task.folder)
    for factor in study.factor:
        check_walk_factor(factor.name, catalogue.factors)
    table = study_table(study, catalogue)
    varied_walk(setup, _values(table.iloc[0]))  # Factors that cannot be applied are refused here.
    nominal = walk_outputs(setup, result)
    judged = stored_judgement(Path(study.walk))
    return Experiment(
        study, catalogue, table, nominal, PERCENT, study.walk, "recorded walk", task, walk_rows,
        judged,
    )  # fmt: skip


def walk_rows(task: WalkTask, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a study, number of the run and input values, with their results."""
    catalogue = recorded_walk(task.folder)[2]
    names = [name for name in rows.columns if name not in ("run", "source")]
    results = [_run_once(task, _values(row)) for _, row in rows[names].iterrows()]
    table = pd.DataFrame(results, columns=pd.Index(catalogue.columns), index=rows.index)
    return pd.concat([rows, table], axis=1)


def _values(row: pd.Series[Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in row.items() if name != "run"}


def _run_once(task: WalkTask, values: Mapping[str, float]) -> dict[str, Any]:
    """Return the results of a run; a failed run has the status "failed" and NaN outputs."""
    setup, nominal, catalogue = recorded_walk(task.folder)
    started = time.perf_counter()
    try:
        row = _simulated(task, varied_walk(setup, values), nominal.values)
    except _FAILURES as error:
        undefined = np.full(len(PERCENT), np.nan, dtype=np.float32)
        row = {
            **{"status": FAILED, "reason": " ".join(str(error).split())},
            **dict.fromkeys(catalogue.outputs, np.nan),
            **{"flagged_instants": 0, "flags": "", "flag_kinds": "", "evaluations": 0},
            **{f"wave_{name}": undefined for name in catalogue.waves},
        }
    return row | {"seconds": time.perf_counter() - started}


def _simulated(task: WalkTask, setup: WalkSetup, nominal: FloatArray) -> dict[str, Any]:
    """Return the results of a run; raises one of `_FAILURES`.

    `nominal` (N, S) are the secondary coordinates of the recorded walk [rad, m].
    """
    result = setup.comak.run(setup.first_values(), guide=nominal)
    if result.flags and task.unconverged == "fail":
        raise PoseError(result.flags[0])
    flags = [*setup.flags, *result.flags, *contact_flags(result)]
    waves = walk_waves(setup, result)
    return {
        **{"status": OK, "reason": "", **walk_outputs(setup, result)},
        "flagged_instants": len(result.time) if setup.flags else _flagged(result),
        "flags": "; ".join(flags),
        "flag_kinds": joined_kinds(each.flag.kind for each in result.contact_flags),
        "evaluations": int(result.iterations.sum()),
        **{f"wave_{name}": wave.astype(np.float32) for name, wave in waves.items()},
    }


def _flagged(result: ComakResult) -> int:
    """Return the number of frames that did not converge or have a flag of a contact."""
    touched = np.array([any(loads.flags for loads in frame) for frame in result.loads])
    return int((touched | result.outside.any(axis=1) | ~result.converged).sum())


def describe_walk_factors(folder: Path) -> str:
    """Return a line per input of a recorded walk."""
    task = WalkTask.of(folder, "flag")
    file = load_section(Path(task.folder) / "config.toml", MuscleWalkFile)
    factors = walk_factors(replayed(file, str(Path(task.folder) / "plant.npz")))
    width = max(map(len, factors))
    return "\n".join(
        f"{name:{width}}  [{factor.unit or 'factor'}] {factor.text}"
        for name, factor in factors.items()
    )


WALK_STUDY = study_of_runs(WalkStudyFile, _prepare)
