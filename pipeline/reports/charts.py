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
#: Points of a chart have this radius [points of the page], and compartments one colour everywhere.
_RADIUS = 2.2
_COLOURS = (fig.BLUE, fig.VERMILLION, fig.GREEN, fig.ORANGE)
#: Style of models and compartments; other lines have colours in turn.
_STYLES: dict[str, dict[str, Any]] = {
    "original": {"colour": fig.INK, "dashed": False, "width": 2.4},
    "surrogate": {"colour": fig.VERMILLION, "dashed": True, "width": 1.8},
    "medial": {"colour": fig.BLUE, "dashed": False},
    "lateral": {"colour": fig.ORANGE, "dashed": False},
}

Chart = dict[str, Any]


def line(
    name: str,
    y: ArrayLike,
    *,
    x: ArrayLike | None = None,
    colour: str = fig.INK,
    dashed: bool = False,
    width: float = 1.8,
    points: bool = False,
    along: ArrayLike | None = None,
) -> Chart:
    """Return a line of a chart through values (N,) [unit of the vertical axis]; NaN leaves a gap.

    `x` (N,) are places [unit of the horizontal axis], by default those that the lines share, and
    `along` (N,) instants [% of the cycle], which shade the line. Dashed `points` are hollow.
    """
    content: Chart = {"name": name, "y": rounded(y), "colour": colour, "width": width}
    if x is not None:
        content["x"] = rounded(x)
    if dashed:
        content["dash"] = "5 3"
    if points:
        content["points"] = True
    if along is not None:
        content["along"] = rounded(along)
        shares = 0.01 * np.asarray(along, dtype=np.float64)
        shades = matplotlib.colormaps[fig.SHADES](0.5 * (shares[1:] + shares[:-1]))
        content["shades"] = [matplotlib.colors.to_hex(shade) for shade in shades]
    return content


def lines_of(
    values: Mapping[str, ArrayLike], x: Mapping[str, ArrayLike] | None = None, **settings: Any
) -> list[Chart]:
    """Return a line for each row (N,) [any unit] by name, with a colour and dashes of its own."""
    return [
        line(name, row, x=None if x is None else x[name], **_style(name, k) | settings)
        for k, (name, row) in enumerate(values.items())
    ]


def _style(name: str, k: int) -> dict[str, Any]:
    """Return the style of the k-th line of a chart."""
    count = len(_COLOURS)
    dashed = (k + k // count) % 2 == 1
    style = {"colour": _COLOURS[k % count], "dashed": dashed, "width": 1.6}
    return style | _STYLES.get(name, {})


def chart(
    name: str,
    text: str,
    x: str,
    y: str,
    lines: Sequence[Chart],
    *,
    size: tuple[float, float] = fig.PANEL,
    at: ArrayLike | None = None,
    **settings: Any,
) -> Picture:
    """Return a chart as the pictures of a page are, with lines by `line` and a size [inch].

    `at` (N,) are places [any unit] that the lines share. `settings` are `title`,
    `range` and `y_range` (limits of the axes), `equal` (one scale), `outlines` (mappings of x and
    y), `reference` (name, value), `along` (meaning of the instants), `from_zero`.
    """
    axes = {
        axis: {"label": label} | ({"range": settings.pop(key)} if key in settings else {})
        for axis, label, key in (("x", x, "range"), ("y", y, "y_range"))
    }
    content: Chart = {
        "name": name,
        "text": text,
        "size": [round(_POINTS * side) for side in size],
        **axes,
        "lines": list(lines),
        **{key: value for key, value in settings.items() if value},
    }
    if at is not None:
        content["at"] = rounded(at)
    return Picture("", text, content)


def cycle_chart(
    name: str,
    text: str,
    lines: Mapping[str, tuple[ArrayLike, ArrayLike]],
    label: str,
    **settings: Any,
) -> Picture:
    """Return a chart of instants [%] and values (N,) [unit of `label`] over the gait cycle."""
    instants = [np.asarray(percent, dtype=np.float64) for percent, _ in lines.values()]
    shared = all(np.array_equal(percent, instants[0]) for percent in instants)
    places = None if shared else {word: percent for word, (percent, _) in lines.items()}
    shown = lines_of({word: values for word, (_, values) in lines.items()}, places)
    return chart(
        name, text, "gait cycle [%]", label, shown, at=instants[0] if shared else None,
        range=[0.0, 100.0], **settings,
    )  # fmt: skip


def parity_chart(
    name: str,
    text: str,
    truth: Mapping[str, ArrayLike],
    predicted: Mapping[str, ArrayLike],
    label: str,
) -> Picture:
    """Return predicted over true values (N,) [any unit] by name, with the diagonal."""
    values = np.concatenate([np.ravel(series) for series in (*truth.values(), *predicted.values())])
    known = values[np.isfinite(values)]
    ends = [known.min(), known.max()] if known.size else [0.0, 1.0]
    diagonal = line("", ends, x=ends, colour=fig.GREY, width=1.0)
    shown = [diagonal, *lines_of(predicted, truth, points=True, width=_RADIUS)]
    title, unit = label.rsplit(" [", 1)
    axes = f"original [{unit}", f"surrogate [{unit}"
    return chart(name, text, *axes, shown, size=fig.SQUARE, title=title, equal=True)


def rounded(values: ArrayLike) -> list[float | None]:
    """Return numbers (N,) [any unit] with five significant digits, None for NaN and infinity."""
    array = np.asarray(values, dtype=np.float64).reshape(-1)
    return [float(f"{v:.{_DIGITS}g}") if np.isfinite(v) else None for v in array]
