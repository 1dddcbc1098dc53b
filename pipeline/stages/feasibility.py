"""Bounds of the loads that gait can produce (stage e of Lin et al. 2010)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.loads import AP_FORCE, AXIAL_FORCE, ML_FORCE, PEAK_PRESSURE
from pipeline.config.schema import FeasibilityConfig


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
