"""Ligaments from femur to tibia of an OpenSim model as rows of a ligament table, and back.

`Blankevoort1991Ligament` has the law "toe". Bundles are straight lines here: where the model wraps
a path, the rest length gives the line the strain of the path in the default pose of the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dynamics.csv_table import TextTable
from dynamics.ligaments.bundle_tables import ATTACHMENTS
from dynamics.ligaments.bundles import TRANSITION_STRAIN
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.osim_joints import Placement, placements_in_ground
from dynamics.musculoskeletal.osim_model import ContactMesh, OsimModel
from dynamics.musculoskeletal.osim_xml import OsimObject, child_of, parse_xml, write_xml
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

_LIGAMENT, _POINTS = "Blankevoort1991Ligament", "GeometryPath/PathPointSet/objects/*"
_BONES, _ORIGIN = ("femur", "tibia"), (0.0, 0.0, 0.0)
#: Property with the radii of a surface.
_RADII = {"WrapEllipsoid": "dimensions", "WrapSphere": "radius", "WrapCylinder": "radius"}


class WrapSurface(NamedTuple):
    """A surface around which the path of a bundle wraps."""

    bundle: str
    #: 0 on the femur, 1 on the tibia, and the placement in the file of the mesh of this bone.
    bone: int
    placement: Placement
    #: One over the radii (3,) [1/m]; 0 along the axis of a cylinder.
    inverse: FloatArray

    def crossed(self, first: FloatArray, last: FloatArray) -> bool:
        """Return whether the line between points (3,) [m] passes through the surface."""
        turn, origin = self.placement
        start, end = (self.inverse * ((point - origin) @ turn) for point in (first, last))
        way = end - start
        part = np.clip(-(start @ way) / np.maximum(way @ way, 1e-300), 0.0, 1.0)
        return bool(np.linalg.norm(start + part * way) < 1.0)


class _Bundle(NamedTuple):
    """A ligament, with the location (3,) [m] and the frame of both ends in the mesh files."""

    xml: OsimObject
    places: tuple[int, ...]
    frames: tuple[Placement, ...]
    ends: tuple[FloatArray, ...]


class OsimLigaments:
    """The ligaments of a model between the bodies of two contact meshes.

    A contact mesh is that of a file name, or the one whose name begins with "femur" or "tibia".
    """

    def __init__(self, path: str | Path, femur: Iterable[str], tibia: Iterable[str]) -> None:
        self.model = OsimModel(path)
        files = femur, tibia
        self._meshes = [self._mesh(*each) for each in zip(_BONES, files, strict=True)]

    def _mesh(self, bone: str, files: Iterable[str]) -> ContactMesh:
        meshes, wanted = self.model.contact_meshes, {Path(file).name for file in files}
        found = [mesh for mesh in meshes if mesh.file.name in wanted]
        found = found or [mesh for mesh in meshes if mesh.name.lower().startswith(bone)]
        if len(found) != 1 or found[0].scale != (1.0, 1.0, 1.0):
            names = ", ".join(f"{mesh.name} of {mesh.file.name}" for mesh in found or meshes)
            raise InputError(
                f"{self.model.path}: expected one contact mesh of the {bone}, without scale "
                f"factors, found {names or 'none'}; name the file of the mesh as the model does"
            )
        return found[0]

    @cached_property
    def _bundles(self) -> dict[str, _Bundle]:
        bodies, found = [mesh.body for mesh in self._meshes], {}
        for each in self.model.forces(_LIGAMENT):
            points = [each.of(point) for point in each.element.iterfind(_POINTS)]
            placed = [self.model.frames.placed(point, "socket_parent_frame") for point in points]
            if sorted(body for body, _ in placed) != sorted(bodies):
                continue
            places = tuple([body for body, _ in placed].index(body) for body in bodies)
            frames = tuple(
                mesh.placement.inverse.after(placed[k][1])
                for mesh, k in zip(self._meshes, places, strict=True)
            )
            ends = (points[k].numbers("location", _ORIGIN) for k in places)
            moved = (frame.at(end) for frame, end in zip(frames, ends, strict=True))
            found[each.name] = _Bundle(each, places, frames, tuple(moved))
        if not found:
            raise InputError(
                f"{self.model.path}: expected a {_LIGAMENT} of two points between {bodies[0]} and "
                f"{bodies[1]}, found none"
            )
        return found

    @cached_property
    def wraps(self) -> tuple[WrapSurface, ...]:
        """Ellipsoids, spheres and cylinders, without their ends, by the bundles they belong to."""
        surfaces: dict[str, tuple[int, Placement, FloatArray]] = {}
        for bone, mesh in enumerate(self._meshes):
            for each in self.model.bodies[mesh.body].objects("WrapObjectSet"):
                if each.tag in _RADII:
                    turn, origin = (
                        each.numbers(tag, _ORIGIN) for tag in ("xyz_body_rotation", "translation")
                    )
                    inverse = 1.0 / np.broadcast_to(each.numbers(_RADII[each.tag]), 3)
                    inverse = inverse * [1.0, 1.0, each.tag != "WrapCylinder"]
                    frame = mesh.placement.inverse.after(Placement.of(turn, origin))
                    surfaces[each.name] = bone, frame, inverse
        return tuple(
            WrapSurface(name, *surfaces[wrap.text("wrap_object")])
            for name, bundle in self._bundles.items()
            for wrap in bundle.xml.below("PathWrap")
            if wrap.text("wrap_object") in surfaces
        )

    @cached_property
    def _rest_lengths(self) -> dict[str, float]:
        """Rest length of the line of each bundle [m]."""
        rest = {name: each.xml.number("slack_length", 1.0) for name, each in self._bundles.items()}
        if wrapped := {each.bundle for each in self.wraps}:
            paths = OpenSimSystem(self.model.without_contact()).ligament_lengths()
            ground = placements_in_ground(self.model.joints)
            frames = [ground[mesh.body].after(mesh.placement) for mesh in self._meshes]
            for name in wrapped:
                ends = zip(frames, self._bundles[name].ends, strict=True)
                first, last = (frame.at(end) for frame, end in ends)
                rest[name] *= float(np.linalg.norm(first - last)) / paths[name]
        return rest

    def table(self) -> TextTable:
        """Return the bundles as a ligament table in the frames of the mesh files."""
        names = ["name", "kind", *sum(ATTACHMENTS, ()), "rest_length_mm", "stiffness_N"]
        rows: list[tuple[int, list[str]]] = []
        for name, bundle in self._bundles.items():
            stiffness = bundle.xml.number("linear_stiffness", 1.0)
            toe = bundle.xml.number("transition_strain", TRANSITION_STRAIN)
            values = [*1e3 * np.concatenate(bundle.ends), 1e3 * self._rest_lengths[name]]
            cells = [repr(float(value)) for value in (*values, stiffness, toe)]
            rows.append((len(rows) + 1, [name, "toe", *cells]))
        return TextTable(self.model.path, 0, [*names, "transition_strain"], rows)

    def write(self, rows: Iterable[Mapping[Any, Any]], path: str | Path) -> None:
        """Write the model with points, slack lengths and stiffnesses of rows of a ligament table.

        A slack length changes by the factor of the rest length.
        """
        root, changed = parse_xml(self.model.path, "model"), {row["name"]: row for row in rows}
        for element in root.iter(_LIGAMENT):
            row, name = changed.get(element.get("name")), element.get("name", "")
            if row is None or name not in self._bundles:
                continue
            bundle = self._bundles[name]
            points = element.findall(_POINTS)
            for k, frame, columns in zip(bundle.places, bundle.frames, ATTACHMENTS, strict=True):
                end = frame.inverse.at(1e-3 * np.array([float(row[each]) for each in columns]))
                child_of(points[k], "location").text = " ".join(map(repr, end.tolist()))
            factor = 1e-3 * float(row["rest_length_mm"]) / self._rest_lengths[name]
            slack = factor * bundle.xml.number("slack_length", 1.0)
            child_of(element, "slack_length").text = repr(slack)
            child_of(element, "linear_stiffness").text = repr(float(row["stiffness_N"]))
        write_xml(root, path)
