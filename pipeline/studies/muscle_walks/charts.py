"""Charts and units that the pages of walks and of forward simulations share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynamics.musculoskeletal import CoordinateMotion, SimulatedFrames
from foundation.base.checks import FloatArray
from pipeline.reports import figures as fig
from pipeline.reports.charts import chart, lines_of
from pipeline.reports.figures import Picture
from pipeline.studies.muscle_walks.contact_forces import (
    InterposedLoad,
    bundled,
    compartment_forces,
    largest_first,
)

#: Lines in a chart of muscles or ligaments.
_MOST_LINES = 8
#: Size of charts with many lines [inch].
_TALL = (5.2, 4.2)


@dataclass(frozen=True, eq=False)
class FrameCharts:
    """Charts of a simulation over one horizontal axis, with frames at (N,) [any unit]."""

    #: Motion of all coordinates.
    motion: CoordinateMotion
    result: SimulatedFrames
    #: Horizontal axis in words, for captions, such as "the walk".
    over: str
    #: Label of the horizontal axis, with its unit.
    axis: str
    #: Places of the frames along the axis, (N,) [any unit].
    at: FloatArray

    def chart(
        self, name: str, title: str, label: str, lines: Mapping[str, FloatArray], **settings: Any
    ) -> Picture:
        """Return a chart of rows (N,) [any unit] by name.

        Further `settings` are those of `pipeline.reports.charts.chart`.
        """
        return chart(
            name, f"{title} over {self.over}", self.axis, label, lines_of(lines), at=self.at,
            title=title, range=[float(self.at.min()), float(self.at.max())], **settings,
        )  # fmt: skip

    def secondary(self) -> Iterator[Picture]:
        """Yield a chart of each secondary coordinate."""
        for name, unit, shown in shown_secondary(self.motion, self.result):
            label = f"{name} [{sign_of(unit)}]"
            yield self.chart(f"secondary-{name}", name, label, {"": shown})

    def contact(self, unit: str = "N", scale: float = 1.0) -> Iterator[Picture]:
        """Yield a chart of the forces of each contact, in a unit of `scale` newtons."""
        for k, name in enumerate(self.result.contacts):
            shown = {p: force / scale for p, force in compartment_forces(self.result, k).items()}
            title, label = f"{name}: contact force", f"force [{unit}]"
            yield self.chart(
                f"contact-force-{name}", title, label, shown, size=fig.WIDE, from_zero=True
            )

    def shares(self, loads: Iterable[InterposedLoad]) -> Iterator[Picture]:
        """Yield a chart for each contact with bodies between bed and target."""
        by_contact: dict[str, dict[str, FloatArray]] = {}
        for load in loads:
            by_contact.setdefault(load.contact, {})[load.part] = load.percent
        for name, lines in by_contact.items():
            title = f"{name}: part of the load through the bodies between the surfaces"
            yield self.chart(
                f"share-{name}", title, "part of the load [%]", lines, size=fig.WIDE, from_zero=True
            )

    def muscles(self) -> Iterator[Picture]:
        """Yield no or one chart of the largest muscle forces."""
        yield from self._largest("muscle", self.result.muscles, self.result.muscle_forces)

    def ligaments(self, names: tuple[str, ...], tensions: FloatArray) -> Iterator[Picture]:
        """Yield no or one chart of the largest tensions (N, L) [N] of ligaments."""
        yield from self._largest("ligament", names, tensions)

    def _largest(self, kind: str, names: tuple[str, ...], forces: FloatArray) -> Iterator[Picture]:
        """Yield a chart of the groups with the largest peaks, without groups that do not pull."""
        groups = {name: row for name, row in bundled(names, forces).items() if row.max() > 0.0}
        if not groups:
            return
        shown = dict(list(largest_first(groups).items())[:_MOST_LINES])
        title, label = f"Largest {kind} forces", f"{kind} force [N]"
        yield self.chart(f"{kind}-forces", title, label, shown, size=_TALL, from_zero=True)


def for_people(motion: CoordinateMotion, name: str, values: FloatArray) -> tuple[FloatArray, str]:
    """Return values (N,) of a coordinate [rad, m] in the unit "deg" or "mm", and the unit."""
    angle = motion.rotational[motion.names.index(name)]
    return (np.degrees(values), "deg") if angle else (1e3 * values, "mm")


def shown_secondary(
    motion: CoordinateMotion, result: SimulatedFrames
) -> list[tuple[str, str, FloatArray]]:
    """Return name, unit and values (N,) in this unit of each secondary coordinate [deg, mm]."""
    rows = []
    for name, values in zip(result.secondary, result.values.T, strict=True):
        shown, unit = for_people(motion, name, values)
        rows.append((name, unit, shown))
    return rows


def sign_of(unit: str) -> str:
    """Return the sign of a unit "deg" or "mm" on an axis."""
    return "°" if unit == "deg" else unit
