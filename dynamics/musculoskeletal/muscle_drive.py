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
    """Activations or forces of the M muscles at N frames.

    Parameters
    ----------
    activations : (N, M) float64
        Activations [1].
    forces : (N, M) float64
        Forces [N], NaN where a muscle pulls by its activation.

    Raises
    ------
    InputError
        If the shapes do not agree, or an activation is not within 0 and 1.
    """

    activations: FloatArray
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
        """Return the muscle forces (M,) [N] at secondary values and speeds (S,) of a plant.

        A muscle that would push, because its fibres shorten fast, does not pull.
        """
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
        """Return the derivative (F, S) of arms @ tensions by secondary values.

        Of arms (F, M) and those of the secondary coordinates (S, M) [m, 1], where speeds change
        by `rate` per change of the values [1/s].
        """
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
    """Return the derivatives (M,) of muscle forces by the lengths of the muscles [N/m].

    The force of a muscle depends on the secondary coordinates (S,) [rad, m; per s] by its length
    alone, so that one step of all coordinates gives the derivatives of all muscles. `arms` (S, M)
    [m, 1] is the generalised force per newton of each muscle. The derivatives are zero for muscles
    that do not cross the joints.
    """
    # Steps of incommensurable sizes leave the length of hardly any muscle unchanged.
    direction = 1.0 / np.sqrt(2.0 + np.arange(len(values)))
    longer = -(arms.T @ direction)
    crossing = np.abs(longer) > _CROSSING
    divisor = np.where(crossing, longer, np.inf)
    base = tensions(values, speeds)
    by_length = (tensions(values + _STEP * direction, speeds) - base) / (_STEP * divisor)
    faster = tensions(values, speeds + _SPEED_STEP * direction)
    return LengthDerivatives(by_length, (faster - base) / (_SPEED_STEP * divisor))
