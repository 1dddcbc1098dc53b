"""Frames and joints of an OpenSim model, and the motion of a body in another one through joints.

In OpenSim's `CustomJoint`, the child turns about three axes in sequence, the first one fixed in
the parent, and moves along three axes of the parent; here, each angle and each displacement is a
linear function of one coordinate (Seth et al. 2010, Nonlinear Dyn 62:291-303). Joints in series are
a product of exponentials of screws (Lynch & Park 2017, Modern Robotics, chapters 4 and 5), whose
first and second derivatives are exact.

A socket names a frame by a path from the model or from the component that owns the socket, or by a
name that only one frame has, as in OpenSim's `Socket::findAndConnect`.
"""

from __future__ import annotations

import posixpath
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation

from dynamics.musculoskeletal.osim_xml import OsimFunction, OsimObject, read_function
from foundation.base.checks import FloatArray, check_array, check_fields
from foundation.base.errors import InputError
from foundation.base.pose import cross_matrix


class Placement(NamedTuple):
    """Rotation (3, 3) [1] and origin (3,) [m] of a frame: x_body = rotation x_frame + origin."""

    #: Rotation matrix (3, 3) [1].
    rotation: FloatArray
    #: Origin of the frame in the body (3,) [m].
    origin: FloatArray

    @classmethod
    def of(cls, orientation: FloatArray, origin: FloatArray) -> Placement:
        """Return the placement of OpenSim's angles (3,) [rad], body-fixed XYZ, and origin [m]."""
        return cls(Rotation.from_euler("XYZ", orientation).as_matrix(), np.array(origin))

    @classmethod
    def about(cls, turn: FloatArray) -> Placement:
        """Return the placement of a frame that is turned by a rotation vector (3,) [rad]."""
        return cls(Rotation.from_rotvec(turn).as_matrix(), np.zeros(3))

    def after(self, other: Placement) -> Placement:
        """Return the placement of a frame that `other` places in this frame."""
        return Placement(self.rotation @ other.rotation, self.rotation @ other.origin + self.origin)

    def at(self, point: FloatArray) -> FloatArray:
        """Return a point (3,) [m] of the frame in the body."""
        found: FloatArray = self.rotation @ point + self.origin
        return found

    @property
    def inverse(self) -> Placement:
        """Placement of the body in the frame."""
        return Placement(self.rotation.T, -self.rotation.T @ self.origin)


BODY = Placement(np.eye(3), np.zeros(3))


class ChainMotion(NamedTuple):
    """Placement of the last frame of a chain in the first, and its screws (m, 6) [m/s, rad/s]."""

    placement: Placement
    #: Velocity at the origin of the first frame and angular velocity, axes of the first frame, per
    #: unit rate of an angle or displacement.
    screws: FloatArray
    #: Angle or displacement per unit of each coordinate (m, n) [1; rad/m, m/rad].
    slopes: FloatArray

    @property
    def twists(self) -> FloatArray:
        """Twist (6, n) of the last frame per unit rate of each coordinate [m/s, rad/s]."""
        return self.screws.T @ self.slopes

    def turning_forces(self, wrench: FloatArray) -> FloatArray:
        """Return the derivative (n, n) of `twists.T @ wrench` of a wrench (6,) [N, N m]."""
        force, moment = cross_matrix(wrench[:3]), cross_matrix(wrench[3:])
        moving, turning = self.screws[:, :3], self.screws[:, 3:]
        # A screw moves with the joints before its own: the derivative is the bracket of both.
        by_force = turning @ force.T
        brackets = by_force @ moving.T + (turning @ moment.T + moving @ force.T) @ turning.T
        return self.slopes.T @ np.triu(brackets, 1).T @ self.slopes


