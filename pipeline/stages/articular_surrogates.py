"""Trained surrogates in place of the springs of articular contacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from dynamics.musculoskeletal.joint_contact import (
    JointContact,
    MirroredContact,
    mirrored_pose,
    pose_of,
)
from dynamics.musculoskeletal.osim_joints import Placement
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.stages.run_folder import TrainedRun
from pipeline.store.samples import OK, poses_of

#: Largest distance between vertices of equal meshes [m].
_APART = 1e-7
#: Held-out poses at which forces are compared, and their largest difference [1].
_POSES, _DIFFERENCE = 5, 1e-3


def with_surrogates(
    contacts: Sequence[JointContact], folders: Mapping[str, Path]
) -> tuple[JointContact, ...]:
    """Return contacts with the surrogates of run directories, by contact, in place of springs."""
    names = [contact.name for contact in contacts]
    unknown = [name for name in folders if name not in names]
    if unknown:
        raise InputError(
            f"surrogates: expected contacts of the model ({', '.join(names)}), found "
            f"{', '.join(unknown)}"
        )
    return tuple(
        _replaced(contact, TrainedRun.open(Path(folders[contact.name])))
        if contact.name in folders
        else contact
        for contact in contacts
    )


def _replaced(contact: JointContact, run: TrainedRun) -> JointContact:
    """Return a contact with the surrogate of a run, whose original model is that of the contact."""
    where = f"{contact.name}: {run.folder}"
    model, trained = contact.model, run.original.model
    if not (isinstance(model, ElasticFoundation) and isinstance(trained, ElasticFoundation)):
        raise InputError(
            f"{where}: expected a surrogate of springs in place of springs; train it with "
            'contact.model = "elastic_foundation"'
        )
    for name in ("surface", "conservative"):
        wanted, found = getattr(model, name), getattr(trained, name)
        if wanted != found:
            raise InputError(
                f"{where}: expected {name} = {wanted!r} as in the model, found {found!r}; train "
                f"the surrogate with contact.{name} = {wanted!r}"
            )
    pairs = ((trained.tibia, model.tibia), (trained.femur, model.femur))
    mirrored = all(_are_mirrored(*pair) for pair in pairs)
    bed, target = (
        _placement(trained_mesh.mirrored() if mirrored else trained_mesh, mesh, where)
        for trained_mesh, mesh in pairs
    )
    if not np.array_equal(trained.compartments, model.compartments):
        raise InputError(
            f"{where}: expected the compartments of the model, "
            f"{', '.join(model.compartment_names)}, with the same triangles, found "
            f"{', '.join(trained.compartment_names)}; check knee.compartments"
        )
    _check_forces(model, run, bed, target, mirrored, where)
    return replace(
        contact,
        model=MirroredContact(run.surrogate) if mirrored else run.surrogate,
        bed=contact.bed.after(bed),
        target=contact.target.after(target),
    )


def _are_mirrored(trained: TriangleMesh, mesh: TriangleMesh) -> bool:
    """Return whether the triangles are those of a mirror image, which run the other way round."""
    return np.array_equal(trained.faces[:, ::-1], mesh.faces)


def _placement(trained: TriangleMesh, mesh: TriangleMesh, where: str) -> Placement:
    """Return the placement of the frame of a run's mesh in the frame of the same mesh."""
    if not np.array_equal(trained.faces, mesh.faces):
        raise InputError(
            f"{where}: expected the {len(mesh.faces)} triangles of {mesh.name}, found other "
            f"triangles ({len(trained.faces)} of {trained.name}); train the surrogate with the "
            "mesh of the model"
        )
    middle, own = mesh.vertices.mean(axis=0), trained.vertices.mean(axis=0)
    rotation = Rotation.align_vectors(mesh.vertices - middle, trained.vertices - own)[0].as_matrix()
    placement = Placement(rotation, middle - rotation @ own)
    placed = trained.vertices @ rotation.T + placement.origin
    apart = np.linalg.norm(placed - mesh.vertices, axis=1).max()
    if apart > _APART:
        raise InputError(
            f"{where}: expected the vertices of {mesh.name} in a turned or moved frame, found a "
            f"vertex of {trained.name} {1e3 * apart:.3g} mm away; check the unit, the side and the "
            "scale factors of the meshes"
        )
    return placement


def _check_forces(
    model: ElasticFoundation,
    run: TrainedRun,
    bed: Placement,
    target: Placement,
    mirrored: bool,
    where: str,
) -> None:
    """Raise an error unless both beds of springs press equally."""
    held_out = run.samples("heldout")
    rows = held_out[held_out["status"] == OK].nlargest(_POSES, "force_y_N")
    for pose in (Pose.from_array(row) for row in poses_of(rows)):
        model_pose = mirrored_pose(pose) if mirrored else pose
        placed = Placement(model_pose.rotation_matrix, model_pose.translation)
        there = pose_of(bed.after(placed).after(target.inverse))
        wanted = float(np.linalg.norm(model.loads(there).force))
        found = float(np.linalg.norm(run.reference_model.loads(pose).force))
        if abs(found - wanted) > _DIFFERENCE * wanted:
            raise InputError(
                f"{where}: expected springs as stiff as in the model, found a force of "
                f"{found:.4g} N where the model has {wanted:.4g} N; train the surrogate with the "
                "law, moduli, Poisson's ratios and thicknesses of the model"
            )
