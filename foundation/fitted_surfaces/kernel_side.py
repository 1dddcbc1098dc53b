"""Surfaces and law of one compartment, prepared for the kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.pose import Pose, cross_matrix
from foundation.contact_laws.ellipse import EllipticContact
from foundation.contact_laws.normal import ContactLaw
from foundation.fitted_surfaces.compartment import FittedCompartment
from foundation.fitted_surfaces.hertz_factors import factor_series
from foundation.kernels import fitted

#: Law of one compartment: None for Hertz's elliptic contact with the curvatures of the pose.
Law = ContactLaw | None


class KernelSide:
    """One compartment as `foundation.kernels.fitted_contact` takes it."""

    def __init__(self, surfaces: FittedCompartment, law: Law, modulus: float) -> None:
        self.centre, self.matrix = surfaces.femur.centre, surfaces.femur.matrix
        self.inverse = np.linalg.inv(self.matrix)
        self.origin, self.axes = surfaces.tibia.origin, surfaces.tibia.axes
        self.quadric = surfaces.tibia.coefficients
        self.factors, least = factor_series()
        stiffness, exponent = (0.0, 1.5) if law is None else (law.stiffness, law.exponent)
        self.law = np.array([modulus, stiffness, exponent, least])
        #: Twist about the tibial origin to that about the quadric's origin, in its axes.
        self.carry = np.zeros((6, 6))
        self.carry[:3, :3] = self.carry[3:, 3:] = self.axes.T
        self.carry[:3, 3:] = -self.axes.T @ cross_matrix(self.origin)

    def femur_at(self, pose: Pose) -> FloatArray:
        """Return the ellipsoid (7, 3) [m, m², 1/m²] at a pose, in the frame of the quadric."""
        turn = self.axes.T @ pose.rotation_matrix
        ellipsoid = np.empty((7, 3))
        ellipsoid[0] = self.axes.T @ (pose.translation - self.origin) + turn @ self.centre
        ellipsoid[1:4] = turn @ self.inverse @ turn.T
        ellipsoid[4:] = turn @ self.matrix @ turn.T
        return ellipsoid


class FittedState(NamedTuple):
    """Contact of one compartment at a pose, tibial frame.

    Parameters
    ----------
    result : (16,) float64
        Result of `foundation.kernels.fitted_contact` [SI].
    jacobian : (6, 6) float64
        Derivative of the wrench with respect to the pose [N, N m; rad, m].
    thickness : float or None
        Thickness of the layer [m].
    """

    result: FloatArray
    jacobian: FloatArray
    thickness: float | None

    @property
    def loads(self) -> FloatArray:
        """Loads (12,) [N, N m, m², Pa, m]."""
        return self.result[: fitted.DEPTH]

    @property
    def depth(self) -> FloatArray:
        """Overlap [m] and strain [1], (2,); strain 0 without a thickness."""
        overlap = float(self.result[fitted.DEPTH])
        return np.array([overlap, 0.0 if self.thickness is None else overlap / self.thickness])

    @property
    def energy(self) -> float:
        """Elastic energy [J], which the loads are the gradient of."""
        return float(self.result[fitted.ENERGY])

    @property
    def touching(self) -> bool:
        """Whether the surfaces overlap."""
        return bool(self.result[fitted.DEPTH] > 0.0)

    def elliptic_contact(self, modulus: float) -> EllipticContact:
        """Return Hertz's contact of the relative curvatures for a modulus E* [Pa]."""
        mean = 0.5 * self.result[fitted.TRACE]
        spread = np.sqrt(max(mean**2 - self.result[fitted.DETERMINANT], 0.0))
        return EllipticContact(1.0 / (mean - spread), 1.0 / (mean + spread), modulus)


def laws_of(law: Law | tuple[Law, ...], count: int) -> tuple[Law, ...]:
    """Return the laws of `count` compartments."""
    laws = law if isinstance(law, tuple) else (law,) * count
    if len(laws) != count or not all(each is None or isinstance(each, ContactLaw) for each in laws):
        several = "a pair" if count == 2 else f"a tuple of {count}"
        raise InputError(
            f"law: expected None, a law of foundation.contact_laws, or {several} of these, found "
            f"{law!r}"
        )
    return laws