@dataclass(frozen=True, eq=False)
class KinematicChain:
    """Motion of a frame in another one: exponentials of screws (m, 6) [m/s, rad/s], then `home`."""

    #: Names of the n coordinates.
    coordinates: tuple[str, ...] = ()
    #: Velocity at the origin of the first frame and angular velocity of each screw where all screws
    #: are at zero, axes of the first frame (m, 6) [m/s, rad/s]; an angular velocity is 1 or 0.
    screws: FloatArray = field(default_factory=lambda: np.zeros((0, 6)))
    #: Angle or displacement per unit of each coordinate (m, n) [1; rad/m, m/rad where units
    #: differ].
    slopes: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    #: Angles and displacements at zero coordinates (m,) [rad, m].
    offsets: FloatArray = field(default_factory=lambda: np.zeros(0))
    #: Placement of the last frame in the first one where all screws are at zero.
    home: Placement = BODY
    #: Cross products with the angular velocities (m, 3, 3), once and twice.
    _crosses: FloatArray = field(init=False, repr=False)
    _squares: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        count = len(check_array("screws", self.screws, (None, 6)))
        check_fields(self, slopes=(count, len(self.coordinates)), offsets=(count,))
        crosses = np.array([cross_matrix(screw[3:]) for screw in self.screws]).reshape(-1, 3, 3)
        object.__setattr__(self, "_crosses", crosses)
        object.__setattr__(self, "_squares", crosses @ crosses)

    @classmethod
    def of_joint(
        cls,
        coordinates: tuple[str, ...],
        axes: FloatArray,
        slopes: FloatArray,
        offsets: FloatArray,
    ) -> Self:
        """Return the motion by axes (6, 3) [1]: three rotations in sequence, three translations."""
        axes = check_array("axes", axes, (6, 3))
        slopes = check_array("slopes", slopes, (6, len(coordinates)))
        offsets = check_array("offsets", offsets, (6,))
        length = np.linalg.norm(axes, axis=1, keepdims=True)
        if not (length > 0.0).all():
            raise InputError(f"axes: expected axes with a length, found {axes.tolist()}")
        screws = np.zeros((6, 6))
        screws[:3, 3:], screws[3:, :3] = (axes / length)[:3], (axes / length)[3:]
        # The displacements along axes of the parent come before the rotations.
        order = np.array([3, 4, 5, 0, 1, 2])
        moves = order[slopes[order].any(axis=1) | (offsets[order] != 0.0)]
        return cls(coordinates, screws[moves], slopes[moves], offsets[moves])

    @property
    def inverse(self) -> Self:
        """Motion of the first frame in the last one."""
        back = self.home.inverse
        screws = -_seen_from(back, self.screws)[::-1]
        return type(self)(self.coordinates, screws, self.slopes[::-1], self.offsets[::-1], back)

    def then(self, other: Self) -> Self:
        """Return the motion of the last frame of a chain that starts where this one ends."""
        both = [name for name in other.coordinates if name in self.coordinates]
        if both:
            raise InputError(
                f"coordinates: expected other names in each joint of a chain, found "
                f"{', '.join(both)} twice"
            )
        return type(self)(
            (*self.coordinates, *other.coordinates),
            np.concatenate([self.screws, _seen_from(self.home, other.screws)]),
            block_diag(self.slopes, other.slopes),
            np.concatenate([self.offsets, other.offsets]),
            self.home.after(other.home),
        )

    def between(self, first: Placement, last: Placement) -> Self:
        """Return the motion between other frames, placed in the first and in the last frame."""
        back = first.inverse
        screws, home = _seen_from(back, self.screws), back.after(self.home).after(last)
        return type(self)(self.coordinates, screws, self.slopes, self.offsets, home)

    def motion(self, values: FloatArray) -> ChainMotion:
        """Return the motion at coordinates (n,) [rad, m]."""
        q = check_array("coordinates", values, (len(self.coordinates),))
        sizes = self.slopes @ q + self.offsets
        # Rodrigues' formula, for all screws at once.
        sines, versines = np.sin(sizes), 1.0 - np.cos(sizes)
        turns = np.eye(3) + (
            sines[:, None, None] * self._crosses + versines[:, None, None] * self._squares
        )
        moving = self.screws[:, :3]
        shifts = (
            sizes[:, None] * moving
            + (
                (versines[:, None, None] * self._crosses) @ moving[:, :, None]
                + ((sizes - sines)[:, None, None] * self._squares) @ moving[:, :, None]
            )[:, :, 0]
        )
        rotations, origins = np.empty_like(turns), np.empty_like(shifts)
        rotation, origin = np.eye(3), np.zeros(3)
        for k, (turn, shift) in enumerate(zip(turns, shifts, strict=True)):
            rotations[k], origins[k] = rotation, origin
            origin = origin + rotation @ shift
            rotation = rotation @ turn
        angular = (rotations @ self.screws[:, 3:, None])[:, :, 0]
        linear = (rotations @ moving[:, :, None])[:, :, 0] + np.cross(origins, angular)
        placement = Placement(rotation, origin).after(self.home)
        return ChainMotion(placement, np.hstack([linear, angular]), self.slopes)


def _seen_from(placement: Placement, screws: FloatArray) -> FloatArray:
    """Return screws (m, 6) of a frame in the frame that the frame is placed in."""
    angular = screws[:, 3:] @ placement.rotation.T
    linear = screws[:, :3] @ placement.rotation.T + np.cross(placement.origin, angular)
    return np.hstack([linear, angular])


_OFFSET, _GROUND = "PhysicalOffsetFrame", "Ground"
_FRAMES = ("Body", _GROUND, _OFFSET)
_ORIGIN = (0.0, 0.0, 0.0)


