"""Studies: their design, the summary of the runs, the page, and the lines on the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field
from scipy import stats

from dynamics.csv_table import read_csv_table
from dynamics.ligaments.bundle_tables import DRAW
from foundation.base.checks import FloatArray
from foundation.base.wording import counted
from pipeline.config.data_folder import data_file
from pipeline.config.reading import ConfigError
from pipeline.flagged_instants import SAMPLES, flagged_sentence, kinds_of
from pipeline.reports import figures as fig
from pipeline.reports.charts import chart, cycle_chart, line
from pipeline.reports.figures import Picture
from pipeline.reports.judgement import judgement_lines
from pipeline.simulation import KEY_OUTPUTS, OUTPUTS, WAVES, model_errors
from pipeline.store.documents import Shape, read_arrays
from pipeline.store.run_documents import Computed, Judgement
from pipeline.store.samples import OK
from pipeline.studies.factors import FACTORS, LIGAMENT_DRAW, Factor
from pipeline.studies.schema import PARAMETERS, FactorConfig, StudyConfig
from surrogates.sampling.sensitivity import sobol_indices, unit_design


def draw_count(table: str) -> int:
    """Return the number of draws in a table of ligaments."""
    return len(np.unique(read_csv_table(data_file(table)).column(DRAW)))


def quantile(factor: FactorConfig, share: FloatArray) -> FloatArray:
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


def varying(config: StudyConfig) -> list[str]:
    """Return the names of the inputs that are not fixed."""
    return [factor.name for factor in config.factor if factor.distribution != "fixed"]


def study_table(config: StudyConfig, factors: Mapping[str, Factor] = FACTORS) -> pd.DataFrame:
    """Return a row per run: the number of the run, and each input in the unit of its name."""
    names = varying(config)
    unit = unit_design(config.kind, config.runs, len(names), config.seed)
    columns: dict[str, Any] = {"run": np.arange(len(unit))}
    for factor in config.factor:
        share = unit[:, names.index(factor.name)] if factor.name in names else np.zeros(len(unit))
        values = quantile(factor, share)
        known = factors[factor.name]
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


def base_runs(config: StudyConfig, count: int) -> Any:
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
    config: StudyConfig,
    table: pd.DataFrame,
    nominal: Mapping[str, float | None],
    judged: Judgement | None,
    seconds: float,
    notes: Sequence[str] = (),
    errors: Mapping[str, float] = MappingProxyType({}),
    samples: str = SAMPLES,
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
        model=config.model,
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
            samples,
        ),
        factors=[f.model_dump(exclude_none=True) for f in config.factor],
        nominal=dict(nominal),
        outputs=_distributions(good, judged, errors),
        sensitivity=sensitivity(config, table),
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
    judged: Judgement | None,
    percents: Mapping[str, float],
) -> dict[str, dict[str, float | None] | None]:
    """Return the distribution of each output, with the error of the contact model."""
    found = {name: distribution_of(good[name].to_numpy()) for name in OUTPUTS}
    medians = {name: spread["q50"] for name, spread in found.items() if spread is not None}
    errors = model_errors(OUTPUTS, medians, judged)
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


def sensitivity(config: StudyConfig, table: pd.DataFrame) -> Sensitivity:
    """Return the Sobol indices of a Sobol study, or Spearman's rank correlations."""
    names, good = varying(config), (table["status"] == OK).to_numpy()
    outputs: dict[str, Mapping[str, object] | None] = dict.fromkeys(OUTPUTS)
    if config.kind == "sobol":
        for name in OUTPUTS:
            values = np.where(good, table[name], np.nan)
            outputs[name] = sobol_indices(names, values, config.seed)
        return Sensitivity.model_validate({"measure": "sobol", "outputs": outputs})
    rows = table[good]
    # Draws have no order.
    names = [name for name in names if name != LIGAMENT_DRAW]
    if len(rows) > 2 and names:
        correlations = rank_correlations(rows[names].to_numpy(), rows[list(OUTPUTS)].to_numpy())
        for name, column in zip(OUTPUTS, correlations.T, strict=True):
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


#: Shares of the runs at which distributions are drawn [%].
_SHARES = np.linspace(0.0, 100.0, 201)


