"""Page of a forward simulation: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dynamics.musculoskeletal import SimulatedFrames
from foundation.base.checks import FloatArray
from pipeline.reports.charts import chart
from pipeline.reports.figures import Picture
from pipeline.reports.pages import write_page
from pipeline.studies.forward_motions.setup import ForwardSetup
from pipeline.studies.muscle_walks.charts import (
    TALL,
    WIDE,
    for_people,
    largest_peaks,
    sign_of,
    styled_lines,
)
from pipeline.studies.muscle_walks.summary import bundled, compartment_forces


class _Axis(NamedTuple):
    """Horizontal axis of all charts."""

    label: str
    at: FloatArray


def write_forward_page(
    folder: Path,
    summary: Mapping[str, Any],
    setup: ForwardSetup,
    result: SimulatedFrames,
    tensions: FloatArray,
    *,
    config: str,
    over: str | None,
) -> None:
    """Write `forward.html` to a folder.

    Parameters
    ----------
    folder : Path
        The folder.
    summary : mapping
        Content of `forward.json`.
    setup : ForwardSetup
        The simulation.
    result : SimulatedFrames
        Its result.
    tensions : (N, L) float64
        Tensions of the ligaments [N].
    config : str
        Resolved configuration as TOML.
    over : str or None
        Coordinate along the horizontal axes; None for the time.

    Raises
    ------
    InputError
        If the coordinate is none of the model.
    """
    axis = _axis(setup, result, over)
    write_page(
        folder / "forward.html",
        summary=summary,
        over=over,
        pictures={
            "secondary": list(_secondary(axis, setup, result)),
            "contact": list(_contact(axis, result)),
            "ligaments": list(_ligaments(axis, setup, tensions)),
            "muscles": [_muscles(axis, result)],
        },
        config_text=config,
    )


def _axis(setup: ForwardSetup, result: SimulatedFrames, over: str | None) -> _Axis:
    if over is None:
        return _Axis("time [s]", result.time)
    motion = setup.plant.motion
    (place,) = motion.index((over,))
    values = motion.values[:, place]
    if over in result.secondary:
        values = result.values[:, result.secondary.index(over)]
    shown, unit = for_people(motion, over, values)
    return _Axis(f"{over} [{sign_of(unit)}]", shown)


def _chart(
    axis: _Axis, name: str, title: str, label: str, lines: Mapping[str, FloatArray], **settings: Any
) -> Picture:
    """Return a chart with a colour and dashes for each line."""
    text = f"{title} over {axis.label.partition(' [')[0]}"
    return chart(
        name, text, axis.label, label, styled_lines(lines), at=axis.at, title=title, **settings
    )


def _secondary(axis: _Axis, setup: ForwardSetup, result: SimulatedFrames) -> Iterator[Picture]:
    for name, values in zip(result.secondary, result.values.T, strict=True):
        shown, unit = for_people(setup.plant.motion, name, values)
        yield _chart(axis, f"secondary-{name}", name, f"{name} [{sign_of(unit)}]", {"": shown})


def _contact(axis: _Axis, result: SimulatedFrames) -> Iterator[Picture]:
    for k, name in enumerate(result.contacts):
        forces = compartment_forces(result, k)
        yield _chart(
            axis, f"contact-force-{name}", f"{name}: contact force", "force [N]", forces,
            size=WIDE, from_zero=True,
        )  # fmt: skip


def _largest(groups: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return the groups of the largest peaks, without those that do not pull."""
    return {name: row for name, row in largest_peaks(groups).items() if row.max() > 0.0}


def _ligaments(axis: _Axis, setup: ForwardSetup, tensions: FloatArray) -> Iterator[Picture]:
    groups = _largest(bundled(setup.plant.ligaments.names, tensions))
    if groups:
        yield _chart(
            axis, "ligament-forces", "Largest ligament forces", "ligament force [N]", groups,
            size=TALL, from_zero=True,
        )  # fmt: skip


def _muscles(axis: _Axis, result: SimulatedFrames) -> Picture:
    groups = _largest(bundled(result.muscles, result.muscle_forces))
    return _chart(
        axis, "muscle-forces", "Largest muscle forces", "muscle force [N]", groups,
        size=TALL, from_zero=True,
    )  # fmt: skip
