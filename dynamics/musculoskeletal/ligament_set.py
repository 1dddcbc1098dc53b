"""Ligaments on paths: tension by strain and strain rate, as OpenSim's Blankevoort1991Ligament.

With the strain e = l / l0 - 1 and its rate e', the tension of a taut ligament is

    F = k e² / (2 t) up to the transition strain t, k (e - t / 2) beyond,
        plus c s(e) e' while the ligament stretches,

where s rises smoothly from 0 to 1 between the strains 0 and 0.01

(Blankevoort & Huiskes 1991, J Biomech Eng 113:263-269; Smith et al. 2016, J Biomech Eng
138:021017).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array, check_fields
from foundation.base.errors import InputError

#: Strain at which damping acts fully.
_FULL_DAMPING = 0.01


class LigamentTensions(NamedTuple):
    """Tensions (L,) [N] of ligaments, and derivatives by their lengths [N/m] and rates [N s/m]."""

    tension: FloatArray
    by_length: FloatArray
    by_rate: FloatArray


@dataclass(frozen=True, eq=False)
class LigamentSet:
    """L ligaments, with their stiffnesses (L,) [N]."""

    #: Names of the ligaments.
    names: tuple[str, ...]
    #: Force per unit of strain beyond the transition, k (L,) [N].
    stiffness: FloatArray
    #: Lengths at which ligaments become taut, l0 (L,) [m].
    slack_length: FloatArray
    #: Strains at which the toe of the law ends, t (L,) [1].
    transition_strain: FloatArray
    #: Damping, c (L,) [N s].
    damping: FloatArray

    def __post_init__(self) -> None:
        count = (len(self.names),)
        check_fields(
            self, stiffness=count, slack_length=count, transition_strain=count, damping=count
        )
        for name in ("slack_length", "transition_strain"):
            check_array(name, getattr(self, name), above=0.0)
        for name in ("stiffness", "damping"):
            check_array(name, getattr(self, name), at_least=0.0)

    def tensions(self, lengths: FloatArray, rates: FloatArray) -> LigamentTensions:
        """Return the tensions at lengths (L,) [m] and their rates (L,) [m/s]."""
        strain, rate = lengths / self.slack_length - 1.0, rates / self.slack_length
        taut, toe = strain > 0.0, strain < self.transition_strain
        k, t = self.stiffness, self.transition_strain
        elastic = np.where(toe, 0.5 * strain**2 / t, strain - 0.5 * t)
        slope = np.where(toe, strain / t, 1.0)
        part = np.clip(strain / _FULL_DAMPING, 0.0, 1.0)
        onset = part**3 * (10.0 - 15.0 * part + 6.0 * part**2)
        rising = 30.0 * part**2 * (1.0 - part) ** 2 / _FULL_DAMPING
        stretching = np.where(rate > 0.0, self.damping, 0.0)
        resisting, growing = stretching * onset, stretching * rising * rate
        return LigamentTensions(
            np.where(taut, k * elastic, 0.0) + resisting * rate,
            (np.where(taut, k * slope, 0.0) + growing) / self.slack_length,
            resisting / self.slack_length,
        )

    def scaled(
        self,
        *,
        stiffness: ArrayLike | None = None,
        slack_length: ArrayLike | None = None,
    ) -> Self:
        """Return ligaments with a factor, or factors (L,), of stiffness and slack length [1]."""
        factors = {"stiffness": stiffness, "slack_length": slack_length}
        changed = {}
        for name, factor in factors.items():
            if factor is None:
                continue
            array = check_array(f"factor of {name}", factor, at_least=0.0)
            if array.shape not in ((), (len(self.names),)):
                raise InputError(
                    f"factor of {name}: expected one number or {len(self.names)}, found shape "
                    f"{array.shape}"
                )
            changed[name] = getattr(self, name) * array
        return replace(self, **changed)
