"""Courses over time of what a forward simulation prescribes: coordinates, muscles, loads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from scipy.interpolate import BSpline, PchipInterpolator, make_interp_spline

from dynamics.motion.motion_tables import MotionTable, read_motion_table
from dynamics.motion.plates import Plate
from dynamics.musculoskeletal.coordinate_table import CoordinateTable
from dynamics.musculoskeletal.external_loads import AppliedForce, write_applied_forces
from dynamics.musculoskeletal.muscle_drive import MuscleDrive
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.plant import CoordinateMotion, MuscleSet, index_of
from foundation.base.checks import FloatArray, check_array
from foundation.base.errors import InputError

#: Slack of the last instant, relative to the time step.
_SLACK = 1e-6
#: Kinds of columns of muscle inputs; without activation dynamics, a control is an activation.
_CONTROLS, _FORCE = ("control", "activation"), "force"


class Course(NamedTuple):
    """Values (K,) [any unit] at instants (K,) [s]: linear between them and constant outside."""

    #: Instants [s], increasing (K,).
    time: FloatArray
    #: Values (K,) [any unit].
    values: FloatArray

    @classmethod
    def through(cls, time: FloatArray, values: FloatArray, step: float) -> Self:
        """Return a smooth course through points (K,), sampled in steps [s]."""
        at, points = check_array("times", time, (None,)), check_array("values", values, (None,))
        if len(at) != len(points) or not len(at) or (np.diff(at) <= 0.0).any():
            raise InputError(
                f"course: expected a value for each of increasing times, found times {at.tolist()} "
                f"and values {points.tolist()}"
            )
        if len(at) == 1:
            return cls(at, points)
        count = max(2, 1 + round((at[-1] - at[0]) / step))
        fine = np.linspace(at[0], at[-1], count)
        return cls(fine, PchipInterpolator(at, points)(fine))

    def at(self, time: FloatArray) -> FloatArray:
        """Return values (N,) at instants (N,) [s]."""
        return np.interp(time, self.time, self.values)


def read_prescribed(path: str | Path | MotionTable, system: OpenSimSystem) -> dict[str, Course]:
    """Read courses [rad, m] of coordinates; angles without a unit are degrees, not in states."""
    table = path if isinstance(path, MotionTable) else read_course_table(path)
    found = CoordinateTable(table, system, unstated_degrees=True)
    if not found.columns:
        raise InputError(
            f"{table.source}: expected columns of coordinates of the model, found "
            f"{', '.join(table.names)}"
        )
    courses = {name: Course(table.time, found.in_si(name)) for name in found.columns}
    found.check_angles()
    return courses


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
            "time: expected start and stop, or a course over time of a coordinate, a muscle or a "
            "load, found none"
        )
    first = min(ends) if start is None else start
    last = max(ends) if stop is None else stop
    count = int((last - first) / step + _SLACK)
    if count < 1:
        raise InputError(f"time: expected stop after start, found {first:g} to {last:g} s")
    return first + step * np.arange(count + 1.0)


def read_muscle_inputs(path: str | Path) -> dict[str, Course]:
    """Read the courses of muscles: columns NAME_control, NAME_activation [1] and NAME_force [N]."""
    table = read_course_table(path)
    for name in table.names:
        if name.rpartition("_")[2] not in (*_CONTROLS, _FORCE):
            raise InputError(
                f"{path}: expected columns that end in _control, _activation or _force, found "
                f"{name!r}"
            )
    return {n: Course(table.time, table.values[:, k]) for k, n in enumerate(table.names)}


def drive_muscles(
    muscles: MuscleSet,
    courses: Mapping[str, Course],
    activation: float | None,
    time: FloatArray,
    *,
    fibre_forces: bool = True,
) -> MuscleDrive:
    """Return the drive of muscles at times (N,) [s]; those without a course have the activation."""
    constant = muscles.bounds[0] if activation is None else activation
    activations = np.full((len(time), len(muscles.names)), constant)
    forces = np.full_like(activations, np.nan)
    if activation is not None and not fibre_forces:
        forces[:] = activation * muscles.max_force
    found: dict[tuple[str, str], str] = {}
    for column, course in courses.items():
        path, _, kind = column.rpartition("_")
        name = path.rsplit("/", 1)[-1]
        if name not in muscles.names:
            raise InputError(
                f"muscle inputs, {column}: expected a muscle of the model, found none of that "
                f"name; the model has {', '.join(muscles.names)}"
            )
        first = found.setdefault((name, kind), column)
        if first != column:
            raise InputError(
                f"muscle inputs: expected one column {name}_{kind}, found {first} and {column}; "
                "leave one of them out"
            )
        k = muscles.names.index(name)
        if kind == _FORCE:
            forces[:, k] = course.at(time)
        else:
            activations[:, k] = course.at(time)
            if (name, _FORCE) not in found:
                forces[:, k] = np.nan  # An activation of its own acts on the fibres.
    return MuscleDrive(activations, forces)


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
