"""Inverse kinematics from markers, by OpenSim, with secondary coordinates as functions of an angle.

Markers on the skin do not tell how joint surfaces move. A passive sweep of the coupled coordinate
(knee flexion), in which ligaments and contact act, gives each secondary coordinate as a function of
this coordinate, and CoordinateCouplerConstraints keep the model on these functions (OpenSim-JAM's
COMAKInverseKinematicsTool; Smith, Vignos, Lenhart, Kaiser, Thelen 2016, J Biomech Eng 138:021017).
"""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from scipy.interpolate import make_interp_spline

from dynamics.motion.motion_tables import MotionTable, read_motion_table
from dynamics.musculoskeletal.forward_simulation import settle, simulate_forward
from dynamics.musculoskeletal.joint_contact import JointContact, PlantContacts
from dynamics.musculoskeletal.measured_markers import (
    MarkerFit,
    MeasuredMarkers,
    check_upright,
    fit_notes,
    instant_errors,
    marker_fits,
    marker_notes,
    misfit,
    read_markers,
)
from dynamics.musculoskeletal.opensim_plant import OpenSimPlant
from dynamics.musculoskeletal.opensim_system import OpenSimSystem, opensim, without_output
from dynamics.musculoskeletal.osim_joints import OsimJoint, path_to_ground
from dynamics.musculoskeletal.osim_xml import (
    DEGREES,
    INTEGER,
    LAST_NAME,
    NAMES,
    NUMBER,
    SPLINE,
    Property,
    add_object,
    child_of,
    new_document,
    parse_xml,
    read_function,
    read_object,
    write_xml,
)
from dynamics.musculoskeletal.plant import CoordinateMotion
from dynamics.musculoskeletal.prescribed_motion import Course, prescribe_motion
from foundation.base.checks import FloatArray, check_fields, check_number
from foundation.base.errors import InputError, PoseError

#: Fewest points of a cubic spline.
_FEWEST = 4


@dataclass(frozen=True, eq=False)
class ConstraintFunctions:
    """Secondary coordinates (P, S) over the coupled one (P,) [rad, m]: splines through points."""

    #: Coordinate that the secondary ones follow.
    coupled: str
    #: Secondary coordinates.
    secondary: tuple[str, ...]
    #: Values of the coupled coordinate [rad, m], increasing (P,).
    at: FloatArray
    #: Secondary coordinates (P, S) [rad, m].
    values: FloatArray

    def __post_init__(self) -> None:
        count = len(self.at)
        check_fields(self, at=(None,), values=(count, len(self.secondary)))
        if count < _FEWEST or (np.diff(self.at) <= 0.0).any():
            raise InputError(
                f"constraint functions: expected at least {_FEWEST} increasing values of "
                f"{self.coupled}, found {np.asarray(self.at).tolist()}"
            )

    def __call__(self, at: FloatArray) -> FloatArray:
        """Return secondary coordinates (N, S) at coupled values (N,) [rad, m], linear outside."""
        spline = make_interp_spline(self.at, self.values, k=3)
        inside = np.clip(at, self.at[0], self.at[-1])
        return spline(inside) + (at - inside)[:, None] * spline(inside, 1)

    @classmethod
    def read(cls, path: str | Path, coupled: str, secondary: Collection[str] | None = None) -> Self:
        """Read SimmSplines with the names of coordinates, by default all, from a FunctionSet."""
        found = list(read_object(path, "constraint functions").below(SPLINE))
        splines = {each.name.rsplit("/", 1)[-1]: read_function(each) for each in found}
        if secondary is not None:
            splines = {name: each for name, each in splines.items() if name in secondary}
        if not splines:
            wanted = "" if secondary is None else f" of {', '.join(secondary)}"
            raise InputError(f"{path}: expected SimmSplines{wanted}, found none")
        at = next(iter(splines.values())).x
        if any(f.x.shape != f.y.shape or not np.array_equal(f.x, at) for f in splines.values()):
            raise InputError(
                f"{path}: expected SimmSplines through the same points, found different ones"
            )
        values = np.column_stack([function.y for function in splines.values()])
        return cls(coupled, tuple(splines), at, values)

    def add_to(self, model: str) -> str:
        """Return a model (XML text) whose secondary coordinates follow the functions."""
        root = ET.fromstring(model)
        coordinates = {c.get("name", ""): c for c in root.iter("Coordinate")}
        _check_names((self.coupled, *self.secondary), coordinates)
        default = float(coordinates[self.coupled].findtext("default_value") or 0.0)
        defaults = self(np.array([default]))[0]
        constraints = child_of(_model_in(root), "ConstraintSet", name="constraintset")
        objects = child_of(constraints, "objects")
        for k, name in enumerate(self.secondary):
            _add_coupler(objects, name, self.coupled, self.at, self.values[:, k])
            child_of(coordinates[name], "default_value").text = repr(float(defaults[k]))
            for tag in ("clamped", "locked", "prescribed"):
                child_of(coordinates[name], tag).text = "false"
        child_of(coordinates[self.coupled], "locked").text = "false"
        return ET.tostring(root, encoding="unicode")


