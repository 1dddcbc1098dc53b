"""Page of a walk with muscles: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dynamics.musculoskeletal import ComakResult
from dynamics.musculoskeletal.ground_balance import RECOMMENDED
from foundation.base.checks import FloatArray
from pipeline.reports import figures as fig
from pipeline.reports.figures import Picture, picture
from pipeline.reports.pages import write_page
from pipeline.studies.muscle_walks.charts import WIDE, Axis, drawn
from pipeline.studies.muscle_walks.pressures import pressure_history, pressure_pictures
from pipeline.studies.muscle_walks.setup import WalkSetup
from pipeline.studies.muscle_walks.summary import body_weight, bundled, compartment_forces


def write_walk_page(
    folder: Path,
    summary: Mapping[str, Any],
    setup: WalkSetup,
    result: ComakResult,
    tensions: FloatArray,
    config: str,
) -> None:
    """Write `walk.html` to a folder.

    The summary is the content of `walk.json`, `tensions` (N, L) [N] are those of the ligaments,
    `config` the resolved walk as TOML.
    """
    interval = [float(result.time[0]), float(result.time[-1])]
    axis = Axis("time [s]", result.time, {"range": interval})
    muscles = bundled(result.muscles, result.muscle_forces)
    ligaments = bundled(setup.plant.ligaments.names, tensions)
    write_page(
        folder / "walk.html",
        template="muscle_walk.html",
        summary=summary,
        pictures={
            "contact": list(_contact(axis, setup, result)),
            "pressure": list(_pressure(setup, result)),
            "secondary": list(
                axis.coordinates(setup.plant.motion, result.secondary, result.values)
            ),
            "muscles": drawn(
                _activations("Activations of all muscles over time", result),
                axis.largest_forces("muscle", muscles),
            ),
            "ligaments": drawn(axis.largest_forces("ligament", ligaments)),
            "residuals": list(_residuals(axis, setup)),
            "convergence": list(_convergence(axis, setup, result)),
        },
        config_text=config,
    )


def _contact(axis: Axis, setup: WalkSetup, result: ComakResult) -> Iterator[Picture]:
    """Yield the contact forces in body weights, and the peak pressures."""
    weight = body_weight(setup)
    for k, name in enumerate(result.contacts):
        forces = compartment_forces(result, k)
        shown = {part: force / weight for part, force in forces.items()}
        yield axis.chart(
            f"contact-force-{name}", f"{name}: contact force", "force [body weights]", shown,
            size=WIDE, from_zero=True,
        )  # fmt: skip
        pressures = {
            part: 1e-6 * np.array([f[k][part].peak_pressure for f in result.loads])
            for part in forces
            if part != "total" or len(forces) == 1
        }
        yield axis.chart(
            f"peak-pressure-{name}", f"{name}: peak pressure", "peak pressure [MPa]", pressures,
            size=WIDE, from_zero=True,
        )  # fmt: skip


def _pressure(setup: WalkSetup, result: ComakResult) -> Iterator[Picture]:
    for contact in setup.springs:
        yield from pressure_pictures(pressure_history(setup, result, contact))


def _residuals(axis: Axis, setup: WalkSetup) -> Iterator[Picture]:
    """Yield the residual force and moment with the recommended limits."""
    balance = setup.plant.balance
    if balance is None:
        return
    for what, unit, values, part, scale in (
        ("force", "N", balance.force, RECOMMENDED[0], balance.force_scale),
        ("moment", "N m", balance.moment, RECOMMENDED[1], balance.moment_scale),
    ):
        yield axis.chart(
            f"residual-{what}", f"Residual {what} on {balance.body}", f"residual {what} [{unit}]",
            {"": values}, reference=("recommended", part * scale), from_zero=True,
        )  # fmt: skip


def _convergence(axis: Axis, setup: WalkSetup, result: ComakResult) -> Iterator[Picture]:
    yield axis.chart(
        "acceleration-error", "Largest error of acceleration", "error [rad/s², m/s²]",
        {"": result.errors}, reference=("tolerance", setup.settings.tolerance), from_zero=True,
    )  # fmt: skip
    largest = np.abs(result.reserves).max(axis=1)
    yield axis.chart(
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
