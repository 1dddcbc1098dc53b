"""Impacts of rigid bodies on rigid ground with Coulomb friction.

After Newton, at every point with normal and tangential velocities vn, vt and impulses Ln, Lt,

    vn+ + e vn- >= 0,  Ln >= 0,  at least one of them 0        (Newton's restitution)
    |Lt| <= mu Ln;  vt+ = 0 or Lt = -mu Ln sign(vt+)           (Coulomb, on impulses)

as in Moreau (1988, in Nonsmooth Mechanics and Applications, CISM 302), one complementarity problem
(Glocker & Pfeiffer 1995, Nonlinear Dyn 7:471-497). The result need not be unique for several
points. Kinetic energy can grow where sliding reverses (Kane 1984; docs/mechanics.md).

Restitution after Poisson or Stronge (1990, Proc R Soc A 431:169-181) is that along the path of the
normal impulse p of one point (Routh 1905): the tangential impulse follows Coulomb's law with the
present sliding velocity, which changes in proportion to p; sliding may stop, stick or reverse.
"""

from __future__ import annotations

import math
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
from foundation.base.checks import FloatArray, check_in, check_number

LAWS = ("poisson", "stronge")


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
    """Return the impact of points in contact with the ground after Newton and Coulomb.

    Parameters
    ----------
    assembly : Assembly
        Free chains.
    points : sequence of ContactPoint
        Points in contact.
    position, velocity : (F,) array_like
        Free coordinates [m, rad] and their rates before impact.
    restitution, friction : float
        Newton's e, 0 to 1, and coefficient of friction mu, >= 0 [1].

    Raises
    ------
    SimulationError
        If the law has no solution.
    """
    check_law(restitution, friction)
    rows, to_velocity, v = _response(assembly, points, position, velocity)
    return jump(rows, to_velocity, v, v, restitution, friction)


def check_law(restitution: float, friction: float) -> None:
    """Raise an InputError unless restitution e is 0 to 1 and friction mu >= 0."""
    check_number("restitution", restitution, at_least=0.0, at_most=1.0)
    check_number("friction", friction, at_least=0.0)


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
    return _impact(rows, to_velocity, before, free, impulse)


def _impact(
    rows: FloatArray,
    to_velocity: FloatArray,
    before: FloatArray,
    free: FloatArray,
    impulse: FloatArray,
) -> RigidImpact:
    velocity = free + to_velocity @ impulse
    after = rows @ velocity
    work = 0.5 * impulse @ (rows @ free + after)
    pairs = [each.reshape(2, -1).T for each in (impulse, before, after)]
    return RigidImpact(velocity, pairs[0], pairs[1], pairs[2], float(work))


def path_impact(
    assembly: Assembly,
    point: ContactPoint,
    position: ArrayLike,
    velocity: ArrayLike,
    *,
    restitution: float,
    friction: float,
    law: str = "stronge",
) -> RigidImpact:
    """Return the impact of one point with the ground along the path of its normal impulse.

    Parameters
    ----------
    assembly, position, velocity, friction
        As of `newton_impact`, with (F,) coordinates [m, rad].
    point : ContactPoint
        The point in contact, on its way down.
    restitution : float
        e [1], 0 to 1: ratio of the normal impulses of restitution and compression (Poisson), or
        root of the ratio of their works (Stronge).
    law : {"poisson", "stronge"}
        Kind of restitution.
    """
    check_law(restitution, friction)
    check_in("law", law, LAWS)
    rows, to_velocity, v = _response(assembly, [point], position, velocity)
    before = rows @ v
    check_number("normal velocity of the point", before[1], below=0.0, unit="m/s")
    phases = _phases(rows @ to_velocity, float(before[0]), float(before[1]), friction)
    end = _end(phases, restitution, law)
    tangential = sum(p.ratio * (min(p.end, end) - p.start) for p in phases if end > p.start)
    return _impact(rows, to_velocity, before, v, np.array([tangential, end]))


@dataclass(frozen=True)
class _Phase:
    """Phase of the impact with constant friction ratio; vt and vn at the start."""

    start: float
    end: float
    vn: float
    ratio: float
    slope: float  # dvn/dp [1/kg]

    def work(self, begin: float, end: float) -> float:
        """Return the normal work between two impulses [J]."""
        return (self.vn + self.slope * (0.5 * (begin + end) - self.start)) * (end - begin)


def _phases(compliance: FloatArray, vt: float, vn: float, friction: float) -> list[_Phase]:
    """Return the phases of sliding and of sticking or further sliding; the last has no end."""
    (tt, tn), (_, nn) = compliance
    phases, now = [], 0.0
    if vt != 0.0:
        ratio = -friction * math.copysign(1.0, vt)
        change = tn + tt * ratio
        if change * vt >= 0.0:
            return [_Phase(0.0, math.inf, vn, ratio, nn + tn * ratio)]
        now = -vt / change
        phases.append(_Phase(0.0, now, vn, ratio, nn + tn * ratio))
        vn += phases[0].slope * now
    hold = -tn / tt
    ratio = hold if abs(hold) <= friction else -math.copysign(friction, tn)
    return [*phases, _Phase(now, math.inf, vn, ratio, nn + tn * ratio)]


def _end(phases: list[_Phase], restitution: float, law: str) -> float:
    """Return the normal impulse at the end of the impact."""
    squeezed, lost, back = 0.0, 0.0, 0.0
    for phase in phases:
        # vn crosses zero once: it can only fall, if at all, before sticking begins.
        turn = phase.start - phase.vn / phase.slope if phase.slope > 0.0 else math.inf
        if phase.vn < 0.0:
            stop = min(turn, phase.end)
            lost += phase.work(phase.start, stop)
            if stop < turn:
                continue
            squeezed = stop
        begin = max(squeezed, phase.start)
        if law == "poisson":
            return (1.0 + restitution) * squeezed
        wanted = -(restitution**2) * lost - back
        speed = phase.vn + phase.slope * (begin - phase.start)
        width = (math.sqrt(speed**2 + 2.0 * phase.slope * wanted) - speed) / phase.slope
        if begin + width <= phase.end:
            return begin + width
        back += phase.work(begin, phase.end)
    raise AssertionError("unreachable: the last phase has no end")
