"""Outputs of a simulated gait cycle: scalars and waveforms in practical units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dynamics.simulator.result import SimulationResult
from dynamics.wear.cycle_wear import Wear
from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from pipeline.store.quantities import quantity_of
from pipeline.store.run_documents import Judgement

_MILLIONS = 1e6


class Output(NamedTuple):
    """Label and unit of an output, and the column that the output is made of.

    The column is one of `SimulationResult.columns`; of wear, one of the errors of a verdict
    (`pipeline.reports.verdict.own_errors`).
    """

    label: str
    unit: str
    column: str = ""

    @property
    def axis(self) -> str:
        """Label of an axis, with the unit."""
        return f"{self.label} [{self.unit}]"


#: Waveforms of a cycle, by their columns.
WAVES = {
    "anterior_mm": Output("AP position", "mm", "anterior_m"),
    "rotation_deg": Output("internal rotation", "°", "rotation_rad"),
    "adduction_deg": Output("adduction", "°", "adduction_rad"),
    "medial_force_N": Output("medial axial force", "N", "medial_force_y_N"),
    "lateral_force_N": Output("lateral axial force", "N", "lateral_force_y_N"),
}
_MOTIONS = ("anterior_mm", "rotation_deg", "adduction_deg")
#: Outputs of a cycle, by their columns.
OUTPUTS = {
    **{
        f"{part}_force_{kind}_N": Output(f"{part} axial force, {kind}", "N", f"{part}_force_y_N")
        for part in COMPARTMENTS
        for kind in ("peak", "mean")
    },
    **{
        f"{part}_peak_pressure_MPa": Output(
            f"{part} peak pressure", "MPa", f"{part}_peak_pressure_Pa"
        )
        for part in COMPARTMENTS
    },
    "area_max_mm2": Output("contact area, largest", "mm²", "total_area_m2"),
    **{
        name.replace("_", f"_{kind}_"): WAVES[name]._replace(label=f"{WAVES[name].label}, {kind}")
        for name in _MOTIONS
        for kind in ("range", "min", "max")
    },
    **{
        f"{part}_wear_mm3_per_million_cycles": Output(
            f"{part} wear", "mm³ per million cycles", f"{part}_wear"
        )
        for part in (*COMPARTMENTS, "total")
    },
}
#: Outputs with pictures and lines on the terminal.
KEY_OUTPUTS = (
    "medial_force_peak_N",
    "medial_peak_pressure_MPa",
    "anterior_range_mm",
    "rotation_range_deg",
    "total_wear_mm3_per_million_cycles",
)


def cycle_outputs(result: SimulationResult, wear: Wear) -> dict[str, float]:
    """Return the outputs of a simulated cycle and its wear, in the order of `OUTPUTS`."""
    columns, waves, percent = result.columns(), cycle_waves(result), result.gait_percent
    values = {"area_max_mm2": 1e6 * columns["total_area_m2"].max()}
    for part in COMPARTMENTS:
        force = waves[f"{part}_force_N"]
        values[f"{part}_force_peak_N"] = force.max()
        values[f"{part}_force_mean_N"] = np.trapezoid(force, percent) / np.ptp(percent)
        values[f"{part}_peak_pressure_MPa"] = peak_pressures(result, part).max()
    for name in _MOTIONS:
        for kind, statistic in (("range", np.ptp), ("min", np.min), ("max", np.max)):
            values[name.replace("_", f"_{kind}_")] = statistic(waves[name])
    volumes = zip((*COMPARTMENTS, "total"), (*wear.volume, wear.total_volume), strict=True)
    for part, volume in volumes:
        values[f"{part}_wear_mm3_per_million_cycles"] = 1e9 * _MILLIONS * volume
    return {name: float(values[name]) for name in OUTPUTS}


def model_errors(
    outputs: Mapping[str, Output], values: Mapping[str, float], judged: Judgement | None
) -> dict[str, float | None]:
    """Return the error of the contact model in values of outputs, in their units; None if unknown.

    `judged` is the verdict on the contact model (`pipeline.reports.judgement`).
    """
    errors = {} if judged is None else {error.column: error for error in judged.errors}
    found = {name: errors.get(outputs[name].column) for name in values}
    return {
        name: None if error is None else error.in_value(values[name])
        for name, error in found.items()
    }


def cycle_waves(result: SimulationResult) -> dict[str, FloatArray]:
    """Return the waveforms of a simulated cycle, (N,) each [mm, °, N], in the order of `WAVES`."""
    columns = result.columns()
    return {
        name: quantity_of(wave.column).for_people(columns[wave.column])
        for name, wave in WAVES.items()
    }


def peak_pressures(result: SimulationResult, part: str) -> FloatArray:
    """Return the peak pressure of a compartment over the cycle, (N,) [MPa]; 0 where unknown."""
    return 1e-6 * np.nan_to_num(result.columns()[f"{part}_peak_pressure_Pa"])
