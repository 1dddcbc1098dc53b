"""Stiffness of laws on fitted surfaces: from Hertz's contact, or from another contact model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import check_array, check_number
from foundation.base.errors import InputError
from foundation.base.loads import FORCE
from foundation.base.pose import Pose
from foundation.contact_laws.normal import ContactLaw, HertzLaw, HookeLaw
from foundation.fitted_surfaces.model import FittedSurfaceContact
from foundation.surface_contact import SurfaceContact


def secant_laws(
    model: FittedSurfaceContact, poses: Sequence[Pose], force: float
) -> tuple[HookeLaw, ...]:
    """Return Hooke's laws with the secant stiffness of Hertz's elliptic contact at a force.

    K = F/δ(F), the mean over the poses in which the compartment is in contact.

    Parameters
    ----------
    model : FittedSurfaceContact
        Fitted surfaces; their law does not matter.
    poses : sequence of Pose
        Poses of the femur.
    force : float
        F of one compartment [N], > 0.

    Raises
    ------
    InputError
        If a compartment is out of contact in all poses.
    """
    check_number("force", force, above=0.0, unit="N")
    laws = []
    for name in model.compartment_names:
        touching = [pose for pose in poses if model.indentation(pose, name) > 0.0]
        if not touching:
            raise InputError(f"poses: expected poses in {name} contact, found none")
        secants = [
            force / float(model.elliptic_contact(pose, name).approach(force)) for pose in touching
        ]
        laws.append(HookeLaw(float(np.mean(secants))))
    return tuple(laws)


def calibrated_laws(
    model: FittedSurfaceContact,
    reference: SurfaceContact,
    poses: Sequence[Pose],
    kind: type[HookeLaw] | type[HertzLaw] = HertzLaw,
) -> tuple[ContactLaw, ...]:
    """Return laws K δⁿ whose forces are closest to those of another model.

    K = Σ F δⁿ / Σ δ²ⁿ, of least squares over the poses, with the overlap δ of the fitted surfaces
    and the magnitude F of the force of the reference, one K a compartment.

    Parameters
    ----------
    model : FittedSurfaceContact
        Fitted surfaces; their law does not matter.
    reference : SurfaceContact
        Model to follow.
    poses : sequence of Pose
        Poses of the femur.
    kind : {HookeLaw, HertzLaw}
        Law.

    Raises
    ------
    InputError
        If a compartment of either model is out of contact in all poses.
    """
    laws = []
    for name in model.compartment_names:
        forces = [np.linalg.norm(reference.compartment_loads(p, name)[0][FORCE]) for p in poses]
        laws.append(calibrated_law(model, name, poses, forces, kind))
    return tuple(laws)


def calibrated_law(
    model: FittedSurfaceContact,
    compartment: str,
    poses: Sequence[Pose],
    forces: ArrayLike,
    kind: type[HookeLaw] | type[HertzLaw] = HertzLaw,
) -> ContactLaw:
    """Return the law K δⁿ of one compartment that is closest to given forces.

    Parameters
    ----------
    model : FittedSurfaceContact
        Fitted surfaces; their law does not matter.
    compartment : str
        Compartment.
    poses : sequence of Pose
        N poses of the femur.
    forces : (N,) float64
        Magnitudes of the forces at the poses [N].
    kind : {HookeLaw, HertzLaw}
        Law.

    Raises
    ------
    InputError
        If the sizes do not agree, or no pose has both a force and contact of the fitted surfaces.
    """
    wanted = check_array("forces", forces, (len(poses),))
    depths = np.array([model.indentation(pose, compartment) for pose in poses])
    powers = depths**kind.exponent
    if not (wanted * powers).any():
        raise InputError(
            f"poses: expected poses in {compartment} contact of both models, found none"
        )
    return kind(float(wanted @ powers / (powers @ powers)))


def calibrated_modulus(
    model: FittedSurfaceContact, reference: SurfaceContact, poses: Sequence[Pose]
) -> float:
    """Return E* [Pa] with which Hertz's elliptic contact is closest to another model.

    Force is proportional to E*: E* = E*₀ Σ F f / Σ f², of least squares over poses and
    compartments, with the magnitudes f of the forces of the elliptic contact at E*₀ and F of the
    reference. A layer on a stiff base is far stiffer than the half-space of Hertz; E* then
    describes the layer, not its material.

    Parameters
    ----------
    model : FittedSurfaceContact
        Fitted surfaces; their law and modulus do not matter.
    reference : SurfaceContact
        Model to follow.
    poses : sequence of Pose
        Poses of the femur.

    Raises
    ------
    InputError
        If the models are not in contact together in any pose.
    """
    rows = np.array([pose.array for pose in poses])
    own, wanted = (
        np.linalg.norm(each.evaluate_batch(rows)[:, :, FORCE], axis=2)
        for each in (model.with_law(None), reference)
    )
    if not (own * wanted).any():
        raise InputError("poses: expected poses in contact of both models, found none")
    return model.modulus * float((own * wanted).sum() / (own * own).sum())
