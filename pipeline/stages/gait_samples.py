"""Samples along gait: where a knee lives, which no box about a path knows.

Cycles with varied inputs are simulated with the surrogates of the last round. Poses that they pass
through, moved a little at random, at loads a little larger or smaller, are evaluated by the
original model and learnt from as well.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from pipeline import stages
from pipeline.config.simulation_schema import SimulationConfig
from pipeline.originals.protocol import OriginalModel
from pipeline.simulation import GaitSimulation
from pipeline.stages.run_folder import Run
from pipeline.store.samples import candidate_table
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.space import SampleSpace

#: Least and largest factors on axial force, AP force, torque and flexion, and the offset [m] of the
#: axial line of action.
_INPUTS = np.array([[0.7, 0.6, 0.6, 0.88, -2e-3], [1.3, 1.4, 1.4, 1.12, 2e-3]])
#: Cycles that are simulated.
_CYCLES = 64
#: Largest displacement from a pose of gait: adduction, rotation, anterior, lateral as parts of the
#: sample space's half widths.
_MOVES = np.array([0.15, 0.1, 0.1, 0.3])
#: Largest factor on a load of gait; its inverse is the least.
_LOAD_FACTOR = 1.6


def gait_samples(
    run: Run,
    original: OriginalModel,
    space: SampleSpace,
    surrogate: ContactSurrogate,
    training: pd.DataFrame,
) -> pd.DataFrame:
    """Return evaluated samples of both compartments along gait, weighted as `training_samples`.

    The table "gait" of the run keeps them, `design.gait_samples` of a compartment. The `surrogate`
    has the inverted formulation and is good enough to simulate gait with. The indices of
    `training`, the other samples, are not used again. Raises `StageError` if no cycle could be
    simulated.
    """
    config = run.config

    def make() -> pd.DataFrame:
        rng = np.random.default_rng(np.random.SeedSequence([config.run.seed, 3]))
        first = int(training["index"].max()) + 1
        count = config.design.gait_samples
        drawn = candidates_along_gait(config.simulation, space, surrogate, count, first, rng)
        return run.evaluate(drawn, original.evaluation("pose"))

    return stages.training_samples([run.table("gait", make)], config.feasibility)


def candidates_along_gait(
    config: SimulationConfig,
    space: SampleSpace,
    surrogate: ContactSurrogate,
    count: int,
    first: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return candidates near poses of gait, `count` of a compartment, at the predicted height.

    They are numbered from `first` on. Arguments and errors as of `gait_samples`; `rng` draws
    inputs, poses and loads.
    """
    states = _states(config, space, surrogate, rng)
    parts = []
    _, half = space.centre_and_half
    for k, name in enumerate(COMPARTMENTS):
        chosen = states[rng.integers(len(states), size=count)]
        poses = chosen[:, :6].copy()
        poses[:, [1, 2, 3, 5]] += half[1:5] * _MOVES * rng.uniform(-1.0, 1.0, (count, 4))
        factor = _LOAD_FACTOR ** rng.uniform(-1.0, 1.0, count)
        load = np.clip(factor * chosen[:, 6 + k], *space.load)
        at_load, _ = surrogate.compartment(name).at_load(poses, load)
        parts.append(candidate_table(at_load, load, name, first))
    return pd.concat(parts, ignore_index=True)


def _states(
    config: SimulationConfig,
    space: SampleSpace,
    surrogate: ContactSurrogate,
    rng: np.random.Generator,
) -> FloatArray:
    """Return poses and axial loads of both compartments (N, 8) along cycles of varied inputs."""
    from scipy.stats import qmc  # slow to import; a trained surrogate needs no design

    gait = GaitSimulation.of(config, space.path)
    inputs = qmc.scale(qmc.Sobol(5, rng=rng).random(_CYCLES), *_INPUTS)
    found, reason = [], ""
    for axial, ap, torque, flexion, offset in inputs:
        cycle = gait.cycle.scaled(axial=axial, ap=ap, torque=torque)
        cycle = replace(cycle, flexion=flexion * cycle.flexion)
        simulator = replace(gait.simulator, medial_offset=gait.simulator.medial_offset + offset)
        try:
            result = replace(gait, simulator=simulator)(surrogate, cycle)
        except (SimulationError, EquilibriumError) as error:
            reason = str(error)
            continue
        found.append(np.column_stack((result.poses, result.compartment_loads[:, :, 1].T))[:-1])
    if not found:
        raise stages.StageError(
            f"samples along gait: the surrogates of the last round completed 0 of {_CYCLES} cycles "
            f"(the last: {reason}); take more samples, or design.gait_samples = 0"
        )
    return np.concatenate(found)
