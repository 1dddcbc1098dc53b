"""Muscle forces from activations, by force, length and velocity of the fibres, or given forces.

Tendons are rigid, so that the fibres follow from the coordinates, and activations follow their
controls without delay (OpenSim-JAM's ForsimTool with `ignore_tendon_compliance` and
`ignore_activation_dynamics`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from dynamics.musculoskeletal.plant import Plant
from foundation.base.checks import FloatArray, check_array
from foundation.base.errors import InputError

#: Step of the derivatives [rad, m] and of those by speeds [rad/s, m/s].
_STEP, _SPEED_STEP = 1e-6, 1e-4
#: Change of a length, relative to the step, below which a muscle does not follow the step.
_CROSSING = 1e-6


@dataclass(frozen=True, eq=False)
class MuscleDrive:
    """Activations [1], or forces [N], NaN where activations pull, (N, M) of muscles at N frames."""

    #: Activations (N, M) [1].
    activations: FloatArray
    #: Forces [N], NaN where a muscle pulls by its activation (N, M).
    forces: FloatArray

    def __post_init__(self) -> None:
        activations = check_array("activations", self.activations, (None, None))
        forces = np.array(self.forces, dtype=np.float64)
        if forces.shape != activations.shape:
            raise InputError(
                f"forces: expected the shape {activations.shape} of the activations, found "
                f"{forces.shape}"
            )
        if activations.size and not 0.0 <= activations.min() <= activations.max() <= 1.0:
            raise InputError(
                "activations: expected numbers within 0 and 1, found "
                f"{activations.min():g} to {activations.max():g}"
            )
        object.__setattr__(self, "activations", activations)
        object.__setattr__(self, "forces", forces)

    @classmethod
    def of_forces(cls, forces: FloatArray) -> Self:
        """Return the drive of forces (N, M) [N]."""
        return cls(np.zeros_like(forces), forces)

    def tensions(
        self, plant: Plant, frame: int, values: FloatArray, speeds: FloatArray
    ) -> FloatArray:
        """Return forces (M,) [N] at secondary values and speeds (S,); no muscle pushes."""
        forces = self.forces[frame]
        if not np.isnan(forces).any():
            return forces
        active, passive, damping = plant.contractions(frame, values, speeds)
        pulled = np.maximum(self.activations[frame] * active + passive + damping, 0.0)
        return np.where(np.isnan(forces), pulled, forces)


class LengthDerivatives(NamedTuple):
    """Derivatives (M,) of muscle forces by the lengths [N/m] and rates [N s/m] of the muscles."""

    by_length: FloatArray
    by_rate: FloatArray

    def columns(self, arms: FloatArray, secondary: FloatArray, rate: float = 0.0) -> FloatArray:
        """Return the derivative (F, S) of arms (F, M) @ tensions, with `rate` of speeds [1/s]."""
        # A muscle shortens by its arm per unit of a coordinate.
        return -(arms * (self.by_length + rate * self.by_rate)) @ secondary.T

    def speed_columns(self, arms: FloatArray, secondary: FloatArray) -> FloatArray:
        """Return the derivative (F, S) of arms @ tensions by secondary speeds [N s/m, N m s]."""
        return -(arms * self.by_rate) @ secondary.T


def length_derivatives(
    tensions: Callable[[FloatArray, FloatArray], FloatArray],
    arms: FloatArray,
    values: FloatArray,
    speeds: FloatArray,
) -> LengthDerivatives:
    """Return derivatives (M,) of forces by length and rate [N/m, N s/m], with arms (S, M)."""
    # A force depends on the coordinates by the length of its muscle alone: one step of all is
    # enough. Steps of incommensurable sizes leave the length of hardly any muscle unchanged.
    direction = 1.0 / np.sqrt(2.0 + np.arange(len(values)))
    longer = -(arms.T @ direction)
    crossing = np.abs(longer) > _CROSSING
    divisor = np.where(crossing, longer, np.inf)
    base = tensions(values, speeds)
    by_length = (tensions(values + _STEP * direction, speeds) - base) / (_STEP * divisor)
    faster = tensions(values, speeds + _SPEED_STEP * direction)
    return LengthDerivatives(by_length, (faster - base) / (_SPEED_STEP * divisor))
