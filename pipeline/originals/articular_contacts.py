"""Articular contacts of an OpenSim model as contact models between its bodies."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from dynamics.musculoskeletal.joint_contact import JointContact
from dynamics.musculoskeletal.leg_sides import LegSide, leg_side
from dynamics.musculoskeletal.osim_joints import Placement
from dynamics.musculoskeletal.osim_model import ArticularContact, ContactMesh, OsimModel
from foundation.base.checks import FloatArray, check_number
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from foundation.elastic_foundation.laws import LAWS, SeriesLaw, SpringLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surfaces.compartments import LATERAL, find_compartments
from foundation.surfaces.femur_patches import LineTracer
from foundation.surfaces.mesh import read_surface
from foundation.surfaces.smooth_surface import flat_surface
from foundation.surfaces.triangle_mesh import MeshError, MeshWarning, TriangleMesh
from pipeline.originals.layer_checks import unusual_modulus

#: Largest part of the triangles of a layer under which no bone is found.
_NO_BONE = 0.2
#: Widths of meshes [m]; others have another unit.
_WIDTHS = (1e-3, 1.0)


class ContactSurfaces:
    """Surfaces of the contacts of a model, with x forward, y up and z right.

    `files` and uniform `thicknesses` [m] replace those of the model, by mesh file and by mesh.
    """

    def __init__(
        self,
        model: OsimModel,
        files: Mapping[str, Path] | None = None,
        thicknesses: Mapping[str, float] | None = None,
    ) -> None:
        self._model, self._files = model, dict(files or {})
        self._thicknesses = dict(thicknesses or {})
        meshes = {each.name: each for c in model.contacts for each in (c.bed, c.target)}
        for what, given, known in (
            ("meshes", self._files, model.contact_mesh_files),
            ("thickness_mm", self._thicknesses, tuple(meshes)),
        ):
            for name in given:
                if name not in known:
                    kind = "mesh files" if what == "meshes" else "contact meshes"
                    raise InputError(
                        f"{what}: expected names of {kind} of {model.path.name}, found {name!r}; "
                        f"the contacts of the model use {', '.join(known)}"
                    )
        for name, value in self._thicknesses.items():
            check_number(f"thickness of {name}", value, above=0.0, unit="m")
        self._unturned: dict[str, TriangleMesh] = {}
        self._turned: dict[str, TriangleMesh] = {}
        self._sides: dict[str, LegSide] = {}
        self._measured: dict[str, FloatArray] = {}

    def unturned(self, mesh: ContactMesh) -> TriangleMesh:
        """Return the triangles of a contact mesh in the frame of its file [m]."""
        if mesh.name not in self._unturned:
            self._unturned[mesh.name] = self._read(mesh, mesh.file)
        return self._unturned[mesh.name]

    def mesh(self, mesh: ContactMesh) -> TriangleMesh:
        """Return the triangles with x forward, y up and z right [m]; exceptions as `unturned`."""
        if mesh.name not in self._turned:
            self._turned[mesh.name] = _turned(self.unturned(mesh), self.side(mesh).axes)
        return self._turned[mesh.name]

    def side(self, mesh: ContactMesh) -> LegSide:
        """Return the leg of a contact mesh, and the directions of the body in its frame."""
        if mesh.name not in self._sides:
            self._sides[mesh.name] = leg_side(self._model, mesh)
        return self._sides[mesh.name]

    def placement(self, mesh: ContactMesh) -> Placement:
        """Return the placement of the turned mesh in its body."""
        axes = self.side(mesh).axes
        if np.array_equal(axes, np.eye(3)):
            return mesh.placement
        return mesh.placement.after(Placement(axes.T, np.zeros(3)))

    def thickness(self, mesh: ContactMesh) -> float | FloatArray:
        """Return the thickness of a layer, or that (F,) under each triangle [m]."""
        if mesh.name in self._thicknesses:
            return self._thicknesses[mesh.name]
        if mesh.back_file is None:
            return mesh.thickness
        if mesh.name not in self._measured:
            self._measured[mesh.name] = self._measure(mesh, mesh.back_file)
        return self._measured[mesh.name]

    def _read(self, mesh: ContactMesh, file: Path) -> TriangleMesh:
        found = read_surface(Path(self._files.get(file.name, file)))
        scaled = found.points * np.array(mesh.scale)
        widest = float(np.ptp(scaled, axis=0).max())
        if not _WIDTHS[0] < widest < _WIDTHS[1]:
            raise MeshError(
                f"{mesh.name}: expected a mesh in metres, between 1 mm and 1 m wide, found "
                f"{widest:.3g} m; check {file.name} and scale_factors of the model"
            )
        # A mirrored surface faces outwards again if its triangles run the other way round.
        order = -1 if np.prod(mesh.scale) < 0.0 else 1
        return TriangleMesh(scaled, found.faces[:, ::order], name=mesh.name)

    def _measure(self, mesh: ContactMesh, back: Path) -> FloatArray:
        """Return the distance (F,) from each triangle down to the bone, within its range [m]."""
        file = Path(self._files.get(back.name, back))
        if not file.is_file():
            raise InputError(
                f"{mesh.name}: expected the bone under the layer in {file}, found no such file; "
                f"name the file of {back.name} in walk.meshes or forward.meshes, or state a "
                f"uniform thickness of {mesh.name} in walk.thickness_mm or forward.thickness_mm"
            )
        surface, bone = self.mesh(mesh), _turned(self._read(mesh, back), self.side(mesh).axes)
        # The line from the surface enters the bone: with the bone turned inside out, an exit.
        inverted = TriangleMesh(bone.vertices, bone.faces[:, ::-1], name=bone.name)
        tracer = LineTracer(flat_surface(inverted), curved=False)
        reach = 2.0 * mesh.thickness_range[1]
        hits = tracer.exits(surface.centroids, -surface.normals, reach)
        missed = hits.facet < 0
        if missed.mean() > _NO_BONE:
            raise MeshError(
                f"{mesh.name}: expected bone within {1e3 * reach:g} mm under the surface, found "
                f"none under {missed.sum()} of {len(missed)} triangles; check mesh_back_file and "
                "its frame"
            )
        thickness = hits.distance.copy()
        if missed.any():
            warnings.warn(
                f"{mesh.name}: no bone under {missed.sum()} triangles; these triangles get the "
                "thickness of the nearest other triangle",
                MeshWarning,
                stacklevel=2,
            )
            _, nearest = KDTree(surface.centroids[~missed]).query(surface.centroids[missed])
            thickness[missed] = thickness[~missed][nearest]
        return np.clip(thickness, *mesh.thickness_range)


def contact_law(
    contact: ArticularContact, surfaces: ContactSurfaces
) -> tuple[SpringLaw, FloatArray | None]:
    """Return the law of the springs of a contact, and what the target's thickness varies by.

    A target layer of measured thickness has its mean in the law; the array (T,) [m] is the rest.
    """
    bed, target = contact.bed, contact.target
    own, other = surfaces.thickness(bed), surfaces.thickness(target)
    excess = None
    if not isinstance(other, float):
        mean = float(np.average(other, weights=surfaces.mesh(target).areas))
        excess, other = other - mean, mean
    make = LAWS[contact.law]
    if contact.lumped:
        law: SpringLaw = make(
            0.5 * (bed.youngs_modulus + target.youngs_modulus),
            0.5 * (bed.poissons_ratio + target.poissons_ratio),
            own + other,
        )
    else:
        law = SeriesLaw(
            make(bed.youngs_modulus, bed.poissons_ratio, own),
            make(target.youngs_modulus, target.poissons_ratio, other),
        )
    return law, excess


def _turned(mesh: TriangleMesh, axes: FloatArray) -> TriangleMesh:
    """Return a mesh with its vertices along other axes (3, 3), rows in its frame [1]."""
    if np.array_equal(axes, np.eye(3)):
        return mesh
    return TriangleMesh(mesh.vertices @ axes.T, mesh.faces, name=mesh.name)


#: Least mean upward component of the normals of two plateaus [1].
_UPWARDS = 0.5
#: Young's moduli of metal and ceramics [Pa].
_RIGID = (5e10, 5e11)


def articular_contacts(
    model: OsimModel,
    *,
    meshes: Mapping[str, Path] | None = None,
    thicknesses: Mapping[str, float] | None = None,
    surface: str = "curved",
) -> tuple[JointContact, ...]:
    """Return the contacts of a model, with beds of springs.

    `meshes` are files [m] in place of those of the model, `thicknesses` uniform ones of layers [m],
    both by name.
    """
    found = model.contacts
    if not found:
        raise InputError(
            f"{model.path.name}: expected an articular contact that applies, found none"
        )
    surfaces = ContactSurfaces(model, meshes, thicknesses)
    return tuple(_joint_contact(model, c, surfaces, surface) for c in found)


def material_notes(model: OsimModel) -> tuple[str, ...]:
    """Return a note on each unusual modulus of the contact meshes of a model."""
    found: dict[float, dict[str, None]] = {}
    for contact in model.contacts:
        for mesh in (contact.bed, contact.target):
            rigid = not contact.lumped and _RIGID[0] <= mesh.youngs_modulus <= _RIGID[1]
            if not rigid:
                found.setdefault(mesh.youngs_modulus, {})[mesh.name] = None
    return tuple(
        f"{model.path.name}, elastic_modulus of {', '.join(names)}: {text}; contact areas, "
        "pressures and compartments follow from it"
        for modulus, names in found.items()
        if (text := unusual_modulus(1e-6 * modulus))
    )


def _joint_contact(
    model: OsimModel,
    contact: ArticularContact,
    surfaces: ContactSurfaces,
    surface: str,
) -> JointContact:
    chain = model.chain_between(contact.bed.body, contact.target.body)
    bed, target = surfaces.mesh(contact.bed), surfaces.mesh(contact.target)
    labels, names = _compartments(bed, contact.name, surfaces.side(contact.bed).leg)
    law, excess = contact_law(contact, surfaces)

    springs = ElasticFoundation(
        target,
        bed,
        law,
        surface=surface,
        compartments=labels,
        compartment_names=names,
        search_depth=contact.search_depth,
        femur_excess=excess,
    )
    placements = surfaces.placement(contact.bed), surfaces.placement(contact.target)
    return JointContact(contact.name, springs, chain, *placements)


def _compartments(
    bed: TriangleMesh, name: str, leg: str
) -> tuple[NDArray[np.int8], tuple[str, ...]]:
    """Return labels (F,) and names of the compartments of a bed with x forward and z right."""
    upward = float(bed.areas @ bed.normals[:, 1]) / float(bed.areas.sum())
    if upward > _UPWARDS:  # Other beds, such as a patella that faces backwards, have no plateaus.
        with suppress(MeshError):
            labels = find_compartments(bed)
            # The lateral plateau of a left knee is on the left.
            return (LATERAL - labels if leg == "left" else labels), COMPARTMENTS
    return np.zeros(len(bed.faces), dtype=np.int8), (name,)
