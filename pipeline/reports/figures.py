"""Pictures of the report: each function takes arrays and returns an image as a data URI.

Drawn with matplotlib's object interface: no window, no current figure. Every picture is a single
panel, so that a page can lay them out beside each other or, on a phone, below each other. Colours
are of the Okabe-Ito palette, and nothing is told by colour alone.
"""

from __future__ import annotations

import base64
import functools
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.tri import Triangulation
from numpy.typing import ArrayLike, NDArray
from PIL import Image

INK = "#222222"
BLUE, ORANGE, VERMILLION, GREY = "#0072B2", "#E69F00", "#D55E00", "#8A8A8A"
#: Colour, line style and width of each model.
MODEL_STYLE: dict[Any, Any] = {
    "original": (INK, "-", 2.4),
    "surrogate": (VERMILLION, (0, (3.0, 1.6)), 1.8),
}
#: Colour and marker of each compartment.
COMPARTMENT_STYLE: dict[Any, Any] = {"medial": (BLUE, "o"), "lateral": (ORANGE, "^")}
#: Colour scale of pressure and depth: evenly stepped, also to colour-blind eyes.
SHADES = "cividis"

_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9.5,
    "axes.grid": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.7,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    # Ids in the file would differ from run to run without a fixed salt.
    "svg.hashsalt": "report",
}
_DOTS_PER_INCH = 150
#: Of a picture that shares its row with others [inch].
PANEL = (4.0, 2.7)


def picture(kind: Literal["svg", "png"]) -> Callable[[Callable[..., Figure]], Callable[..., str]]:
    """Make a function that draws a figure return it as a data URI, in the report's style."""

    def wrap(draw: Callable[..., Figure]) -> Callable[..., str]:
        @functools.wraps(draw)
        def drawn(*args: object, **kwargs: object) -> str:
            with matplotlib.rc_context(_STYLE):
                return data_uri(draw(*args, **kwargs), kind)

        return drawn

    return wrap


def data_uri(figure: Figure, kind: Literal["svg", "png"]) -> str:
    """Return a figure as a data URI; the same figure gives the same text."""
    content = io.BytesIO()
    if kind == "svg":
        FigureCanvasSVG(figure).print_figure(
            content, format="svg", metadata={"Date": None}, dpi=_DOTS_PER_INCH
        )
        media = "image/svg+xml"
    else:
        FigureCanvasAgg(figure).print_figure(content, format="png", dpi=_DOTS_PER_INCH)
        content = _palette(content)
        media = "image/png"
    return f"data:{media};base64,{base64.b64encode(content.getvalue()).decode('ascii')}"


def _palette(content: io.BytesIO) -> io.BytesIO:
    """Return a PNG with a palette of 256 colours, which takes a third of the space."""
    smaller = io.BytesIO()
    few = Image.open(content).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    few.save(smaller, format="png", optimize=True)
    return smaller


def panel(size: tuple[float, float] = PANEL) -> tuple[Figure, Axes]:
    """Return a figure [inch] and its only axes."""
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.add_subplot()


def legend_above(axes: Axes, columns: int) -> None:
    """Put the legend above the axes, where it hides nothing."""
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, borderaxespad=0.2)


@picture("svg")
def path_panel(
    knots: Mapping[str, ArrayLike],
    curve: Mapping[str, ArrayLike],
    gait: Mapping[str, ArrayLike],
    half_width: float | None,
    label: str,
) -> Figure:
    """Draw one coordinate of the reference path over flexion.

    Parameters
    ----------
    knots, curve, gait : mapping
        `flexion` [deg] and `value` of the path's knots, of the path between them, and of the
        poses of the simulated gait cycle.
    half_width : float, optional
        Half width of the sampled box about the path, in the value's unit.
    label : str
        Name and unit of the coordinate.
    """
    figure, axes = panel()
    flexion, value = np.asarray(curve["flexion"]), np.asarray(curve["value"])
    if half_width is not None:
        band = (value - half_width, value + half_width)
        axes.fill_between(flexion, *band, color=BLUE, alpha=0.13, lw=0, label="sampled")
    axes.plot(gait["flexion"], gait["value"], color=VERMILLION, lw=1.2, ls="-", label="gait cycle")
    axes.plot(flexion, value, color=BLUE, lw=2.0, label="path")
    axes.plot(knots["flexion"], knots["value"], "o", color=BLUE, ms=3.5)
    axes.set_xlabel("flexion [°]")
    axes.set_ylabel(label)
    legend_above(axes, 3)
    return figure


