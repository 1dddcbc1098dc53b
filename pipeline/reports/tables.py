"""Tables of the report on stages, accuracy and gait cycle, in units for people."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from foundation.base.loads import LOAD_COLUMNS, WRENCH_COLUMNS
from foundation.base.quantities import QUANTITIES, unit_token
from pipeline.flagged_instants import flagged_sentence
from pipeline.reports.inputs import MODELS, RunFiles
from pipeline.reports.units import kind_of, largest, row_of, scaled
from pipeline.store.quantities import ERRORS, outputs_of
from pipeline.store.run_documents import PathKnots, Simulation
from pipeline.store.samples import FAILED, POSE_COLUMNS
from pipeline.store.validation_document import Compartment, Figures, Judged, Round

#: Expected coverage of 95 % intervals on held-out loads [%].
COVERAGE_RANGE = (90.0, 99.0)
#: Errors at a given load by which users judge a surrogate: column, figure, words.
_JUDGED = (
    ("superior_m", "rmse", "height, RMS"),
    ("force_x_over_axial", "rmse", "AP force over axial force, RMS"),
    ("force_z_over_axial", "rmse", "ML force over axial force, RMS"),
    ("cop_distance_m", "rmse", "centre of pressure, RMS distance"),
    ("cop_distance_m", "maximum", "centre of pressure, largest distance"),
)
#: Keys of [design] and [space] in the report.
_SAMPLING = ("rounds", "budget", "infill", "follow", "wanted_error_percent")
_HALF_WIDTHS = ("adduction_deg", "rotation_deg", "anterior_mm", "lateral_mm")
#: Their errors as shares.
_SHARES = ("total_load_nrmse", "worst_load_nrmse", "largest_error")
#: Differences over a cycle in the unit of the row.
_DIFFERENCES = ("rms_difference", "largest_difference", "range", "peak")

Row = dict[str, Any]


def stage_content(files: RunFiles) -> Row:
    """Return the section on stages a to h: counts, reasons, sampling and sample space."""
    tables = {"b: first": files.first, "f: kept": files.kept, "held-out": files.held_out}
    dropped = files.screened.loc[files.screened["screening"] == "dropped", "drop_reason"]
    design, feasibility, space = (files.config[k] for k in ("design", "feasibility", "space"))
    return {
        "counts": {name: row.content() for name, row in files.run.counts.items()},
        "drop_reasons": _by_kind(dropped),
        "failure_reasons": [
            {"stage": stage, **row}
            for stage, table in tables.items()
            for row in _by_kind(table.loc[table["status"] == FAILED, "reason"])
        ],
        "sampling": {
            **{key: design[key] for key in _SAMPLING},
            "budgets": [row.content() for row in files.run.budgets],
            "margin_percent": 100.0 * feasibility["margin"],
            "outside_weight_percent": 100.0 * feasibility["outside_weight"],
        },
        "space": {
            "flexion_range_deg": space["flexion_deg"],
            **{key.replace("_", "_half_width_"): space[key] for key in _HALF_WIDTHS},
            "compartment_load_range_N": space["load_N"],
        },
        "path": path_content(files.path),
    }


def _by_kind(reasons: Iterable[str]) -> list[Row]:
    """Return the kinds of reasons by count, the most frequent first, with an example."""
    kinds: dict[str, list[str]] = {}
    for reason in map(str, reasons):
        kinds.setdefault(kind_of(reason), []).append(reason)
    return [
        {"kind": kind, "count": len(texts), "example": texts[0]}
        for kind, texts in sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0]))
    ]


def path_content(path: PathKnots) -> dict[str, list[float]]:
    """Return the knots of the reference path by coordinate [deg, mm]."""
    knots = np.column_stack([path.flexion_rad, path.coordinates_rad_m])
    return {
        quantity.column_for_people: quantity.for_people(column).tolist()
        for quantity, column in zip(
            [QUANTITIES[name] for name in POSE_COLUMNS], knots.T, strict=True
        )
    }


# ---- Accuracy ------------------------------------------------------------------------------------


def validation_content(files: RunFiles) -> Row:
    """Return the held-out errors: of the main surrogate in full, of all models in one table."""
    stored, settings, hidden = files.validation, files.config["validation"], files.hidden
    main = stored.models[0]
    parts = main.compartments
    coverage = _coverage_rows(parts, hidden)
    return {
        "seed": files.run.held_out_seed,
        "design": "rows of the table" if files.run.triangles is None else settings["kind"],
        "points_per_compartment": settings["points"],
        "failed": int((files.held_out["status"] == FAILED).sum()),
        "formulation": main.formulation,
        "family": main.family,
        "worst_load": worst_load(main),
        "compartments": {
            name: _compartment(part, main.formulation, hidden) for name, part in parts.items()
        },
        "judged_at_load": _judged_rows(parts, hidden),
        "coverage": coverage,
        "too_narrow": [
            f"{name} {row['label']} ({row[name]['covered_percent']:.0f} %)"
            for name in parts
            for row in coverage[: len(WRENCH_COLUMNS)]
            if row[name]["verdict"] == "low"
        ],
        "learning_curve": _learning_curve(stored.learning_curve),
        "comparison": [
            *(_model_row(model, "g: all samples") for model in stored.models),
            _model_row(stored.first, "c: last round"),
        ],
    }


def _compartment(part: Compartment, formulation: str, hidden: Collection[str]) -> Row:
    return {
        "points": part.points,
        "feasible": part.feasible,
        "at_pose": _error_rows(part.at_pose, hidden),
        "at_pose_all": _error_rows(part.at_pose_all, hidden),
        "at_load": _error_rows(part.at_load, hidden) or None,
        "cross_validation": _cross_validation_rows(part, formulation, hidden),
        "quantiles": {
            "normal_ratio": part.standardised.normal,
            "held_out_ratio": part.standardised.held_out,
        },
        "worst_cases": [row.content() for row in part.worst],
    }


def _error_rows(figures: Mapping[str, Figures], hidden: Collection[str]) -> dict[str, Row]:
    """Return error figures by quantity."""
    return {
        quantity.name: {
            **row_of(quantity, rmse=error.rmse, mae=error.mae, max=error.maximum),
            "nrmse_percent": scaled(error.nrmse, 100.0),
            "q2": error.q2,
            "points": error.points,
        }
        for quantity, error in ((ERRORS[column], error) for column, error in figures.items())
        if quantity.name not in hidden
    }


def _cross_validation_rows(
    part: Compartment, formulation: str, hidden: Collection[str]
) -> list[Row]:
    """Return the cross-validated error and interval coverage of every output."""
    return [
        {
            "key": quantity.name,
            **row_of(quantity, rmse=rmse),
            "coverage": covered_part(covered),
            # "height, 5 folds": the same outputs, validated in another way
            "kind": group.partition(", ")[2] or crossed.kind,
            "points": crossed.points,
        }
        for group, crossed in part.cross_validation.items()
        for quantity, rmse, covered in zip(
            outputs_of(group, formulation), crossed.rmse, crossed.coverage, strict=True
        )
        if quantity.name not in hidden
    ]


def worst_load(model: Judged) -> Row:
    """Return the largest NRMSE [%] of the six loads at a given pose, with load and compartment.

    An undefined NRMSE (the load of the original never changes, that of the surrogate does) counts
    as the largest.
    """
    errors = [
        (part.at_pose[column].nrmse, name, column)
        for name, part in model.compartments.items()
        for column in WRENCH_COLUMNS
    ]
    nrmse, name, column = max(errors, key=lambda item: np.inf if item[0] is None else item[0])
    label = QUANTITIES[column].label
    return {"nrmse_percent": scaled(nrmse, 100.0), "compartment": name, "load": label}


def height_error(model: Judged) -> Row | None:
    """Return the height error at a given load [µm] of the worse compartment, None if undefined."""
    errors = {name: part.height for name, part in model.compartments.items()}
    known = {name: error for name, error in errors.items() if error is not None}
    if len(known) < len(errors):
        return None
    worse = max(known, key=lambda name: known[name][0])
    return {
        "compartment": worse,
        "rmse_um": 1e6 * known[worse][0],
        "max_um": 1e6 * max(largest for _, largest in known.values()),
    }


def _model_row(model: Judged, trained_on: str) -> Row:
    axial = largest(part.at_pose["force_y_N"].nrmse for part in model.compartments.values())
    height = height_error(model)
    return {
        "formulation": model.formulation,
        "family": model.family,
        "trained_on": trained_on,
        "worst_load_nrmse_percent": worst_load(model)["nrmse_percent"],
        "axial_force_nrmse_percent": scaled(axial, 100.0),
        "height_rmse_at_load_um": height and height["rmse_um"],
        "fit_s": model.fit_seconds,
    }


def covered_part(value: float | None) -> Row:
    """Return a covered part [1] in per cent, and "low" or "high" outside `COVERAGE_RANGE`."""
    low, high = COVERAGE_RANGE
    covered = scaled(value, 100.0)
    verdict = ""
    if covered is not None and not low <= covered <= high:
        verdict = "low" if covered < low else "high"
    return {"covered_percent": covered, "verdict": verdict}


def _coverage_rows(parts: Mapping[str, Compartment], hidden: Collection[str]) -> list[Row]:
    """Return the coverage of the 95 % intervals of the held-out loads, a row per load."""
    return [
        {
            "key": QUANTITIES[column].name,
            "label": QUANTITIES[column].label,
            **{name: covered_part(part.coverage[column]) for name, part in parts.items()},
        }
        for column in LOAD_COLUMNS
        if QUANTITIES[column].name not in hidden
    ]


def _judged_rows(parts: Mapping[str, Compartment], hidden: Collection[str]) -> list[Row] | None:
    """Return the errors at a given load by which users judge, None if there are none."""
    if not all(part.at_load for part in parts.values()):
        return None
    return [
        row_of(
            ERRORS[column],
            **{name: getattr(part.at_load[column], figure) for name, part in parts.items()},
        )
        | {"label": words}
        for column, figure, words in _JUDGED
        if ERRORS[column].name not in hidden
    ]


def _learning_curve(points: list[Round]) -> list[Row]:
    """Return training samples and errors of each round, the final one last.

    The errors are cross-validated and, where the names say so, those of the held-out samples.
    """
    return [
        {
            "stage": "g: final" if k == len(points) else f"c: round {k}",
            "samples": point.samples,
            "load_error_percent": scaled(point.load_error, 100.0),
            "height_error_um": point.height_um,
            "held_out_load_error_percent": scaled(point.held_out_load_error, 100.0),
            "held_out_height_error_um": point.held_out_height_um,
        }
        for k, point in enumerate(points, start=1)
    ]


# ---- Gait cycle ----------------------------------------------------------------------------------


#: The gait simulation of a run without one.
_NO_GAIT: Row = {
    "models": [],
    "differences": [],
    "statistics": {},
    "speed": None,
    "instants_percent": None,
    "map_peak_pressure_MPa": None,
    "flags": [],
    "not_trusted": None,
}


def _not_trusted(simulation: Simulation) -> str | None:
    """Return a sentence on the flagged instants of the surrogate, None without any."""
    flagged, instants = simulation.flagged.get("surrogate", [0, 0])
    return flagged_sentence(flagged, instants, simulation.flags.get("surrogate", []))


def gait_content(files: RunFiles) -> Row:
    """Return the gait simulation: differences, cost and speed.

    Without an original model `models` is the surrogate alone, and comparisons are None. Without a
    simulation there are no models.
    """
    simulation, maps = files.simulation, files.maps
    if simulation is None:
        return _NO_GAIT
    statistics = {
        name: {("elapsed_s" if k == "elapsed" else k): v for k, v in cost.content().items()}
        for name, cost in ((n, simulation.statistics.get(n)) for n in MODELS)
        if cost is not None
    }
    peaks = None
    if maps is not None:
        peaks = dict(zip(MODELS, 1e-6 * maps.pressure_Pa.max(axis=2), strict=True))
    return {
        "models": list(statistics),
        "differences": [
            {
                **{key: getattr(row, key) for key in ("column", "quantity", "unit")},
                **{f"{key}_{unit_token(row.unit)}": getattr(row, key) for key in _DIFFERENCES},
                "rms_over_range_percent": scaled(row.rms_over_range, 100.0),
            }
            for row in simulation.differences
        ],
        "statistics": statistics,
        "speed": _speed(simulation),
        "instants_percent": None if maps is None else maps.gait_percent,
        "map_peak_pressure_MPa": peaks,
        "flags": [
            {"model": model, "message": message}
            for model, messages in simulation.flags.items()
            for message in messages
        ],
        "not_trusted": _not_trusted(simulation),
    }


def _speed(simulation: Simulation) -> Row | None:
    if (speed := simulation.speed) is None:
        return None
    original_s, surrogate_s = (simulation.statistics[name].elapsed for name in MODELS)
    return {
        "original_evaluation_us": speed.original_us,
        "surrogate_evaluation_us": speed.surrogate_us,
        "evaluation_ratio": speed.ratio,
        "original_cycle_s": original_s,
        "surrogate_cycle_s": surrogate_s,
        "cycle_ratio": original_s / surrogate_s if original_s and surrogate_s else None,
    }
