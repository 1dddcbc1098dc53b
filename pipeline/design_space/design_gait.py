"""Gait cycles of designs by the original model and by the surrogate, and their differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from dynamics.simulator.result import SimulationResult
from dynamics.wear.cycle_wear import bed_wear, surrogate_wear
from dynamics.wear.wear_map import Patch, measured_patch
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from foundation.surface_contact import SurfaceContact
from pipeline.config.schema import Config
from pipeline.design_space.design_contact import design_knee
from pipeline.simulation import GaitSimulation
from pipeline.stages.cycle_outputs import cycle_outputs
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.parametric.parameters import Design
from surrogates.parametric.smooth_array import SmoothArray
from surrogates.parametric.surrogate import ParametricSurrogate

#: Key of the header of a surrogate with aspect and ratio of the contact patches.
_PATCH = "wear_patch"
#: Errors that end a simulation.
FAILURES = (SimulationError, EquilibriumError, InputError)


class DesignCycle(NamedTuple):
    """A gait cycle of a design by one model: result, outputs, and number of flagged instants."""

    result: SimulationResult
    outputs: dict[str, float]


def gait_of_design(config: Config, knee: ParametricSurrogate, design: Design) -> GaitSimulation:
    """Return the gait cycle of a design about its reference path."""
    return GaitSimulation.of(config.simulation, knee.path(design))


def surrogate_cycle(
    config: Config,
    knee: ParametricSurrogate,
    design: Design,
    own: ContactSurrogate | None = None,
) -> DesignCycle:
    """Return the cycle of a design by the surrogate; raises one of `FAILURES`.

    `own` stands for the surrogate of the design, if it is given.
    """
    gait = gait_of_design(config, knee, design)
    result = gait(knee.at(design) if own is None else own)
    patch = patch_at(knee, design)
    wear = surrogate_wear(result, gait.wear_law, aspect=patch.aspect, ratio=patch.ratio)
    return DesignCycle(result, cycle_outputs(result, wear))


def original_cycle(
    config: Config,
    knee: ParametricSurrogate,
    values: Mapping[str, float],
    model: SurfaceContact | None = None,
) -> tuple[DesignCycle, Patch]:
    """Return the cycle of a design by the original model; raises one of `FAILURES`.

    `model` stands for the contact model of the design, if it is given.
    """
    gait = gait_of_design(config, knee, values)
    if model is None:
        model = design_knee(config, values).model
    result = gait(model)
    wear = bed_wear(model, result, gait.wear_law)
    return DesignCycle(result, cycle_outputs(result, wear)), measured_patch(model, result)


def compared_cycles(
    config: Config, knee: ParametricSurrogate, values: Mapping[str, float]
) -> dict[str, Any]:
    """Return the outputs of both models for a design, and the errors of the surrogate.

    These are "reason" (why there are no results, or ""), "original" and "surrogate" outputs,
    "errors" by `CYCLE_ERRORS` [%], "flagged" instants and "instants" of the surrogate, and "patch"
    (4,) of the original model [1].
    """
    try:
        original, patch = original_cycle(config, knee, values)
        surrogate = surrogate_cycle(config, knee, values)
    except FAILURES as error:
        return {"reason": " ".join(str(error).split())}
    ratio = np.ones(2) if patch.ratio is None else patch.ratio
    return {
        "reason": "",
        "original": original.outputs,
        "surrogate": surrogate.outputs,
        "errors": cycle_errors(original, surrogate),
        "flagged": surrogate.result.flagged,
        "instants": len(surrogate.result.time),
        "statistics": asdict(surrogate.result.statistics),
        "patch": [*patch.aspect.tolist(), *ratio.tolist()],
    }


def cycle_errors(original: DesignCycle, surrogate: DesignCycle) -> dict[str, float]:
    """Return the errors of the surrogate over a cycle [%], the worse compartment's.

    RMS of the axial forces over their peak, of the peak pressures over their largest value, and of
    AP travel and wear the relative difference.
    """
    truth, other = original.result.columns(), surrogate.result.columns()
    travel, wear = "anterior_range_mm", "total_wear_mm3_per_million_cycles"
    return {
        "gait_force_percent": max(
            _rms_over_peak(truth[f"{name}_force_y_N"], other[f"{name}_force_y_N"])
            for name in COMPARTMENTS
        ),
        "ap_travel_percent": _relative(original.outputs[travel], surrogate.outputs[travel]),
        "wear_percent": _relative(original.outputs[wear], surrogate.outputs[wear]),
        "peak_percent": max(
            _rms_over_peak(truth[f"{name}_peak_pressure_Pa"], other[f"{name}_peak_pressure_Pa"])
            for name in COMPARTMENTS
        ),
    }


def _rms_over_peak(truth: FloatArray, other: FloatArray) -> float:
    truth, other = np.nan_to_num(truth), np.nan_to_num(other)
    peak = max(float(np.abs(truth).max()), np.finfo(float).tiny)
    return 100.0 * float(np.sqrt(np.mean((other - truth) ** 2))) / peak


def _relative(truth: float, other: float) -> float:
    return 100.0 * abs(other - truth) / max(abs(truth), np.finfo(float).tiny)


def fitted_patch(z: FloatArray, patches: FloatArray) -> dict[str, Any]:
    """Return the entry of a header for patches (N, 4) of designs z (N, P) [1]."""
    found = SmoothArray.fit(z, patches)
    return {_PATCH: {key: array.tolist() for key, array in found.to_arrays().items()}}


def patch_at(knee: ParametricSurrogate, design: Design) -> Patch:
    """Return aspect and ratio of the contact patches of a design, for wear."""
    stored = knee.header.get(_PATCH)
    if stored is None:
        return Patch(np.ones(2), None)
    arrays = {
        "exponents": np.array(stored["exponents"], dtype=np.int64),
        "coefficients": np.array(stored["coefficients"], dtype=np.float64),
    }
    values = SmoothArray.from_arrays(arrays).at(knee.parameters.scaled(design))
    return Patch(values[:2], values[2:])
