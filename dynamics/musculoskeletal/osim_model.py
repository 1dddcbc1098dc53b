"""OpenSim models, read from their XML without OpenSim, with the articular contact of OpenSim-JAM.

`Smith2018ContactMesh` and `Smith2018ArticularContactForce` are not in OpenSim itself (Smith,
Lenhart, Kaiser, Vignos, Thelen 2018, J Knee Surg 31:68-74): `OsimModel.without_contact` is the
model that any OpenSim loads.
"""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from scipy.constants import g as STANDARD_GRAVITY

from dynamics.musculoskeletal.comak_settings import reserves_in
from dynamics.musculoskeletal.osim_joints import (
    FrameTree,
    KinematicChain,
    OsimJoint,
    Placement,
    chain_between,
    read_joint,
)
from dynamics.musculoskeletal.osim_xml import (
    FLAG,
    NUMBER,
    NUMBERS,
    TEXT,
    OsimObject,
    Property,
    child_of,
    read_object,
)
from foundation.base.checks import FloatArray, check_in, check_number
from foundation.base.errors import InputError

_FORMULATIONS = {"linear": "linear", "nonlinear": "logarithmic"}
_MESH, _FORCE = "Smith2018ContactMesh", "Smith2018ArticularContactForce"
_MESH_PROPERTIES = (
    Property("location", "origin", NUMBERS, (0.0,) * 3),
    Property("orientation", "angles", NUMBERS, (0.0,) * 3),
    Property("elastic_modulus", "youngs_modulus", NUMBER, 1e6),
    Property("poissons_ratio", "poissons_ratio", NUMBER, 0.5),
    Property("thickness", "thickness", NUMBER, 0.005),
    Property("use_variable_thickness", "measured", FLAG, False),
    Property("min_thickness", "thinnest", NUMBER, 0.001),
    Property("max_thickness", "thickest", NUMBER, 0.01),
    Property("scale_factors", "scale", NUMBERS, (1.0,) * 3),
)
_FORCE_PROPERTIES = (
    Property("min_proximity", "least_overlap", NUMBER, 0.0),
    Property("max_proximity", "search_depth", NUMBER, 0.01),
    Property("elastic_foundation_formulation", "law", TEXT, "linear"),
    Property("use_lumped_contact_model", "lumped", FLAG, True),
)


@dataclass(frozen=True)
class ContactMesh:
    """A surface of an elastic layer on a body."""

    #: Name in the model.
    name: str
    #: Body of the surface.
    body: str
    #: Placement of the mesh in the body.
    placement: Placement
    #: Mesh file [m].
    file: Path
    #: Young's modulus [Pa].
    youngs_modulus: float
    #: Poisson's ratio [1].
    poissons_ratio: float
    #: Thickness of the layer [m].
    thickness: float
    #: Surface of the bone under the layer, where the thickness is measured; else None.
    back_file: Path | None
    #: Least and largest thickness where the thickness is measured [m].
    thickness_range: tuple[float, float]
    #: Factors of the mesh along its axes [1]; an odd number of negative ones mirrors the mesh.
    scale: tuple[float, float, float]


@dataclass(frozen=True)
class ArticularContact:
    """Contact of two surfaces."""

    #: Name in the model, such as "tf_contact".
    name: str
    #: Casting mesh, whose triangles carry the springs, and target mesh.
    bed: ContactMesh
    target: ContactMesh
    #: Spring law.
    law: str
    #: One layer of both thicknesses and mean moduli (Bei & Fregly 2004, Med Eng Phys 26:777-789),
    #: or two layers in series.
    lumped: bool
    #: Largest overlap that is searched [m].
    search_depth: float


def read_contact(
    force: OsimObject,
    meshes: Mapping[str, OsimObject],
    frames: FrameTree,
    find_file: Callable[[str], Path],
) -> ArticularContact:
    """Return a contact from its force and the meshes of a model; `find_file` finds files."""
    values = force.read(_FORCE_PROPERTIES)
    law = check_in(f"{force.where}, elastic_foundation_formulation", values["law"], _FORMULATIONS)
    least, depth = values["least_overlap"], values["search_depth"]
    if least > 0.0:
        raise force.fault(
            "min_proximity",
            "0",
            f"{least:g} m: springs that bear nothing below an overlap are not modelled; set "
            "min_proximity to 0",
        )
    check_number(f"{force.where}, max_proximity", depth, above=0.0, unit="m")
    bed, target = (
        _read_mesh(force, f"socket_{kind}_mesh", meshes, frames, find_file)
        for kind in ("casting", "target")
    )
    return ArticularContact(force.name, bed, target, _FORMULATIONS[law], values["lumped"], depth)


