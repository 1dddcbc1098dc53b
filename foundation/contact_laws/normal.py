"""Normal force of one contact over its indentation and the rate of it; a force never pulls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array, check_number
from foundation.base.errors import InputError


@dataclass(frozen=True)
class ContactLaw(ABC):
    """Normal force over indentation, its rate and the rate at the start of the contact.

    Parameters
    ----------
    stiffness : float
        K of the elastic part K δⁿ [N/mⁿ], > 0.
    """

    stiffness: float

    @property
    @abstractmethod
    def exponent(self) -> float:
        """Exponent n of the elastic part [1]."""

    def __post_init__(self) -> None:
        check_number("stiffness", self.stiffness, above=0.0, unit="N/m^n")

    def force(
        self,
        indentation: ArrayLike,
        rate: ArrayLike = 0.0,
        impact_rate: ArrayLike | None = None,
    ) -> FloatArray:
        """Return the force that presses the bodies apart; the force is never negative.

        Parameters
        ----------
        indentation : array_like of float64, any shape
            δ [m], > 0 in contact; out of contact the force is zero.
        rate : array_like of float64, any shape
            dδ/dt [m/s], > 0 in approach.
        impact_rate : array_like of float64, any shape, optional
            dδ/dt at the start of the contact [m/s], > 0. The laws of the Hunt-Crossley family
            require the impact rate; the other laws ignore it.

        Returns
        -------
        float64 of the shape to which the arguments broadcast
            Force [N].

        Raises
        ------
        InputError
            If an argument is not finite, the shapes do not broadcast, or the impact rate is
            required and missing or not positive.
        """
        depth, speed, start = _checked(indentation, rate, impact_rate)
        bonded = self._bonded(depth, speed, start)
        return np.where((depth > 0.0) & (bonded > 0.0), bonded, 0.0)[()]

    def bonded_force(
        self,
        indentation: ArrayLike,
        rate: ArrayLike = 0.0,
        impact_rate: ArrayLike | None = None,
    ) -> FloatArray:
        """Return the force [N], any shape, as if the surfaces were bonded: without a limit at zero.

        The force continues beyond zero indentation as an odd function, so that an integrator finds
        the separation as a regular change of sign. Arguments and exceptions are those of `force`.
        """
        return self._bonded(*_checked(indentation, rate, impact_rate))[()]

    def _bonded(self, depth: FloatArray, rate: FloatArray, start: FloatArray | None) -> FloatArray:
        """Return `bonded_force` of checked arguments of one shape; by default the elastic part."""
        return self._elastic(depth)

    def _elastic(self, depth: FloatArray) -> FloatArray:
        return self.stiffness * np.sign(depth) * np.abs(depth) ** self.exponent

    def energy(self, indentation: ArrayLike) -> FloatArray:
        """Return the elastic energy K δⁿ⁺¹ / (n + 1) [J] at indentations δ [m] of any shape.

        The energy is 0 out of contact.

        Raises
        ------
        InputError
            If an indentation is not finite.
        """
        depth = np.maximum(check_array("indentation", indentation), 0.0)
        power = self.exponent + 1.0
        return (self.stiffness * depth**power / power)[()]


@dataclass(frozen=True)
class HookeLaw(ContactLaw):
    """Linear elastic contact F = K δ, K in N/m; every impact has the restitution e = 1."""

    exponent: ClassVar[float] = 1.0


@dataclass(frozen=True)
class HertzLaw(ContactLaw):
    """Elastic contact of curved bodies: F = K δ^(3/2), K in N/m^(3/2) (Johnson 1985, ch. 4).

    `sphere_stiffness` gives K of spheres, `EllipticContact` K of other shapes. Every impact has the
    restitution e = 1.
    """

    exponent: ClassVar[float] = 1.5


def _checked(
    indentation: ArrayLike, rate: ArrayLike, impact_rate: ArrayLike | None
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Return the arguments of a force, checked and broadcast to one shape."""
    depth, speed = check_array("indentation", indentation), check_array("rate", rate)
    start = None if impact_rate is None else check_array("impact_rate", impact_rate)
    arguments = (depth, speed) if start is None else (depth, speed, start)
    try:
        same = np.broadcast_arrays(*arguments)
    except ValueError as error:
        raise InputError(
            f"indentation, rate, impact_rate: expected shapes that broadcast, found "
            f"{', '.join(str(each.shape) for each in arguments)}"
        ) from error
    return same[0], same[1], None if start is None else same[2]
