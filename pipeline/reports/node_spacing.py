"""Section of the report on the node spacing of the original model."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.reports.units import number
from pipeline.store.run_documents import NodeSpacing, Part


class Errors(Part):
    """Errors of the node spacing at poses of the cycle, over the largest value or in mm."""

    force_percent: float
    peak_pressure_percent: float
    area_percent: float
    centre_mm: float
    poses: int
    unresolved: int


class Spacing(Part):
    """Node spacing in `report.json`; `reason` says why errors are None."""

    spacing_mm: float
    coarser_mm: float
    reason: str
    errors: Errors | None


def spacing_of(found: NodeSpacing | None) -> Spacing | None:
    """Return the node spacing and its errors in units for people; None without nodes."""
    if found is None:
        return None
    errors = None
    if (stored := found.errors) is not None:
        errors = Errors(
            force_percent=100.0 * stored.force,
            peak_pressure_percent=100.0 * stored.peak_pressure,
            area_percent=100.0 * stored.area,
            centre_mm=1e3 * stored.centre,
            poses=stored.poses,
            unresolved=stored.unresolved,
        )
    return Spacing(
        spacing_mm=1e3 * found.spacing_m,
        coarser_mm=1e3 * found.coarser_m,
        reason=found.reason,
        errors=errors,
    )


def spacing_lines(content: Spacing | None) -> Iterator[str]:
    """Yield the line for the terminal, in ASCII characters, of a run whose model has nodes."""
    if content is None:
        return
    head = f"node spacing {content.spacing_mm:g} mm:"
    errors = content.errors
    if errors is None:
        yield f"{head} error not known: {content.reason}"
        return
    parts = [
        f"{name} +-{number(getattr(errors, key), 2)} {unit}"
        for name, key, unit in (
            ("force", "force_percent", "%"),
            ("peak pressure", "peak_pressure_percent", "%"),
            ("area", "area_percent", "%"),
            ("centre", "centre_mm", "mm"),
        )
    ]
    line = f"{head} {', '.join(parts)} (from {content.coarser_mm:g} mm)"
    if errors.unresolved:
        line += f"; peak not resolved at {errors.unresolved} of {errors.poses} poses"
    yield line