class FrameTree:
    """The frames of a model by their paths, such as `/bodyset/tibia_r/insert`."""

    def __init__(self, model: OsimObject) -> None:
        self._model = model
        self._frames: dict[str, OsimObject] = {}
        #: Path of each component, by class and name.
        self._paths: dict[tuple[str, str], str] = {}
        self._collect(model.element, "")
        self._frames.setdefault("/ground", model.of(ET.Element(_GROUND)))

    def _collect(self, element: ET.Element, path: str) -> None:
        """Read the components below an element with a path in the model."""
        for child in element:
            if child.tag == "defaults":
                continue
            if child.tag[:1].islower():  # A property, whose objects are components of its owner.
                self._collect(child, path)
                continue
            name = child.get("name", "")
            own = f"{path}/{name or child.tag.lower()}"
            self._paths.setdefault((child.tag, name), own)
            if child.tag in _FRAMES:
                self._frames[own] = self._model.of(child)
            self._collect(child, own)

    def placed(self, owner: OsimObject, socket: str) -> tuple[str, Placement]:
        """Return the body of the frame that a socket names, and the frame's placement in it."""
        path = self._path(owner, socket, self._paths.get((owner.tag, owner.name), "/"))
        placement, passed = BODY, {path}
        while (frame := self._frames[path]).tag == _OFFSET:
            placement = _offset(frame).after(placement)
            path = self._path(frame, "socket_parent", path)
            if path in passed:
                wanted = "frames that lead to a body"
                raise frame.fault("socket_parent", wanted, f"a loop through {path}")
            passed.add(path)
        return frame.name or "ground", placement

    def _path(self, owner: OsimObject, socket: str, at: str) -> str:
        """Return the path of the frame that a socket of a component at a path names."""
        text = owner.text(socket, "..")
        path = posixpath.normpath(posixpath.join(at, text))
        if path in self._frames:
            return path
        same = [] if "/" in text else [p for p in self._frames if p.rsplit("/", 1)[1] == text]
        if len(same) == 1:
            return same[0]
        wanted = "the path of a body, of the ground or of an offset frame of the model"
        raise owner.fault(socket, wanted, f"{text!r}{' of ' * bool(same)}{', '.join(same)}")


def _offset(frame: OsimObject) -> Placement:
    """Return the placement of an offset frame in its parent."""
    return Placement.of(
        frame.numbers("orientation", _ORIGIN), frame.numbers("translation", _ORIGIN)
    )


