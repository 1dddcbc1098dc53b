"""Penalty contact of points with the ground y = 0, and stick-slip friction.

The normal force at the height d < 0 of a point is Fn = max(0, -d/eps - beta d') (Kaplan, Hovey &
Heegaard), zero elsewhere; the tangential force is that of `CompliantFriction`. docs/mechanics.md
derives the energies: contact only dissipates energy. Where the point leaves faster than the ground
follows (Fn = 0, d < 0), the energy left in the spring is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.mechanics.ground.leg import Leg
from dynamics.mechanics.planar_chain import ComplexArray
from foundation.base.checks import FloatArray, check_fields, check_numbers, check_unique
from foundation.base.errors import InputError
from foundation.contact_laws import CompliantFriction


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """A point of a segment that may touch the ground.

    Parameters
    ----------
    name : str
        Name, such as "heel".
    segment : str
        Name of the segment of the point.
    position : (2,) float64
        Position in the frame of the segment [m].

    Raises
    ------
    InputError
        If the position is not two finite numbers.
    """

    name: str
    segment: str
    position: ArrayLike

    def __post_init__(self) -> None:
        check_fields(self, f"contact point {self.name}: ", position=(2,))


def contact_arms(leg: Leg, points: Sequence[ContactPoint]) -> ComplexArray:
    """Return the coefficients of contact points (see `Leg.arms`), (P, n) [m].

    Raises `InputError` if there is no point, names are not unique, or the leg does not have a
    segment.
    """
    check_unique("contact points", [each.name for each in points], some=True)
    segments = [leg.index(each.segment) for each in points]
    return leg.arms(segments, np.array([np.asarray(each.position) for each in points]))


@dataclass(frozen=True)
class PenaltyGround:
    """Compliant ground with friction; see the docstring of the module for the law.

    The defaults are not measured: a body of 75 kg at rest on one point sinks 7.4 mm.

    Parameters
    ----------
    compliance : float
        Compliance eps [m/N], > 0.
    damping : float
        Damping beta [N s/m], >= 0.
    friction : CompliantFriction
        Tangential stiffness k [N/m] and damping c [N s/m], and coefficient of friction.
    """

    compliance: float = 1e-5
    damping: float = 500.0
    friction: CompliantFriction = field(default_factory=lambda: CompliantFriction(1e5, 200.0, 0.8))

    def __post_init__(self) -> None:
        check_numbers(self, above=0.0, compliance="m/N")
        check_numbers(self, at_least=0.0, damping="N s/m")
        if not isinstance(self.friction, CompliantFriction):
            raise InputError(f"friction: expected a CompliantFriction, found {self.friction!r}")

    def normal_force(self, gap: FloatArray, gap_rate: FloatArray) -> FloatArray:
        """Return Fn (P,) [N] of points in contact.

        Parameters
        ----------
        gap, gap_rate : (P,) float64
            Heights of the points [m] and their rates [m/s].
        """
        return np.maximum(0.0, -gap / self.compliance - self.damping * gap_rate)

    def friction_force(
        self, deflection: FloatArray, slip: FloatArray, normal_force: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return T (P,) [N] on the points, forward positive, and s' (P,) [m/s].

        Parameters
        ----------
        deflection : (P,) float64
            Deflections s [m].
        slip : (P,) float64
            Tangential velocity of the points [m/s].
        normal_force : (P,) float64
            Normal forces Fn [N].
        """
        force, rate = self.friction.evaluate(deflection[:, None], slip[:, None], normal_force)
        return force[:, 0], rate[:, 0]

    def contact_forces(
        self,
        gap: FloatArray,
        rate: FloatArray,
        deflection: FloatArray,
        closed: NDArray[np.bool_],
    ) -> tuple[FloatArray, FloatArray]:
        """Return the forces T and Fn (P, 2) [N] on all points, and s' (P,) [m/s].

        Parameters
        ----------
        gap, deflection : (P,) float64
            Heights of the points and their deflections s [m].
        rate : (P, 2) float64
            Velocity of the points, tangential and normal [m/s].
        closed : (P,) bool
            Whether each point is in contact [1]; open points bear no force.
        """
        normal = np.where(closed, self.normal_force(gap, rate[:, 1]), 0.0)
        friction, relaxing = self.friction_force(deflection, rate[:, 0], normal)
        return np.column_stack((friction, normal)), relaxing

    def stored_energy(self, gap: FloatArray, deflection: FloatArray) -> FloatArray:
        """Return the total spring energy [J] at gaps and deflections (..., P) [m]."""
        normal = 0.5 * (np.minimum(gap, 0.0) ** 2).sum(axis=-1) / self.compliance
        return normal + self.friction.energy(deflection)

    def dissipation(
        self, gap: FloatArray, rate: FloatArray, forces: FloatArray, deflection_rate: FloatArray
    ) -> tuple[float, float]:
        """Return the powers lost in normal and in tangential direction [W], both >= 0.

        Parameters
        ----------
        gap : (P,) float64
            Heights of the points [m].
        rate : (P, 2) float64
            Velocity of the points, tangential and normal [m/s].
        forces : (P, 2) float64
            Forces T and Fn on the points [N].
        deflection_rate : (P,) float64
            Rates s' [m/s].
        """
        normal = -(forces[:, 1] + np.minimum(gap, 0.0) / self.compliance) * rate[:, 1]
        viscous = self.friction.damping * deflection_rate**2
        sliding = -forces[:, 0] * (rate[:, 0] - deflection_rate)
        return float(normal.sum()), float((viscous + sliding).sum())
