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
    """Return the design on the unit cube.

    Of "montecarlo" a row depends on the seed and its number alone, so that more runs go on where
    fewer ended. A Latin hypercube and Sobol's design depend on `runs` as well.

    Parameters
    ----------
    kind : {"montecarlo", "latin_hypercube", "sobol"}
        How it is drawn.
    runs : int
        Rows; of "sobol", rows of each base matrix.
    dimensions : int
        Inputs D that vary.
    seed : int
        Seed of the draws.

    Returns
    -------
    (N, D) float64
        Strictly between 0 and 1; N is `runs`, of "sobol" `runs * (D + 2)`.

    Notes
    -----
    Sobol's design is Saltelli's (Saltelli et al. 2010, Comput Phys Commun 181:259-270): blocks of
    a row of matrix A, that row with one column after the other from matrix B, and B's row.
    """
    if kind == "montecarlo":
        rows = [np.random.default_rng([seed, run]).random(dimensions) for run in range(runs)]
        unit = np.array(rows)
    elif kind == "latin_hypercube":
        unit = qmc.LatinHypercube(dimensions, rng=np.random.default_rng(seed)).random(runs)
    else:
        from SALib.sample import sobol  # takes its time to import, and few studies need it

        problem = _problem(dimensions)
        unit = sobol.sample(problem, runs, calc_second_order=False, seed=seed)
    return np.clip(np.asarray(unit, dtype=np.float64), _EDGE, 1.0 - _EDGE)


def _problem(dimensions: int) -> dict[str, Any]:
    names = [f"x{k}" for k in range(dimensions)]
    return {"num_vars": dimensions, "names": names, "bounds": [[0.0, 1.0]] * dimensions}


def quantile(factor: FactorConfig, share: FloatArray) -> FloatArray:
    """Return the values (N,) of an input below which these shares (N,) of it lie."""
    settings: dict[str, Any] = factor.model_dump()
    mean, sd, low, high = (settings[key] for key in ("mean", "sd", "low", "high"))
    if factor.distribution == "fixed":
        return np.full(len(share), factor.value)
    if factor.distribution == "uniform":
        found = low + (high - low) * share
    elif factor.distribution == "normal":
        found = stats.norm.ppf(share, mean, sd)
    elif factor.distribution == "lognormal":
        # Mean and deviation are those of the input, not of its logarithm.
        variance = np.log1p((sd / mean) ** 2)
        found = np.exp(np.log(mean) - 0.5 * variance + np.sqrt(variance) * stats.norm.ppf(share))
    else:
        found = stats.truncnorm.ppf(share, (low - mean) / sd, (high - mean) / sd, mean, sd)
    return np.asarray(found, dtype=np.float64)


def varying(config: StudyConfig) -> list[str]:
    """Return the names of the inputs that are not fixed."""
    return [factor.name for factor in config.factor if factor.distribution != "fixed"]


def study_table(config: StudyConfig) -> pd.DataFrame:
    """Return a row per run: its number, and the value of each input in the unit of its name.

    Raises
    ------
    ConfigError
        If an input is drawn where it may not be, such as a negative stiffness.
    """
    names = varying(config)
    unit = unit_design(config.kind, config.runs, len(names), config.seed)
    columns: dict[str, Any] = {"run": np.arange(len(unit))}
    for factor in config.factor:
        share = unit[:, names.index(factor.name)] if factor.name in names else np.zeros(len(unit))
        columns[factor.name] = _allowed(factor.name, quantile(factor, share))
    return pd.DataFrame(columns)


def _allowed(name: str, values: FloatArray) -> FloatArray:
    factor = FACTORS[name]
    wrong = np.flatnonzero(~(factor.allows(values) & np.isfinite(values)))
    if len(wrong):
        sign = ">" if factor.positive else ">="
        raise ConfigError(
            f"study.factor: {name}: expected values {sign} {factor.lowest:g}, drawn is "
            f"{values[wrong[0]]:.4g} in run {wrong[0]} ({len(wrong)} such runs); take a "
            "distribution with bounds (uniform, truncated_normal) or a lognormal one"
        )
    return values


def independent(config: StudyConfig, count: int) -> Any:
    """Return which of `count` runs are draws of the inputs by themselves, (N,) bool.

    All, but of Sobol's design those of the matrices A and B alone: the rows between share columns.
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
        Inputs D that vary.
    values : (N,) float64
        An output in the order of Sobol's design; NaN where the run failed. A block of D + 2 runs
        with a failed one is left out.
    seed : int
        Of the bootstrap of the intervals.

    Returns
    -------
    dict or None
        Input -> `first`, `first_half_width`, `total`, `total_half_width`; None where fewer than
        four blocks are whole or the output is constant.
    """
    from SALib.analyze import sobol

    blocks = values.reshape(-1, len(names) + 2)
    whole = blocks[np.isfinite(blocks).all(axis=1)]
    if len(whole) < 4 or np.ptp(whole) <= 1e-12 * np.abs(whole).max():
        return None
    found = sobol.analyze(_problem(len(names)), whole.ravel(), calc_second_order=False, seed=seed)
    keys = {"first": "S1", "first_half_width": "S1_conf", "total": "ST"}
    keys["total_half_width"] = "ST_conf"
    return {
        name: {key: float(found[theirs][k]) for key, theirs in keys.items()}
        for k, name in enumerate(names)
    }
