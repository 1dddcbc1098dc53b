"""Surfaces and law of one compartment, prepared for the kernel."""

from __future__ import annotations

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.pose import Pose, cross_matrix
from foundation.contact_laws.normal import ContactLaw
from foundation.fitted_surfaces.compartment import FittedCompartment
from foundation.fitted_surfaces.hertz_factors import factor_series

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
