"""Heel strike of a leg on compliant and on rigid ground: reaction and energy.

`python -m benchmarks.heel_strike` prints the tables and draws them; with `--docs` it replaces
docs/heel_strike.png. The postures and speeds at the start are chosen, in the range of walking, and
not measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.pictures import target
from benchmarks.timing import table
from dynamics.mechanics.ground import (
    ContactPoint,
    Leg,
    PenaltyGround,
    StrikeResult,
    newton_impact,
    path_impact,
    simulate_rigid_strike,
    simulate_strike,
    striking_leg,
)
from dynamics.mechanics.ground.contact import contact_arms
from foundation.base.checks import FloatArray
from foundation.contact_laws import CompliantFriction

#: Of the reversing impact, as in Newton's law.
FRICTION, RESTITUTION = 0.5, 0.5


@dataclass(frozen=True, eq=False)
class Start:
    """A leg, the points that may touch the ground, coordinates and rates."""

    leg: Leg
    points: tuple[ContactPoint, ...]
    position: FloatArray
    velocity: FloatArray


def heel_strike(ankle: str = "locked") -> Start:
    """Return the body on one leg, 1 mm above the ground, with a spring in the knee (and ankle)."""
    n = 2 if ankle == "locked" else 3
    leg, points = striking_leg(
        ankle=ankle,
        joint_stiffness=[0.0, 400.0, 300.0][:n],
        joint_damping=[0.0, 10.0, 8.0][:n],
        joint_rest=np.radians([0.0, -5.0, 0.0][:n]),
    )
    position = np.array([0.0, 0.0, *np.radians([25.0, 18.0, 18.0][:n])])
    position[1] = 1e-3 - leg.positions(position, contact_arms(leg, points))[:, 1].min()
    velocity = np.array([1.3, -0.2, *[-1.0, -2.0, -2.0][:n]])
    return Start(leg, points, position, velocity)


def reversing_impact() -> Start:
    """Return a leg pinned at the hip, the heel on the ground, that slides back at first."""
    position, velocity = np.radians([45.0, 39.0]), np.array([-1.5, -3.0])
    leg, points = striking_leg(anchor=[0.0, 0.0])
    height = leg.positions(position, contact_arms(leg, points[:1]))[0, 1]
    leg, points = striking_leg(anchor=[0.0, -height])
    return Start(leg, points[:1], position, velocity)


@cache
def soft(name: str, duration: float = 0.4) -> StrikeResult:
    """Return a simulation on compliant ground: "locked", "hinged" or "reversing"."""
    reversing = name == "reversing"
    start = reversing_impact() if reversing else heel_strike(name)
    friction = CompliantFriction(1e5, 200.0, FRICTION if reversing else 0.8)
    ground = PenaltyGround(friction=friction)
    return simulate_strike(
        start.leg, start.points, ground, start.position, start.velocity, duration, samples=2001
    )


@cache
def rigid(name: str, restitution: float, duration: float = 0.4, steps: int = 4000) -> StrikeResult:
    """Return a simulation on rigid ground after Newton and Coulomb."""
    reversing = name == "reversing"
    start = reversing_impact() if reversing else heel_strike(name)
    return simulate_rigid_strike(
        start.leg,
        start.points,
        start.position,
        start.velocity,
        duration,
        restitution=restitution,
        friction=FRICTION if reversing else 0.8,
        steps=steps,
    )


def strikes() -> str:
    """Tabulate heel strike."""
    rows = [
        _row("penalty, ankle locked", soft("locked")),
        _row("penalty, ankle hinged", soft("hinged")),
        *(_row(f"Newton, e = {e:g}, ankle locked", rigid("locked", e)) for e in (0.0, 0.5)),
    ]
    for row in rows[2:]:
        row[1] = "-"  # an impulse over the step: grows without bound as the step shrinks
    header = [
        "model",
        "peak reaction [BW]",
        "energy lost [J]",
        "largest rise [J]",
        "drift",
        "loads",
    ]
    return table("Heel strike of a body of 75 kg at 1.3 m/s, 0.4 s", header, rows)


def _row(name: str, result: StrikeResult) -> list[str]:
    energy = result.energy
    drift = abs(energy + result.loss - energy[0]).max() / energy[0]
    first = {point: result.time[result.loaded(point)][:1] for point in result.points}
    loads = "; ".join(f"{point} from {1e3 * t[0]:.0f} ms" for point, t in first.items() if len(t))
    return [
        name,
        f"{result.peak_reaction:.2f}",
        f"{energy[0] - energy[-1]:.1f}",
        f"{max(np.diff(energy).max(), 0.0):.1g}",
        f"{drift:.1g}",
        loads,
    ]


def impacts() -> str:
    """Tabulate the impact whose sliding reverses, after each law."""
    start = reversing_impact()
    before = start.leg.kinetic_energy(start.position, start.velocity)
    state = start.position, start.velocity
    given = {"restitution": RESTITUTION, "friction": FRICTION}
    found = {
        "Newton": newton_impact(start.leg, start.points, *state, **given),
        "Poisson": path_impact(start.leg, start.points[0], *state, **given, law="poisson"),
        "Stronge": path_impact(start.leg, start.points[0], *state, **given, law="stronge"),
    }
    rows = [
        [name, *(f"{x:+.3f}" for x in each.after[0]), f"{100 * each.energy_change / before:+.1f}"]
        for name, each in found.items()
    ]
    result = soft("reversing")
    leaves = next(change.time for change in result.changes if not change.closed)
    last = int(np.searchsorted(result.time, leaves))
    heel = start.leg.jacobian(result.position[last], contact_arms(start.leg, start.points))[0]
    change = 100 * (result.energy[last] / result.energy[0] - 1.0) * result.energy[0] / before
    rows.append(["penalty", *(f"{x:+.3f}" for x in heel @ result.velocity[last]), f"{change:+.1f}"])
    tangential, normal = found["Newton"].before[0]
    title = (
        f"Impact of a pinned double pendulum, heel at {tangential:+.3f} m/s along and "
        f"{normal:+.3f} m/s normal to the ground, e = {RESTITUTION:g}, mu = {FRICTION:g}"
    )
    header = ["law", "tangential after [m/s]", "normal after [m/s]", "change of energy [%]"]
    return table(title, header, rows)


def convergence() -> str:
    """Tabulate error over tolerance and over step."""
    start = heel_strike()
    run = (start.leg, start.points, PenaltyGround(), start.position, start.velocity, 0.4)
    best = simulate_strike(*run, rtol=1e-12, atol=1e-13, method="DOP853")
    rows = []
    for rtol in (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10):
        found = simulate_strike(*run, rtol=rtol, atol=0.1 * rtol)
        rows.append([f"penalty, rtol {rtol:g}", *_errors(found, best)])
    finest = rigid("locked", 0.0, 0.2, 16000)
    for steps in (500, 1000, 2000, 4000):
        rows.append([f"Newton, {steps} steps", *_errors(rigid("locked", 0.0, 0.2, steps), finest)])
    header = ["model", "last position", "energy balance [J]"]
    return table("Errors over tolerance (0.4 s) and over step (0.2 s, heel alone)", header, rows)


def _errors(found: StrikeResult, best: StrikeResult) -> list[str]:
    position = abs(found.position[-1] - best.position[-1]).max()
    balance = abs(found.energy + found.loss - found.energy[0]).max()
    return [f"{position:.1e}", f"{balance:.1e}"]


def draw(file: Path) -> None:
    """Write reaction and energy over time."""
    figure = Figure(figsize=(11.0, 3.8), layout="constrained", dpi=110)
    reaction, energy, reversing = figure.subplots(1, 3)
    for name in ("locked", "hinged"):
        each = soft(name)
        reaction.plot(1e3 * each.time, each.reaction[:, 1] / each.weight, label=f"ankle {name}")
    for index, point in enumerate(soft("locked").points):
        each = soft("locked")
        force = each.forces[:, index, 1] / each.weight
        reaction.plot(1e3 * each.time, force, ":", lw=1.2, label=f"{point}, ankle locked")
    reaction.axhline(1.0, color="0.7", lw=0.8)
    reaction.set(xlabel="time [ms]", ylabel="vertical reaction [body weight]")
    _energies(energy, {"penalty": soft("locked"), "Newton, e = 0": rigid("locked", 0.0)})
    energy.set(title="heel strike, ankle locked")
    newton = f"Newton, e = {RESTITUTION:g}"
    _energies(reversing, {"penalty": soft("reversing"), newton: rigid("reversing", RESTITUTION)})
    reversing.set(title="impact whose sliding reverses")
    for axes in (reaction, energy, reversing):
        axes.legend(fontsize="small")
        axes.grid(visible=True, alpha=0.3)
    figure.savefig(file)


def _energies(axes: Axes, results: dict[str, StrikeResult]) -> None:
    for name, each in results.items():
        axes.plot(1e3 * each.time, each.energy - each.energy[0], label=name)
    axes.set(xlabel="time [ms]", ylabel="total energy less that at 0 [J]")


if __name__ == "__main__":
    picture = target("heel_strike.png", __doc__)
    for make in (strikes, impacts, convergence):
        print(make(), end="\n\n", flush=True)
    draw(picture)
    print(f"written: {picture}")
