"""Forces, torques and energy of links between segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dynamics.mechanics.chains.parts import ViscoelasticLink
from dynamics.mechanics.planar import ComplexArray
from dynamics.simulator.equations import SimulationError
from foundation.base.checks import FloatArray

#: Distance under which two points count as one, so that a line has no direction [m].
SHORTEST_LINE = 1e-9


class LinkLaws(NamedTuple):
    """Laws of L links; every field (L,) has one entry per link [N/m, N s/m, m]."""

    names: tuple[str, ...]
    is_line: np.ndarray
    pulls_only: np.ndarray
    #: k [N/mⁿ], c [N s/m], l0 [m], n [1].
    stiffness: FloatArray
    damping: FloatArray
    rest_length: FloatArray
    exponent: FloatArray
    #: k' [N m/rad], c' [N m s/rad], ψ0 [rad].
    turning_stiffness: FloatArray
    turning_damping: FloatArray
    rest_angle: FloatArray

    @classmethod
    def of(cls, links: Sequence[ViscoelasticLink]) -> LinkLaws:
        """Return the laws of a possibly empty sequence of links."""
        fields = ("stiffness", "damping", "rest_length", "exponent", "rotational_stiffness",
                  "rotational_damping", "rest_angle")  # fmt: skip
        return cls(
            tuple(each.name for each in links),
            np.array([each.kind == "line" for each in links], dtype=np.bool_),
            np.array([each.pull_only for each in links], dtype=np.bool_),
            *(np.array([getattr(each, name) for each in links], dtype=float) for name in fields),
        )

    def forces(self, vector: ComplexArray, velocity: ComplexArray) -> ComplexArray:
        """Return the force (L,) [N] on the second point of links with vectors (L,) [m]."""
        length = np.abs(vector)
        idle = self.pulls_only & (length <= self.rest_length)
        acts = self.is_line & ~idle & ((self.stiffness > 0.0) | (self.damping > 0.0))
        if (coinciding := acts & (length < SHORTEST_LINE)).any():
            raise SimulationError(
                f"link {self.names[int(np.argmax(coinciding))]}: the points of a line coincide and "
                "define no direction; use the kind 'bushing' for points held together"
            )
        direction = vector / np.where(length > 0.0, length, 1.0)
        tension = self._elastic(length) + self.damping * (direction.conj() * velocity).real
        tension = np.where(idle | (self.pulls_only & (tension <= 0.0)), 0.0, tension)
        held = self.stiffness * vector + self.damping * velocity
        return -np.where(self.is_line, tension * direction, held)

    def _elastic(self, length: FloatArray) -> FloatArray:
        """Return the elastic tension (L,) [N] of lines."""
        stretch = length - self.rest_length
        return self.stiffness * np.sign(stretch) * np.abs(stretch) ** self.exponent

    def torques(self, angle: FloatArray, rate: FloatArray) -> FloatArray:
        """Return the torque (L,) [N m] on the second segments at angles and rates (L,) [rad]."""
        return -self.turning_stiffness * (angle - self.rest_angle) - self.turning_damping * rate

    def energy(self, vector: ComplexArray, angle: FloatArray) -> float:
        """Return the energy [J] stored in links with vectors (L,) [m] and angles (L,) [rad]."""
        stretch = np.abs(vector) - self.rest_length
        stretch = np.where(self.pulls_only, np.maximum(stretch, 0.0), np.abs(stretch))
        power = self.exponent + 1.0
        turn = self.turning_stiffness @ (angle - self.rest_angle) ** 2
        return float((self.stiffness / power) @ stretch**power + 0.5 * turn)

    def dissipation(
        self, vector: ComplexArray, velocity: ComplexArray, turning: FloatArray
    ) -> float:
        """Return the power lost [W] with vectors (L,) [m] and rates of them and of the angles."""
        if not (self.damping.any() or self.turning_damping.any()):
            return 0.0
        taken = -(self.forces(vector, velocity).conj() * velocity).real
        length = np.abs(vector)
        along = (vector.conj() * velocity).real
        slack = self.pulls_only & (length <= self.rest_length)
        line = np.where(slack, 0.0, self._elastic(length)) / np.where(length > 0.0, length, 1.0)
        stored = np.where(self.is_line, line, self.stiffness) * along
        return float((taken - stored).sum() + self.turning_damping @ turning**2)
