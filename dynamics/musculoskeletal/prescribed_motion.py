"""What a forward simulation prescribes: courses of coordinates and loads; its settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from scipy.interpolate import BSpline, PchipInterpolator, make_interp_spline

from dynamics.motion.motion_tables import MotionTable, read_motion_table
from dynamics.motion.plates import Plate
from dynamics.musculoskeletal.comak_settings import check_distinct
from dynamics.musculoskeletal.external_loads import AppliedForce, write_applied_forces
from dynamics.musculoskeletal.motion_input import CoordinateTable
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.osim_xml import (
    FILE,
    NAMES,
    OPTIONAL,
    OsimObject,
    Property,
    read_object,
)
from dynamics.musculoskeletal.plant import CoordinateMotion, index_of
from foundation.base.checks import FloatArray, check_array, check_number
from foundation.base.errors import InputError

#: Slack of the last instant, relative to the time step.
_SLACK = 1e-6


class Course(NamedTuple):
    """Values (K,) [any unit] at instants (K,) [s]: linear between them and constant outside."""

    #: Instants [s], increasing (K,).
    time: FloatArray
    #: Values (K,) [any unit].
    values: FloatArray

    @classmethod
    def through(cls, time: FloatArray, values: FloatArray, step: float) -> Self:
        """Return a smooth course through points (K,), sampled in steps [s]."""
        times, points = check_array("times", time, (None,)), check_array("values", values, (None,))
        if len(times) != len(points) or not len(times) or (np.diff(times) <= 0.0).any():
            raise InputError(
                f"course: expected increasing times and a value for each, found times "
                f"{times.tolist()} and values {points.tolist()}"
            )
        if len(times) == 1:
            return cls(times, points)
        count = max(2, 1 + round((times[-1] - times[0]) / step))
        fine = np.linspace(times[0], times[-1], count)
        return cls(fine, PchipInterpolator(times, points)(fine))

    def at(self, time: FloatArray) -> FloatArray:
        """Return values (N,) at instants (N,) [s]."""
        return np.interp(time, self.time, self.values)


def read_prescribed(path: str | Path | MotionTable, system: OpenSimSystem) -> dict[str, Course]:
    """Read courses [rad, m] of coordinates; angles without a unit are degrees, not in states."""
    table = path if isinstance(path, MotionTable) else read_course_table(path)
    coordinates = CoordinateTable(table, system, unstated_degrees=True)
    if not coordinates.columns:
        raise InputError(
            f"{table.source}: expected columns of coordinates of the model, found "
            f"{', '.join(table.names)}"
        )
    return {name: Course(table.time, coordinates.in_si(name)) for name in coordinates.columns}


def prescribe_motion(
    system: OpenSimSystem, courses: Mapping[str, Course], time: FloatArray
) -> CoordinateMotion:
    """Return the motion at instants (N,) [s]: quintic splines through courses, else defaults."""
    values = np.repeat(system.defaults[None], len(time), axis=0)
    speeds, accelerations = np.zeros_like(values), np.zeros_like(values)
    places = index_of(system.coordinates, tuple(courses))
    for k, course in zip(places, courses.values(), strict=True):
        spline = _spline(course)
        within = np.clip(time, course.time[0], course.time[-1])
        moving = within == time
        values[:, k] = spline(within)
        speeds[:, k] = moving * spline(within, 1)
        accelerations[:, k] = moving * spline(within, 2)
    return CoordinateMotion(
        system.coordinates, system.rotational, time, values, speeds, accelerations
    )


def _spline(course: Course) -> BSpline:
    degree = min(5, len(course.time) - 1)
    return make_interp_spline(course.time, course.values, k=degree)


def instants(
    courses: Iterable[Course], step: float, start: float | None, stop: float | None
) -> FloatArray:
    """Return equally spaced instants (N,) [s] from start to stop, by default those of courses."""
    ends = [t for course in courses if len(course.time) > 1 for t in course.time[[0, -1]]]
    if not ends and (start is None or stop is None):
        raise InputError(
            "time: expected start and stop, or a course over time of a coordinate or a load, found "
            "none"
        )
    first = min(ends) if start is None else start
    last = max(ends) if stop is None else stop
    count = int((last - first) / step + _SLACK)
    if count < 1:
        raise InputError(f"time: expected stop after start, found {first:g} to {last:g} s")
    return first + step * np.arange(count + 1.0)


class BodyForce(NamedTuple):
    """A force on a body at a point (3,) [m], both fixed to the body."""

    #: Name of the body.
    body: str
    #: Point where the force acts, frame of the body (3,) [m].
    point: FloatArray
    #: Components of the force, frame of the body [N].
    force: tuple[Course, Course, Course]


def write_external_loads(folder: Path, loads: Mapping[str, BodyForce], time: FloatArray) -> Path:
    """Write forces on bodies at instants (N,) [s] as OpenSim's ExternalLoads; return the file."""
    forces = []
    for name, load in loads.items():
        force = np.column_stack([course.at(time) for course in load.force])
        plate = Plate(name, force, np.tile(load.point, (len(time), 1)), np.zeros_like(force))
        forces.append(AppliedForce(load.body, time, plate, in_ground=False))
    return write_applied_forces(folder, forces)


