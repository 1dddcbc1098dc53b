"""Coordinates of chains that form trees, and the motion of their points.

The coordinates q are, segment by segment, the angle of a segment on a pin joint or the displacement
s of a segment on a sliding joint, then x and y of the base of every chain that does not hang from
another one. The absolute angles of the segments are φ = Γ q + δ: a segment on a sliding joint has
the angle of its proximal segment and a constant. The ground counts as a last segment of angle 0, so
that points and axes on the ground need no formula of their own. A point then is

    z = Σ_b z_b + Σ_j (a_j + Σ_m h_m s_m) exp(i φ_j),

with the constants a of the bodies between base and point, and the axis h_m of every sliding joint m
on that way, which belongs to its proximal segment j.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dynamics.mechanics.chains.chain import Attachment, Chain, FreeBase, SlidingJoint
from dynamics.mechanics.chains.links import GROUND, Ends
from dynamics.mechanics.chains.motion import PrescribedMotion
from dynamics.mechanics.planar_chain import ComplexArray, as_complex
from foundation.base.checks import FloatArray, check_in
from foundation.base.errors import InputError


class Points(NamedTuple):
    """Constants of P points, or of P differences of points; see `Forest` for B, N and M.

    Parameters
    ----------
    bases : (P, B) float64
        Coefficients of the bases [1].
    arms : (P, N + 1) complex128
        a, coefficients of exp(i φ) [m]; the last column is that of the ground.
    axes : (P, M) complex128
        h, directions of the sliding joints in the frames of their proximal segments [1].
    """

    bases: FloatArray
    arms: ComplexArray
    axes: ComplexArray

    @classmethod
    def none(cls, points: int, bases: int, segments: int, slides: int) -> Points:
        """Return constants that are zero, of P points, B bases, N segments and M slides."""
        arms = np.zeros((points, segments + 1), dtype=np.complex128)
        axes = np.zeros((points, slides), dtype=np.complex128)
        return cls(np.zeros((points, bases)), arms, axes)

    @classmethod
    def joined(cls, first: Points, second: Points) -> Points:
        """Return two sets of points one after the other."""
        return cls(
            np.concatenate([first.bases, second.bases]),
            np.concatenate([first.arms, second.arms]),
            np.concatenate([first.axes, second.axes]),
        )

    def copy_row(self, row: int, other: int) -> None:
        """Make a point the same as another one."""
        for constants in self:
            constants[row] = constants[other]


class PointMotion(NamedTuple):
    """Positions, Jacobians and velocities of P points over n coordinates [m, m/s].

    Parameters
    ----------
    position, velocity : (P,) complex128
        Positions [m] and velocities [m/s].
    jacobian : (P, n) complex128
        R = ∂z/∂q [m or 1].
    bias : (P,) complex128
        Accelerations at q'' = 0 [m/s²], R' q'.
    """

    position: ComplexArray
    velocity: ComplexArray
    jacobian: ComplexArray
    bias: ComplexArray

    def part(self, start: int, stop: int) -> PointMotion:
        """Return the motion of some of the points."""
        return PointMotion(*(each[start:stop] for each in self))


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees of N segments, M of them on sliding joints, on B bases, in n = N + 2 B coordinates.

    Parameters
    ----------
    chains : tuple of Chain
        Chains in the order of the segments.
    parent : (N,) int64
        Index of the proximal segment; N for the ground.
    roots : tuple of int
        Indices of the B chains with a base of their own.
    slides : (M,) int64
        Indices of the segments on sliding joints.
    turning : (N + 1, N) float64
        Γ [1].
    offsets : (N + 1,) float64
        δ [rad].
    joints : Points
        The N proximal joints.
    """

    chains: tuple[Chain, ...]
    parent: np.ndarray
    roots: tuple[int, ...]
    slides: np.ndarray
    turning: FloatArray
    offsets: FloatArray
    joints: Points

    @classmethod
    def of(cls, chains: tuple[Chain, ...]) -> Forest:
        """Return the forest of chains; raise an InputError if they do not form trees."""
        order = _outwards(chains)
        starts = np.cumsum([0, *(len(chain.segments) for chain in chains)]).tolist()
        count = starts[-1]
        roots = tuple(i for i, c in enumerate(chains) if not isinstance(c.base, Attachment))
        kinds = [isinstance(joint, SlidingJoint) for c in chains for joint in c.all_joints]
        slides = np.flatnonzero(kinds)
        forest = cls(
            chains,
            np.full(count, count),
            roots,
            slides,
            np.zeros((count + 1, count)),
            np.zeros(count + 1),
            Points.none(count, len(roots), count, len(slides)),
        )
        for index in order:
            forest._place_chain(index, starts)
        return forest

    def _place_chain(self, index: int, starts: list[int]) -> None:
        """Fill in the segments of a chain, whose proximal segments have been filled in."""
        chain, base = self.chains[index], self.chains[index].base
        proximal, place, turns = self.count, 0j, False
        if isinstance(base, Attachment):
            names = [each.name for each in self.chains]
            carrier = names.index(base.chain)
            proximal = starts[carrier] + self.chains[carrier].segment_names.index(base.segment)
            place, turns = complex(as_complex(base.point)), base.relative
        carrying = proximal
        for k, (segment, joint) in enumerate(
            zip(chain.segments, chain.all_joints, strict=True), starts[index]
        ):
            self.parent[k] = proximal
            if proximal < self.count:
                self.joints.copy_row(k, proximal)
                self.joints.arms[k, proximal] += place
            else:
                self.joints.bases[k, self.roots.index(index)] = 1.0
            if isinstance(joint, SlidingJoint):
                slide = int(np.searchsorted(self.slides, k))
                self.joints.axes[k, slide] = np.exp(1j * joint.axis)
                self.turning[k] = self.turning[proximal]
                self.offsets[k] = self.offsets[proximal] + joint.angle
            else:
                self.turning[k, k] = 1.0
                if turns:
                    self.turning[k] += self.turning[carrying]
                    self.offsets[k] = self.offsets[carrying]
            proximal, place = k, complex(segment.length)

    @property
    def count(self) -> int:
        """Number of segments, N."""
        return len(self.parent)

    @property
    def size(self) -> int:
        """Number of coordinates, n."""
        return self.count + 2 * len(self.roots)

    def parts(self) -> Iterator[tuple[Chain, slice]]:
        """Yield each chain and the slice of its segments."""
        start = 0
        for chain in self.chains:
            yield chain, slice(start, start + len(chain.segments))
            start += len(chain.segments)

    @cached_property
    def prescribed(self) -> tuple[FloatArray, list[tuple[PrescribedMotion, slice]]]:
        """Return a state (3, n) [rad or m; s] of fixed bases, and the tables of coordinates.

        The rows are coordinates, rates and accelerations, zero where nothing is fixed.
        """
        state = np.zeros((3, self.size))
        tables = [(chain.angles, part) for chain, part in self.parts() if chain.angles is not None]
        for row, root in enumerate(self.roots):
            base, start = self.chains[root].base, self.count + 2 * row
            if isinstance(base, PrescribedMotion):
                tables.append((base, slice(start, start + 2)))
            elif not isinstance(base, FreeBase):
                place = self.chains[root].base_at(0.0)[0]
                state[0, start : start + 2] = place.real, place.imag
        return state, tables

    def index(self, where: tuple[str, str]) -> int:
        """Return the index of (chain, segment); N for the ground."""
        if where == GROUND:
            return self.count
        for chain, part in self.parts():
            if chain.name == where[0]:
                return part.start + chain.segment_names.index(where[1])
        raise KeyError(where)

    def points(self, segments: Sequence[int], positions: ComplexArray) -> Points:
        """Return points (P,) [m] in the frames of segments, by their indices."""
        found = Points.none(len(segments), len(self.roots), self.count, len(self.slides))
        for row, (k, position) in enumerate(zip(segments, positions, strict=True)):
            if k < self.count:
                for constants, own in zip(found, self.joints, strict=True):
                    constants[row] = own[k]
            found.arms[row, k] += position
        return found

    @cached_property
    def bases(self) -> Points:
        """Return the bases of all chains."""
        carriers, places = [], []
        for chain in self.chains:
            base = chain.base
            if isinstance(base, Attachment):
                carriers.append(self.index((base.chain, base.segment)))
                places.append(complex(as_complex(base.point)))
            else:
                carriers.append(self.index(GROUND))
                places.append(0j)
        found = self.points(carriers, np.array(places))
        found.bases[list(self.roots), range(len(self.roots))] = 1.0
        return found

    def differences(self, members: Sequence[Ends]) -> Points:
        """Return the vectors from the first to the second ends of members, L of them."""
        first, second = (
            self.points(
                [self.index(ends[end][1]) for ends in members],
                np.array([complex(as_complex(ends[end][2])) for ends in members]),
            )
            for end in (0, 1)
        )
        return Points(
            second.bases - first.bases, second.arms - first.arms, second.axes - first.axes
        )

    def angles(self, coordinates: FloatArray) -> FloatArray:
        """Return the absolute angles (N + 1,) [rad] at coordinates (n,) [rad or m]; last 0."""
        return self.turning @ coordinates[: self.count] + self.offsets

    def motion(self, points: Points, coordinates: FloatArray, rates: FloatArray) -> PointMotion:
        """Return the motion of points at coordinates (n,) [rad or m] and their rates."""
        count = self.count
        unit = np.exp(1j * self.angles(coordinates))
        spin = self.turning @ rates[:count]
        arms, bases = points.arms, points.bases
        jacobian = np.empty((len(arms), self.size), dtype=np.complex128)
        corner = np.zeros(len(arms), dtype=np.complex128)
        if len(self.slides):
            proximal = self.parent[self.slides]
            arms = arms.copy()
            for m, k in enumerate(proximal):  # several joints may share a proximal segment
                arms[:, k] += points.axes[:, m] * coordinates[self.slides[m]]
            guides = points.axes * unit[proximal]
            corner = 2j * guides @ (rates[self.slides] * spin[proximal])
        turned = arms * unit
        jacobian[:, :count] = (1j * turned) @ self.turning
        if len(self.slides):
            jacobian[:, self.slides] += guides
        jacobian[:, count::2], jacobian[:, count + 1 :: 2] = bases, 1j * bases
        places = coordinates[count::2] + 1j * coordinates[count + 1 :: 2]
        return PointMotion(
            bases @ places + turned.sum(axis=1),
            jacobian @ rates,
            jacobian,
            corner - turned @ spin**2,
        )

    @cached_property
    def below(self) -> FloatArray:
        """Return 1 where the segment of a column is, or hangs from, that of the row, (N, N) [1]."""
        below = np.eye(self.count)
        for segment in range(self.count):
            at = int(self.parent[segment])
            while at < self.count:
                below[at, segment] = 1.0
                at = int(self.parent[at])
        return below


def _outwards(chains: tuple[Chain, ...]) -> list[int]:
    """Return the indices of the chains, each after the chain that carries it."""
    segments = {chain.name: chain.segment_names for chain in chains}
    for chain in chains:
        if isinstance(chain.base, Attachment):
            of = f"chain {chain.name}: base:"
            carrier = check_in(f"{of} chain", chain.base.chain, segments)
            check_in(f"{of} segment of {carrier}", chain.base.segment, segments[carrier])
    order: list[int] = []
    placed: set[str] = set()
    while len(order) < len(chains):
        ready = [
            i
            for i, chain in enumerate(chains)
            if i not in order
            and (not isinstance(chain.base, Attachment) or chain.base.chain in placed)
        ]
        if not ready:
            left = ", ".join(c.name for i, c in enumerate(chains) if i not in order)
            raise InputError(
                f"chains {left}: expected bases on chains that lead to a fixed, prescribed or free "
                "base, found a ring of attachments; close a ring by a PinClosure"
            )
        order += ready
        placed |= {chains[i].name for i in ready}
    return order
