"""Articular contacts of an OpenSim model as contact models between its bodies."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynamics.musculoskeletal import ArticularContact, JointContact, OsimModel
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose, twist_jacobian
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surfaces.compartments import LATERAL, find_compartments
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh
from pipeline.originals.contact_layers import ContactSurfaces, contact_law
from pipeline.originals.layer_checks import unusual_modulus

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
