"""Which pictures the report holds: from the files of a run to labelled data URIs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from foundation.loads import COMPARTMENTS, WRENCH_COLUMNS
from pipeline.reports import accuracy_figures as accuracy
from pipeline.reports import figures
from pipeline.reports.inputs import MODELS, RunFiles
from pipeline.reports.tables import cycles, path_content, space_content
from pipeline.reports.units import QUANTITIES, Quantity, number
from surrogates.sampling.space import ReferencePath

#: Coordinates of the pose: column, label, unit, factor from SI, key of the sampled half width.
_COORDINATES = (
    ("adduction_rad", "adduction", "°", 180.0 / np.pi, "adduction_half_width_deg"),
    ("rotation_rad", "internal rotation", "°", 180.0 / np.pi, "rotation_half_width_deg"),
    ("anterior_m", "anterior position", "mm", 1e3, "anterior_half_width_mm"),
    ("superior_m", "superior position", "mm", 1e3, None),
    ("lateral_m", "lateral position", "mm", 1e3, "lateral_half_width_mm"),
)
_PATH_KEYS = ("adduction_deg", "rotation_deg", "anterior_mm", "superior_mm", "lateral_mm")
_CYCLE_LOADS = (
    *((f"total_{column}", column, "") for column in WRENCH_COLUMNS),
    *((f"{name}_force_y_N", "force_y_N", f"{name} ") for name in COMPARTMENTS),
    *((f"{name}_peak_pressure_Pa", "peak_pressure_Pa", f"{name} ") for name in COMPARTMENTS),
    ("total_area_m2", "area_m2", ""),
)
_PARITY = (*WRENCH_COLUMNS, "area_m2", "peak_pressure_Pa")
_RESIDUAL = ("force_y_N", "force_x_N", "peak_pressure_Pa")
_FLEXION = Quantity("flexion", "flexion", "°", 180.0 / np.pi)
_INPUT_UNITS = {"rad": ("°", 180.0 / np.pi), "deg": ("°", 1.0), "Nm": ("N·mm", 1e3)}
_INPUT_NAMES = {
    "axial_force": "axial force",
    "ap_force": "AP force on the tibia",
    "internal_torque": "internal torque",
}


@dataclass(frozen=True)
class Picture:
    """A picture with the words that stand for it where it cannot be seen."""

    uri: str
    text: str


def path_pictures(files: RunFiles) -> list[Picture]:
    """Return the reference path over flexion, a picture per coordinate."""
    stored = ReferencePath.through(files.path["flexion_rad"], files.path["coordinates_rad_m"])
    knots = path_content(files.path)
    space = space_content(files.config)
    low, high = space["flexion_range_deg"]
    flexion = np.linspace(low, high, 200)
    curve = stored.poses(np.radians(flexion))
    gait = next(iter(cycles(files).values()))
    shown = []
    for k, (column, label, unit, factor, width) in enumerate(_COORDINATES):
        uri = figures.path_panel(
            {"flexion": knots["flexion_deg"], "value": knots[_PATH_KEYS[k]]},
            {"flexion": flexion, "value": factor * curve[:, k + 1]},
            {
                "flexion": np.degrees(gait["flexion_rad"]),
                "value": factor * gait[column].to_numpy(),
            },
            None if width is None else space[width],
            f"{label} [{unit}]",
        )
        shown.append(Picture(uri, f"Reference path: {label} over flexion"))
    return shown


def parity_pictures(files: RunFiles, not_given: Collection[str] = ()) -> list[Picture]:
    """Return predicted over true loads of the held-out samples, a picture per quantity given."""
    rows = {
        name: files.predictions[files.predictions["compartment"] == name] for name in COMPARTMENTS
    }
    shown = []
    for column in (c for c in _PARITY if c not in not_given):
        quantity = QUANTITIES[column]
        truth, prediction = (
            {name: quantity.factor * rows[name][c].to_numpy() for name in COMPARTMENTS}
            for c in (column, f"predicted_{column}")
        )
        uri = accuracy.parity_panel(truth, prediction, quantity.label, quantity.unit)
        shown.append(Picture(uri, f"Surrogate over original: {quantity.label}"))
    return shown


def residual_pictures(files: RunFiles, not_given: Collection[str] = ()) -> list[Picture]:
    """Return surrogate less original of the held-out samples, over what it may depend on."""
    rows = {
        name: files.predictions[files.predictions["compartment"] == name] for name in COMPARTMENTS
    }
    shown = []
    for column in (c for c in _RESIDUAL if c not in not_given):
        quantity = QUANTITIES[column]
        residual = {
            name: quantity.factor * (part[f"predicted_{column}"] - part[column]).to_numpy()
            for name, part in rows.items()
        }
        rms = float(np.sqrt(np.nanmean(np.concatenate(list(residual.values())) ** 2)))
        over = {column: quantity, "flexion_rad": _FLEXION, "force_y_N": QUANTITIES["force_y_N"]}
        for below, other in over.items():
            uri = accuracy.residual_panel(
                {name: other.factor * part[below].to_numpy() for name, part in rows.items()},
                residual,
                rms,
                (f"{other.label} [{other.unit}]", f"{quantity.label}, residual [{quantity.unit}]"),
            )
            shown.append(Picture(uri, f"Residual of the {quantity.label} over {other.label}"))
    return shown


def learning_pictures(rows: list[dict[str, Any]]) -> list[Picture]:
    """Return the cross-validated errors over the samples, a picture for each that is known."""
    shown = []
    for key, label, unit in (
        ("load_error_percent", "axial load at a pose", "% of the largest"),
        ("height_error_um", "height at a load", "µm"),
    ):
        known = [row for row in rows if row[key] is not None]
        if not known:
            continue
        samples, errors = [row["samples"] for row in known], [row[key] for row in known]
        uri = accuracy.learning_panel(samples, errors, f"{label} [{unit}]")
        shown.append(Picture(uri, f"Learning curve: {label}"))
    return shown


def quantile_pictures(compartments: dict[str, Any]) -> list[Picture]:
    """Return the quantile plot of the standardised residuals, a picture per compartment."""
    shown = []
    for name in COMPARTMENTS:
        found = compartments[name]["quantiles"]
        if found["normal_ratio"]:
            uri = accuracy.quantile_panel(name, found["normal_ratio"], found["held_out_ratio"])
            shown.append(Picture(uri, f"Quantiles of standardised residuals, {name}"))
    return shown


def input_pictures(files: RunFiles) -> list[Picture]:
    """Return the simulator's inputs over the cycle; flexion, which is prescribed, comes first."""
    cycle = next(iter(cycles(files).values()))
    percent = cycle["gait_percent"]
    flexion = np.degrees(cycle["flexion_rad"])
    shown = [Picture(figures.input_panel(percent, flexion, "flexion [°]"), "Input: flexion")]
    for column in cycle.columns:
        name, _, unit = column.removeprefix("input_").rpartition("_")
        if not column.startswith("input_") or name in ("flexion", "gait"):
            continue
        unit, factor = _INPUT_UNITS.get(unit, (unit, 1.0))
        label = _INPUT_NAMES.get(name, name.replace("_", " "))
        uri = figures.input_panel(percent, factor * cycle[column], f"{label} [{unit}]")
        shown.append(Picture(uri, f"Input: {label}"))
    return shown


