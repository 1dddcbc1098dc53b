"""Structures of tension-only members: cables, ligaments, muscles, and bars beside them.

With the load Q that the members supply, the balance matrix B, the displacement u, the stiffnesses
k, the contractions and pretensions d and the slacks s: B F = Q, e = -Bᵀ u, F = k (e + d + s) >= 0
with F s = 0 (Kolesnikov 2004; of a bar F has either sign and s = 0). The forces are those of least
Σ F² / (2 k) - F d, hence unique. docs/mechanics.md derives the complementarity problem in
f = F / √k and σ = s √k, which (1 - ε) in place of the singular projector makes positive definite;
the solution yields the taut members, and a solve without ε yields the forces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.mechanics.complementarity import (
    row_mask,
    solve_complementarity,
)
from dynamics.mechanics.planar import Tree, as_complex
from foundation.base.checks import (
    FloatArray,
    check_array,
    check_fields,
    check_in,
    check_number,
    check_numbers,
    check_unique,
    frozen,
)
from foundation.base.errors import InputError

#: Name of the fixed body.
GROUND = "ground"
_RANK = 1e-10
#: ε of the module's docstring.
_COMPLIANCE = 1e-9
#: A part of the load beyond this counts as not balanced.
_BALANCED = 1e-9


class InfeasibleLoadError(InputError):
    """No tension of the members balances the load."""


@dataclass(frozen=True, eq=False)
class Structure:
    """Forces and displacements of a structure under a load, in the units of the arguments."""

    #: Tensions of the members (m,) [N]; of bars of either sign.
    forces: FloatArray
    #: Of the freedoms under the opposite of the load (n,) [m, rad]; not unique where slack members
    #: alone hold a freedom.
    displacement: FloatArray
    #: Of the members by the displacement (m,) [m].
    elongations: FloatArray
    #: Members in the order in which they became slack, or taut again: the most negative force
    #: first, as Kolesnikov prints.
    exclusions: tuple[int, ...]

    @property
    def taut(self) -> NDArray[np.bool_]:
        """Whether each of the m members is taut, (m,) bool [1]."""
        return self.forces > 0.0


def solve_structure(
    balance: ArrayLike,
    stiffness: ArrayLike,
    load: ArrayLike,
    *,
    contraction: ArrayLike = 0.0,
    pretension: ArrayLike = 0.0,
    activation: ArrayLike = 1.0,
    two_sided: ArrayLike = (),
) -> Structure:
    """Return the tensions of a structure of tension-only members, balance @ forces = load.

    `balance` (n, m) [m, 1] has the generalised force of a unit tension of every member, `stiffness`
    (m,) [N/m] is k, and `load` (n,) [N m, N] the opposite of the external load. A taut member has
    the force F = a k (elongation + pretension + a contraction), with one activation a, pretension
    [m] and contraction [m] for all members or each. The activation a scales the stiffness, and the
    initial deformation D₀ of the pretension stays (Kolesnikov 2004, eq. 31, 32, 44 and 45); that it
    scales a contraction as well is an addition of this project. Members `two_sided`, (k,) int or
    (m,) bool, push as well. An `InfeasibleLoadError` names a load that no tensions balance.
    """
    b = check_array("balance", balance, (None, None))
    k = check_array("stiffness", stiffness, (b.shape[1],))
    q = check_array("load", load, (b.shape[0],))
    if k.size == 0:
        raise InputError("stiffness: expected at least one member, found an empty array")
    check_number("stiffness: the least", k.min(), above=0.0, unit="N/m")
    a = _per_member("activation", activation, k.size, least=0.0)
    check_number("activation: the largest", a.max(), at_most=1.0)
    offset = a * _per_member("contraction", contraction, k.size, least=0.0, unit="m")
    offset += _per_member("pretension", pretension, k.size, unit="m")
    bars = row_mask("two_sided", two_sided, k.size)
    forces, on = np.zeros(k.size), np.flatnonzero(a > 0.0)
    problem = _Scaled(b[:, on], (a * k)[on], q, offset[on], bars[on])
    forces[on], potential, exclusions = problem.solve()
    _check_balance(b, a * k, forces, a * k * offset, q)
    switched = tuple(int(on[row]) for row in exclusions)
    return Structure(frozen(forces), frozen(-potential), frozen(b.T @ potential), switched)


def _per_member(
    name: str, value: ArrayLike, n: int, *, least: float | None = None, unit: str = ""
) -> FloatArray:
    """Return a value of every member (n,) from one value or n."""
    given = check_array(name, value, None if np.ndim(value) == 0 else (n,))
    if least is not None:
        check_number(f"{name}: the least", given.min(), at_least=least, unit=unit)
    return np.full(n, given) if given.ndim == 0 else given


def _check_balance(
    b: FloatArray, k: FloatArray, forces: FloatArray, held: FloatArray, q: FloatArray
) -> None:
    """Raise `InfeasibleLoadError` unless the forces (m,) balance the load (n,) [any unit]."""
    size = _row_sizes(b * np.sqrt(k))
    rest = (q - b @ forces) / size
    terms = (np.abs(b) @ (np.abs(forces) + np.abs(held)) + np.abs(q)) / size
    if (np.abs(rest) > _BALANCED * terms.max(initial=0.0)).any():
        raise InfeasibleLoadError(
            "load: expected a load that members in tension can balance, found "
            f"{q.tolist()}; {np.round(rest * size, 9).tolist()} remains unbalanced"
        )


def _row_sizes(rows: FloatArray) -> FloatArray:
    """Return the norms of the rows (n,), 1 for a row of zeros [any unit]."""
    size = np.linalg.norm(rows, axis=1)
    return np.where(size > 0.0, size, 1.0)


class _Scaled:
    """A structure whose stiffnesses and rows have been scaled to one: G f = q, f = F / √k."""

    def __init__(
        self,
        b: FloatArray,
        k: FloatArray,
        q: FloatArray,
        offset: FloatArray,
        bars: NDArray[np.bool_],
    ) -> None:
        self._root = np.sqrt(k)
        # Rows of equal size, so that moments and forces have equal weight in the rank.
        self._size = _row_sizes(b * self._root)
        self._g, self._q = b * self._root / self._size[:, None], q / self._size
        self._offset, self._bars = offset * self._root, bars
        left, values, right = np.linalg.svd(self._g, full_matrices=False)
        keep = values > _RANK * values.max(initial=0.0)
        left, values, right = left[:, keep], values[keep], right[keep]
        # Gᵀ inverse, of forces beyond contraction and slack to the potential.
        self._inverse = (left / values) @ right
        share = 1.0 - _COMPLIANCE
        self._matrix = np.eye(offset.size) - share * right.T @ right
        self._constant = share * self._inverse.T @ self._q + self._matrix @ self._offset

    def solve(self) -> tuple[FloatArray, FloatArray, list[int]]:
        """Return forces (m,) [N], potential (n,) [m, rad] and exclusions."""
        rows, root = np.flatnonzero(~self._bars), self._root[~self._bars]
        # Scaled back, so that the most negative force is the first to be excluded.
        matrix = root[:, None] * self._matrix[np.ix_(rows, rows)] * root
        solution = solve_complementarity(matrix, root * self._constant[rows])
        forces, potential = self._forces(rows, solution.y > 0.0, root * solution.x)
        switched = [int(rows[row]) for row in solution.exclusions]
        return self._root * forces, potential / self._size, switched

    def _forces(
        self, rows: NDArray[np.int_], pulls: NDArray[np.bool_], slack: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return f (m,) and the potential (n,) for taut and slack one-sided members."""
        taut, slacks = self._bars.copy(), np.zeros(self._bars.size)
        taut[rows], slacks[rows] = pulls, slack
        g, offset = self._g[:, taut], self._offset[taut]
        inverse = np.linalg.pinv(g, rcond=_RANK)
        forces = np.zeros(taut.size)
        forces[taut] = offset + inverse @ (self._q - g @ offset)
        # Beyond rounding they are positive, for those with ε are.
        forces = np.where(self._bars, forces, np.maximum(forces, 0.0))
        potential = self._inverse @ (self._matrix @ slacks + self._constant - slacks - self._offset)
        return forces, potential + (forces[taut] - offset - potential @ g) @ inverse


