"""Contact models of designs, built where their samples are evaluated."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.errors import InputError
from foundation.base.loads import LOAD_COLUMNS
from pipeline.config.designs import design_config
from pipeline.config.reading import checked_section, dump_config
from pipeline.config.schema import Config
from pipeline.originals.contact_original import build_knee
from pipeline.originals.knee import Knee, evaluate_rows
from pipeline.progress import without_warnings
from pipeline.store.samples import FAILED
from surrogates.sampling.space import ReferencePath


def design_knee(config: Config, values: Mapping[str, float]) -> Knee:
    """Return the contact model of a design; raises as `build_knee`.

    The last models are kept, since several chunks of samples may be of the same design.
    """
    return _knee_of(dump_config(design_config(config, values)))


@lru_cache(maxsize=1 + (os.cpu_count() or 1))
def _knee_of(text: str) -> Knee:
    """Return the contact model of a configuration as TOML."""
    config = checked_section(tomllib.loads(text), Config, "design")
    with without_warnings:  # what is doubtful about the base design is told once
        knee = build_knee(config)
    # Finite elements are condensed once for each design, here.
    knee.prepare(silent)
    return knee


def silent(text: str) -> None:
    """Take a text of progress and tell nothing."""
    del text


def evaluate_designs(config: Config, names: Sequence[str], table: pd.DataFrame) -> pd.DataFrame:
    """Evaluate samples of designs: rows as of `evaluate_rows`, with `design` and parameters.

    The rows of a design that has no contact model are failed, with the reason.
    """
    parts = []
    for _, rows in table.groupby("design", sort=False):
        values = {name: float(rows.iloc[0][name]) for name in names}
        try:
            knee = design_knee(config, values)
        except InputError as error:
            parts.append(_failed(rows, str(error)))
            continue
        parts.append(evaluate_rows(knee.model, rows, "load"))
    return pd.concat(parts)


def _failed(rows: pd.DataFrame, reason: str) -> pd.DataFrame:
    loads = dict.fromkeys(LOAD_COLUMNS, np.nan)
    return rows.assign(status=FAILED, reason=f"design: {reason}", evaluations=0, **loads)


def settled_path(config: Config, values: Mapping[str, float]) -> tuple[ReferencePath | None, str]:
    """Return the reference path of a design, or None and why there is none."""
    try:
        knee = design_knee(config, values)
        with without_warnings:
            return knee.reference_path(config), ""
    except (InputError, EquilibriumError) as error:
        return None, str(error)
