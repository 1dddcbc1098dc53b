"""Pictures of how well a surrogate does: parity, residuals, learning curve, quantiles.

As in `pipeline.reports.figures`, each function takes arrays and returns an image as a data URI.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import ArrayLike, NDArray

from pipeline.reports.figures import (
    BLUE,
    COMPARTMENT_STYLE,
    GREY,
    INK,
    VERMILLION,
    legend_above,
    panel,
    picture,
)
from surrogates.families.cross_validation import NORMAL_95

_MOST_ERRORS = 6.0
_SQUARE = (3.3, 3.3)


@picture("svg")
def parity_panel(
    truth: Mapping[str, ArrayLike], prediction: Mapping[str, ArrayLike], title: str, unit: str
) -> Figure:
    """Draw predicted over true values of one quantity, both compartments in one panel.

    Parameters
    ----------
    truth, prediction : mapping
        Compartment -> (N,) values in `unit`; NaN is left out.
    title, unit : str
        Name and unit of the quantity.
    """
    figure, axes = panel(_SQUARE)
    values = np.concatenate([np.ravel(v) for v in (*truth.values(), *prediction.values())])
    known = values[np.isfinite(values)]
    ends = np.array([known.min(), known.max()]) if known.size else np.array([0.0, 1.0])
    # A quantity that is nearly constant still needs a frame of some width.
    ends = ends + np.array([-1.0, 1.0]) * max(0.04 * np.ptp(ends), 1e-9 * np.abs(ends).max(), 1e-12)
    axes.plot(ends, ends, color=GREY, lw=1.0, zorder=1)
    for name, (colour, marker) in COMPARTMENT_STYLE.items():
        axes.scatter(
            *(truth[name], prediction[name]), s=9, c=colour, marker=marker, alpha=0.55, lw=0,
            label=name, rasterized=True, zorder=2,
        )  # fmt: skip
    axes.set(xlim=ends, ylim=ends, aspect="equal")
    axes.set_title(f"{title} [{unit}]", loc="left")
    axes.set_xlabel("original")
    axes.set_ylabel("surrogate")
    axes.locator_params(nbins=5)
    axes.legend(loc="upper left", handletextpad=0.1, borderaxespad=0.1, markerscale=1.6)
    return figure


@picture("svg")
def residual_panel(
    over: Mapping[str, ArrayLike],
    residual: Mapping[str, ArrayLike],
    rms: float,
    labels: tuple[str, str],
) -> Figure:
    """Draw surrogate less original over another quantity, both compartments in one panel.

    Parameters
    ----------
    over, residual : mapping
        Compartment -> (N,) values; NaN is left out.
    rms : float
        Root mean square of the residuals of both, drawn as a band.
    labels : two str
        Name and unit of what lies below, and of the residual.
    """
    figure, axes = panel(_SQUARE)
    axes.axhspan(-rms, rms, color=GREY, alpha=0.14, lw=0, label="± RMS", zorder=0)
    axes.axhline(0.0, color=GREY, lw=1.0, zorder=1)
    for name, (colour, marker) in COMPARTMENT_STYLE.items():
        axes.scatter(
            *(over[name], residual[name]), s=12, c=colour, marker=marker, alpha=0.55, lw=0,
            label=name, rasterized=True, zorder=2,
        )  # fmt: skip
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.locator_params(axis="x", nbins=5)
    legend_above(axes, 3)
    return figure


@picture("svg")
def learning_panel(samples: ArrayLike, errors: ArrayLike, label: str) -> Figure:
    """Draw a cross-validated error over the number of samples.

    Parameters
    ----------
    samples, errors : (N,)
        Of each round's surrogates and, last, of the final ones, which are marked.
    label : str
        Name and unit of the error.
    """
    figure, axes = panel()
    counts, values = np.asarray(samples, dtype=float), np.asarray(errors, dtype=float)
    axes.plot(counts, values, "o-", color=BLUE, lw=1.8, ms=4.5, label="rounds (c)")
    axes.plot(counts[-1:], values[-1:], "D", color=VERMILLION, ms=7.0, label="final (g)")
    if values.min() > 0.0:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(plain_number))
        # Less than two decades have hardly a tick of their own.
        few = values.max() < 100.0 * values.min()
        axes.yaxis.set_minor_formatter(FuncFormatter(plain_number) if few else NullFormatter())
        axes.yaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
        axes.set_ylim(0.7 * values.min(), 1.4 * values.max())
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel("samples of both compartments")
    axes.set_ylabel(label)
    legend_above(axes, 2)
    return figure


def plain_number(value: float, _: float) -> str:
    """Write a tick of a logarithmic axis without powers of ten."""
    return f"{value:g}"


@picture("svg")
def quantile_panel(compartment: str, normal: ArrayLike, held_out: ArrayLike) -> Figure:
    """Draw the quantiles of standardised held-out residuals over those of a normal distribution.

    Parameters
    ----------
    compartment : str
        Which one, for colour and title.
    normal, held_out : (N,)
        Quantiles at the same probabilities. What is beyond six standard errors is drawn there.
    """
    figure, axes = panel(_SQUARE)
    x, y = np.asarray(normal, dtype=float), np.asarray(held_out, dtype=float)
    reach = 1.08 * min(max(np.abs(x).max(), np.abs(y).max()), _MOST_ERRORS)
    ends = np.array([-reach, reach])
    axes.axvspan(-NORMAL_95, NORMAL_95, color=GREY, alpha=0.12, lw=0)
    axes.plot(ends, ends, color=GREY, lw=1.0, zorder=1)
    colour, marker = COMPARTMENT_STYLE[compartment]
    beyond = np.clip(y, *ends)
    axes.plot(x, beyond, marker, color=colour, ms=3.2, mew=0.0, alpha=0.8, clip_on=False, zorder=2)
    axes.set(xlim=ends, ylim=ends, aspect="equal")
    axes.set_title(compartment, loc="left")
    axes.set_xlabel("normal quantile")
    axes.set_ylabel("residual over standard error")
    axes.locator_params(nbins=7)
    return figure


@picture("svg")
def domain_panel(
    points: NDArray[np.float64],
    flagged: NDArray[np.bool_],
    path: NDArray[np.float64],
    title: str,
    labels: Sequence[str],
) -> Figure:
    """Draw where in the box poses are trusted, over two of its variables.

    Parameters
    ----------
    points : (N, 2) float64
        Poses of the box.
    flagged : (N,) bool
        Which are outside the domain.
    path : (K, 2) float64
        A gait cycle.
    title : str
        Name of the compartment.
    labels : two str
        Names and units of the variables.
    """
    figure, axes = panel(_SQUARE)
    for chosen, label, colour, marker in (
        (flagged, "flagged", VERMILLION, "x"),
        (~flagged, "trusted", BLUE, "o"),
    ):
        axes.scatter(
            points[chosen, 0], points[chosen, 1], s=12, c=colour, marker=marker, lw=0.8, alpha=0.6,
            label=label, rasterized=True,
        )  # fmt: skip
    axes.plot(*path.T, color=INK, lw=1.4, label="gait cycle")
    axes.set_title(title, loc="left", pad=20)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    legend_above(axes, 3)
    return figure
