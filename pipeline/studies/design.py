"""Designs of a study on the unit cube, the inputs' distributions, and Sobol indices (SALib)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.stats import qmc

from foundation.checks import FloatArray
from pipeline.config.reading import ConfigError
from pipeline.studies.factors import FACTORS
from pipeline.studies.schema import FactorConfig, StudyConfig

# A distribution without bounds is infinite at 0 and 1.
_EDGE = 1e-12


def unit_design(kind: str, runs: int, dimensions: int, seed: int) -> FloatArray:
    """Return a design on the unit cube.

    A row of "montecarlo" depends only on the seed and the number of the row, so that more runs
    extend a shorter study. A Latin hypercube and Sobol's design depend on `runs` too.

    Parameters
    ----------
    kind : {"montecarlo", "latin_hypercube", "sobol"}
        Kind of design.
    runs : int
        Rows; for "sobol", rows of each base matrix.
    dimensions : int
        Number D of varying inputs.
    seed : int
        Seed of the draws.

    Returns
    -------
    (N, D) float64
        Shares strictly between 0 and 1 [1]; N is `runs`, for "sobol" `runs * (D + 2)`.

    Notes
    -----
    Sobol's design is Saltelli's (Saltelli et al. 2010, Comput Phys Commun 181:259-270): blocks of
    a row of matrix A, the row with one column after the other from matrix B, and the row of B.
    """
    if kind == "montecarlo":
        rows = [np.random.default_rng([seed, run]).random(dimensions) for run in range(runs)]
        unit = np.array(rows)
    elif kind == "latin_hypercube":
        unit = qmc.LatinHypercube(dimensions, rng=np.random.default_rng(seed)).random(runs)
    else:
        from SALib.sample import sobol  # slow to import, and few studies need it

        problem = _problem(dimensions)
        unit = sobol.sample(problem, runs, calc_second_order=False, seed=seed)
    return np.clip(np.asarray(unit, dtype=np.float64), _EDGE, 1.0 - _EDGE)


def _problem(dimensions: int) -> dict[str, Any]:
    names = [f"x{k}" for k in range(dimensions)]
    return {"num_vars": dimensions, "names": names, "bounds": [[0.0, 1.0]] * dimensions}


def quantile(factor: FactorConfig, share: FloatArray) -> FloatArray:
    """Return the quantiles (N,) of an input, in its unit [1], at shares (N,) [1]."""
    mean, sd, low, high = (
        np.nan if value is None else value
        for value in (factor.mean, factor.sd, factor.low, factor.high)
    )
    if factor.distribution == "fixed":
        return np.full(len(share), factor.value)
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


def study_table(config: StudyConfig) -> pd.DataFrame:
    """Return a row per run: the number of the run, and each input in the unit of its name.

    Raises
    ------
    ConfigError
        If a distribution gives a value that is not allowed, such as a negative stiffness.
    """
    names = varying(config)
    unit = unit_design(config.kind, config.runs, len(names), config.seed)
    columns: dict[str, Any] = {"run": np.arange(len(unit))}
    for factor in config.factor:
        share = unit[:, names.index(factor.name)] if factor.name in names else np.zeros(len(unit))
        values = quantile(factor, share)
        wrong = np.flatnonzero(~(FACTORS[factor.name].allows(values) & np.isfinite(values)))
        if len(wrong):
            expected = f"{bound} 0" if (bound := FACTORS[factor.name].bound) else "that are finite"
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


def sobol_indices(
    names: list[str], values: FloatArray, seed: int
) -> dict[str, dict[str, float]] | None:
    """Return first-order and total Sobol indices with the half widths of their 95 % intervals.

    Parameters
    ----------
    names : list of str
        The D varying inputs.
    values : (N,) float64
        An output in the order of Sobol's design, in any unit [1]; NaN where the run failed. Blocks
        of D + 2 runs with a failed run are left out.
    seed : int
        Seed of the bootstrap of the intervals.

    Returns
    -------
    dict or None
        Input -> `first`, `first_half_width`, `total`, `total_half_width`; None if fewer than four
        blocks are complete or the output is constant.
    """
    from SALib.analyze import sobol

    blocks = values.reshape(-1, len(names) + 2)
    whole = blocks[np.isfinite(blocks).all(axis=1)]
    if len(whole) < 4 or np.ptp(whole) <= 1e-12 * np.abs(whole).max():
        return None
    result = sobol.analyze(_problem(len(names)), whole.ravel(), calc_second_order=False, seed=seed)
    keys = {"first": "S1", "first_half_width": "S1_conf", "total": "ST"}
    keys["total_half_width"] = "ST_conf"
    return {
        name: {key: float(result[column][k]) for key, column in keys.items()}
        for k, name in enumerate(names)
    }
