"""Structures of tension-only members: cables, ligaments, muscles, and bars beside them.

With the load Q that the members supply, the balance matrix B, the displacement u, the stiffnesses
k, the contractions and pretensions d and the slacks s: B F = Q, e = -Bᵀ u, F = k (e + d + s) >= 0
with F s = 0 (Kolesnikov 2004; of a bar F has either sign and s = 0). The forces are those of least
Σ F² / (2 k) - F d, hence unique. docs/mechanics.md derives the complementarity problem in
f = F / √k and σ = s √k, which (1 - ε) in place of the singular projector makes positive definite;
the solution yields the taut members, and a solve without ε yields the forces.

Masses joined by elastic-viscous links that act one way, with gaps and dry friction, move by finite
differences (docs/mechanics.md states the equations of a link), all at the end of a step h:
q̇ = (q - q') / h, q̈ = (q̇ - q̇') / h, ξ̇ = (ξ - ξ') / h (a prime for the start). With
H = M + h C + h² K the unknowns of a step solve a linear complementarity problem (Kolesnikov 2004;
friction as a pair of unilateral rows as in Glocker & Pfeiffer 1992, Nonlinear Dynamics 3:245-259),

    g + ξ                       = h² wᵀ H⁻¹ (...) + h N / (k h + c) + ...   against  N,
    h τᵀ q̇ + (T - T') / kt + λ  = h² τᵀ H⁻¹ (...) + T / kt + λ + ...        against  T + μ N,
    μ N - T                     = 2 μ N - (T + μ N)                         against  λ,

(...) = (w - μ τ) N + τ (T + μ N) over all links, λ the slip against τ, kt the tangential stiffness.
A stiffness that grows with ξ is linearised anew until ξ stays (Newton's method). The scheme is of
first order in h; without a load it never gains energy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve

from dynamics.mechanics.complementarity import (
    ComplementarityError,
    PivotError,
    free_terms,
    row_mask,
    solve_complementarity,
)
from dynamics.mechanics.planar import Tree, as_complex
from foundation.base.checks import (
    FloatArray,
    check_array,
    check_count,
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
#: Part of the largest force or slack below which those of the printed order count as zero.
_ZERO = 1e-7
#: Part of the largest force by which the forces of both orders may differ.
_SAME = 1e-4


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
    #: first, as Kolesnikov prints; where this does not end, the most negative F/√k first.
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
        rows = np.flatnonzero(~self._bars)
        matrix, constant = self._matrix[np.ix_(rows, rows)], self._constant[rows]
        solution = solve_complementarity(matrix, constant)
        forces, potential = self._forces(rows, solution.y > 0.0, solution.x)
        exclusions: Sequence[int] = solution.exclusions
        # The forces are unique: the order tells only how they were found.
        printed = _by_force(matrix, constant, self._root[rows])
        if printed is not None:
            off = np.abs(self._forces(rows, *printed[:2])[0] - forces).max(initial=0.0)
            if off <= _SAME * np.abs(forces).max(initial=0.0):
                exclusions = printed[2]
        switched = [int(rows[row]) for row in exclusions]
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


def _by_force(
    matrix: FloatArray, constant: FloatArray, root: FloatArray
) -> tuple[NDArray[np.bool_], FloatArray, list[int]] | None:
    """Return taut members (m,), σ (m,) and exclusions by the most negative force, or None."""
    active, exclusions = np.zeros(root.size, dtype=np.bool_), list[int]()
    while len(exclusions) <= 2 * root.size:
        try:
            free = free_terms(matrix, constant, active)
        except PivotError:
            return None
        forces = np.where(active, 0.0, free * root)
        row = _most_negative(forces)
        if row is None:
            row = _most_negative(np.where(active, free / root, 0.0))
        if row is None:
            taut = forces > _ZERO * np.abs(forces).max(initial=0.0)
            return taut, np.where(active, np.maximum(free, 0.0), 0.0), exclusions
        active[row] = not active[row]
        exclusions.append(row)
    return None


def _most_negative(values: FloatArray) -> int | None:
    """Return the row of the most negative value beyond rounding, or None."""
    if values.size == 0:
        return None
    row = int(np.argmin(values))
    return row if values[row] < -_ZERO * np.abs(values).max() else None


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
        tree = Tree.of(parent, place, bases=range(count, ground))
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


#: Newton's iterations for a growing stiffness, and the relative change of the slope that ends them.
_ITERATIONS, _SETTLED = 50, 1e-9
#: Part of the largest element by which rounding may leave a matrix unsymmetric.
_UNEVEN = 1e-9


@dataclass(frozen=True, eq=False)
class UnilateralLink:
    """One link; the stated units hold for coordinates in metres, else the conjugate units."""

    #: w: derivative of the gap by the coordinates, and the generalised force of N = 1 (n_dof,) [1].
    #: A buffer between q0 and q1 >= q0 has (-1, 1); a cable, with its slack as the gap, (1, -1).
    direction: FloatArray
    #: k [N/m], > 0.
    stiffness: float
    #: c [N s/m], >= 0.
    damping: float = 0.0
    #: Gap g0 at q = 0 [m].
    gap: float = 0.0
    #: Coefficient of friction μ, >= 0.
    friction: float = 0.0
    #: τ: the slip velocity is τᵀ q̇ (n_dof,) [1]; required with friction.
    tangent: FloatArray | None = None
    #: Um [m]: the stiffness is k (1 + ξ / Um), so that the elastic force is k ξ (1 + ξ / Um); > 0,
    #: by default infinite: a constant stiffness.
    doubling_depth: float = np.inf
    #: kt [N/m], > 0: the tip yields by T / kt before it slips; by default the tip is rigid.
    tangential_stiffness: float = np.inf

    def __post_init__(self) -> None:
        check_fields(self, "link: ", direction=(None,))
        check_numbers(self, "link: ", above=0.0, stiffness="N/m")
        check_numbers(self, "link: ", at_least=0.0, damping="N s/m", friction="")
        check_numbers(self, "link: ", gap="m")
        for name in ("doubling_depth", "tangential_stiffness"):
            # Infinite is the default, which `check_number` does not take.
            value = getattr(self, name)
            if value != np.inf:
                check_number(f"link: {name}", value, above=0.0)
        if self.friction > 0.0:
            if self.tangent is None:
                raise InputError(
                    "link: tangent: expected a direction with friction > 0, found None"
                )
            check_fields(self, "link: ", tangent=self.direction.shape)


@dataclass(frozen=True, eq=False)
class LinkMotion:
    """Motion of n coordinates and L links over s steps."""

    #: (s + 1,) [s].
    time: FloatArray
    #: position, velocity (s + 1, n) [m, rad; s].
    position: FloatArray
    velocity: FloatArray
    #: normal, friction (s, L): N and T at the end of every step [N].
    normal: FloatArray
    friction: FloatArray


def simulate_links(
    mass: ArrayLike,
    links: Sequence[UnilateralLink],
    position: ArrayLike,
    velocity: ArrayLike,
    *,
    step: float,
    n_steps: int,
    load: ArrayLike | Callable[[float], ArrayLike] | None = None,
    stiffness: ArrayLike | None = None,
    damping: ArrayLike | None = None,
) -> LinkMotion:
    """Simulate masses M (n, n) [kg] with unilateral links in fixed steps [s] from (n,) [m, m/s].

    `load` (n,) [N] may be a function of time; `stiffness` and `damping` (n, n) [N/m, N s/m] are
    bilateral. Tips of links that overlap at the start are indented.
    """
    q = check_array("position", position, (None,))
    v = check_array("velocity", velocity, q.shape)
    h = check_number("step", step, above=0.0, unit="s")
    count = check_count("n_steps", n_steps)
    if q.size == 0:
        raise InputError("position: expected at least one coordinate, found an empty array")
    m, k, c = (
        _checked_matrix(name, value, q.size)
        for name, value in (("mass", mass), ("stiffness", stiffness), ("damping", damping))
    )
    stepper = _Stepper(m, k, c, links, h, q)
    force = load if callable(load) else lambda _: np.zeros(q.size) if load is None else load
    states, forces = [(q, v)], []
    for number in range(1, count + 1):
        at = check_array(f"load at {number * h:g} s", force(number * h), q.shape)
        try:
            q, v, normal, tangential = stepper.advance(q, v, at)
        except ComplementarityError as error:
            raise ComplementarityError(f"step to {number * h:g} s: {error}") from error
        states.append((q, v))
        forces.append((normal, tangential))
    return LinkMotion(
        frozen(h * np.arange(len(states))),
        *(
            frozen(np.array(each))
            for each in (*zip(*states, strict=True), *zip(*forces, strict=True))
        ),
    )


def _checked_matrix(name: str, value: ArrayLike | None, size: int) -> FloatArray:
    """Return a symmetric matrix (n, n), zeros for None [kg, N s/m, N/m], or raise `InputError`."""
    if value is None:
        return np.zeros((size, size))
    matrix = check_array(name, value, (size, size))
    uneven = np.abs(matrix - matrix.T).max()
    # Cholesky's factorisation would read one triangle alone.
    if uneven > _UNEVEN * np.abs(matrix).max():
        raise InputError(
            f"{name}: expected a symmetric matrix, found elements that differ from their mirror "
            f"image by {uneven:.3g}; state forces of another kind in `load`"
        )
    return matrix


class _Stepper:
    """Matrices that all steps share, and what the tips remember from one step to the next."""

    def __init__(
        self,
        m: FloatArray,
        k: FloatArray,
        c: FloatArray,
        links: Sequence[UnilateralLink],
        h: float,
        q: FloatArray,
    ) -> None:
        size = len(m)
        for link in links:
            check_array("link: direction", link.direction, (size,))
        self._h, self._mass, self._stiffness = h, m, k
        try:
            np.linalg.cholesky(m)
            self._factor = cho_factor(m + h * c + h * h * k)
        except np.linalg.LinAlgError as error:
            raise InputError(
                f"mass, damping, stiffness: expected positive definite matrices, found: {error}"
            ) from error
        self.directions = np.array([link.direction for link in links]).reshape(-1, size)
        self._gaps = np.array([link.gap for link in links])
        rubbing = [link for link in links if link.friction > 0.0]
        self._rubs = np.array([link.friction > 0.0 for link in links], dtype=np.bool_)
        self._tangents = np.array([link.tangent for link in rubbing]).reshape(-1, size)
        self._friction = np.array([link.friction for link in rubbing])
        self._softness = 1.0 / np.array([link.tangential_stiffness for link in rubbing])
        self._link_stiffness = np.array([link.stiffness for link in links])
        self._viscosity = np.array([link.damping for link in links]) / h
        self._growth = self._link_stiffness / np.array([link.doubling_depth for link in links])
        # Tips that overlap at time zero are pressed in.
        self._tips = np.maximum(-(self.directions @ q + self._gaps), 0.0)
        self._last = np.zeros(len(rubbing))
        self._problem()

    def _problem(self) -> None:
        h, n, f = self._h, len(self.directions), len(self._tangents)
        # Row of every rubbing link in the identity of all links: its N, times μ.
        limit = self._friction[:, None] * np.eye(n)[self._rubs]
        self._applied = np.vstack([self.directions - limit.T @ self._tangents, self._tangents])
        self._measured = np.vstack([self.directions, self._tangents])
        self._response = cho_solve(self._factor, self._applied.T)
        self._matrix = np.zeros((n + 2 * f, n + 2 * f))
        self._matrix[: n + f, : n + f] = h * h * self._measured @ self._response
        self._matrix[n : n + f, n : n + f] += np.diag(self._softness)
        self._matrix[n : n + f, :n] -= self._softness[:, None] * limit
        self._matrix[n : n + f, n + f :] = np.eye(f)
        self._matrix[n + f :, :n] = 2.0 * limit
        self._matrix[n + f :, n : n + f] = -np.eye(f)

    def advance(
        self, q: FloatArray, v: FloatArray, load: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return position, velocity, N and T at the end of a step."""
        h, n, f = self._h, len(self.directions), len(self._tangents)
        impulse = self._mass @ v + h * (load - self._stiffness @ q)
        free = cho_solve(self._factor, impulse, check_finite=False)
        constant = np.zeros(n + 2 * f)
        constant[: n + f] = h * self._measured @ free
        constant[:n] += self.directions @ q + self._gaps
        constant[n : n + f] -= self._softness * self._last
        x = self._link_forces(constant)
        v = free + h * self._response @ x[: n + f]
        normal, tangential = x[:n], np.zeros(n)
        self._last = x[n : n + f] - self._friction * normal[self._rubs]
        tangential[self._rubs] = self._last
        return q + h * v, v, normal, tangential

    def _link_forces(self, constant: FloatArray) -> FloatArray:
        """Return N, T + μ N and λ (n + 2 f,) of a step, and keep the depths of the tips."""
        n, before, tips = len(self.directions), self._tips, self._tips
        diagonal = np.arange(n)
        for _ in range(_ITERATIONS):
            # N is linear in ξ near the last tips: ξ = compliance N + rest.
            elastic = tips * (self._link_stiffness + self._growth * tips)
            force = elastic + self._viscosity * (tips - before)
            slope = self._link_stiffness + 2.0 * self._growth * tips + self._viscosity
            rest, matrix, shifted = tips - force / slope, self._matrix.copy(), constant.copy()
            matrix[diagonal, diagonal] += 1.0 / slope
            shifted[:n] += rest
            x = solve_complementarity(matrix, shifted).x
            last, tips = tips, np.maximum(x[:n] / slope + rest, 0.0)
            if (np.abs(tips - last) * self._growth <= _SETTLED * slope).all():
                self._tips = tips
                return x
        raise ComplementarityError(
            f"the depths of links with growing stiffness did not settle in {_ITERATIONS} "
            "iterations; a shorter step helps"
        )
