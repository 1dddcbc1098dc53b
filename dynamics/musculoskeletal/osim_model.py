"""OpenSim models with articular contact of Smith et al. (2018), read from their XML.

OpenSim-JAM's `Smith2018ContactMesh` and `Smith2018ArticularContactForce` are no part of OpenSim
itself: `read_osim` returns them with the joints in which they act, and `OsimModel.without_contact`
is the model that any OpenSim loads (Smith, Lenhart, Kaiser, Vignos, Thelen 2018, J Knee Surg
31:68-74).
"""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.constants import g as STANDARD_GRAVITY

from dynamics.musculoskeletal.default_pose import JointLink, default_motion
from dynamics.musculoskeletal.joint_kinematics import BODY, JointKinematics, Placement
from dynamics.musculoskeletal.osim_xml import (
    boolean_of,
    child_text,
    number_of,
    numbers_of,
    parse_xml,
    scale_of,
    with_defaults,
)
from foundation.base.checks import FloatArray, check_in, check_number
from foundation.base.errors import InputError

#: Elements that OpenSim does not know, and the sets that contain them.
_CONTACT_MESH, _CONTACT_FORCE = "Smith2018ContactMesh", "Smith2018ArticularContactForce"
_SETS = ("ContactGeometrySet", "ForceSet")
#: Name of the far wrapping surface.
_FAR = "far_away"
_FORMULATIONS = {"linear": "linear", "nonlinear": "logarithmic"}


@dataclass(frozen=True)
class ContactMesh:
    """A surface of an elastic layer on a body.

    Parameters
    ----------
    name : str
        Name in the model.
    body : str
        Body of the surface.
    placement : Placement
        Placement of the mesh in the body.
    file : Path
        Mesh file [m].
    youngs_modulus : float
        Young's modulus [Pa].
    poissons_ratio : float
        Poisson's ratio [1].
    thickness : float
        Thickness of the layer [m].
    back_file : Path or None
        Surface of the bone under the layer, where the thickness is measured; else None.
    thickness_range : tuple of float
        Least and largest thickness where the thickness is measured [m].
    scale : tuple of float
        Factors of the mesh along its axes [1].
    """

    name: str
    body: str
    placement: Placement
    file: Path
    youngs_modulus: float
    poissons_ratio: float
    thickness: float
    back_file: Path | None
    thickness_range: tuple[float, float]
    scale: tuple[float, float, float]


@dataclass(frozen=True)
class ArticularContact:
    """Contact of two surfaces.

    Parameters
    ----------
    name : str
        Name in the model, such as "tf_contact".
    bed, target : ContactMesh
        Casting mesh, whose triangles carry the springs, and target mesh.
    law : {"linear", "logarithmic"}
        Spring law.
    lumped : bool
        One layer of both thicknesses and mean moduli (Bei & Fregly 2004, Med Eng Phys 26:777-789),
        or two layers in series.
    search_depth : float
        Largest overlap that is searched [m].
    """

    name: str
    bed: ContactMesh
    target: ContactMesh
    law: str
    lumped: bool
    search_depth: float


@dataclass(frozen=True)
class OsimJoint:
    """A joint between two bodies.

    Parameters
    ----------
    name : str
        Name in the model.
    parent, child : str
        Names of the bodies.
    parent_frame, child_frame : Placement
        Placements of the joint's frames in the bodies.
    kinematics : JointKinematics
        Motion of the child frame in the parent frame.
    """

    name: str
    parent: str
    child: str
    parent_frame: Placement
    child_frame: Placement
    kinematics: JointKinematics


