"""Section 3.7: contact of finite elements by penalty and by Lagrange multipliers, eqs. 32 and 33.

With the stiffness K, the matrix L that picks the surface's displacements into the ball, and the
overlaps δ, one linear step of eq. 32 is (K + α LᵀL) u = r + α Lᵀδ and of eq. 33 K u - Lᵀλ = r,
L u = δ. Nodes whose force would pull are left out and those that would enter are taken in. The sums
of c in both equations add the contact forces found so far to r.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, hstack, vstack
from scipy.sparse.linalg import splu, spsolve

from benchmarks.axisymmetric_layer import AxisymmetricLayer, contact_forces
from benchmarks.literature.lehtoranta.layers import POLYETHYLENE
from benchmarks.literature.statements import Statement
from benchmarks.measures import max_abs
from foundation.base.checks import FloatArray

_APPROACH = 2e-4
_MOST_ROUNDS = 50


@dataclass(frozen=True, eq=False)
class Patch:
    """A ball on a layer: K (n, n) [N/m], dofs of the surface (N,), overlaps δ (N,) [m]."""

    stiffness: csr_matrix
    surface: np.ndarray
    overlap: FloatArray
    compliance: FloatArray

    def picker(self, active: np.ndarray) -> csr_matrix:
        """Return L (m, n) of the active nodes (N,) bool; the layer is pressed down, -u."""
        at = self.surface[active]
        shape = len(at), self.stiffness.shape[0]
        return csr_matrix((-np.ones(len(at)), (np.arange(len(at)), at)), shape)


@cache
def patch() -> Patch:
    """Return the layer of polyethylene under a ball pressed in by 0.2 mm."""
    model = AxisymmetricLayer(POLYETHYLENE, 0.25e-3, 5e-3)
    tangent, _ = model.equilibrium(model.rest)
    inner = np.setdiff1d(np.arange(model.basis.N), model.fixed)
    surface = np.searchsorted(inner, model.dofs[1])
    compliance = model.compliance()[len(model.radius) :, len(model.radius) :]
    overlap = _APPROACH - POLYETHYLENE.height(model.radius)
    return Patch(tangent[inner][:, inner], surface, overlap, compliance)


def lagrange(body: Patch) -> tuple[FloatArray, FloatArray, int]:
    """Return displacements (n,) [m], forces (N,) [N] and the number of active sets, eq. 33."""
    active = body.overlap > 0.0
    for rounds in range(1, _MOST_ROUNDS):
        picker = body.picker(active)
        # u and -λ are the unknowns, as printed: K u + Lᵀ(-λ) = 0, L u = δ.
        none = csr_matrix((picker.shape[0], picker.shape[0]))
        upper, lower = hstack([body.stiffness, picker.T]), hstack([picker, none])
        matrix = csc_matrix(vstack([upper, lower]))
        right = np.concatenate([np.zeros(body.stiffness.shape[0]), body.overlap[active]])
        found = spsolve(matrix, right)
        force = np.zeros(len(active))
        force[active] = -found[body.stiffness.shape[0] :]
        u = found[: body.stiffness.shape[0]]
        wanted = np.where(active, force > 0.0, body.overlap + u[body.surface] > 0.0)
        if (wanted == active).all():
            return u, force, rounds
        active = wanted
    raise RuntimeError("no active set found")


def penalty(
    body: Patch, alpha: float, carried: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return displacements (n,) [m] and forces (N,) [N] of eq. 32 with a penalty α [N/m].

    Forces carried (N,) [N] of earlier iterations are the sums of c.
    """
    held = np.zeros(len(body.overlap)) if carried is None else carried
    active = body.overlap + held / alpha > 0.0
    for _ in range(_MOST_ROUNDS):
        picker = body.picker(active)
        matrix = csc_matrix(body.stiffness + alpha * picker.T @ picker)
        right = picker.T @ (alpha * body.overlap[active] + held[active])
        u = splu(matrix).solve(right)
        trial = held + alpha * (body.overlap + u[body.surface])
        if ((trial > 0.0) == active).all():
            return u, np.where(active, trial, 0.0)
        active = trial > 0.0
    raise RuntimeError("no active set found")


def penetration(body: Patch, u: FloatArray, force: FloatArray) -> float:
    """Return the largest penetration of the touching nodes [m]."""
    return max_abs((body.overlap + u[body.surface])[force > 0.0])


def repeated(body: Patch, alpha: float, tolerance: float) -> tuple[FloatArray, float, int]:
    """Repeat eq. 32 with the forces carried until they change by less than a tolerance [1] twice.

    Returns forces (N,) [N], the last penetration [m] and the number of iterations.
    """
    force, quiet = np.zeros(len(body.overlap)), 0
    for count in range(1, 200):
        u, found = penalty(body, alpha, force)
        change = np.linalg.norm(found - force) / np.linalg.norm(found)
        force, quiet = found, quiet + 1 if change < tolerance else 0
        if quiet == 2:
            return force, penetration(body, u, force), count
    raise RuntimeError("the forces do not settle")


def _penalty_and_lagrange() -> Statement:
    body = patch()
    u, multipliers, rounds = lagrange(body)
    exact = penetration(body, u, multipliers)
    nnls = contact_forces(body.compliance, body.overlap)
    alphas = (1e6, 1e7, 1e8, 1e9)
    solved = [penalty(body, alpha) for alpha in alphas]
    deep = np.array([penetration(body, *each) for each in solved])
    order = float(np.log10(deep[-2] / deep[-1]))
    short = [1.0 - float(force.sum() / multipliers.sum()) for _, force in solved]
    carried, left, count = repeated(body, 1e8, 1e-8)
    return Statement(
        "section 3.7, eq. 32, 33",
        "penalty where exact penetrations do not matter, Lagrange where certain results of the "
        "contact are wanted; both iterate until the forces settle",
        f"ball on polyethylene, 0.2 mm: Lagrange {multipliers.sum():.3f} N with {exact:.0e} m of "
        f"penetration after {rounds} sets of nodes; penalty of 1, 10, 100, 1000 MN/m "
        f"{', '.join(f'{1e6 * d:.2g}' for d in deep)} µm, proportional to α^-{order:.2f}, the "
        f"force {', '.join(f'{100.0 * s:.2g}' for s in short)} % short; 100 MN/m with the forces "
        f"carried settle after {count} iterations with {1e6 * left:.1g} µm",
        exact < 1e-12
        and 0.9 < order < 1.1
        and (np.diff(deep) < 0.0).all()
        and np.allclose(multipliers, nnls, rtol=0.0, atol=1e-8 * nnls.max())
        and np.allclose(carried, multipliers, rtol=0.0, atol=1e-5 * multipliers.max()),
        "the text calls the contacts adhesive; contact here does not pull",
    )


STATEMENTS = (_penalty_and_lagrange,)
