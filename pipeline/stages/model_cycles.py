"""Gait cycles of contact models: driven with their wear, outputs, and compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dynamics.protocol import ContactModel
from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from dynamics.simulator.result import SimulationResult
from dynamics.wear.cycle_wear import Patch, Wear, WearLaw, bed_wear, measured_patch, surrogate_wear
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError, PoseError
from foundation.base.loads import COMPARTMENTS
from foundation.surface_contact import SurfaceContact
from pipeline.simulation import cycle_differences
from pipeline.store.quantities import quantity_of
from pipeline.store.run_documents import Judgement

#: Errors of a cycle that become the reason of its failure; others are faults of the program.
FAILURES = (
    *(SimulationError, EquilibriumError, InputError, PoseError, ArithmeticError),
    np.linalg.LinAlgError,
)
#: Simulation of the cycle with a contact model.
Drive = Callable[[ContactModel], SimulationResult]


@dataclass(frozen=True, eq=False)
class ModelCycle:
    """The gait cycle that a contact model drives, with wear by its pressures or by its loads."""

    model: ContactModel
    result: SimulationResult
    law: WearLaw
    given: Patch | None = None

    @cached_property
    def patch(self) -> Patch:
        """Contact patches over the cycle."""
        if isinstance(self.model, SurfaceContact):
            return measured_patch(self.model, self.result)
        return Patch(np.ones(2), None) if self.given is None else self.given

    @cached_property
    def wear(self) -> Wear:
        """Wear of the cycle."""
        if isinstance(self.model, SurfaceContact):
            return bed_wear(self.model, self.result, self.law)
        patch = self.patch if self.law.by_point else self.patch._replace(tibia=None)
        return surrogate_wear(self.result, self.law, **patch._asdict())

    @cached_property
    def outputs(self) -> dict[str, float]:
        """Outputs of the cycle, by the names of `pipeline.stages.model_cycles.OUTPUTS`."""
        return cycle_outputs(self.result, self.wear)


class Comparison(NamedTuple):
    """Gait cycles by the names of their models, and reasons of the models without one."""

    cycles: dict[str, ModelCycle]
    failures: dict[str, str]

    @property
    def errors(self) -> dict[str, float]:
        """Errors of the surrogate, as of `cycle_errors`; none without the cycles of both models."""
        if self.failures or not self.cycles.keys() >= {"original", "surrogate"}:
            return {}
        return cycle_errors(self.cycles["original"], self.cycles["surrogate"])


def compare(
    models: Mapping[str, Callable[[], ContactModel]],
    drive: Drive,
    law: WearLaw,
    patch: Patch | None = None,
) -> Comparison:
    """Drive the gait cycle with each model, which a function makes, in their order.

    Models without surfaces have the contact patches `patch`, by default those of the first with.
    """
    cycles, failures = dict[str, ModelCycle](), dict[str, str]()
    for name, make in models.items():
        given = patch
        if given is None:
            measured = (c for c in cycles.values() if isinstance(c.model, SurfaceContact))
            given = next((cycle.patch for cycle in measured), None)
        try:
            model = make()
            cycle = ModelCycle(model, drive(model), law, given)
            cycle.outputs  # noqa: B018  # The wear may fail too.
        except FAILURES as error:
            failures[name] = " ".join(str(error).split())
        else:
            cycles[name] = cycle
    return Comparison(cycles, failures)


def cycle_errors(truth: ModelCycle, other: ModelCycle) -> dict[str, float]:
    """Return the errors of a model over a cycle [%], the worse compartment's."""
    differences = cycle_differences(truth.result, other.result)
    travel, wear = "anterior_range_mm", "total_wear_mm3_per_million_cycles"

    def worst(column: str) -> float:
        found = [differences[f"{name}_{column}"] for name in COMPARTMENTS]
        return max(100.0 * each.rms / max(each.peak, np.finfo(float).tiny) for each in found)

    return {
        "gait_force_percent": worst("force_y_N"),
        "ap_travel_percent": _relative(truth.outputs[travel], other.outputs[travel]),
        "wear_percent": _relative(truth.outputs[wear], other.outputs[wear]),
        "peak_percent": worst("peak_pressure_Pa"),
    }


def _relative(truth: float, other: float) -> float:
    return 100.0 * abs(other - truth) / max(abs(truth), np.finfo(float).tiny)


def flag_texts(result: SimulationResult) -> list[str]:
    """Return the flags of a simulation in words, with their share of the reported instants."""
    instants = len(result.time)
    return [
        f"{each.flag} at {each.time:.3f} s, the first of {each.samples} instants "
        f"({100.0 * each.samples / instants:.0f} % of the cycle)"
        for each in result.flags
    ]


_MILLIONS = 1e6


class Output(NamedTuple):
    """Label and unit of an output, and the column of the cycle that the output is made of."""

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
        values[f"{part}_peak_pressure_MPa"] = 1e-6 * np.max(
            np.nan_to_num(columns[f"{part}_peak_pressure_Pa"])
        )
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
    """Return the error of the `judged` contact model in values of outputs; None if unknown."""
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
