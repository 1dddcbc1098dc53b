"""Impacts of rigid bodies on rigid ground with Coulomb friction.

After Newton, at every point with normal and tangential velocities vn, vt and impulses Ln, Lt,

    vn+ + e vn- >= 0,  Ln >= 0,  at least one of them 0        (Newton's restitution)
    |Lt| <= mu Ln;  vt+ = 0 or Lt = -mu Ln sign(vt+)           (Coulomb, on impulses)

as in Moreau (1988, in Nonsmooth Mechanics and Applications, CISM 302), one complementarity problem
(Glocker & Pfeiffer 1995, Nonlinear Dyn 7:471-497). The result need not be unique for several
points. Kinetic energy can grow where sliding reverses (Kane 1984; docs/mechanics.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dynamics.mechanics.chains.assembly import Assembly
from dynamics.mechanics.ground.strike import (
    ContactPoint,
    GroundContacts,
    check_free,
    coordinates,
)
from dynamics.mechanics.unilateral.complementarity import (
    ComplementarityError,
    solve_complementarity,
)
from dynamics.simulator.equations import SimulationError
from foundation.base.checks import FloatArray, check_number


@dataclass(frozen=True, eq=False)
class RigidImpact:
    """Velocity jump of an impact of P points, tangential values first."""

    #: Rates of the free coordinates after impact (F,) [m/s, rad/s].
    velocity: FloatArray
    #: (P, 2) [N s].
    impulse: FloatArray
    #: before, after (P, 2) [m/s].
    before: FloatArray
    after: FloatArray
    #: Of the kinetic energy, Σ L (v- + v+)/2 [J].
    energy_change: float


def newton_impact(
    assembly: Assembly,
    points: Sequence[ContactPoint],
    position: ArrayLike,
    velocity: ArrayLike,
    *,
    restitution: float,
    friction: float,
) -> RigidImpact:
    """Return the impact of points on the ground, at coordinates and rates (F,) [m, rad].

    `restitution` is Newton's e, `friction` Coulomb's μ [1]. A `SimulationError` tells that the laws
    have no solution.
    """
    check_number("restitution", restitution, at_least=0.0, at_most=1.0)
    check_number("friction", friction, at_least=0.0)
    rows, to_velocity, v = _response(assembly, points, position, velocity)
    return jump(rows, to_velocity, v, v, restitution, friction)


def _response(
    assembly: Assembly, points: Sequence[ContactPoint], position: ArrayLike, velocity: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return J (2 P, F) of all tangential, then all normal velocities, M⁻¹ Jᵀ, and rates (F,)."""
    check_free(assembly)
    q, v = coordinates(assembly, position, velocity)
    rows = GroundContacts(assembly, points).at(q, v).rows()[2]
    mass = assembly.terms(0.0, q, v)[0]
    closed = assembly.constraint_rows(q, v)
    if not len(closed):
        return rows, np.asarray(np.linalg.solve(mass, rows.T), dtype=np.float64), v
    whole = np.block([[mass, closed.T], [closed, np.zeros((len(closed),) * 2)]])
    right = np.vstack([rows.T, np.zeros((len(closed), len(rows)))])
    found = np.asarray(np.linalg.solve(whole, right), dtype=np.float64)
    return rows, found[: len(mass)], v


def jump(
    rows: FloatArray,
    to_velocity: FloatArray,
    velocity: FloatArray,
    free: FloatArray,
    restitution: float,
    friction: float,
) -> RigidImpact:
    """Return the jump by J (2 P, F) [1, m] and M⁻¹ Jᵀ (F, 2 P) of rates (F,) [m/s, rad/s]."""
    # `velocity` is that before the impact, `free` that at its end without impulses.
    count = len(rows) // 2
    compliance, before, released = rows @ to_velocity, rows @ velocity, rows @ free
    t, n = slice(count), slice(count, None)
    one, zero, mu = np.eye(count), np.zeros((count, count)), friction * np.eye(count)
    # Unknowns Ln, Lt + μ Ln and λ, the slip against x; rows vn + e vn-, vt + λ and μ Ln - Lt.
    a = np.block([
        [compliance[n, n] - friction * compliance[n, t], compliance[n, t], zero],
        [compliance[t, n] - friction * compliance[t, t], compliance[t, t], one],
        [2.0 * mu, -one, zero],
    ])  # fmt: skip
    b = np.concatenate([released[n] + restitution * before[n], released[t], np.zeros(count)])
    try:
        x = solve_complementarity(a, b).x
    except ComplementarityError as error:
        raise SimulationError(
            f"impact: no impulses satisfy Newton's and Coulomb's laws with restitution "
            f"{restitution:g} and friction {friction:g} at velocities {released}"
        ) from error
    impulse = np.concatenate([x[count : 2 * count] - friction * x[:count], x[:count]])
    moved = free + to_velocity @ impulse
    after = rows @ moved
    work = 0.5 * impulse @ (released + after)
    pairs = [each.reshape(2, -1).T for each in (impulse, before, after)]
    return RigidImpact(moved, pairs[0], pairs[1], pairs[2], float(work))
