"""Page of a forward simulation: one self-contained HTML file."""

from __future__ import annotations

from typing import Any

from dynamics.musculoskeletal import SimulatedFrames
from foundation.base.checks import FloatArray
from pipeline.studies.forward_motions.setup import ForwardSetup
from pipeline.studies.forward_motions.summary import ForwardSummary
from pipeline.studies.muscle_walks.charts import FrameCharts, for_people, sign_of
from pipeline.studies.muscle_walks.interposed_loads import interposed_loads


def forward_page(
    summary: ForwardSummary,
    setup: ForwardSetup,
    result: SimulatedFrames,
    tensions: FloatArray,
    over: str | None,
) -> dict[str, Any]:
    """Return the content of `forward.html`, with the tensions of the ligaments (N, L) [N].

    `over` is the coordinate along the horizontal axes, None for the time.
    """
    charts = _charts(setup, result, over)
    return {
        "summary": summary,
        "pictures": {
            "secondary": list(charts.secondary()),
            "contact": list(charts.contact()),
            "shared": list(charts.shares(interposed_loads(setup, setup.contacts.contacts, result))),
            "ligaments": list(charts.ligaments(setup.plant.ligaments.names, tensions)),
            "muscles": list(charts.muscles()),
        },
    }


def _charts(setup: ForwardSetup, result: SimulatedFrames, over: str | None) -> FrameCharts:
    """Return the charts over the time, or over a coordinate."""
    motion = setup.plant.motion.first(len(result.time))
    if over is None:
        return FrameCharts(motion, result, "time", "time [s]", result.time)
    (place,) = motion.index((over,))
    values = motion.values[:, place]
    if over in result.secondary:
        values = result.values[:, result.secondary.index(over)]
    shown, unit = for_people(motion, over, values)
    return FrameCharts(motion, result, over, f"{over} [{sign_of(unit)}]", shown)
