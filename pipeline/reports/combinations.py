"""Tables of the report on all combinations of inputs, and on wear, in units for people."""

from __future__ import annotations

from typing import Any

import numpy as np

from foundation.loads import COMPARTMENTS
from pipeline.reports.inputs import MODELS
from pipeline.reports.units import QUANTITIES
from pipeline.stages.frames import Frames, WearOfCycle

#: What the surrogate should keep to. Loads: RMS difference over the original's peak; positions:
#: RMS difference over the range, or absolute; peak pressure: its RMS difference over the cycle's
#: peak, and the difference of the peaks; wear: difference of the volume.
BARS = {
    "load_percent": 0.5,
    "position_percent": 1.0,
    "anterior_um": 10.0,
    "rotation_deg": 0.02,
    "peak_pressure_percent": 1.0,
    "wear_percent": 0.5,
}
#: A load that stays below this share of the largest of its kind is shown but not judged: its
#: peak is no measure.
LEAST_LOAD_PERCENT = 1.0
_MILLION = 1e6
#: Columns of the accuracy table whose worst row is marked.
_COLUMNS = (
    *("load_percent", "medial_force_percent", "lateral_force_percent"),
    *("anterior_um", "anterior_percent", "rotation_deg", "rotation_percent"),
    *("peak_difference_percent", "peak_pressure_percent", "wear_percent"),
)


