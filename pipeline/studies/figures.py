"""Pictures of the pages of studies and walks; each function returns a data URI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from numpy.typing import ArrayLike

from pipeline.reports.figures import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    PANEL,
    VERMILLION,
    cycle_axis,
    legend_above,
    panel,
    picture,
    plain_number,
)

_MOST_BINS = 40
_LINES = ((BLUE, "-"), (VERMILLION, "--"), ("#009E73", "-."), (ORANGE, ":"), (INK, "-"))


@picture("svg")
def histogram_panel(values: ArrayLike, nominal: float, label: str) -> Figure:
    """Draw the histogram of an output (N,) [1] with median, 95 % interval and nominal value."""
    figure, axes = panel()
    known = np.asarray(values, dtype=float)
    bins = int(np.clip(np.sqrt(len(known)), 5, _MOST_BINS))
    middle = 0.5 * (known.min() + known.max())
    # A constant output needs a frame of some width.
    half = max(0.5 * np.ptp(known), 1e-6 * abs(middle), 1e-12)
    axes.hist(known, bins=bins, range=(middle - half, middle + half), color=BLUE, alpha=0.55)
    low, median, high = np.percentile(known, (2.5, 50.0, 97.5))
    axes.axvspan(low, high, color=GREY, alpha=0.15, lw=0, label="95 %")
    axes.axvline(median, color=INK, lw=1.6, label="median")
    axes.axvline(nominal, color=VERMILLION, lw=1.6, ls=(0, (3.0, 1.6)), label="nominal")
    axes.set_xlabel(label)
    axes.set_ylabel("runs")
    legend_above(axes, 3)
    return figure


@picture("svg")
def band_panel(percent: ArrayLike, waves: ArrayLike, label: str) -> Figure:
    """Draw the median and two bands of a waveform.

    Parameters
    ----------
    percent : (S,) array_like
        Instants [% of the cycle].
    waves : (N, S) array_like
        A waveform per run, in the unit of the label [1].
    label : str
        Name and unit.
    """
    figure, axes = panel()
    shares = np.percentile(np.asarray(waves, dtype=float), (5.0, 25.0, 50.0, 75.0, 95.0), axis=0)
    axes.fill_between(percent, shares[0], shares[4], color=BLUE, alpha=0.18, lw=0, label="5–95 %")
    axes.fill_between(percent, shares[1], shares[3], color=BLUE, alpha=0.35, lw=0, label="25–75 %")
    axes.plot(percent, shares[2], color=INK, lw=1.6, label="median")
    cycle_axis(axes, label)
    legend_above(axes, 3)
    return figure


@picture("svg")
def tornado_panel(
    names: Sequence[str],
    values: ArrayLike,
    label: str,
    title: str,
    half_widths: ArrayLike | None = None,
    first: ArrayLike | None = None,
) -> Figure:
    """Draw the influence of inputs on an output, the largest on top.

    Parameters
    ----------
    names : sequence of str
        The D inputs in order of decreasing influence.
    values : (D,) array_like
        Total Sobol indices, or correlations [1].
    label, title : str
        Name of the values, and of the output.
    half_widths : (D,) array_like, optional
        Half widths of the intervals of the values [1].
    first : (D,) array_like, optional
        First-order indices, drawn as points [1].
    """
    figure, axes = panel((PANEL[0], 1.1 + 0.24 * len(names)))
    rows = np.arange(len(names))
    axes.barh(rows, values, color=BLUE, alpha=0.7, height=0.62, xerr=half_widths, ecolor=INK)
    if first is not None:
        axes.plot(first, rows, "D", color=VERMILLION, ms=4.0, label="first order")
        axes.legend(loc="lower right")
    axes.axvline(0.0, color=GREY, lw=1.0)
    axes.set_yticks(rows, names)
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.set_title(title, loc="left")
    return figure


@picture("svg")
def convergence_panel(curve: Mapping[str, ArrayLike], label: str) -> Figure:
    """Draw the mean over the first runs with its interval.

    Parameters
    ----------
    curve : mapping
        `runs`, `mean` and `half_width`, (K,) each, in the unit of the label [1].
    label : str
        Name and unit.
    """
    figure, axes = panel()
    runs, mean, half = (np.asarray(curve[key], float) for key in ("runs", "mean", "half_width"))
    axes.fill_between(runs, mean - half, mean + half, color=BLUE, alpha=0.2, lw=0, label="95 %")
    axes.plot(runs, mean, color=BLUE, lw=1.8, label="mean")
    # The interval of the first few runs would determine the scale.
    last = max(half[len(half) // 3], 1e-9 * abs(mean[-1]), 1e-12)
    axes.set_ylim(mean[-1] - 3.0 * last, mean[-1] + 3.0 * last)
    axes.set_xscale("log")
    # In less than two decades, ticks at powers of ten are too few.
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(plain_number))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("runs")
    axes.set_ylabel(label)
    legend_above(axes, 2)
    return figure


@picture("svg")
def moment_panel(
    percent: ArrayLike,
    moment: ArrayLike,
    label: str,
    expected: Sequence[tuple[tuple[float, float], tuple[float, float]]],
) -> Figure:
    """Draw a joint moment over the stride, with boxes around the expected peaks.

    Parameters
    ----------
    percent, moment : (N,) array_like
        Instants [% of the stride] and moment [N m/kg].
    label : str
        Name of the moment.
    expected : sequence
        Phase (begin, end) [% of the stride] and range (low, high) [N m/kg] of each peak.
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
    """Draw the axial force (N,) [body weights] over the stride (N,) [%] and a measured peak."""
    figure, axes = panel()
    axes.plot(percent, force, color=BLUE, lw=1.8, label="this walk")
    dashes = (0, (3.0, 1.6))
    axes.axhline(reference, color=VERMILLION, lw=1.6, ls=dashes, label="mean peak in vivo")
    cycle_axis(axes, "axial force [body weights]")
    legend_above(axes, 2)
    return figure


@picture("svg")
def lines_panel(percent: ArrayLike, lines: Mapping[str, ArrayLike], label: str) -> Figure:
    """Draw up to five quantities (N,), in the unit of the label [1], over the stride (N,) [%]."""
    figure, axes = panel()
    for (name, values), (colour, dashes) in zip(lines.items(), _LINES, strict=False):
        axes.plot(percent, values, color=colour, ls=dashes, lw=1.7, label=name)
    cycle_axis(axes, label)
    if len(lines) > 1:
        legend_above(axes, 2)
    return figure
