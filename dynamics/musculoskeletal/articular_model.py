"""Articular contact of OpenSim-JAM in OpenSim models: meshes, layers and spring laws.

`Smith2018ContactMesh` and `Smith2018ArticularContactForce` are not in OpenSim itself (Smith,
Lenhart, Kaiser, Vignos, Thelen 2018, J Knee Surg 31:68-74).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dynamics.musculoskeletal.joint_kinematics import Placement
from dynamics.musculoskeletal.osim_frames import FrameTree
from dynamics.musculoskeletal.osim_xml import (
    FLAG,
    NUMBER,
    NUMBERS,
    TEXT,
    ObjectTable,
    OsimObject,
    Property,
    read_apart,
)
from foundation.base.checks import check_in, check_number

_FORMULATIONS = {"linear": "linear", "nonlinear": "logarithmic"}
MESH = ObjectTable(
    "Smith2018ContactMesh",
    (
        Property("location", "origin", NUMBERS, (0.0,) * 3, "origin in the frame [m]"),
        Property("orientation", "angles", NUMBERS, (0.0,) * 3, "body-fixed angles XYZ [rad]"),
        Property("elastic_modulus", "youngs_modulus", NUMBER, 1e6, "Young's modulus [Pa]"),
        Property("poissons_ratio", "poissons_ratio", NUMBER, 0.5, "Poisson's ratio [1]"),
        Property("thickness", "thickness", NUMBER, 0.005, "thickness of the layer [m]"),
        Property(
            "use_variable_thickness", "measured", FLAG, False, "whether to measure the thickness"
        ),
        Property("min_thickness", "thinnest", NUMBER, 0.001, "least measured thickness [m]"),
        Property("max_thickness", "thickest", NUMBER, 0.01, "largest measured thickness [m]"),
        Property("scale_factors", "scale", NUMBERS, (1.0,) * 3, "factors along the axes [1]"),
        *read_apart(
            socket_frame="frame of the mesh",
            mesh_file="surface [m]",
            mesh_back_file="surface of the bone under the layer [m]",
        ),
    ),
    details=frozenset(
        {"components", "Appearance", "socket_scale_frame", "color", "display_preference"}
    ),
)
FORCE = ObjectTable(
    "Smith2018ArticularContactForce",
    (
        Property("appliesForce", "applies", FLAG, True, "whether the contact acts"),
        Property("min_proximity", "least_overlap", NUMBER, 0.0, "overlap that bears a load [m]"),
        Property("max_proximity", "search_depth", NUMBER, 0.01, "largest searched overlap [m]"),
        Property("elastic_foundation_formulation", "law", TEXT, "linear", "spring law"),
        Property("use_lumped_contact_model", "lumped", FLAG, True, "one layer for both meshes"),
        *read_apart(
            socket_target_mesh="target mesh",
            socket_casting_mesh="mesh whose triangles carry the springs",
        ),
    ),
    details=frozenset({"components"}),
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
    values = force.read(FORCE.properties)
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
    mesh = meshes[name]
    body, frame = frames.placed(mesh, "socket_frame")
    values = mesh.read(MESH.properties)
    x, y, z = values["scale"].tolist()
    if not x * y * z:
        raise mesh.fault("scale_factors", "three factors other than 0", f"{x:g} {y:g} {z:g}")
    return ContactMesh(
        name,
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
