"""Pictures of a walk's page; as those of `pipeline.reports.figures`, each returns a data URI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from pipeline.reports.figures import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    VERMILLION,
    cycle_axis,
    legend_above,
    panel,
    picture,
)

_LINES = ((BLUE, "-"), (VERMILLION, "--"), ("#009E73", "-."), (ORANGE, ":"), (INK, "-"))


@picture("svg")
def moment_panel(
    percent: ArrayLike,
    moment: ArrayLike,
    label: str,
    expected: Sequence[tuple[tuple[float, float], tuple[float, float]]],
) -> Figure:
    """Draw a joint moment (N,) over the stride, and boxes where its peaks are expected.

    Parameters
    ----------
    percent, moment : (N,)
        Instants [%] and moment [N m/kg].
    label : str
        Of the moment.
    expected : sequence
        Of each peak its phase (begin, end) [%] and its range (low, high) [N m/kg].
    """
    figure, axes = panel()
    for (begin, end), (low, high) in expected:
        size = (end - begin, high - low)
        axes.add_patch(Rectangle((begin, low), *size, color=GREY, alpha=0.22, lw=0))
    axes.axhline(0.0, color=GREY, lw=0.8)
    axes.plot(percent, moment, color=BLUE, lw=1.8)
    cycle_axis(axes, f"{label} [N·m/kg]")
    return figure


@picture("svg")
def axial_panel(percent: ArrayLike, force: ArrayLike, reference: float) -> Figure:
    """Draw the tibiofemoral axial force (N,) [body weights] and a measured peak."""
    figure, axes = panel()
    axes.plot(percent, force, color=BLUE, lw=1.8, label="this walk")
    dashes = (0, (3.0, 1.6))
    axes.axhline(reference, color=VERMILLION, lw=1.6, ls=dashes, label="mean peak in vivo")
    cycle_axis(axes, "axial force [body weights]")
    legend_above(axes, 2)
    return figure


@picture("svg")
def lines_panel(percent: ArrayLike, lines: Mapping[str, ArrayLike], label: str) -> Figure:
    """Draw up to five quantities (N,) over the stride, told apart by colour and dashes."""
    figure, axes = panel()
    for (name, values), (colour, dashes) in zip(lines.items(), _LINES, strict=False):
        axes.plot(percent, values, color=colour, ls=dashes, lw=1.7, label=name)
    cycle_axis(axes, label)
    if len(lines) > 1:
        legend_above(axes, 2)
    return figure