#: Axes along which the coordinates of OpenSim's other joints turn (0 to 2) and move (3 to 5).
_AXES = {
    "PinJoint": (2,),
    "SliderJoint": (3,),
    "PlanarJoint": (2, 3, 4),
    "UniversalJoint": (0, 1),
    "BallJoint": (0, 1, 2),
    "GimbalJoint": (0, 1, 2),
    "FreeJoint": (0, 1, 2, 3, 4, 5),
}
#: Joints whose generalised speeds are the rates of their coordinates.
_LINEAR_JOINTS = {
    "WeldJoint": (),
    **{name: _AXES[name] for name in ("PinJoint", "SliderJoint", "PlanarJoint", "UniversalJoint")},
    "GimbalJoint": _AXES["GimbalJoint"],
}
#: Default of an axis.
_X = (1.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class OsimJoint:
    """A joint between two bodies."""

    parent: str
    child: str
    #: Placements of the frames of the joint in the bodies.
    parent_frame: Placement
    child_frame: Placement
    #: The joint in the file of the model.
    xml: OsimObject

    @property
    def name(self) -> str:
        """Name in the model."""
        return self.xml.name

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return tuple(each.get("name", "") for each in self._coordinates)

    @property
    def _coordinates(self) -> list[ET.Element]:
        return self.xml.element.findall("coordinates/Coordinate")

    @cached_property
    def chain(self) -> KinematicChain:
        """Motion of the child in the parent; an error if it is not linear in the coordinates."""
        return self._frames.between(self.parent_frame.inverse, self.child_frame.inverse)

    @property
    def _frames(self) -> KinematicChain:
        """Motion of the child frame in the parent frame."""
        names, places = self.coordinates, _LINEAR_JOINTS.get(self.xml.tag)
        axes, slopes, offsets = np.tile(np.eye(3), (2, 1)), np.zeros((6, len(names))), np.zeros(6)
        if self.xml.tag == "CustomJoint" and self.xml.child("SpatialTransform") is not None:
            for k, axis in enumerate(_axes(self.xml)):
                axes[k] = axis.numbers("axis", _X)
                slopes[k], offsets[k] = _line(axis, names)
        elif places is not None and len(places) == len(names):
            slopes[places, range(len(names))] = 1.0
        else:
            raise InputError(
                f"{self.xml.where}: expected a CustomJoint, {', '.join(_LINEAR_JOINTS)} between "
                f"surfaces that touch, found {self.xml.tag} with {len(names)} coordinates"
            )
        return KinematicChain.of_joint(names, axes, slopes, offsets)

    @cached_property
    def default_placement(self) -> Placement:
        """Placement of the child in the parent in the default pose; unknown functions are 0."""
        return self.parent_frame.after(self._default_motion()).after(self.child_frame.inverse)

    def _default_motion(self) -> Placement:
        """Return the placement of the child frame in the parent frame in the default pose."""
        values = {
            each.get("name", ""): self.xml.of(each).number("default_value", 0.0)
            for each in self._coordinates
        }
        if self.xml.child("SpatialTransform") is None:
            found = np.zeros(6)
            for place, value in zip(_AXES.get(self.xml.tag, ()), values.values(), strict=False):
                found[place] = value
            return Placement.of(found[:3], found[3:])
        motion = BODY
        for k, axis in enumerate(_axes(self.xml)):
            direction = axis.numbers("axis", _X)
            direction = direction / np.linalg.norm(direction)
            function = _function(axis)
            value = values.get(axis.text("coordinates"), 0.0)
            value = 0.0 if function is None else function.at(value)
            if k < 3:
                turned = motion.rotation @ Placement.about(value * direction).rotation
                motion = Placement(turned, motion.origin)
            else:
                motion = Placement(motion.rotation, motion.origin + value * direction)
        return motion


def _axes(joint: OsimObject) -> list[OsimObject]:
    """Return the axes of the motion of a joint, whose places name the joint and the axis."""
    found = joint.element.iterfind("SpatialTransform/TransformAxis")
    return [OsimObject(e, joint.file, f"{joint.where}, {e.get('name')}") for e in found]


def _line(axis: OsimObject, names: tuple[str, ...]) -> tuple[FloatArray, float]:
    """Return slopes (n,) by the coordinates of a joint, and offset, of the function of an axis."""
    function = _function(axis)
    line = None if function is None else function.line
    if line is None:
        found = "none" if function is None else function.kind
        wanted = "a linear or constant function between surfaces that touch"
        raise InputError(f"{axis.where}: expected {wanted}, found {found}")
    slope, offset = line
    slopes, name = np.zeros(len(names)), axis.text("coordinates")
    if name:
        if name not in names:
            raise axis.fault("coordinates", f"one of {', '.join(names)}", repr(name))
        slopes[names.index(name)] = slope
    elif slope:
        raise axis.fault("coordinates", "the coordinate of a linear function", "none")
    return slopes, offset


def _function(axis: OsimObject) -> OsimFunction | None:
    """Return the function of an axis; None if the axis has none."""
    found = next((e for e in axis.element if e.tag not in ("coordinates", "axis")), None)
    return None if found is None else read_function(OsimObject(found, axis.file, axis.where))


def read_joint(joint: OsimObject, frames: FrameTree) -> OsimJoint:
    """Return a joint between bodies; raise an `InputError` for a frame of no body."""
    (parent, on_parent), (child, on_child) = (
        frames.placed(joint, f"socket_{end}_frame") for end in ("parent", "child")
    )
    return OsimJoint(parent, child, on_parent, on_child, joint)


def placements_in_ground(joints: Iterable[OsimJoint]) -> dict[str, Placement]:
    """Return the placement in the ground of each body that joints connect with the ground."""
    found, left = {"ground": BODY}, list(joints)
    while ready := [joint for joint in left if joint.parent in found]:
        for joint in ready:
            found[joint.child] = found[joint.parent].after(joint.default_placement)
        left = [joint for joint in left if joint.child not in found]
    return found


def path_to_ground(joints: Iterable[OsimJoint], body: str) -> tuple[OsimJoint, ...]:
    """Return the joints from a body to the ground, that of the body first."""
    above = {joint.child: joint for joint in joints}
    path: list[OsimJoint] = []
    while body in above and len(path) < len(above):
        path.append(above[body])
        body = path[-1].parent
    return tuple(path)


def chain_between(joints: Iterable[OsimJoint], first: str, last: str) -> KinematicChain | None:
    """Return the motion of the last body in the first through joints between, None without any."""
    joints = tuple(joints)
    down, up = list(path_to_ground(joints, first)), list(path_to_ground(joints, last))
    while down and up and down[-1] is up[-1]:
        down.pop()
        up.pop()
    meeting = {path[-1].parent if path else body for path, body in ((down, first), (up, last))}
    if len(meeting) != 1:
        return None
    chain = KinematicChain()
    for joint in down:
        chain = chain.then(joint.chain.inverse)
    for joint in reversed(up):
        chain = chain.then(joint.chain)
    return chain
