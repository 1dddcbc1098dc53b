"""Impact of one point with Poisson's or Stronge's restitution, along the normal impulse.

Friction opposes sliding at every instant of the impact (Routh; Keller 1986, J Appl Mech 53:1-4).
With the normal impulse p and the velocity per impulse Gtt, Gtn, Gnn of the point,

    dvt/dp = Gtn + Gtt f,    dvn/dp = Gnn + Gtn f,

f = -mu sign(vt) in sliding. When sliding ends the point sticks with f = -Gtn/Gtt if |f| <= mu, else
slides in the direction of Gtn with f = -mu sign(Gtn). Compression ends at p_c, where vn = 0, and
the impact at p = (1 + e) p_c (Poisson), or where the normal work of restitution is -e² times that
of compression (Stronge 1990, Proc R Soc Lond A 431:169-181), which never gains energy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dynamics.mechanics.ground.contact import ContactPoint, contact_arms
from dynamics.mechanics.ground.impact import RigidImpact, check_law
from dynamics.mechanics.ground.leg import Leg
from foundation.base.checks import FloatArray, check_in, check_number

LAWS = ("poisson", "stronge")


@dataclass(frozen=True)
class _Phase:
    """Phase of the impact with constant friction ratio; vt and vn at the start."""

    start: float
    end: float
    vt: float
    vn: float
    ratio: float
    slope: float  # dvn/dp [1/kg]


def path_impact(
    leg: Leg,
    point: ContactPoint,
    position: ArrayLike,
    velocity: ArrayLike,
    *,
    restitution: float,
    friction: float,
    law: str = "stronge",
) -> RigidImpact:
    """Return the impact of one point with the ground.

    Parameters
    ----------
    leg, position, velocity, restitution, friction
        As of `newton_impact`, with (dof,) coordinates [m, rad] and rates.
    point : ContactPoint
        Point in contact; it moves downwards.
    law : {"stronge", "poisson"}
        Law of restitution.
    """
    check_law(restitution, friction)
    check_in("law", law, LAWS)
    q, v = leg.state(position, velocity)
    rows = leg.jacobian(q, contact_arms(leg, [point]))[0]
    to_velocity = np.linalg.solve(leg.mass_matrix(q), rows.T)
    before = rows @ v
    check_number("normal velocity of the point", before[1], below=0.0, unit="m/s")
    phases = _phases(rows @ to_velocity, float(before[0]), float(before[1]), friction)
    impulse = _impulse(phases, _end(phases, restitution, law))
    after = before + rows @ to_velocity @ impulse
    return RigidImpact(
        velocity=v + to_velocity @ impulse,
        impulse=impulse[None],
        before=before[None],
        after=after[None],
        energy_change=float(0.5 * impulse @ (before + after)),
    )


def _phases(compliance: FloatArray, vt: float, vn: float, friction: float) -> list[_Phase]:
    """Return the phases of sliding and of sticking or further sliding; the last has no end."""
    (tt, tn), (_, nn) = compliance
    phases, now = [], 0.0
    if vt != 0.0:
        ratio = -friction * math.copysign(1.0, vt)
        change = tn + tt * ratio
        if change * vt >= 0.0:
            return [_Phase(0.0, math.inf, vt, vn, ratio, nn + tn * ratio)]
        now = -vt / change
        phases.append(_Phase(0.0, now, vt, vn, ratio, nn + tn * ratio))
        vn += phases[0].slope * now
    hold = -tn / tt
    ratio = hold if abs(hold) <= friction else -math.copysign(friction, tn)
    return [*phases, _Phase(now, math.inf, 0.0, vn, ratio, nn + tn * ratio)]


def _end(phases: list[_Phase], restitution: float, law: str) -> float:
    """Return the normal impulse at the end of the impact."""
    squeezed, lost, back = 0.0, 0.0, 0.0
    for phase in phases:
        # vn crosses zero once: it can only fall, if at all, before sticking begins.
        turn = phase.start - phase.vn / phase.slope if phase.slope > 0.0 else math.inf
        if phase.vn < 0.0:
            stop = min(turn, phase.end)
            lost += _work(phase, phase.start, stop)
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
        back += _work(phase, begin, phase.end)
    raise AssertionError("unreachable: the last phase has no end")


def _work(phase: _Phase, begin: float, end: float) -> float:
    """Return the normal work between two impulses [J]."""
    middle = phase.vn + phase.slope * (0.5 * (begin + end) - phase.start)
    return middle * (end - begin)


def _impulse(phases: list[_Phase], end: float) -> FloatArray:
    """Tangential and normal impulse at the end (2,) [N s]."""
    tangential = sum(
        phase.ratio * (min(phase.end, end) - phase.start) for phase in phases if end > phase.start
    )
    return np.array([tangential, end])
