"""Structures of tension-only members: cables, ligaments, muscles, and bars beside them.

With the load Q that the members supply, the balance matrix B, the displacement u, the stiffnesses
k, the contractions and pretensions d and the slacks s: B F = Q, e = -Bᵀ u, F = k (e + d + s) >= 0
with F s = 0 (Kolesnikov 2004; of a bar F has either sign and s = 0). The forces are those of least
Σ F² / (2 k) - F d, hence unique. docs/mechanics.md derives the complementarity problem in
f = F / √k and σ = s √k, which (1 - ε) in place of the singular projector makes positive definite;
the solution yields the taut members, and a solve without ε yields the forces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.mechanics.unilateral.complementarity import row_mask, solve_complementarity
from dynamics.mechanics.unilateral.exclusion import Gauss, Noise
from dynamics.mechanics.unilateral.subsystem import PivotError
from foundation.base.checks import FloatArray, check_array, check_in, check_number, frozen
from foundation.base.errors import InputError

#: Orders in which members become slack or taut.
ORDERS = ("scaled", "force")

_RANK = 1e-10
#: ε of the module's docstring.
_COMPLIANCE = 1e-9
#: A part of the load beyond this counts as not balanced.
_BALANCED = 1e-9
#: Part of the largest force or slack below which those of the order "force" count as zero.
_ZERO = 1e-7
#: Part of the largest force by which the forces of both orders may differ.
_SAME = 1e-4


class InfeasibleLoadError(InputError):
    """No tension of the members balances the load."""


@dataclass(frozen=True, eq=False)
class Structure:
    """Forces and displacements of a structure under a load; its units are those of the arguments.

    Attributes
    ----------
    forces : (n_members,) float64
        Tensions [N], >= 0 but for two-sided members.
    displacement : (n_dof,) float64
        Displacement under the external load -Q [m, rad]; not unique for degrees of freedom that
        only slack members restrain.
    elongations : (n_members,) float64
        -Bᵀ u [m]; with contraction and pretension not positive where a member is slack.
    exclusions : tuple of int
        Members in the order in which they became slack or taut; those without activation left out.
    order : {"scaled", "force", "blocks"}
        Which member was next: that of the most negative F / √k or s √k; that of the most negative
        F, then of s; or whole blocks of members, as in `solve_complementarity`.
    """

    forces: FloatArray
    displacement: FloatArray
    elongations: FloatArray
    exclusions: tuple[int, ...]
    order: str

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
    order: str = "scaled",
) -> Structure:
    """Return the tensions of a structure of tension-only members under a load.

    A taut member has the force F = a k (elongation + pretension + a contraction). The activation a
    scales the stiffness, and the initial deformation D₀ of the pretension stays (Kolesnikov 2004,
    eq. 31, 32, 44 and 45). A contraction, which the activation scales as well, is an addition of
    this project.

    Parameters
    ----------
    balance : (n_dof, n_members) float64
        Generalised force of a unit tension of every member: moment arms [m] of joints, direction
        cosines of nodes. A free node is two or three rows with no load.
    stiffness : (n_members,) float64
        k: force per elongation [N/m], > 0.
    load : (n_dof,) float64
        Load that the members supply, balance @ forces = load [N m, N]; the opposite of the
        external load.
    contraction : float or (n_members,) float64
        Shortening of the unloaded length at full activation [m], >= 0.
    pretension : float or (n_members,) float64
        D₀: elongation without displacement [m] at any activation; negative for a slack
        member.
    activation : float or (n_members,) float64
        a [1], from 0 to 1; a member with 0 has no force.
    two_sided : (k,) int or (n_members,) bool
        Members that push as well as pull, such as bars; by default none.
    order : {"scaled", "force"}
        Which member becomes slack or taut next: that of the most negative F / √k (of many members
        whole blocks), or that of the most negative force, the order of Kolesnikov (2004). Where the
        second does not end, the first is used; the result tells.

    Returns
    -------
    Structure
        Forces, displacement and elongations.

    Raises
    ------
    InputError
        If an argument is not as described.
    InfeasibleLoadError
        If no tensions balance the load.
    """
    b = check_array("balance", balance, (None, None))
    k = check_array("stiffness", stiffness, (b.shape[1],))
    q = check_array("load", load, (b.shape[0],))
    if k.size == 0:
        raise InputError("stiffness: expected at least one member, found an empty array")
    check_number("stiffness: the least", k.min(), above=0.0, unit="N/m")
    check_in("order", order, ORDERS)
    a = _per_member("activation", activation, k.size, least=0.0)
    check_number("activation: the largest", a.max(), at_most=1.0)
    offset = a * _per_member("contraction", contraction, k.size, least=0.0, unit="m")
    offset += _per_member("pretension", pretension, k.size, unit="m")
    bars = row_mask("two_sided", two_sided, k.size)
    forces, potential = np.zeros(k.size), np.zeros(q.size)
    on = np.flatnonzero(a > 0.0)
    problem = _Scaled(b[:, on], (a * k)[on], q, offset[on], bars[on])
    forces[on], potential, exclusions, found = problem.solve(order)
    _check_balance(b, a * k, forces, a * k * offset, q)
    return Structure(
        frozen(forces),
        frozen(-potential),
        frozen(b.T @ potential),
        tuple(int(on[row]) for row in exclusions),
        found,
    )


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
    """Raise `InfeasibleLoadError` unless the forces (m,) balance the load (n,) [any unit].

    `held` are the forces (m,) of contraction and pretension without displacement.
    """
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
        self._one_sided = np.flatnonzero(~bars)
        self._matrix, self._constant = self._problem()

    def _problem(self) -> tuple[FloatArray, FloatArray]:
        """Return A and B of f = A σ + B."""
        left, values, right = np.linalg.svd(self._g, full_matrices=False)
        keep = values > _RANK * values.max(initial=0.0)
        left, values, right = left[:, keep], values[keep], right[keep]
        # Gᵀ inverse, of forces beyond contraction and slack to the potential.
        self._inverse = (left / values) @ right
        share = 1.0 - _COMPLIANCE
        matrix = np.eye(self._offset.size) - share * right.T @ right
        constant = share * self._inverse.T @ self._q + matrix @ self._offset
        return matrix, constant

    def solve(self, order: str) -> tuple[FloatArray, FloatArray, list[int], str]:
        """Return forces (m,) [N], potential (n,) [m, rad], exclusions, and their order."""
        rows = self._one_sided
        solution = solve_complementarity(self._matrix[np.ix_(rows, rows)], self._constant[rows])
        taut = self._bars.copy()
        taut[rows] = solution.y > 0.0
        slacks = np.zeros(taut.size)
        slacks[rows] = solution.x
        forces, potential = self._forces(taut, slacks)
        found_order = "blocks" if solution.order == "blocks" else "scaled"
        exclusions = [int(rows[row]) for row in solution.exclusions]
        if order == "force" and (found := self._by_force()) is not None:
            other = self._forces(*found[:2])[0]
            # The forces are unique: the order tells only how they were found.
            if np.abs(other - forces).max() <= _SAME * np.abs(forces).max():
                exclusions, found_order = found[2], order
        return self._root * forces, potential / self._size, exclusions, found_order

    def _by_force(self) -> tuple[NDArray[np.bool_], FloatArray, list[int]] | None:
        """Return taut members (m,), σ (m,) and exclusions by the most negative force, or None."""
        rows, root = self._one_sided, self._root[self._one_sided]
        matrix, constant = self._matrix[np.ix_(rows, rows)], self._constant[rows]
        state = Gauss(matrix, constant, Noise(matrix, constant))
        exclusions: list[int] = []
        while len(exclusions) <= 2 * rows.size:
            forces = np.where(state.active, 0.0, state.free * root)
            row = _most_negative(forces)
            if row is None:
                row = _most_negative(np.where(state.active, state.free / root, 0.0))
            if row is None:
                taut, slacks = self._bars.copy(), np.zeros(self._bars.size)
                taut[rows] = forces > _ZERO * np.abs(forces).max(initial=0.0)
                slacks[rows] = np.where(state.active, np.maximum(state.free, 0.0), 0.0)
                return taut, slacks, exclusions
            try:
                state.exclude_block(np.array([row]))
            except PivotError:
                return None
            exclusions.append(int(rows[row]))
        return None

    def _forces(self, taut: NDArray[np.bool_], slacks: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return f (m,) and the potential (n,), the opposite displacement.

        The slacks σ (m,) matter where only slack members restrain a degree of freedom.
        """
        g, offset = self._g[:, taut], self._offset[taut]
        inverse = np.linalg.pinv(g, rcond=_RANK)
        forces = np.zeros(taut.size)
        forces[taut] = offset + inverse @ (self._q - g @ offset)
        # Beyond rounding they are positive, for those with ε are.
        forces = np.where(self._bars, forces, np.maximum(forces, 0.0))
        potential = self._inverse @ (self._matrix @ slacks + self._constant - slacks - self._offset)
        return forces, potential + (forces[taut] - offset - potential @ g) @ inverse


def _most_negative(values: FloatArray) -> int | None:
    """Return the row of the most negative value beyond rounding, or None."""
    if values.size == 0:
        return None
    row = int(np.argmin(values))
    return row if values[row] < -_ZERO * np.abs(values).max() else None
