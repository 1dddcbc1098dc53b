"""Settings of COMAK, and OpenSim-JAM's file of them: files, reserves, and what is not done."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import hypot
from pathlib import Path

import numpy as np

from dynamics.musculoskeletal.osim_xml import (
    FILE,
    FLAG,
    INTEGER,
    LAST_NAME,
    NAMES,
    NUMBER,
    OPTIONAL,
    OsimObject,
    Property,
    read_function,
    read_object,
)
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


_ACTUATOR = "CoordinateActuator"


def read_reserves(path: str | Path) -> dict[str, float]:
    """Read the reserve [N m, N] of each coordinate from OpenSim's force set (XML)."""
    forces = read_object(path, "reserves").child("ForceSet")
    if forces is None:
        return {}
    return reserves_in(f for f in forces.objects() if f.boolean("appliesForce", True))


def reserves_in(forces: Iterable[OsimObject]) -> dict[str, float]:
    """Return the force at full control [N m, N] of the actuator of each coordinate in a set."""
    found: dict[str, float] = {}
    for actuator in forces:
        if actuator.tag == _ACTUATOR:
            force = actuator.number("optimal_force", 1.0)
            check_number(f"{actuator.where}, optimal_force", force, above=0.0)
            found[actuator.last_name("coordinate")] = force
    return found


def with_actuators(settings: ComakSettings, actuators: Mapping[str, float]) -> ComakSettings:
    """Return settings whose reserves include actuators [N m, N] on coordinates solved for."""
    free = (*settings.primary, *(s.name for s in settings.secondary))
    own = {name: force for name, force in actuators.items() if name in free}
    if not own:
        return settings
    # Two actuators share the force of a coordinate at the least cost as one of √(f₁² + f₂²).
    forces = dict(settings.reserve_forces) or dict.fromkeys(free, 1.0)
    forces |= {name: hypot(forces.get(name, 0.0), force) for name, force in own.items()}
    return replace(settings, reserve_forces=tuple(forces.items()))


_SETTINGS = (
    Property("primary_coordinates", "primary", NAMES, ()),
    Property("start_time", "start", OPTIONAL, -1.0),
    Property("stop_time", "stop", OPTIONAL, -1.0),
    Property("time_step", "step", OPTIONAL, -1.0),
    Property("lowpass_filter_frequency", "lowpass", OPTIONAL, -1.0),
    Property("settle_secondary_coordinates_at_start", "settle", FLAG, True),
    Property("settle_threshold", "settle_threshold", NUMBER, 1e-5),
    Property("max_iterations", "iterations", INTEGER, 25),
    Property("udot_tolerance", "tolerance", NUMBER, 1.0),
    Property("udot_worse_case_tolerance", "worst_tolerance", NUMBER, 50.0),
    Property("non_muscle_actuator_weight", "reserve_weight", NUMBER, 1e3),
    Property("contact_energy_weight", "contact_energy_weight", NUMBER, 0.0),
    Property("use_muscle_physiology", "fibre_forces", FLAG, False),
)
_FILES = (
    Property("model_file", "model", FILE, None),
    Property("coordinates_file", "motion", FILE, None),
    Property("external_loads_file", "external_loads", FILE, None),
    Property("force_set_file", "forces", FILE, None),
)
_TOOL = "COMAKTool"
_SECONDARY = (
    Property("coordinate", "name", LAST_NAME, ""),
    Property("max_change", "largest_step", NUMBER, 0.05),
)


class ComakFile:
    """Settings of OpenSim-JAM's COMAKTool; `others` replace files, by `ComakFiles`' field."""

    def __init__(self, path: str | Path, others: Mapping[str, Path] | None = None) -> None:
        #: The settings as XML.
        self.tool = read_object(path, "settings", _TOOL)
        self._others = {} if others is None else dict(others)
        #: Coordinates that the list of the file prescribes.
        self.prescribed = self.tool.names("prescribed_coordinates")

    @property
    def files(self) -> ComakFiles:
        """Model, motion, external loads and reserves."""
        named = self.tool.read(_FILES) | self._others
        for tag, key in (("model_file", "model"), ("coordinates_file", "motion")):
            if named[key] is None:
                raise self.tool.fault(tag, "a file", "none")
        return ComakFiles(**named)

    def settings(self, viscosities: Mapping[str, float] | None = None) -> ComakSettings:
        """Return the settings; `viscosities` of the model are the default damping."""
        tool = self.tool
        exponent = tool.number("activation_exponent", 2.0)
        if exponent != 2.0:
            raise tool.fault("activation_exponent", "2", f"{exponent:g}")
        if tool.boolean("replace_force_set", False):
            removed = "true, which removes the muscles and ligaments of the model"
            raise tool.fault("replace_force_set", "false", removed)
        values, forces = tool.read(_SETTINGS), self.files.forces
        secondary = self._secondary(viscosities or {})
        check_distinct(values["primary"], self.prescribed, tuple(s.name for s in secondary))
        reserves = () if forces is None else tuple(read_reserves(forces).items())
        weights = _muscle_weights(tool)
        return ComakSettings(
            secondary=secondary, muscle_weights=weights, reserve_forces=reserves, **values
        )

    def _secondary(self, viscosities: Mapping[str, float]) -> tuple[SecondaryCoordinate, ...]:
        found = []
        for each in self.tool.below("COMAKSecondaryCoordinate"):
            values = each.read(_SECONDARY)
            damping = each.number("comak_damping", viscosities.get(values["name"], 1.0))
            found.append(SecondaryCoordinate(damping=damping, **values))
        return tuple(found)


def check_coordinates(where: str, names: Collection[str], known: Collection[str]) -> None:
    """Raise an `InputError` unless every name is that of a coordinate of the model."""
    for name in names:
        if name not in known:
            raise InputError(f"{where}: expected one of {', '.join(known)}, found {name}")


def _muscle_weights(tool: OsimObject) -> tuple[tuple[str, float], ...]:
    """Return the weights [1] that parameters of single muscles state."""
    tags = ("COMAKCostFunctionWeight", "COMAKCostFunctionParameter")
    found: dict[str, float] = {}
    for parameter in (each for tag in tags for each in tool.below(tag)):
        name = parameter.last_name("actuator")
        if not name:
            raise parameter.fault("actuator", "a muscle", "none")
        for part in parameter.element:
            if part.tag not in ("actuator", "weight") and part.get("name") != "weight":
                raise InputError(
                    f"{parameter.where}: expected actuator and weight, found "
                    f"{part.get('name') or part.tag}; muscles have the bounds of the model, and "
                    "activations alone cost"
                )
        element = parameter.value("weight")
        line = None if element is None else read_function(parameter.of(element)).line
        if line is None or line[0]:
            kind = "none" if element is None else element.tag
            raise parameter.fault("weight", "a Constant", kind)
        if found.setdefault(name, line[1]) != line[1]:
            raise parameter.fault("actuator", "one weight of each muscle", f"two of {name}")
    return tuple(found.items())
