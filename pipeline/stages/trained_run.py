"""Parts of a finished run carried out again: validation, simulation, timing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import surrogates
from pipeline import stages
from pipeline.config.reading import load_config
from pipeline.originals.original import build_knee
from pipeline.originals.table_original import build_original
from pipeline.reports.report import write_report
from pipeline.stages.assessment import assess, speed
from pipeline.stages.gait_cycle import simulate_cycle
from pipeline.stages.runner import sample_space
from pipeline.store.documents import read_document
from pipeline.store.made_with import check_configuration
from pipeline.store.run_folder import Run, read_path
from pipeline.store.samples import (
    CANDIDATE_COLUMNS,
    POSE_COLUMNS,
    RESULT_COLUMNS,
    poses_of,
    read_table,
)
from pipeline.store.validation_document import Validation
from pipeline.store.workspace_lock import RunError, alone_in_folder
from pipeline.studies.formulations import compare_formulations
from surrogates.formulations.whole_knee import AnyKnee


def finished_run(folder: Path) -> tuple[Run, AnyKnee]:
    """Open a run directory that holds a trained surrogate.

    Raises
    ------
    RunError
        If it holds none, or `config.toml` was changed since the run was made.
    """
    for name in ("config.toml", "path.json", "run.json", "knee.npz"):
        if not (folder / name).is_file():
            raise RunError(f"{folder}: no finished run, {name} is missing; start with `run`")
    config = load_config(folder / "config.toml")
    check_configuration(folder)
    return Run(config, folder), surrogates.load(folder / "knee.npz")


@alone_in_folder
def validate_again(folder: Path) -> dict[str, Any]:
    """Judge a run's surrogate on its held-out samples again and return the report's content.

    Raises
    ------
    RunError
        If the directory holds no finished run.
    """
    run, knee = finished_run(folder)
    columns = (*CANDIDATE_COLUMNS, *RESULT_COLUMNS)
    held_out = read_table(folder / "samples" / "heldout.parquet", columns)
    stored = read_document(folder / "validation.json", Validation)
    before = stored["models"][0]
    header = {**knee.header, "fit_seconds": before["fit_seconds"]}
    judged = assess(replace(knee, header=header), held_out, run.config.feasibility)
    for name, part in judged["compartments"].items():
        # Of the fit, which is not repeated.
        part["cross_validation"] = before["compartments"][name]["cross_validation"]
    stored["models"][0] = judged
    run.write_json("validation.json", stored)
    return write_report(folder)


@alone_in_folder
def compare_again(folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Compare all formulations and families on a run's knee; return their table and the report's.

    Raises
    ------
    RunError
        If the directory holds no finished run.
    """
    run, _ = finished_run(folder)
    knee = build_knee(run.config)
    space = sample_space(run.config, read_path(folder / "path.json", knee))
    columns = (*CANDIDATE_COLUMNS, *RESULT_COLUMNS)
    first, kept, held_out = (
        read_table(folder / "samples" / f"{name}.parquet", columns)
        for name in ("first", "kept", "heldout")
    )
    training = stages.training_samples([first, kept], run.config.feasibility)
    rows = compare_formulations(run, knee, space, training, held_out)
    stored = read_document(folder / "validation.json", Validation)
    run.write_json("validation.json", stored | {"formulations": rows})
    return rows, write_report(folder)


@alone_in_folder
def simulate_again(folder: Path) -> dict[str, Any]:
    """Repeat a run's gait simulation with its models and return the report's content.

    Raises
    ------
    RunError
        If the directory holds no finished run.
    """
    run, main = finished_run(folder)
    original = build_original(run.config)
    simulate_cycle(run, original, main, read_path(folder / "path.json", original))
    return write_report(folder)


def bench(folder: Path) -> dict[str, float]:
    """Return the time of one evaluation of a run's original model and surrogate, and their ratio.

    Raises
    ------
    RunError
        If the directory holds no finished run.
    """
    run, main = finished_run(folder)
    knee = build_knee(run.config)
    read_path(folder / "path.json", knee)
    table = read_table(folder / "simulation.parquet", ("model", *POSE_COLUMNS))
    return speed(knee.model, main, poses_of(table[table["model"] == "original"]))
