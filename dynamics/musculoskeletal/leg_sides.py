"""Side of the leg of a contact, and the directions forward, up and right in the frame of a mesh.

Medial is the direction to the midline of the body, independently of the axes of a mesh: towards
the joint of the other leg, or the pelvis, in the default pose of the model. In a model without a
second leg and pelvis, the names of bodies and joints state the leg, and z of the ground is right,
as in OpenSim's models.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dynamics.musculoskeletal.osim_joints import (
    BODY,
    OsimJoint,
    Placement,
    path_to_ground,
    placements_in_ground,
)
from dynamics.musculoskeletal.osim_model import ContactMesh, OsimModel
from foundation.base.checks import FloatArray

_LEGS = {"r": "right", "right": "right", "l": "left", "left": "left"}
_OTHER = {"r": "l", "right": "left", "l": "r", "left": "right"}
#: Part of a name that states the leg, between other parts or at an end.
_PART = re.compile(r"(?<![A-Za-z0-9])(?:right|left|[rl](?![A-Za-z0-9]))", re.IGNORECASE)
#: Least distance of a joint from the midline [m].
_BESIDE = 0.03
#: Least cosine of the angle between a direction and the axis of a mesh that stands for it, and
#: between directions that are the same or opposite.
_NEAR, _SAME = np.cos(np.radians(20.0)), 0.5


class Part(NamedTuple):
    """A part of a model that is no contact mesh."""

    name: str
    body: str
    #: Placement of its frame in the body.
    placement: Placement = BODY


@dataclass(frozen=True, eq=False)
class LegSide:
    """Leg of a contact mesh; vectors forward, up, right (3, 3) [1] in the frame of the mesh."""

    #: "right", "left", or empty if it is unknown.
    leg: str
    axes: FloatArray
    #: How the leg was found, or why it was not.
    found: str
    #: Contradiction or assumption; empty if names and places agree.
    note: str = ""


def leg_side(model: OsimModel, mesh: ContactMesh | Part) -> LegSide:
    """Return the leg of a mesh, whose axes stand for directions less than 20 degrees away."""
    joints = model.joints
    path, places = path_to_ground(joints, mesh.body), placements_in_ground(joints)
    up = _unit(-model.gravity, (0.0, 1.0, 0.0))
    right = _unit(np.cross((1.0, 0.0, 0.0), up), (0.0, 0.0, 1.0))
    outward, found = _outward(joints, path, places, right)
    names = (name for joint in path for name in (joint.name, *joint.coordinates))
    named = _named_leg((mesh.body, *names, mesh.name))
    leg, note = named, ""
    if outward is None:
        found = f"the name {named[1]}" if named[0] else "neither joints nor names tell the leg"
    else:
        across = float(outward @ right)
        seen = "" if abs(across) < _SAME else ("right" if across > 0.0 else "left")
        leg = (seen or named[0], named[1])
        if named[0] and seen and seen != named[0]:
            note = (
                f"expected a {named[0]} leg as the name {named[1]} says, found a {seen} leg by "
                f"{found}; medial is towards the midline: check the names of the model, and that "
                "the model faces forward along x"
            )
    if not leg[0]:
        note = (
            "expected the side of the leg, found no joint of the other leg or of the pelvis beside "
            "the midline and no name that ends with _r or _l; medial and lateral are those of a "
            "right knee: rename its bodies if the knee is a left one"
        )
    if outward is None or leg[0] == "":
        outward = -right if leg[0] == "left" else right
    lateral = outward if leg[0] != "left" else -outward
    frame = places.get(mesh.body, BODY).after(mesh.placement)
    return LegSide(leg[0], _axes(frame.rotation.T @ up, frame.rotation.T @ lateral), found, note)


def counterpart(name: str) -> str:
    """Return the name of the same part of the other leg, such as calcn_l for calcn_r."""
    return _PART.sub(lambda found: _other(found[0]), name)


def _other(part: str) -> str:
    """Return the other leg in the letters of a part of a name: left for right, L for R."""
    other = _OTHER[part.lower()]
    return other.upper() if part.isupper() else other.title() if part.istitle() else other


def _outward(
    joints: tuple[OsimJoint, ...],
    path: tuple[OsimJoint, ...],
    places: dict[str, Placement],
    right: FloatArray,
) -> tuple[FloatArray | None, str]:
    """Return the direction away from the midline, axes of the ground, and how it was found."""
    by_name = {joint.name: joint for joint in joints}
    for joint in reversed(path):
        other = by_name.get(counterpart(joint.name))
        if other is None or other is joint or not {joint.parent, other.parent} <= set(places):
            continue
        across = _origin(joint, places) - _origin(other, places)
        if np.linalg.norm(across) > 2.0 * _BESIDE:
            return _unit(across, right), f"the places of the joints {joint.name} and {other.name}"
    below = [joint for joint in path if joint.parent != "ground"]
    if below and below[-1].parent in places:
        joint = below[-1]
        beside = float((_origin(joint, places) - places[joint.parent].origin) @ right)
        if abs(beside) > _BESIDE:
            return np.sign(beside) * right, f"the place of the joint {joint.name} in {joint.parent}"
    return None, ""


def _origin(joint: OsimJoint, places: dict[str, Placement]) -> FloatArray:
    """Return the origin of a joint in the ground (3,) [m]."""
    parent = places[joint.parent]
    return parent.rotation @ joint.parent_frame.origin + parent.origin


def _named_leg(names: tuple[str, ...]) -> tuple[str, str]:
    """Return the leg that names tell, and the first name that does; empty if none does."""
    for name in names:
        parts = _PART.findall(name)
        if parts:
            return _LEGS[parts[-1].lower()], name
    return "", ""


def _axes(up: FloatArray, right: FloatArray) -> FloatArray:
    """Return unit vectors forward, up and right (3, 3); axes of the frame where they are near."""
    across = _nearest(right, _NEAR)
    upward = up - (up @ across) * across
    if np.abs(across).max() == 1.0:
        # A flexed default pose turns a bone about the axis across: y is its axis upwards.
        only_y = abs(across[1]) < _SAME and abs(up[1]) > _SAME
        upward = _nearest(upward * (0.0, 1.0, 0.0) if only_y else upward, 0.0)
    upward = _unit(upward, np.eye(3)[int(np.abs(across).argmin())])
    return np.array([np.cross(upward, across), upward, across]) + 0.0


def _nearest(direction: FloatArray, least: float) -> FloatArray:
    """Return the axis of the frame near a direction, or the direction if none is near enough."""
    k = int(np.abs(direction).argmax())
    if abs(direction[k]) < least:
        return direction
    axis = np.zeros(3)
    axis[k] = np.sign(direction[k])
    return axis


def _unit(vector: FloatArray, otherwise: FloatArray | tuple[float, float, float]) -> FloatArray:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 1e-9 else np.array(otherwise, dtype=np.float64)
