"""The tables of the report: from the files of a run to figures in units for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from foundation.errors import InputError
from foundation.loads import COMPARTMENTS, WRENCH_COLUMNS
from pipeline.files import plain
from pipeline.reports import accuracy_tables as trust
from pipeline.reports.inputs import MODELS, PressureMaps, RunFiles
from pipeline.reports.units import QUANTITIES, kind_of, scaled, unit_token
from pipeline.store.samples import FAILED

_PATH_KEYS = (
    ("adduction_deg", 180.0 / np.pi),
    ("rotation_deg", 180.0 / np.pi),
    ("anterior_mm", 1e3),
    ("superior_mm", 1e3),
    ("lateral_mm", 1e3),
)


def stage_content(files: RunFiles) -> dict[str, Any]:
    """Return what the report says of stages a to h: counts, reasons, sample space."""
    stages = (("b: first", files.first), ("f: kept", files.kept), ("held-out", files.held_out))
    dropped = files.screened.loc[files.screened["screening"] == "dropped", "drop_reason"]
    failures = []
    for stage, table in stages:
        reasons = table.loc[table["status"] == FAILED, "reason"]
        failures += [{"stage": stage, **row} for row in _by_kind(reasons)]
    return {
        "counts": plain(files.run["counts"]),
        "drop_reasons": _by_kind(dropped),
        "failure_reasons": failures,
        "sampling": sampling_content(files.config),
        "space": space_content(files.config),
    }


def sampling_content(config: dict[str, Any]) -> dict[str, Any]:
    """Return how the rounds of stages c to f were told to sample, and what stage e allows."""
    design, feasibility = config["design"], config["feasibility"]
    return {
        **{key: design[key] for key in ("rounds", "budget", "infill", "follow")},
        "wanted_error_percent": design["wanted_error_percent"],
        "margin_percent": 100.0 * feasibility["margin"],
        "outside_weight_percent": 100.0 * feasibility["outside_weight"],
    }


def _by_kind(reasons: Iterable[str]) -> list[dict[str, Any]]:
    """Return the kinds of reasons by their counts, the most frequent first, with an example."""
    found = [str(reason) for reason in reasons]
    counts = Counter(kind_of(reason) for reason in found)
    examples = {kind_of(reason): reason for reason in reversed(found)}
    return [
        {"kind": kind, "count": count, "example": examples[kind]}
        for kind, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]


def space_content(config: dict[str, Any]) -> dict[str, Any]:
    """Return the sample space: ranges, and half widths about the reference path."""
    space = config["space"]
    return {
        "flexion_range_deg": plain(space["flexion_deg"]),
        "adduction_half_width_deg": space["adduction_deg"],
        "rotation_half_width_deg": space["rotation_deg"],
        "anterior_half_width_mm": space["anterior_mm"],
        "lateral_half_width_mm": space["lateral_mm"],
        "compartment_load_range_N": plain(space["load_N"]),
    }


def path_content(path: dict[str, Any]) -> dict[str, list[float]]:
    """Return the knots of the reference path in degrees and mm."""
    coordinates = np.asarray(path["coordinates_rad_m"], dtype=np.float64)
    if coordinates.shape != (len(path["flexion_rad"]), len(_PATH_KEYS)):
        raise InputError(f"coordinates_rad_m: expected 5 columns, found {coordinates.shape}")
    columns = {
        key: (factor * coordinates[:, k]).tolist() for k, (key, factor) in enumerate(_PATH_KEYS)
    }
    return {"flexion_deg": np.degrees(path["flexion_rad"]).tolist(), **columns}


def validation_content(files: RunFiles) -> dict[str, Any]:
    """Return the held-out errors: of the main surrogate in full, of all models in one table."""
    main = files.validation["models"][0]
    settings = files.config["validation"]
    return {
        "seed": files.run["held_out_seed"],
        "design": "rows of the table" if files.run["triangles"] is None else settings["kind"],
        "points_per_compartment": settings["points"],
        "failed": int((files.held_out["status"] == FAILED).sum()),
        "formulation": main["formulation"],
        "family": main["family"],
        "worst_load": worst_load(main),
        "compartments": {
            name: _compartment(main["compartments"][name], main["formulation"])
            for name in COMPARTMENTS
        },
        "judged_at_load": trust.judged_rows(main["compartments"]),
        "coverage": trust.coverage_rows(main["compartments"]),
        "too_narrow": trust.too_narrow(main["compartments"]),
        "learning_curve": trust.learning_curve(files.validation["learning_curve"]),
        "comparison": [
            *(_model_row(model, "g: all samples") for model in files.validation["models"]),
            _model_row(files.validation["first"], "c: last round"),
        ],
        "formulations": trust.formulation_rows(
            files.validation.get("formulations"), files.config["surrogate"]
        ),
    }


def _compartment(part: dict[str, Any], formulation: str) -> dict[str, Any]:
    return {
        "points": part["points"],
        "feasible": part["feasible"],
        "at_pose": error_rows(part["at_pose"]),
        "at_pose_all": error_rows(part["at_pose_all"]),
        "at_load": error_rows(part["at_load"]) if "at_load" in part else None,
        "cross_validation": trust.cross_validation_rows(part["cross_validation"], formulation),
        "quantiles": trust.quantiles(part),
        "worst_cases": plain(part["worst"]),
    }


def error_rows(figures: dict[str, dict[str, float | None]]) -> dict[str, dict[str, Any]]:
    """Return error figures by quantity, in units for people which the keys name.

    Parameters
    ----------
    figures : dict
        Column -> (`rmse`, `mae`, `maximum`, `nrmse`, `q2`, `points`), in SI units.
    """
    rows = {}
    for column, values in figures.items():
        shown = QUANTITIES[column]
        rows[shown.key] = {
            "label": shown.label,
            "unit": shown.unit,
            f"rmse_{shown.token}": scaled(values["rmse"], shown.factor),
            f"mae_{shown.token}": scaled(values["mae"], shown.factor),
            f"max_{shown.token}": scaled(values["maximum"], shown.factor),
            "nrmse_percent": scaled(values["nrmse"], 100.0),
            "q2": values["q2"],
            "points": values["points"],
        }
    return rows


def worst_load(model: dict[str, Any]) -> dict[str, Any]:
    """Return the largest NRMSE of the six loads at given pose, with its load and compartment.

    A load whose NRMSE is undefined (it should never change, but the surrogate's does) is worst.
    """
    found = [
        (model["compartments"][name]["at_pose"][column]["nrmse"], name, column)
        for name in COMPARTMENTS
        for column in WRENCH_COLUMNS
    ]
    nrmse, name, column = max(found, key=lambda item: np.inf if item[0] is None else item[0])
    return {
        "nrmse_percent": scaled(nrmse, 100.0),
        "compartment": name,
        "load": QUANTITIES[column].label,
    }


def height_error(model: dict[str, Any]) -> dict[str, Any] | None:
    """Return the height error at given load, of the worse compartment, or None if not defined."""
    parts = model["compartments"]
    if any("at_load" not in parts[name] for name in COMPARTMENTS):
        return None
    rows = {name: parts[name]["at_load"]["superior_m"] for name in COMPARTMENTS}
    worse = max(rows, key=lambda name: rows[name]["rmse"])
    return {
        "compartment": worse,
        "rmse_um": 1e6 * rows[worse]["rmse"],
        "max_um": 1e6 * max(row["maximum"] for row in rows.values()),
    }


def _model_row(model: dict[str, Any], trained_on: str) -> dict[str, Any]:
    axial = [model["compartments"][name]["at_pose"]["force_y_N"]["nrmse"] for name in COMPARTMENTS]
    height = height_error(model)
    return {
        "formulation": model["formulation"],
        "family": model["family"],
        "trained_on": trained_on,
        "worst_load_nrmse_percent": worst_load(model)["nrmse_percent"],
        "axial_force_nrmse_percent": None if None in axial else 100.0 * max(axial),
        "height_rmse_at_load_um": height and height["rmse_um"],
        "fit_s": model["fit_seconds"],
    }


def gait_content(files: RunFiles) -> dict[str, Any]:
    """Return the gait simulation: differences, cost and speed.

    Without an original model `models` is the surrogate alone, and what compares both is None.
    """
    simulation = files.simulation
    models = [name for name in MODELS if name in simulation["statistics"]]
    statistics = {name: statistics_content(simulation["statistics"][name]) for name in models}
    return {
        "models": models,
        "differences": [difference_row(row) for row in simulation["differences"]],
        "statistics": statistics,
        "speed": _speed(simulation["speed"], statistics),
        **_maps_content(files.maps),
        "flags": flag_rows(simulation.get("flags", {})),
    }


def _speed(
    speed: dict[str, float] | None, statistics: dict[str, dict[str, Any]]
) -> dict[str, Any] | None:
    if speed is None:
        return None
    original_s, surrogate_s = (statistics[name].get("elapsed_s") for name in MODELS)
    return {
        "original_evaluation_us": speed["original_us"],
        "surrogate_evaluation_us": speed["surrogate_us"],
        "evaluation_ratio": speed["ratio"],
        "original_cycle_s": original_s,
        "surrogate_cycle_s": surrogate_s,
        "cycle_ratio": original_s / surrogate_s if original_s and surrogate_s else None,
    }


def _maps_content(maps: PressureMaps | None) -> dict[str, Any]:
    if maps is None:
        return {"instants_percent": None, "map_peak_pressure_MPa": None}
    return {
        "instants_percent": maps.gait_percent.tolist(),
        "map_peak_pressure_MPa": {
            name: (1e-6 * peaks).tolist()
            for name, peaks in zip(MODELS, maps.pressure.max(axis=2), strict=True)
        },
    }


def statistics_content(statistics: dict[str, Any]) -> dict[str, Any]:
    """Return the integrator's figures; the wall time is `elapsed_s`."""
    renamed = {"elapsed": "elapsed_s"}
    return {renamed.get(key, key): plain(value) for key, value in statistics.items()}


def difference_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return a difference over the cycle with its unit in the keys."""
    token = unit_token(row["unit"])
    return {
        "column": row["column"],
        "quantity": row["quantity"],
        "unit": row["unit"],
        f"rms_difference_{token}": row["rms_difference"],
        f"largest_difference_{token}": row["largest_difference"],
        f"range_{token}": row["range"],
        f"peak_{token}": row["peak"],
        "rms_over_range_percent": scaled(row["rms_over_range"], 100.0),
    }


def flag_rows(flags: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return what the models had to say."""
    rows = []
    for model, messages in flags.items():
        for flag in messages:
            rows.append({"model": model, "message": str(flag)})
    return rows


def cycles(files: RunFiles) -> dict[str, pd.DataFrame]:
    """Return the simulated cycle of each model that there is, in the order of `MODELS`."""
    table = files.cycle
    found = {name: table[table["model"] == name].reset_index(drop=True) for name in MODELS}
    return {name: rows for name, rows in found.items() if len(rows)}