class OsimModel:
    """An OpenSim model file.

    Parameters
    ----------
    path : str or Path
        The `.osim` file.

    Raises
    ------
    InputError
        If the file is missing, no XML, or no OpenSim model of version 4.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._root = parse_xml(self.path, "model")
        model = self._root.find("Model")
        version = self._root.get("Version", "0")
        if model is None or not version.isdigit() or int(version) < 40000:
            raise InputError(
                f"{self.path}: expected an OpenSim model of version 40000 or later, found "
                f"{'no Model' if model is None else f'version {version}'}; open the model in "
                "OpenSim 4 and save it"
            )
        self._model = model

    def __repr__(self) -> str:
        return f"OsimModel({str(self.path)!r})"

    @property
    def contacts(self) -> tuple[ArticularContact, ...]:
        """Articular contacts that the model applies.

        Raises
        ------
        InputError
            If a contact names a mesh that the model does not have, a value is out of range, or
            springs with little overlap carry no load (min_proximity).
        """
        return tuple(
            self._contact(element)
            for element in self._elements("ForceSet", _CONTACT_FORCE)
            if boolean_of(element, "appliesForce", f"{self.path.name}, {element.get('name')}", True)
        )

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the bodies, without the ground."""
        return tuple(body.get("name", "") for body in self._elements("BodySet"))

    @property
    def mass(self) -> float:
        """Mass of all bodies [kg].

        Raises
        ------
        InputError
            If a mass is no number.
        """
        where = f"{self.path.name}, mass of"
        bodies = self._elements("BodySet")
        return sum(number_of(b, "mass", f"{where} {b.get('name')}", 0.0) for b in bodies)

    @property
    def gravity(self) -> FloatArray:
        """Acceleration of gravity (3,), axes of the ground [m/s²].

        Raises
        ------
        InputError
            If the model does not have three numbers.
        """
        own = (0.0, -STANDARD_GRAVITY, 0.0)
        return numbers_of(self._model, "gravity", self.path.name, 3, own)

    @property
    def links(self) -> tuple[JointLink, ...]:
        """Joints in the default pose; without those whose frames cannot be read."""
        found = []
        for element in self._elements("JointSet"):
            with suppress(InputError):
                found.append(self._link(element))
        return tuple(found)

    @property
    def coordinate_paths(self) -> dict[str, str]:
        """Path of each coordinate in the model, by its name, such as `/jointset/knee_r/knee_rx`."""
        return {
            coordinate.get("name", ""): f"/jointset/{joint.get('name')}/{coordinate.get('name')}"
            for joint in self._elements("JointSet")
            for coordinate in joint.iterfind("coordinates/Coordinate")
        }

    @property
    def viscosities(self) -> dict[str, float]:
        """Viscosity of the springs on each coordinate [N m s/rad, N s/m], by its name.

        Raises
        ------
        InputError
            If a viscosity is no number.
        """
        found: dict[str, float] = {}
        for element in self._elements("ForceSet", "SpringGeneralizedForce"):
            where = f"{self.path.name}, {element.get('name')}"
            if boolean_of(element, "appliesForce", where, True):
                coordinate = child_text(element, "coordinate").rsplit("/", 1)[-1]
                value = number_of(element, "viscosity", where, 0.0)
                found[coordinate] = found.get(coordinate, 0.0) + value
        return found

    @property
    def coordinate_defaults(self) -> dict[str, float]:
        """Default value of each coordinate, by its name [rad, m].

        Raises
        ------
        InputError
            If a value is no number.
        """
        return {
            coordinate.get("name", ""): number_of(
                coordinate, "default_value", f"{self.path.name}, {coordinate.get('name')}", 0.0
            )
            for joint in self._elements("JointSet")
            for coordinate in joint.iterfind("coordinates/Coordinate")
        }

    @property
    def contact_mesh_files(self) -> tuple[str, ...]:
        """Names of the files of the contact meshes and of the bones under them, each once."""
        tags = ("mesh_file", "mesh_back_file")
        meshes = self._elements("ContactGeometrySet", _CONTACT_MESH)
        files = [Path(child_text(mesh, tag)).name for mesh in meshes for tag in tags]
        return tuple(dict.fromkeys(name for name in files if name))

    def without_contact(self, *, single_wraps_slide: bool = False) -> str:
        """Return the model without articular contact, as XML text.

        Parameters
        ----------
        single_wraps_slide : bool
            Whether a path over a single wrapping surface is found as OpenSim did until 2021. Since
            then OpenSim no longer adjusts the points where such a path touches the surface. A
            second surface, tiny and a kilometre away, makes OpenSim adjust the points.
        """
        root = copy.deepcopy(self._root)
        for name in _SETS:
            objects = root.find(f"Model/{name}/objects")
            if objects is not None:
                known = [e for e in objects if e.tag not in (_CONTACT_MESH, _CONTACT_FORCE)]
                objects[:] = known
        if single_wraps_slide:
            _add_far_surface(root)
        return ET.tostring(root, encoding="unicode")

    @property
    def held_coordinates(self) -> tuple[str, ...]:
        """The coordinates that are locked, or that a constraint couples to others."""
        locked = [
            element.get("name", "")
            for element in self._model.iterfind("JointSet/objects/*/coordinates/Coordinate")
            if boolean_of(element, "locked", self.path.name, False)
        ]
        coupled = [
            child_text(element, "dependent_coordinate_name")
            for element in self._elements("ConstraintSet", "CoordinateCouplerConstraint")
            if boolean_of(element, "isEnforced", self.path.name, True)
        ]
        return (*locked, *coupled)

    def muscles_with_dynamics(self, ignored_by: str) -> tuple[str, ...]:
        """Return the muscles whose flag `ignored_by` is false, such as ignore_tendon_compliance.

        A muscle without the flag has that of the model's defaults for its kind, or false.
        """
        defaults = {
            element.tag: boolean_of(element, ignored_by, self.path.name, False)
            for element in self._root.iterfind(".//defaults/*")
        }
        return tuple(
            element.get("name", "")
            for element in self._elements("ForceSet")
            if element.tag.endswith("Muscle")
            and not boolean_of(
                element, ignored_by, self.path.name, defaults.get(element.tag, False)
            )
        )

    def joint_between(self, first: str, second: str) -> OsimJoint:
        """Return the joint between two bodies.

        Raises
        ------
        InputError
            If no joint connects the two bodies, or its motion is not linear in its coordinates.
        """
        found = []
        for element in self._elements("JointSet"):
            ends = [self._frame(element, f"socket_{end}_frame") for end in ("parent", "child")]
            found.append(f"{ends[0][0]}-{ends[1][0]}")
            if {ends[0][0], ends[1][0]} == {first, second}:
                kinematics = _kinematics(element, f"{self.path.name}, joint {element.get('name')}")
                (parent, in_parent), (child, in_child) = ends
                return OsimJoint(
                    element.get("name", ""), parent, child, in_parent, in_child, kinematics
                )
        raise InputError(
            f"{self.path.name}: expected a joint between {first} and {second}, whose surfaces are "
            f"in contact, found joints {', '.join(found)}"
        )

    def _link(self, element: ET.Element) -> JointLink:
        (parent, on_parent), (child, on_child) = (
            self._frame(element, f"socket_{end}_frame") for end in ("parent", "child")
        )
        motion = default_motion(element, f"{self.path.name}, joint {element.get('name')}")
        placement = on_parent.after(motion).after(on_child.inverse)
        names = tuple(c.get("name", "") for c in element.iterfind("coordinates/Coordinate"))
        name, origin = element.get("name", ""), on_parent.origin
        return JointLink(name, names, parent, child, origin, placement)

    def objects(self, of: str, tag: str | None = None) -> Iterator[ET.Element]:
        """Return the objects of a set such as "ForceSet", those of a tag, as XML.

        Properties that an object does not state are those of the `<defaults>` of the model.
        """
        return self._elements(of, tag)

    def _elements(self, of: str, tag: str | None = None) -> Iterator[ET.Element]:
        """Return the objects of a set, those of a tag."""
        for element in self._model.iterfind(f"{of}/objects/*"):
            if tag is None or element.tag == tag:
                yield with_defaults(element, self._model)

    def _contact(self, element: ET.Element) -> ArticularContact:
        where = f"{self.path.name}, {element.get('name')}"
        law = check_in(
            f"{where}, elastic_foundation_formulation",
            child_text(element, "elastic_foundation_formulation", "linear"),
            _FORMULATIONS,
        )
        self._check_overlaps(element, where)
        return ArticularContact(
            element.get("name", ""),
            self._mesh(child_text(element, "socket_casting_mesh"), where),
            self._mesh(child_text(element, "socket_target_mesh"), where),
            _FORMULATIONS[law],
            boolean_of(element, "use_lumped_contact_model", where, True),
            number_of(element, "max_proximity", where, 0.01),
        )

    def _check_overlaps(self, element: ET.Element, where: str) -> None:
        """Raise an `InputError` if springs bear nothing below a least overlap, or at all."""
        least = number_of(element, "min_proximity", where, 0.0)
        if least > 0.0:
            raise InputError(
                f"{where}, min_proximity: expected 0, found {least:g} m: springs that bear nothing "
                "below an overlap are not modelled; set min_proximity to 0"
            )
        most = number_of(element, "max_proximity", where, 0.01)
        check_number(f"{where}, max_proximity", most, above=0.0, unit="m")

    def _mesh(self, path: str, where: str) -> ContactMesh:
        name = path.rsplit("/", 1)[-1]
        meshes = {m.get("name"): m for m in self._elements("ContactGeometrySet", _CONTACT_MESH)}
        if name not in meshes:
            raise InputError(
                f"{where}: expected a contact mesh among {', '.join(map(str, meshes))}, found "
                f"{path!r}"
            )
        element, where = meshes[name], f"{self.path.name}, {name}"
        body, frame = self._frame(element, "socket_frame")
        own = Placement.of(
            numbers_of(element, "orientation", where, 3, (0.0,) * 3),
            numbers_of(element, "location", where, 3, (0.0,) * 3),
        )
        variable = boolean_of(element, "use_variable_thickness", where, False)
        return ContactMesh(
            name,
            body,
            frame.after(own),
            self._geometry(child_text(element, "mesh_file")),
            number_of(element, "elastic_modulus", where, 1e6),
            number_of(element, "poissons_ratio", where, 0.5),
            number_of(element, "thickness", where, 0.005),
            self._geometry(child_text(element, "mesh_back_file")) if variable else None,
            (
                number_of(element, "min_thickness", where, 0.001),
                number_of(element, "max_thickness", where, 0.01),
            ),
            scale_of(element, where),
        )

    def _geometry(self, name: str) -> Path:
        """Return a mesh file: beside the model or in its folder Geometry, as OpenSim searches."""
        for folder in (self.path.parent, self.path.parent / "Geometry"):
            if (folder / name).is_file():
                return folder / name
        return self.path.parent / "Geometry" / name

    def _frame(self, element: ET.Element, socket: str) -> tuple[str, Placement]:
        """Return the body of a frame that an element names, and the placement in this body."""
        path = child_text(element, socket)
        name = path.rsplit("/", 1)[-1]
        for offset in element.iterfind("frames/PhysicalOffsetFrame"):
            if offset.get("name") == name:
                body, below = self._frame(offset, "socket_parent")
                return body, below.after(_offset(offset))
        on_body = self._frame_of_body(path)
        if on_body is not None:
            return on_body
        if name == "ground" or path == f"/bodyset/{name}" or "/" not in path:
            return name, BODY
        raise InputError(
            f"{self.path.name}, {element.get('name')}, {socket}: expected a body, or a frame of "
            f"the same object or of a body, found {path!r}"
        )

    def _frame_of_body(self, path: str) -> tuple[str, Placement] | None:
        """Return body and placement of a frame that a body owns; None for another path."""
        _, first, *names = path.split("/") if path.startswith("/bodyset/") else ("", "", "")
        if first != "bodyset" or len(names) < 2:
            return None
        owner = next((b for b in self._elements("BodySet") if b.get("name") == names[0]), None)
        placement = BODY
        for name in names[1:]:
            frames = [] if owner is None else owner.iterfind("components/PhysicalOffsetFrame")
            owner = next((frame for frame in frames if frame.get("name") == name), None)
            if owner is None or child_text(owner, "socket_parent", "..") != "..":
                return None
            placement = placement.after(_offset(owner))
        return names[0], placement


