"""Studies of gait cycles: from the configuration to the design, the runs, summary and page."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dynamics.simulator.waveform_tables import ACTIVITIES, LEVEL_WALKING
from foundation.checks import FloatArray
from foundation.former_names import renamed
from foundation.wording import counted
from pipeline.config.reading import dump_config, load_section
from pipeline.execution.backends import Execution
from pipeline.files import write_document, write_json, write_npz, write_text
from pipeline.progress import bar, say
from pipeline.store.documents import read_document
from pipeline.store.run_documents import StudyInputs
from pipeline.store.samples import ChunkStore, chunk_size, read_table, write_table
from pipeline.store.workspace_lock import RunError, changed_keys, check_own_folder, locked
from pipeline.studies.design import study_table
from pipeline.studies.factors import check_applicable
from pipeline.studies.outputs import KEY_OUTPUTS, OUTPUTS, WAVES
from pipeline.studies.report import write_study_page
from pipeline.studies.runs import RUN_COLUMNS, CycleSetup, Task, run_rows
from pipeline.studies.schema import StudyFile
from pipeline.studies.summary import summarise

#: Files of the folder of a study, besides the configuration.
_FILES = ("runs.parquet", "waveforms.npz", "inputs.json", "summary.json", "study.html")
__getattr__ = renamed(__name__, {"carry_out": "simulate_study"})


def load_study(path: str | Path, overrides: tuple[str, ...] = ()) -> StudyFile:
    """Read the configuration of a study; paths of waveforms are relative to the file.

    Parameters
    ----------
    path : str or Path
        TOML file.
    overrides : tuple of str
        `section.key=value` pairs that replace values of the file.

    Raises
    ------
    ConfigError
        If the file is missing or is not TOML, a key is unknown or a value out of range.
    """
    file = load_section(path, StudyFile, overrides)
    waveforms = file.simulation.get("waveforms", LEVEL_WALKING.stem)
    if waveforms in ACTIVITIES:
        return file
    changes = {"waveforms": str((Path(path).parent / waveforms).resolve())}
    return file.model_copy(update={"simulation": {**file.simulation, **changes}})


def study_task(file: StudyFile) -> Task:
    """Return the common settings of the runs of a study; raises as `Task.of` does."""
    study = file.study
    return Task.of(Path(study.run), study.model, file.simulation, outside=study.outside)


def simulate_study(
    file: StudyFile, folder: Path, *, resume: bool = False, quiet: bool = False
) -> dict[str, Any]:
    """Simulate the gait cycles of a study and write its folder.

    Parameters
    ----------
    file : StudyFile
        Configuration of the study.
    folder : Path
        Folder of the results.
    resume : bool
        Whether to continue an interrupted study in the folder.
    quiet : bool
        Whether to omit the progress bar.

    Returns
    -------
    dict
        The content of `summary.json`.

    Raises
    ------
    RunError, ConfigError
        If the study or its run cannot be used.
    SimulationError, EquilibriumError
        If the nominal cycle cannot be simulated.
    """
    started = time.perf_counter()
    # All input is checked before files are written.
    task, table = study_task(file), study_table(file.study)
    setup = CycleSetup.of(task)
    check_applicable(setup.nominal, table.columns[1:])
    # Compiles the kernels in this process, so that the workers find them compiled.
    result = setup.simulate(setup.nominal)
    nominal = setup.outputs(setup.nominal, result)
    check_own_folder(folder, "inputs.json", "study")
    with Execution.of(file.study) as execution, locked(folder, make=True):
        text = dump_config(file)
        _prepare(file, folder, task, text, resume=resume)
        store = ChunkStore(folder / "chunks", RUN_COLUMNS)
        if not (folder / "runs.parquet").exists():
            size = chunk_size(len(table), file.study.chunk)
            # A digest of the table identifies chunks; the source distinguishes runs.
            marked = table.assign(source=task.source)
            say(f"{file.study.name}: {counted(len(table), 'run')}", quiet=quiet)
            with bar(len(table), "run", file.study.name, quiet=quiet) as shown:
                done = store.evaluate(marked, size, execution, run_rows, (task,), shown)
            _write_runs(folder, done, result.gait_percent)
        store.clear()
        runs = read_table(folder / "runs.parquet", ("run", "status", "reason", *OUTPUTS))
        summary = summarise(file.study, runs, nominal)
        summary["seconds"] = time.perf_counter() - started
        write_document(folder / "summary.json", summary)
        write_study_page(folder, summary, runs, text)
    return summary


def _prepare(file: StudyFile, folder: Path, task: Task, text: str, *, resume: bool) -> None:
    """Clear the folder, or check that the results to be resumed are of the same study."""
    stored = folder / "config.toml"
    if resume and stored.exists():
        changed = changed_keys(stored, text, "study")
        before = read_document(folder / "inputs.json", StudyInputs).source
        if changed or before != task.source:
            difference = ", ".join(changed) or "the files of study.run"
            raise RunError(
                f"{folder}: the interrupted study differs in {difference}; start anew without "
                "--resume, or choose another folder with --out"
            )
    else:
        for name in _FILES:
            (folder / name).unlink(missing_ok=True)
        ChunkStore(folder / "chunks").clear()
    write_json(folder / "inputs.json", {"source": task.source, "run": file.study.run})
    write_text(stored, text)


def _write_runs(folder: Path, done: pd.DataFrame, percent: FloatArray) -> None:
    """Write the waveforms, and the other results with a row per run."""
    waves = {name: np.stack(done[f"wave_{name}"].to_list()) for name in WAVES}
    arrays: dict[str, Any] = {"gait_percent": percent, "run": done["run"].to_numpy(), **waves}
    write_npz(folder / "waveforms.npz", **arrays)
    columns = ["source", *(f"wave_{name}" for name in WAVES)]
    write_table(done.drop(columns=columns), folder / "runs.parquet")


def summary_text(summary: dict[str, Any], folder: Path) -> str:
    """Return the lines on the terminal for a study."""
    lines = [
        f"{counted(summary['runs'], 'run')}, {summary['failed']} failed, "
        f"{summary['flagged']} left the trained domain; {summary['seconds']:.1f} s"
    ]
    for name in KEY_OUTPUTS:
        if spread := summary["outputs"][name]:
            lines.append(
                f"{OUTPUTS[name].label}: median {spread['q50']:.4g} {OUTPUTS[name].unit}, "
                f"95 % within {spread['q2.5']:.4g} to {spread['q97.5']:.4g}"
            )
    return "\n".join([*lines, f"page: {folder / 'study.html'}"])
