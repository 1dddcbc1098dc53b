"""Section of the report on the node spacing of finite elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipeline.reports.units import number
from pipeline.store.run_documents import NodeSpacing

Row = dict[str, Any]


def spacing_content(found: NodeSpacing | None) -> Row | None:
    """Return the node spacing and its errors in units for people; None without finite elements.

    `errors` is None where they are not known, for the `reason` that the content tells.
    """
    if found is None:
        return None
    errors = found.errors
    return {
        "spacing_mm": 1e3 * found.spacing_m,
        "coarser_mm": 1e3 * found.coarser_m,
        "reason": found.reason,
        "errors": errors
        and {
            "force_percent": 100.0 * errors.force,
            "peak_pressure_percent": 100.0 * errors.peak_pressure,
            "area_percent": 100.0 * errors.area,
            "centre_mm": 1e3 * errors.centre,
            "poses": errors.poses,
            "unresolved": errors.unresolved,
        },
    }


def spacing_lines(content: Row | None) -> Iterator[str]:
    """Yield the line for the terminal, in ASCII characters, of a run of finite elements."""
    if content is None:
        return
    head = f"node spacing {content['spacing_mm']:g} mm:"
    errors = content["errors"]
    if errors is None:
        yield f"{head} error not known: {content['reason']}"
        return
    parts = [
        f"{name} +-{number(errors[key], 2)} {unit}"
        for name, key, unit in (
            ("force", "force_percent", "%"),
            ("peak pressure", "peak_pressure_percent", "%"),
            ("area", "area_percent", "%"),
            ("centre", "centre_mm", "mm"),
        )
    ]
    line = f"{head} {', '.join(parts)} (from {content['coarser_mm']:g} mm)"
    if errors["unresolved"]:
        line += f"; peak not resolved at {errors['unresolved']} of {errors['poses']} poses"
    yield line
