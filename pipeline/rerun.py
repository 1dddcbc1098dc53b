"""Parts of a finished run carried out again: validation, simulation, timing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import surrogates
from pipeline.assessment import assess, speed
from pipeline.config import load_config
from pipeline.gait import simulate_both
from pipeline.original import build_knee
from pipeline.report import write_report
from pipeline.report_inputs import content_of
from pipeline.run_folder import Run, RunError, read_path
from pipeline.samples import (
    CANDIDATE_COLUMNS,
    POSE_COLUMNS,
    RESULT_COLUMNS,
    poses_of,
    read_table,
)
from surrogates.knee import KneeSurrogate


def _finished_run(folder: Path) -> tuple[Run, KneeSurrogate]:
    """Open a run directory that holds a trained surrogate."""
    for name in ("config.toml", "path.json", "run.json", "knee.npz"):
        if not (folder / name).is_file():
            raise RunError(f"{folder}: no finished run, {name} is missing; start with `run`")
    return Run(load_config(folder / "config.toml"), folder), surrogates.load(folder / "knee.npz")


def validate_again(folder: Path) -> dict[str, Any]:
    """Judge a run's surrogate on its held-out samples again and return the report's content.

    Raises
    ------
    RunError
        If the directory holds no finished run.
    """
    run, knee = _finished_run(folder)
    columns = (*CANDIDATE_COLUMNS, *RESULT_COLUMNS)
    held_out = read_table(folder / "samples" / "heldout.parquet", columns)
    with content_of(folder / "validation.json"):
        stored = json.loads((folder / "validation.json").read_text(encoding="utf-8"))
        times = {"fit_seconds": stored["models"][0]["fit_seconds"]}
    judged = KneeSurrogate(knee.medial, knee.lateral, {**knee.header, **times})
    stored["models"][0] = assess(judged, held_out, run.config.feasibility)
    run.write_json("validation.json", stored)
    return write_report(folder)


def simulate_again(folder: Path) -> dict[str, Any]:
    """Repeat a run's gait simulation with both models and return the report's content.

    Raises
    ------
    RunError
        If the directory holds no finished run.
    """
    run, main = _finished_run(folder)
    knee = build_knee(run.config)
    simulate_both(run, knee, main, read_path(folder / "path.json", knee))
    return write_report(folder)


def bench(folder: Path) -> dict[str, float]:
    """Return the time of one evaluation of a run's original model and surrogate, and their ratio.

    Raises
    ------
    RunError
        If the directory holds no finished run.
    """
    run, main = _finished_run(folder)
    knee = build_knee(run.config)
    read_path(folder / "path.json", knee)
    table = read_table(folder / "simulation.parquet", ("model", *POSE_COLUMNS))
    return speed(knee.model, main, poses_of(table[table["model"] == "original"]))
