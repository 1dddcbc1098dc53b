"""Picture of the example: positions, torques, and how the orthoses turn on the body."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.literature.popovic.example import driven, example
from dynamics.mechanics.chains import Assembly, ChainsResult

COLOURS = {"stance orthosis": "tab:red", "swing orthosis": "tab:blue"}


def picture() -> Figure:
    """Draw positions, torques in the joints of the orthoses, and what is left to the legs."""
    found, system, alone = driven(), example()["assembly"](), example()["alone"]()
    figure = Figure(figsize=(13.0, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for shift, row in enumerate(range(0, len(found.time), 10)):
        draw(left, system, found, row, 0.6 * shift)
    left.set(aspect="equal", xlabel="x [m], shifted by 0.6 m each 0.1 s", ylabel="y [m]",
             ylim=(-0.1, 2.1), title="8 segments of a body, 8 of two orthoses")  # fmt: skip
    for name, column in example()["JOINTS"].items():
        middle.plot(found.time, found.torques[:, column], label=name)
    middle.set(xlabel="time [s]", ylabel="torque in the joint of the orthosis [N m]",
               title="driving torques")  # fmt: skip
    for column, name in ((1, "ankle"), (2, "knee"), (3, "hip")):
        (line,) = right.plot(found.time, found.torques[:, column], label=f"{name}, with orthosis")
        right.plot(found.time, alone.torques[:, column], ":", color=line.get_color(),
                   label=f"{name}, alone")  # fmt: skip
    right.set(xlabel="time [s]", ylabel="torque in the joint of the body [N m]",
              title="left to the standing leg")  # fmt: skip
    for axes in (left, middle, right):
        axes.legend(frameon=False, fontsize="small")
    return figure


def draw(axes: Axes, system: Assembly, found: ChainsResult, row: int, shift: float) -> None:
    """Draw the segments of all chains at one instant."""
    start, labelled = 0, set()
    for chain in system.chains:
        part = slice(start, start + len(chain.segments))
        start = part.stop
        joints = found.joints[row, part]
        angle = found.angles[row, part.stop - 1]
        tip = joints[-1] + chain.lengths[-1] * np.array([np.cos(angle), np.sin(angle)])
        x, y = np.vstack([joints, tip]).T
        name = chain.name if chain.name in COLOURS else "body"
        label = name if row == 0 and name not in labelled else None
        labelled.add(name)
        axes.plot(x + shift, y, "o-", color=COLOURS.get(name, "black"), markersize=3,
                  linewidth=1.5, label=label)  # fmt: skip
