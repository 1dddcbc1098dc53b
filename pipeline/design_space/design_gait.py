"""Gait cycles of designs by the original model and by the surrogate, and their differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from dynamics.protocol import ContactModel
from dynamics.wear.wear_map import Patch
from foundation.base.checks import FloatArray
from foundation.surface_contact import SurfaceContact
from pipeline.config.schema import Config
from pipeline.design_space.design_contact import design_knee
from pipeline.simulation import GaitSimulation
from pipeline.stages.model_cycles import Comparison, compare
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.parametric.parameters import Design
from surrogates.parametric.smooth_array import SmoothArray
from surrogates.parametric.surrogate import ParametricSurrogate

#: Key of the header of a surrogate with aspect and ratio of the contact patches.
_PATCH = "wear_patch"
#: Models of a design.
BOTH = ("original", "surrogate")


class OwnModels(NamedTuple):
    """Surrogate and original model of a knee, in place of those of its design."""

    surrogate: ContactSurrogate | None = None
    original: SurfaceContact | None = None


#: The models of the design itself.
OF_DESIGN = OwnModels()


def gait_of_design(config: Config, knee: ParametricSurrogate, design: Design) -> GaitSimulation:
    """Return the gait cycle of a design about its reference path."""
    return GaitSimulation.of(config.simulation, knee.path(design))


def compared_cycles(
    config: Config,
    knee: ParametricSurrogate,
    values: Mapping[str, float],
    models: tuple[str, ...] = BOTH,
    own: OwnModels = OF_DESIGN,
) -> Comparison:
    """Return the gait cycles of a design by models of `BOTH`; `own` stand for those given."""

    def original() -> ContactModel:
        return design_knee(config, values).model if own.original is None else own.original

    def surrogate() -> ContactModel:
        return knee.at(values) if own.surrogate is None else own.surrogate

    makes = {"original": original, "surrogate": surrogate}
    gait = gait_of_design(config, knee, values)
    chosen = {name: makes[name] for name in models}
    return compare(chosen, gait, gait.wear_law, patch_at(knee, values))


def cycle_document(
    config: Config, knee: ParametricSurrogate, values: Mapping[str, float]
) -> dict[str, Any]:
    """Return the outputs of both models for a design, and the errors of the surrogate.

    These are "reason" (why there are no results, or ""), "original" and "surrogate" outputs,
    "errors" by `cycle_errors` [%], "flagged" instants and "instants" of the surrogate, and "patch"
    (4,) of the original model [1].
    """
    found = compared_cycles(config, knee, values)
    if found.failures:
        return {"reason": next(iter(found.failures.values()))}
    original, surrogate = (found.cycles[name] for name in BOTH)
    aspect, ratio = original.patch
    ratio = np.ones(2) if ratio is None else ratio
    return {
        "reason": "",
        "original": original.outputs,
        "surrogate": surrogate.outputs,
        "errors": found.errors,
        "flagged": surrogate.result.flagged,
        "instants": len(surrogate.result.time),
        "statistics": asdict(surrogate.result.statistics),
        "patch": [*aspect.tolist(), *ratio.tolist()],
    }


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
