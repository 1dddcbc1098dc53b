"""Loads from the struct `sums` of `foundation/core/contact.h`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.loads import AREA, CENTRE, MEAN_PRESSURE
from foundation.core.library import CONTACT_SUMS

#: Places of the largest indentation [m], the largest strain [1], the energy [J] and the offset of
#: the patch [m]; before them, the sums have the order of the loads.
DEPTH, STRAIN, ENERGY, OFFSET = range(12, CONTACT_SUMS)


class SpringSums(NamedTuple):
    """Sums (SUMS,) [SI] of a compartment, and derivative (6, 6) of its wrench by the pose."""

    sums: FloatArray
    jacobian: FloatArray

    @property
    def loads(self) -> FloatArray:
        """Loads (12,) [N, N m, m², Pa, m]."""
        s = self.sums.tolist()
        # The library sums pressure times area, and that times the place; loads have the means.
        area, carried = s[AREA], s[MEAN_PRESSURE]
        mean = carried / area if area > 0.0 else 0.0
        centre = [m / carried for m in s[CENTRE]] if carried > 0.0 else [np.nan] * 3
        return np.array([*s[:MEAN_PRESSURE], mean, *centre])

    @property
    def depth(self) -> FloatArray:
        """Largest indentation [m] and largest strain [1], (2,)."""
        return self.sums[DEPTH:ENERGY]

    @property
    def energy(self) -> float:
        """Elastic energy [J]."""
        return float(self.sums[ENERGY])
