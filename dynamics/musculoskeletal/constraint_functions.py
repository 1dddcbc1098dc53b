"""Secondary coordinates as functions of one coordinate, for inverse kinematics from markers.

Markers on the skin do not tell how joint surfaces move. A passive sweep of the coupled coordinate
(knee flexion), in which ligaments and contact act, gives each secondary coordinate as a function of
this coordinate, and CoordinateCouplerConstraints keep the model on these functions (OpenSim-JAM's
COMAKInverseKinematicsTool; Smith, Vignos, Lenhart, Kaiser, Thelen 2016, J Biomech Eng 138:021017).
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from scipy.interpolate import make_interp_spline

from dynamics.musculoskeletal.forward_simulation import settle, simulate_forward
from dynamics.musculoskeletal.joint_contact import JointContact, PlantContacts
from dynamics.musculoskeletal.opensim_plant import OpenSimPlant
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.osim_joints import OsimJoint, path_to_ground
from dynamics.musculoskeletal.osim_xml import (
    SPLINE,
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
from foundation.base.checks import FloatArray, check_fields
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
    #: Simulation in time, or an equilibrium at each instant.
    kind: str = "dynamic"

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
    if sweep.kind == "equilibrium":
        motion = motion.resting

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
        tensions = _ACTIVATION * system.muscles.max_force
        found = simulate_forward(along(motion), tensions, settled, kind=sweep.kind)
    if found.failure is not None:
        raise PoseError(found.failure)
    at = np.linspace(sweep.start, sweep.stop, sweep.points)
    swept, values = course.values, found.values
    if swept[0] > swept[-1]:
        swept, values, at = swept[::-1], values[::-1], at[::-1]
    through = make_interp_spline(swept, values, k=3)(at)
    return ConstraintFunctions(sweep.coupled, sweep.secondary, at, through)
