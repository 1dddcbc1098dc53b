"""Values of a plant: the multibody system that muscles and external loads act on, without contact.

A plant (`opensim_plant.OpenSimPlant`) answers for one instant of a motion: which generalised forces
the free coordinates need beyond those of ligaments, springs, gravity and external loads, and what a
newton in each muscle contributes. Primary and prescribed coordinates follow the motion; secondary
coordinates, in which the joint surfaces touch, are the argument. Tendons are rigid, so that the
fibres follow from the coordinates, and activations follow their controls without delay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from foundation.base.checks import FloatArray, check_array, check_fields
from foundation.base.errors import InputError
from foundation.base.flags import Flag
from foundation.base.loads import ContactLoads

#: Strain at which damping acts fully.
_FULL_DAMPING = 0.01


class LigamentTensions(NamedTuple):
    """Tensions (L,) [N] of ligaments, and derivatives by their lengths [N/m] and rates [N s/m]."""

    tension: FloatArray
    by_length: FloatArray
    by_rate: FloatArray


@dataclass(frozen=True, eq=False)
class LigamentSet:
    """L ligaments, with their stiffnesses (L,) [N], as OpenSim's Blankevoort1991Ligament.

    With the strain e = l / l0 - 1 and its rate e', the tension of a taut ligament is
    k e² / (2 t) up to the transition strain t, k (e - t / 2) beyond, plus c s(e) e' while it
    stretches, where s rises smoothly from 0 to 1 between the strains 0 and 0.01 (Blankevoort &
    Huiskes 1991, J Biomech Eng 113:263-269; Smith et al. 2016, J Biomech Eng 138:021017).
    """

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


#: Values of all coordinates and their derivatives.
_COURSES = ("values", "speeds", "accelerations")


@dataclass(frozen=True, eq=False)
class CoordinateMotion:
    """Motion of all coordinates of a model: values, speeds, accelerations (N, n) [rad, m; s]."""

    #: Names of the n coordinates.
    names: tuple[str, ...]
    #: Whether each coordinate is an angle [rad]; else a length [m].
    rotational: tuple[bool, ...]
    #: Instants, equally spaced (N,) [s].
    time: FloatArray
    #: Coordinates and their derivatives (N, n) [rad, m; per s; per s²].
    values: FloatArray
    speeds: FloatArray
    accelerations: FloatArray

    def __post_init__(self) -> None:
        shape = (len(check_array("time", self.time, (None,))), len(self.names))
        check_fields(self, time=(None,), values=shape, speeds=shape, accelerations=shape)
        if (np.diff(self.time) <= 0.0).any():
            raise InputError(f"time: expected increasing instants, found {self.time}")

    @property
    def step(self) -> float:
        """Time between two instants [s]."""
        return float(self.time[1] - self.time[0])

    @property
    def angles(self) -> tuple[str, ...]:
        """Names of the coordinates that are angles."""
        return tuple(n for n, turns in zip(self.names, self.rotational, strict=True) if turns)

    @property
    def resting(self) -> CoordinateMotion:
        """The same values without speeds and accelerations."""
        rest = np.zeros_like(self.values)
        return replace(self, speeds=rest, accelerations=rest)

    def first(self, count: int) -> CoordinateMotion:
        """Return the motion at the first instants."""
        rows = {name: getattr(self, name)[:count] for name in _COURSES}
        return replace(self, time=self.time[:count], **rows)

    def between(self, start: float, stop: float) -> CoordinateMotion:
        """Return the motion from the last instant before to the first after an interval [s]."""
        begin = max(int(np.searchsorted(self.time, start, side="right")) - 1, 0)
        end = int(np.searchsorted(self.time, stop)) + 1
        rows = {name: getattr(self, name)[begin:end] for name in ("time", *_COURSES)}
        return replace(self, **rows)

    def index(self, names: tuple[str, ...]) -> list[int]:
        """Return the places of coordinates; raise `InputError` for an unknown name."""
        return index_of(self.names, names)


def index_of(known: tuple[str, ...], names: tuple[str, ...]) -> list[int]:
    """Return the places of coordinates among those of a model; refuse an unknown name."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(
            f"coordinates: expected names of the model, found {', '.join(unknown)}; the model has "
            f"{', '.join(known)}"
        )
    return [known.index(name) for name in names]


@dataclass(frozen=True, eq=False)
class MuscleSet:
    """M muscles, with their largest forces (M,) [N]."""

    #: Names of the M muscles.
    names: tuple[str, ...]
    #: Largest isometric forces (M,) [N].
    max_force: FloatArray
    #: Optimal lengths of the fibres (M,) [m].
    optimal_length: FloatArray
    #: Least and largest activations (2, M) [1].
    bounds: FloatArray

    def __post_init__(self) -> None:
        count = len(self.names)
        check_fields(self, max_force=(count,), optimal_length=(count,), bounds=(2, count))
        check_array("max_force", self.max_force, at_least=0.0, unit="N")
        check_array("optimal_length", self.optimal_length, above=0.0, unit="m")

    def volumes(self, specific_tension: float = 350e3) -> FloatArray:
        """Return the volumes (M,) [m³] at a specific tension [Pa]."""
        return self.optimal_length * self.max_force / specific_tension


class PlantForces(NamedTuple):
    """Generalised forces (F,) [N m, N] of the F free coordinates at an instant."""

    #: Forces that the motion needs beyond those of the plant itself (F,) [N m, N].
    needed: FloatArray
    #: Generalised force per newton of each muscle (F, M) [m, 1].
    arms: FloatArray


class Contractions(NamedTuple):
    """Muscle forces (M,) [N] by force, length and velocity of the fibres at an instant."""

    #: Force per unit of activation (M,) [N].
    active: FloatArray
    #: Elastic force of the fibres without activation (M,) [N].
    passive: FloatArray
    #: Viscous force of the fibres [N], negative while the fibres shorten (M,).
    damping: FloatArray


#: Step of the derivatives [rad, m] and of those by speeds [rad/s, m/s].
_STEP, _SPEED_STEP = 1e-6, 1e-4
#: Change of a length, relative to the step, below which a muscle does not follow the step.
_CROSSING = 1e-6


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


class ContactFlag(NamedTuple):
    """A flag of a contact at a frame and instant [s], as for a pose outside a domain."""

    frame: int
    time: float
    contact: str
    flag: Flag


@dataclass(frozen=True, eq=False, kw_only=True)
class SimulatedFrames:
    """Secondary coordinates (N, S) [rad, m], muscles and contacts at N frames."""

    #: Instants (N,) [s].
    time: FloatArray
    #: Names of the S secondary coordinates, the M muscles and the contacts.
    secondary: tuple[str, ...]
    muscles: tuple[str, ...]
    contacts: tuple[str, ...]
    #: Secondary coordinates and their speeds (N, S) [rad, m; per s].
    values: FloatArray
    speeds: FloatArray
    #: Activations (N, M) [1].
    activations: FloatArray
    #: Muscle forces (N, M) [N].
    muscle_forces: FloatArray
    #: Loads of each contact at each frame.
    loads: tuple[tuple[ContactLoads, ...], ...]

    @property
    def contact_flags(self) -> tuple[ContactFlag, ...]:
        """Flags of the contacts in the final poses of all frames."""
        return tuple(
            ContactFlag(frame, time, name, flag)
            for frame, (time, loads) in enumerate(zip(self.time.tolist(), self.loads, strict=True))
            for name, own in zip(self.contacts, loads, strict=True)
            for flag in own.flags
        )
