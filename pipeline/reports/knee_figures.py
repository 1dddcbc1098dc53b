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


def knee_of(files: RunFiles) -> dict[str, Any] | None:
    """Return the figures of the knee over the cycle of the original, or of the surrogate alone.

    None without a simulated cycle. A figure is None if the original model, a table, does not
    contain its quantity. The medial share is that of the impulse over the cycle; `wear_note` is the
    reason if no wear is shown.
    """
    if not files.cycles:
        return None
    model, cycle = next(iter(files.cycles.items()))
    at = cycle["gait_percent"].to_numpy()
    pressures = {}
    for name in COMPARTMENTS:
        pressure = _column(cycle, f"{name}_peak_pressure_Pa")
        pressures[f"{name}_peak_pressure_MPa"] = _largest(pressure, 1e-6)
        pressures[f"{name}_peak_pressure_at_percent"] = _largest_at(pressure, at)
    area = _column(cycle, "total_area_m2")
    motion: dict[str, float] = {}
    for name, (column, unit) in _MOTIONS.items():
        values = QUANTITIES[column].for_people(cycle[column])
        low, high = float(values.min()), float(values.max())
        motion |= {f"{name}_range_{unit}": high - low, f"{name}_least_{unit}": low}
        motion[f"{name}_largest_{unit}"] = high
    return {
        "model": model,
        **pressures,
        "largest_area_mm2": _largest(area, 1e6),
        "largest_area_at_percent": _largest_at(area, at),
        "mean_area_mm2": None if area is None else 1e6 * mean_over_cycle(area, at),
        **motion,
        **_shares(cycle, at),
        "wear_mm3_per_million_cycles": _wear(files),
        "wear_note": _wear_note(files),
    }


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


def _shares(cycle: pd.DataFrame, at: FloatArray) -> dict[str, float | None]:
    """Return the part of the axial force that the medial compartment bears [%], and the force."""
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


def _wear(files: RunFiles) -> float | None:
    """Return the worn volume of the original per million cycles [mm³], None if none is shown."""
    if files.wear is None or not wears(files.config["contact"]):
        return None
    volume = float(files.wear.volume_m3[MODELS.index("original")].sum())
    return 1e6 * 1e9 * volume


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


def knee_lines(knee: Mapping[str, Any] | None) -> list[str]:
    """Return the lines for the terminal, in units of ASCII characters."""
    if knee is None:
        return []
    wear, share = knee["wear_mm3_per_million_cycles"], number(knee["medial_share_percent"])
    lines = [
        f"knee: AP travel {number(knee['anterior_range_mm'])} mm, rotation "
        f"{number(knee['rotation_range_deg'])} deg, medial share of the load {share} %"
        + ("" if wear is None else f", wear {number(wear)} mm3 per million cycles")
    ]
    if knee["medial_peak_pressure_MPa"] is not None:
        peaks = ", ".join(
            f"{name} {number(knee[f'{name}_peak_pressure_MPa'])} MPa at "
            f"{number(knee[f'{name}_peak_pressure_at_percent'], 2)} %"
            for name in COMPARTMENTS
        )
        lines.insert(
            0,
            f"knee: peak pressure {peaks} of the cycle; contact area up to "
            f"{number(knee['largest_area_mm2'])} mm2, mean {number(knee['mean_area_mm2'])} mm2",
        )
    return lines
