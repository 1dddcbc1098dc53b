"""Pictures of a study's page; as those of `pipeline.reports.figures`, each returns a data URI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from numpy.typing import ArrayLike

from pipeline.reports.figures import (
    BLUE,
    GREY,
    INK,
    PANEL,
    VERMILLION,
    cycle_axis,
    legend_above,
    panel,
    picture,
    plain_number,
)

_MOST_BINS = 40


@picture("svg")
def histogram_panel(values: ArrayLike, nominal: float, label: str) -> Figure:
    """Draw how an output (N,) is spread, with its median, its 95 % and its nominal value."""
    figure, axes = panel()
    known = np.asarray(values, dtype=float)
    bins = int(np.clip(np.sqrt(len(known)), 5, _MOST_BINS))
    middle = 0.5 * (known.min() + known.max())
    # An output that does not vary still needs a frame of some width.
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
    percent : (S,)
        Instants [% of the cycle].
    waves : (N, S)
        A waveform per run.
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
    """Draw the inputs that matter to an output, the weightiest on top.

    Parameters
    ----------
    names : sequence of str
        The inputs, in falling weight.
    values : (D,)
        Total Sobol indices, or correlations.
    label, title : str
        Name of the values, and of the output.
    half_widths : (D,), optional
        Half widths of the intervals of the values.
    first : (D,), optional
        First-order indices, drawn as points.
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
    """Draw the mean over the first `runs` and its interval of `mean` ± `half_width`, all (K,)."""
    figure, axes = panel()
    runs, mean, half = (np.asarray(curve[key], float) for key in ("runs", "mean", "half_width"))
    axes.fill_between(runs, mean - half, mean + half, color=BLUE, alpha=0.2, lw=0, label="95 %")
    axes.plot(runs, mean, color=BLUE, lw=1.8, label="mean")
    # The first few runs alone would set the scale.
    last = max(half[len(half) // 3], 1e-9 * abs(mean[-1]), 1e-12)
    axes.set_ylim(mean[-1] - 3.0 * last, mean[-1] + 3.0 * last)
    axes.set_xscale("log")
    # Few runs are less than two decades, whose ticks in powers of ten overlap.
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(plain_number))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("runs")
    axes.set_ylabel(label)
    legend_above(axes, 2)
    return figure