def _read_mesh(
    force: OsimObject,
    socket: str,
    meshes: Mapping[str, OsimObject],
    frames: FrameTree,
    find_file: Callable[[str], Path],
) -> ContactMesh:
    name = force.last_name(socket)
    if name not in meshes:
        known = f"a contact mesh among {', '.join(meshes)}"
        raise force.fault(socket, known, repr(force.text(socket)))
    return _contact_mesh(meshes[name], frames, find_file)


def _contact_mesh(
    mesh: OsimObject, frames: FrameTree, find_file: Callable[[str], Path]
) -> ContactMesh:
    body, frame = frames.placed(mesh, "socket_frame")
    values = mesh.read(_MESH_PROPERTIES)
    x, y, z = values["scale"].tolist()
    if not x * y * z:
        raise mesh.fault("scale_factors", "three factors other than 0", f"{x:g} {y:g} {z:g}")
    return ContactMesh(
        mesh.name,
        body,
        frame.after(Placement.of(values["angles"], values["origin"])),
        find_file(mesh.text("mesh_file")),
        values["youngs_modulus"],
        values["poissons_ratio"],
        values["thickness"],
        find_file(mesh.text("mesh_back_file")) if values["measured"] else None,
        (values["thinnest"], values["thickest"]),
        (x, y, z),
    )


#: Sets with the elements that OpenSim does not know.
_CONTACT_SETS = {"ContactGeometrySet": _MESH, "ForceSet": _FORCE}
_COUPLER = "CoordinateCouplerConstraint"
#: Name of the far wrapping surface.
_FAR = "far_away"


