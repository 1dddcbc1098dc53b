"""`designs.json`, what a run over designs found, and the page of its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field

from foundation.base.wording import counted
from pipeline.config.reading import dump_config
from pipeline.config.schema import Config
from pipeline.design_space.errors import TOLD, errors_for_page
from pipeline.reports import figures as fig
from pipeline.reports.charts import parity_chart
from pipeline.reports.figures import Picture, picture
from pipeline.reports.live_knee import live_section
from pipeline.reports.pages import write_page
from pipeline.simulation import GaitSimulation
from pipeline.stages.model_cycles import KEY_OUTPUTS, OUTPUTS
from pipeline.store.run_documents import Computed
from surrogates.formulations.contact_surrogate import ContactSurrogate


class DesignsDocument(Computed):
    """Designs, counts, errors at held-out designs and of derivatives, and provenance of a run."""

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


#: Heights of pictures with a row for each error [inch]: least, and for each row.
_BASE, _ROW = 1.1, 0.3


def live_designs(
    knee: ContactSurrogate, config: Config, designs: Mapping[str, Mapping[str, float]] | None = None
) -> dict[str, Any] | None:
    """Return the section "Move the knee" of a page over designs, which offers some by name."""

    def gait_of(single: ContactSurrogate) -> GaitSimulation:
        return GaitSimulation.of(config.simulation, single.spaces[0].path)

    return live_section(knee, gait_of, designs, errors_for_page(knee))


def write_designs_page(
    folder: Path, document: DesignsDocument, config: Config, knee: ContactSurrogate
) -> None:
    """Write `report.html` of a run over designs with a surrogate."""
    slopes = document.derivatives
    write_page(
        folder / "report.html",
        template="designs.html",
        run=document,
        errors=[
            {"label": words, "unit": unit, **document.errors[name]}
            for name, (words, unit) in TOLD.items()
        ],
        designs=[(k, _row(each)) for k, each in enumerate(document.held_out, start=1)],
        columns=[
            "design",
            *(row["name"] for row in document.parameters),
            *((f"error of\n{words} [{unit}]", name, 2) for name, (words, unit) in TOLD.items()),
            ("told by the surrogate", "told"),
        ],
        parameters=[
            (row["name"], {"size": None, "percent": None} | row | slopes.get(row["name"], {}))
            for row in document.parameters
        ],
        pictures={
            "errors": [_error_picture("errors at held-out designs", document)],
            "outputs": list(_parity(document)),
        },
        live=live_designs(knee, config),
        config_text=dump_config(config),
    )


def _row(design: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the table of held-out designs."""
    cycle = design["cycle"]
    flagged = cycle.get("flagged", 0)
    told = [
        *design["doubts"],
        *([f"{flagged} of {cycle['instants']} instants flagged"] if flagged else []),
        *([cycle["reason"]] if cycle["reason"] else []),
    ]
    errors = dict.fromkeys(TOLD) | design["errors"]
    return errors | design["values"] | {"told": "; ".join(told) or "nothing"}


@picture("svg")
def _error_picture(document: DesignsDocument) -> Figure:
    """Draw every error of every held-out design over what is accepted, on a logarithmic axis."""
    rows = list(TOLD)
    figure, axes = fig.panel((4.6, _BASE + _ROW * len(rows)), x="error over accepted error")
    for place, name in enumerate(rows):
        sizes = np.array([each["errors"].get(name, np.nan) for each in document.held_out])
        accepted = document.errors[name]["accepted"] or 1.0
        axes.plot(
            np.maximum(sizes / accepted, 1e-3), np.full(len(sizes), place), "o",
            color=fig.BLUE, alpha=0.5, ms=5.0, label="a design" if place == 0 else None,
        )  # fmt: skip
        rms = document.errors[name]["rms"]
        if rms is not None:
            label = "RMS" if place == 0 else None
            axes.plot(rms / accepted, place, "D", color=fig.VERMILLION, ms=6.0, label=label)
    axes.axvline(1.0, color=fig.INK, lw=1.2, ls=fig.DASHES, label="accepted")
    axes.set_xscale("log")
    axes.set_yticks(np.arange(len(rows)), [TOLD[name][0] for name in rows])
    axes.invert_yaxis()
    fig.legend_above(axes, 3)
    return figure


def _parity(document: DesignsDocument) -> Iterator[Picture]:
    """Yield the key outputs of the surrogate over those of the original model."""
    cycles = [each["cycle"] for each in document.held_out if not each["cycle"]["reason"]]
    for name in KEY_OUTPUTS if cycles else ():
        truth, other = (np.array([c[m][name] for c in cycles]) for m in ("original", "surrogate"))
        text = f"{OUTPUTS[name].label} of held-out designs, surrogate over original"
        found = {"designs": truth}, {"designs": other}
        yield parity_chart(f"parity-{name}", text, *found, OUTPUTS[name].axis)
