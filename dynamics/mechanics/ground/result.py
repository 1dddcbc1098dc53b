"""Result of a simulation of ground contact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dynamics.mechanics.ground.leg import Leg
from foundation.base.checks import FloatArray, check_in, check_number


@dataclass(frozen=True)
class ContactChange:
    """A point that met or left the ground.

    Parameters
    ----------
    time : float
        Instant [s].
    point : str
        Name of the contact point.
    closed : bool
        Whether the point is in contact from this instant on.
    """

    time: float
    point: str
    closed: bool


@dataclass(frozen=True, eq=False)
class StrikeResult:
    """Motion, ground reaction and energy over time.

    Parameters
    ----------
    time : (T,) float64
        Instants [s].
    position, velocity : (T, dof) float64
        Coordinates of the leg [m, rad] and their rates.
    gap : (T, P) float64
        Heights of the contact points [m].
    forces : (T, P, 2) float64
        Forces on the contact points, forward and up [N].
    kinetic, potential, stored : (T,) float64
        Energy of motion, of gravity and joint springs, and of the contact springs [J].
    joint_loss, normal_loss, tangential_loss : (T,) float64
        Work lost so far in joint dampers and in both directions of contact [J]. In the rigid model
        a contact that adds energy has a negative loss.
    weight : float
        Weight of the moving mass [N].
    points : tuple of str
        Names of the contact points.
    changes : tuple of ContactChange
        Arrivals and departures in the order of time.
    """

    time: FloatArray
    position: FloatArray
    velocity: FloatArray
    gap: FloatArray
    forces: FloatArray
    kinetic: FloatArray
    potential: FloatArray
    stored: FloatArray
    joint_loss: FloatArray
    normal_loss: FloatArray
    tangential_loss: FloatArray
    weight: float
    points: tuple[str, ...]
    changes: tuple[ContactChange, ...]

    @classmethod
    def of(
        cls,
        leg: Leg,
        time: FloatArray,
        position: FloatArray,
        velocity: FloatArray,
        *,
        losses: FloatArray,
        **contact: Any,
    ) -> Self:
        """Return the result of a leg with its energies.

        Parameters
        ----------
        leg : Leg
            The leg.
        time, position, velocity
            As of the class, (T,) [s] and (T, dof) [m, rad].
        losses : (T, 3) float64
            Work lost so far in joints, normal and tangential [J].
        **contact
            `gap`, `forces`, `stored`, `points` and `changes`.
        """
        states = list(zip(position, velocity, strict=True))
        return cls(
            time=time,
            position=position,
            velocity=velocity,
            kinetic=np.array([leg.kinetic_energy(*each) for each in states]),
            potential=np.array([leg.potential_energy(each) for each in position]),
            joint_loss=losses[:, 0],
            normal_loss=losses[:, 1],
            tangential_loss=losses[:, 2],
            weight=leg.weight,
            **contact,
        )

    @property
    def energy(self) -> FloatArray:
        """Kinetic, potential and stored energy together, (T,) [J]."""
        return self.kinetic + self.potential + self.stored

    @property
    def loss(self) -> FloatArray:
        """Total work lost so far, (T,) [J]; energy + loss is constant in an exact solution."""
        return self.joint_loss + self.normal_loss + self.tangential_loss

    @property
    def reaction(self) -> FloatArray:
        """Ground reaction, forward and up, (T, 2) [N]."""
        return self.forces.sum(axis=1)

    @property
    def peak_reaction(self) -> float:
        """Largest vertical ground reaction over the weight of the moving mass.

        Raises
        ------
        InputError
            If the weight is zero, without gravity.
        """
        check_number("weight", self.weight, above=0.0, unit="N")
        return float(self.reaction[:, 1].max() / self.weight)

    def loaded(self, point: str) -> NDArray[np.bool_]:
        """Return whether a point carries load at each instant, (T,) bool [1].

        Raises
        ------
        InputError
            If the point is unknown.
        """
        check_in("point", point, self.points)
        return self.forces[:, self.points.index(point), 1] > 0.0
