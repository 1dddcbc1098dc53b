"""Page of a walk with muscles: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dynamics.musculoskeletal import ComakResult
from dynamics.musculoskeletal.ground_balance import RECOMMENDED
from dynamics.musculoskeletal.knee_reaction import KneeLoads
from foundation.base.checks import FloatArray
from pipeline.reports import figures as fig
from pipeline.reports.figures import Picture, picture
from pipeline.studies.implant_forces.comparison import MeasuredWalk
from pipeline.studies.implant_forces.page import implant_charts
from pipeline.studies.muscle_walks.charts import WIDE, FrameCharts
from pipeline.studies.muscle_walks.contact_forces import compartment_forces
from pipeline.studies.muscle_walks.interposed_loads import interposed_loads
from pipeline.studies.muscle_walks.knee_waveforms import knee_charts
from pipeline.studies.muscle_walks.pressures import pressure_history, pressure_pictures
from pipeline.studies.muscle_walks.setup import WalkSetup
from pipeline.studies.muscle_walks.summary import MuscleWalkSummary, body_weight


def walk_page(
    summary: MuscleWalkSummary,
    setup: WalkSetup,
    result: ComakResult,
    tensions: FloatArray,
    measured: MeasuredWalk | None,
    knee: KneeLoads | None,
) -> dict[str, Any]:
    """Return the content of `walk.html`.

    `tensions` (N, L) [N] are those of the ligaments, `measured` the forces of an implant, and
    `knee` the loads of a knee without articular contact.
    """
    charts = FrameCharts(setup.plant.motion, result, "the walk", "time [s]", result.time)
    return {
        "summary": summary,
        "pictures": {
            "contact": list(_contact(charts, setup)),
            "knee": list(knee_charts(charts, knee, summary.body_weight_N)),
            "shared": list(charts.shares(interposed_loads(setup, setup.contacts, result))),
            "implant": list(implant_charts(measured, summary.body_weight_N)),
            "pressure": list(_pressure(setup, result)),
            "secondary": list(charts.secondary()),
            "muscles": [
                _activations("Activations of all muscles over the walk", result),
                *charts.muscles(),
            ],
            "ligaments": list(charts.ligaments(setup.plant.ligaments.names, tensions)),
            "residuals": list(_residuals(charts, setup)),
            "convergence": list(_convergence(charts, setup, result)),
        },
    }


def _contact(charts: FrameCharts, setup: WalkSetup) -> Iterator[Picture]:
    """Yield the contact forces in body weights, then the peak pressures."""
    yield from charts.contact("body weights", body_weight(setup))
    loads = charts.result.loads
    for k, name in enumerate(charts.result.contacts):
        parts = list(compartment_forces(charts.result, k))
        pressures = {
            part: 1e-6 * np.array([frame[k][part].peak_pressure for frame in loads])
            for part in parts
            if part != "total" or len(parts) == 1
        }
        yield charts.chart(
            f"peak-pressure-{name}", f"{name}: peak pressure", "peak pressure [MPa]", pressures,
            size=WIDE, from_zero=True,
        )  # fmt: skip


def _pressure(setup: WalkSetup, result: ComakResult) -> Iterator[Picture]:
    for contact in setup.springs:
        yield from pressure_pictures(pressure_history(setup, result, contact))


def _residuals(charts: FrameCharts, setup: WalkSetup) -> Iterator[Picture]:
    """Yield the residual force and moment with the recommended limits."""
    balance = setup.plant.balance
    if balance is None:
        return
    for what, unit, values, part, scale in (
        ("force", "N", balance.force, RECOMMENDED[0], balance.force_scale),
        ("moment", "N m", balance.moment, RECOMMENDED[1], balance.moment_scale),
    ):
        yield charts.chart(
            f"residual-{what}", f"Residual {what} on {balance.body}", f"residual {what} [{unit}]",
            {"": values}, reference=("recommended", part * scale), from_zero=True,
        )  # fmt: skip


def _convergence(charts: FrameCharts, setup: WalkSetup, result: ComakResult) -> Iterator[Picture]:
    """Yield the errors of acceleration with the tolerance, and the largest reserves."""
    yield charts.chart(
        "acceleration-error", "Largest error of acceleration", "error [rad/s², m/s²]",
        {"": result.errors}, reference=("tolerance", setup.settings.tolerance), from_zero=True,
    )  # fmt: skip
    largest = np.abs(result.reserves).max(axis=1)
    yield charts.chart(
        "reserves", "Largest reserve", "reserve [N m, N]", {"": largest}, from_zero=True
    )


@picture("png")
def _activations(result: ComakResult) -> Figure:
    """Draw the activations as a map, a row for each muscle."""
    count = len(result.muscles)
    figure, axes = fig.panel((5.2, 1.0 + 0.135 * count), x="time [s]")
    edges = (float(result.time[0]), float(result.time[-1]), count - 0.5, -0.5)
    shown = axes.imshow(
        result.activations.T, aspect="auto", extent=edges, vmin=0.0, vmax=1.0, cmap=fig.SHADES,
        interpolation="nearest",
    )  # fmt: skip
    axes.set_yticks(np.arange(count), result.muscles, fontsize=6.5)
    axes.grid(visible=False)
    figure.colorbar(shown, ax=axes, label="activation", shrink=0.6)
    return figure
