"""Repeated stages of a finished run: validation, comparison, simulation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from threadpoolctl import threadpool_limits

from pipeline import stages
from pipeline.config.pairs import require_knee
from pipeline.files import write_document
from pipeline.originals.candidates import sample_space
from pipeline.progress import say
from pipeline.reports.report import write_report
from pipeline.stages import knee_samples
from pipeline.stages.adaptive_sampling import sample_knee
from pipeline.stages.assessment import assess
from pipeline.stages.gait_cycle import simulate_cycle
from pipeline.stages.run_folder import OTHER_SEEDS, Run
from pipeline.stages.trained_run import TrainedRun
from pipeline.store.documents import read_document
from pipeline.store.validation_document import Validation
from pipeline.store.workspace_lock import alone_in_folder
from pipeline.studies.formulations import averaged, compare_formulations
from surrogates.sampling.space import SampleSpace


@alone_in_folder
def validate_again(folder: Path) -> dict[str, Any]:
    """Repeat the validation of a run on its held-out samples; return `report.json`.

    Raises
    ------
    RunError
        If the folder is not a finished run, or another process writes to it.
    """
    run = TrainedRun.open(folder)
    stored = read_document(folder / "validation.json", Validation)
    before = stored.models[0]
    header = {**run.surrogate.header, "fit_seconds": before.fit_seconds}
    surrogate = replace(run.surrogate, header=header)
    judged = assess(surrogate, run.samples("heldout"), run.config.feasibility)
    for name, part in judged.compartments.items():
        # Cross-validation belongs to the fit, which is not repeated.
        part.cross_validation = before.compartments[name].cross_validation
    stored.models[0] = judged
    write_document(folder / "validation.json", stored.content())
    return write_report(folder)


@alone_in_folder
def compare_again(folder: Path, seeds: int = 1) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Compare all formulations and families on the knee of a run; raise as `validate_again`.

    With several `seeds`, stages a to f and the fits are repeated with the seeds that follow
    `run.seed`, each in a folder of its own, `seeds/<seed>`, which keeps the samples; the held-out
    samples are those of the run for all seeds. The rows are then those of `averaged`.

    Returns
    -------
    list of dict, dict
        Rows of the comparison, and the content of `report.json`.
    """
    trained = TrainedRun.open(folder)
    require_knee(trained.config.knee, "a comparison of formulations")
    run = Run(trained.config, folder)
    space = sample_space(trained.config, trained.path)
    evaluated = [trained.samples(name) for name in ("first", "kept")]
    training = stages.training_samples(evaluated, trained.config.feasibility)
    held_out_knee = knee_samples.held_out_samples(run, trained.original, space)
    held_out = trained.samples("heldout"), held_out_knee
    rows = compare_formulations(run, trained.original, space, training, *held_out)
    if seeds > 1:
        repeats = [rows]
        for seed in range(run.config.run.seed + 1, run.config.run.seed + seeds):
            repeats.append(_compared_with(seed, trained, space, *held_out))
        rows = averaged(repeats)
    stored = read_document(folder / "validation.json", Validation)
    run.write_json("validation.json", stored.content() | {"formulations": rows})
    return rows, write_report(folder)


def _compared_with(
    seed: int,
    trained: TrainedRun,
    space: SampleSpace,
    held_out: pd.DataFrame,
    held_out_knee: pd.DataFrame,
) -> list[dict[str, Any]]:
    """Return the comparison on samples that are drawn with another seed."""
    config = trained.config
    other = config.model_copy(
        update={
            "run": config.run.model_copy(update={"seed": seed}),
            # The samples of the run that are compared lie not along gait either.
            "design": config.design.model_copy(update={"gait_samples": 0}),
        }
    )
    say(f"seed {seed}")
    # One thread: sums in threaded linear algebra depend on the number of cores.
    with Run(other, trained.folder / OTHER_SEEDS / str(seed)) as run, threadpool_limits(1):
        run.prepare(resume=True)
        training = sample_knee(run, trained.original, space).training
        given = training, held_out, held_out_knee
        return compare_formulations(run, trained.original, space, *given)


@alone_in_folder
def simulate_again(folder: Path) -> dict[str, Any]:
    """Repeat the gait simulation of a run with its models; return `report.json`.

    Raises as `validate_again`.
    """
    trained = TrainedRun.open(folder)
    simulate_cycle(Run(trained.config, folder), trained.original, trained.surrogate, trained.path)
    return write_report(folder)
