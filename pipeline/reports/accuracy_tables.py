"""The tables of the report that say how far a surrogate can be trusted, and what else was tried.

Learning curve, cross-validation, coverage of the predicted intervals, quantiles of the standardised
residuals, the errors by which a user judges, and the formulations compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foundation.errors import InputError
from foundation.loads import COMPARTMENTS, LOAD_COLUMNS, WRENCH_COLUMNS
from pipeline.files import plain
from pipeline.reports.units import QUANTITIES, outputs_of, scaled

#: What 95 % intervals must cover of the held-out loads [%].
COVERAGE_RANGE = (90.0, 99.0)
#: What a user judges a surrogate by where the load is given: column, figure, words.
_JUDGED = (
    ("superior_m", "rmse", "height, RMS"),
    ("force_x_over_axial", "rmse", "AP force over axial force, RMS"),
    ("force_z_over_axial", "rmse", "ML force over axial force, RMS"),
    ("cop_distance_m", "rmse", "centre of pressure, RMS distance"),
    ("cop_distance_m", "maximum", "centre of pressure, largest distance"),
)
#: What tells one way of learning from another, beside its touch points.
_WAY = ("formulation", "family", "pose_at")


def learning_curve(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what each round's surrogates were fitted to and their cross-validated errors.

    Parameters
    ----------
    points : list of dict
        `samples`, and `load_error` [-] and `height_um` where the formulation has them; the last
        one is that of the final surrogates.
    """
    rows = []
    for number, point in enumerate(points, start=1):
        last = number == len(points)
        rows.append(
            {
                "stage": "g: final" if last else f"c: round {number}",
                "samples": point["samples"],
                "load_error_percent": scaled(point.get("load_error"), 100.0),
                "height_error_um": point.get("height_um"),
            }
        )
    return rows


def cross_validation_rows(part: dict[str, Any], formulation: str) -> list[dict[str, Any]]:
    """Return the cross-validated error and interval coverage of every output of a compartment.

    Parameters
    ----------
    part : dict
        Group of outputs -> (`kind`, `points`, `rmse`, `coverage`), in SI units.
    formulation : str
        What the outputs are those of.
    """
    rows = []
    for group, found in part.items():
        # "height, 5 folds": the same outputs, validated in another way
        shown = outputs_of(group.partition(",")[0], formulation)
        for quantity, rmse, covered in zip(shown, found["rmse"], found["coverage"], strict=True):
            rows.append(
                {
                    "key": quantity.key,
                    "label": quantity.label,
                    "unit": quantity.unit,
                    f"rmse_{quantity.token}": scaled(rmse, quantity.factor),
                    "coverage": covered_part(covered),
                    "kind": group.partition(", ")[2] or found["kind"],
                    "points": found["points"],
                }
            )
    return rows


def covered_part(value: float | None) -> dict[str, Any]:
    """Return the covered part in per cent, and whether it is "low" or "high" for 95 % intervals."""
    low, high = COVERAGE_RANGE
    percent = scaled(value, 100.0)
    verdict = (
        "" if percent is None or low <= percent <= high else "low" if percent < low else "high"
    )
    return {"covered_percent": percent, "verdict": verdict}


def coverage_rows(compartments: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the coverage of the 95 % intervals of the held-out loads, a row per load."""
    return [
        {
            "key": QUANTITIES[column].key,
            "label": QUANTITIES[column].label,
            **{name: covered_part(compartments[name]["coverage"][column]) for name in COMPARTMENTS},
        }
        for column in LOAD_COLUMNS
    ]


def too_narrow(compartments: dict[str, Any]) -> list[str]:
    """Return the loads, of the six of a compartment, whose intervals cover too little."""
    found = []
    for name in COMPARTMENTS:
        for column in WRENCH_COLUMNS:
            part = covered_part(compartments[name]["coverage"][column])
            if part["verdict"] == "low":
                label = QUANTITIES[column].label
                found.append(f"{name} {label} ({part['covered_percent']:.0f} %)")
    return found


def quantiles(part: dict[str, Any]) -> dict[str, list[float]]:
    """Return a compartment's quantiles of the standardised residuals beside the normal ones."""
    found = part["standardised"]
    if len(found["normal"]) != len(found["held_out"]):
        raise InputError("standardised: expected as many held-out quantiles as normal ones")
    return {f"{name}_ratio": plain(found[name]) for name in ("normal", "held_out")}


def judged_rows(compartments: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the errors where the load is given by which a user judges, None if there are none."""
    if any("at_load" not in compartments[name] for name in COMPARTMENTS):
        return None
    rows = []
    for column, figure, words in _JUDGED:
        quantity = QUANTITIES[column]
        values = {
            f"{name}_{quantity.token}": scaled(
                compartments[name]["at_load"][column][figure], quantity.factor
            )
            for name in COMPARTMENTS
        }
        rows.append({"label": words, "unit": quantity.unit, **values})
    return rows


def formulation_rows(
    found: list[dict[str, Any]] | None, surrogate: dict[str, Any]
) -> list[dict[str, Any]] | None:
    """Return the compared formulations, the best first and those that failed last.

    Parameters
    ----------
    found : list of dict, optional
        What `validate --formulations` stored; None if it was not asked for.
    surrogate : dict
        The run's section [surrogate], whose own row is `chosen`.
    """
    if found is None:
        return None
    own = (*(surrogate.get(key) for key in _WAY), surrogate.get("touch_points", False))
    rows = []
    for item in found:
        names = (*(item[key] for key in _WAY), item.get("touch_points", False))
        rows.append(
            {
                **dict(zip((*_WAY, "touch_points"), names, strict=True)),
                "scope": item["scope"],
                "samples": item["samples"],
                "total_load_nrmse_percent": scaled(item.get("total_load_nrmse"), 100.0),
                "worst_load_nrmse_percent": scaled(item.get("worst_load_nrmse"), 100.0),
                "largest_error_percent": scaled(item.get("largest_error"), 100.0),
                "height_rmse_um": item.get("height_rmse_um"),
                "fit_s": item.get("fit_seconds"),
                "evaluation_us": item.get("evaluation_us"),
                "failed": item.get("failed"),
                "chosen": names == own,
            }
        )
    return sorted(rows, key=_by_error)


def _by_error(row: dict[str, Any]) -> tuple[bool, float]:
    """Order by the total loads, which are judged on the same samples for all."""
    total, worst = row["total_load_nrmse_percent"], row["worst_load_nrmse_percent"]
    error = worst if total is None else total
    return row["failed"] is not None, np.inf if error is None else error
