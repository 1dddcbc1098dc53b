"""`designs.json`: what a run over designs found."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from foundation.base.wording import counted
from pipeline.store.run_documents import Computed


class DesignsDocument(Computed):
    """Designs, counts, errors at held-out designs, and provenance of a run over designs.

    `unseen` and `held_out` are designs with their `values`, measured `errors`, gait `cycle` of both
    models, `expected` errors and `doubts`. `errors` have RMS and largest value over the held-out
    designs, and what is accepted; `derivatives` are those of
    `pipeline.design_space.derivative_errors`.
    """

    name: str
    date: str
    parameters: list[dict[str, Any]]
    constraints: list[str]
    drawn: int
    dropped: dict[str, int]
    counts: dict[str, int]
    path_errors: dict[str, float]
    family: str
    unseen: list[dict[str, Any]]
    held_out: list[dict[str, Any]]
    errors: dict[str, dict[str, float | None]]
    derivatives: dict[str, dict[str, float]] = Field(default_factory=dict)
    packages: dict[str, str]
    python: str
    workers: int
    seconds: dict[str, float]
    summary: list[str]


#: Errors in words, with their unit.
TOLD = {
    "height_um": ("height at a load", "um"),
    "ap_ratio_percent": ("AP force", "% of the axial load"),
    "ml_ratio_percent": ("ML force", "% of the axial load"),
    "gait_force_percent": ("axial force over gait", "% of the peak"),
    "ap_travel_percent": ("AP travel", "%"),
    "wear_percent": ("wear", "%"),
    "peak_percent": ("peak pressure over gait", "% of the largest"),
}


def summary_lines(document: DesignsDocument) -> list[str]:
    """Return the lines on the terminal."""
    counts, dropped = document.counts, sum(document.dropped.values())
    lines = [
        f"{counted(counts['designs'], 'design')} of {len(document.parameters)} parameters, "
        f"{counts['training']} training samples; {dropped} of {document.drawn} drawn designs "
        "infeasible",
    ]
    held = document.held_out
    lines.append(f"errors at {counted(len(held), 'held-out design')} (RMS, largest, accepted):")
    for name, (words, unit) in TOLD.items():
        row = document.errors[name]
        if row["rms"] is not None:
            lines.append(
                f"  {words}: {row['rms']:.2g}, {row['largest']:.2g}, {row['accepted']:g} {unit}"
            )
    if document.derivatives:
        told = [f"{name} {row['percent']:.2g} %" for name, row in document.derivatives.items()]
        lines.append(
            "error of the derivative of the axial force at a pose, RMS over its own RMS: "
            + ", ".join(told)
        )
    doubted = sum(bool(each["doubts"]) for each in held)
    if doubted:
        lines.append(
            f"{counted(doubted, 'held-out design')} with an expected error above twice this"
        )
    failed = [each for each in held if each["cycle"]["reason"]]
    if failed:
        told = failed[0]["cycle"]["reason"]
        lines.append(f"{counted(len(failed), 'held-out design')} without a gait cycle: {told}")
    lines.append(f"{sum(document.seconds.values()):.0f} s")
    return lines
