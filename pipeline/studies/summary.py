"""What the runs of a study amount to: quantiles, correlations, Sobol indices, convergence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from foundation.checks import FloatArray
from pipeline.store.samples import OK
from pipeline.studies.design import independent, sobol_indices, varying
from pipeline.studies.runs import OUTPUTS
from pipeline.studies.schema import StudyConfig
from surrogates.families.cross_validation import NORMAL_95

#: Quantiles that are told [%].
QUANTILES = (2.5, 25.0, 50.0, 75.0, 97.5)
#: Outputs that are drawn.
KEY_OUTPUTS = (
    "medial_force_peak_N",
    "medial_peak_pressure_MPa",
    "anterior_range_mm",
    "rotation_range_deg",
    "total_wear_mm3_per_million_cycles",
)
# Points of a curve of convergence.
_CURVE = 24


def summarise(
    config: StudyConfig, table: pd.DataFrame, nominal: dict[str, float]
) -> dict[str, Any]:
    """Return the content of `summary.json`.

    Parameters
    ----------
    config : StudyConfig
        The study.
    table : DataFrame
        A row per run, in order.
    nominal : dict
        Outputs where no factor changes the inputs.

    Returns
    -------
    dict
        Counts, reasons of failures, distributions of the outputs, sensitivity, convergence. The
        failed runs are in the counts alone. Means and quantiles of a Sobol study are those of its
        base matrices.
    """
    drawn = table[independent(config, len(table))]
    good = drawn[drawn["status"] == OK]
    flagged = table["flagged_instants"] > 0
    return {
        "name": config.name,
        "kind": config.kind,
        "model": config.model,
        "runs": len(table),
        "summarised": len(good),
        "failed": int((table["status"] != OK).sum()),
        "failures": _failures(table[table["status"] != OK]),
        "flagged": int(flagged.sum()),
        "factors": [f.model_dump(exclude_none=True) for f in config.factor],
        "nominal": nominal,
        "outputs": {name: distribution_of(good[name].to_numpy()) for name in OUTPUTS},
        "sensitivity": sensitivity(config, table),
        "convergence": {name: convergence(good[name].to_numpy()) for name in KEY_OUTPUTS},
        "seconds_per_run": float(table["seconds"].median()),
    }


def _failures(failed: pd.DataFrame) -> list[dict[str, Any]]:
    """Return how many runs failed of what; reasons that differ in figures only are one."""
    kinds = failed["reason"].str.replace(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?", "#", regex=True)
    groups = [group["reason"] for _, group in failed.groupby(kinds, sort=True)]
    groups.sort(key=lambda reasons: -len(reasons))
    return [{"runs": len(reasons), "example": str(reasons.iloc[0])} for reasons in groups]


def distribution_of(values: FloatArray) -> dict[str, float] | None:
    """Return mean, deviation, ends and `QUANTILES` of values (N,); None of fewer than two."""
    if len(values) < 2:
        return None
    quantiles = np.percentile(values, QUANTILES)
    found = {"mean": values.mean(), "sd": values.std(ddof=1)}
    found |= {"minimum": values.min(), "maximum": values.max()}
    found |= {f"q{share:g}": value for share, value in zip(QUANTILES, quantiles, strict=True)}
    return {name: float(value) for name, value in found.items()}


def convergence(values: FloatArray) -> dict[str, list[float]]:
    """Return the mean over the first runs and the half width of its 95 % interval.

    The interval is that of independent draws; those of a Latin hypercube or of Sobol's design are
    spread more evenly, and their mean errs less.
    """
    if len(values) < 2:
        return {"runs": [], "mean": [], "half_width": []}
    counts = np.unique(np.geomspace(2, len(values), _CURVE).round().astype(int))
    parts = [values[:count] for count in counts]
    return {
        "runs": counts.tolist(),
        "mean": [float(part.mean()) for part in parts],
        "half_width": [float(NORMAL_95 * part.std(ddof=1) / np.sqrt(len(part))) for part in parts],
    }


def sensitivity(config: StudyConfig, table: pd.DataFrame) -> dict[str, Any]:
    """Return the Sobol indices of a Sobol study, otherwise Spearman's rank correlations.

    Returns
    -------
    dict
        `measure` ("sobol" or "spearman") and `outputs`: output -> input -> indices or correlation;
        None where the output does not vary or too few runs are left.
    """
    names = varying(config)
    if config.kind == "sobol":
        good = (table["status"] == OK).to_numpy()
        found: dict[str, Any] = {
            name: sobol_indices(names, np.where(good, table[name], np.nan), config.seed)
            for name in OUTPUTS
        }
        return {"measure": "sobol", "outputs": found}
    rows = table[table["status"] == OK]
    correlations = rank_correlations(rows[names].to_numpy(), rows[list(OUTPUTS)].to_numpy())
    return {
        "measure": "spearman",
        "outputs": {
            name: dict(zip(names, _known(column), strict=True)) if len(rows) > 2 else None
            for name, column in zip(OUTPUTS, correlations.T, strict=True)
        },
    }


def _known(values: FloatArray) -> Sequence[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def rank_correlations(inputs: FloatArray, outputs: FloatArray) -> FloatArray:
    """Return Spearman's correlations of inputs (N, D) with outputs (N, M), (D, M).

    NaN where a column does not vary.
    """
    if len(inputs) < 2:
        return np.full((inputs.shape[1], outputs.shape[1]), np.nan)
    scores = []
    for values in (inputs, outputs):
        ranks = rankdata(values, axis=0)
        ranks -= ranks.mean(axis=0)
        length = np.sqrt((ranks**2).sum(axis=0))
        scores.append(ranks / np.where(length > 0.0, length, np.nan))
    found: FloatArray = scores[0].T @ scores[1]
    return found
