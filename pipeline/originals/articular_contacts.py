"""Articular contacts of an OpenSim model as contact models between its bodies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynamics.musculoskeletal import ArticularContact, CoordinateMotion, JointContact, OsimModel
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose, twist_jacobian
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surfaces.compartments import LATERAL, find_compartments
from foundation.surfaces.femur_patches import LineTracer
from foundation.surfaces.smooth_surface import flat_surface
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh
from pipeline.originals.contact_layers import ContactSurfaces, contact_law
from pipeline.originals.layer_checks import unusual_modulus
from pipeline.originals.spring_bed import springs_of

#: Reach of the search along the normals, and largest distance of surfaces that are to touch [m].
_REACH, _APART = 60e-3, 20e-3
#: Overlap that is plausible whatever the springs search [m].
_OVERLAP = 10e-3


def check_facing(
    contacts: Sequence[JointContact], model: OsimModel, motion: CoordinateMotion
) -> None:
    """Raise a `MeshError` if the surfaces of a contact can touch at no pose of a few.

    The poses are the default of the model and the first, middle and last instant of a motion.
    Joints may lift off: a contact passes if its surfaces face each other at one of the poses, less
    than 20 mm apart, and most springs that face the target do not overlap by more than they search.
    Raises `InputError` if the motion lacks a coordinate of a contact, or a contact is a surrogate.
    """
    defaults, count = model.coordinate_defaults, len(motion.time)
    for contact in contacts:
        names = contact.coordinates
        own = np.array([defaults.get(name, 0.0) for name in names])
        along = motion.values[[0, count // 2, count - 1]][:, motion.index(names)]
        _check_contact(contact, [own, *along])


def _check_contact(contact: JointContact, poses: Iterable[FloatArray]) -> None:
    springs = springs_of(
        contact.model, f"{contact.name}: expected a bed of springs, found a surrogate"
    )
    target, bed = springs.femur, springs.tibia
    inverted = TriangleMesh(target.vertices, target.faces[:, ::-1], name=target.name)
    sides = [LineTracer(flat_surface(mesh), curved=False) for mesh in (target, inverted)]
    deepest = max(_OVERLAP, springs.search_depth)
    found = ""
    for values in poses:
        fault = _fault(facing_gaps(bed, sides, contact.pose(values)), deepest)
        if not fault:
            return
        found = found or fault
    raise MeshError(
        f"{contact.name}: expected surfaces of {bed.name} and {target.name} that face each other "
        f"and almost touch at the default pose of the model or along the motion, found {found}; "
        "check the files of these meshes in the model and in walk.meshes or forward.meshes, which "
        "may be swapped or belong to another knee"
    )


def facing_gaps(bed: TriangleMesh, sides: Sequence[LineTracer], pose: Pose) -> FloatArray:
    """Return the distances (K,) [m] from triangles of a bed to the target that they face.

    A distance is along the normal of a triangle to the nearest part of the target within 60 mm that
    faces it, negative for an overlap; triangles that face nothing are left out. `sides` are the
    target as it is and turned inside out, `pose` is that of the target in the frame of the bed.
    """
    turn = pose.rotation_matrix
    normals, starts = bed.normals @ turn, (bed.centroids - pose.translation) @ turn
    below, above = (
        side.exits(starts, sign * normals, _REACH)
        for side, sign in zip(sides, (-1.0, 1.0), strict=True)
    )
    overlap = np.where(below.facet >= 0, below.distance, np.inf)
    gap = np.where(above.facet >= 0, above.distance, np.inf)
    nearest: FloatArray = np.where(overlap < gap, -overlap, gap)
    return nearest[np.isfinite(nearest)]


def _fault(gaps: FloatArray, deepest: float) -> str:
    """Return why surfaces with these gaps cannot touch, or nothing."""
    if not len(gaps):
        return f"none within {1e3 * _REACH:g} mm along the normals"
    if gaps.min() > _APART:
        return f"surfaces at least {1e3 * gaps.min():.0f} mm apart"
    overlap = -float(np.median(gaps))
    if overlap > deepest:
        return f"an overlap of {1e3 * overlap:.0f} mm, beyond {1e3 * deepest:g} mm"
    return ""


#: Least mean upward component of the normals of two plateaus [1].
_UPWARDS = 0.5
#: Young's moduli of metal and ceramics [Pa].
_RIGID = (5e10, 5e11)
#: Step of the derivatives of an energy [rad, m].
_STEP = 1e-6


class StoredEnergy:
    """Gradient of the energy that a bed of springs stores.

    The loads of a conservative bed are the gradient; that of another bed is found by differences.
    """

    def __init__(self, bed: ElasticFoundation) -> None:
        self.bed = bed

    def wrench(self, pose: Pose) -> FloatArray:
        """Return minus the derivative of the energy by the twist of the target, (6,) [N, N m]."""
        if self.bed.conservative:
            return self.bed.loads(pose).wrench
        q, energy = pose.array, self.bed.stored_energy
        rates = [
            (energy(Pose.from_array(q + h)) - energy(Pose.from_array(q - h))) / (2.0 * _STEP)
            for h in _STEP * np.eye(6)
        ]
        return -np.linalg.solve(twist_jacobian(pose).T, np.array(rates)).astype(np.float64)


def articular_contacts(
    model: OsimModel,
    *,
    meshes: Mapping[str, Path] | None = None,
    thicknesses: Mapping[str, float] | None = None,
    surface: str = "curved",
    energy: bool = False,
) -> tuple[JointContact, ...]:
    """Return the contacts of a model, with beds of springs.

    `meshes` are files [m] in place of mesh files of the model, by their names; `thicknesses` are
    uniform thicknesses of layers [m], by the names of the contact meshes. OpenSim-JAM has "flat"
    surfaces between vertices. With `energy`, the contacts have the gradient of their energy too.

    A bed of two plateaus has a medial and a lateral compartment, any other one a single compartment
    with the name of the contact. Frames of bed and target have x forward, y up and z right,
    whatever the axes of the mesh files (`leg_side`). Raises `InputError` if the model has no
    contact, a mesh is missing or damaged, `meshes` names a file that is no contact mesh of the
    model, or no joints with linear motion connect the two bodies of a contact.
    """
    found = model.contacts
    if not found:
        raise InputError(
            f"{model.path.name}: expected an articular contact that applies, found none"
        )
    surfaces = ContactSurfaces(model, meshes, thicknesses)
    return tuple(_joint_contact(model, c, surfaces, surface, energy) for c in found)


def material_notes(model: OsimModel) -> tuple[str, ...]:
    """Return a note on each unusual modulus of the contact meshes of a model.

    The moduli of metal and ceramics are usual for one of two layers that are not lumped.
    """
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


def contact_meshes(
    model: OsimModel, meshes: Mapping[str, Path] | None = None
) -> dict[str, tuple[TriangleMesh, TriangleMesh]]:
    """Return the meshes of bed and target [m] of each contact of a model, by its name.

    `meshes` as of `articular_contacts`; raises `InputError` if a mesh is missing, damaged or no
    mesh of the model.
    """
    surfaces = ContactSurfaces(model, meshes)
    return {c.name: (surfaces.unturned(c.bed), surfaces.unturned(c.target)) for c in model.contacts}


def _joint_contact(
    model: OsimModel,
    contact: ArticularContact,
    surfaces: ContactSurfaces,
    surface: str,
    energy: bool,
) -> JointContact:
    chain = model.chain_between(contact.bed.body, contact.target.body)
    bed, target = surfaces.mesh(contact.bed), surfaces.mesh(contact.target)
    labels, names = _compartments(bed, contact.name, surfaces.side(contact.bed).leg)
    law, excess = contact_law(contact, surfaces)

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
            femur_excess=excess,
        )

    return JointContact(
        contact.name,
        springs(False),
        chain,
        surfaces.placement(contact.bed),
        surfaces.placement(contact.target),
        StoredEnergy(springs(excess is None)) if energy else None,
    )


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