def write_functions(
    path: str | Path, functions: Iterable[ConstraintFunctions], paths: Mapping[str, str]
) -> None:
    """Write OpenSim's FunctionSet (XML), with the path of each coordinate in the model."""
    root = new_document()
    objects = ET.SubElement(ET.SubElement(root, "FunctionSet"), "objects")
    for each in functions:
        for name, values in zip(each.secondary, each.values.T, strict=True):
            _add_spline(objects, paths[name], each.at, values)
    write_xml(root, path)


def with_markers(model: str, markers: Path) -> str:
    """Return a model (XML text) with the markers of a file (XML) in place of its own."""
    document = parse_xml(markers, "markers")
    found = document if document.tag == "MarkerSet" else document.find("MarkerSet")
    if found is None:
        raise InputError(f"{markers}: expected a MarkerSet, found none")
    if found.find("objects/Marker/body") is not None:
        raise InputError(
            f"{markers}: expected markers with a socket_parent_frame, found markers with a body, "
            "as OpenSim before 4.0; leave marker_set out if the model has these markers, or open "
            "and save the file with OpenSim 4"
        )
    root = ET.fromstring(model)
    place = _model_in(root)
    for own in place.findall("MarkerSet"):
        place.remove(own)
    place.append(found)
    return ET.tostring(root, encoding="unicode")


def _check_names(names: tuple[str, ...], known: Mapping[str, ET.Element]) -> None:
    missing = [name for name in names if name not in known]
    if missing:
        raise InputError(
            f"constraint functions: expected coordinates of the model, found {', '.join(missing)}; "
            f"the model has {', '.join(known)}"
        )


def _model_in(root: ET.Element) -> ET.Element:
    found = root.find("Model")
    if found is None:
        raise InputError("model: expected a Model, found none")
    return found


def _add_coupler(
    objects: ET.Element, name: str, coupled: str, at: FloatArray, values: FloatArray
) -> None:
    """Append a constraint by which a coordinate follows the coupled one."""
    coupler = ET.SubElement(objects, "CoordinateCouplerConstraint", name=f"{name}_function")
    function = ET.SubElement(coupler, "coupled_coordinates_function")
    _add_spline(function, name, at, values)
    ET.SubElement(coupler, "independent_coordinate_names").text = coupled
    ET.SubElement(coupler, "dependent_coordinate_name").text = name


def _add_spline(parent: ET.Element, name: str, at: FloatArray, values: FloatArray) -> None:
    points = zip("xy", (at, values), strict=True)
    texts = {axis: " ".join(map(repr, numbers.tolist())) for axis, numbers in points}
    add_object(parent, SPLINE, texts, name)


#: Activation of the muscles, without regard to length and velocity, and time step [1, s].
_ACTIVATION, _STEP = 0.01, 0.01


@dataclass(frozen=True)
class Sweep:
    """A passive sweep of a coordinate."""

    #: The coordinate that moves.
    coupled: str
    #: The coordinates that follow from ligaments and contact.
    secondary: tuple[str, ...]
    #: First and last value of the coupled coordinate [rad, m].
    start: float = 0.0
    stop: float = float(np.radians(110.0))
    #: Duration [s].
    seconds: float = 3.0
    #: Change within 0.01 s below which secondary coordinates have settled before [rad, m].
    settle_threshold: float = 1e-4
    #: Number of points of each function.
    points: int = 20

    @property
    def course(self) -> Course:
        """The coupled coordinate, a parabola over time that starts at rest."""
        time = _STEP * np.arange(round(self.seconds / _STEP) + 1.0)
        return Course(time, self.start + (self.stop - self.start) * (time / time[-1]) ** 2)