def _offset(frame: ET.Element) -> Placement:
    """Return the placement of a PhysicalOffsetFrame in its parent."""
    name = frame.get("name", "")
    return Placement.of(
        numbers_of(frame, "orientation", name, 3, (0.0,) * 3),
        numbers_of(frame, "translation", name, 3, (0.0,) * 3),
    )


def _add_far_surface(root: ET.Element) -> None:
    """Let every path over a single wrapping surface name a second one, far away."""
    for paths in root.iterfind(".//GeometryPath/PathWrapSet/objects"):
        if len(paths.findall("PathWrap")) == 1:
            added = ET.SubElement(paths, "PathWrap", name=_FAR)
            ET.SubElement(added, "wrap_object").text = _FAR
            ET.SubElement(added, "method").text = "hybrid"
    body = root.find("Model/BodySet/objects/Body")
    if body is None:
        return
    surfaces = body.find("WrapObjectSet")
    surfaces = ET.SubElement(body, "WrapObjectSet") if surfaces is None else surfaces
    objects = surfaces.find("objects")
    objects = ET.SubElement(surfaces, "objects") if objects is None else objects
    sphere = ET.SubElement(objects, "WrapSphere", name=_FAR)
    ET.SubElement(sphere, "translation").text = "0 1000 0"
    ET.SubElement(sphere, "radius").text = "1e-6"