@picture("svg")
def input_panel(percent: ArrayLike, value: ArrayLike, label: str) -> Figure:
    """Draw one input (N,) over the gait cycle (N,) [%]."""
    figure, axes = panel((3.3, 2.2))
    axes.plot(percent, value, color=BLUE, lw=1.8)
    cycle_axis(axes, label)
    return figure


@picture("svg")
def cycle_panel(
    percent: Mapping[str, ArrayLike], values: Mapping[str, ArrayLike], label: str
) -> Figure:
    """Draw one quantity over the gait cycle, the models overlaid.

    Parameters
    ----------
    percent, values : mapping
        Model -> (N,) instants [% of the cycle] and values; NaN leaves a gap.
    label : str
        Name and unit of the quantity.
    """
    figure, axes = panel()
    for name in values:
        colour, dashes, width = MODEL_STYLE[name]
        axes.plot(percent[name], values[name], color=colour, ls=dashes, lw=width, label=name)
    cycle_axis(axes, label)
    legend_above(axes, 2)
    return figure


def cycle_axis(axes: Axes, label: str) -> None:
    """Let the axes run over the gait cycle."""
    axes.set_xlim(0.0, 100.0)
    axes.set_xticks(np.arange(0.0, 101.0, 20.0))
    axes.set_xlabel("gait cycle [%]")
    axes.set_ylabel(label)
    low, high = axes.get_ylim()
    # Without this a quantity that does not change is drawn as numerical noise.
    least = 1e-6 * max(abs(low), abs(high), 1e-6)
    if high - low < least:
        axes.set_ylim(low - least, high + least)


@picture("png")
def pressure_panel(
    vertices_mm: NDArray[np.float64],
    faces: NDArray[np.int64],
    pressure_MPa: NDArray[np.float64],
    limit_MPa: float,
    centres_mm: Sequence[Sequence[ArrayLike]],
    titles: Sequence[str],
) -> Figure:
    """Draw the pressure on the plateau seen from above, two models beside each other.

    Parameters
    ----------
    vertices_mm : (V, 3) float64
        Tibial frame: anterior, superior, lateral [mm].
    faces : (F, 3) int64
        Triangles.
    pressure_MPa : (2, F) float64
        Pressure of each triangle under either model.
    limit_MPa : float
        Upper end of the colour scale, which all pictures share.
    centres_mm : two sequences of (3,)
        Centres of pressure to mark; NaN where there is no contact.
    titles : two str
        What stands over each half.
    """
    figure = Figure(figsize=(6.4, 2.5), layout="constrained")
    halves = figure.subplots(1, 2, sharex=True, sharey=True)
    mesh = Triangulation(vertices_mm[:, 2], vertices_mm[:, 0], faces)
    scale = Normalize(0.0, limit_MPa)
    for axes, values, centres, title in zip(halves, pressure_MPa, centres_mm, titles, strict=True):
        _plateau(axes, mesh, values, scale)
        _marks(axes, centres)
        axes.set(aspect="equal", xlabel="lateral [mm]")
        axes.set_title(title, loc="left")
    halves[0].set_ylabel("anterior [mm]")
    shade = ScalarMappable(scale, SHADES)
    figure.colorbar(shade, ax=list(halves), label="pressure [MPa]", shrink=0.8, pad=0.02)
    return figure


def _plateau(
    axes: Axes, mesh: Triangulation, pressure: NDArray[np.float64], scale: Normalize
) -> None:
    axes.grid(visible=False)
    # Where nothing touches the plateau itself is seen, in grey.
    axes.tripcolor(mesh, facecolors=np.ones(len(pressure)), cmap="Greys", vmin=0.0, vmax=8.0)
    shown = np.ma.masked_less_equal(pressure, 0.0)
    axes.tripcolor(mesh, facecolors=shown, cmap=SHADES, norm=scale)


def _marks(axes: Axes, centres: Sequence[ArrayLike]) -> None:
    known = np.array([c for c in centres if np.isfinite(c).all()]).reshape(-1, 3)
    # White below the colour, so that the mark is seen on every shade.
    for colour, size, width in (("white", 7, 2.6), (VERMILLION, 6, 1.2)):
        axes.plot(known[:, 2], known[:, 0], "+", color=colour, ms=size, mew=width)