def study_page(
    folder: Path, summary: StudySummary, table: pd.DataFrame, factors: Mapping[str, Factor]
) -> dict[str, Any]:
    """Return the content of `study.html`; `table` has a row per run of the folder."""
    outputs = {name: row for name, row in summary.outputs.items() if row is not None}
    nominal = summary.nominal
    shown = [name for name in KEY_OUTPUTS if name in outputs]
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
        "factors": [_factor_row(factor, factors) for factor in summary.factors],
        "outputs": [
            {**OUTPUTS[name]._asdict(), "nominal": nominal[name], **row}
            for name, row in outputs.items()
        ],
        "quantiles": [f"q{share:g}" for share in QUANTILES],
        "tiles": [(OUTPUTS[name], outputs[name]) for name in shown],
        "distributions": [_distribution(name, good[name], nominal[name]) for name in shown],
        "bands": list(_bands(folder / "waveforms.npz")),
        "influence": _influence(summary.sensitivity),
        "key_outputs": [(OUTPUTS[name].label, name, 2) for name in KEY_OUTPUTS],
    }


def _factor_row(factor: dict[str, str | float], factors: Mapping[str, Factor]) -> dict[str, str]:
    """Return description and distribution of an input."""
    name, kind = str(factor["name"]), str(factor["distribution"])
    keys = PARAMETERS[kind]
    return {
        "name": name,
        "text": factors[name].text,
        "kind": kind.replace("_", " "),
        "spread": ", ".join(
            f"{key} {value if isinstance(value := factor[key], str) else f'{value:g}'}"
            for key in keys
        ),
    }


def _distribution(name: str, values: pd.Series[float], nominal: float | None) -> Picture:
    """Return the share of runs below each value of an output, and its nominal value."""
    output, below = OUTPUTS[name], np.percentile(values.to_numpy(dtype=float), _SHARES)
    lines = [line("runs", _SHARES, x=below, colour=fig.BLUE)]
    if nominal is not None:
        ends = [nominal, nominal]
        lines.append(line("nominal", [0.0, 100.0], x=ends, colour=fig.VERMILLION, dashed=True))
    text = f"distribution of {output.label}"
    return chart(f"distribution-{name}", text, output.axis, "runs below [%]", lines)


def _bands(path: Path) -> Iterator[Picture]:
    """Yield quantiles of the waveforms over the cycle."""
    shapes: dict[str, Shape] = {"gait_percent": ("K",), **dict.fromkeys(WAVES, ("N", "K"))}
    waves = read_arrays(path, shapes, undefined=WAVES)
    for name, wave in WAVES.items():
        complete: FloatArray = waves[name][np.isfinite(waves[name]).all(axis=1)]
        if len(complete) > 1:
            rows = np.percentile(complete.astype(float), QUANTILES, axis=0)
            at = waves["gait_percent"]
            shown = {f"{share:g} %": (at, row) for share, row in zip(QUANTILES, rows, strict=True)}
            yield cycle_chart(f"wave-{name}", f"{wave.label} over the cycle", shown, wave.axis)


def _influence(found: Sensitivity) -> dict[str, list[tuple[str, dict[str, float | None]]]]:
    """Return tables of the influence of inputs on the key outputs, the weightiest inputs first."""
    if found.measure == "spearman":
        measures = {"Spearman's rank correlation": ""}
    else:
        measures = {"Total Sobol index": "total", "± of its 95 % interval": "total_half_width"}
        measures["First-order Sobol index"] = "first"
    tables: dict[str, dict[str, dict[str, float | None]]] = {words: {} for words in measures}
    for output in KEY_OUTPUTS:
        for name, value in (found.outputs[output] or {}).items():
            for words, key in measures.items():
                row = tables[words].setdefault(name, dict.fromkeys(KEY_OUTPUTS))
                row[output] = getattr(value, key) if isinstance(value, SobolIndex) else value

    def weight(row: Mapping[str, float | None]) -> float:
        return max((abs(value) for value in row.values() if value is not None), default=0.0)

    first = next(iter(tables.values()))
    order = sorted(first, key=lambda name: -weight(first[name]))
    return {words: [(name, rows[name]) for name in order] for words, rows in tables.items()}


def summary_lines(summary: StudySummary) -> list[str]:
    """Return the lines on the terminal for a study."""
    lines = [
        f"{counted(summary.runs, 'run')}, {summary.failed} failed, "
        f"{summary.flagged} left the trained domain; {summary.seconds:.1f} s"
    ]
    for name in KEY_OUTPUTS:
        if spread := summary.outputs[name]:
            output, error = OUTPUTS[name], spread["model_error"]
            lines.append(
                f"{output.label}: median {spread['q50']:.4g} {output.unit}, "
                f"95 % within {spread['q2.5']:.4g} to {spread['q97.5']:.4g}"
                + ("" if error is None else f"; error of the {summary.model} +-{error:.2g}")
            )
    return [*lines, *summary.notes, *judgement_lines(summary.verdict)]