def followers(
    joints: Sequence[OsimJoint], coupled: Sequence[str], secondary: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Return the secondary coordinates that follow each coupled one: those of its leg."""
    if len(coupled) == 1:
        return {coupled[0]: tuple(secondary)}
    chains = {
        name: {each.name for each in path_to_ground(joints, joint.child)}
        for joint in joints
        for name in joint.coordinates
    }
    found: dict[str, tuple[str, ...]] = dict.fromkeys(coupled, ())
    for name in secondary:
        missing = [each for each in (name, *coupled) if each not in chains]
        if missing:
            raise InputError(
                f"coupled coordinates: expected coordinates of the model, found {missing[0]}"
            )
        nearest = min(coupled, key=lambda each: len(chains[each] ^ chains[name]))
        found[nearest] = (*found[nearest], name)
    alone = [name for name, own in found.items() if not own]
    if alone:
        raise InputError(
            f"coupled coordinates: expected a secondary coordinate of the leg of {alone[0]}, found "
            "none; add those of its joints to inverse_kinematics.secondary"
        )
    return found


def passive_functions(
    system: OpenSimSystem, contacts: Sequence[JointContact], sweep: Sweep
) -> ConstraintFunctions:
    """Return how secondary coordinates follow a coupled one while muscles hardly pull."""
    course, moved = sweep.course, set(sweep.secondary)
    contacts = [each for each in contacts if moved.intersection(each.coordinates)]
    motion = prescribe_motion(system, {sweep.coupled: course}, course.time)

    def along(motion_of: CoordinateMotion) -> PlantContacts:
        return PlantContacts(OpenSimPlant(system, motion_of, (), sweep.secondary), contacts)

    with system.unloaded():
        start = motion.values[0, motion.index(sweep.secondary)]
        settled = settle(
            along(motion.resting),
            start,
            threshold=sweep.settle_threshold,
            activation=_ACTIVATION,
        )
        activations = np.full(len(system.muscles.names), _ACTIVATION)
        found = simulate_forward(along(motion), activations, settled)
    if found.failure is not None:
        raise PoseError(found.failure)
    at = np.linspace(sweep.start, sweep.stop, sweep.points)
    swept, values = course.values, found.values
    if swept[0] > swept[-1]:
        swept, values, at = swept[::-1], values[::-1], at[::-1]
    through = make_interp_spline(swept, values, k=3)(at)
    return ConstraintFunctions(sweep.coupled, sweep.secondary, at, through)


_SIM = "secondary_constraint_sim"
_ANGLE = "secondary_coupled_coordinate"
_SWEEP_PROPERTIES = (
    Property(_ANGLE, "coupled", LAST_NAME, ""),
    Property("secondary_coordinates", "secondary", NAMES, ()),
    Property(f"{_ANGLE}_start_value", "start", DEGREES, 0.0),
    Property(f"{_ANGLE}_stop_value", "stop", DEGREES, 110.0),
    Property(f"{_SIM}_sweep_time", "seconds", NUMBER, 3.0),
    Property(f"{_SIM}_settle_threshold", "settle_threshold", NUMBER, 1e-4),
    Property("constraint_function_num_interpolation_points", "points", INTEGER, 20),
)
_TOOL = "COMAKInverseKinematicsTool"


@dataclass(frozen=True)
class MarkerSettings:
    """Settings of inverse kinematics."""

    #: Markers and their weights [1]; markers without a weight have no effect.
    weights: tuple[tuple[str, float], ...]
    #: First and last instant [s]; by default those of the markers.
    start: float | None = None
    stop: float | None = None
    #: Relative accuracy of the coordinates [1].
    accuracy: float = 1e-5
    #: Measured markers (.trc, .c3d).
    markers: Path | None = None
    #: Constraint functions (.xml), where they are not simulated anew.
    functions: Path | None = None

    def __post_init__(self) -> None:
        check_number("accuracy", self.accuracy, above=0.0)
        for name, weight in self.weights:
            check_number(f"weight of marker {name}", weight, at_least=0.0)
        if not any(weight > 0.0 for _, weight in self.weights):
            raise InputError("markers: expected a marker with a weight above 0, found none")


def read_marker_settings(path: str | Path) -> tuple[MarkerSettings, Sweep]:
    """Read a COMAKInverseKinematicsTool of OpenSim-JAM: settings and sweep."""
    tool = read_object(path, "settings", _TOOL)
    weights = tuple(
        (task.name, task.number("weight", 1.0))
        for task in tool.below("IKMarkerTask")
        if task.boolean("apply", True)
    )
    times = tool.numbers("time_range").tolist()
    start, stop = times[:2] if len(times) > 1 else (None, None)
    accuracy, markers = tool.number("ik_accuracy", 1e-5), tool.path("marker_file")
    swept = tool.boolean("perform_secondary_constraint_sim", True)
    functions = None if swept else tool.path("secondary_constraint_function_file")
    settings = MarkerSettings(weights, start, stop, accuracy, markers, functions)
    return settings, Sweep(**tool.read(_SWEEP_PROPERTIES))


#: Factors on the accuracy with which OpenSim is tried in turn.
_COARSER = (1.0, 10.0, 100.0)


class MarkerMotion(NamedTuple):
    """Result of inverse kinematics."""

    #: Coordinates over time, angles in degrees.
    motion: MotionTable
    #: Columns `total_squared_error` [m²], `marker_error_RMS` and `marker_error_max` [m], of the
    #: markers in `fits` (`instant_errors`).
    errors: MotionTable
    #: Distances of the markers with weights that model and file have.
    fits: tuple[MarkerFit, ...] = ()
    #: Sentences on markers that are not followed, or have gaps (`marker_notes`), and on large
    #: distances (`fit_notes`).
    notes: tuple[str, ...] = ()
    #: Markers with a weight that the model does not have; lists of weights often serve several
    #: models.
    unknown: tuple[str, ...] = ()


def follow_markers(model: str, markers: str | Path, settings: MarkerSettings) -> MarkerMotion:
    """Return the motion of a model (XML text) with the least weighted squared distances of markers.

    The constraints of the model hold. An `InputError` names axes or times that are not those of
    a walk, markers more than 0.2 m off the model, and what OpenSim cannot follow.
    """
    opensim()  # An error tells how to install it, before the files are read.
    path = Path(markers).resolve()
    measured = read_markers(path)
    known = _check_markers(measured, model, settings)
    weights = {name: weight for name, weight in settings.weights if weight > 0.0}
    measured = measured.between(settings.start, settings.stop)
    notes = marker_notes(measured, tuple(weights), known)
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        (folder / "model.osim").write_text(model, encoding="utf-8")
        check_upright(measured.only(known.intersection(weights)), *_default_places(folder))
        motion, fits, accuracy = _follow(folder, settings, measured)
        if accuracy != settings.accuracy:
            notes += (
                f"{measured.source.name}: OpenSim finds the motion with the accuracy {accuracy:g}, "
                f"and not with {settings.accuracy:g}",
            )
        error = misfit(measured, fits)
        if error is not None:
            raise error
    unknown = tuple(name for name in weights if name not in known)
    errors = instant_errors(fits, motion.time)
    notes += fit_notes(measured.source.name, fits)
    return MarkerMotion(motion, errors, fits, notes, unknown)


def _check_markers(
    measured: MeasuredMarkers, model: str, settings: MarkerSettings
) -> frozenset[str]:
    """Return the markers of the model; refuse files without weighted ones or the instants."""
    known = frozenset(e.get("name", "") for e in ET.fromstring(model).iter("Marker"))
    weighted = {name for name, weight in settings.weights if weight > 0.0}
    seen = {
        name
        for name, gone in zip(measured.names, np.asarray(measured.missing.all(axis=0)), strict=True)
        if not gone
    }
    if not seen & known & weighted:
        raise InputError(
            f"{measured.source}: expected markers with weights that are in the model and in the "
            f"file, found none; the file has {', '.join(sorted(seen))}, weights name "
            f"{', '.join(sorted(weighted))}, and the model has "
            f"{', '.join(sorted(known)) or 'no marker'}"
        )
    first, last = float(measured.time[0]), float(measured.time[-1])
    start = first if settings.start is None else settings.start
    stop = last if settings.stop is None else settings.stop
    if not first <= start < stop <= last:
        raise InputError(
            f"{measured.source}: expected instants within {first:g} and {last:g} s, found "
            f"{start:g} to {stop:g} s; check time_range, start_s and stop_s"
        )
    return known


def _default_places(folder: Path) -> tuple[dict[str, FloatArray], FloatArray]:
    """Return the markers of a model in its default pose [m], and the unit vector upwards [1]."""
    with without_output():
        model = opensim().Model(str(folder / "model.osim"))
        state = model.initSystem()
    markers, gravity = model.getMarkerSet(), np.asarray(model.getGravity().to_numpy())
    places = {
        each.getName(): np.asarray(each.getLocationInGround(state).to_numpy())
        for each in (markers.get(k) for k in range(markers.getSize()))
    }
    length = float(np.linalg.norm(gravity))
    return places, -gravity / length if length else np.array([0.0, 1.0, 0.0])


def _follow(
    folder: Path, settings: MarkerSettings, markers: MeasuredMarkers
) -> tuple[MotionTable, tuple[MarkerFit, ...], float]:
    """Return coordinates, distances and accuracy."""
    weights = {name: weight for name, weight in settings.weights if weight > 0.0}
    # OpenSim takes 0, 0, 0 for a position, and may fail for markers that it nowhere finds.
    seen, path = markers.seen(), folder / "markers.trc"
    path.write_text(seen.text(), encoding="utf-8")
    kept = tuple((n, w) for n, w in settings.weights if n in seen.names)
    settings = replace(settings, weights=kept)
    try:
        done, accuracy = _followed(folder, path, settings)
    except RuntimeError as error:
        raise InputError(f"{markers.source}: OpenSim cannot follow the markers: {error}") from error
    if not done:
        raise InputError(
            f"{markers.source}: OpenSim cannot follow the markers; check that the names of markers "
            "in the model, in the weights and in the file are the same, and the first and last "
            "instant"
        )
    motion = read_motion_table(folder / "ik.mot")
    found = read_motion_table(folder / "walk_ik_model_marker_locations.sto")
    return motion, marker_fits(found, markers, weights), accuracy


def _followed(folder: Path, markers: Path, settings: MarkerSettings) -> tuple[bool, float]:
    """Run the tool, with a coarser accuracy while the search for a pose fails."""
    # A pose in which all constraints hold may be found with a coarser accuracy alone.
    *first, last = (factor * settings.accuracy for factor in _COARSER)
    for accuracy in first:
        with suppress(RuntimeError):
            return _run(folder, markers, replace(settings, accuracy=accuracy)), accuracy
    return _run(folder, markers, replace(settings, accuracy=last)), last


def _run(folder: Path, markers: Path, settings: MarkerSettings) -> bool:
    _write_tool(folder, markers, settings)
    with without_output():
        return bool(opensim().InverseKinematicsTool(str(folder / "tool.xml")).run())


def _write_tool(folder: Path, markers: Path, settings: MarkerSettings) -> None:
    """Write `tool.xml` with the settings of OpenSim's tool."""
    root = new_document()
    start = "-Inf" if settings.start is None else repr(settings.start)
    stop = "Inf" if settings.stop is None else repr(settings.stop)
    properties = {
        "model_file": str(folder / "model.osim"),
        "results_directory": str(folder),
        "marker_file": str(markers),
        "output_motion_file": str(folder / "ik.mot"),
        "time_range": f"{start} {stop}",
        # OpenSim names the worst marker, and crashes at times where all errors are 0.
        "report_errors": "false",
        "report_marker_locations": "true",
        "constraint_weight": "Inf",
        "accuracy": repr(settings.accuracy),
    }
    tool = add_object(root, "InverseKinematicsTool", properties, "walk")
    objects = ET.SubElement(ET.SubElement(tool, "IKTaskSet"), "objects")
    for name, weight in settings.weights:
        add_object(objects, "IKMarkerTask", {"apply": "true", "weight": repr(weight)}, name)
    write_xml(root, folder / "tool.xml")
