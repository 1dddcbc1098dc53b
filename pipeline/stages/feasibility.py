"""Bounds of the loads that gait can produce (stage e of Lin et al. 2010), given or from gait."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.checks import FloatArray
from foundation.base.loads import AP_FORCE, AXIAL_FORCE, ML_FORCE, PEAK_PRESSURE
from foundation.surface_contact import SurfaceContact
from pipeline.config.schema import Config, FeasibilityConfig
from pipeline.errors import StageError
from pipeline.simulation import GaitSimulation
from surrogates.sampling.space import ReferencePath


def infeasibility(
    loads: FloatArray,
    feasibility: FeasibilityConfig,
    margin: float,
    errors: FloatArray | None = None,
) -> NDArray[np.object_]:
    """Return why loads (N, 12) [SI] are infeasible, (N,) str; "" for feasible loads.

    With standard errors (N, 12), a load must exceed a bound by `doubt` standard errors.
    """
    axial = loads[:, AXIAL_FORCE]
    error = np.zeros_like(loads) if errors is None else errors
    ap, ml = (np.abs(loads[:, k]) / axial for k in (AP_FORCE, ML_FORCE))
    ap_error, ml_error = error[:, AP_FORCE] / axial, error[:, ML_FORCE] / axial
    peak, peak_error = 1e-6 * loads[:, PEAK_PRESSURE], 1e-6 * error[:, PEAK_PRESSURE]
    low, high = feasibility.load_N
    reason = np.full(len(loads), "", dtype=object)
    # Name, unit, values, standard errors and largest value.
    for name, unit, value, doubt, limit in (
        ("AP force over axial load", "", ap, ap_error, feasibility.ap_ratio),
        ("ML force over axial load", "", ml, ml_error, feasibility.ml_ratio),
        ("peak pressure", " MPa", peak, peak_error, feasibility.peak_pressure_MPa),
        ("axial load", " N", axial, np.zeros(len(axial)), high),
    ):
        surely = value - feasibility.doubt * doubt
        for k in np.flatnonzero((surely > (1.0 + margin) * limit) & (reason == "")):
            reason[k] = f"{name} {value[k]:.3g}{unit} above {limit:g}{unit}"
    for k in np.flatnonzero((axial < (1.0 - margin) * low) & (reason == "")):
        reason[k] = f"axial load {axial[k]:.3g} N below {low:g} N"
    return reason


def with_gait_bounds(config: Config, model: SurfaceContact, path: ReferencePath) -> Config:
    """Return a configuration whose bounds are `gait_factor` times the loads of its gait cycle."""
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
    """Return the largest ratios [1] and peak pressure [MPa] of loads (N, 12) [SI] in contact."""
    ratios = np.abs(loads[:, [AP_FORCE, ML_FORCE]]) / loads[:, [AXIAL_FORCE]]
    values = [*ratios.max(axis=0).tolist(), 1e-6 * float(loads[:, PEAK_PRESSURE].max())]
    return dict(zip(("ap_ratio", "ml_ratio", "peak_pressure_MPa"), values, strict=True))
