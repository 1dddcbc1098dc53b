"""The multibody system that muscles, ligaments and external loads act on, without its contact.

A plant answers for one instant of a motion: which generalised forces the free coordinates need
beyond those of ligaments, springs, gravity and external loads, and what a newton in each muscle
contributes. Primary and prescribed coordinates follow the motion; secondary coordinates, in which
the joint surfaces touch, are the argument.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dynamics.musculoskeletal.ligament_set import LigamentSet
from foundation.base.checks import FloatArray, check_array, check_fields
from foundation.base.errors import InputError

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


class Plant(Protocol):
    """A multibody system along a motion."""

    @property
    def motion(self) -> CoordinateMotion:
        """Motion of all coordinates; the values of secondary coordinates are a first guess."""
        ...

    @property
    def free(self) -> tuple[str, ...]:
        """Names of the F primary and secondary coordinates, in the order of the model."""
        ...

    @property
    def secondary(self) -> tuple[str, ...]:
        """Names of the S secondary coordinates."""
        ...

    @property
    def muscles(self) -> MuscleSet:
        """The M muscles."""
        ...

    @property
    def ligaments(self) -> LigamentSet:
        """The L ligaments."""
        ...

    def forces(self, frame: int, values: FloatArray, speeds: FloatArray) -> PlantForces:
        """Return the forces at an instant, for secondary values and speeds (S,) [rad, m; per s]."""
        ...

    def columns(
        self, frame: int, values: FloatArray, speeds: FloatArray, tensions: FloatArray
    ) -> FloatArray:
        """Return the derivative (F, S) of arms @ tensions (M,) - needed by the values [N m, N]."""
        ...

    def mass(self, frame: int, values: FloatArray) -> FloatArray:
        """Return the mass matrix (F, F) of the free coordinates [kg m², kg m, kg]."""
        ...

    def contractions(self, frame: int, values: FloatArray, speeds: FloatArray) -> Contractions:
        """Return forces (M,) [N] by the fibres of muscles with rigid tendons at an instant."""
        ...

    def ligament_tensions(self, frame: int, values: FloatArray, speeds: FloatArray) -> FloatArray:
        """Return the tensions (L,) [N] of the ligaments at an instant."""
        ...

    def outside(self, values: FloatArray) -> NDArray[np.bool_]:
        """Return whether values (N, S) [rad, m] of N frames are outside its range."""
        ...
