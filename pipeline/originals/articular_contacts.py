"""Articular contacts of an OpenSim model as contact models in its joints."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from dynamics.musculoskeletal import (
    ArticularContact,
    ContactMesh,
    JointContact,
    OsimModel,
    Placement,
)
from dynamics.musculoskeletal.leg_sides import leg_side
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import LAWS, LayerLaw, SeriesLaw, SpringLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surfaces.compartments import LATERAL, find_compartments
from foundation.surfaces.line_hits import LineTracer
from foundation.surfaces.mesh_io import read_surface
from foundation.surfaces.smooth_surface import flat_surface
from foundation.surfaces.triangle_mesh import MeshError, MeshWarning, TriangleMesh

#: Largest part of the triangles of a bed under which no bone is found.
_NO_BONE = 0.2
#: Widths of meshes [m]; others have another unit.
_WIDTHS = (1e-3, 1.0)
#: Least mean upward component of the normals of two plateaus [1].
_UPWARDS = 0.5


class StoredEnergy:
    """Gradient of the energy that a bed of springs stores.

    Parameters
    ----------
    bed : ElasticFoundation
        A conservative bed: its loads are the gradient of its energy.
    """

    def __init__(self, bed: ElasticFoundation) -> None:
        self.bed = bed

    def wrench(self, pose: Pose) -> FloatArray:
        """Return minus the derivative of the energy by the twist of the target, (6,) [N, N m]."""
        return self.bed.loads(pose).wrench


def articular_contacts(
    model: OsimModel,
    *,
    meshes: Mapping[str, Path] | None = None,
    surface: str = "curved",
    energy: bool = False,
) -> tuple[JointContact, ...]:
    """Return the contacts of a model, with beds of springs.

    Parameters
    ----------
    model : OsimModel
        The model.
    meshes : mapping of str to Path, optional
        Files [m] in place of mesh files of the model, by their names.
    surface : {"curved", "flat"}
        Shape of the surfaces between vertices; OpenSim-JAM has flat ones.
    energy : bool
        Whether the contacts have the gradient of their energy too.

    Returns
    -------
    tuple of JointContact
        The contacts. A bed of two plateaus has a medial and a lateral compartment, any other one a
        single compartment with the name of the contact. Frames of bed and target have x forward,
        y up and z right, whatever the axes of the mesh files (`leg_side`).

    Raises
    ------
    InputError
        If the model has no contact, a mesh is missing or damaged, `meshes` names a file that is no
        contact mesh of the model, or the surfaces of a contact are not in two bodies that a joint
        with linear motion connects.
    """
    found = model.contacts
    if not found:
        raise InputError(
            f"{model.path.name}: expected an articular contact that applies, found none"
        )
    own = _own_meshes(model, meshes)
    return tuple(_joint_contact(model, c, own, surface, energy) for c in found)


def contact_meshes(
    model: OsimModel, meshes: Mapping[str, Path] | None = None
) -> dict[str, tuple[TriangleMesh, TriangleMesh]]:
    """Return the meshes of bed and target [m] of each contact of a model, by its name.

    `meshes` as of `articular_contacts`; raises `InputError` if a mesh is missing, damaged or no
    mesh of the model.
    """
    own = _own_meshes(model, meshes)
    return {c.name: (_mesh(c.bed, own), _mesh(c.target, own)) for c in model.contacts}


def _own_meshes(model: OsimModel, meshes: Mapping[str, Path] | None) -> dict[str, Path]:
    """Return files by names of mesh files of a model; an `InputError` names another name."""
    own, known = dict(meshes or {}), model.contact_mesh_files
    for name in own:
        if name not in known:
            raise InputError(
                f"meshes: expected names of mesh files of {model.path.name}, found {name!r}; the "
                f"contacts of the model use {', '.join(known)}"
            )
    return own


def _joint_contact(
    model: OsimModel,
    contact: ArticularContact,
    meshes: dict[str, Path],
    surface: str,
    energy: bool,
) -> JointContact:
    joint = model.joint_between(contact.bed.body, contact.target.body)
    bed_on_child = joint.child == contact.bed.body
    on_child, on_parent = joint.child_frame.inverse, joint.parent_frame.inverse
    sides = {mesh.name: leg_side(model, mesh) for mesh in (contact.bed, contact.target)}
    axes = {name: side.axes for name, side in sides.items()}
    bed, target = (
        _turned(_mesh(mesh, meshes), axes[mesh.name]) for mesh in (contact.bed, contact.target)
    )
    labels, names = _compartments(bed, contact.name, sides[contact.bed.name].leg)
    law = _law(contact, bed, meshes, axes[contact.bed.name])

    def springs(conservative: bool) -> ElasticFoundation:
        return ElasticFoundation(
            target,
            bed,
            law,
            surface=surface,
            conservative=conservative,
            compartments=labels,
            compartment_names=names,
            search_depth=contact.search_depth,
        )

    return JointContact(
        contact.name,
        springs(False),
        joint.kinematics,
        (on_child if bed_on_child else on_parent).after(_placed(contact.bed, axes)),
        (on_parent if bed_on_child else on_child).after(_placed(contact.target, axes)),
        bed_on_child,
        StoredEnergy(springs(True)) if energy else None,
    )


def _mesh(mesh: ContactMesh, meshes: dict[str, Path]) -> TriangleMesh:
    return _triangles(mesh, mesh.file, meshes)


def _triangles(mesh: ContactMesh, file: Path, meshes: dict[str, Path]) -> TriangleMesh:
    found = read_surface(Path(meshes.get(file.name, file)))
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


def _turned(mesh: TriangleMesh, axes: FloatArray) -> TriangleMesh:
    """Return a mesh with its vertices along other axes (3, 3), rows in its frame [1]."""
    if np.array_equal(axes, np.eye(3)):
        return mesh
    return TriangleMesh(mesh.vertices @ axes.T, mesh.faces, name=mesh.name)


def _placed(mesh: ContactMesh, axes: Mapping[str, FloatArray]) -> Placement:
    """Return the placement of a turned mesh in its body."""
    if np.array_equal(axes[mesh.name], np.eye(3)):
        return mesh.placement
    return mesh.placement.after(Placement(axes[mesh.name].T, np.zeros(3)))


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


def _law(
    contact: ArticularContact, surface: TriangleMesh, meshes: dict[str, Path], axes: FloatArray
) -> SpringLaw:
    bed, target = contact.bed, contact.target
    if target.back_file is not None:
        raise InputError(
            f"{target.name}: expected one thickness of the target mesh, found "
            "use_variable_thickness; let the casting mesh have the varying thickness"
        )
    make = LAWS[contact.law]
    thickness = _thickness(bed, surface, meshes, axes)
    if contact.lumped:
        return make(
            0.5 * (bed.youngs_modulus + target.youngs_modulus),
            0.5 * (bed.poissons_ratio + target.poissons_ratio),
            thickness + target.thickness,
        )
    return SeriesLaw(
        make(bed.youngs_modulus, bed.poissons_ratio, thickness),
        make(target.youngs_modulus, target.poissons_ratio, target.thickness),
    )


def with_thickness(bed: ElasticFoundation, scale: float) -> ElasticFoundation:
    """Return a bed of springs with the thicknesses of its layers times a factor [1]."""
    return bed.with_law(_thicker(bed.law, scale))


def _thicker(law: SpringLaw, scale: float) -> SpringLaw:
    if isinstance(law, SeriesLaw):
        return SeriesLaw(_thicker(law.first, scale), _thicker(law.second, scale))
    if not isinstance(law, LayerLaw):
        raise InputError(f"law: expected a law of elastic layers, found {type(law).__name__}")
    return replace(law, thickness=scale * np.asarray(law.thickness))


def _thickness(
    mesh: ContactMesh, surface: TriangleMesh, meshes: dict[str, Path], axes: FloatArray
) -> float | FloatArray:
    """Return the thickness of a layer, or that (F,) under each triangle [m]."""
    if mesh.back_file is None:
        return mesh.thickness
    bone = _turned(_triangles(mesh, mesh.back_file, meshes), axes)
    # The line from the surface enters the bone: with the bone turned inside out, an exit.
    inverted = TriangleMesh(bone.vertices, bone.faces[:, ::-1], name=bone.name)
    tracer = LineTracer(flat_surface(inverted), curved=False)
    reach = 2.0 * mesh.thickness_range[1]
    hits = tracer.exits(surface.centroids, -surface.normals, reach)
    missed = hits.facet < 0
    if missed.mean() > _NO_BONE:
        raise MeshError(
            f"{mesh.name}: expected bone within {1e3 * reach:g} mm under the surface, found none "
            f"under {missed.sum()} of {len(missed)} triangles; check mesh_back_file and its frame"
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
