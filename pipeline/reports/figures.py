"""Figures of the pages as data URIs: style, axes, and panels that several pictures share.

The module uses the object interface of matplotlib: no window, no current figure. A picture is a
single panel where possible, so a page can lay pictures out beside each other or, on a phone, below
each other. Colours are of the Okabe-Ito palette, and colour is never the only distinction.
"""

from __future__ import annotations

import base64
import functools
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Concatenate, Literal, NamedTuple, ParamSpec

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.tri import Triangulation
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from foundation.base.checks import FloatArray
from pipeline.reports.pressure_field import scale_of

INK = "#222222"
BLUE, ORANGE, VERMILLION, GREY = "#0072B2", "#E69F00", "#D55E00", "#8A8A8A"
GREEN = "#009E73"
DASHES: Any = (0, (3.0, 1.6))
#: Colour, line style and width of each model; colour and line style of other lines.
MODEL_STYLE: dict[Any, Any] = {"original": (INK, "-", 2.4), "surrogate": (VERMILLION, DASHES, 1.8)}
_LINES = ((BLUE, "-"), (VERMILLION, "--"), (GREEN, "-."), (ORANGE, ":"), (INK, "-"))
#: Colour and marker of each compartment.
COMPARTMENT_STYLE: dict[Any, Any] = {"medial": (BLUE, "o"), "lateral": (ORANGE, "^")}
#: Styles of compartments with other names, in turn.
_OTHER_STYLES: Any = ((BLUE, "o"), (ORANGE, "^"), (GREEN, "s"), (VERMILLION, "D"), (INK, "v"))
#: Colour scale of pressure and depth: perceptually uniform, also for colour-blind readers.
SHADES = "viridis"

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
_MEDIA = {"svg": "image/svg+xml", "png": "image/png"}

Drawing = ParamSpec("Drawing")
#: Vertices (V, 3) [mm], tibial frame, and triangles (F, 3) of a surface.
Triangles = tuple[FloatArray, NDArray[np.int64]]
#: Size of a picture that shares its row with others, of a wide and of a square picture [inch].
PANEL, WIDE, SQUARE = (4.0, 2.7), (4.6, 3.2), (3.3, 3.3)


class Picture(NamedTuple):
    """Data URI of a picture, or a chart that a script draws, and words in its place."""

    uri: str
    text: str
    chart: dict[str, Any] | None = None


