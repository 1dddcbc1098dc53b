"""Bounds of stage e that come from the original model, as Lin et al. (2010) suggest."""

from __future__ import annotations

import numpy as np

from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.checks import FloatArray
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
    axial load stays. Raises `StageError` if the model cannot complete the cycle.
    """
    try:
        cycle = GaitSimulation.of(config.simulation, path)(model)
    except (EquilibriumError, SimulationError) as error:
        raise StageError(
            f"feasibility.bounds: the original model does not complete the gait cycle: {error}; "
            'set feasibility.bounds = "keys"'
        ) from error
    loads = model.loads(cycle.poses).values.reshape(-1, 12)
    factor = config.feasibility.gait_factor
    largest = largest_of(loads[loads[:, AXIAL_FORCE] > 0.0])
    found = {key: factor * value for key, value in largest.items()}
    return config.model_copy(update={"feasibility": config.feasibility.model_copy(update=found)})


def largest_of(loads: FloatArray) -> dict[str, float]:
    """Return the largest values of loads (N, 12) in contact [SI] by their key of [feasibility].

    AP and ML force over the axial load [1], and peak pressure [MPa].
    """
    ratios = np.abs(loads[:, [AP_FORCE, ML_FORCE]]) / loads[:, [AXIAL_FORCE]]
    values = [*ratios.max(axis=0).tolist(), 1e-6 * float(loads[:, PEAK_PRESSURE].max())]
    return dict(zip(("ap_ratio", "ml_ratio", "peak_pressure_MPa"), values, strict=True))
