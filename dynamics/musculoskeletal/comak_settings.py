"""Settings of COMAK, and numbers of single muscles, constant or over time."""

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

#: Quantities of a muscle that are activations it can have.
_AT_MOST_ONE = ("desired activation", "largest activation")


@dataclass(frozen=True)
class MuscleWeight:
    """Weight of a muscle in the cost, or another number of a muscle, constant or over time."""

    #: Name of the muscle.
    name: str
    #: Instants [s] and the weights there [1]: linear between the instants; outside, the first and
    #: the last segment are extended, as in OpenSim. A single weight is constant.
    times: tuple[float, ...]
    weights: tuple[float, ...]
    #: Quantity of the numbers: weight, or desired, least or largest activation.
    quantity: str = "weight"

    def __post_init__(self) -> None:
        fit = self.times and len(self.times) == len(self.weights)
        fit = fit and bool(np.isfinite([*self.times, *self.weights]).all())
        if not fit or (self._weighs and min(self.weights) < 0.0):
            raise InputError(
                f"{self.name}: expected one {self.quantity}{' >= 0' * self._weighs} per instant, "
                f"found times {self.times} and {self.quantity}s {self.weights}"
            )
        if self.quantity in _AT_MOST_ONE and max(self.weights) > 1.0:
            raise InputError(
                f"{self.name}: expected a {self.quantity} of at most 1, found {max(self.weights):g}"
            )
        if (np.diff(self.times) <= 0.0).any():
            raise InputError(f"{self.name}: expected increasing times, found {self.times}")

    @property
    def _weighs(self) -> bool:
        """Whether the numbers cannot be negative, unlike activations that are desired."""
        return self.quantity == "weight"

    def at(self, time: float) -> float:
        """Return the weight [1] at an instant [s]; refuse one below 0 beyond the points."""
        if len(self.times) == 1:
            return self.weights[0]
        end = int(np.clip(np.searchsorted(self.times, time, side="right"), 1, len(self.times) - 1))
        (begin, stop), (first, last) = (
            each[end - 1 : end + 1] for each in (self.times, self.weights)
        )
        weight = first + (time - begin) / (stop - begin) * (last - first)
        if self._weighs and weight < 0.0:
            raise InputError(
                f"{self.name}: expected a {self.quantity} >= 0 at {time:g} s, found {weight:g}: "
                f"the line through the {self.quantity}s {first:g} at {begin:g} s and {last:g} at "
                f"{stop:g} s is extended linearly as in OpenSim; add points at the first and the "
                "last instant of the walk"
            )
        return weight


