"""Line figures whose numbers stand in the page, for values under the pointer, zoom and CSV.

A chart is a dictionary ready for JSON that `templates/charts.js` draws; without a script the page
shows a picture of the same lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray
from pipeline.reports import figures as fig
from pipeline.reports.figures import Picture, picture

#: Points of the page per inch of a figure.
_POINTS = 90.0
_DIGITS = 5
_DASHES = "5 3"

Chart = dict[str, Any]


def line(
    name: str,
    y: ArrayLike,
    *,
    x: ArrayLike | None = None,
    colour: str = fig.INK,
    dashed: bool = False,
    width: float = 1.8,
    step: bool = False,
    along: ArrayLike | None = None,
) -> Chart:
    """Return a line of a chart.

    Parameters
    ----------
    name : str
        Name in the key and in the header of the CSV; "" for the only line of a chart.
    y : (N,) float
        Values [unit of the vertical axis]; NaN leaves a gap.
    x : (N,) float, optional
        Places [unit of the horizontal axis]; by default the places that the lines share.
    colour, dashed, width
        Style; the width is in points.
    step : bool
        Each value holds from its place to the next place.
    along : (N,) float, optional
        Instants [% of the cycle] of the points.
    """
    content: Chart = {"name": name, "y": rounded(y), "colour": colour, "width": width}
    if x is not None:
        content["x"] = rounded(x)
    if dashed:
        content["dash"] = _DASHES
    if step:
        content["step"] = True
    if along is not None:
        content["along"] = rounded(along)
    return content


def shaded(content: Chart) -> Chart:
    """Return a line with a colour for each part of its way, by the instants of its points."""
    middle = np.asarray(content["along"], dtype=np.float64)
    middle = 0.01 * 0.5 * (middle[1:] + middle[:-1])
    colours = matplotlib.colormaps[fig.SHADES](middle)
    return content | {"shades": [matplotlib.colors.to_hex(colour) for colour in colours]}


def chart(
    name: str,
    text: str,
    x: str,
    y: str,
    lines: Sequence[Chart],
    *,
    size: tuple[float, float] = fig.PANEL,
    **settings: Any,
) -> Picture:
    """Return a chart with a picture of the same lines.

    Parameters
    ----------
    name : str
        Name of the CSV file, unique in a page.
    text : str
        What the chart shows.
    x, y : str
        Names of the axes with their units.
    lines : sequence of dict
        Lines by `line`.
    size : (float, float)
        Width and height [inch].
    **settings
        `title`, `at` (places that the lines share), `range` and `y_range` (limits of the axes),
        `equal` (one scale for both axes), `outlines` (closed lines, mappings of x and y), `boxes`
        (begin, end, low, high), `reference` (name, value), `along` (meaning of the instants of the
        points), `from_zero`.
    """
    content = chart_data(name, text, x, y, lines, size=size, **settings)
    return _drawn(text, content)._replace(chart=content)


def chart_data(
    name: str,
    text: str,
    x: str,
    y: str,
    lines: Sequence[Chart],
    *,
    size: tuple[float, float],
    at: ArrayLike | None = None,
    **settings: Any,
) -> Chart:
    """Return a chart, ready for JSON, without a picture.

    Arguments are those of `chart`; `at` (N,) are the places that the lines share [any unit].
    """
    horizontal: Chart = {"label": x}
    vertical: Chart = {"label": y}
    for axis, key in ((horizontal, "range"), (vertical, "y_range")):
        if key in settings:
            axis["range"] = settings.pop(key)
    content = {
        "name": name,
        "text": text,
        "size": [round(_POINTS * side) for side in size],
        "x": horizontal,
        "y": vertical,
        "lines": list(lines),
        **{key: value for key, value in settings.items() if value},
    }
    return content if at is None else content | {"at": rounded(at)}


def cycle_chart(
    name: str,
    text: str,
    lines: Mapping[str, tuple[ArrayLike, ArrayLike]],
    label: str,
    *,
    size: tuple[float, float] = fig.PANEL,
    reference: tuple[str, float] | None = None,
    expected: Sequence[tuple[tuple[float, float], tuple[float, float]]] = (),
) -> Picture:
    """Return a chart of up to five quantities over the gait cycle.

    Parameters
    ----------
    name, text : str
        As for `chart`.
    lines : mapping
        Name -> (N,) instants [% of the cycle] and (N,) values [unit of `label`]; NaN leaves a gap.
    label : str
        Name and unit of the quantities.
    size : (float, float)
        Width and height [inch].
    reference : (str, float), optional
        Name and value of a horizontal line [unit of `label`].
    expected : sequence
        Phase (begin, end) [% of the cycle] and range (low, high) [unit of `label`] of each box.
    """
    instants = [np.asarray(at, dtype=np.float64) for at, _ in lines.values()]
    shared = all(np.array_equal(at, instants[0]) for at in instants)
    shown = []
    for k, (word, (at, values)) in enumerate(lines.items()):
        colour, dashes, width = fig.line_style(word, k)
        own = None if shared else at
        shown.append(line(word, values, x=own, colour=colour, dashed=dashes != "-", width=width))
    return chart(
        name, text, "gait cycle [%]", label, shown, size=size, at=instants[0] if shared else None,
        range=[0.0, 100.0], boxes=[[*phase, *limits] for phase, limits in expected],
        reference=reference,
    )  # fmt: skip


def rounded(values: ArrayLike) -> list[float | None]:
    """Return numbers (N,) [any unit] with five significant digits, None for NaN and infinity."""
    array = np.asarray(values, dtype=np.float64).reshape(-1)
    return [float(f"{v:.{_DIGITS}g}") if np.isfinite(v) else None for v in array]


@picture("svg")
def _drawn(content: Chart) -> Figure:
    """Draw a chart as a picture."""
    size = content["size"][0] / _POINTS, content["size"][1] / _POINTS
    figure, axes = fig.panel(size, x=content["x"]["label"], y=content["y"]["label"])
    for border in content.get("outlines", ()):
        axes.fill(border["x"], border["y"], facecolor="#F2EFE6", edgecolor=fig.GREY, lw=0.8)
    for begin, end, low, high in content.get("boxes", ()):
        box = Rectangle((begin, low), end - begin, high - low, color=fig.GREY, alpha=0.22, lw=0)
        axes.add_patch(box)
    for each in content["lines"]:
        x, y = (_array(each.get("x", content.get("at"))), _array(each["y"]))
        if "shades" in each:
            points = np.column_stack([x, y])
            parts: Any = np.stack([points[:-1], points[1:]], axis=1)
            axes.add_collection(LineCollection(parts, colors=each["shades"], lw=each["width"]))
            axes.update_datalim(points[np.isfinite(points).all(axis=1)])
            continue
        style: Any = {"color": each["colour"], "lw": each["width"], "label": each["name"] or None}
        if "dash" in each:
            style["ls"] = fig.DASHES
        axes.plot(x, y, drawstyle="steps-post" if each.get("step") else "default", **style)
    reference = content.get("reference")
    if reference is not None:
        style = {"color": fig.VERMILLION, "lw": 1.6, "ls": fig.DASHES}
        axes.axhline(reference[1], label=reference[0], **style)
    if any("shades" in each for each in content["lines"]):
        shades = matplotlib.cm.ScalarMappable(Normalize(0.0, 100.0), fig.SHADES)
        figure.colorbar(shades, ax=axes, label=content["along"], shrink=0.8)
    elif reference is not None or any(each["name"] for each in content["lines"]):
        fig.legend_above(axes, 2)
    axes.autoscale_view()
    fig.widen(axes)
    if "range" in content["x"]:
        axes.set_xlim(*content["x"]["range"])
    if "range" in content["y"]:
        axes.set_ylim(*content["y"]["range"])
    if content.get("from_zero"):
        axes.set_ylim(bottom=0.0)
    if content.get("equal"):
        axes.set_aspect("equal")
    return figure


def _array(values: Sequence[float | None]) -> FloatArray:
    return np.array([np.nan if v is None else v for v in values])
