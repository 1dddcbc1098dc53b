"""Mirror images of OpenSim models and their data: left and right exchanged, z reversed.

Coordinates keep their values: axes of rotation and translation are mirrored in their place.
"""

import xml.etree.ElementTree as ET
from dataclasses import replace

from dynamics.musculoskeletal.leg_sides import counterpart

#: Signs of vectors, of body-fixed angles XYZ, and of the inertia xx yy zz xy xz yz.
_VECTOR, _TURN, _INERTIA = (1, 1, -1), (-1, -1, 1), (1, 1, 1, 1, -1, -1)
_SIGNS = (
    dict.fromkeys(("location", "translation", "mass_center", "gravity"), _VECTOR)
    | dict.fromkeys(("orientation", "xyz_body_rotation"), _TURN)
    | {"inertia": _INERTIA}
)
#: Sets of a model with parts of both legs.
_SETS = ("BodySet", "JointSet", "ForceSet", "ContactGeometrySet")
#: Classes whose names may state no leg.
_UNNAMED = ("Blankevoort1991Ligament", "Smith2018ArticularContactForce", "Smith2018ContactMesh")


def mirrored_names(element):
    """Return a copy of an element of OpenSim's XML in which names are those of the other leg."""
    root = ET.fromstring(ET.tostring(element))
    for each in root.iter():
        if "name" in each.attrib:
            each.set("name", counterpart(each.get("name")))
        if each.text and not each.tag.endswith(("file", "directory", "prefix")):
            each.text = " ".join(map(counterpart, each.text.split()))
    return root


def mirrored_model(element):
    """Return the mirror image of a model, or of a part of one."""
    root = mirrored_names(element)
    for each in root.iter():
        if each.tag in _SIGNS:
            _sign(each, _SIGNS[each.tag])
        elif each.tag == "TransformAxis":
            turns = each.get("name").startswith("rotation")
            _sign(each.find("axis"), (-1, -1, 1) if turns else _VECTOR)
        elif each.tag == "quadrant" and each.text.endswith("z"):
            each.text = {"z": "-z", "+z": "-z", "-z": "z"}[each.text]
        elif each.tag == "Smith2018ContactMesh":
            factors = each.find("scale_factors")
            if factors is None:
                factors = ET.SubElement(each, "scale_factors")
                factors.text = "1 1 1"
            _sign(factors, _VECTOR)
    return root


def two_knees(document):
    """Return a model whose left leg is the mirror image of its right one; markers are kept."""
    root = ET.fromstring(ET.tostring(document))
    unnamed = {
        each.get("name")
        for kind in _UNNAMED
        for each in root.iter(kind)
        if counterpart(each.get("name")) == each.get("name")
    }
    for each in root.iter():
        if each.get("name") in unnamed and each.tag in _UNNAMED:
            each.set("name", f"{each.get('name')}_r")
        if each.tag in ("socket_target_mesh", "socket_casting_mesh"):
            each.text += "_r" * (each.text.rsplit("/", 1)[1] in unnamed)
    other = mirrored_model(root)
    bodies = [each.get("name") for each in root.iterfind("Model/BodySet/objects/Body")]
    midline = [f"BodySet/objects/Body[@name='{n}']/WrapObjectSet" for n in bodies if not _leg(n)]
    for path in (*_SETS, *midline):
        own, image = (tree.find(f"Model/{path}/objects") for tree in (root, other))
        if own is not None:
            own[:] = [each for each in own if _leg(each.get("name")) != "l"]
            own.extend(each for each in image if _leg(each.get("name")) == "l")
    return root


def mirrored_loads(table):
    """Return a table of ground forces (columns ..vx, ..px, ..torque_1_x) of the mirror image."""
    values = table.values.copy()
    for k, name in enumerate(table.names):
        reversed_axes = "xy" if "torque" in name else "z"
        values[:, k] *= -1.0 if name[-1] in reversed_axes else 1.0
    return replace(table, values=values)


def _sign(element, signs):
    numbers = map(float, element.text.split())
    element.text = " ".join(repr(s * x) for s, x in zip(signs, numbers, strict=True))


def _leg(name):
    """Return the last letter, r or l, of a name of a part of a leg, and nothing for others."""
    return name[-1] if counterpart(name) != name and name.endswith(("_r", "_l")) else ""
