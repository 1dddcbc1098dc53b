"""Structures of tension-only members: cables, ligaments, muscles.

With the load Q that the members supply, the balance matrix B, the displacement u, the stiffnesses k
and the slacks s, B F = Q, e = -Bᵀ u + s and F = k e >= 0 with F s = 0 (Kolesnikov 2004). The forces
are those of least Σ F² / (2 k), hence unique. docs/mechanics.md derives the complementarity problem
in f = F / √k and σ = s √k, which (1 - ε) in place of the singular projector makes positive
definite; the solution yields the taut members, and a solve without ε yields the forces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.mechanics.unilateral.complementarity import solve_complementarity
from foundation.checks import FloatArray, check_array, check_number, frozen
from foundation.errors import InputError

_RANK = 1e-10
#: ε of the module's docstring.
_COMPLIANCE = 1e-9
#: A part of the load beyond this counts as not balanced.
_BALANCED = 1e-9


class InfeasibleLoadError(InputError):
    """No tension of the members balances the load."""


@dataclass(frozen=True, eq=False)
class Structure:
    """Forces and displacements of a structure under a load; its units are those of the arguments.

    Attributes
    ----------
    forces : (n_members,) float64
        Tensions [N], >= 0.
    displacement : (n_dof,) float64
        Displacement under the external load -Q [m, rad]; not unique for degrees of freedom that
        only slack members restrain.
    elongations : (n_members,) float64
        -Bᵀ u [m]; not positive where a member is slack.
    exclusions : tuple of int
        Members in the order in which they became slack or taut.
    """

    forces: FloatArray
    displacement: FloatArray
    elongations: FloatArray
    exclusions: tuple[int, ...]

    @property
    def taut(self) -> NDArray[np.bool_]:
        """Whether each of the m members is taut, (m,) bool [1]."""
        return self.forces > 0.0


def solve_structure(balance: ArrayLike, stiffness: ArrayLike, load: ArrayLike) -> Structure:
    """Return the tensions of a structure of tension-only members under a load.

    Parameters
    ----------
    balance : (n_dof, n_members) float64
        Generalised force of a unit tension of every member: moment arms [m] of joints, direction
        cosines of nodes. A free node is two or three rows with no load.
    stiffness : (n_members,) float64
        Force per elongation [N/m], > 0.
    load : (n_dof,) float64
        Load that the members supply, balance @ forces = load [N m, N]; the opposite of the
        external load.

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
    root = np.sqrt(k)
    # Rows of equal size, so that moments and forces have equal weight in the rank.
    size = np.linalg.norm(b * root, axis=1)
    size[size == 0.0] = 1.0
    g, q = b * root / size[:, None], q / size
    forces, potential, exclusions = _scaled(g, q)
    rest = q - g @ forces
    if (np.abs(rest) > _BALANCED * (np.abs(g) @ forces + np.abs(q)).max(initial=0.0)).any():
        raise InfeasibleLoadError(
            "load: expected a load that members in tension can balance, found "
            f"{(q * size).tolist()}; {np.round(rest * size, 9).tolist()} remains unbalanced"
        )
    potential = potential / size
    return Structure(frozen(root * forces), frozen(-potential), frozen(b.T @ potential), exclusions)


def _scaled(g: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray, tuple[int, ...]]:
    """Return forces and potential (the opposite displacement) where all stiffnesses are one."""
    left, values, right = np.linalg.svd(g, full_matrices=False)
    keep = values > _RANK * values.max(initial=0.0)
    left, values, right = left[:, keep], values[keep], right[keep]
    share = 1.0 - _COMPLIANCE
    solution = solve_complementarity(
        np.eye(g.shape[1]) - share * right.T @ right, share * right.T @ (left.T @ q / values)
    )
    potential = left @ (right @ (solution.y - solution.x) / values)
    taut = solution.y > 0.0
    inverse = np.linalg.pinv(g[:, taut], rcond=_RANK)
    forces = np.zeros(g.shape[1])
    # Beyond rounding they are positive, for those with ε are.
    forces[taut] = np.maximum(inverse @ q, 0.0)
    potential += (forces[taut] - potential @ g[:, taut]) @ inverse
    return forces, potential, solution.exclusions
