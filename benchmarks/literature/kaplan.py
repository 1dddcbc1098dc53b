"""Kaplan, Hovey & Heegaard: heel strike by penalty contact with stick-slip friction."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.heel_strike import FRICTION, RESTITUTION, reversing_impact, soft
from benchmarks.literature.statements import Paper, Statement, misprint
from dynamics.mechanics.ground import (
    Leg,
    PenaltyGround,
    StrikeResult,
    newton_impact,
    simulate_strike,
    standing_start,
    striking_legs,
)
from dynamics.mechanics.ground.contact import contact_arms
from foundation.checks import FloatArray

#: Postures of the two legs [deg], as in examples/mechanics/two_legs_heel_strike.py.
_ANGLES = (-8.0, -22.0, 0.6, 25.0, 20.0, 20.0)
_REST = ((-8.0, -14.0, 22.6), (25.0, -5.0, 0.0))
_RATES = (0.8, -0.1, -1.5, -1.5, 0.0, -0.5, -0.5, -0.5)


@cache
def two_legs() -> tuple[Leg, StrikeResult]:
    """Return two legs on one hip and 0.2 s of their motion, the stance foot on the ground."""
    ground = PenaltyGround()
    legs, points = striking_legs(
        ankle="hinged",
        joint_stiffness=(60.0, 400.0, 400.0),
        joint_damping=(2.0, 15.0, 10.0),
        joint_rest=np.radians(_REST),
    )
    wanted = [0.0, 0.9, *np.radians(_ANGLES)]
    standing = ("stance heel", "stance ball")
    start = standing_start(legs, points, ground, wanted, _RATES, standing)
    return legs, simulate_strike(legs, points, ground, *start, 0.2, samples=801)


@cache
def statements() -> list[Statement]:
    """Return the statements of the paper."""
    return [_energy(), _gain(), _peak(), _points(), _two_legs()]


def _energy() -> Statement:
    results = [soft("locked"), soft("hinged"), two_legs()[1]]
    rise = max(float(np.diff(each.energy).max()) for each in results)
    lost = [each.energy[0] - each.energy[-1] for each in results]
    return Statement(
        "penalty model",
        "the total energy never rises",
        f"largest rise {max(rise, 0.0):.0e} J; {lost[0]:.0f}, {lost[1]:.0f} and {lost[2]:.0f} J "
        "lost with ankle locked, hinged, and with two legs",
        rise <= 1e-9,
    )


def _gain() -> Statement:
    start = reversing_impact()
    state = start.position, start.velocity
    impact = newton_impact(
        start.leg, start.points, *state, restitution=RESTITUTION, friction=FRICTION
    )
    gain = 100.0 * impact.energy_change / start.leg.kinetic_energy(*state)
    return Statement(
        "model with Newton's restitution",
        "an impact with friction can gain energy",
        f"{gain:+.1f} % of the kinetic energy where sliding reverses, e = μ = {FRICTION:g}",
        gain > 0.0,
    )


def _peak() -> Statement:
    peaks = soft("locked").peak_reaction, soft("hinged").peak_reaction
    return Statement(
        "heel strike of one leg",
        "the peak of the ground reaction exceeds body weight",
        f"{peaks[0]:.2f} body weights with a locked, {peaks[1]:.2f} with a hinged ankle",
        min(peaks) > 1.0,
        "postures, speeds and ground are ours",
    )


def _points() -> Statement:
    result = soft("locked")
    first = [result.time[result.loaded(point)][0] for point in result.points]
    both = np.logical_and.reduce([result.loaded(point) for point in result.points])
    return Statement(
        "several points",
        "several and lasting contacts need no special cases",
        f"heel from {1e3 * first[0]:.0f} ms, ball from {1e3 * first[1]:.0f} ms, both loaded for "
        f"{1e3 * both.mean() * result.time[-1]:.0f} ms",
        bool(both.any() and first[1] > first[0]),
    )


def _two_legs() -> Statement:
    _, result = two_legs()
    times = {(each.point, each.closed): each.time for each in result.changes}
    strike, off = times["swing heel", True], times["stance ball", False]
    before = result.time < strike
    stands = (
        result.loaded("stance ball")[before].all() and result.loaded("stance heel")[before].all()
    )
    return Statement(
        "second model",
        "two legs, one in lasting contact while the other strikes",
        f"stance foot loaded until {1e3 * off:.0f} ms, swing heel strikes at "
        f"{1e3 * strike:.0f} ms; peak {result.peak_reaction:.2f} body weights",
        bool(stands and off > strike),
        "postures, speeds and ground are ours",
    )


@cache
def errata() -> list[Statement]:
    """Return the errors in print."""
    return [_eq_4(), _eq_3(), _eq_1()]


def _eq_4() -> Statement:
    law = PenaltyGround().friction
    normal, slip = 100.0, 1.0
    limit = law.coefficient * normal
    outside = limit + law.damping * slip
    ours = law.evaluate(np.zeros(1), np.array([slip]), np.array(normal))[0]
    rest = law.evaluate(np.array([1e-4]), np.zeros(1), np.array(normal))[0]
    with np.errstate(invalid="ignore"):
        direction = np.divide(0.0, np.float64(0.0))
    return misprint(
        "eq. 4",
        "friction divided by the sliding speed, with the damping outside of the bound μFₙ",
        "T = -clip(ks + cv, ±μFₙ), cṡ = -T - ks",
        f"Fₙ = {normal:g} N, μ = {law.coefficient:g}, v = {slip:g} m/s: {outside:.0f} N with the "
        f"damping outside, beyond the bound of {limit:.0f} N, {abs(ours[0]):.0f} N inside; at rest "
        f"the direction 0/0 is {direction}, ours -ks = {rest[0]:.0f} N",
        bool(outside > limit >= abs(ours[0]) and math.isnan(direction) and np.isfinite(rest[0])),
    )


def unlimited_force(result: StrikeResult, rates: FloatArray) -> FloatArray:
    """Return -d/ε - β ḋ of all points where d < 0, else 0 (T, P) [N]; rates (T, P) [m/s]."""
    ground = PenaltyGround()
    force = -result.gap / ground.compliance - ground.damping * rates
    return np.where(result.gap < 0.0, force, 0.0)


def _eq_3() -> Statement:
    legs, result = two_legs()
    arms = contact_arms(legs, striking_legs(ankle="hinged")[1])
    states = zip(result.position, result.velocity, strict=True)
    rates = np.array([legs.jacobian(q, arms)[:, 1] @ v for q, v in states])
    pull, least = unlimited_force(result, rates).min(), result.forces[..., 1].min()
    return misprint(
        "eq. 3",
        "Fₙ = -d/ε - βḋ in contact",
        "Fₙ = max(0, -d/ε - βḋ)",
        f"two legs: where the stance foot leaves faster than the ground follows, the ground would "
        f"pull by up to {-pull:.0f} N; with the limit the least force is {least:.0f} N",
        bool(pull < -1.0 and least >= 0.0),
    )


def _eq_1() -> Statement:
    ground, mass, gravity, time = PenaltyGround(damping=0.0), 75.0, 9.81, 0.1
    pressed = float(ground.normal_force(np.array([-1e-3]), np.zeros(1))[0])
    # m ÿ = -m g ∓ y/ε from rest at y = 0: an oscillation about -m g ε, or y = -m g ε (cosh λt - 1).
    sunk = mass * gravity * ground.compliance
    rate = 1.0 / math.sqrt(mass * ground.compliance)
    falls = sunk * (math.cosh(rate * time) - 1.0)
    rests = sunk * (1.0 - math.cos(rate * time))
    return misprint(
        "eq. 1 and 3",
        "the signs of eq. 1 are not those of eq. 3",
        "d > 0 apart and Fₙ ≥ 0 away from the ground, in both",
        f"d = -1 mm: {pressed:+.0f} N by eq. 3, {-pressed:+.0f} N with the other sign. 75 kg from "
        f"rest at d = 0 are {1e3 * rests:.0f} mm in the ground after 0.1 s, with the other sign "
        f"{1e3 * falls:.0f} mm and falling",
        bool(pressed > 0.0 and rests <= 2.0 * sunk < falls),
    )


def picture() -> Figure:
    """Draw two legs at heel strike, the reactions of all points, and the energy."""
    legs, result = two_legs()
    figure = Figure(figsize=(11.0, 3.8), layout="constrained", dpi=110)
    posture, reaction, energy = figure.subplots(1, 3)
    strike = next(each.time for each in result.changes if each.point == "swing heel")
    _posture(posture, legs, result.position[int(np.searchsorted(result.time, strike))])
    for index, point in enumerate(result.points):
        force = result.forces[:, index, 1] / result.weight
        reaction.plot(1e3 * result.time, force, label=point)
    total = result.reaction[:, 1] / result.weight
    reaction.plot(1e3 * result.time, total, "k", lw=0.8, label="all")
    reaction.set(xlabel="time [ms]", ylabel="vertical reaction [body weight]")
    energy.plot(1e3 * result.time, result.energy - result.energy[0], label="total energy")
    energy.plot(1e3 * result.time, -result.loss, ":", label="less the losses")
    energy.set(xlabel="time [ms]", ylabel="energy less that at 0 [J]")
    for axes in (reaction, energy):
        axes.legend(fontsize="small")
    return figure


def _posture(axes: Axes, legs: Leg, position: FloatArray) -> None:
    """Draw hip, knees, ankles and balls of both legs."""
    names = list(legs.segments)
    ends = [legs.segments[name].end for name in names]
    places = legs.positions(position, legs.arms(range(len(names)), np.array(ends)))
    half = len(names) // 2
    for side, colour in zip((0, 1), ("C0", "C1"), strict=True):
        line = np.vstack([position[:2], places[side * half : (side + 1) * half]])
        axes.plot(*line.T, "o-", color=colour, label=names[side * half].split()[0])
    axes.axhline(0.0, color="0.6", lw=0.8)
    axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="heel strike")
    axes.legend(fontsize="small")


def rows() -> list[Statement]:
    """Return all statements."""
    return [*statements(), *errata()]


PAPER = Paper(
    "kaplan",
    "Kaplan, Hovey & Heegaard, heel strike by penalty contact",
    rows,
    picture,
)
