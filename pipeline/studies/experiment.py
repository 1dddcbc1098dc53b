"""The simulations of a study: their design is carried out, summarised, and shown on a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from foundation.base.checks import FloatArray
from foundation.base.wording import counted
from pipeline.execution import Execution
from pipeline.files import write_npz
from pipeline.progress import bar, say
from pipeline.reports import figures as fig
from pipeline.reports.figures import Picture, picture
from pipeline.reports.judgement import judgement_lines
from pipeline.stages.model_cycles import Output
from pipeline.store.documents import Shape, read_arrays
from pipeline.store.job import Job, JobKind
from pipeline.store.run_documents import Judgement
from pipeline.store.sample_store import SAMPLE_FILES, SAMPLES, Evaluation, SampleStore
from pipeline.store.samples import OK, read_table, write_table
from pipeline.studies.conduct import File, Outcome, Study
from pipeline.studies.factors import Catalogue
from pipeline.studies.schema import PARAMETERS, DesignConfig
from pipeline.studies.summary import (
    QUANTILES,
    Sensitivity,
    SobolIndex,
    StudySummary,
    summarise,
)

#: Largest number of inputs of a tornado plot, and of bins of a histogram.
_MOST_BARS, _MOST_BINS = 12, 40


def study_page(
    folder: Path, summary: StudySummary, table: pd.DataFrame, catalogue: Catalogue
) -> dict[str, Any]:
    """Return the content of `study.html`; `table` has a row per run of the folder."""
    known = catalogue.outputs
    outputs = {name: row for name, row in summary.outputs.items() if row is not None}
    nominal = summary.nominal
    shown = [name for name in catalogue.key_outputs if name in outputs]
    good = table[table["status"] == OK]
    return {
        "summary": summary,
        "first": [
            *(
                f"{row.runs} of {summary.runs} runs failed, and are in no figure: {row.example}"
                for row in summary.failures
            ),
            *([f"{summary.not_trusted}. The runs are in the figures."] if summary.flagged else []),
        ],
        "factors": [_factor_row(factor, catalogue) for factor in summary.factors],
        "catalogue": catalogue,
        "outputs": [
            {**known[name]._asdict(), "nominal": nominal[name], **row}
            for name, row in outputs.items()
        ],
        "quantiles": [f"q{share:g}" for share in QUANTILES],
        "tiles": [(known[name], outputs[name]) for name in shown],
        "pictures": {
            "histograms": [
                _histogram(
                    f"distribution of {known[name].label}", known[name], good[name], nominal[name]
                )
                for name in shown
            ],
            "bands": list(_bands(folder / "waveforms.npz", catalogue)),
            "sensitivity": list(_tornados(summary.sensitivity, catalogue)),
        },
    }


def _factor_row(factor: dict[str, str | float], catalogue: Catalogue) -> dict[str, str]:
    """Return description and distribution of an input."""
    name, kind = str(factor["name"]), str(factor["distribution"])
    keys = PARAMETERS[kind]
    return {
        "name": name,
        "text": catalogue.factors[name].text,
        "kind": kind.replace("_", " "),
        "spread": ", ".join(
            f"{key} {value if isinstance(value := factor[key], str) else f'{value:g}'}"
            for key in keys
        ),
    }


@picture("svg")
def _histogram(output: Output, values: pd.Series[float], nominal: float | None) -> Figure:
    """Draw the histogram of an output with median, 95 % interval and nominal value."""
    figure, axes = fig.panel(x=output.axis, y="runs")
    known = values.to_numpy(dtype=float)
    bins = int(np.clip(np.sqrt(len(known)), 5, _MOST_BINS))
    middle = 0.5 * (known.min() + known.max())
    # A constant output needs a frame of some width.
    half = max(0.5 * np.ptp(known), 1e-6 * abs(middle), 1e-12)
    # The smallest and the largest value may lie outside of middle ± half by rounding.
    ends = min(middle - half, known.min()), max(middle + half, known.max())
    axes.hist(known, bins=bins, range=ends, color=fig.BLUE, alpha=0.55)
    low, median, high = np.percentile(known, (2.5, 50.0, 97.5))
    axes.axvspan(low, high, color=fig.GREY, alpha=0.15, lw=0, label="95 %")
    axes.axvline(median, color=fig.INK, lw=1.6, label="median")
    if nominal is not None:
        axes.axvline(nominal, color=fig.VERMILLION, lw=1.6, ls=fig.DASHES, label="nominal")
    fig.legend_above(axes, 3)
    return figure


def _bands(path: Path, catalogue: Catalogue) -> Iterator[Picture]:
    """Yield the waveforms over the cycle."""
    shapes: dict[str, Shape] = {
        "gait_percent": ("K",),
        **dict.fromkeys(catalogue.waves, ("N", "K")),
    }
    waves = read_arrays(path, shapes, undefined=catalogue.waves)
    for name, wave in catalogue.waves.items():
        complete: FloatArray = waves[name][np.isfinite(waves[name]).all(axis=1)]
        if len(complete) > 1:
            text = f"{wave.label} over the cycle"
            yield _band(text, waves["gait_percent"], complete, wave.axis, catalogue.axis)


@picture("svg")
def _band(percent: FloatArray, waves: FloatArray, label: str, across: str) -> Figure:
    """Draw the median and two bands of a waveform (runs, instants)."""
    figure, axes = fig.panel()
    shares = np.percentile(np.asarray(waves, dtype=float), (5.0, 25.0, 50.0, 75.0, 95.0), axis=0)
    for k, alpha, text in ((0, 0.18, "5–95 %"), (1, 0.35, "25–75 %")):
        axes.fill_between(
            percent, shares[k], shares[4 - k], color=fig.BLUE, alpha=alpha, lw=0, label=text
        )
    axes.plot(percent, shares[2], color=fig.INK, lw=1.6, label="median")
    fig.cycle_axis(axes, label)
    axes.set_xlabel(across)
    fig.legend_above(axes, 3)
    return figure


def _tornados(sensitivity: Sensitivity, catalogue: Catalogue) -> Iterator[Picture]:
    """Yield the influence of the inputs on the outputs."""
    size = float if sensitivity.measure == "sobol" else abs
    for output in catalogue.key_outputs:
        measure = sensitivity.outputs[output] or {}
        rows = {name: _shown(value) for name, value in measure.items() if value is not None}
        if rows:
            names = sorted(rows, key=lambda name: -size(rows[name][0]))[:_MOST_BARS]
            title = catalogue.outputs[output].label
            columns = list(zip(*(rows[name] for name in names), strict=True))
            yield _tornado(f"inputs that matter to {title}", names, title, *columns)


def _shown(value: SobolIndex | float) -> tuple[float, ...]:
    """Return total index, its half width and first-order index of an input, or its correlation."""
    if isinstance(value, SobolIndex):
        values = value.total, value.total_half_width, value.first
        return tuple(np.nan if each is None else each for each in values)
    return (value,)


@picture("svg")
def _tornado(
    names: Sequence[str],
    title: str,
    values: Sequence[float],
    half_widths: Sequence[float] | None = None,
    first: Sequence[float] = (),
) -> Figure:
    """Draw total Sobol indices with half widths and first order, or rank correlations."""
    label = "total Sobol index" if first else "rank correlation"
    figure, axes = fig.panel((fig.PANEL[0], 1.1 + 0.24 * len(names)), x=label, title=title)
    rows = np.arange(len(names))
    axes.barh(
        rows, values, color=fig.BLUE, alpha=0.7, height=0.62, xerr=half_widths, ecolor=fig.INK
    )
    if first:
        axes.plot(first, rows, "D", color=fig.VERMILLION, ms=4.0, label="first order")
        axes.legend(loc="lower right")
    axes.axvline(0.0, color=fig.GREY, lw=1.0)
    axes.set_yticks(rows, names)
    axes.invert_yaxis()
    return figure


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
    store = SampleStore(folder / SAMPLES, Evaluation(experiment.evaluate, (task,), task.source))
    say(f"{study.name}: {counted(len(table), 'run')}")
    missing = store.missing(table)
    with bar(len(missing), "run", study.name) as shown:
        store.evaluate(missing, study.chunk, Execution.of(study), shown)
    _write_runs(folder, store.with_results(table), experiment)
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
        files=("runs.parquet", "waveforms.npz"),
        kept=SAMPLE_FILES,
    )


def _write_runs(folder: Path, done: pd.DataFrame, experiment: Experiment) -> None:
    """Write the waveforms, and the other results with a row per run."""
    names = experiment.catalogue.waves
    waves = {name: np.array(done[f"wave_{name}"].to_list(), dtype=np.float32) for name in names}
    arrays: dict[str, Any] = {"gait_percent": experiment.percent, "run": done["run"].to_numpy()}
    write_npz(folder / "waveforms.npz", **arrays, **waves)
    write_table(done.drop(columns=[f"wave_{name}" for name in names]), folder / "runs.parquet")


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
