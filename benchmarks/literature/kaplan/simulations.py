"""Simulations that several rows share, on ground with the law as printed and with ours."""

from __future__ import annotations

from functools import cache

import numpy as np

from benchmarks.heel_strike import FRICTION, heel_strike, reversing_impact
from benchmarks.literature.kaplan.printed_law import PrintedGround
from dynamics.mechanics.ground import (
    ContactPoint,
    Leg,
    PenaltyGround,
    StrikeResult,
    simulate_strike,
    standing_start,
    striking_legs,
)
from foundation.contact_laws import CompliantFriction

#: Postures of the two legs [deg], as in examples/mechanics/two_legs_heel_strike.py.
_ANGLES = (-8.0, -22.0, 0.6, 25.0, 20.0, 20.0)
_REST = ((-8.0, -14.0, 22.6), (25.0, -5.0, 0.0))
_RATES = (0.8, -0.1, -1.5, -1.5, 0.0, -0.5, -0.5, -0.5)


def ground(law: str, friction: float = 0.8) -> PenaltyGround:
    """Return the ground of a law, "printed", "literal" (with ‖d_t‖ in eq. 4) or "ours"."""
    tangential = CompliantFriction(1e5, 200.0, friction)
    if law == "ours":
        return PenaltyGround(friction=tangential)
    return PrintedGround(friction=tangential, literal=law == "literal")


def both_legs(alike: bool = False) -> tuple[Leg, tuple[ContactPoint, ...]]:
    """Return two legs on one hip and their contact points; alike, their springs are the same."""
    return striking_legs(
        ankle="hinged",
        joint_stiffness=(60.0, 400.0, 400.0),
        joint_damping=(2.0, 15.0, 10.0),
        joint_rest=np.radians(_REST[1:] * 2 if alike else _REST),
    )


@cache
def two_legs(law: str) -> StrikeResult:
    """Return 0.2 s of two legs, the stance foot on the ground at the start."""
    legs, points = both_legs()
    wanted = [0.0, 0.9, *np.radians(_ANGLES)]
    standing = ("stance heel", "stance ball")
    start = standing_start(legs, points, PenaltyGround(), wanted, _RATES, standing)
    return simulate_strike(legs, points, ground(law), *start, 0.2, samples=801)


@cache
def landing() -> StrikeResult:
    """Return 40 ms of two legs alike, whose heels land together, on the ground as printed."""
    legs, points = both_legs(alike=True)
    q = np.array([0.0, 0.0, *np.radians([25.0, 20.0, 20.0] * 2)])
    heels = legs.positions(q, legs.arms([2, 5], np.array([points[k].position for k in (0, 2)])))
    q[1] = 1e-3 - heels[:, 1].min()
    v = np.array([0.8, -0.3, *[-0.5] * 6])
    return simulate_strike(legs, points, ground("printed"), q, v, 0.04, samples=161)


@cache
def one_leg(law: str, name: str) -> StrikeResult:
    """Return one leg: "locked" or "hinged" ankle, or "reversing", the pinned double pendulum."""
    reversing = name == "reversing"
    start = reversing_impact() if reversing else heel_strike(name)
    soil = ground(law, FRICTION if reversing else 0.8)
    duration, state = (0.1 if reversing else 0.2), (start.position, start.velocity)
    return simulate_strike(start.leg, start.points, soil, *state, duration, samples=401)


def largest_rise(result: StrikeResult) -> float:
    """Return the largest rise of the total energy between two instants, or zero [J]."""
    return max(float(np.diff(result.energy).max()), 0.0)
