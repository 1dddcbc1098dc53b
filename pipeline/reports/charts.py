"""Line figures whose numbers stand in the page, for values under the pointer, zoom and CSV.

A chart is a dictionary ready for JSON that `templates/charts.js` draws; without a script the page
names the tables with its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from numpy.typing import ArrayLike

from pipeline.reports import figures as fig
from pipeline.reports.figures import Picture

#: Points of the page per inch of a figure.
_POINTS = 90.0
_DIGITS = 5
_DASHES = "5 3"
_COLOURS = (fig.BLUE, fig.VERMILLION, fig.GREEN, fig.ORANGE)

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
    points: bool = False,
    along: ArrayLike | None = None,
) -> Chart:
    """Return a line of a chart through values (N,) [unit of the vertical axis]; NaN leaves a gap.

    `x` (N,) are places [unit of the horizontal axis], by default those that the lines share, and
    `along` (N,) instants [% of the cycle]. With `step` a value holds up to the next place.
    """
    content: Chart = {"name": name, "y": rounded(y), "colour": colour, "width": width}
    if x is not None:
        content["x"] = rounded(x)
    if dashed:
        content["dash"] = _DASHES
    if step:
        content["step"] = True
    if points:
        content["points"] = True
    if along is not None:
        content["along"] = rounded(along)
    return content


def lines_of(
    values: Mapping[str, ArrayLike], x: Mapping[str, ArrayLike] | None = None, **settings: Any
) -> list[Chart]:
    """Return a line for each row (N,) [any unit] by name, with a colour and dashes of its own."""
    return [
        line(
            name,
            row,
            x=None if x is None else x[name],
            colour=_COLOURS[k % len(_COLOURS)],
            dashed=k // len(_COLOURS) % 2 == 1,
            **{"width": 1.6, **settings},
        )
        for k, (name, row) in enumerate(values.items())
    ]


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
    """Return a chart as the pictures of a page are, with lines by `line` and a size [inch].

    `settings` are `title`, `at` (places that the lines share), `range` and `y_range` (limits of the
    axes), `equal` (one scale), `outlines` (mappings of x and y), `boxes` (begin, end, low, high),
    `reference` (name, value), `along` (meaning of the instants), `from_zero`.
    """
    return Picture("", text, chart_data(name, text, x, y, lines, size=size, **settings))


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
    """Return a chart, ready for JSON, of lines at shared places `at` (N,) [any unit]."""
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
    """Return a chart of up to five quantities (N,) [unit of `label`] over the gait cycle [%].

    `expected` has the phase (begin, end) [% of the cycle] and the range (low, high) of each box.
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
