"""Summary of the runs of a study: quantiles, correlations, Sobol indices, convergence."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from foundation.base.checks import FloatArray
from pipeline.files import plain
from pipeline.flagged_instants import flagged_sentence, kinds_of
from pipeline.store.samples import OK
from pipeline.studies.catalogue import CYCLES, Catalogue
from pipeline.studies.design import base_runs, varying
from pipeline.studies.schema import DesignConfig
from surrogates.families.cross_validation import NORMAL_95
from surrogates.sampling.sensitivity import sobol_indices

#: Reported quantiles [%].
QUANTILES = (2.5, 25.0, 50.0, 75.0, 97.5)
# Points of a convergence curve.
_CURVE = 24
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def summarise(
    config: DesignConfig,
    table: pd.DataFrame,
    nominal: dict[str, float],
    model: str,
    catalogue: Catalogue = CYCLES,
) -> dict[str, Any]:
    """Return the content of `summary.json` from a row per run and the outputs of nominal inputs.

    Only the counts include failed runs. Means and quantiles of a Sobol study are those of its base
    matrices.
    """
    drawn = table[base_runs(config, len(table))]
    good = drawn[drawn["status"] == OK]
    flagged = table["flagged_instants"] > 0
    return {
        "name": config.name,
        "kind": config.kind,
        "model": model,
        "runs": len(table),
        "summarised": len(good),
        "failed": int((table["status"] != OK).sum()),
        "failures": _failures(table[table["status"] != OK]),
        "flagged": int(flagged.sum()),
        "not_trusted": flagged_sentence(
            int(flagged.sum()), len(table), kinds_of(table.loc[flagged, "flag_kinds"]), "runs"
        ),
        "factors": [f.model_dump(exclude_none=True) for f in config.factor],
        "nominal": nominal,
        "outputs": {name: distribution_of(good[name].to_numpy()) for name in catalogue.outputs},
        "sensitivity": sensitivity(config, table, catalogue),
        "convergence": {name: convergence(good[name].to_numpy()) for name in catalogue.key_outputs},
        "seconds_per_run": float(table["seconds"].median()),
    }


def _failures(failed: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the number of failed runs per reason; reasons that differ in numbers are the same."""
    kinds = failed["reason"].map(lambda reason: _NUMBER.sub("…", reason))
    groups = [group["reason"] for _, group in failed.groupby(kinds, sort=True)]
    groups.sort(key=lambda reasons: -len(reasons))
    return [{"runs": len(reasons), "example": str(reasons.iloc[0])} for reasons in groups]


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


def convergence(values: FloatArray) -> dict[str, list[float]]:
    """Return `runs`, and over the first runs `mean` and `half_width` of its 95 % interval.

    Up to 24 values each, of an output (N,) of all runs in any unit [1]; empty if N < 2. The
    interval is that of independent draws. A Latin hypercube or Sobol's design is spread more
    evenly, so that the error of the mean is smaller.
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


def sensitivity(
    config: DesignConfig, table: pd.DataFrame, catalogue: Catalogue = CYCLES
) -> dict[str, Any]:
    """Return the Sobol indices of a Sobol study, or Spearman's rank correlations.

    `outputs` has the indices or the correlation of each output with each input, None if the output
    is constant or too few runs are left; `measure` is "sobol" or "spearman".
    """
    names, good = varying(config), (table["status"] == OK).to_numpy()
    outputs: dict[str, Any] = dict.fromkeys(catalogue.outputs)
    if config.kind == "sobol":
        for name in catalogue.outputs:
            values = np.where(good, table[name], np.nan)
            outputs[name] = sobol_indices(names, values, config.seed)
        return {"measure": "sobol", "outputs": outputs}
    rows = table[good]
    if len(rows) > 2:
        correlations = rank_correlations(
            rows[names].to_numpy(), rows[list(catalogue.outputs)].to_numpy()
        )
        for name, column in zip(catalogue.outputs, correlations.T, strict=True):
            outputs[name] = dict(zip(names, plain(column), strict=True))
    return {"measure": "spearman", "outputs": outputs}


def rank_correlations(inputs: FloatArray, outputs: FloatArray) -> FloatArray:
    """Return Spearman's rank correlations (D, M) [1] of inputs (N, D) with outputs (N, M) [1].

    Correlations with constant columns are NaN.
    """
    scores = []
    for values in (inputs, outputs):
        ranks = rankdata(values, axis=0)
        ranks -= ranks.mean(axis=0)
        length = np.sqrt((ranks**2).sum(axis=0))
        scores.append(ranks / np.where(length > 0.0, length, np.nan))
    correlations: FloatArray = scores[0].T @ scores[1]
    return correlations
