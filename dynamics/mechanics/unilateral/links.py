"""Motion of masses joined by elastic-viscous links that act one way, with gaps and dry friction.

docs/mechanics.md states the equations of a link. Finite differences, all at the end of a step h:
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
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve

from dynamics.mechanics.unilateral.complementarity import (
    ComplementarityError,
    solve_complementarity,
)
from foundation.base.checks import (
    FloatArray,
    check_array,
    check_count,
    check_fields,
    check_number,
    check_numbers,
    frozen,
)
from foundation.base.errors import InputError

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
