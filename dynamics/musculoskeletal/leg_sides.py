"""Side of the leg of a contact, and the directions forward, up and right in the frame of a mesh.

The names of bodies, joints and coordinates state the leg, as knee_r and knee_l. In the default pose
of the model, up is against gravity, and x of the ground is forward, as in OpenSim's models.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dynamics.musculoskeletal.osim_joints import (
    BODY,
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


def leg_side(model: OsimModel, mesh: ContactMesh | Part) -> LegSide:
    """Return the leg of a mesh, whose axes stand for directions less than 20 degrees away."""
    joints = model.joints
    path, places = path_to_ground(joints, mesh.body), placements_in_ground(joints)
    names = (name for joint in path for name in (joint.name, *joint.coordinates))
    parts = (_PART.findall(name) for name in (mesh.body, *names, mesh.name))
    leg = next((_LEGS[found[-1].lower()] for found in parts if found), "")
    up = _unit(-model.gravity, (0.0, 1.0, 0.0))
    right = _unit(np.cross((1.0, 0.0, 0.0), up), (0.0, 0.0, 1.0))
    frame = places.get(mesh.body, BODY).after(mesh.placement)
    return LegSide(leg, _axes(frame.rotation.T @ up, frame.rotation.T @ right))


def counterpart(name: str) -> str:
    """Return the name of the same part of the other leg, such as calcn_l for calcn_r."""
    return _PART.sub(lambda found: _other(found[0]), name)


def _other(part: str) -> str:
    """Return the other leg in the letters of a part of a name: left for right, L for R."""
    other = _OTHER[part.lower()]
    return other.upper() if part.isupper() else other.title() if part.istitle() else other


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
