"""Figures of the knee in the simulated gait cycle: the tiles at the top of the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from foundation.base.quantities import QUANTITIES
from pipeline.reports.inputs import RunFiles
from pipeline.reports.units import number, percent
from pipeline.store.run_documents import MODELS

#: Least Young's modulus of a layer for which wear is shown [MPa]. Archard's law is that of
#: polyethylene, whose modulus is several hundred MPa; that of cartilage is below 50 MPa.
WEARS_FROM_MPa = 100.0
#: Range of a coordinate over the cycle: column of the cycle, unit of the figures.
_MOTIONS = {"anterior": ("anterior_m", "mm"), "rotation": ("rotation_rad", "deg")}
#: Figures of the knee: key, label and unit.
FIGURES = (
    ("medial_peak_pressure_MPa", "peak pressure, medial", "MPa"),
    ("lateral_peak_pressure_MPa", "peak pressure, lateral", "MPa"),
    ("largest_area_mm2", "contact area, largest", "mm²"),
    ("mean_area_mm2", "contact area, mean", "mm²"),
    ("anterior_range_mm", "AP travel", "mm"),
    ("rotation_range_deg", "internal-external rotation", "°"),
    ("medial_share_percent", "medial share of the load", "%"),
    ("wear_mm3_per_million_cycles", "wear per million cycles", "mm³"),
)

Row = dict[str, Any]


def knee_content(files: RunFiles) -> Row | None:
    """Return the figures of the knee over the cycle of the original, or of the surrogate alone.

    A figure is None if the original model, a table, does not contain its quantity; all are None
    without a simulated cycle.
    """
    if not files.cycles:
        return None
    model, cycle = next(iter(files.cycles.items()))
    at = cycle["gait_percent"].to_numpy()
    row: Row = {"model": model}
    for name in COMPARTMENTS:
        pressure = _column(cycle, f"{name}_peak_pressure_Pa")
        row[f"{name}_peak_pressure_MPa"] = _largest(pressure, 1e-6)
        row[f"{name}_peak_pressure_at_percent"] = _largest_at(pressure, at)
    area = _column(cycle, "total_area_m2")
    row |= {
        "largest_area_mm2": _largest(area, 1e6),
        "largest_area_at_percent": _largest_at(area, at),
        "mean_area_mm2": None if area is None else 1e6 * mean_over_cycle(area, at),
    }
    for name, (column, unit) in _MOTIONS.items():
        values = QUANTITIES[column].for_people(cycle[column])
        low, high = float(values.min()), float(values.max())
        row |= {f"{name}_range_{unit}": high - low, f"{name}_least_{unit}": low}
        row[f"{name}_largest_{unit}"] = high
    return row | _shares(cycle, at) | _wear(files)


def mean_over_cycle(values: FloatArray, at: FloatArray) -> float:
    """Return the mean over the cycle of values (N,) [any unit] at instants (N,) [%]."""
    return float(np.trapezoid(values, at) / np.ptp(at))


def _column(cycle: pd.DataFrame, name: str) -> FloatArray | None:
    """Return a column without contact counted as 0 [SI], None if nothing is known."""
    values = cycle[name].to_numpy(dtype=np.float64)
    return np.nan_to_num(values) if np.isfinite(values).any() else None


def _largest(values: FloatArray | None, factor: float) -> float | None:
    return None if values is None else factor * float(values.max())


def _largest_at(values: FloatArray | None, at: FloatArray) -> float | None:
    return None if values is None else float(at[int(values.argmax())])


def _shares(cycle: pd.DataFrame, at: FloatArray) -> Row:
    """Return the part of the axial force that the medial compartment bears [%].

    `medial_share_percent` is that of the impulse over the cycle.
    """
    names = [f"{name}_force_y_N" for name in COMPARTMENTS]
    forces = cycle[names].to_numpy(dtype=np.float64)
    medial, total = forces[:, 0], forces.sum(axis=1)
    most = int(np.argmax(total))
    return {
        "medial_share_percent": percent(mean_over_cycle(medial, at), mean_over_cycle(total, at)),
        "medial_share_at_largest_load_percent": percent(float(medial[most]), float(total[most])),
        "largest_load_N": float(total[most]),
        "largest_load_at_percent": float(at[most]),
    }


def _wear(files: RunFiles) -> Row:
    """Return the worn volume per million cycles, and the reason if no volume is shown."""
    row: Row = {"wear_mm3_per_million_cycles": None, "wear_note": None}
    if files.wear is None:
        return row
    if not wears(files.config["contact"]):
        modulus = number(files.config["contact"]["youngs_modulus_MPa"])
        row["wear_note"] = (
            f"No wear: the tibial layer, of {modulus} MPa, is taken as cartilage. Archard's law is "
            f"that of polyethylene, from {WEARS_FROM_MPa:g} MPa."
        )
        return row
    volume = float(files.wear.volume_m3[MODELS.index("original")].sum())
    return row | {"wear_mm3_per_million_cycles": 1e6 * 1e9 * volume}


def wears(contact: Mapping[str, Any]) -> bool:
    """Return whether the layer of a section [contact] wears by Archard's law: polyethylene."""
    return bool(contact["youngs_modulus_MPa"] >= WEARS_FROM_MPa)


def knee_lines(knee: Row | None) -> list[str]:
    """Return the lines for the terminal, in units of ASCII characters."""
    if knee is None:
        return []
    peaks = ", ".join(
        f"{name} {number(knee[f'{name}_peak_pressure_MPa'])} MPa at "
        f"{number(knee[f'{name}_peak_pressure_at_percent'], 2)} %"
        for name in COMPARTMENTS
    )
    wear = knee["wear_mm3_per_million_cycles"]
    share = number(knee["medial_share_percent"])
    lines = [
        f"knee: AP travel {number(knee['anterior_range_mm'])} mm, rotation "
        f"{number(knee['rotation_range_deg'])} deg, medial share of the load {share} %"
        + ("" if wear is None else f", wear {number(wear)} mm3 per million cycles")
    ]
    if knee["medial_peak_pressure_MPa"] is not None:
        area, mean = number(knee["largest_area_mm2"]), number(knee["mean_area_mm2"])
        first = f"knee: peak pressure {peaks} of the cycle; contact area up to {area} mm2, mean "
        lines.insert(0, f"{first}{mean} mm2")
    return lines
