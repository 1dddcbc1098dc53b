"""Contact models of designs, and their gait cycles by the original model and the surrogate."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from dynamics.protocol import ContactModel
from dynamics.simulator.equilibrium import EquilibriumError
from dynamics.wear.cycle_wear import Patch
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import LOAD_COLUMNS
from pipeline.config.reading import checked_section, design_config, dump_config
from pipeline.config.schema import Config
from pipeline.originals.contact_original import build_knee
from pipeline.originals.knee import Knee, evaluate_rows
from pipeline.progress import without_warnings
from pipeline.simulation import GaitSimulation
from pipeline.stages.model_cycles import Comparison, compare
from pipeline.store.samples import FAILED
from surrogates.families.smooth_array import SmoothArray
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.parameters import Design
from surrogates.sampling.space import ReferencePath


def design_knee(config: Config, values: Mapping[str, float]) -> Knee:
    """Return the contact model of a design, of which the last are kept, as chunks share them."""
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
    """Evaluate rows as `evaluate_rows`; those of a design without a contact model are failed."""
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


#: Key of the header of a surrogate with aspect and ratio of the contact patches.
_PATCH = "wear_patch"
#: Models of a design.
BOTH = ("original", "surrogate")


def gait_of_design(config: Config, knee: ContactSurrogate, design: Design) -> GaitSimulation:
    """Return the gait cycle of a design about its reference path."""
    return GaitSimulation.of(config.simulation, knee.path_of(design))


def compared_cycles(
    config: Config,
    knee: ContactSurrogate,
    values: Mapping[str, float],
    models: tuple[str, ...] = BOTH,
) -> Comparison:
    """Return the gait cycles of a design by models of `BOTH`."""
    makes: dict[str, Callable[[], ContactModel]] = {
        "original": lambda: design_knee(config, values).model,
        "surrogate": lambda: knee.at(values),
    }
    gait = gait_of_design(config, knee, values)
    chosen = {name: makes[name] for name in models}
    patch = patch_at(knee, values)
    if gait.wear_law.by_point:
        patch = patch._replace(tibia=design_knee(config, values).model.tibia)
    return compare(chosen, gait, gait.wear_law, patch)


def cycle_document(
    config: Config, knee: ContactSurrogate, values: Mapping[str, float]
) -> dict[str, Any]:
    """Return outputs of both models for a design, errors [%], flags and patch (4,) [1]."""
    found = compared_cycles(config, knee, values)
    if found.failures:
        return {"reason": next(iter(found.failures.values()))}
    original, surrogate = (found.cycles[name] for name in BOTH)
    aspect, ratio, _ = original.patch
    ratio = np.ones(2) if ratio is None else ratio
    return {
        "reason": "",
        "original": original.outputs,
        "surrogate": surrogate.outputs,
        "errors": found.errors,
        "flagged": surrogate.result.flagged,
        "instants": len(surrogate.result.time),
        "statistics": asdict(surrogate.result.statistics),
        "patch": [*aspect.tolist(), *ratio.tolist()],
    }


def fitted_patch(z: FloatArray, patches: FloatArray) -> dict[str, Any]:
    """Return the entry of a header for patches (N, 4) of designs z (N, P) [1]."""
    found = SmoothArray.fit(z, patches)
    return {_PATCH: {key: array.tolist() for key, array in found.to_arrays().items()}}


def patch_at(knee: ContactSurrogate, design: Design) -> Patch:
    """Return aspect and ratio of the contact patches of a design, for wear."""
    stored = knee.header.get(_PATCH)
    if stored is None:
        return Patch(np.ones(2), None)
    arrays = {
        "exponents": np.array(stored["exponents"], dtype=np.int64),
        "coefficients": np.array(stored["coefficients"], dtype=np.float64),
    }
    values = SmoothArray.from_arrays(arrays).at(knee.parameters.scaled(design))
    return Patch(values[:2], values[2:])
