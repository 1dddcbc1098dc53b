"""Motion of masses joined by elastic-viscous links that act one way, with gaps and dry friction.

docs/mechanics.md states the equations of a link. Finite differences, all at the end of a step h:
q̇ = (q - q') / h, q̈ = (q̇ - q̇') / h, ξ̇ = (ξ - ξ') / h (a prime for the start). With
H = M + h C + h² K the unknowns of a step solve a linear complementarity problem (Kolesnikov 2004;
friction as a pair of unilateral rows as in Glocker & Pfeiffer 1992, Nonlinear Dynamics 3:245-259),

    g + ξ             = h² wᵀ H⁻¹ (...) + h N / (k h + c) + ...   against  N,
    h τᵀ q̇ + λ        = h² τᵀ H⁻¹ (...) + λ + ...                 against  T + μ N,
    μ N - T           = 2 μ N - (T + μ N)                         against  λ,

(...) = (w - μ τ) N + τ (T + μ N) over all links, λ the slip against τ. The scheme is of first order
in h; without a load it never gains energy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve

from dynamics.mechanics.unilateral.complementarity import (
    ComplementarityError,
    solve_complementarity,
)
from foundation.checks import FloatArray, check_array, check_fields, check_number, frozen
from foundation.errors import InputError


@dataclass(frozen=True, eq=False)
class UnilateralLink:
    """One link; the stated units hold for coordinates in metres, else the conjugate units.

    Parameters
    ----------
    direction : (n_dof,) float64
        w: derivative of the gap by the coordinates, and the generalised force of N = 1 [1]. A
        buffer between q0 and q1 >= q0 has (-1, 1); a cable, with its slack as the gap, (1, -1).
    stiffness : float
        k [N/m], > 0.
    damping : float
        c [N s/m], >= 0.
    gap : float
        Gap g0 at q = 0 [m].
    friction : float
        Coefficient of friction μ, >= 0.
    tangent : (n_dof,) float64, optional
        τ: the slip velocity is τᵀ q̇ [1]; required with friction.
    contraction : float, or function of time [s]
        Active shortening, which takes away from the gap [m]; the gap is g0 + wᵀ q - contraction. A
        muscle that is taut without displacement has its pretension as -g0.
    """

    direction: FloatArray
    stiffness: float
    damping: float = 0.0
    gap: float = 0.0
    friction: float = 0.0
    tangent: FloatArray | None = None
    contraction: float | Callable[[float], float] = 0.0

    def __post_init__(self) -> None:
        check_fields(self, "link: ", direction=(None,))
        check_number("link: stiffness", self.stiffness, above=0.0, unit="N/m")
        check_number("link: damping", self.damping, at_least=0.0, unit="N s/m")
        check_number("link: gap", self.gap)
        if not callable(self.contraction):
            check_number("link: contraction", self.contraction)
        if check_number("link: friction", self.friction, at_least=0.0) > 0.0:
            if self.tangent is None:
                raise InputError(
                    "link: tangent: expected a direction with friction > 0, found None"
                )
            check_fields(self, "link: ", tangent=self.direction.shape)

    def gap_at(self, time: float) -> float:
        """Return the gap [m] at q = 0 and a time [s], the contraction taken away."""
        contraction = self.contraction
        if callable(contraction):
            contraction = check_number(f"link: contraction at {time:g} s", contraction(time))
        return self.gap - contraction


@dataclass(frozen=True, eq=False)
class LinkMotion:
    """Motion of n coordinates and L links over s steps.

    Attributes
    ----------
    time : (s + 1,) float64
        Instants [s].
    position, velocity : (s + 1, n) float64
        Coordinates q [m, rad] and rates q̇.
    normal, friction : (s, L) float64
        N and T at the end of every step [N].
    """

    time: FloatArray
    position: FloatArray
    velocity: FloatArray
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
    """Simulate the motion of masses with unilateral links in fixed steps.

    Parameters
    ----------
    mass : (n_dof, n_dof) float64
        M [kg], symmetric and positive definite.
    links : sequence of UnilateralLink
        The links. Tips of links that overlap at the start are indented.
    position, velocity : (n_dof,) float64
        Coordinates and rates at time zero [m, m/s].
    step : float
        h [s], > 0.
    n_steps : int
        Number of steps, >= 1.
    load : (n_dof,) float64, or function of time [s], optional
        Q [N]; by default none.
    stiffness, damping : (n_dof, n_dof) float64, optional
        K [N/m] and C [N s/m] of bilateral springs and dampers; by default none.

    Returns
    -------
    LinkMotion
        Motion and link forces.

    Raises
    ------
    InputError
        If an argument is not as described.
    ComplementarityError
        If a step has no solution; the message states the time.
    """
    q = check_array("position", position, (None,))
    v = check_array("velocity", velocity, q.shape)
    h = check_number("step", step, above=0.0, unit="s")
    check_number("n_steps", n_steps, at_least=1)
    m, k, c = (
        np.zeros((q.size, q.size)) if value is None else check_array(name, value, (q.size, q.size))
        for name, value in (("mass", mass), ("stiffness", stiffness), ("damping", damping))
    )
    stepper = _Stepper(m, k, c, links, h)
    force = load if callable(load) else lambda _: np.zeros(q.size) if load is None else load
    tips = np.maximum(-(stepper.directions @ q + stepper.gaps(0.0)), 0.0)
    states, forces = [(q, v)], []
    for number in range(1, int(n_steps) + 1):
        at = check_array(f"load at {number * h:g} s", force(number * h), q.shape)
        try:
            q, v, tips, normal, tangential = stepper.advance(
                q, v, tips, at, stepper.gaps(number * h)
            )
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


class _Stepper:
    """Matrices that all steps share."""

    def __init__(
        self, m: FloatArray, k: FloatArray, c: FloatArray, links: Sequence[UnilateralLink], h: float
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
        self._links = links
        rubbing = [link for link in links if link.friction > 0.0]
        self._rubs = np.array([link.friction > 0.0 for link in links], dtype=np.bool_)
        self._tangents = np.array([link.tangent for link in rubbing]).reshape(-1, size)
        self._friction = np.array([link.friction for link in rubbing])
        damping = np.array([link.damping for link in links])
        self._compliance = h / (np.array([link.stiffness for link in links]) * h + damping)
        self._memory = damping * self._compliance / h
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
        self._matrix[:n, :n] += np.diag(self._compliance)
        self._matrix[n : n + f, n + f :] = np.eye(f)
        self._matrix[n + f :, :n] = 2.0 * limit
        self._matrix[n + f :, n : n + f] = -np.eye(f)

    def gaps(self, time: float) -> FloatArray:
        """Return the gaps (L,) [m] at q = 0 and a time [s]."""
        return np.array([link.gap_at(time) for link in self._links])

    def advance(
        self, q: FloatArray, v: FloatArray, tips: FloatArray, load: FloatArray, gaps: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return position, velocity, tips, N and T at the end of a step."""
        h, n, f = self._h, len(self.directions), len(self._tangents)
        free = cho_solve(self._factor, self._mass @ v + h * (load - self._stiffness @ q))
        constant = np.zeros(n + 2 * f)
        constant[: n + f] = h * self._measured @ free
        constant[:n] += self.directions @ q + gaps + self._memory * tips
        x = solve_complementarity(self._matrix, constant).x
        v = free + h * self._response @ x[: n + f]
        normal, tangential = x[:n], np.zeros(n)
        tangential[self._rubs] = x[n : n + f] - self._friction * normal[self._rubs]
        return q + h * v, v, self._compliance * normal + self._memory * tips, normal, tangential
