"""Picture of the document's examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.literature.examples import mechanics_example
from benchmarks.literature.kolesnikov.examples import muscle_forces, two_joint_muscles
from benchmarks.literature.kolesnikov.motion import (
    OTHER_RATIO,
    PRINTED_RATIO,
    height_and_reaction,
    two_bodies,
)
from benchmarks.literature.kolesnikov.structures import LINKS, PRINTED
from foundation.base.checks import FloatArray


def picture() -> Figure:
    """Draw two-joint muscles, five links, an oblique impact, and two bodies at a wall."""
    figure = Figure(figsize=(13.0, 4.0), layout="constrained", dpi=110)
    two_joint, five, oblique, bodies = figure.subplots(1, 4, width_ratios=[0.9, 0.9, 1.2, 1.2])
    _draw_members(two_joint, two_joint_muscles(), muscle_forces().forces)
    two_joint.set_title("two-joint muscles,\ntaut ones red")
    _draw_square(five)
    _draw_oblique(oblique)
    _draw_bodies(bodies)
    return figure


def _draw_members(axes: Axes, structure: Any, forces: FloatArray) -> None:
    joints = np.array([segment.joint for segment in structure.segments])
    axes.plot(*joints.T, "o-", color="0.6", markersize=8, linewidth=3)
    for member, force in zip(structure.members, forces, strict=True):
        _draw_link(axes, member.start, member.end, force / forces.max())
    axes.set_aspect("equal")
    axes.set_axis_off()


def _draw_link(axes: Axes, start: FloatArray, end: FloatArray, share: float) -> None:
    axes.plot(
        *np.array([start, end]).T,
        color="C3" if share > 0.0 else "0.75",
        linewidth=0.8 + 4.0 * share,
        linestyle="-" if share > 0.0 else ":",
    )


def _draw_square(axes: Axes) -> None:
    axes.fill([0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0], color="0.85")
    axes.arrow(0.5, 0.5, 0.0, -0.3, width=0.02, color="k")
    for number, ((at, degrees), force) in enumerate(zip(LINKS, PRINTED[-1], strict=True), 1):
        along = np.array([np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))])
        start, end = np.array(at), np.array(at) + 0.7 * along
        _draw_link(axes, start, end, force / PRINTED[-1].max())
        x, y = np.array(at) + 0.8 * along
        axes.text(x, y, str(number), ha="center", va="center")
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title("five links,\ntaut ones red")


def _draw_oblique(axes: Axes) -> None:
    data = mechanics_example("oblique_impact")
    weight, end = data["MASS"] * data["GRAVITY"], 1.0
    for step, style in ((data["STEP"], "C1.-"), (1e-3, "C0-")):
        reaction = height_and_reaction(step, end)[1]
        axes.plot(
            step * np.arange(reaction.size), reaction / weight, style, label=f"τ = {step:g} s"
        )
    axes.axhline(6.0, color="0.6", linestyle=":", label="printed")
    axes.set_xlabel("time [s]")
    axes.set_ylabel("reaction / weight")
    axes.set_title("oblique impact, eq. 41")
    axes.legend(fontsize=8)


def _draw_bodies(axes: Axes) -> None:
    for ratio, style in ((PRINTED_RATIO, "-"), (OTHER_RATIO, "--")):
        motion = two_bodies(ratio)
        for body in (0, 1):
            axes.plot(
                motion.time,
                motion.position[:, body],
                f"C{body}{style}",
                label=f"body {body + 1}, S₂ = {ratio:g} S₁",
            )
    axes.axhline(0.0, color="0.6", linewidth=0.8)
    axes.set_xlabel("time √(S₁/M)")
    axes.set_ylabel("displacement √(S₁/M) / V")
    axes.set_title("two bodies at a wall")
    axes.legend(fontsize=8)