def kinematics_pictures(files: RunFiles) -> list[Picture]:
    """Return the five free coordinates over the cycle, both models overlaid."""
    return [
        _over_cycle(files, column, factor, label, unit)
        for column, label, unit, factor, _ in _COORDINATES
    ]


def load_pictures(files: RunFiles, not_given: Collection[str] = ()) -> list[Picture]:
    """Return loads, pressures and area over the cycle, both models overlaid."""
    shown = []
    for column, key, part in (row for row in _CYCLE_LOADS if row[1] not in not_given):
        quantity = QUANTITIES[key]
        label = f"{part}{quantity.label}"
        shown.append(_over_cycle(files, column, quantity.factor, label, quantity.unit))
    return shown


def _over_cycle(files: RunFiles, column: str, factor: float, label: str, unit: str) -> Picture:
    tables = cycles(files)
    uri = figures.cycle_panel(
        {name: table["gait_percent"].to_numpy() for name, table in tables.items()},
        {name: factor * table[column].to_numpy() for name, table in tables.items()},
        f"{label} [{unit}]",
    )
    return Picture(uri, f"Gait cycle, {' and '.join(tables)}: {label}")


def pressure_pictures(files: RunFiles) -> list[Picture]:
    """Return the pressure on the plateau at each instant, both models beside each other."""
    maps = files.maps
    if maps is None:
        return []
    limit = 1e-6 * float(maps.pressure.max()) or 1.0
    tables = cycles(files)
    shown = []
    for k, percent in enumerate(maps.gait_percent):
        pressure = 1e-6 * maps.pressure[:, k]
        titles = [
            f"pose of the {name}, peak {number(float(values.max()))} MPa"
            for name, values in zip(MODELS, pressure, strict=True)
        ]
        centres = [_centres(tables[name], float(percent)) for name in MODELS]
        uri = figures.pressure_panel(
            1e3 * maps.vertices, maps.faces, pressure, limit, centres, titles
        )
        shown.append(Picture(uri, f"Pressure at {percent:.0f} % of the gait cycle"))
    return shown


def _centres(table: pd.DataFrame, percent: float) -> list[Any]:
    """Return the centres of pressure [mm] at the reported instant nearest to `percent`."""
    row = table.iloc[int((table["gait_percent"] - percent).abs().argmin())]
    return [
        1e3 * np.array([row[f"{name}_cop_{axis}_m"] for axis in "xyz"], dtype=np.float64)
        for name in COMPARTMENTS
    ]