@dataclass(frozen=True, eq=False)
class PinnedSegment:
    """A rigid segment that turns about a joint on another body."""

    name: str
    #: Joint in the global frame (2,) [m].
    joint: FloatArray
    #: Body of the joint; by default the ground.
    parent: str = GROUND

    def __post_init__(self) -> None:
        check_fields(self, f"segment {self.name}: ", joint=(2,))


@dataclass(frozen=True, eq=False)
class Member:
    """A straight member between two bodies (a segment, a node or "ground")."""

    #: Bodies of both ends.
    start_body: str
    #: Ends in the global frame (2,) [m].
    start: FloatArray
    end_body: str
    end: FloatArray
    #: Force per elongation [N/m], > 0.
    stiffness: float
    #: Whether it pushes as well as pulls.
    two_sided: bool = False

    def __post_init__(self) -> None:
        of = f"member {self.start_body} to {self.end_body}:"
        check_fields(self, f"{of} ", start=(2,), end=(2,))
        check_numbers(self, f"{of} ", above=0.0, stiffness="N/m")
        check_number(f"{of} length", np.linalg.norm(self.end - self.start), above=0.0, unit="m")

    @property
    def pull(self) -> FloatArray:
        """Force (2,) [1] of a unit tension on the body at the start; opposite at the end."""
        line = self.end - self.start
        return line / np.linalg.norm(line)


