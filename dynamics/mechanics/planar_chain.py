"""Rigid segments in series or as trees in a plane: kinematics and generalised forces.

Points of the plane are complex numbers z = x + i y. With the absolute angles φ of the segments and
the vectors e_j from the proximal to the distal joint of segment j at φ = 0, a point p of segment k
(in the frame of the segment, from its proximal joint) lies at

    z = z_base + Σ_{j<k} e_j exp(i φ_j) + p exp(i φ_k) = z_base + Σ_j a_j exp(i φ_j),

so that R_j = ∂z/∂φ_j = i a_j exp(i φ_j).
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray

ComplexArray: TypeAlias = NDArray[np.complexfloating[Any, Any]]


def as_complex(vectors: FloatArray) -> ComplexArray:
    """Return x + i y (...) [m or N] of vectors (..., 2)."""
    return vectors[..., 0] + 1j * vectors[..., 1]


def as_vectors(points: ComplexArray) -> FloatArray:
    """Return vectors (..., 2) [m or N] of complex numbers (...)."""
    return np.stack([points.real, points.imag], axis=-1)


def mass_matrix(jacobian: ComplexArray, mass: FloatArray, inertia: FloatArray) -> FloatArray:
    """Return M = Re(Rᴴ m R) + J, (n, n) [kg m²], of R (P, n) [m], m (P,) [kg], J (n,) [kg m²]."""
    return generalised_force(jacobian, mass[:, None] * jacobian) + np.diag(inertia)


def generalised_force(jacobian: ComplexArray, force: ComplexArray) -> FloatArray:
    """Return Q = Re(Rᴴ F), (n,) [N m], of R (P, n) [m] and forces F (P,) [N] at its points."""
    return (jacobian.conj().T @ force).real


class PassiveJoints(NamedTuple):
    """Springs and dampers at the n joints of chains; θ = T φ are the joint angles.

    Parameters
    ----------
    differences : (n, n) float64
        T; every joint angle is that of a segment from its proximal neighbour [1].
    stiffness : (n,) float64
        k [N m/rad].
    damping : (n,) float64
        d [N m s/rad].
    neutral : (n,) float64
        Joint angles without torque θ₀ [rad].
    """

    differences: FloatArray
    stiffness: FloatArray
    damping: FloatArray
    neutral: FloatArray

    def torque(self, angles: FloatArray, rates: FloatArray) -> FloatArray:
        """Return the generalised force -Tᵀ (k (θ - θ₀) + d θ'), (n,) [N m].

        At absolute angles (n,) [rad] of the segments and their rates [rad/s].
        """
        stretch = self.differences @ angles - self.neutral
        passive = -self.stiffness * stretch - self.damping * (self.differences @ rates)
        return self.differences.T @ passive

    def energy(self, angles: FloatArray) -> float:
        """Return the energy [J] in the springs at the angles (n,) [rad]."""
        return float(0.5 * self.stiffness @ (self.differences @ angles - self.neutral) ** 2)

    def dissipation(self, rates: FloatArray) -> float:
        """Return the power [W] of the dampers at the rates (n,) [rad/s]; it is not negative."""
        return float(self.damping @ (self.differences @ rates) ** 2)
