"""Loads from the sums of the kernels."""

from __future__ import annotations

import numpy as np

from foundation import kernels
from foundation.base.checks import FloatArray
from foundation.base.loads import AREA, CENTRE, LOAD_COLUMNS, MEAN_PRESSURE, ContactLoads

#: Columns of the sums after those of the loads.
DEPTH, STRAIN, ENERGY, OFFSET = range(len(LOAD_COLUMNS), kernels.SUMS)


def no_sums(compartments: int) -> tuple[FloatArray, FloatArray]:
    """Return sums (C, SUMS) [SI] and Jacobians (C, 6, 6) [SI] of nothing."""
    return np.zeros((compartments, kernels.SUMS)), np.zeros((compartments, 6, 6))


def loads_of(sums: FloatArray) -> FloatArray:
    """Return the loads (12,) of one compartment from the kernel's sums (SUMS,) [SI]."""
    s = sums.tolist()
    # The kernel sums pressure times area, and that times the place, where loads have the means.
    area, carried = s[AREA], s[MEAN_PRESSURE]
    mean = carried / area if area > 0.0 else 0.0
    centre = [m / carried for m in s[CENTRE]] if carried > 0.0 else [np.nan] * 3
    return np.array([*s[:MEAN_PRESSURE], mean, *centre])


def contact_loads(
    sums: FloatArray, names: tuple[str, ...], others: tuple[str, ...] = ()
) -> ContactLoads:
    """Return the loads of the named compartments from the kernel's sums (C, SUMS) [SI].

    With the flags `others`, besides those of strain.
    """
    flags = tuple(
        f"{name}: strain {strain:.2f} exceeds {kernels.STRAIN_LIMIT}, "
        "the femur is pressed through the layer"
        for name, strain in zip(names, sums[:, STRAIN].tolist(), strict=True)
        if strain > kernels.STRAIN_LIMIT
    )
    return ContactLoads.trusted_parts(tuple(map(loads_of, sums)), names, flags + others)