def _kinematics(element: ET.Element, where: str) -> JointKinematics:
    """Return the motion of a custom joint."""
    transform = element.find("SpatialTransform")
    if element.tag != "CustomJoint" or transform is None:
        raise InputError(
            f"{where}: expected a CustomJoint where surfaces touch, found {element.tag}"
        )
    names = tuple(c.get("name", "") for c in element.iterfind("coordinates/Coordinate"))
    axes, slopes, offsets = np.zeros((6, 3)), np.zeros((6, len(names))), np.zeros(6)
    for k, axis in enumerate(transform.iterfind("TransformAxis")):
        here = f"{where}, {axis.get('name')}"
        axes[k] = numbers_of(axis, "axis", here, 3, (1.0, 0.0, 0.0))
        slope, offsets[k] = _linear(axis, here)
        name = child_text(axis, "coordinates")
        if name:
            if name not in names:
                raise InputError(f"{here}: expected one of {', '.join(names)}, found {name!r}")
            slopes[k, names.index(name)] = slope
        elif slope:
            raise InputError(f"{here}: expected the coordinate of a linear function, found none")
    return JointKinematics(names, axes, slopes, offsets)


def _linear(axis: ET.Element, where: str) -> tuple[float, float]:
    """Return slope and offset of the function of an axis."""
    for function in axis:
        factor = 1.0
        if function.tag == "MultiplierFunction":
            factor = number_of(function, "scale", where, 1.0)
            inner = function.find("function/*")
            function = function if inner is None else inner
        if function.tag == "LinearFunction":
            slope, offset = numbers_of(function, "coefficients", where, 2, (1.0, 0.0))
            return factor * slope, factor * offset
        if function.tag == "Constant":
            return 0.0, factor * number_of(function, "value", where, 0.0)
    raise InputError(
        f"{where}: expected a linear or constant function where surfaces touch, found "
        f"{', '.join(e.tag for e in axis if e.tag not in ('coordinates', 'axis'))}"
    )
