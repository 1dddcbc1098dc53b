"""What a simulation of ground contact gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foundation.checks import FloatArray, check_in, check_number


@dataclass(frozen=True)
class ContactChange:
    """A point that met or left the ground.

    Parameters
    ----------
    time : float
        [s].
    point : str
        Name of the contact point.
    closed : bool
        Whether it is in contact from then on.
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
        [s].
    position, velocity : (T, dof) float64
        Coordinates of the leg [m, rad] and their rates.
    gap : (T, P) float64
        Heights of the contact points [m].
    forces : (T, P, 2) float64
        On the contact points, forward and up [N].
    kinetic, potential, stored : (T,) float64
        Energy of motion, of gravity and joint springs, and of the contact springs [J].
    joint_loss, normal_loss, tangential_loss : (T,) float64
        Work lost so far in joint dampers and in both directions of contact [J]. In the rigid model
        a contact that gives energy away has a negative loss.
    weight : float
        Weight of all that moves [N].
    points : tuple of str
        Names of the contact points.
    changes : tuple of ContactChange
        In the order of time.
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

    @property
    def energy(self) -> FloatArray:
        """Kinetic, potential and stored energy together, (T,) [J]."""
        return self.kinetic + self.potential + self.stored

    @property
    def loss(self) -> FloatArray:
        """All work lost so far, (T,) [J]; energy + loss is constant in an exact solution."""
        return self.joint_loss + self.normal_loss + self.tangential_loss

    @property
    def reaction(self) -> FloatArray:
        """Ground reaction, forward and up, (T, 2) [N]."""
        return self.forces.sum(axis=1)

    @property
    def peak_reaction(self) -> float:
        """Largest vertical ground reaction over the weight of all that moves.

        Raises
        ------
        InputError
            If nothing has weight, without gravity.
        """
        check_number("weight", self.weight, above=0.0, unit="N")
        return float(self.reaction[:, 1].max() / self.weight)

    def loaded(self, point: str) -> NDArray[np.bool_]:
        """Return when a point carries load, (T,).

        Raises
        ------
        InputError
            If there is no such point.
        """
        check_in("point", point, self.points)
        return self.forces[:, self.points.index(point), 1] > 0.0