class PlanarStructure:
    """Segments (parents first), members and free nodes, as `solve_structure` takes them.

    The freedoms are the absolute rotations of the segments, then x and y of the nodes.
    """

    def __init__(
        self,
        segments: Sequence[PinnedSegment],
        members: Sequence[Member],
        nodes: Sequence[str] = (),
    ) -> None:
        self.segments, self.members, self.nodes = tuple(segments), tuple(members), tuple(nodes)
        known = [GROUND]
        for segment in self.segments:
            check_in(f"segment {segment.name}: parent", segment.parent, known)
            known.append(segment.name)
        known += self.nodes
        check_unique("bodies", known)
        for member in self.members:
            for body in (member.start_body, member.end_body):
                check_in("member: body", body, known)
        # The ground is the last body.
        self._bodies = {name: k for k, name in enumerate([*known[1:], GROUND])}
        count, ground = len(self.segments), len(self._bodies) - 1
        self._joints = np.zeros(ground + 1, dtype=np.complex128)
        self._joints[:count] = [complex(*each.joint) for each in self.segments]
        parent = [self._bodies[each.parent] for each in self.segments] + [ground] * len(nodes)
        place = self._joints[:ground] - self._joints[parent]
        tree = Tree.of(parent, place, range(count, ground))
        self._pose = tree.at(*np.zeros((2, ground + 2 * len(nodes))))

    @property
    def stiffness(self) -> FloatArray:
        """Stiffnesses of the m members, (m,) [N/m]."""
        return np.array([member.stiffness for member in self.members])

    @property
    def two_sided(self) -> NDArray[np.bool_]:
        """Whether each of the m members pushes as well as pulls, (m,) bool [1]."""
        return np.array([member.two_sided for member in self.members], dtype=np.bool_)

    @property
    def balance(self) -> FloatArray:
        """Balance matrix (n, m) [m, 1]: generalised forces of unit tensions of the m members."""
        columns = [
            self.generalised_force(member.start_body, member.start, member.pull)
            + self.generalised_force(member.end_body, member.end, -member.pull)
            for member in self.members
        ]
        return np.array(columns).reshape(len(columns), len(self.segments) + 2 * len(self.nodes)).T

    def generalised_force(self, body: str, point: ArrayLike, force: ArrayLike) -> FloatArray:
        """Return the generalised force (n,) [N m, N] of a force (2,) [N] at a point (2,) [m]."""
        at, f = check_array("point", point, (2,)), check_array("force", force, (2,))
        k, count = self._bodies[check_in("body", body, self._bodies)], len(self.segments)
        place = as_complex(at[None]) - self._joints[k] if k < count else np.zeros(1)
        whole = self._pose.points(np.array([k]), place).force(as_complex(f[None]))
        return np.delete(whole, range(count, count + len(self.nodes)))  # nodes do not turn

    def joint_reactions(
        self, forces: ArrayLike, loads: Sequence[tuple[str, ArrayLike]] = ()
    ) -> FloatArray:
        """Return forces of the joints on segments (s, 2) [N] by tensions (m,), loads (2,) [N]."""
        tension = check_array("forces", forces, (len(self.members),))
        pulls = np.zeros((len(self._bodies), 2))
        for body, force in loads:
            pulls[self._bodies[check_in("loads: body", body, self._bodies)]] += check_array(
                "loads: force", force, (2,)
            )
        for member, f in zip(self.members, tension, strict=True):
            pulls[self._bodies[member.start_body]] += f * member.pull
            pulls[self._bodies[member.end_body]] -= f * member.pull
        return -(self._pose.tree.carried.T @ pulls[:-1])[: len(self.segments)]
