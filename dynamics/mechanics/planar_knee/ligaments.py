"""Ligaments of the planar knee, after the "quadratic" law of `dynamics.ligaments.bundles`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dynamics.mechanics.planar_knee.contact_point import Place
from foundation.checks import FloatArray, check_fields, check_number


@dataclass(frozen=True, eq=False)
class PlanarLigament:
    """One ligament between two points.

    Parameters
    ----------
    name : str
        Name of the ligament.
    femoral : (2,) float64
        Attachment in the frame of the femur [m].
    tibial : (2,) float64
        Attachment in the frame of the tibia's centre of mass [m].
    rest_length : float
        Length at which the ligament becomes taut [m], > 0.
    stiffness : float
        k [N/m²], >= 0.
    """

    name: str
    femoral: FloatArray
    tibial: FloatArray
    rest_length: float
    stiffness: float

    def __post_init__(self) -> None:
        of = f"ligament {self.name}:"
        check_fields(self, f"{of} ", femoral=(2,), tibial=(2,))
        check_number(f"{of} rest_length", self.rest_length, above=0.0, unit="m")
        check_number(f"{of} stiffness", self.stiffness, at_least=0.0, unit="N/m²")

    def tension(self, length: float) -> float:
        """Return the tension [N] at a length [m]."""
        return self.stiffness * max(length - self.rest_length, 0.0) ** 2

    def energy(self, length: float) -> float:
        """Return the stored energy [J] at a length [m]."""
        return self.stiffness * max(length - self.rest_length, 0.0) ** 3 / 3.0

    def length(self, place: Place) -> float:
        """Return the length [m] for the tibia at (x, y, φ) [m, m, rad]."""
        return math.hypot(*self._line(place)[2:])

    def load(self, place: Place) -> tuple[float, float, float]:
        """Return force (F_x, F_y) on the tibia and moment about the tibial origin [N, N m]."""
        arm_x, arm_y, x, y = self._line(place)
        length = math.hypot(x, y)
        tension = self.tension(length)
        if tension == 0.0:
            return 0.0, 0.0, 0.0
        f_x, f_y = tension * x / length, tension * y / length
        return f_x, f_y, arm_x * f_y - arm_y * f_x

    def _line(self, place: Place) -> tuple[float, float, float, float]:
        """Return arm of the tibial attachment and line from it to the femoral one, global [m]."""
        c, s = math.cos(place[2]), math.sin(place[2])
        x, y = self.tibial.tolist()
        arm_x, arm_y = c * x - s * y, s * x + c * y
        f_x, f_y = self.femoral.tolist()
        return arm_x, arm_y, f_x - place[0] - arm_x, f_y - place[1] - arm_y
