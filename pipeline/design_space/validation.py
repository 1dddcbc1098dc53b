"""Validation over designs: errors at held-out and unseen designs, and of derivatives.

The exact derivatives of the surrogate, at poses of feasible samples of some designs, are compared
with central differences of the contact models of neighbouring designs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import AXIAL_FORCE
from foundation.base.pose import Pose
from pipeline.config.designs import design_space_of
from pipeline.config.schema import Config
from pipeline.design_space.design_contact import design_knee
from pipeline.design_space.design_gait import cycle_document, fitted_patch
from pipeline.design_space.drawn_designs import HELD_OUT, UNSEEN, parameters_of
from pipeline.design_space.errors import (
    doubts,
    expected_errors,
    feasible_samples,
    fitted_errors,
    sample_errors,
    scaled_designs,
)
from pipeline.design_space.sampling import DOMAIN_SPREAD, candidates_within, evaluated
from pipeline.stages import infeasibility
from pipeline.stages.domains import limits_of
from pipeline.stages.run_folder import Run
from pipeline.store.samples import loads_of, poses_of, usable
from surrogates.formulations.domain_fit import DomainSamples
from surrogates.parametric.compartment import ParametricCompartment, ParametricSpace
from surrogates.parametric.domain_fit import fit_parametric_domain
from surrogates.parametric.surrogate import ParametricSurrogate

#: Samples of each compartment within a held-out design, over those of a design that is learnt.
_HELD_OUT_PART = 0.5


class JudgedDesign(NamedTuple):
    """A design with measured errors and the gait cycle of both models.

    `cycle` is that of `cycle_document`; `expected` and `doubts` of held-out designs alone.
    """

    design: int
    values: dict[str, float]
    errors: dict[str, float]
    cycle: dict[str, Any]
    expected: dict[str, float]
    doubts: list[str]

    def content(self) -> dict[str, Any]:
        """Return the content for JSON."""
        return self._asdict()


def held_out_samples(run: Run, designs: pd.DataFrame, space: ParametricSpace) -> pd.DataFrame:
    """Return evaluated samples of the held-out designs."""
    chosen = designs[designs["use"] == HELD_OUT]
    count = max(round(_HELD_OUT_PART * design_space_of(run.config).poses), 20)

    def make() -> pd.DataFrame:
        return evaluated(run, candidates_within(run.config, chosen, space, count))

    return run.table("heldout", make)


def with_domains(
    run: Run, knee: ParametricSurrogate, designs: pd.DataFrame, unseen: pd.DataFrame
) -> ParametricSurrogate:
    """Return the surrogate with its trained domain, from samples of unseen designs."""
    jobs = [
        (run.config, part, designs, usable(unseen, name)) for name, part in knee.by_name.items()
    ]
    parts = run.execution.map(_domain, jobs)
    return replace(knee, by_name=dict(zip(knee.compartments, parts, strict=True)))


def _domain(
    config: Config, part: ParametricCompartment, designs: pd.DataFrame, rows: pd.DataFrame
) -> ParametricCompartment:
    parameters = parameters_of(config)
    limits, bounds = limits_of(config.feasibility), config.feasibility
    values = designs.set_index("design").loc[rows["design"], list(parameters.names)]
    z = parameters.scaled_rows(values.to_numpy(float)).reshape(len(rows), len(parameters))
    loads = loads_of(rows)
    feasible = infeasibility(loads, bounds, 0.0) == ""
    samples = DomainSamples(poses_of(rows), loads, feasible)
    return fit_parametric_domain(part, z, samples, limits, bounds.margin)


def judged_designs(
    run: Run, knee: ParametricSurrogate, designs: pd.DataFrame, samples: pd.DataFrame, use: str
) -> list[JudgedDesign]:
    """Return the errors of the surrogate at designs of a use, in samples and gait cycles."""
    config, names = run.config, list(parameters_of(run.config).names)
    chosen = designs[designs["use"] == use]
    values = [dict(zip(names, map(float, row), strict=True)) for row in chosen[names].to_numpy()]
    numbers = chosen["design"].astype(int).tolist()
    cycles = run.execution.map(cycle_document, [(config, knee, each) for each in values])
    found = []
    for number, own, cycle in zip(numbers, values, cycles, strict=True):
        rows = samples[samples["design"] == number]
        spread = DOMAIN_SPREAD if use == UNSEEN else 1.0
        errors = sample_errors(config, knee.at(own), rows, spread) | cycle.get("errors", {})
        expected = expected_errors(knee, own)
        found.append(JudgedDesign(number, own, errors, cycle, expected, doubts(expected)))
    return found


def with_expected_errors(
    run: Run, knee: ParametricSurrogate, designs: pd.DataFrame, samples: pd.DataFrame
) -> tuple[ParametricSurrogate, list[JudgedDesign]]:
    """Return the surrogate with expected errors and contact patches, and the unseen designs."""
    judged = judged_designs(run, knee, designs, samples, UNSEEN)
    z = scaled_designs(run.config, designs[designs["use"] == UNSEEN])
    header: dict[str, Any] = dict(knee.header)
    if judged:
        errors = [_without_flagged_gait(each) for each in judged]
        header |= fitted_errors(knee, [each.values for each in judged], errors)
    patches = {k: each.cycle["patch"] for k, each in enumerate(judged) if "patch" in each.cycle}
    if patches:
        header |= fitted_patch(z[list(patches)], np.array(list(patches.values())))
    return replace(knee, header=header), judged


def _without_flagged_gait(judged: JudgedDesign) -> dict[str, float]:
    """Return the errors of a design, without those of a gait cycle that is flagged anyway."""
    if not judged.cycle.get("flagged", 0):
        return judged.errors
    of_gait = judged.cycle["errors"]
    return {name: size for name, size in judged.errors.items() if name not in of_gait}


#: Held-out designs, and samples of each compartment within a design.
_DESIGNS, _SAMPLES = 4, 20
#: Step of the central differences, over the range of a parameter.
_STEP = 0.02


def derivative_errors(
    run: Run, knee: ParametricSurrogate, designs: pd.DataFrame, samples: pd.DataFrame
) -> dict[str, dict[str, float]]:
    """Return, by parameter, how far d(axial force of a compartment)/d(parameter) at a pose is off.

    RMS over designs and samples: "error" and "size" of the derivative of the original model [N per
    unit of the parameter], and "percent", their ratio. `designs` are all, `samples` those of
    held-out ones.
    """
    names = list(knee.parameters.names)
    widths = knee.parameters.high - knee.parameters.low
    found, jobs = list[FloatArray](), []
    for _, row in designs[designs["use"] == HELD_OUT].head(_DESIGNS).iterrows():
        values = row[names].to_numpy(float)
        own = samples[samples["design"] == row["design"]]
        poses = {
            part: feasible_samples(run.config, own, part)[0][:_SAMPLES]
            for part in knee.compartments
        }
        slopes = [
            knee.loads_and_slopes(at, values)[1][:, k, AXIAL_FORCE]
            for k, at in enumerate(poses.values())
        ]
        found += list(np.concatenate(slopes).T)  # (N,) of each parameter
        for step in np.diag(_STEP * widths):
            ends = [knee.parameters.named(values + sign * step) for sign in (1.0, -1.0)]
            jobs.append((run.config, *ends, poses))
    changes = run.execution.map(_change, jobs)
    errors = {}
    for p, name in enumerate(names):
        every = slice(p, None, len(names))
        truth = np.concatenate([[], *changes[every]]) / (2.0 * _STEP * widths[p])
        miss = np.concatenate([[], *found[every]]) - truth
        known = np.isfinite(truth)
        if known.any():
            size, error = (float(np.sqrt(np.mean(x[known] ** 2))) for x in (truth, miss))
            errors[name] = {"error": error, "size": size, "percent": 100.0 * error / (size or 1.0)}
    return errors


def _change(
    config: Config,
    above: Mapping[str, float],
    below: Mapping[str, float],
    poses: Mapping[str, FloatArray],
) -> FloatArray:
    """Return by how much axial forces of two designs differ at poses (N, 6) of compartments, (N,).

    In newtons; NaN if a design has no contact model.
    """
    forces = []
    for values in (above, below):
        try:
            model = design_knee(config, values).model
        except InputError:
            return np.full(sum(map(len, poses.values())), np.nan)
        loads = [
            model.compartment_loads(Pose.from_array(pose), part)[0][AXIAL_FORCE]
            for part, at in poses.items()
            for pose in at
        ]
        forces.append(np.array(loads))
    return np.asarray(forces[0] - forces[1])
