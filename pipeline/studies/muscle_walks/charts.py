"""Lines and units that the pages of walks and of forward simulations share."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dynamics.musculoskeletal import CoordinateMotion
from foundation.base.checks import FloatArray
from pipeline.reports import figures as fig
from pipeline.reports.charts import Chart, line

#: Lines in a chart of muscles or ligaments.
MOST_LINES = 8
#: Sizes of charts with few and with many lines [inch].
WIDE, TALL = (4.6, 3.2), (5.2, 4.2)
_COLOURS = (fig.BLUE, fig.VERMILLION, fig.GREEN, fig.ORANGE)


def styled_lines(values: Mapping[str, FloatArray]) -> list[Chart]:
    """Return a line for each row (N,) [any unit] by name, with a colour and dashes of its own."""
    return [
        line(
            name,
            row,
            colour=_COLOURS[k % len(_COLOURS)],
            dashed=k // len(_COLOURS) % 2 == 1,
            width=1.6,
        )
        for k, (name, row) in enumerate(values.items())
    ]


def largest_peaks(values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return the rows (N,) [any unit] of the largest peaks, the largest first."""
    ordered = sorted(values, key=lambda name: -float(values[name].max()))
    return {name: values[name] for name in ordered[:MOST_LINES]}


def for_people(motion: CoordinateMotion, name: str, values: FloatArray) -> tuple[FloatArray, str]:
    """Return values (N,) of a coordinate [rad, m] in the unit "deg" or "mm", and the unit."""
    angle = motion.rotational[motion.names.index(name)]
    return (np.degrees(values), "deg") if angle else (1e3 * values, "mm")


def sign_of(unit: str) -> str:
    """Return the sign of a unit "deg" or "mm" on an axis."""
    return "°" if unit == "deg" else unit