def combinations_content(stored: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the comparison on all combinations of inputs, or None if there is none.

    Parameters
    ----------
    stored : dict, optional
        Content of `combinations.json`, in SI units.

    Returns
    -------
    dict, optional
        `bars`; `rows`, one per combination; `worst`, column -> name of the combination with the
        largest magnitude; `within`, how many keep all bars; `failures` and `flags`, in words.
    """
    if stored is None:
        return None
    rows = [_row(row) for row in stored["combinations"]]
    ended = [row for row in rows if row["failure"] is None]
    return {
        "bars": BARS | {"least_load_percent": LEAST_LOAD_PERCENT},
        "wear_factor_mm3_per_Nm": 1e9 * stored["wear_factor_per_Pa"],
        "rows": rows,
        "worst": {column: _worst(ended, column) for column in _COLUMNS},
        "within": sum(all(row["met"].values()) for row in ended),
        "median_cycle_ratio": _median([row["cost"]["cycle_ratio"] for row in ended]),
        "failures": [
            {"where": row["name"], "text": f"{row['failure']['model']}: {row['failure']['reason']}"}
            for row in rows
            if row["failure"] is not None
        ],
        "flags": [
            {"where": row["name"], "text": f"{model}: {message}"}
            for row in ended
            for model in MODELS
            for message in row["flags"][model]
        ],
    }


def _median(values: list[float]) -> float | None:
    return float(np.median(values)) if values else None


def _worst(rows: list[dict[str, Any]], column: str) -> str | None:
    known = [row for row in rows if row[column] is not None]
    return max(known, key=lambda row: abs(row[column]))["name"] if known else None


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """Return one combination."""
    factors = {f"{name}_ratio": value for name, value in row["factors"].items()}
    head = {"name": row["name"], "factors": factors, "failure": row["failure"]}
    if row["failure"] is not None:
        return head
    loads = load_rows(row["loads"])
    judged = [load for load in loads if load["judged"]]
    worst = max(judged, key=lambda load: load["rms_over_peak_percent"])
    share = {load["column"]: load["rms_over_peak_percent"] for load in loads}
    anterior, rotation = row["motion"]["anterior_m"], row["motion"]["rotation_rad"]
    pressures = row["pressure"].values()
    wear = wear_rows(row["wear"])
    figures = {
        "load_percent": worst["rms_over_peak_percent"],
        "worst_load": worst["label"],
        **{f"{name}_force_percent": share[f"{name}_force_y_N"] for name in COMPARTMENTS},
        "anterior_um": 1e6 * anterior["rms"],
        "anterior_percent": _percent(anterior["rms"], anterior["range"]),
        "rotation_deg": float(np.degrees(rotation["rms"])),
        "rotation_percent": _percent(rotation["rms"], rotation["range"]),
        "peak_difference_percent": max(
            (_percent(p["surrogate_peak"] - p["peak"], p["peak"]) or 0.0 for p in pressures),
            key=abs,
        ),
        "peak_pressure_percent": max(_percent(p["rms"], p["peak"]) or 0.0 for p in pressures),
        "wear_percent": wear["difference"]["total_percent"],
    }
    return {
        **head,
        **figures,
        "met": met(figures),
        "above": above(figures),
        "loads": loads,
        "wear": wear,
        "cost": _cost(row["statistics"]),
        "flags": row["flags"],
    }


def load_rows(loads: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    """Return RMS difference and peak of each load, and whether its peak is large enough to judge.

    Parameters
    ----------
    loads : dict
        Column -> `rms` and `peak`, in SI units.
    """
    kinds = {column: column.split("_")[1] for column in loads}
    largest = {
        kind: max(loads[c]["peak"] for c in loads if kinds[c] == kind) for kind in kinds.values()
    }
    rows = []
    for column, values in loads.items():
        part, _, key = column.partition("_")
        shown = QUANTITIES[key]
        rows.append(
            {
                "column": column,
                "label": shown.label if part == "total" else f"{part} {shown.label}",
                "unit": shown.unit,
                f"rms_{shown.token}": shown.factor * values["rms"],
                f"peak_{shown.token}": shown.factor * values["peak"],
                "rms_over_peak_percent": _percent(values["rms"], values["peak"]),
                "judged": 100.0 * values["peak"] > LEAST_LOAD_PERCENT * largest[kinds[column]],
            }
        )
    return rows


def met(figures: dict[str, Any]) -> dict[str, bool]:
    """Return which bars a combination keeps."""
    anterior, rotation = figures["anterior_percent"], figures["rotation_percent"]
    share = BARS["position_percent"]
    wear = figures["wear_percent"]
    return {
        "loads": figures["load_percent"] <= BARS["load_percent"],
        "anterior": figures["anterior_um"] <= BARS["anterior_um"]
        or (anterior is not None and anterior <= share),
        "rotation": figures["rotation_deg"] <= BARS["rotation_deg"]
        or (rotation is not None and rotation <= share),
        "peak_pressure": max(
            abs(figures["peak_difference_percent"]), figures["peak_pressure_percent"]
        )
        <= BARS["peak_pressure_percent"],
        "wear": wear is None or abs(wear) <= BARS["wear_percent"],
    }


def above(figures: dict[str, Any]) -> list[str]:
    """Return the columns of the accuracy table whose own figure misses its bar.

    A position has two figures, of which one has to keep its bar: both are above or neither is.
    """
    kept = met(figures)
    pressures = ("peak_difference_percent", "peak_pressure_percent")
    limit = BARS["peak_pressure_percent"]
    missed = [name for name in pressures if abs(figures[name]) > limit]
    for bar, columns in (
        ("loads", ("load_percent",)),
        ("anterior", ("anterior_um", "anterior_percent")),
        ("rotation", ("rotation_deg", "rotation_percent")),
        ("wear", ("wear_percent",)),
    ):
        missed += [name for name in columns if not kept[bar] and figures[name] is not None]
    return missed


def wear_rows(volumes: dict[str, list[float]], density: float | None = None) -> dict[str, Any]:
    """Return the wear per million cycles of each model and the surrogate's difference.

    Parameters
    ----------
    volumes : dict
        Model -> medial and lateral volume [m³ per cycle].
    density : float, optional
        Of the insert [kg/m³]; without it there is no mass.
    """
    shown: dict[str, Any] = {}
    parts = {name: _with_total(volumes[name]) for name in MODELS}
    for name, volume in parts.items():
        shown[name] = {f"{side}_mm3": 1e9 * _MILLION * v for side, v in volume.items()}
        if density is not None:
            shown[name]["mass_mg"] = 1e6 * _MILLION * density * volume["total"]
    original, surrogate = (parts[name] for name in MODELS)
    shown["difference"] = {
        f"{side}_percent": _percent(surrogate[side] - original[side], original[side])
        for side in original
    }
    return shown


def _with_total(volume: list[float]) -> dict[str, float]:
    return dict(zip((*COMPARTMENTS, "total"), (*volume, sum(volume)), strict=True))


def _percent(part: float, whole: float) -> float | None:
    return 100.0 * part / whole if whole > 0.0 else None


def _cost(statistics: dict[str, dict[str, Any]]) -> dict[str, Any]:
    seconds = {name: statistics[name]["elapsed"] for name in MODELS}
    return {
        **{f"{name}_evaluations": statistics[name]["evaluations"] for name in MODELS},
        **{f"{name}_steps": statistics[name]["steps"] for name in MODELS},
        **{f"{name}_cycle_s": seconds[name] for name in MODELS},
        "cycle_ratio": seconds["original"] / seconds["surrogate"],
    }


def wear_content(wear: WearOfCycle | None) -> dict[str, Any] | None:
    """Return the wear of the nominal cycle per million cycles, or None if it is not known."""
    if wear is None:
        return None
    volumes = dict(zip(MODELS, wear.volume_m3.tolist(), strict=True))
    deepest = 1e6 * _MILLION * wear.depth_m.max(axis=1)
    apart = float(np.sqrt(np.mean((wear.depth_m[1] - wear.depth_m[0]) ** 2)))
    return {
        "wear_factor_mm3_per_Nm": 1e9 * float(wear.factor_per_Pa),
        "per_million_cycles": wear_rows(volumes, float(wear.density_kg_per_m3)),
        "deepest_per_million_cycles": {
            f"{name}_um": value for name, value in zip(MODELS, deepest.tolist(), strict=True)
        },
        "depth_rms_over_deepest_percent": _percent(apart, float(wear.depth_m[0].max())),
        "field_aspect_ratio": dict(
            zip((f"{name}_ratio" for name in COMPARTMENTS), wear.aspect.tolist(), strict=True)
        ),
    }


def frames_content(frames: Frames | None) -> list[dict[str, Any]] | None:
    """Return what is told beside each frame of the knee, or None if there are none."""
    if frames is None:
        return None
    return [
        {
            "instant_percent": float(frames.gait_percent[k]),
            "flexion_deg": float(np.degrees(frames.poses[k, 0])),
            **{
                f"{name}_peak_MPa": 1e-6 * float(frames.peak_Pa[i, k])
                for i, name in enumerate(MODELS)
            },
        }
        for k in range(len(frames.gait_percent))
    ]
