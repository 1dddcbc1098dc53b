"""Ligaments of the planar knee, after two laws of `dynamics.ligaments.bundles`, and their limits.

With the length l and the rest length l0, the tension of a taut ligament is F = k (l - l0)²
("quadratic": Machado et al. 2010, Nonlinear Dyn 60:459-478, eq. 28, which has no linear term) or
F = k (l - l0) ("linear": Lehtoranta 2011, eq. 45, the law of Machado et al. without its square; the
stiffness then has another unit).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dynamics.mechanics.planar_knee.contact_point import Place
from foundation.base.checks import FloatArray, check_fields, check_in, check_number, check_numbers

#: Laws of a ligament: the power of the elongation in the tension, and the unit of the stiffness.
_LAWS = {"quadratic": (2, "N/m²"), "linear": (1, "N/m")}
#: Names of the laws of a ligament.
PLANAR_LIGAMENT_KINDS = tuple(_LAWS)


class LigamentLimitWarning(UserWarning):
    """A ligament has passed its limit of strain or force."""


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
        k [N/m² of the quadratic law, N/m of the linear law], >= 0.
    kind : {"quadratic", "linear"}
        Law of the tension.
    strain_limit, force_limit : float
        Strain l/l0 - 1 [1] and tension [N] that the ligament bears, > 0; infinite by default. The
        limits do not change the tension: `simulate_planar_knee` warns if one is passed.
    """

    name: str
    femoral: FloatArray
    tibial: FloatArray
    rest_length: float
    stiffness: float
    kind: str = "quadratic"
    strain_limit: float = math.inf
    force_limit: float = math.inf

    def __post_init__(self) -> None:
        of = f"ligament {self.name}:"
        check_fields(self, f"{of} ", femoral=(2,), tibial=(2,))
        check_in(f"{of} kind", self.kind, PLANAR_LIGAMENT_KINDS)
        check_numbers(self, f"{of} ", above=0.0, rest_length="m")
        check_numbers(self, f"{of} ", at_least=0.0, stiffness=_LAWS[self.kind][1])
        for name, unit in (("strain_limit", ""), ("force_limit", "N")):
            if getattr(self, name) != math.inf:
                check_number(f"{of} {name}", getattr(self, name), above=0.0, unit=unit)

    def tension(self, length: float) -> float:
        """Return the tension [N] at a length [m]."""
        return self.stiffness * max(length - self.rest_length, 0.0) ** _LAWS[self.kind][0]

    def energy(self, length: float) -> float:
        """Return the stored energy [J] at a length [m]."""
        power = _LAWS[self.kind][0] + 1
        return self.stiffness * max(length - self.rest_length, 0.0) ** power / power

    def linearised(self, strain: float) -> PlanarLigament:
        """Return the ligament with the linear law and the same tension at a strain [1], > 0."""
        checked = check_number("strain", strain, above=0.0)
        elongation = checked * self.rest_length
        stiffness = self.tension(self.rest_length + elongation) / elongation
        return replace(self, stiffness=stiffness, kind="linear")

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


class LigamentExcess(NamedTuple):
    """A limit of a ligament that a motion passes.

    Parameters
    ----------
    ligament, quantity : str
        Name of the ligament; "strain" or "force".
    largest, limit : float
        Largest value of the motion and limit [1 for strains, N for forces].
    time : float
        First instant of the result beyond the limit [s].
    """

    ligament: str
    quantity: str
    largest: float
    limit: float
    time: float


def limits_passed(
    ligaments: Sequence[PlanarLigament], time: FloatArray, length: FloatArray, force: FloatArray
) -> tuple[LigamentExcess, ...]:
    """Return the limits that the ligaments pass.

    Parameters
    ----------
    ligaments : sequence of PlanarLigament
        The B ligaments.
    time : (n,) float64
        Instants [s].
    length, force : (n, B) float64
        Lengths [m] and tensions [N].
    """
    passed = []
    for k, ligament in enumerate(ligaments):
        strain = length[:, k] / ligament.rest_length - 1.0
        for quantity, values, limit in (
            ("strain", strain, ligament.strain_limit),
            ("force", force[:, k], ligament.force_limit),
        ):
            if values.max() > limit:
                first = float(time[(values > limit).argmax()])
                passed.append(
                    LigamentExcess(ligament.name, quantity, float(values.max()), limit, first)
                )
    return tuple(passed)


def warn_of_limits(passed: Sequence[LigamentExcess]) -> None:
    """Warn of every limit that a motion passes; the caller of the caller is the place shown."""
    for each in passed:
        unit = " N" if each.quantity == "force" else ""
        warnings.warn(
            f"ligament {each.ligament}: expected a {each.quantity} of at most "
            f"{each.limit:g}{unit}, found {each.largest:.3g}{unit}, beyond the limit from "
            f"{each.time:.4g} s on; the model has no rupture, so the motion after this instant is "
            "not that of an intact ligament",
            LigamentLimitWarning,
            stacklevel=3,
        )
