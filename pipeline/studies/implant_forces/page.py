"""Charts of measured beside predicted forces."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.reports import figures as fig
from pipeline.reports.charts import chart, line
from pipeline.reports.figures import Picture
from pipeline.studies.implant_forces.comparison import MeasuredWalk

_SIZE = (4.6, 3.2)


def implant_charts(found: MeasuredWalk | None, body_weight: float) -> Iterator[Picture]:
    """Yield a chart of each part, measured and predicted; none without measured forces.

    `body_weight` is in newtons.
    """
    if found is None:
        return
    for part, measured in found.measured.items():
        yield chart(
            f"implant-{part}", f"Measured and predicted {part} force over the walk", "time [s]",
            "axial force [body weights]",
            [
                line("measured", measured / body_weight, colour=fig.INK),
                line("predicted", found.predicted[part] / body_weight, colour=fig.VERMILLION,
                     dashed=True),
            ],
            at=found.time, title=f"{part} force", size=_SIZE, from_zero=True,
            range=[float(found.time[0]), float(found.time[-1])],
        )  # fmt: skip
