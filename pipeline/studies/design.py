"""Designs of a study: distributions of its inputs, and the table of its gait cycles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from foundation.base.checks import FloatArray
from pipeline.config.reading import ConfigError
from pipeline.studies.factors import CYCLES, Catalogue
from pipeline.studies.schema import DesignConfig, DistributionConfig
from surrogates.sampling.sensitivity import unit_design


def quantile(factor: DistributionConfig, share: FloatArray) -> FloatArray:
    """Return the quantiles (N,) of an input, in its unit [1], at shares (N,) [1]."""
    keys = (factor.mean, factor.sd, factor.low, factor.high)
    mean, sd, low, high = np.array(keys, dtype=np.float64)  # NaN for None
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


def varying(config: DesignConfig) -> list[str]:
    """Return the names of the inputs that are not fixed."""
    return [factor.name for factor in config.factor if factor.distribution != "fixed"]


def study_table(config: DesignConfig, catalogue: Catalogue = CYCLES) -> pd.DataFrame:
    """Return a row per run: the number of the run, and each input in the unit of its name.

    Raises `ConfigError` if a distribution gives a value that is not allowed, such as a negative
    stiffness.
    """
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


def base_runs(config: DesignConfig, count: int) -> Any:
    """Return which of `count` runs are independent draws of the inputs, (N,) bool.

    All, or the rows of the matrices A and B of Sobol's design; the rows between share columns.
    """
    if config.kind != "sobol":
        return np.ones(count, dtype=bool)
    block = len(varying(config)) + 2
    return np.isin(np.arange(count) % block, (0, block - 1))
