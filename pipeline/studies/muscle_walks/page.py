"""Page of a walk with muscles: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dynamics.musculoskeletal import ComakResult
from dynamics.musculoskeletal.ground_balance import RECOMMENDED
from foundation.base.checks import FloatArray
from pipeline.reports import figures as fig
from pipeline.reports.charts import Chart, chart, line
from pipeline.reports.figures import Picture, picture
from pipeline.reports.pages import write_page
from pipeline.studies.muscle_walks.charts import (
    MOST_LINES,
    TALL,
    WIDE,
    for_people,
    largest_peaks,
    sign_of,
    styled_lines,
)
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
    write_page(
        folder / "walk.html",
        template="muscle_walk.html",
        summary=summary,
        pictures={
            "contact": list(_contact(setup, result)),
            "pressure": list(_pressure(setup, result)),
            "secondary": list(_secondary(setup, result)),
            "muscles": list(_muscles(setup, result)),
            "ligaments": [_ligaments(setup, result, tensions)],
            "residuals": list(_residuals(setup, result)),
            "convergence": list(_convergence(setup, result)),
        },
        config_text=config,
    )


def _over_time(
    name: str, text: str, label: str, result: ComakResult, lines: Sequence[Chart], **settings: Any
) -> Picture:
    return chart(
        name, text, "time [s]", label, lines, at=result.time,
        range=[float(result.time[0]), float(result.time[-1])], **settings,
    )  # fmt: skip


def _contact(setup: WalkSetup, result: ComakResult) -> Iterator[Picture]:
    """Yield the contact forces in body weights, and the peak pressures."""
    weight = body_weight(setup)
    for k, name in enumerate(result.contacts):
        forces = compartment_forces(result, k)
        shown = {part: force / weight for part, force in forces.items()}
        yield _over_time(
            f"contact-force-{name}", f"Contact force of {name} over the walk",
            "force [body weights]", result, styled_lines(shown), size=WIDE,
            title=f"{name}: contact force", from_zero=True,
        )  # fmt: skip
        pressures = {
            part: 1e-6 * np.array([f[k][part].peak_pressure for f in result.loads])
            for part in forces
            if part != "total" or len(forces) == 1
        }
        yield _over_time(
            f"peak-pressure-{name}", f"Peak pressure of {name} over the walk",
            "peak pressure [MPa]", result, styled_lines(pressures), size=WIDE,
            title=f"{name}: peak pressure", from_zero=True,
        )  # fmt: skip


def _pressure(setup: WalkSetup, result: ComakResult) -> Iterator[Picture]:
    for contact in setup.springs:
        yield from pressure_pictures(pressure_history(setup, result, contact))


def _secondary(setup: WalkSetup, result: ComakResult) -> Iterator[Picture]:
    """Yield a chart of each secondary coordinate."""
    for name, values in zip(result.secondary, result.values.T, strict=True):
        shown, unit = for_people(setup.plant.motion, name, values)
        yield _over_time(
            f"secondary-{name}", f"{name} over the walk", f"{name} [{sign_of(unit)}]", result,
            [line("", shown, colour=fig.BLUE)],
        )  # fmt: skip


def _muscles(setup: WalkSetup, result: ComakResult) -> Iterator[Picture]:
    """Yield the activations of all muscles, and the largest muscle forces."""
    yield _activations("Activations of all muscles over the walk", result)
    groups = bundled(result.muscles, result.muscle_forces)
    yield _over_time(
        "muscle-forces", f"Forces of the {MOST_LINES} groups of muscles with the largest peaks",
        "muscle force [N]", result, styled_lines(largest_peaks(groups)), size=TALL,
        title="Largest muscle forces", from_zero=True,
    )  # fmt: skip


def _ligaments(setup: WalkSetup, result: ComakResult, tensions: FloatArray) -> Picture:
    groups = bundled(setup.plant.ligaments.names, tensions)
    return _over_time(
        "ligament-forces", f"Forces of the {MOST_LINES} ligaments with the largest peaks",
        "ligament force [N]", result, styled_lines(largest_peaks(groups)), size=TALL,
        title="Largest ligament forces", from_zero=True,
    )  # fmt: skip


def _residuals(setup: WalkSetup, result: ComakResult) -> Iterator[Picture]:
    """Yield the residual force and moment with the recommended limits."""
    balance = setup.plant.balance
    if balance is None:
        return
    for what, unit, values, part, scale in (
        ("force", "N", balance.force, RECOMMENDED[0], balance.force_scale),
        ("moment", "N m", balance.moment, RECOMMENDED[1], balance.moment_scale),
    ):
        yield _over_time(
            f"residual-{what}", f"Residual {what} on {balance.body} over the walk",
            f"residual {what} [{unit}]", result, [line("", values, colour=fig.INK)],
            reference=("recommended", part * scale), from_zero=True,
        )  # fmt: skip


def _convergence(setup: WalkSetup, result: ComakResult) -> Iterator[Picture]:
    yield _over_time(
        "acceleration-error", "Largest error of acceleration of each frame",
        "error [rad/s², m/s²]", result, [line("", result.errors, colour=fig.INK)],
        reference=("tolerance", setup.settings.tolerance), from_zero=True,
    )  # fmt: skip
    largest = np.abs(result.reserves).max(axis=1)
    yield _over_time(
        "reserves", "Largest reserve of each frame", "reserve [N m, N]", result,
        [line("", largest, colour=fig.INK)], from_zero=True,
    )  # fmt: skip


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
