"""Sections of the report on the gait cycle: the knee, differences, cost, wear, combinations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from foundation.base.loads import COMPARTMENTS
from pipeline.flagged_instants import flagged_sentence
from pipeline.reports.inputs import RunFiles
from pipeline.reports.model_section import spacing_of
from pipeline.reports.units import in_unit, number, percent
from pipeline.stages.gait_cycle import WearOfCycle
from pipeline.store.quantities import quantity_of, to_display
from pipeline.store.run_documents import (
    LOADS,
    MODELS,
    PRESSURES,
    CombinationResult,
    Combinations,
    Cost,
    Difference,
    Part,
    Simulation,
)

#: A load that stays below this share of the largest load of its kind is not compared.
LEAST_LOAD_PERCENT = 1.0


def combinations_of(stored: Combinations) -> dict[str, Any]:
    """Return the comparison on all combinations of inputs that both models completed."""
    ended = [row for row in stored.combinations if row.failure is None]
    rows = [_compared(row) for row in ended]
    return {
        "total": len(stored.combinations),
        "rows": rows,
        "median_cycle_ratio": float(np.median([r["cycle_ratio"] for r in rows])) if rows else None,
        "failures": [
            {"where": row.name, "text": f"{row.failure.model}: {row.failure.reason}"}
            for row in stored.combinations
            if row.failure is not None
        ],
        "flags": [
            {"where": row.name, "text": f"{model}: {message}"}
            for row in ended
            for model in MODELS
            for message in row.flags[model]
        ],
    }


def _compared(row: CombinationResult) -> dict[str, Any]:
    """Return the figures of a combination: RMS differences over peak or range."""
    anterior, rotation = (row.differences[name] for name in ("anterior_m", "rotation_rad"))
    pressures = [row.differences[column] for column in PRESSURES]
    worn, other = (sum(row.wear[name]) for name in MODELS)
    times = [row.statistics[name].elapsed for name in MODELS]
    return {
        "name": row.name,
        "load_percent": max(load_shares({c: row.differences[c] for c in LOADS}).values()),
        "anterior_percent": percent(anterior.rms, anterior.range),
        "rotation_percent": percent(rotation.rms, rotation.range),
        "peak_pressure_percent": max(percent(p.rms, p.peak) or 0.0 for p in pressures),
        "wear_percent": percent(other - worn, worn),
        "cycle_ratio": times[0] / times[1],
    }


def load_shares(loads: Mapping[str, Difference]) -> dict[str, float]:
    """Return the RMS difference over the peak [%] of each load but the small ones."""
    kinds = {column: column.split("_")[1] for column in loads}
    most = {kind: max(loads[c].peak for c in loads if kinds[c] == kind) for kind in kinds.values()}
    return {
        column: percent(load.rms, load.peak) or 0.0
        for column, load in loads.items()
        if 100.0 * load.peak >= LEAST_LOAD_PERCENT * most[kinds[column]]
    }


#: Constants of the law of wear.
_CONSTANTS = (
    *("wear_factor_mm3_per_Nm", "wear_factor_cross_shear_mm3_per_Nm"),
    *("wear_coefficient_ratio", "wear_coefficient_cross_shear_ratio"),
)


def wear_of(wear: WearOfCycle) -> dict[str, Any]:
    """Return the wear of the nominal cycle per million cycles."""
    sides, constants = (*COMPARTMENTS, "total"), np.array([1e9, 1e9, 1.0, 1.0]) * wear.law
    volumes = np.column_stack([wear.volume_m3, wear.volume_m3.sum(axis=1)])
    rows: dict[str, dict[str, float | None]] = {
        name: {f"{side}_mm3": 1e15 * volume for side, volume in zip(sides, row, strict=True)}
        | {"mass_mg": 1e12 * float(wear.density_kg_per_m3) * row[-1]}
        for name, row in zip(MODELS, volumes.tolist(), strict=True)
    }
    rows["difference"] = {
        f"{side}_percent": percent(surrogate - original, original)
        for side, original, surrogate in zip(sides, *volumes.tolist(), strict=True)
    }
    parts = [f"{model} {side}" for model in MODELS for side in COMPARTMENTS]
    return {
        **dict(zip(_CONSTANTS, constants.tolist(), strict=True)),
        "per_million_cycles": rows,
        "deepest_per_million_cycles": {
            f"{name}_um": 1e12 * float(depth.max())
            for name, depth in zip(MODELS, wear.depth_m, strict=True)
        },
        "largest_cross_shear_ratio": wear.cross_shear.max(axis=1).tolist(),
        "footprint": {
            part: {"area_mm2": 1e6 * area, "anterior_mm": 1e3 * x, "lateral_mm": 1e3 * z}
            for part, (area, x, _, z) in zip(parts, wear.footprint.reshape(4, 4), strict=True)
        },
    }


class Gait(Part):
    """The simulated gait cycle; without an original model, `models` is the surrogate alone."""

    models: list[str] = Field(default_factory=list)
    differences: list[dict[str, Any]] = Field(default_factory=list)
    statistics: dict[str, dict[str, Any]] = Field(default_factory=dict)
    speed: dict[str, float | None] | None = None
    flags: list[dict[str, str]] = Field(default_factory=list)
    not_trusted: str | None = None
    wear: dict[str, Any] | None = None
    combinations: dict[str, Any] | None = None
    node_spacing: dict[str, Any] | None = None

    @property
    def rms_over_range_percent(self) -> dict[str, float | None]:
        """RMS differences of both cycles over the range by column [%]."""
        return {row["column"]: row["rms_over_range_percent"] for row in self.differences}


def gait_of(files: RunFiles) -> Gait:
    """Return the section on the gait cycle of the report of a run."""
    if (simulation := files.simulation) is None:
        return Gait().whole()
    costs = {name: simulation.statistics.get(name) for name in MODELS}
    statistics = {name: _cost(cost) for name, cost in costs.items() if cost is not None}
    worn, varied = worn_files(files), files.combinations
    return Gait(
        models=list(statistics),
        differences=[_difference(*row) for row in simulation.differences.items()],
        statistics=statistics,
        speed=_speed(simulation),
        flags=[
            {"model": model, "message": message}
            for model, messages in simulation.flags.items()
            for message in messages
        ],
        not_trusted=_not_trusted(simulation),
        wear=None if worn is None else wear_of(worn),
        combinations=None if varied is None else combinations_of(varied),
        node_spacing=spacing_of(simulation.node_spacing),
    )


def worn_files(files: RunFiles) -> WearOfCycle | None:
    """Return the wear of the cycle, None without wear or of a layer that does not wear."""
    return files.wear if wears(files.config["contact"]) else None


def _not_trusted(simulation: Simulation) -> str | None:
    """Return a sentence on the flagged instants of the surrogate, None without any."""
    flagged, instants = simulation.flagged.get("surrogate", [0, 0])
    return flagged_sentence(flagged, instants, simulation.flag_kinds.get("surrogate", []))


def _difference(column: str, row: Difference) -> dict[str, Any]:
    """Return a difference of `simulation.json`; the unit ends the keys of its figures."""
    figures = in_unit(
        quantity_of(column),
        rms_difference=row.rms,
        largest_difference=row.largest,
        range=row.range,
        peak=row.peak,
    )
    label, unit = figures.pop("label"), figures.pop("unit").replace("°", "deg")
    share = percent(row.rms, row.range)
    head = {"column": column, "quantity": label, "unit": unit}
    return {**head, **figures, "rms_over_range_percent": share}


def _cost(cost: Cost) -> dict[str, Any]:
    """Return a cost of `simulation.json`."""
    content = cost.content()
    return {"elapsed_s": content.pop("elapsed"), **content}


def _speed(simulation: Simulation) -> dict[str, float | None] | None:
    """Return the times of an evaluation and of a cycle by both models, and their ratios."""
    if (speed := simulation.speed) is None:
        return None
    original_s, surrogate_s = (simulation.statistics[name].elapsed for name in MODELS)
    return {
        "original_evaluation_us": speed.original_us,
        "surrogate_evaluation_us": speed.surrogate_us,
        "surrogate_call_us": speed.surrogate_call_us,
        "evaluation_ratio": speed.ratio,
        "original_cycle_s": original_s,
        "surrogate_cycle_s": surrogate_s,
        "cycle_ratio": original_s / surrogate_s if original_s and surrogate_s else None,
    }


#: Least Young's modulus of a layer for which wear is shown [MPa]. Archard's law is that of
#: polyethylene, whose modulus is several hundred MPa; that of cartilage is below 50 MPa.
WEARS_FROM_MPa = 100.0


def knee_of(files: RunFiles) -> dict[str, Any] | None:
    """Return the figures of the knee over the first model's cycle; None without a cycle."""
    if not files.cycles:
        return None
    model, cycle = next(iter(files.cycles.items()))
    pressures = [f"{name}_peak_pressure_Pa" for name in COMPARTMENTS]
    figures = {column: _largest(cycle[column]) for column in pressures}
    figures["largest_area_m2"] = _largest(cycle["total_area_m2"])
    for column in ("anterior_m", "rotation_rad"):
        name, unit = column.split("_")
        low, high = float(cycle[column].min()), float(cycle[column].max())
        figures |= {f"{name}_range_{unit}": high - low, f"{name}_least_{unit}": low}
        figures[f"{name}_largest_{unit}"] = high
    medial, lateral = (
        float(np.trapezoid(cycle[f"{name}_force_y_N"], cycle["gait_percent"]))
        for name in COMPARTMENTS
    )
    return {
        "model": model,
        **to_display(figures),
        "medial_share_percent": percent(medial, medial + lateral),
        "wear_mm3_per_million_cycles": _wear(files),
        "wear_note": _wear_note(files),
    }


def _largest(values: pd.Series) -> float | None:
    """Return the largest value [any unit], None if nothing is known."""
    return float(values.max()) if values.notna().any() else None


def _wear(files: RunFiles) -> float | None:
    """Return the worn volume of the original per million cycles [mm³], None if none is shown."""
    worn = worn_files(files)
    return None if worn is None else 1e15 * float(worn.volume_m3[0].sum())


def _wear_note(files: RunFiles) -> str | None:
    """Return why the wear of a run is not shown, None if it is shown or there is none."""
    contact = files.config["contact"]
    if files.wear is None or wears(contact):
        return None
    return (
        f"No wear: the tibial layer, of {number(contact['youngs_modulus_MPa'])} MPa, is taken as "
        f"cartilage. Archard's law is that of polyethylene, from {WEARS_FROM_MPa:g} MPa."
    )


def wears(contact: Mapping[str, Any]) -> bool:
    """Return whether the layer of a section [contact] wears by Archard's law: polyethylene."""
    return bool(contact["youngs_modulus_MPa"] >= WEARS_FROM_MPa)