def at_instant(
    courses: tuple[MuscleWeight, ...], names: tuple[str, ...], time: float, default: FloatArray
) -> FloatArray:
    """Return numbers of muscles (M,) at an instant [s], those of `default` where none is stated."""
    stated = {course.name: course.at(time) for course in courses}
    return np.array([stated.get(name, own) for name, own in zip(names, default, strict=True)])


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
    """Settings of a COMAK simulation (Smith et al. 2018, J Knee Surg 31:68-74).

    Parameters
    ----------
    primary : tuple of str
        Coordinates whose measured accelerations muscles must give.
    secondary : tuple of SecondaryCoordinate
        Coordinates that are solved for; without any, the problem of a frame is static optimisation.
        All other coordinates of the model follow the motion by themselves.
    start, stop, step : float, optional
        First and last instant and time step [s]; by default those of the motion.
    lowpass : float, optional
        Cut-off frequency of the filter of the motion [Hz]; none by default.
    settle : bool
        Whether secondary coordinates settle before the first frame.
    settle_threshold : float
        Change within 0.01 s below which secondary coordinates have settled [rad, m].
    iterations : int
        Most iterations of a frame.
    tolerance : float
        Error of acceleration below which a frame has converged [rad/s², m/s²].
    worst_tolerance : float
        Error above which a frame that did not converge takes the solution of the previous one.
    activation_weight, reserve_weight : float
        Cost of muscle volume times squared activation [1/m³], and of the squared control of
        reserves [1].
    by_volume : bool
        Whether the cost of an activation is in proportion to the volume of its muscle; if not,
        `activation_weight` is that of squared activation [1].
    reserve_forces : tuple of (str, float)
        Coordinates whose reserve gives another force than 1 at full control [N m, N].
    reserve_names : tuple of str
        Names of these reserves; by default the coordinate's followed by "_reserve".
    contact_energy_weight : float
        Weight of the energy that contacts store [1/J].
    desired_activations, least_activations, largest_activations : tuple of MuscleWeight
        Activations of single muscles that cost nothing, w (a - d)², and bounds [1]; by default zero
        and the bounds of the model.
    muscle_weights : tuple of MuscleWeight
        Weights that are not 1.
    fibre_forces : bool
        Whether muscles pull as length and velocity of their fibres allow, with rigid tendons, or
        with activation times largest force at any length.
    """

    primary: tuple[str, ...]
    secondary: tuple[SecondaryCoordinate, ...]
    start: float | None = None
    stop: float | None = None
    step: float | None = None
    lowpass: float | None = None
    settle: bool = True
    settle_threshold: float = 1e-5
    iterations: int = 25
    tolerance: float = 1.0
    worst_tolerance: float = 50.0
    activation_weight: float = 1e6
    reserve_weight: float = 1e3
    by_volume: bool = True
    reserve_forces: tuple[tuple[str, float], ...] = field(default=())
    reserve_names: tuple[str, ...] = field(default=())
    contact_energy_weight: float = 0.0
    muscle_weights: tuple[MuscleWeight, ...] = field(default=())
    desired_activations: tuple[MuscleWeight, ...] = field(default=())
    least_activations: tuple[MuscleWeight, ...] = field(default=())
    largest_activations: tuple[MuscleWeight, ...] = field(default=())
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
        """Return the settings of `to_json`.

        Raises
        ------
        InputError
            If the text is not that of settings.
        """
        try:
            found: Self = TypeAdapter(cls).validate_json(text)
        except ValidationError as error:
            raise InputError(
                f"settings: expected settings of a COMAK simulation, found {error}"
            ) from error
        return found

    def muscle_weight(self, names: tuple[str, ...], time: float) -> FloatArray:
        """Return the weights (M,) [1] of muscles at an instant [s]."""
        return at_instant(self.muscle_weights, names, time, np.ones(len(names)))

    def desired_activation(self, names: tuple[str, ...], time: float) -> FloatArray:
        """Return the activations (M,) [1] of muscles that cost nothing at an instant [s]."""
        return at_instant(self.desired_activations, names, time, np.zeros(len(names)))

    def activation_bounds(
        self, names: tuple[str, ...], time: float, bounds: FloatArray
    ) -> FloatArray:
        """Return least and largest activations (2, M) [1] of muscles at an instant [s].

        `bounds` (2, M) [1] are those of the model. An `InputError` names a muscle whose least
        activation is above the largest one.
        """
        low = at_instant(self.least_activations, names, time, bounds[0])
        high = at_instant(self.largest_activations, names, time, bounds[1])
        for k in np.flatnonzero(low >= high)[:1]:
            raise InputError(
                f"{names[k]}: expected a least activation below the largest one at {time:g} s, "
                f"found {low[k]:g} and {high[k]:g}"
            )
        return np.stack([low, high])

    def reserve_weights(self, names: tuple[str, ...]) -> FloatArray:
        """Return the weights (F,) of the squared forces of reserves on coordinates [1/N²]."""
        forces = dict(self.reserve_forces)
        return np.array([self.reserve_weight / forces.get(name, 1.0) ** 2 for name in names])

    def activation_costs(self, muscles: MuscleSet) -> FloatArray:
        """Return the cost (M,) of a squared activation of each muscle, before its weight [1]."""
        scale = muscles.volumes() if self.by_volume else np.ones(len(muscles.names))
        return self.activation_weight * scale

    def unknown_muscles(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names with a weight that are not muscles of the model."""
        courses = (
            *(*self.muscle_weights, *self.desired_activations),
            *(*self.least_activations, *self.largest_activations),
        )
        return tuple(dict.fromkeys(w.name for w in courses if w.name not in names))


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
