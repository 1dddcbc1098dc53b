"""Settings of COMAK."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
from pydantic import TypeAdapter, ValidationError

from dynamics.musculoskeletal.plant import MuscleSet
from foundation.base.checks import FloatArray, check_number
from foundation.base.errors import InputError


@dataclass(frozen=True)
class SecondaryCoordinate:
    """A coordinate in which joint surfaces touch."""

    #: Name in the model.
    name: str
    #: Viscosity that the model applies to this coordinate [N m s/rad, N s/m]; the problem of a
    #: frame takes it into account.
    damping: float = 1.0
    #: Largest change within an iteration [rad, m].
    largest_step: float = 0.05

    def __post_init__(self) -> None:
        check_number(f"{self.name}, damping", self.damping, at_least=0.0)
        check_number(f"{self.name}, largest_step", self.largest_step, above=0.0)


@dataclass(frozen=True)
class ComakSettings:
    """Settings of a COMAK simulation (Smith et al. 2018, J Knee Surg 31:68-74)."""

    #: Coordinates whose measured accelerations muscles must give.
    primary: tuple[str, ...]
    #: Coordinates that are solved for; without any, the problem of a frame is static optimisation.
    #: All other coordinates of the model follow the motion by themselves.
    secondary: tuple[SecondaryCoordinate, ...]
    #: First and last instant and time step [s]; by default those of the motion.
    start: float | None = None
    stop: float | None = None
    step: float | None = None
    #: Cut-off frequency of the filter of the motion [Hz]; none by default.
    lowpass: float | None = None
    #: Whether secondary coordinates settle before the first frame.
    settle: bool = True
    #: Change within 0.01 s below which secondary coordinates have settled [rad, m].
    settle_threshold: float = 1e-5
    #: Most iterations of a frame.
    iterations: int = 25
    #: Error of acceleration below which a frame has converged [rad/s², m/s²].
    tolerance: float = 1.0
    #: Error above which a frame that did not converge takes the solution of the previous one.
    worst_tolerance: float = 50.0
    #: Cost of muscle volume times squared activation [1/m³], and of the squared control of reserves
    #: [1].
    activation_weight: float = 1e6
    reserve_weight: float = 1e3
    #: Whether the cost of an activation is in proportion to the volume of its muscle; if not,
    #: `activation_weight` is that of squared activation [1].
    by_volume: bool = True
    #: Coordinates whose reserve gives another force than 1 at full control [N m, N].
    reserve_forces: tuple[tuple[str, float], ...] = field(default=())
    #: Weight of the energy that contacts store [1/J].
    contact_energy_weight: float = 0.0
    #: Weights w of single muscles in the cost that are not 1 [1].
    muscle_weights: tuple[tuple[str, float], ...] = field(default=())
    #: Whether muscles pull as length and velocity of their fibres allow, with rigid tendons, or
    #: with activation times largest force at any length.
    fibre_forces: bool = False

    def __post_init__(self) -> None:
        for name in ("tolerance", "worst_tolerance", "settle_threshold"):
            check_number(name, getattr(self, name), above=0.0)
        for name in ("activation_weight", "reserve_weight"):
            check_number(name, getattr(self, name), above=0.0)
        check_number("contact_energy_weight", self.contact_energy_weight, at_least=0.0)
        check_number("iterations", self.iterations, at_least=1)
        for name in ("step", "lowpass"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), above=0.0)
        for name, weight in self.muscle_weights:
            check_number(f"{name}, weight", weight, at_least=0.0)
        for name, force in self.reserve_forces:
            check_number(f"{name}, force of its reserve", force, above=0.0)
        check_distinct(self.primary, tuple(s.name for s in self.secondary))
        if not self.primary:
            raise InputError("coordinates: expected primary coordinates, found none")

    def to_json(self) -> str:
        """Return the settings as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the settings of `to_json`, or raise an `InputError`."""
        try:
            found: Self = TypeAdapter(cls).validate_json(text)
        except ValidationError as error:
            raise InputError(
                f"settings: expected settings of a COMAK simulation, found {error}"
            ) from error
        return found

    def reserve_weights(self, names: tuple[str, ...]) -> FloatArray:
        """Return the weights (F,) of the squared forces of reserves on coordinates [1/N²]."""
        forces = dict(self.reserve_forces)
        return np.array([self.reserve_weight / forces.get(name, 1.0) ** 2 for name in names])

    def activation_costs(self, muscles: MuscleSet) -> FloatArray:
        """Return the cost (M,) of a squared activation of each muscle [1]."""
        scale, stated = np.ones(len(muscles.names)), dict(self.muscle_weights)
        if self.by_volume:
            scale = muscles.volumes()
        weights = np.array([stated.get(name, 1.0) for name in muscles.names])
        return self.activation_weight * scale * weights

    def unknown_muscles(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names with a weight that are not muscles of the model."""
        return tuple(name for name, _ in self.muscle_weights if name not in names)


def check_distinct(*kinds: tuple[str, ...]) -> None:
    """Raise an `InputError` if a name of a coordinate stands twice in the kinds."""
    names = [name for kind in kinds for name in kind]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            "coordinates: expected each coordinate in one of primary, secondary and prescribed, "
            f"found {', '.join(twice)} twice"
        )


@dataclass(frozen=True)
class ComakFiles:
    """Files that a COMAK simulation names."""

    model: Path
    #: Motion of the coordinates.
    motion: Path
    #: Forces on the feet.
    external_loads: Path | None
    #: Further forces of the model: the reserves.
    forces: Path | None
