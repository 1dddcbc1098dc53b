"""Loads from the sums of the kernels."""

from __future__ import annotations

import numpy as np

from foundation import kernels
from foundation.checks import FloatArray
from foundation.loads import AREA, CENTRE, COMPARTMENTS, LOAD_COLUMNS, MEAN_PRESSURE, ContactLoads

#: Columns of the sums after those of the loads.
DEPTH, STRAIN, ENERGY, OFFSET = range(len(LOAD_COLUMNS), kernels.SUMS)


def loads_of(sums: FloatArray) -> FloatArray:
    """Return the loads (12,) of one compartment from the kernel's sums (SUMS,) [SI]."""
    s = sums.tolist()
    # The kernel sums pressure times area, and that times the place, where loads have the means.
    area, carried = s[AREA], s[MEAN_PRESSURE]
    mean = carried / area if area > 0.0 else 0.0
    centre = [m / carried for m in s[CENTRE]] if carried > 0.0 else [np.nan] * 3
    return np.array([*s[:MEAN_PRESSURE], mean, *centre])


def contact_loads(sums: FloatArray) -> ContactLoads:
    """Return the loads of the knee from the kernel's sums (2, SUMS) [SI]."""
    flags = tuple(
        f"{name}: strain {strain:.2f} exceeds {kernels.STRAIN_LIMIT}, "
        "the femur is pressed through the layer"
        for name, strain in zip(COMPARTMENTS, sums[:, STRAIN].tolist(), strict=True)
        if strain > kernels.STRAIN_LIMIT
    )
    return ContactLoads.trusted(loads_of(sums[0]), loads_of(sums[1]), flags)
