"""The simulations of a study: their design is carried out, summarised, and shown on a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.wording import counted
from pipeline.execution.backends import Execution
from pipeline.files import write_npz
from pipeline.progress import bar, say
from pipeline.reports.judgement import judgement_lines
from pipeline.store.job import Job, JobKind
from pipeline.store.samples import ChunkStore, chunk_size, read_table, write_table
from pipeline.store.verdict_document import Judgement
from pipeline.studies.conduct import File, Outcome, Study
from pipeline.studies.factors import Catalogue
from pipeline.studies.report import study_page
from pipeline.studies.schema import DesignConfig
from pipeline.studies.summary import StudySummary, summarise


class Task(Protocol):
    """Common settings of the simulations of a study, sent to worker processes."""

    @property
    def source(self) -> str:
        """Digest of the settings and of the files they name."""
        ...


@dataclass(frozen=True, eq=False)
class Experiment:
    """Simulations of a study, prepared and checked, with waveforms at instants (K,) [%]."""

    study: DesignConfig
    catalogue: Catalogue
    #: A row per simulation: number of the run and values of the inputs.
    table: pd.DataFrame
    #: Outputs of the simulation without changes; None where there is none.
    nominal: Mapping[str, float | None]
    #: Instants of the waveforms, (K,) [%].
    percent: FloatArray
    #: What the study is of: the folder of a run or of a walk.
    subject: str
    #: What is simulated.
    model: str
    task: Task
    #: Takes the task and rows of the table; returns the rows with `Catalogue.columns`.
    evaluate: Callable[..., pd.DataFrame]
    #: Verdict on the contact model (`pipeline.reports.judgement`).
    judged: Judgement | None = None
    #: What else the results say of the study.
    notes: tuple[str, ...] = ()
    #: Errors of the model in outputs [%] that the verdict does not have.
    errors: Mapping[str, float] = field(default_factory=dict)


def simulate_experiment(experiment: Experiment, job: Job) -> Outcome:
    """Simulate the runs of a study, and return its summary and page."""
    folder, study = job.folder, experiment.study
    table, catalogue, task = experiment.table, experiment.catalogue, experiment.task
    store = ChunkStore(folder / "chunks", catalogue.columns)
    if not (folder / "runs.parquet").exists():
        size = chunk_size(len(table), study.chunk)
        # A digest of the table identifies chunks; the source distinguishes runs.
        marked = table.assign(source=task.source)
        say(f"{study.name}: {counted(len(table), 'run')}")
        with Execution.of(study) as execution, bar(len(table), "run", study.name) as shown:
            done = store.evaluate(marked, size, execution, experiment.evaluate, (task,), shown)
        _write_runs(folder, done, experiment)
    store.clear()
    runs = read_table(folder / "runs.parquet", ("run", "status", "reason", *catalogue.outputs))
    summary = summarise(
        study,
        runs,
        experiment.nominal,
        experiment.model,
        catalogue,
        experiment.judged,
        job.seconds,
        experiment.notes,
        experiment.errors,
    )
    return Outcome(
        summary,
        summary_lines(summary, catalogue),
        [summary.not_trusted] if summary.not_trusted else (),
        study_page(folder, summary, runs, catalogue),
    )


def study_of_runs(
    schema: type[File], prepare: Callable[[File, Job], Experiment]
) -> Study[File, Experiment]:
    """Return a kind of study that varies simulations."""
    return Study(
        JobKind("study", "study"),
        schema,
        "summary.json",
        "study.html",
        prepare,
        simulate_experiment,
        kept=("chunks", "runs.parquet", "waveforms.npz"),
        inputs=lambda ready: (ready.task.source, ready.subject),
    )


def _write_runs(folder: Path, done: pd.DataFrame, experiment: Experiment) -> None:
    """Write the waveforms, and the other results with a row per run."""
    names = experiment.catalogue.waves
    waves = {name: np.stack(done[f"wave_{name}"].to_list()) for name in names}
    arrays: dict[str, Any] = {"gait_percent": experiment.percent, "run": done["run"].to_numpy()}
    write_npz(folder / "waveforms.npz", **arrays, **waves)
    columns = ["source", *(f"wave_{name}" for name in names)]
    write_table(done.drop(columns=columns), folder / "runs.parquet")


def summary_lines(summary: StudySummary, catalogue: Catalogue) -> list[str]:
    """Return the lines on the terminal for a study."""
    lines = [
        f"{counted(summary.runs, 'run')}, {summary.failed} failed, "
        f"{summary.flagged} {catalogue.flagged}; {summary.seconds:.1f} s"
    ]
    for name in catalogue.key_outputs:
        if spread := summary.outputs[name]:
            output, error = catalogue.outputs[name], spread["model_error"]
            lines.append(
                f"{output.label}: median {spread['q50']:.4g} {output.unit}, "
                f"95 % within {spread['q2.5']:.4g} to {spread['q97.5']:.4g}"
                + ("" if error is None else f"; error of the {summary.model} +-{error:.2g}")
            )
    return [*lines, *summary.notes, *judgement_lines(summary.verdict)]
