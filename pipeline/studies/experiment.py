"""Studies: their design, its simulations, the summary of the runs, and the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field
from scipy import stats

from dynamics.csv_table import read_csv_table
from dynamics.ligaments.bundle_tables import DRAW
from foundation.base.checks import FloatArray
from foundation.base.wording import counted
from pipeline.config.data_folder import data_file
from pipeline.config.reading import ConfigError
from pipeline.execution import Execution
from pipeline.files import write_npz
from pipeline.flagged_instants import flagged_sentence, kinds_of
from pipeline.progress import bar, say
from pipeline.reports import figures as fig
from pipeline.reports.figures import Picture, picture
from pipeline.reports.judgement import judgement_lines
from pipeline.simulation import Output, model_errors
from pipeline.store.documents import Shape, read_arrays
from pipeline.store.job import Job, JobKind
from pipeline.store.run_documents import Computed, Judgement
from pipeline.store.sample_store import SAMPLE_FILES, SAMPLES, Evaluation, SampleStore
from pipeline.store.samples import OK, read_table, write_table
from pipeline.studies.conduct import File, Outcome, Study
from pipeline.studies.factors import CYCLES, LIGAMENT_DRAW, Catalogue
from pipeline.studies.schema import PARAMETERS, DesignConfig, DistributionConfig
from surrogates.sampling.sensitivity import sobol_indices, unit_design


def draw_count(table: str) -> int:
    """Return the number of draws in a table of ligaments."""
    return len(np.unique(read_csv_table(data_file(table)).column(DRAW)))


def quantile(factor: DistributionConfig, share: FloatArray) -> FloatArray:
    """Return the quantiles (N,) of an input, in its unit [1], at shares (N,) [1]."""
    keys = (factor.mean, factor.sd, factor.low, factor.high)
    mean, sd, low, high = np.array(keys, dtype=np.float64)  # NaN for None
    if factor.distribution == "fixed":
        return np.full(len(share), factor.value)
    if factor.table is not None:
        return np.floor(share * draw_count(factor.table))
    if factor.distribution == "uniform":
        values = low + (high - low) * share
    elif factor.distribution == "normal":
        values = stats.norm.ppf(share, mean, sd)
    elif factor.distribution == "lognormal":
        # Mean and deviation are those of the input, not of its logarithm.
        variance = np.log1p((sd / mean) ** 2)
        values = np.exp(np.log(mean) - 0.5 * variance + np.sqrt(variance) * stats.norm.ppf(share))
    else:
        values = stats.truncnorm.ppf(share, (low - mean) / sd, (high - mean) / sd, mean, sd)
    return np.asarray(values, dtype=np.float64)


def varying(config: DesignConfig) -> list[str]:
    """Return the names of the inputs that are not fixed."""
    return [factor.name for factor in config.factor if factor.distribution != "fixed"]


def study_table(config: DesignConfig, catalogue: Catalogue = CYCLES) -> pd.DataFrame:
    """Return a row per run: the number of the run, and each input in the unit of its name."""
    names = varying(config)
    unit = unit_design(config.kind, config.runs, len(names), config.seed)
    columns: dict[str, Any] = {"run": np.arange(len(unit))}
    for factor in config.factor:
        share = unit[:, names.index(factor.name)] if factor.name in names else np.zeros(len(unit))
        values = quantile(factor, share)
        known = catalogue.factors[factor.name]
        wrong = np.flatnonzero(~(known.allows(values) & np.isfinite(values)))
        if len(wrong):
            expected = f"{known.bound} 0" if known.bound else "that are finite"
            raise ConfigError(
                f"study.factor: {factor.name}: expected values {expected}, found "
                f"{values[wrong[0]]:.4g} in run {wrong[0]} ({len(wrong)} such runs); choose a "
                "bounded distribution (uniform, truncated_normal) or a lognormal one"
            )
        columns[factor.name] = values
    return pd.DataFrame(columns)


def first_values(table: pd.DataFrame) -> dict[str, float]:
    """Return the values of the inputs in the first run of a study."""
    return {str(name): float(value) for name, value in table.iloc[0, 1:].items()}


def base_runs(config: DesignConfig, count: int) -> Any:
    """Return which of `count` runs are independent draws of the inputs, (N,) bool.

    All, or the rows of the matrices A and B of Sobol's design; the rows between share columns.
    """
    if config.kind != "sobol":
        return np.ones(count, dtype=bool)
    block = len(varying(config)) + 2
    return np.isin(np.arange(count) % block, (0, block - 1))


#: Reported quantiles [%].
QUANTILES = (2.5, 25.0, 50.0, 75.0, 97.5)
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class FailedRuns(Computed):
    """Failed runs of a kind of reason: their number and the reason of the first run."""

    runs: int
    example: str


class SobolIndex(Computed):
    """Sobol indices of an input with the half widths of their 95 % intervals [1]."""

    first: float | None
    first_half_width: float | None
    total: float | None
    total_half_width: float | None


class Sensitivity(Computed):
    """Sobol indices or Spearman's rank correlations of each output with each input.

    An output without them is constant, or too few runs are left.
    """

    measure: Literal["sobol", "spearman"]
    outputs: dict[str, dict[str, SobolIndex | float | None] | None]


class StudySummary(Computed):
    """`summary.json`: the runs of a study, its outputs and their sensitivity to the inputs.

    The distribution of an output has `mean`, `sd`, `minimum`, `maximum`, the `QUANTILES` ("q50")
    and `model_error`, the error of the contact model in the median.
    """

    name: str
    kind: str
    model: str
    runs: int
    summarised: int
    failed: int
    failures: list[FailedRuns]
    flagged: int
    not_trusted: str | None
    factors: list[dict[str, str | float]]
    nominal: dict[str, float | None]
    outputs: dict[str, dict[str, float | None] | None]
    sensitivity: Sensitivity
    seconds_per_run: float
    verdict: Judgement | None
    notes: list[str] = Field(default_factory=list)
    seconds: float


def summarise(
    config: DesignConfig,
    table: pd.DataFrame,
    nominal: Mapping[str, float | None],
    model: str,
    catalogue: Catalogue,
    judged: Judgement | None,
    seconds: float,
    notes: Sequence[str] = (),
    errors: Mapping[str, float] = MappingProxyType({}),
) -> StudySummary:
    """Return the summary of a study, whose table has a row per run and took some seconds [s].

    Only the counts include failed runs. Means and quantiles of a Sobol study are those of its base
    matrices. `errors` are those of the model in outputs [%] that the verdict does not have.
    """
    drawn = table[base_runs(config, len(table))]
    good = drawn[drawn["status"] == OK]
    flagged = table["flagged_instants"] > 0
    return StudySummary(
        name=config.name,
        kind=config.kind,
        model=model,
        runs=len(table),
        summarised=len(good),
        failed=int((table["status"] != OK).sum()),
        failures=_failures(table[table["status"] != OK]),
        flagged=int(flagged.sum()),
        not_trusted=flagged_sentence(
            int(flagged.sum()),
            len(table),
            kinds_of(table.loc[flagged, "flag_kinds"]),
            "runs",
            catalogue.samples,
        ),
        factors=[f.model_dump(exclude_none=True) for f in config.factor],
        nominal=dict(nominal),
        outputs=_distributions(good, catalogue, judged, errors),
        sensitivity=sensitivity(config, table, catalogue),
        seconds_per_run=float(table["seconds"].median()),
        verdict=judged,
        notes=list(notes),
        seconds=seconds,
    )


def _failures(failed: pd.DataFrame) -> list[FailedRuns]:
    """Return the number of failed runs per reason; reasons that differ in numbers are the same."""
    kinds = failed["reason"].map(lambda reason: _NUMBER.sub("…", reason))
    groups = [group["reason"] for _, group in failed.groupby(kinds, sort=True)]
    groups.sort(key=lambda reasons: -len(reasons))
    return [FailedRuns(runs=len(reasons), example=str(reasons.iloc[0])) for reasons in groups]


def _distributions(
    good: pd.DataFrame,
    catalogue: Catalogue,
    judged: Judgement | None,
    percents: Mapping[str, float],
) -> dict[str, dict[str, float | None] | None]:
    """Return the distribution of each output, with the error of the contact model."""
    found = {name: distribution_of(good[name].to_numpy()) for name in catalogue.outputs}
    medians = {name: spread["q50"] for name, spread in found.items() if spread is not None}
    errors = model_errors(catalogue.outputs, medians, judged)
    errors |= {
        n: 0.01 * percents[n] * abs(median) for n, median in medians.items() if n in percents
    }
    return {
        name: None if spread is None else {**spread, "model_error": errors[name]}
        for name, spread in found.items()
    }


def distribution_of(values: FloatArray) -> dict[str, float] | None:
    """Return mean, deviation, extremes and `QUANTILES` of values (N,) [1]; None if N < 2."""
    if len(values) < 2:
        return None
    quantiles = np.percentile(values, QUANTILES)
    statistics = {
        "mean": values.mean(),
        "sd": values.std(ddof=1),
        "minimum": values.min(),
        "maximum": values.max(),
        **{f"q{share:g}": value for share, value in zip(QUANTILES, quantiles, strict=True)},
    }
    return {name: float(value) for name, value in statistics.items()}


def sensitivity(config: DesignConfig, table: pd.DataFrame, catalogue: Catalogue) -> Sensitivity:
    """Return the Sobol indices of a Sobol study, or Spearman's rank correlations."""
    names, good = varying(config), (table["status"] == OK).to_numpy()
    outputs: dict[str, Mapping[str, object] | None] = dict.fromkeys(catalogue.outputs)
    if config.kind == "sobol":
        for name in catalogue.outputs:
            values = np.where(good, table[name], np.nan)
            outputs[name] = sobol_indices(names, values, config.seed)
        return Sensitivity.model_validate({"measure": "sobol", "outputs": outputs})
    rows = table[good]
    # Draws have no order.
    names = [name for name in names if name != LIGAMENT_DRAW]
    if len(rows) > 2 and names:
        correlations = rank_correlations(
            rows[names].to_numpy(), rows[list(catalogue.outputs)].to_numpy()
        )
        for name, column in zip(catalogue.outputs, correlations.T, strict=True):
            outputs[name] = dict(zip(names, column, strict=True))
    return Sensitivity.model_validate({"measure": "spearman", "outputs": outputs})


def rank_correlations(inputs: FloatArray, outputs: FloatArray) -> FloatArray:
    """Return Spearman's correlations (D, M) [1] of inputs (N, D) with outputs (N, M); or NaN."""
    from scipy.stats import rankdata  # slow to import, and workers need no ranks

    scores = []
    for values in (inputs, outputs):
        ranks = rankdata(values, axis=0)
        ranks -= ranks.mean(axis=0)
        length = np.sqrt((ranks**2).sum(axis=0))
        scores.append(ranks / np.where(length > 0.0, length, np.nan))
    correlations: FloatArray = scores[0].T @ scores[1]
    return correlations


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
