"""Picture of two legs at heel strike: posture, reactions beside measured ones, energy."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.literature.kaplan.gait import computed, measured
from benchmarks.literature.kaplan.simulations import both_legs, two_legs
from dynamics.mechanics.ground import Leg
from foundation.base.checks import FloatArray


def picture() -> Figure:
    """Draw two legs at heel strike, forces of the feet after the strike, and the energy."""
    legs, result = both_legs()[0], two_legs("printed")
    figure = Figure(figsize=(11.0, 3.8), layout="constrained", dpi=110)
    posture, reaction, energy = figure.subplots(1, 3)
    strike = next(each.time for each in result.changes if each.point == "swing heel")
    _posture(posture, legs, result.position[int(np.searchsorted(result.time, strike))])
    profiles = {"eq. 3 and 4": computed(), "ours": computed("ours"), "measured": measured()}
    for style, (name, profile) in zip(("-", "--", ":"), profiles.items(), strict=True):
        if profile is not None:
            time = 1e3 * profile.time
            reaction.plot(time, profile.front, f"C1{style}", label=f"front foot, {name}")
            reaction.plot(time, profile.back, f"C0{style}", label=f"back foot, {name}")
    reaction.set(xlabel="time after the strike [ms]", ylabel="vertical force [body weight]")
    for name, each in (("eq. 3 and 4", result), ("ours", two_legs("ours"))):
        energy.plot(1e3 * each.time, each.energy - each.energy[0], label=name)
    energy.set(xlabel="time [ms]", ylabel="total energy less that at 0 [J]")
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
