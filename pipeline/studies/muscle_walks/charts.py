"""Charts and units that the pages of walks and of forward simulations share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dynamics.musculoskeletal import CoordinateMotion
from foundation.base.checks import FloatArray
from pipeline.reports import figures as fig
from pipeline.reports.charts import Chart, chart, line
from pipeline.reports.figures import Picture

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


@dataclass(frozen=True, eq=False)
class Axis:
    """Horizontal axis of all charts of a page: label, places (N,) [unit of the label], settings."""

    label: str
    at: FloatArray
    settings: Mapping[str, Any] = field(default_factory=dict)

    def chart(
        self, name: str, title: str, label: str, lines: Mapping[str, FloatArray], **settings: Any
    ) -> Picture:
        """Return a chart of lines (N,) [unit of `label`], each with a colour and dashes."""
        text = f"{title} over {self.label.partition(' [')[0]}"
        return chart(
            name, text, self.label, label, styled_lines(lines), at=self.at, title=title,
            **self.settings, **settings,
        )  # fmt: skip

    def coordinates(
        self, motion: CoordinateMotion, names: Sequence[str], values: FloatArray
    ) -> Iterator[Picture]:
        """Yield a chart of each coordinate, values (N, K) [rad, m]."""
        for name, row in zip(names, values.T, strict=True):
            shown, unit = for_people(motion, name, row)
            yield self.chart(f"secondary-{name}", name, f"{name} [{sign_of(unit)}]", {"": shown})

    def largest_forces(self, kind: str, forces: Mapping[str, FloatArray]) -> Picture | None:
        """Return a chart of the forces (N,) [N] of muscles or ligaments with the largest peaks.

        None if none of them pulls.
        """
        ordered = sorted(forces, key=lambda name: -float(forces[name].max()))[:MOST_LINES]
        shown = {name: forces[name] for name in ordered if forces[name].max() > 0.0}
        if not shown:
            return None
        return self.chart(
            f"{kind}-forces", f"Largest {kind} forces", f"{kind} force [N]", shown, size=TALL,
            from_zero=True,
        )  # fmt: skip


def drawn(*pictures: Picture | None) -> list[Picture]:
    """Return the pictures that have something to show."""
    return [picture for picture in pictures if picture is not None]


def for_people(motion: CoordinateMotion, name: str, values: FloatArray) -> tuple[FloatArray, str]:
    """Return values (N,) of a coordinate [rad, m] in the unit "deg" or "mm", and the unit."""
    angle = motion.rotational[motion.names.index(name)]
    return (np.degrees(values), "deg") if angle else (1e3 * values, "mm")


def sign_of(unit: str) -> str:
    """Return the sign of a unit "deg" or "mm" on an axis."""
    return "°" if unit == "deg" else unit
