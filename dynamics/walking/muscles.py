"""Muscles of a right leg that act on hip, knee and ankle in the sagittal plane.

A muscle is a cord from origin to insertion over points of pelvis, femur, patella, tibia and foot.
The bones turn about lateral axes through hip, knee and ankle, so that all motion lies in planes
x, y; the lateral coordinate z of a point never changes. A point is `fixed` where the muscle always
passes it. It is `anterior` or `posterior` where the muscle slides over it as over a lateral rod,
which keeps it on that side of the joint: it lifts off without a jump of its line of action.
Origins of the frames: hip (pelvis, femur), knee (tibia), ankle (foot), distal pole (patella).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from dynamics.walking.knee_mechanism import KneeMechanism
from foundation.checks import FloatArray, check_array, check_in, check_number, frozen
from foundation.errors import InputError

#: Bones that a muscle passes, from its origin on.
BODIES = ("pelvis", "femur", "patella", "tibia", "foot")
#: How a muscle passes a point.
PASSAGES = ("fixed", "anterior", "posterior")
#: Height of the body whose points the shipped tables state [m].
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
        [m], > 0.
    bodies : tuple of str
        Of the points, of `BODIES` and in their order.
    points : (m, 3) float64
        From origin to insertion in the frames of their bodies [m], m >= 2.
    passages : tuple of str
        Of the points, of `PASSAGES`; the first and the last are fixed.

    Raises
    ------
    InputError
        If a value is out of its range or the lengths differ; the message names the muscle.
    """

    name: str
    area: float
    fibre_length: float
    bodies: tuple[str, ...]
    points: FloatArray
    passages: tuple[str, ...]

    def __post_init__(self) -> None:
        of = f"muscle {self.name}:"
        for name, unit in (("area", "m²"), ("fibre_length", "m")):
            value = check_number(f"{of} {name}", getattr(self, name), above=0.0, unit=unit)
            object.__setattr__(self, name, value)
        points = check_array(f"{of} points", self.points, (None, 3))
        object.__setattr__(self, "points", frozen(points))
        if not len(points) == len(self.bodies) == len(self.passages) >= 2:
            raise InputError(
                f"{of} expected a body and a passage for each of 2 points or more, found "
                f"{len(points)} points, {len(self.bodies)} bodies, {len(self.passages)} passages"
            )
        order = [BODIES.index(check_in(f"{of} body", body, BODIES)) for body in self.bodies]
        if order != sorted(order):
            raise InputError(f"{of} expected bodies in the order {BODIES}, found {self.bodies}")
        for passage in self.passages:
            check_in(f"{of} passage", passage, PASSAGES)
        if self.passages[0] != "fixed" or self.passages[-1] != "fixed":
            raise InputError(f"{of} expected a fixed origin and insertion, found {self.passages}")
        if "patella" in self.bodies[:-1]:
            raise InputError(f"{of} expected it to end on the patella, found {self.bodies}")

    def scaled(self, factor: float) -> Self:
        """Return the muscle of a body `factor` times as large."""
        return replace(
            self,
            area=factor**2 * self.area,
            fibre_length=factor * self.fibre_length,
            points=factor * self.points,
        )


@dataclass(frozen=True, eq=False)
class LegMuscles:
    """Muscles of a right leg, and the bones that they pass.

    Parameters
    ----------
    muscles : tuple of Muscle
        With names that differ.
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
        If a name comes twice, there is no muscle or a point is not finite.
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
            raise InputError("muscles: expected one or more, found none")
        for name in self.names:
            if self.names.count(name) != 1:
                raise InputError(f"muscles: expected names that differ, found {name} twice")
        for name, size in (("knee", 2), ("ankle", 2), ("tuberosity", 3), ("mechanism_knee", 2)):
            object.__setattr__(self, name, frozen(check_array(name, getattr(self, name), (size,))))
        object.__setattr__(self, "pole_z", check_number("pole_z", self.pole_z))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the muscles."""
        return tuple(each.name for each in self.muscles)

    def scaled(self, height: float) -> Self:
        """Return the leg of a body of another height, from this one of `REFERENCE_HEIGHT`.

        All lengths go with the height and cross-sections with its square.

        Raises
        ------
        InputError
            If the height [m] is not positive.
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
        """Return the leg with some of its muscles only, in the order asked for.

        Raises
        ------
        InputError
            If a name is unknown.
        """
        known = dict(zip(self.names, self.muscles, strict=True))
        chosen = tuple(known[check_in("muscle", name, self.names)] for name in names)
        return replace(self, muscles=chosen)
