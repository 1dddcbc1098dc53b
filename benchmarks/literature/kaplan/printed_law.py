"""Penalty contact of Kaplan, Hovey & Heegaard as printed: one ε and one β in both directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics.mechanics.ground import PenaltyGround
from foundation.base.checks import FloatArray

#: Time in which a point off the ground forgets its tangential distance [s].
_FORGOTTEN = 1e-3


@dataclass(frozen=True)
class PrintedGround(PenaltyGround):
    """Ground with the forces of eq. 3 and 4, which may pull and pass Coulomb's limit.

    The deflection of `simulate_strike` is the tangential distance d_t of a point from where the
    point touched the ground.

    Parameters
    ----------
    literal : bool
        Whether the direction of friction is ḋ_t/‖d_t‖ as printed, with seconds as the unit of time,
        and not ḋ_t/‖ḋ_t‖.
    reversal_speed : float
        v₀ of the direction ḋ_t/√(ḋ_t² + v₀²) [m/s], which the law leaves open at ḋ_t = 0.
    """

    literal: bool = False
    reversal_speed: float = 1e-3

    def bound(self, gap: FloatArray, distance: FloatArray) -> FloatArray:
        """Return min(-μ d_n/ε, ‖d_t‖/ε), (P,) [N], at heights and tangential distances (P,) [m]."""
        limit = self.friction.coefficient * np.maximum(-gap, 0.0)
        return np.minimum(limit, np.abs(distance)) / self.compliance

    def tangential_force(
        self, gap: FloatArray, distance: FloatArray, slip: FloatArray
    ) -> FloatArray:
        """Return F_t (P,) [N] at heights, tangential distances (P,) [m] and velocities [m/s]."""
        if self.literal:
            size = np.maximum(np.abs(distance), 1e-12)
        else:
            size = np.hypot(slip, self.reversal_speed)
        return -slip / size * self.bound(gap, distance) - self.damping * slip

    def contact_forces(
        self,
        gap: FloatArray,
        rate: FloatArray,
        deflection: FloatArray,
        closed: NDArray[np.bool_],
    ) -> tuple[FloatArray, FloatArray]:
        """Return the forces of eq. 4 and 3 (P, 2) [N], and the rate of d_t (P,) [m/s].

        Arguments as of `PenaltyGround.contact_forces`.
        """
        normal = -gap / self.compliance - self.damping * rate[:, 1]
        tangential = self.tangential_force(gap, deflection, rate[:, 0])
        forces = np.where(closed[:, None], np.column_stack((tangential, normal)), 0.0)
        return forces, np.where(closed, rate[:, 0], -deflection / _FORGOTTEN)

    def stored_energy(self, gap: FloatArray, deflection: FloatArray) -> FloatArray:
        """Return the energy [J] of the normal springs; the tangential force only brakes."""
        return 0.5 * (np.minimum(gap, 0.0) ** 2).sum(axis=-1) / self.compliance

    def dissipation(
        self, gap: FloatArray, rate: FloatArray, forces: FloatArray, deflection_rate: FloatArray
    ) -> tuple[float, float]:
        """Return the powers lost in normal and in tangential direction [W].

        Arguments as of `PenaltyGround.dissipation`.
        """
        normal = -(forces[:, 1] + np.minimum(gap, 0.0) / self.compliance) * rate[:, 1]
        return float(normal.sum()), float(-(forces[:, 0] * rate[:, 0]).sum())
