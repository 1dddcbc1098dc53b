"""Settings of COMAK, from OpenSim-JAM's XML files or by hand."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from pydantic import TypeAdapter, ValidationError
from scipy.interpolate import BSpline, make_interp_spline

from dynamics.musculoskeletal.osim_xml import (
    boolean_of,
    child_text,
    number_in,
    numbers_of,
    parse_xml,
    with_defaults,
)
from dynamics.musculoskeletal.tool_file import ToolFile
from foundation.base.checks import FloatArray, check_number
from foundation.base.errors import InputError

#: Quantities of a muscle that are activations it can have.
_AT_MOST_ONE = ("desired activation", "largest activation")


@dataclass(frozen=True)
class SecondaryCoordinate:
    """A coordinate in which joint surfaces touch.

    Parameters
    ----------
    name : str
        Name in the model.
    damping : float
        Viscosity that the model applies to this coordinate [N m s/rad, N s/m]; the problem of a
        frame takes it into account.
    largest_step : float
        Largest change within an iteration [rad, m].
    """

    name: str
    damping: float = 1.0
    largest_step: float = 0.05

    def __post_init__(self) -> None:
        check_number(f"{self.name}, damping", self.damping, at_least=0.0)
        check_number(f"{self.name}, largest_step", self.largest_step, above=0.0)


@dataclass(frozen=True)
class MuscleWeight:
    """Weight of a muscle in the cost, or another number of a muscle, constant or over time.

    Parameters
    ----------
    name : str
        Name of the muscle.
    times, weights : tuple of float
        Instants [s] and the weights there [1]. A single weight is constant.
    smooth : bool
        False: linear between the instants; outside, the first and the last segment go on, as
        OpenSim's PiecewiseLinearFunction. True: cubic, with straight lines outside, as OpenSim's
        SimmSpline.
    quantity : {"weight", "desired activation", "least activation", "largest activation"}
        What the numbers are.

    Raises
    ------
    InputError
        If the numbers do not match the instants, a weight is negative, a desired or a largest
        activation is above 1, a number is none, or the instants do not increase.
    """

    name: str
    times: tuple[float, ...]
    weights: tuple[float, ...]
    smooth: bool = False
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
        """Return the weight [1] at an instant [s].

        Raises
        ------
        InputError
            If the weight is negative, as a falling segment is beyond its end.
        """
        if len(self.times) == 1:
            return self.weights[0]
        end = int(np.clip(np.searchsorted(self.times, time, side="right"), 1, len(self.times) - 1))
        (begin, stop), (first, last) = (
            each[end - 1 : end + 1] for each in (self.times, self.weights)
        )
        weight = first + (time - begin) / (stop - begin) * (last - first)
        if self.smooth:
            inside = float(np.clip(time, self.times[0], self.times[-1]))
            weight = float(self._spline(inside) + (time - inside) * self._spline(inside, 1))
            # A spline through small numbers swings below zero between them.
            if self._weighs and self.times[0] <= time <= self.times[-1]:
                weight = max(weight, 0.0)
        if self._weighs and weight < 0.0:
            raise InputError(
                f"{self.name}: expected a {self.quantity} >= 0 at {time:g} s, found {weight:g}: "
                f"the line through the {self.quantity}s {first:g} at {begin:g} s and {last:g} at "
                f"{stop:g} s goes on as in OpenSim; add points at the first and the last instant "
                "of the walk"
            )
        return weight

    @cached_property
    def _spline(self) -> BSpline:
        """The cubic spline of Forsythe, Malcolm & Moler, which OpenSim's SimmSpline has.

        Its third derivatives at the ends are those of the cubics through the outermost four points.
        """
        x, y = np.array(self.times), np.array(self.weights)
        if len(x) < 4:
            return make_interp_spline(x, y, k=len(x) - 1)
        ends = [6.0 * np.polyfit(u - u[0], v, 3)[0] for u, v in ((x[:4], y[:4]), (x[-4:], y[-4:]))]
        conditions: Any = ([(3, ends[0])], [(3, ends[1])])
        return make_interp_spline(x, y, k=3, bc_type=conditions)


@dataclass(frozen=True)
class ComakSettings:
    """Settings of a COMAK simulation (Smith et al. 2018, J Knee Surg 31:68-74).

    Parameters
    ----------
    primary : tuple of str
        Coordinates whose measured accelerations muscles must give.
    secondary : tuple of SecondaryCoordinate
        Coordinates that are solved for. All other coordinates of the model follow the motion by
        themselves.
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
        if not self.primary or not self.secondary:
            raise InputError("coordinates: expected primary and secondary coordinates, found none")

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
                f"settings: expected those of a COMAK simulation, found {error}"
            ) from error
        return found

    def muscle_weight(self, names: tuple[str, ...], time: float) -> FloatArray:
        """Return the weights (M,) [1] of muscles at an instant [s]."""
        return _of_muscles(self.muscle_weights, names, time, np.ones(len(names)))

    def desired_activation(self, names: tuple[str, ...], time: float) -> FloatArray:
        """Return the activations (M,) [1] of muscles that cost nothing at an instant [s]."""
        return _of_muscles(self.desired_activations, names, time, np.zeros(len(names)))

    def activation_bounds(
        self, names: tuple[str, ...], time: float, bounds: FloatArray
    ) -> FloatArray:
        """Return least and largest activations (2, M) [1] of muscles at an instant [s].

        `bounds` (2, M) [1] are those of the model. An `InputError` names a muscle whose least
        activation is above the largest one.
        """
        low = _of_muscles(self.least_activations, names, time, bounds[0])
        high = _of_muscles(self.largest_activations, names, time, bounds[1])
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

    def unknown_muscles(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of muscles that have a weight and are none of the model."""
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
    """Files that a COMAK simulation names.

    Parameters
    ----------
    model, motion : Path
        Model, and motion of its coordinates.
    external_loads : Path or None
        Forces on the feet.
    forces : Path or None
        Further forces of the model: the reserves.
    """

    model: Path
    motion: Path
    external_loads: Path | None
    forces: Path | None


def read_comak_settings(
    path: str | Path, viscosities: Mapping[str, float] | None = None
) -> tuple[ComakSettings, ComakFiles]:
    """Read the settings of OpenSim-JAM's COMAKTool.

    Parameters
    ----------
    path : str or Path
        XML file; the files it names are relative to its folder.
    viscosities : mapping of str to float, optional
        Viscosity of the model on coordinates [N m s/rad, N s/m]: the damping of secondary
        coordinates for which the file has none, else 1.

    Returns
    -------
    ComakSettings
        The settings.
    ComakFiles
        Model, motion, external loads and reserves.

    Raises
    ------
    InputError
        If the file is missing, has no COMAKTool, or a value is no number or out of its range.
    """
    tool = ToolFile(path, "COMAKTool")
    number, optional = tool.number, tool.optional
    exponent = number("activation_exponent", 2.0)
    if exponent != 2.0:
        raise InputError(f"{path}, activation_exponent: expected 2, found {exponent:g}")
    primary, secondary = tool.names("primary_coordinates"), _secondary(tool, viscosities or {})
    prescribed = tool.names("prescribed_coordinates")
    check_distinct(primary, prescribed, tuple(s.name for s in secondary))
    loads, forces = tool.file("external_loads_file"), tool.file("force_set_file")
    settings = ComakSettings(
        primary=primary,
        secondary=secondary,
        start=optional("start_time"),
        stop=optional("stop_time"),
        step=optional("time_step"),
        lowpass=optional("lowpass_filter_frequency"),
        settle=tool.flag("settle_secondary_coordinates_at_start", True),
        settle_threshold=number("settle_threshold", 1e-5),
        iterations=int(number("max_iterations", 25)),
        tolerance=number("udot_tolerance", 1.0),
        worst_tolerance=number("udot_worse_case_tolerance", 50.0),
        reserve_weight=number("non_muscle_actuator_weight", 1e3),
        **reserve_fields(() if forces is None else read_reserves(forces)),
        contact_energy_weight=number("contact_energy_weight", 0.0),
        **_muscle_costs(tool),
    )
    model, motion = tool.file("model_file"), tool.file("coordinates_file")
    if model is None or motion is None:
        raise InputError(f"{path}: expected model_file and coordinates_file, found an empty one")
    return settings, ComakFiles(model, motion, loads, forces)


class Reserve(NamedTuple):
    """Actuator of a coordinate: its force at full control [N m, N], and its name in a force set."""

    coordinate: str
    force: float
    name: str


def reserve_fields(reserves: Sequence[Reserve]) -> dict[str, Any]:
    """Return the fields of `ComakSettings` that reserves decide."""
    return {
        "reserve_forces": tuple((r.coordinate, r.force) for r in reserves),
        "reserve_names": tuple(r.name for r in reserves),
    }


def read_reserves(path: str | Path) -> tuple[Reserve, ...]:
    """Return the reserve of each coordinate in a force set.

    Parameters
    ----------
    path : str or Path
        OpenSim's force set (XML) with CoordinateActuators.

    Raises
    ------
    InputError
        If the file is missing, no XML, or a force is no positive number.
    """
    found: dict[str, Reserve] = {}
    root = parse_xml(Path(path), "reserves")
    owner = root.find("ForceSet")
    for own in root.iterfind("ForceSet/objects/CoordinateActuator"):
        element = own if owner is None else with_defaults(own, owner)
        where = f"{Path(path).name}, {element.get('name')}"
        if not boolean_of(element, "appliesForce", where, True):
            continue
        coordinate = child_text(element, "coordinate").rsplit("/", 1)[-1]
        where = f"{where}, optimal_force"
        force = number_in(where, child_text(element, "optimal_force") or "1")
        force = check_number(where, force, above=0.0)
        found[coordinate] = Reserve(coordinate, force, element.get("name", ""))
    return tuple(found.values())


def _secondary(tool: ToolFile, viscosities: Mapping[str, float]) -> tuple[SecondaryCoordinate, ...]:
    found = []
    for element in tool.element.iter("COMAKSecondaryCoordinate"):
        name, where = child_text(element, "coordinate").rsplit("/", 1)[-1], element.get("name")
        damping = child_text(element, "comak_damping") or str(viscosities.get(name, 1.0))
        step = child_text(element, "max_change") or "0.05"
        found.append(
            SecondaryCoordinate(
                name,
                number_in(f"{where}, comak_damping", damping),
                number_in(f"{where}, max_change", step),
            )
        )
    return tuple(found)


def _of_muscles(
    courses: tuple[MuscleWeight, ...], names: tuple[str, ...], time: float, default: FloatArray
) -> FloatArray:
    """Return numbers of muscles (M,) at an instant [s], those of `default` where none is stated."""
    stated = {course.name: course.at(time) for course in courses}
    return np.array([stated.get(name, own) for name, own in zip(names, default, strict=True)])


#: Functions of a muscle in the settings: element, field of `ComakSettings`, quantity.
_COURSES = (
    ("weight", "muscle_weights", "weight"),
    ("desired_activation", "desired_activations", "desired activation"),
    ("activation_lower_bound", "least_activations", "least activation"),
    ("activation_upper_bound", "largest_activations", "largest activation"),
)


def _muscle_costs(tool: ToolFile) -> dict[str, Any]:
    """Return the fields of `ComakSettings` that functions of single muscles decide."""
    found: dict[str, list[MuscleWeight]] = {target: [] for _, target, _ in _COURSES}
    named: set[str] = set()
    for tag in ("COMAKCostFunctionWeight", "COMAKCostFunctionParameter"):
        for element in tool.element.iter(tag):
            where = f"{tool.path.name}, {element.get('name')}"
            name = child_text(element, "actuator").rsplit("/", 1)[-1]
            _check_parameter(element, where, name, named)
            named.add(name)
            for key, target, quantity in _COURSES:
                function = _function(element, key)
                if function is not None:
                    found[target].append(_course(name, function, f"{where}, {key}", quantity))
                elif element.find(key) is not None:
                    raise InputError(f"{where}, {key}: expected {_KINDS}, found none")
    return {target: tuple(courses) for target, courses in found.items()}


def _check_parameter(element: ET.Element, where: str, name: str, named: set[str]) -> None:
    """Raise an `InputError` if a parameter names no or a `named` muscle, or has unknown parts."""
    if not name or name in named:
        raise InputError(
            f"{where}, actuator: expected a muscle that no other parameter names, found "
            f"{name or 'none'}"
        )
    known = ("actuator", *(key for key, _, _ in _COURSES))
    parts = [part.tag if part.tag in known else part.get("name", "") for part in element]
    for part, key in zip(element, parts, strict=True):
        if key not in known:
            raise InputError(
                f"{where}: expected {', '.join(known)}, each as an element of this name or as a "
                f'function with this name, such as <Constant name="weight">, found {part.tag}'
            )
        if parts.count(key) > 1:
            raise InputError(f"{where}, {key}: expected one, found {parts.count(key)}")


def _function(element: ET.Element, key: str) -> ET.Element | None:
    """Return the function of a property, as OpenSim writes or reads the property.

    OpenSim writes an object with the name of the property, `<Constant name="weight">`, and reads
    one within an element of that name as well.
    """
    inside = element.find(f"{key}/*")
    return next((c for c in element if c.get("name") == key), None) if inside is None else inside


_KINDS = "a Constant, a LinearFunction, a PiecewiseLinearFunction or a SimmSpline"


def _course(name: str, function: ET.Element, where: str, quantity: str) -> MuscleWeight:
    """Return the numbers of a muscle that a function of OpenSim gives."""
    kind = function.tag
    if kind == "Constant":
        value = number_in(where, child_text(function, "value") or "0")
        return MuscleWeight(name, (0.0,), (value,), quantity=quantity)
    if kind in ("PiecewiseLinearFunction", "SimmSpline"):
        x, y = (
            tuple(number_in(where, part) for part in child_text(function, axis).split())
            for axis in "xy"
        )
        return MuscleWeight(name, x, y, smooth=kind == "SimmSpline", quantity=quantity)
    if kind == "LinearFunction":
        slope, offset = numbers_of(function, "coefficients", where, 2, (1.0, 0.0)).tolist()
        return _linear_weight(name, slope, offset, quantity)
    raise InputError(
        f"{where}: expected {_KINDS}, found {kind}; state a PiecewiseLinearFunction through values "
        "over the walk"
    )


def _linear_weight(name: str, slope: float, offset: float, quantity: str) -> MuscleWeight:
    """Return the numbers `slope` t + `offset`, by two instants at which they are not negative."""
    if slope == 0.0:
        return MuscleWeight(name, (0.0,), (offset,), quantity=quantity)
    begin = -offset / slope - (slope < 0.0)
    numbers = (max(-slope, 0.0), max(slope, 0.0))
    return MuscleWeight(name, (begin, begin + 1.0), numbers, quantity=quantity)
