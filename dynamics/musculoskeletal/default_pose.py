"""Default pose of an OpenSim model: where its joints put the bodies in the ground.

All kinds of joints are covered, since a knee hangs on joints that no contact acts in. A function of
a coordinate that is not known here counts as zero: this pose tells directions, it solves nothing.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dynamics.musculoskeletal.joint_kinematics import BODY, Placement
from dynamics.musculoskeletal.osim_xml import child_text, number_of, numbers_of
from foundation.base.checks import FloatArray

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


@dataclass(frozen=True, eq=False)
class JointLink:
    """A joint as a link between two bodies in the default pose.

    Parameters
    ----------
    name : str
        Name in the model.
    coordinates : tuple of str
        Names of its coordinates.
    parent, child : str
        Names of the bodies.
    origin : (3,) float64
        Origin of the joint's frame in the parent body [m].
    placement : Placement
        Placement of the child body in the parent body.
    """

    name: str
    coordinates: tuple[str, ...]
    parent: str
    child: str
    origin: FloatArray
    placement: Placement

    @property
    def names(self) -> tuple[str, ...]:
        """Name of the joint, and those of its coordinates."""
        return (self.name, *self.coordinates)


def default_motion(element: ET.Element, where: str) -> Placement:
    """Return the placement of a joint's child frame in its parent frame in the default pose."""
    values = {
        coordinate.get("name", ""): number_of(coordinate, "default_value", where, 0.0)
        for coordinate in element.iterfind("coordinates/Coordinate")
    }
    transform = element.find("SpatialTransform")
    if transform is None:
        found = np.zeros(6)
        for place, value in zip(_AXES.get(element.tag, ()), values.values(), strict=False):
            found[place] = value
        return Placement.of(found[:3], found[3:])
    motion = BODY
    for k, axis in enumerate(transform.iterfind("TransformAxis")):
        direction = numbers_of(axis, "axis", where, 3, (1.0, 0.0, 0.0))
        direction = direction / np.linalg.norm(direction)
        value = _value(axis, values.get(child_text(axis, "coordinates"), 0.0), where)
        if k < 3:
            turned = motion.rotation @ Placement.about(value * direction).rotation
            motion = Placement(turned, motion.origin)
        else:
            motion = Placement(motion.rotation, motion.origin + value * direction)
    return motion


def _value(axis: ET.Element, at: float, where: str) -> float:
    """Return the angle or displacement of an axis at the value of its coordinate [rad, m]."""
    function = next((each for each in axis if each.tag not in ("coordinates", "axis")), None)
    if function is None:
        return 0.0
    factor = 1.0
    if function.tag == "MultiplierFunction":
        factor = number_of(function, "scale", where, 1.0)
        inner = function.find("function/*")
        function = function if inner is None else inner
    if function.tag == "Constant":
        return factor * number_of(function, "value", where, 0.0)
    if function.tag in ("LinearFunction", "PolynomialFunction"):
        return factor * float(np.polyval(_list(function, "coefficients"), at))
    if function.tag in ("SimmSpline", "PiecewiseLinearFunction"):
        return factor * float(np.interp(at, _list(function, "x"), _list(function, "y")))
    return 0.0


def _list(function: ET.Element, name: str) -> FloatArray:
    text = child_text(function, name)
    return numbers_of(function, name, name, len(text.split()), (0.0,))


def placements_in_ground(links: Iterable[JointLink]) -> dict[str, Placement]:
    """Return the placement of each body in the ground that joints connect with the ground."""
    found, left = {"ground": BODY}, list(links)
    while ready := [link for link in left if link.parent in found]:
        for link in ready:
            found[link.child] = found[link.parent].after(link.placement)
        left = [link for link in left if link.child not in found]
    return found


def path_to_ground(links: Iterable[JointLink], body: str) -> tuple[JointLink, ...]:
    """Return the joints from a body to the ground, that of the body first."""
    above = {link.child: link for link in links}
    path: list[JointLink] = []
    while body in above and len(path) < len(above):
        path.append(above[body])
        body = path[-1].parent
    return tuple(path)
