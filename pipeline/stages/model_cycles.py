"""Gait cycles of contact models: driven with their wear, and compared."""

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
from dynamics.wear.cycle_wear import Wear, WearLaw, bed_wear, surrogate_wear
from dynamics.wear.wear_map import Patch, measured_patch
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError, PoseError
from foundation.base.loads import COMPARTMENTS
from foundation.surface_contact import SurfaceContact
from pipeline.stages.cycle_outputs import cycle_outputs

#: Errors of a cycle that become the reason of its failure; others are faults of the program.
FAILURES = (
    *(SimulationError, EquilibriumError, InputError, PoseError, ArithmeticError),
    np.linalg.LinAlgError,
)
#: Simulation of the cycle with a contact model.
Drive = Callable[[ContactModel], SimulationResult]


@dataclass(frozen=True, eq=False)
class ModelCycle:
    """The gait cycle that a contact model drives, with the wear of the insert.

    The wear is that of the pressures of a model with surfaces, and of the loads of other models,
    with contact patches that are `given`.
    """

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
        return surrogate_wear(self.result, self.law, **self.patch._asdict())

    @cached_property
    def outputs(self) -> dict[str, float]:
        """Outputs of the cycle, by the names of `pipeline.stages.cycle_outputs.OUTPUTS`."""
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

    Models without surfaces have the contact patches `patch`, by default those of the cycle of the
    first model with surfaces.
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
    """Return the errors of a model over a cycle [%], the worse compartment's.

    RMS of the axial forces over their peak, of the peak pressures over their largest value, and of
    AP travel and wear the relative difference.
    """
    columns = truth.result.columns(), other.result.columns()
    travel, wear = "anterior_range_mm", "total_wear_mm3_per_million_cycles"

    def worst(column: str) -> float:
        return max(
            _rms_over_peak(*(each[f"{name}_{column}"] for each in columns)) for name in COMPARTMENTS
        )

    return {
        "gait_force_percent": worst("force_y_N"),
        "ap_travel_percent": _relative(truth.outputs[travel], other.outputs[travel]),
        "wear_percent": _relative(truth.outputs[wear], other.outputs[wear]),
        "peak_percent": worst("peak_pressure_Pa"),
    }


def _rms_over_peak(truth: FloatArray, other: FloatArray) -> float:
    truth, other = np.nan_to_num(truth), np.nan_to_num(other)
    peak = max(float(np.abs(truth).max()), np.finfo(float).tiny)
    return 100.0 * float(np.sqrt(np.mean((other - truth) ** 2))) / peak


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
