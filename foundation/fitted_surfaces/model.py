"""Contact of smooth surfaces fitted to the knee, by an analytical law of the overlap."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from foundation import kernels
from foundation.base.checks import FloatArray, check_number, frozen
from foundation.base.errors import InputError, PoseError
from foundation.base.loads import COMPARTMENTS, WRENCH, ContactLoads, SpringState
from foundation.base.pose import Pose, twist_jacobian
from foundation.compartment_choice import CompartmentChoice
from foundation.contact_laws.ellipse import EllipticContact
from foundation.fitted_surfaces.compartment import FittedCompartment, fit_compartments
from foundation.fitted_surfaces.elliptic_patch import patch_state
from foundation.fitted_surfaces.hertz_factors import LARGEST_RATIO
from foundation.fitted_surfaces.kernel_side import KernelSide, Law, laws_of
from foundation.surface_contact import batch_loads
from foundation.surfaces.compartments import check_labels
from foundation.surfaces.triangle_mesh import TriangleMesh

_LOADS = slice(0, 12)
_DEPTH, _ENERGY, _DET, _TRACE = range(12, kernels.FITTED_RESULTS)
#: Distance beyond the region of the fit at which a contact is flagged [m].
_BEYOND = 1e-3
_FAILURES = {
    kernels.NOT_FOUND: "no common normal of the fitted surfaces was found",
    kernels.CONFORMING: (
        "the fitted surfaces conform, so that their contact is no point (relative radii beyond "
        f"1 : {LARGEST_RATIO**2:.0f})"
    ),
}


class FittedSurfaceContact(CompartmentChoice):
    """Contact of an ellipsoid with a quadric in each compartment, by a law of their overlap.

    The overlap d is measured along the common normal of the two surfaces; a law gives the elastic
    energy U(d), and the loads are the gradient of the energy (docs/fitted_surfaces.md).
    Area and pressures are those of Hertz's ellipse under the force.

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

    def evaluate(self, pose: Pose) -> ContactLoads:
        """Return the loads at a pose; see `foundation.base.loads` for frames and signs.

        Results do not depend on evaluation history; several threads may call this method.

        Parameters
        ----------
        pose : Pose
            Pose of the femur.

        Returns
        -------
        ContactLoads
            Loads per compartment and in total; `flags` names a compartment in which contact is
            outside the region of the fit, or the femur is pressed through the layer.

        Raises
        ------
        PoseError
            If the surfaces have no common normal, or conform so closely that their contact is no
            point.
        """
        return self._run(pose, jacobian=False)[0]

    def loads(self, pose: Pose) -> ContactLoads:
        """Return the loads at a pose (`dynamics.protocol.ContactModel`)."""
        return self.evaluate(pose)

    def loads_and_jacobian(self, pose: Pose) -> tuple[ContactLoads, FloatArray]:
        """Return the loads and the derivative (6, 6) of the total wrench [N, N m; rad, m].

        Parameters and exceptions as of `evaluate`.
        """
        return self._run(pose, jacobian=True)

    def _run(self, pose: Pose, *, jacobian: bool) -> tuple[ContactLoads, FloatArray]:
        parts = [self._evaluate(pose, side, jacobian=jacobian) for side in self._sides]
        results = [result for result, _ in parts]
        flags = [
            flag
            for side, result in enumerate(results)
            for flag in (*self._strain_flags(side, result), *self._region_flags(pose, side, result))
        ]
        loads = ContactLoads.trusted_parts(
            tuple(result[_LOADS] for result in results), self.compartment_names, tuple(flags)
        )
        return loads, reduce(np.add, [jacobian for _, jacobian in parts])

    def compartment_loads(
        self, pose: Pose, compartment: str
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the loads of one compartment (12,), Jacobian (6, 6), overlap and strain (2,) [SI].

        Parameters and results as of `foundation.surface_contact.SurfaceContact.compartment_loads`,
        exceptions as of `evaluate`, and InputError if `compartment` is another name.
        """
        result, jacobian = self._evaluate(pose, self._index(compartment), jacobian=True)
        return result[_LOADS], jacobian, np.array([result[_DEPTH], self._strain(result)])

    def indentation(self, pose: Pose, compartment: str) -> float:
        """Return the overlap of a compartment [m], 0 out of contact.

        Parameters and exceptions as of `compartment_loads`.
        """
        return float(self._evaluate(pose, self._index(compartment))[0][_DEPTH])

    def compartment_flags(self, pose: Pose, compartment: str) -> tuple[str, ...]:
        """Return whether contact in a compartment is outside the region of the fit.

        Parameters and exceptions as of `compartment_loads`.
        """
        side = self._index(compartment)
        return self._region_flags(pose, side, self._evaluate(pose, side)[0])

    def evaluate_batch(self, poses: ArrayLike, *, threads: int = 1) -> FloatArray:
        """Return the loads (N, C, 12) [N, N m, m², Pa, m] at poses (N, 6) [rad, m].

        Parameters and exceptions as of `foundation.surface_contact.SurfaceContact.evaluate_batch`.
        """

        def loads_at(pose: Pose) -> FloatArray:
            return np.stack([self._evaluate(pose, side)[0][_LOADS] for side in self._sides])

        return batch_loads(loads_at, poses, threads, len(self.compartment_names))

    def stored_energy(self, pose: Pose, compartment: str | None = None) -> float:
        """Return the elastic energy [J], which the loads are the gradient of.

        Parameters
        ----------
        pose : Pose
            Pose of the femur.
        compartment : str, optional
            Compartment; by default the whole knee.
        """
        chosen = self._sides if compartment is None else [self._index(compartment)]
        return float(sum(self._evaluate(pose, side)[0][_ENERGY] for side in chosen))

    def spring_state(self, pose: Pose) -> SpringState:
        """Return overlap and Hertz's pressure at the middle of every tibial triangle.

        The overlap is that of the osculating paraboloids, the pressure that of Hertz's ellipse
        under the force.
        """
        state = np.zeros((2, len(self.tibia.faces)))
        for side in self._sides:
            result = self._evaluate(pose, side)[0]
            if result[_DEPTH] > 0.0:
                inside = self.compartments == side
                state[:, inside] = patch_state(
                    self.surfaces[side],
                    pose,
                    self.elliptic_contact(pose, self.compartment_names[side]),
                    result,
                    self.tibia.centroids[inside],
                )
        return SpringState(frozen(state[0]), frozen(state[1]))

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
        result = self._evaluate(pose, self._index(compartment))[0]
        if result[_DEPTH] <= 0.0:
            raise PoseError(f"{compartment}: expected a pose in contact, found none")
        mean = 0.5 * result[_TRACE]
        spread = np.sqrt(max(mean**2 - result[_DET], 0.0))
        return EllipticContact(1.0 / (mean - spread), 1.0 / (mean + spread), self.modulus)

    def _evaluate(
        self, pose: Pose, side: int, *, jacobian: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return result (`FITTED_RESULTS`,), tibial frame, and Jacobian by pose (6, 6)."""
        part = self._parts[side]
        result, by_twist = np.empty(kernels.FITTED_RESULTS), np.empty((6, 6))
        outcome = kernels.fitted_contact(
            part.femur_at(pose), part.quadric, part.law, part.factors, jacobian, result, by_twist
        )
        if outcome in _FAILURES:
            raise PoseError(f"{self.compartment_names[side]}: {_FAILURES[outcome]} at {pose}")
        if outcome == kernels.TOUCHING:
            result[WRENCH] = part.carry.T @ result[WRENCH]
            result[9:12] = part.origin + part.axes @ result[9:12]
            if jacobian:
                by_twist = part.carry.T @ by_twist @ (part.carry @ twist_jacobian(pose))
        return result, by_twist

    @cached_property
    def _parts(self) -> tuple[KernelSide, ...]:
        return tuple(
            KernelSide(surfaces, law, self.modulus)
            for surfaces, law in zip(self.surfaces, self.laws, strict=True)
        )

    @property
    def _sides(self) -> range:
        """Places of the compartments."""
        return range(len(self.compartment_names))

    def _strain(self, result: FloatArray) -> float:
        return 0.0 if self.thickness is None else float(result[_DEPTH]) / self.thickness

    def _strain_flags(self, side: int, result: FloatArray) -> tuple[str, ...]:
        strain = self._strain(result)
        if strain <= kernels.STRAIN_LIMIT:
            return ()
        return (
            f"{self.compartment_names[side]}: strain {strain:.2f} exceeds {kernels.STRAIN_LIMIT}, "
            "the femur is pressed through the layer",
        )

    def _region_flags(self, pose: Pose, side: int, result: FloatArray) -> tuple[str, ...]:
        fit = self.surfaces[side]
        if result[_DEPTH] <= 0.0 or fit.femur_residual is None or fit.tibia_residual is None:
            return ()
        at = result[9:12]
        on_femur = (at - pose.translation) @ pose.rotation_matrix
        name = self.compartment_names[side]
        return tuple(
            f"{name}: contact is more than {1e3 * _BEYOND:g} mm outside the region "
            f"that the {body} was fitted for; fit with poses like this one"
            for body, residual, point in (
                ("femur", fit.femur_residual, on_femur),
                ("tibia", fit.tibia_residual, at),
            )
            if not residual.reaches(point, _BEYOND)
        )
