"""Friction of an elastic-viscous tangential contact with Coulomb's limit.

In the manner of Song, Kraus, Kumar & Dupont (2001, J Appl Mech 68:118-128): T = k s + d ṡ with |T|
<= μ N and the tangential deflection s, which relaxes with the time constant d/k out of contact.
docs/mechanics.md derives stick and slip and proves that no energy is gained.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array, check_number
from foundation.base.errors import InputError


@dataclass(frozen=True)
class CompliantFriction:
    """Tangential spring and dashpot with Coulomb's limit; the deflection is a state variable.

    Parameters
    ----------
    stiffness : float
        k [N/m], > 0.
    damping : float
        d [N s/m], > 0; d/k is the time constant of the deflection.
    coefficient : float
        μ [1], >= 0, the same at rest and in motion.
    """

    stiffness: float
    damping: float
    coefficient: float

    def __post_init__(self) -> None:
        check_number("stiffness", self.stiffness, above=0.0, unit="N/m")
        check_number("damping", self.damping, above=0.0, unit="N s/m")
        check_number("coefficient", self.coefficient, at_least=0.0)

    def evaluate(
        self, deflection: ArrayLike, velocity: ArrayLike, normal_force: ArrayLike
    ) -> tuple[FloatArray, FloatArray]:
        """Return the friction force on the moving body and the rate of the deflection.

        Parameters
        ----------
        deflection : (..., D) float64
            s [m], D = 1 in the plane, 2 on a surface, 3 in space (in the tangent plane); zero at
            the first touch.
        velocity : (..., D) float64
            v of the moving body relative to the other [m/s], tangential.
        normal_force : (...) float64
            N [N], >= 0.

        Returns
        -------
        force : (..., D) float64
            -T on the moving body [N].
        deflection_rate : (..., D) float64
            ds/dt [m/s].
        """
        s, v, normal = self._checked(deflection, velocity, normal_force)
        elastic = self.stiffness * s
        trial = elastic + self.damping * v
        size = np.linalg.norm(trial, axis=-1, keepdims=True)
        limit = self.coefficient * normal
        slips = size > limit
        share = np.divide(limit, size, out=np.ones_like(trial[..., :1]), where=slips)
        opposing = share * trial
        return -opposing, np.where(slips, (opposing - elastic) / self.damping, v)

    def energy(self, deflection: ArrayLike) -> FloatArray:
        """Return the elastic energy k s²/2 [J] of deflections (..., D) [m]."""
        s = check_array("deflection", deflection)
        return (0.5 * self.stiffness * (s**2).sum(axis=-1))[()]

    @staticmethod
    def _checked(
        deflection: ArrayLike, velocity: ArrayLike, normal_force: ArrayLike
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        s = check_array("deflection", deflection)
        v = check_array("velocity", velocity)
        normal = check_array("normal_force", normal_force, at_least=0.0, unit="N")
        if s.ndim == 0 or s.shape != v.shape or s.shape[:-1] != normal.shape:
            raise InputError(
                f"deflection, velocity, normal_force: expected shapes (..., D), (..., D) and "
                f"(...), found {s.shape}, {v.shape} and {normal.shape}"
            )
        return s, v, normal[..., None]
