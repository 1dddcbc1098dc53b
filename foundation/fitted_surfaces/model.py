"""Contact of smooth surfaces fitted to the knee, by an analytical law of the overlap."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from foundation import kernels
from foundation.base.checks import check_number, frozen
from foundation.base.errors import InputError, PoseError
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import CENTRE, COMPARTMENTS, WRENCH, SpringState
from foundation.base.pose import Pose, twist_jacobian
from foundation.contact_laws.ellipse import EllipticContact
from foundation.fitted_surfaces.compartment import FittedCompartment, fit_compartments
from foundation.fitted_surfaces.elliptic_patch import patch_state
from foundation.fitted_surfaces.hertz_factors import LARGEST_RATIO
from foundation.fitted_surfaces.kernel_side import FittedState, KernelSide, Law, laws_of
from foundation.surface_contact import SurfaceContact, pressed_through
from foundation.surfaces.compartments import check_labels
from foundation.surfaces.triangle_mesh import TriangleMesh

#: Distance beyond the region of the fit at which a contact is flagged [m].
_BEYOND = 1e-3
_FAILURES = {
    kernels.NOT_FOUND: "no common normal of the fitted surfaces was found",
    kernels.CONFORMING: (
        "the fitted surfaces conform, so that their contact is no point (relative radii beyond "
        f"1 : {LARGEST_RATIO**2:.0f})"
    ),
}


class FittedSurfaceContact(SurfaceContact):
    """Contact of an ellipsoid with a quadric in each compartment, by a law of their overlap.

    The overlap d is measured along the common normal of the two surfaces; a law gives the elastic
    energy U(d), and the loads are the gradient of the energy (docs/fitted_surfaces.md).
    Area and pressures are those of Hertz's ellipse under the force. Loads raise `PoseError` where
    the surfaces have no common normal, or conform so closely that their contact is no point; flags
    name a compartment in which contact is outside the region of the fit, or the femur is pressed
    through the layer.

    Parameters
    ----------
    femur, tibia : TriangleMesh
        Articular surfaces [m], femoral and tibial frame, normals out of the bone or component.
    modulus : float
        E* of both bodies [Pa], see `foundation.contact_laws.effective_modulus`.
    poses : sequence of Pose, optional
        Poses over the range of motion, which `fit_compartments` fits the surfaces for; not needed
        if `surfaces` are given.
    law : ContactLaw or None, or a tuple of them
        Law of all compartments, or of each of them. None: Hertz's elliptic
        contact, its stiffness that of the relative curvatures at each pose. A law of
        `foundation.contact_laws` has a constant stiffness; its elastic part counts, since the
        femur is at rest.
    thickness : float, optional
        Thickness of the layer [m], for strains; without a thickness strains are 0.
    compartments : (F,) int8, optional
        Compartment of each tibial triangle, its place in `compartment_names`; by default 0
        everywhere for one compartment, and for two compartments from
        `foundation.surfaces.compartments.find_compartments`.
    compartment_names : sequence of str
        Names of the compartments.
    surfaces : tuple of FittedCompartment, optional
        Surfaces of each compartment in place of fits.
    nearness, margin : float
        As of `fit_compartments` [m].

    Raises
    ------
    InputError
        If an argument is out of its range, neither poses nor surfaces are given, or the surfaces
        cannot be fitted.
    """

    def __init__(
        self,
        femur: TriangleMesh,
        tibia: TriangleMesh,
        modulus: float,
        poses: Sequence[Pose] | None = None,
        *,
        law: Law | tuple[Law, ...] = None,
        thickness: float | None = None,
        compartments: ArrayLike | None = None,
        compartment_names: Sequence[str] = COMPARTMENTS,
        surfaces: tuple[FittedCompartment, ...] | None = None,
        nearness: float = 0.2e-3,
        margin: float = 2e-3,
    ) -> None:
        self.femur, self.tibia = femur, tibia
        self.modulus = check_number("modulus", modulus, above=0.0, unit="Pa")
        labels, self.compartment_names = check_labels(tibia, compartments, compartment_names)
        self.compartments = frozen(labels)
        self.laws = laws_of(law, len(self.compartment_names))
        self.thickness = thickness
        if thickness is not None:
            check_number("thickness", thickness, above=0.0, unit="m")
        if surfaces is None:
            if poses is None:
                raise InputError(
                    "poses: expected poses to fit surfaces for, or surfaces; found none"
                )
            surfaces = fit_compartments(
                femur,
                tibia,
                poses,
                compartments=self.compartments,
                compartment_names=self.compartment_names,
                nearness=nearness,
                margin=margin,
            )
        self.surfaces = surfaces

    def with_law(self, law: Law | tuple[Law, ...], modulus: float | None = None) -> Self:
        """Return the same surfaces with another law, and modulus [Pa], arguments of the class."""
        return type(self)(
            self.femur,
            self.tibia,
            self.modulus if modulus is None else modulus,
            law=law,
            thickness=self.thickness,
            compartments=self.compartments,
            compartment_names=self.compartment_names,
            surfaces=self.surfaces,
        )

    def _states(
        self, pose: Pose, sides: Sequence[int], *, jacobian: bool = False, energy: bool = False
    ) -> list[FittedState]:
        return [self._state(pose, side, jacobian=jacobian) for side in sides]

    def _flags(self, pose: Pose, side: int, state: FittedState) -> tuple[Flag, ...]:
        name = self.compartment_names[side]
        return (
            *pressed_through(name, float(state.depth[1])),
            *self._refusals(pose, side, state),
        )

    def spring_state(self, pose: Pose) -> SpringState:
        """Return overlap and Hertz's pressure at the middle of every tibial triangle.

        The overlap is that of the osculating paraboloids, the pressure that of Hertz's ellipse
        under the force.
        """
        found = np.zeros((2, len(self.tibia.faces)))
        for side, state in enumerate(self._states(pose, self._sides)):
            if state.touching:
                inside = self.compartments == side
                found[:, inside] = patch_state(
                    self.surfaces[side],
                    pose,
                    state.elliptic_contact(self.modulus),
                    state,
                    self.tibia.centroids[inside],
                )
        return SpringState(frozen(found[0]), frozen(found[1]))

    def elliptic_contact(self, pose: Pose, compartment: str) -> EllipticContact:
        """Return Hertz's contact of the relative curvatures at a pose in contact.

        Parameters
        ----------
        pose : Pose
            Pose of the femur.
        compartment : str
            Compartment.

        Raises
        ------
        PoseError
            If the compartment is out of contact; see also `evaluate`.
        """
        state = self._state(pose, self._index(compartment))
        if not state.touching:
            raise PoseError(f"{compartment}: expected a pose in contact, found none")
        return state.elliptic_contact(self.modulus)

    def _state(self, pose: Pose, side: int, *, jacobian: bool = False) -> FittedState:
        """Return the contact of one compartment, in the tibial frame."""
        part = self._parts[side]
        result, by_twist = np.empty(kernels.FITTED_RESULTS), np.empty((6, 6))
        outcome = kernels.fitted_contact(
            part.femur_at(pose), part.quadric, part.law, part.factors, jacobian, result, by_twist
        )
        if outcome in _FAILURES:
            raise PoseError(f"{self.compartment_names[side]}: {_FAILURES[outcome]} at {pose}")
        if outcome == kernels.TOUCHING:
            result[WRENCH] = part.carry.T @ result[WRENCH]
            result[CENTRE] = part.origin + part.axes @ result[CENTRE]
            if jacobian:
                by_twist = part.carry.T @ by_twist @ (part.carry @ twist_jacobian(pose))
        return FittedState(result, by_twist, self.thickness)

    @cached_property
    def _parts(self) -> tuple[KernelSide, ...]:
        return tuple(
            KernelSide(surfaces, law, self.modulus)
            for surfaces, law in zip(self.surfaces, self.laws, strict=True)
        )

    def _refusals(self, pose: Pose, side: int, state: FittedState) -> tuple[Flag, ...]:
        """Return whether contact is outside the region that the surfaces were fitted for."""
        fit = self.surfaces[side]
        if not state.touching or fit.femur_residual is None or fit.tibia_residual is None:
            return ()
        at = state.loads[CENTRE]
        on_femur = (at - pose.translation) @ pose.rotation_matrix
        name = self.compartment_names[side]
        return tuple(
            Flag(kind, name, (1e3 * _BEYOND,))
            for kind, residual, point in (
                (FlagKind.OUTSIDE_FEMORAL_FIT, fit.femur_residual, on_femur),
                (FlagKind.OUTSIDE_TIBIAL_FIT, fit.tibia_residual, at),
            )
            if not residual.reaches(point, _BEYOND)
        )
