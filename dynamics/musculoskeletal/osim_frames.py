"""Frames of an OpenSim model: the ground, bodies, and offset frames of any component.

A socket names a frame by a path from the model or from the component that owns the socket, or by a
name that only one frame has, as in OpenSim's `Socket::findAndConnect`.
"""

from __future__ import annotations

import posixpath
import xml.etree.ElementTree as ET

from dynamics.musculoskeletal.joint_kinematics import BODY, Placement
from dynamics.musculoskeletal.osim_xml import OsimObject

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
