"""Errors of the derivatives by the parameters, measured at held-out designs.

The exact derivatives of the surrogate, at poses of feasible samples of some designs, are compared
with central differences of the contact models of neighbouring designs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import AXIAL_FORCE
from foundation.base.pose import Pose
from pipeline.config.schema import Config
from pipeline.design_space.design_contact import design_knee
from pipeline.design_space.drawn_designs import HELD_OUT
from pipeline.design_space.errors import feasible_samples
from pipeline.stages.run_folder import Run
from surrogates.parametric.surrogate import ParametricSurrogate

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
