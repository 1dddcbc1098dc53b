"""Forces, torques and energy of links between segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics.mechanics.chains.parts import ViscoelasticLink
from dynamics.mechanics.planar import ComplexArray, PointMotion
from dynamics.simulator.equations import SimulationError
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

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


#: Ratio of singular values under which closures count as dependent.
DEPENDENT = 1e-9
#: Gap [m] and its rate [m/s] of a closed structure, and of a state in which forces are evaluated.
CLOSED, LARGEST_GAP = 1e-13, 1e-6
#: Most Newton steps to a closed structure, and longest change of a coordinate in one [rad or m].
STEPS, LONGEST_STEP = 50, 0.5


class Terms(NamedTuple):
    """M (n, n) [kg m²], b, Q (n,) [N m], and the motion of centres, links and closures."""

    mass: FloatArray
    bias: FloatArray
    force: FloatArray
    centres: PointMotion
    links: PointMotion
    closures: PointMotion


def close_state(
    state: FloatArray,
    free: NDArray[np.bool_],
    at: Callable[[FloatArray], Terms],
    reach: float,
) -> None:
    """Close the state (2, n) [rad or m; s] in place, by changes of the free coordinates (n,)."""
    # Rounding grows with the distance from the origin.
    scale = max(1.0, reach, np.abs(state[0]).max())
    for _ in range(STEPS):
        terms, weighted = _weighted(state, free, at)
        gap = terms.closures.rows()[0]
        if np.abs(gap).max() <= CLOSED * scale:
            break
        change = weighted @ gap
        state[0, free] -= change / max(1.0, np.abs(change).max() / LONGEST_STEP)
    else:
        raise InputError(
            f"closures: expected a closed structure near the stated one, found gaps of "
            f"{np.abs(gap).max():.3g} m after {STEPS} Newton steps: start closer"
        )
    for _ in range(2):  # the second step takes the rounding of the first
        terms, weighted = _weighted(state, free, at)
        state[1, free] -= weighted @ terms.closures.rows()[1]


def _weighted(
    state: FloatArray, free: NDArray[np.bool_], at: Callable[[FloatArray], Terms]
) -> tuple[Terms, FloatArray]:
    """Return the terms and M⁻¹ Gᵀ (G M⁻¹ Gᵀ)⁻¹ of the free coordinates, (F, 2 C)."""
    terms = at(state)
    rows = terms.closures.rows()[2][:, free]
    if not independent(rows):
        raise InputError(
            "closures: expected independent closures of free segments, found dependent "
            "closures or closures of fixed segments: remove closures, or start away from the "
            "dead point"
        )
    spread = np.linalg.solve(terms.mass[np.ix_(free, free)], rows.T)
    return terms, np.linalg.solve((rows @ spread).T, spread.T).T


def independent(rows: FloatArray) -> bool:
    """Return whether the rows of a Jacobian (m, F) [m or 1] are independent."""
    if rows.shape[0] > rows.shape[1]:
        return False
    values = np.linalg.svd(rows, compute_uv=False)
    return bool(values[-1] > DEPENDENT * values[0])


def check_closed(gap: float, speed: float) -> None:
    """Raise an InputError if a largest gap [m] or its rate [m/s] is too large."""
    if max(gap, speed) > LARGEST_GAP:
        raise InputError(
            f"position, velocity: expected a state that leaves closures open by at most "
            f"{LARGEST_GAP:g} m and opening by at most {LARGEST_GAP:g} m/s, found {gap:.3g} m and "
            f"{speed:.3g} m/s: take the nearest closed state from Assembly.close"
        )


@dataclass(frozen=True, eq=False)
class Instant:
    """State and forces at one time, of N segments, K chains, L links, C closures, M sliding joints.

    Forces and positions are in the global frame.
    """

    #: Absolute, of the segments (N,) [rad, rad/s, rad/s²].
    angles: FloatArray
    rates: FloatArray
    accelerations: FloatArray
    #: Driving torque (of a sliding joint force) at the joint proximal of each segment, positive on
    #: that segment (N,) [N m or N]: prescribed chains need it, free chains have it from their
    #: drive; without the passive torques.
    torques: FloatArray
    #: Force on the second point (L, 2), (C, 2) [N]; the opposite acts on the first.
    link_forces: FloatArray
    #: Kinetic energy, and potential energy of gravity, joints and links [J].
    kinetic: Any
    potential: Any
    #: Torque on the second segment of each link (L,) [N m].
    link_torques: FloatArray
    closure_forces: FloatArray
    #: Force and moment on each segment at its proximal joint (N, 2), (N,) [N, N m]; the moment is
    #: passive torque and drive of a pin, that of the guide of a sliding joint.
    joint_forces: FloatArray
    joint_moments: FloatArray
    #: Linear (2,) [kg m/s], and angular about the origin [kg m²/s].
    momentum: FloatArray
    angular_momentum: Any
    #: Proximal joints of the segments (N, 2) [m].
    joints: FloatArray
    #: Displacements of the sliding joints (M,) [m, m/s, m/s²].
    slides: FloatArray
    slide_rates: FloatArray
    slide_accelerations: FloatArray
    #: Bases of the chains (K, 2) [m, m/s, m/s²].
    bases: FloatArray
    base_rates: FloatArray
    base_accelerations: FloatArray
    #: Force on the first segment of each chain at its base (K, 2) [N]; zero of a free base.
    base_forces: FloatArray


@dataclass(frozen=True, eq=False)
class ChainsResult(Instant):
    """Motion and forces of an assembly at T instants.

    Every field of `Instant` has the instants along a new first axis, such as `angles`, (T, N)
    [rad], and `kinetic`, (T,) [J].
    """

    #: Instants (T,) [s].
    time: FloatArray
    #: Largest gap of a closure in the integration, before it was closed (T,) [m].
    drift: FloatArray

    @property
    def energy(self) -> FloatArray:
        """Kinetic and potential energy together, (T,) [J]."""
        return self.kinetic + self.potential
