"""A study from its file to its folder: the design, the runs, their summary and its page."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import tomli_w
from pydantic import ValidationError

from dynamics.simulator.waveform_tables import LEVEL_WALKING
from foundation.checks import FloatArray
from foundation.wording import counted
from pipeline.advice import command_line
from pipeline.config.reading import ConfigError, explain, load_config, load_section
from pipeline.config.simulation_schema import SimulationConfig
from pipeline.execution.backends import Execution
from pipeline.files import replacing, write_document, write_json, write_text
from pipeline.progress import bar, say
from pipeline.store.documents import read_document
from pipeline.store.made_with import check_configuration
from pipeline.store.run_documents import StudyInputs
from pipeline.store.samples import ChunkStore, chunk_size, read_table, write_table
from pipeline.store.workspace_lock import RunError, changed_keys, check_own_folder, locked
from pipeline.studies.design import study_table
from pipeline.studies.factors import check_applicable
from pipeline.studies.report import write_page
from pipeline.studies.runs import (
    OUTPUTS,
    RUN_COLUMNS,
    WAVES,
    Task,
    outputs_of,
    run_rows,
    setting_of,
    simulate_inputs,
    wear_of,
)
from pipeline.studies.schema import StudyFile
from pipeline.studies.summary import KEY_OUTPUTS, summarise

#: Files of a run directory that a study needs; the last is written when the run ends.
_NEEDED = ("config.toml", "path.json", "knee.npz", "run.json")
#: Files of a study's folder.
_FILES = ("runs.parquet", "waveforms.npz", "inputs.json", "summary.json", "study.html")


def load_study(path: str | Path, overrides: tuple[str, ...] = ()) -> StudyFile:
    """Read the file of a study; waveforms that it names stand beside it.

    Raises
    ------
    ConfigError
        If the file is missing or is no TOML, a key is unknown or a value out of range.
    """
    file = load_section(path, StudyFile, overrides)
    waveforms = file.simulation.get("waveforms", LEVEL_WALKING.stem)
    if waveforms == LEVEL_WALKING.stem:
        return file
    beside = str((Path(path).parent / waveforms).resolve())
    return file.model_copy(update={"simulation": {**file.simulation, "waveforms": beside}})


def task_of(file: StudyFile) -> Task:
    """Return what the runs of a study share; raises as `task_at` does."""
    study = file.study
    return task_at(Path(study.run), "study.run", study.model, file.simulation, study.outside)


def task_at(
    folder: Path, key: str, model: str, changes: Mapping[str, Any], outside: str = "flag"
) -> Task:
    """Return the task of simulating cycles with a run.

    Parameters
    ----------
    folder : Path
        Run directory.
    key : str
        The key of the configuration that names it, for messages.
    model : {"surrogate", "original"}
        What gives the contact loads.
    changes : mapping
        Keys of the run's [simulation] that are replaced.
    outside : {"flag", "fail"}
        What is done with a cycle that leaves the trained domain.

    Raises
    ------
    RunError
        If the run directory is missing, its run has not ended, or its `config.toml` was changed
        since the run was made.
    ConfigError
        If a replaced key of [simulation] cannot be used.
    """
    if not folder.is_dir():
        raise RunError(
            f"{key}: {folder}: no such run directory; make it with "
            f"`{command_line('run', 'CONFIG', '--out', folder)}` or name another"
        )
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    if missing:
        raise RunError(
            f"{key}: {folder}: the run has not ended, {missing[0]} is missing; go on with "
            f"`{command_line('run', 'CONFIG', '--out', folder, '--resume')}`"
        )
    simulation = load_config(folder / "config.toml").simulation
    check_configuration(folder)
    return Task.of(folder, model, replaced(simulation, changes), outside)


def replaced(simulation: SimulationConfig, changes: Mapping[str, Any]) -> SimulationConfig:
    """Return a [simulation] with keys replaced; a ConfigError names what does not fit."""
    try:
        return SimulationConfig.model_validate(simulation.model_dump() | dict(changes))
    except ValidationError as error:
        raise ConfigError(explain("[simulation]", error, SimulationConfig)) from error


def carry_out(
    file: StudyFile, folder: Path, *, resume: bool = False, quiet: bool = False
) -> dict[str, Any]:
    """Carry out a study and write its folder.

    Parameters
    ----------
    file : StudyFile
        The study.
    folder : Path
        Where to write.
    resume : bool
        Whether to go on with what an interrupted study left there.
    quiet : bool
        Whether to leave out the progress bar.

    Returns
    -------
    dict
        What `summary.json` holds.

    Raises
    ------
    RunError, ConfigError
        If the study or the run that it is of cannot be used.
    SimulationError, EquilibriumError
        If the nominal cycle itself cannot be simulated.
    """
    begun = time.perf_counter()  # What cannot be used is told before files are touched.
    task, table = task_of(file), study_table(file.study)
    setting = setting_of(task)
    check_applicable(setting.nominal, table.columns[1:])
    # In this process first, so that the workers find the kernels compiled.
    result = simulate_inputs(setting, setting.nominal)
    nominal = outputs_of(result, wear_of(setting, setting.nominal, result))
    check_own_folder(folder, "inputs.json", "study")
    with Execution.of(file.study) as execution, locked(folder, make=True):
        _prepare(file, folder, task, resume=resume)
        runs = _runs(file, folder, task, table, result.gait_percent, execution, quiet=quiet)
        summary = summarise(file.study, runs, nominal)
        summary["seconds"] = time.perf_counter() - begun
        write_document(folder / "summary.json", summary)
        write_page(folder, summary, runs, tomli_w.dumps(_dumped(file)))
    return summary


def _dumped(file: StudyFile) -> dict[str, Any]:
    return file.model_dump(exclude_none=True)


def _prepare(file: StudyFile, folder: Path, task: Task, *, resume: bool) -> None:
    """Make the folder, or check that the one to be resumed belongs to this study."""
    stored, text = folder / "config.toml", tomli_w.dumps(_dumped(file))
    if resume and stored.exists():
        changed = changed_keys(stored, text, "study")
        before = read_document(folder / "inputs.json", StudyInputs).source
        if changed or before != task.source:
            what = f"which differs in {', '.join(changed)}" if changed else "or of another run"
            raise RunError(
                f"{folder}: begun with another configuration, {what}; carry it out without "
                "--resume or with another --out"
            )
    else:
        for name in _FILES:
            (folder / name).unlink(missing_ok=True)
        ChunkStore(folder / "chunks").clear()
    write_json(folder / "inputs.json", {"source": task.source, "run": file.study.run})
    write_text(stored, text)


def _runs(
    file: StudyFile,
    folder: Path,
    task: Task,
    table: pd.DataFrame,
    percent: FloatArray,
    execution: Execution,
    *,
    quiet: bool,
) -> pd.DataFrame:
    """Return a row per run: the stored ones of a resumed study, or carried out now and stored."""
    path, store = folder / "runs.parquet", ChunkStore(folder / "chunks", RUN_COLUMNS)
    if not path.exists():
        study = file.study
        size = chunk_size(len(table), study.chunk)
        # Chunks are known by a digest of the table: the source keeps those of others apart.
        marked = table.assign(source=task.source)
        say(f"{study.name}: {counted(len(table), 'run')}", quiet=quiet)
        with bar(len(table), "run", study.name, quiet=quiet) as shown:
            done = store.evaluate(marked, size, execution, run_rows, (task,), shown)
        _write_waves(folder / "waveforms.npz", done, percent)
        kept = [name for name in done.columns if not name.startswith("wave_") and name != "source"]
        write_table(done[kept], path)
    store.clear()
    return read_table(path, ("run", "status", "reason", *OUTPUTS))


def _write_waves(path: Path, table: pd.DataFrame, percent: FloatArray) -> None:
    """Store the waveforms (runs, instants) as float32, NaN where a run failed."""
    waves = {name: np.stack(table[f"wave_{name}"].to_list()) for name in WAVES}
    arrays: dict[str, Any] = {"gait_percent": percent, "run": table["run"].to_numpy(), **waves}
    with replacing(path) as partial_file, partial_file.open("wb") as stream:
        np.savez_compressed(stream, **arrays)


def told(summary: dict[str, Any], folder: Path) -> str:
    """Return a study in a few lines."""
    lines = [
        f"{counted(summary['runs'], 'run')}, {summary['failed']} failed, "
        f"{summary['flagged']} left the trained domain; {summary['seconds']:.1f} s"
    ]
    for name in KEY_OUTPUTS:
        found = summary["outputs"][name]
        if found is not None:
            output = OUTPUTS[name]
            lines.append(
                f"{output.label}: median {found['q50']:.4g} {output.unit}, 95 % within "
                f"{found['q2.5']:.4g} to {found['q97.5']:.4g}"
            )
    return "\n".join([*lines, f"page: {folder / 'study.html'}"])
