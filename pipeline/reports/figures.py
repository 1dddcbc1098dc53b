"""Figures of the pages as data URIs: style, axes, and panels that several pictures share.

The module uses the object interface of matplotlib: no window, no current figure. A picture is a
single panel where possible, so a page can lay pictures out beside each other or, on a phone, below
each other. Colours are of the Okabe-Ito palette, and colour is never the only distinction.
"""

from __future__ import annotations

import base64
import functools
import io
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, NamedTuple, ParamSpec

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from matplotlib.tri import Triangulation
from numpy.typing import NDArray
from PIL import Image

from foundation.base.checks import FloatArray
from pipeline.reports.pressure_field import scale_of, vertex_pressures

INK = "#222222"
BLUE, ORANGE, VERMILLION, GREY = "#0072B2", "#E69F00", "#D55E00", "#8A8A8A"
GREEN = "#009E73"
DASHES: Any = (0, (3.0, 1.6))
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


def bands_of(largest: float) -> FloatArray:
    """Return the ends (B,) of round bands from 0 to at least a pressure [any unit]."""
    top, step = scale_of(largest)
    return np.asarray(step * np.arange(round(top / step) + 1))


def band_scale(bands: FloatArray) -> BoundaryNorm:
    """Return the scale that colours bands, from their ends (B,) [any unit]."""
    return BoundaryNorm(bands, matplotlib.colormaps[SHADES].N)


def pressure_map(axes: Axes, surface: Triangles, values: FloatArray, bands: FloatArray) -> None:
    """Draw bands of a field (V,) [unit of the bands] on a surface (V, 3) [mm] from above."""
    vertices, faces = surface
    right, up = vertices[:, 2], vertices[:, 0]
    axes.grid(visible=False)
    # The surface itself in grey, as seen without contact.
    bare = np.ones(len(faces))
    axes.tripcolor(right, up, faces, facecolors=bare, cmap="Greys", vmin=0.0, vmax=8.0)
    axes.set_aspect("equal")
    shown = faces[(values[faces] > 0.0).any(axis=1)]
    if len(shown):
        mesh = Triangulation(right, up, shown)
        axes.tricontourf(mesh, values, levels=bands, cmap=SHADES, norm=band_scale(bands))
        axes.tricontour(mesh, values, levels=bands[:1], colors=INK, linewidths=0.7)


# Width of a map of the plateau and of its parts [inch], and heights of title and labels.
_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 5.6, 0.62, 0.8, 0.34, 0.5


@picture("png")
def plateau_map(
    tibia: Triangles,
    values: FloatArray,
    limit: float,
    titles: Sequence[str],
    unit: str,
) -> Figure:
    """Draw bands up to `limit` of a field (V,) [`unit`] on the plateau (V, 3) [mm] from above.

    Lateral is to the right and anterior up. `titles` stand over the medial and the lateral half.
    """
    points = tibia[0][np.unique(tibia[1])]
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.03 * (high - low)
    (back, _, left), (front, _, right) = low - margin, high + margin
    across = _WIDTH - _LEFT - _RIGHT
    tall = across * (front - back) / (right - left)
    height = tall + _TOP + _BOTTOM
    figure = Figure(figsize=(_WIDTH, height))
    axes = figure.add_axes((_LEFT / _WIDTH, _BOTTOM / height, across / _WIDTH, tall / height))
    bands = bands_of(limit)
    pressure_map(axes, tibia, values, bands)
    axes.set(xlim=(left, right), ylim=(back, front))
    axes.set_xlabel("lateral [mm]", labelpad=1.0)
    axes.set_ylabel("anterior [mm]", labelpad=1.0)
    for x, title in zip((0.25, 0.75), titles, strict=False):
        axes.text(x, 1.02, title, transform=axes.transAxes, ha="center", size=11, weight="bold")
    bar = figure.add_axes((1.0 - 0.62 / _WIDTH, _BOTTOM / height, 0.14 / _WIDTH, tall / height))
    figure.colorbar(ScalarMappable(band_scale(bands), SHADES), cax=bar)
    bar.set_title(unit, size=9.0, loc="left")
    return figure


def face_map(text: str, surface: Triangles, values: FloatArray, limit: float, unit: str) -> Picture:
    """Return the map of values of triangles (F,) [`unit`] of the plateau, with vertices in [m]."""
    vertices, faces = surface
    (field,) = vertex_pressures(vertices, faces, values[None])
    return plateau_map(text, (1e3 * vertices, faces), field, limit, (), unit)