def compartment_styles(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return colour and marker of each compartment, by name."""
    return {
        name: COMPARTMENT_STYLE.get(name, _OTHER_STYLES[k % len(_OTHER_STYLES)])
        for k, name in enumerate(names)
    }


def picture(
    kind: Literal["svg", "png"],
) -> Callable[[Callable[Drawing, Figure]], Callable[Concatenate[str, Drawing], Picture]]:
    """Return a decorator: a function that draws a figure takes a text and returns a picture."""

    def wrap(draw: Callable[Drawing, Figure]) -> Callable[Concatenate[str, Drawing], Picture]:
        @functools.wraps(draw)
        def drawn(text: str, *args: Drawing.args, **kwargs: Drawing.kwargs) -> Picture:
            return Picture(data_uri(functools.partial(draw, *args, **kwargs), kind), text)

        return drawn

    return wrap


def data_uri(draw: Callable[[], Figure], kind: Literal["svg", "png"]) -> str:
    """Draw a figure in the style of the pages; return a data URI, the same for the same figure."""
    with matplotlib.rc_context(_STYLE):
        return f"data:{_MEDIA[kind]};base64,{_encoded(draw(), kind)}"


def _encoded(figure: Figure, kind: Literal["svg", "png"]) -> str:
    """Return the file of a figure in Base64."""
    content = io.BytesIO()
    if kind == "svg":
        figure.savefig(content, format="svg", metadata={"Date": None}, dpi=_DOTS_PER_INCH)
    else:
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png", dpi=_DOTS_PER_INCH)
        # A palette of 256 colours takes a third of the space.
        few = Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE)
        few.save(content, format="png", optimize=True)
    return base64.b64encode(content.getvalue()).decode("ascii")


def panel(
    size: tuple[float, float] = PANEL, *, x: str = "", y: str = "", title: str = ""
) -> tuple[Figure, Axes]:
    """Return a figure of a size [inch] and its only axes, with labels and title."""
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.set(xlabel=x, ylabel=y)
    axes.set_title(title, loc="left")
    return figure, axes


def legend_above(axes: Axes, columns: int) -> None:
    """Put the legend above the axes, where it covers no data."""
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, borderaxespad=0.2)


def line_style(name: str, place: int) -> tuple[str, Any, float]:
    """Return colour, dashes and width [points] of a line, from its name and place in a chart."""
    style: tuple[str, Any, float] = MODEL_STYLE.get(name, (*_LINES[place], 1.8))
    return style


def cycle_axis(axes: Axes, label: str) -> None:
    """Set limits, ticks and labels of axes over the gait cycle."""
    axes.set_xlim(0.0, 100.0)
    axes.set_xticks(np.arange(0.0, 101.0, 20.0))
    axes.set_xlabel("gait cycle [%]")
    axes.set_ylabel(label)
    widen(axes)


def widen(axes: Axes) -> None:
    """Widen the vertical limits of a constant quantity, which would look like numerical noise."""
    low, high = axes.get_ylim()
    least = 1e-6 * max(abs(low), abs(high), 1e-6)
    if high - low < least:
        axes.set_ylim(low - least, high + least)


def plain_number(value: float, _: float) -> str:
    """Return the tick of a logarithmic axis without powers of ten."""
    return f"{value:g}"


def plateau_map(axes: Axes, tibia: Triangles, values: FloatArray, scale: Normalize) -> None:
    """Draw positive values (F,) [unit of the scale] on the plateau (V, 3) [mm] from above."""
    mesh = _plateau(axes, tibia)
    axes.tripcolor(mesh, facecolors=np.ma.masked_less_equal(values, 0.0), cmap=SHADES, norm=scale)


def bands_of(largest: float) -> FloatArray:
    """Return the ends (B,) of round bands from 0 to at least a pressure [any unit]."""
    top, step = scale_of(largest)
    return np.asarray(step * np.arange(round(top / step) + 1))


def band_scale(bands: FloatArray) -> BoundaryNorm:
    """Return the scale that colours bands, from their ends (B,) [any unit]."""
    return BoundaryNorm(bands, matplotlib.colormaps[SHADES].N)


def pressure_contours(
    axes: Axes,
    right: FloatArray,
    up: FloatArray,
    faces: NDArray[np.int64],
    pressure: FloatArray,
    bands: FloatArray,
) -> None:
    """Draw bands (B,) of a field (V,) [any unit] at points (V,) [mm] on triangles (F, 3)."""
    shown = faces[(pressure[faces] > 0.0).any(axis=1)]
    if not len(shown):
        return
    mesh = Triangulation(right, up, shown)
    axes.tricontourf(mesh, pressure, levels=bands, cmap=SHADES, norm=band_scale(bands))
    axes.tricontour(mesh, pressure, levels=bands[:1], colors=INK, linewidths=0.7)


def pressure_map(axes: Axes, tibia: Triangles, pressure: FloatArray, bands: FloatArray) -> None:
    """Draw bands of a field (V,) [unit of the bands] on the plateau (V, 3) [mm] from above."""
    mesh = _plateau(axes, tibia)
    pressure_contours(axes, mesh.x, mesh.y, tibia[1], pressure, bands)


def _plateau(axes: Axes, tibia: Triangles) -> Triangulation:
    """Draw the plateau itself in grey, as seen without contact; return its triangles."""
    vertices, faces = tibia
    mesh = Triangulation(vertices[:, 2], vertices[:, 0], faces)
    axes.grid(visible=False)
    axes.tripcolor(mesh, facecolors=np.ones(len(faces)), cmap="Greys", vmin=0.0, vmax=8.0)
    axes.set_aspect("equal")
    return mesh


def mark_sides(axes: Axes) -> None:
    """Write the letters of its sides on a map of the plateau."""
    axes.margins(0.06)
    axes.locator_params(nbins=5)
    for x, y, letter in ((0.5, 0.93, "A"), (0.5, 0.07, "P"), (0.03, 0.5, "M"), (0.97, 0.5, "L")):
        axes.text(x, y, letter, transform=axes.transAxes, ha="center", va="center", weight="bold")


def mark_centres(axes: Axes, centres: Sequence[ArrayLike], widths: tuple[float, float]) -> None:
    """Mark centres of pressure (3,) [mm] by crosses; those with NaN are left out."""
    known = np.array([c for c in centres if np.isfinite(c).all()]).reshape(-1, 3)
    # White below the colour keeps the mark visible on every shade.
    for colour, size, width in zip(("white", VERMILLION), (7, 6), widths, strict=True):
        axes.plot(known[:, 2], known[:, 0], "+", color=colour, ms=size, mew=width)


@picture("png")
def plateau_pair(
    tibia: Triangles,
    values: FloatArray,
    titles: Sequence[str],
    label: str,
    *,
    size: tuple[float, float],
    scale: Normalize,
    bands: FloatArray | None = None,
    centres: Sequence[Sequence[ArrayLike]] = (),
) -> Figure:
    """Draw two maps of values (2, F), with bands (2, V), [unit of `label`] beside each other.

    `centres` are centres of pressure (3,) [mm] on each map; without centres, the sides are marked.
    """
    figure = Figure(figsize=size, layout="constrained")
    halves = list(figure.subplots(1, 2, sharex=True, sharey=True))
    halves[0].set_ylabel("anterior [mm]")
    for k, axes in enumerate(halves):
        axes.set_xlabel("lateral [mm]")
        axes.set_title(titles[k], loc="left")
        if bands is None:
            plateau_map(axes, tibia, values[k], scale)
        else:
            pressure_map(axes, tibia, values[k], bands)
        if centres:
            mark_centres(axes, centres[k], (2.6, 1.2))
        else:
            mark_sides(axes)
    shade = ScalarMappable(scale, SHADES)
    figure.colorbar(shade, ax=halves, label=label, shrink=0.8, pad=0.02)
    return figure
