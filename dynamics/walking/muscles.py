"""Muscles of a right leg that act on hip, knee and ankle in the sagittal plane.

A muscle is a cord from origin to insertion over points of pelvis, femur, patella, tibia and foot.
The bones rotate about lateral axes through hip, knee and ankle, so that the lateral coordinate z of
a point is constant. The muscle always passes a `fixed` point. An `anterior` or `posterior` point is
a lateral rod that keeps the muscle on that side of the joint; the muscle lifts off the rod without
a jump of its line of action. Origins of the frames: hip (pelvis, femur), knee (tibia), ankle
(foot), distal pole (patella).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from dynamics.walking.knee_mechanism import KneeMechanism
from foundation.base.checks import (
    FloatArray,
    check_fields,
    check_in,
    check_number,
    check_numbers,
    check_unique,
)
from foundation.base.errors import InputError

#: Bones from origin to insertion.
BODIES = ("pelvis", "femur", "patella", "tibia", "foot")
#: Kinds of path points.
PASSAGES = ("fixed", "anterior", "posterior")
#: Body height of the shipped tables [m].
REFERENCE_HEIGHT = 1.80


@dataclass(frozen=True, eq=False)
class Muscle:
    """One muscle, or one head of it.

    Parameters
    ----------
    name : str
        Name of the muscle.
    area : float
        Physiological cross-section [m²], > 0.
    fibre_length : float
        Fibre length [m], > 0.
    bodies : tuple of str
        Body of each point, in the order of `BODIES`.
    points : (m, 3) float64
        Points from origin to insertion in the frames of their bodies [m], m >= 2.
    passages : tuple of str
        Kind of each point, of `PASSAGES`; the first and the last are fixed.
    """

    name: str
    area: float
    fibre_length: float
    bodies: tuple[str, ...]
    points: FloatArray
    passages: tuple[str, ...]

    def __post_init__(self) -> None:
        of = f"muscle {self.name}:"
        check_numbers(self, f"{of} ", above=0.0, area="m²", fibre_length="m")
        check_fields(self, f"{of} ", points=(None, 3))
        if not len(self.points) == len(self.bodies) == len(self.passages) >= 2:
            raise InputError(
                f"{of} expected a body and a passage for each of 2 points or more, found "
                f"{len(self.points)} points, {len(self.bodies)} bodies, "
                f"{len(self.passages)} passages"
            )
        order = [BODIES.index(check_in(f"{of} body", body, BODIES)) for body in self.bodies]
        if order != sorted(order):
            raise InputError(f"{of} expected bodies in the order {BODIES}, found {self.bodies}")
        for passage in self.passages:
            check_in(f"{of} passage", passage, PASSAGES)
        if self.passages[0] != "fixed" or self.passages[-1] != "fixed":
            raise InputError(f"{of} expected a fixed origin and insertion, found {self.passages}")
        if "patella" in self.bodies[:-1]:
            raise InputError(f"{of} expected the patella as the last body, found {self.bodies}")

    def scaled(self, factor: float) -> Self:
        """Return the muscle with lengths times a factor [1] and the area times its square."""
        return replace(
            self,
            area=factor**2 * self.area,
            fibre_length=factor * self.fibre_length,
            points=factor * self.points,
        )


@dataclass(frozen=True, eq=False)
class LegMuscles:
    """Muscles of a right leg with the geometry of the bones.

    Parameters
    ----------
    muscles : tuple of Muscle
        Muscles with unique names.
    knee : (2,) float64
        Centre of the knee from the hip, in the femoral frame [m].
    ankle : (2,) float64
        Centre of the ankle from the knee, in the tibial frame [m].
    tuberosity : (3,) float64
        Insertion of the patellar tendon in the tibial frame, origin at the knee [m].
    pole_z : float
        Lateral coordinate of the patella [m].
    mechanism : KneeMechanism
        Motion of tibia and patella.
    mechanism_knee : (2,) float64
        Centre of the knee in the tibial frame of the mechanism [m].

    Raises
    ------
    InputError
        If a name is repeated, there is no muscle or a point is not finite.
    """

    muscles: tuple[Muscle, ...]
    knee: FloatArray
    ankle: FloatArray
    tuberosity: FloatArray
    pole_z: float
    mechanism: KneeMechanism
    mechanism_knee: FloatArray

    def __post_init__(self) -> None:
        if not self.muscles:
            raise InputError("muscles: expected at least one muscle, found none")
        check_unique("muscles", self.names)
        check_fields(self, knee=(2,), ankle=(2,), tuberosity=(3,), mechanism_knee=(2,))
        check_numbers(self, pole_z="m")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the muscles."""
        return tuple(each.name for each in self.muscles)

    def scaled(self, height: float) -> Self:
        """Return the leg scaled from `REFERENCE_HEIGHT` to a body height [m].

        Lengths scale with the height, cross-sections with its square.

        Raises
        ------
        InputError
            If the height is not positive.
        """
        tall = check_number("height", height, above=0.0, unit="m")
        factor = tall / REFERENCE_HEIGHT
        return replace(
            self,
            muscles=tuple(each.scaled(factor) for each in self.muscles),
            knee=factor * self.knee,
            ankle=factor * self.ankle,
            tuberosity=factor * self.tuberosity,
            pole_z=factor * self.pole_z,
            mechanism=self.mechanism.scaled(factor),
            mechanism_knee=factor * self.mechanism_knee,
        )

    def select(self, names: tuple[str, ...]) -> Self:
        """Return the leg with a selection of its muscles, in the order of `names`.

        Raises
        ------
        InputError
            If a name is unknown.
        """
        known = dict(zip(self.names, self.muscles, strict=True))
        chosen = tuple(known[check_in("muscle", name, self.names)] for name in names)
        return replace(self, muscles=chosen)
