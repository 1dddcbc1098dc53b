"""Page of a forward simulation: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dynamics.musculoskeletal import ForwardResult
from foundation.base.checks import FloatArray
from pipeline.reports.figures import Picture
from pipeline.reports.pages import write_page
from pipeline.studies.forward_motions.setup import ForwardSetup
from pipeline.studies.muscle_walks.charts import WIDE, Axis, drawn, for_people, sign_of
from pipeline.studies.muscle_walks.summary import bundled, compartment_forces


def write_forward_page(
    folder: Path,
    summary: Mapping[str, Any],
    setup: ForwardSetup,
    result: ForwardResult,
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
    result : ForwardResult
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
        If the coordinate is not in the model.
    """
    axis = _axis(setup, result, over)
    ligaments = bundled(setup.plant.ligaments.names, tensions)
    muscles = bundled(result.muscles, result.muscle_forces)
    write_page(
        folder / "forward.html",
        summary=summary,
        over=over,
        pictures={
            "secondary": list(
                axis.coordinates(setup.plant.motion, result.secondary, result.values)
            ),
            "contact": list(_contact(axis, result)),
            "ligaments": drawn(axis.largest_forces("ligament", ligaments)),
            "muscles": drawn(axis.largest_forces("muscle", muscles)),
        },
        config_text=config,
    )


def _axis(setup: ForwardSetup, result: ForwardResult, over: str | None) -> Axis:
    if over is None:
        return Axis("time [s]", result.time)
    motion = setup.plant.motion
    (place,) = motion.index((over,))
    values = motion.values[:, place]
    if over in result.secondary:
        values = result.values[:, result.secondary.index(over)]
    shown, unit = for_people(motion, over, values)
    return Axis(f"{over} [{sign_of(unit)}]", shown)


def _contact(axis: Axis, result: ForwardResult) -> Iterator[Picture]:
    for k, name in enumerate(result.contacts):
        forces = compartment_forces(result, k)
        yield axis.chart(
            f"contact-force-{name}", f"{name}: contact force", "force [N]", forces,
            size=WIDE, from_zero=True,
        )  # fmt: skip