def read_course_table(path: str | Path) -> MotionTable:
    """Return a table of courses; raises `InputError` if the file is missing or damaged."""
    try:
        return read_motion_table(path)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; check the path of the table") from error


#: Time step and activation where OpenSim-JAM's file has none [s, 1].
_STEP, _ACTIVATION = 0.01, 0.02
#: Setting of muscles that pull as length and velocity of their fibres allow, and its older name.
_FIBRES = ("use_muscle_physiology", "ignore_muscle_dynamics")
_SETTINGS = (
    Property("unconstrained_coordinates", "secondary", NAMES, ()),
    Property("start_time", "start", OPTIONAL, -1.0),
    Property("stop_time", "stop", OPTIONAL, -1.0),
    Property("report_time_step", "step", OPTIONAL, -1.0),
    Property("constant_muscle_control", "activation", OPTIONAL, _ACTIVATION),
)
_FILES = (
    Property("model_file", "model", FILE, None),
    Property("prescribed_coordinates_file", "prescribed", FILE, None),
    Property("external_loads_file", "external_loads", FILE, None),
)
_TOOL = "ForsimTool"


@dataclass(frozen=True)
class ForwardSettings:
    """Settings of a forward simulation."""

    #: Coordinates that forces move; all others are prescribed or keep the default of the model.
    secondary: tuple[str, ...]
    #: First and last instant [s]; by default those of the courses of coordinates and loads.
    start: float | None = None
    stop: float | None = None
    #: Time step [s].
    step: float = _STEP
    #: Activation of the muscles [1]; None without control, for the least activation of each muscle.
    activation: float | None = _ACTIVATION
    #: Whether muscles pull as length and velocity of their fibres allow, or by activation
    #: times largest force.
    fibre_forces: bool = True

    def __post_init__(self) -> None:
        check_number("step", self.step, above=0.0)
        if self.activation is not None:
            check_number("activation", self.activation, at_least=0.0, at_most=1.0)
        check_distinct(self.secondary)
        if not self.secondary:
            raise InputError(
                "coordinates: expected coordinates that forces move (secondary), found none"
            )


@dataclass(frozen=True)
class ForwardFiles:
    """Files that a forward simulation names."""

    model: Path
    #: Courses of prescribed coordinates.
    prescribed: Path | None
    #: Further forces on bodies.
    external_loads: Path | None


def read_forward_tool(path: str | Path) -> OsimObject:
    """Return the settings of a ForsimTool as XML; errors as of `read_forward_settings`."""
    return read_object(path, "settings", _TOOL)


def read_forward_settings(path: str | Path) -> tuple[ForwardSettings, ForwardFiles]:
    """Read a ForsimTool of OpenSim-JAM: settings and files."""
    tool = read_forward_tool(path)
    if tool.path("actuator_input_file") is not None:
        wanted = "no file, as all muscles have one activation (constant_muscle_control)"
        raise tool.fault("actuator_input_file", wanted, tool.text("actuator_input_file"))
    files = ForwardFiles(**tool.read(_FILES))
    if files.model is None:
        raise tool.fault("model_file", "a file", "none")
    values = tool.read(_SETTINGS)
    values["step"] = _STEP if values["step"] is None else values["step"]
    return ForwardSettings(fibre_forces=_requested(tool, *_FIBRES), **values), files


def _requested(tool: OsimObject, name: str, opposite: str) -> bool:
    """Return a flag by its name, or by the older name of its opposite."""
    if tool.has(name) or not tool.has(opposite):
        return tool.boolean(name, True)
    return not tool.boolean(opposite, False)
