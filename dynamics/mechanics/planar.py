"""The planar multibody core: trees of rigid bodies, points of them, and their equations of motion.

Points of the plane are complex numbers z = x + i y. Every body hangs from an earlier one, or from
the ground, by a joint: a pin, a slide, or a base that moves freely. Pins between trees are rows of
constraints, so that every structure from loose bodies (three coordinates each) to a single tree
(one coordinate a joint) is at hand. With the angles φ = Γ q + δ of the bodies and the arms a from
joint to joint,

    z = Σ a exp(i φ),    z' = R q',    z'' = R q'' + R' q'.

The coordinates q are one a body, the absolute angle [rad] or the displacement [m] of its joint,
then x and y of the bases that move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, IntArray

#: Complex numbers; operations with real ones make arrays of many types.
ComplexArray: TypeAlias = NDArray[Any]


def as_complex(vectors: FloatArray) -> ComplexArray:
    """Return x + i y (...) [m or N] of vectors (..., 2)."""
    return vectors[..., 0] + 1j * vectors[..., 1]


def as_vectors(points: ComplexArray) -> FloatArray:
    """Return vectors (..., 2) [m or N] of complex numbers (...)."""
    return np.stack([points.real, points.imag], axis=-1)


def cross(place: ComplexArray, vector: ComplexArray) -> FloatArray:
    """Return place × vector about z, (P,) [N m], of points (P,) [m] and forces (P,) [N]."""
    return (place.conj() * vector).imag


class PointMotion(NamedTuple):
    """Motion (P,) [m] of points in n coordinates."""

    #: (P,) [m].
    position: ComplexArray
    #: (P,) [m/s].
    velocity: ComplexArray
    #: R, (P, n) [m or 1].
    jacobian: ComplexArray
    #: R' q', (P,) [m/s²].
    bias: ComplexArray

    def part(self, rows: slice | NDArray[np.bool_]) -> PointMotion:
        """Return the motion of some of the points, by slice or truth values (P,) [1]."""
        return PointMotion(*(each[rows] for each in self))

    def minus(self, other: PointMotion) -> PointMotion:
        """Return the motion of the vectors that lead from other points to these."""
        return PointMotion(*(a - b for a, b in zip(self, other, strict=True)))

    def force(self, forces: ComplexArray) -> FloatArray:
        """Return the generalised force Re(Rᴴ F), (n,) [N, N m], of forces F (P,) [N]."""
        return (self.jacobian.conj().T @ forces).real

    def rows(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return c, c', G and G' q' of constant vectors, as rows (m, n) [m or 1], m = 2 P."""
        position, velocity, jacobian, bias = (np.concatenate([a.real, a.imag]) for a in self)
        return position, velocity, jacobian, bias


@dataclass(frozen=True, eq=False)
class Tree:
    """Trees of bodies (N,) [m] with B moving bases; the ground is body N; n = N + 2 B."""

    #: Body of the joint of each body, (N,).
    parent: IntArray
    #: Joint in the frame of the parent, (N,) [m].
    place: ComplexArray
    #: Direction of a slide in the frame of the parent, 0 of a pin, (N,) [1].
    axis: ComplexArray
    #: Γ, (N + 1, n) [1], and δ, (N + 1,) [rad]; the last row is that of the ground.
    turning: FloatArray
    offsets: FloatArray
    #: Bodies with a moving base, (B,).
    bases: IntArray
    #: 1 where the body of a row is, or hangs from, that of the column, (N, N) [1].
    carried: FloatArray

    @classmethod
    def of(
        cls,
        parent: Sequence[int],
        place: ComplexArray,
        bases: Sequence[int] = (),
        slides: dict[int, tuple[float, float]] | None = None,
    ) -> Tree:
        """Return the tree of joints at places (N,) [m] of their parents, each after its parent."""
        # `slides` has direction and constant angle [rad] of bodies on slides.
        count = len(parent)
        axis, carried = np.zeros(count, dtype=np.complex128), np.eye(count)
        turning, offsets = np.zeros((count + 1, count + 2 * len(bases))), np.zeros(count + 1)
        for k, above in enumerate(parent):
            if above < count:
                carried[k] += carried[above]
            if k in (slides or {}):
                direction, angle = (slides or {})[k]
                axis[k] = np.exp(1j * direction)
                turning[k], offsets[k] = turning[above], offsets[above] + angle
            else:
                turning[k, k] = 1.0
        bodies, roots = (np.array(each, dtype=np.int64) for each in (parent, bases))
        return cls(bodies, place, axis, turning, offsets, roots, carried)

    def at(self, coordinates: FloatArray, rates: FloatArray) -> Pose:
        """Return the tree at coordinates (n,) [rad or m] and their rates."""
        count, parent = len(self.parent), self.parent
        unit = np.exp(1j * (self.turning @ coordinates + self.offsets))
        spin = self.turning @ rates
        above, spin_above = unit[parent], spin[parent]
        slide = self.axis * above
        arm = self.place * above + slide * coordinates[:count]
        rows = (1j * arm)[:, None] * self.turning[parent]
        rows[:, :count] += np.diag(slide)
        bias = -arm * spin_above**2 + 2j * slide * rates[:count] * spin_above
        for row, body in enumerate(self.bases):
            x, y = count + 2 * row, count + 2 * row + 1
            arm[body] += complex(coordinates[x], coordinates[y])
            rows[body, x], rows[body, y] = 1.0, 1j
        # One product for all, with a row of zeros for the ground.
        whole = np.zeros((count + 1, rows.shape[1] + 2), dtype=np.complex128)
        whole[:count] = self.carried @ np.column_stack([rows, arm, bias])
        jacobian = whole[:, :-2]
        joints = PointMotion(whole[:, -2], jacobian @ rates, jacobian, whole[:, -1])
        return Pose(self, unit, spin, joints)


class Pose(NamedTuple):
    """A tree at an instant; the last of the rows (N + 1,) [m] of a field is the ground."""

    tree: Tree
    #: exp(i φ), (N + 1,) [1].
    unit: ComplexArray
    #: φ', (N + 1,) [rad/s].
    spin: FloatArray
    #: Motion of the joints.
    joints: PointMotion

    def points(self, body: IntArray, place: ComplexArray) -> PointMotion:
        """Return the motion of points (P,) [m] in the frames of bodies (P,)."""
        arm, spin, joints = place * self.unit[body], self.spin[body], self.joints
        return PointMotion(
            joints.position[body] + arm,
            joints.velocity[body] + 1j * arm * spin,
            joints.jacobian[body] + (1j * arm)[:, None] * self.tree.turning[body],
            joints.bias[body] - arm * spin**2,
        )