class OsimModel:
    """An OpenSim model file (.osim) of version 4.

    Properties that an object of the model does not state are those of the `<defaults>` of the
    model. An `InputError` names what is missing or malformed.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        root = read_object(self.path, "model")
        model, version = root.child("Model"), root.element.get("Version", "0")
        if model is None or not version.isdigit() or int(version) < 40000:
            raise InputError(
                f"{self.path}: expected an OpenSim model of version 40000 or later, found "
                f"{'no Model' if model is None else f'version {version}'}; open the model in "
                "OpenSim 4 and save it"
            )
        self._root = root.element
        self._model = OsimObject(model.element, self.path, self.path.name)

    def __repr__(self) -> str:
        return f"OsimModel({str(self.path)!r})"

    @cached_property
    def bodies(self) -> dict[str, OsimObject]:
        """Bodies by name."""
        return {body.name: body for body in self._model.objects("BodySet")}

    @cached_property
    def frames(self) -> FrameTree:
        """Frames of the model."""
        return FrameTree(self._model)

    @cached_property
    def _coordinates(self) -> dict[str, tuple[OsimObject, str]]:
        """Each coordinate by its name, with its path in the model."""
        return {
            (name := each.get("name", "")): (self._model.of(each), f"/jointset/{joint.name}/{name}")
            for joint in self._model.objects("JointSet")
            for each in joint.element.iterfind("coordinates/Coordinate")
        }

    @property
    def contacts(self) -> tuple[ArticularContact, ...]:
        """Articular contacts that the model applies."""
        meshes = {mesh.name: mesh for mesh in self._meshes()}
        return tuple(
            read_contact(force, meshes, self.frames, self._geometry)
            for force in self.forces(_FORCE)
        )

    @property
    def contact_meshes(self) -> tuple[ContactMesh, ...]:
        """Contact meshes of the model."""
        return tuple(_contact_mesh(mesh, self.frames, self._geometry) for mesh in self._meshes())

    def forces(self, tag: str | None = None) -> Iterator[OsimObject]:
        """Yield the forces that the model applies, of a class if stated."""
        for force in self._model.objects("ForceSet", tag):
            if force.boolean("appliesForce", True):
                yield force

    def _meshes(self) -> Iterator[OsimObject]:
        return self._model.objects("ContactGeometrySet", _MESH)

    @property
    def mass(self) -> float:
        """Mass of all bodies [kg]; an `InputError` names a malformed mass."""
        return sum(body.number("mass", 0.0) for body in self.bodies.values())

    @property
    def gravity(self) -> FloatArray:
        """Acceleration of gravity (3,), axes of the ground [m/s²]."""
        return self._model.numbers("gravity", (0.0, -STANDARD_GRAVITY, 0.0))

    @cached_property
    def joints(self) -> tuple[OsimJoint, ...]:
        """Joints, without those whose frames or default pose cannot be read."""
        found = []
        for element in self._model.objects("JointSet"):
            with suppress(InputError):
                joint = read_joint(element, self.frames)
                _ = joint.default_placement
                found.append(joint)
        return tuple(found)

    @property
    def coordinate_paths(self) -> dict[str, str]:
        """Path of each coordinate in the model, by its name, such as `/jointset/knee_r/knee_rx`."""
        return {name: path for name, (_, path) in self._coordinates.items()}

    @property
    def coordinate_defaults(self) -> dict[str, float]:
        """Default value of each coordinate, by its name [rad, m]."""
        return {
            name: found.number("default_value", 0.0)
            for name, (found, _) in self._coordinates.items()
        }

    @property
    def viscosities(self) -> dict[str, float]:
        """Viscosity of the springs on each coordinate [N m s/rad, N s/m], by its name."""
        found: dict[str, float] = {}
        for spring in self.forces("SpringGeneralizedForce"):
            coordinate, value = spring.last_name("coordinate"), spring.number("viscosity", 0.0)
            found[coordinate] = found.get(coordinate, 0.0) + value
        return found

    @property
    def reserves(self) -> dict[str, float]:
        """Forces [N m, N] of actuators of coordinates that the model applies, as of the trunk."""
        return reserves_in(self.forces())

    @property
    def contact_mesh_files(self) -> tuple[str, ...]:
        """Names of the files of the contact meshes and of the bones under them, each once."""
        tags = ("mesh_file", "mesh_back_file")
        files = [Path(mesh.text(tag)).name for mesh in self._meshes() for tag in tags]
        return tuple(dict.fromkeys(name for name in files if name))

    @property
    def held_coordinates(self) -> tuple[str, ...]:
        """The coordinates that are locked, or that a constraint couples to others."""
        coupled = [c.text("dependent_coordinate_name") for c in self._enforced() if _couples(c)]
        return (*self.locked_coordinates, *coupled)

    @property
    def locked_coordinates(self) -> dict[str, float]:
        """Default values of the locked coordinates, which keep them, by name [rad, m]."""
        found, at = self._coordinates.items(), self.coordinate_defaults
        return {name: at[name] for name, (each, _) in found if each.boolean("locked", False)}

    def _enforced(self) -> list[OsimObject]:
        """Return the constraints that are enforced."""
        constraints = self._model.objects("ConstraintSet")
        return [each for each in constraints if each.boolean("isEnforced", True)]

    def chain_between(self, bed: str, target: str) -> KinematicChain:
        """Return the motion of the body of a target in the body of a bed."""
        chain = chain_between(self.joints, bed, target)
        if chain is None:
            found = ", ".join(f"{joint.parent}-{joint.child}" for joint in self.joints)
            raise InputError(
                f"{self.path.name}: expected joints that connect {bed} and {target}, whose "
                f"surfaces are in contact, found joints {found}"
            )
        return chain

    def notes(self, free: Collection[str]) -> tuple[str, ...]:
        """Return a note on constraints that are not taken into account, by free coordinates.

        OpenSim-JAM drops a coupler whose dependent coordinate is prescribed.
        """
        left_out = [
            constraint.name or constraint.tag
            for constraint in self._enforced()
            if not _couples(constraint) or constraint.text("dependent_coordinate_name") in free
        ]
        if not left_out:
            return ()
        return (
            f"{self.path.name}: motion and forces ignore the constraints {', '.join(left_out)}",
        )

    def without_contact(self, *, single_wraps_slide: bool = False) -> str:
        """Return the model without articular contact, as XML text."""
        # With `single_wraps_slide`, a path over a single wrapping surface is found as OpenSim did
        # until 2021. Since then OpenSim no longer adjusts the points where such a path touches the
        # surface; a second surface, tiny and a kilometre away, makes OpenSim adjust the points.
        root = copy.deepcopy(self._root)
        for name, tag in _CONTACT_SETS.items():
            objects = root.find(f"Model/{name}/objects")
            if objects is not None:
                objects[:] = [element for element in objects if element.tag != tag]
        if single_wraps_slide:
            _add_far_surface(root)
        return ET.tostring(root, encoding="unicode")

    def _geometry(self, name: str) -> Path:
        """Return a mesh file: beside the model or in its folder Geometry, as OpenSim searches."""
        for folder in (self.path.parent, self.path.parent / "Geometry"):
            if (folder / name).is_file():
                return folder / name
        return self.path.parent / "Geometry" / name


def _couples(constraint: OsimObject) -> bool:
    return constraint.tag == _COUPLER


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
    objects = child_of(child_of(body, "WrapObjectSet"), "objects")
    sphere = ET.SubElement(objects, "WrapSphere", name=_FAR)
    ET.SubElement(sphere, "translation").text = "0 1000 0"
    ET.SubElement(sphere, "radius").text = "1e-6"
