"""Bounds of stage e that come from the original model, as Lin et al. (2010) suggest."""

from __future__ import annotations

import numpy as np

from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.loads import AP_FORCE, AXIAL_FORCE, ML_FORCE, PEAK_PRESSURE
from foundation.surface_contact import SurfaceContact
from pipeline.config.schema import Config
from pipeline.errors import StageError
from pipeline.simulation import GaitSimulation
from surrogates.sampling.space import ReferencePath


def with_gait_bounds(config: Config, model: SurfaceContact, path: ReferencePath) -> Config:
    """Return a configuration with the bounds of its gait cycle, simulated with a contact model.

    The bounds are `gait_factor` times the largest AP and ML force over the axial load, and the
    largest peak pressure, of any compartment that carries load, over the cycle. The range of the
    axial load stays.

    Raises
    ------
    StageError
        If the model cannot complete the cycle.
    """
    try:
        cycle = GaitSimulation.of(config.simulation, path)(model)
    except (EquilibriumError, SimulationError) as error:
        raise StageError(
            f"feasibility.bounds: the original model does not complete the gait cycle: {error}; "
            'set feasibility.bounds = "keys"'
        ) from error
    loads = model.evaluate_batch(cycle.poses).reshape(-1, 12)
    loads = loads[loads[:, AXIAL_FORCE] > 0.0]
    ratios = np.abs(loads[:, [AP_FORCE, ML_FORCE]]) / loads[:, [AXIAL_FORCE]]
    largest = np.array([*ratios.max(axis=0), 1e-6 * loads[:, PEAK_PRESSURE].max()])
    bounds = (config.feasibility.gait_factor * largest).tolist()
    found = dict(zip(("ap_ratio", "ml_ratio", "peak_pressure_MPa"), bounds, strict=True))
    return config.model_copy(update={"feasibility": config.feasibility.model_copy(update=found)})
