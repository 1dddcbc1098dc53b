"""Report of a run over designs: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from foundation.base.checks import FloatArray
from pipeline.design_space.document import TOLD, DesignsDocument
from pipeline.reports import figures as fig
from pipeline.reports.figures import Picture, picture
from pipeline.reports.pages import write_page
from pipeline.stages.cycle_outputs import KEY_OUTPUTS, OUTPUTS

#: Heights of pictures with a row for each error [inch]: least, and for each row.
_BASE, _ROW = 1.1, 0.3


def write_designs_page(folder: Path, document: DesignsDocument, config: str) -> None:
    """Write `report.html` of a run over designs; `config` is the resolved study as TOML."""
    write_page(
        folder / "report.html",
        template="designs.html",
        run=document,
        errors=[
            {"label": words, "unit": unit, **document.errors[name]}
            for name, (words, unit) in TOLD.items()
        ],
        designs=[_row(each) for each in document.held_out],
        names=[row["name"] for row in document.parameters],
        shown=TOLD,
        pictures={
            "errors": [_error_picture("errors at held-out designs", document)],
            "outputs": list(_parity(document)),
        },
        config_text=config,
    )


def _row(design: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the table of held-out designs."""
    cycle = design["cycle"]
    flagged = cycle.get("flagged", 0)
    return {
        "design": design["design"],
        "values": design["values"],
        "errors": design["errors"],
        "told": [
            *design["doubts"],
            *([f"{flagged} of {cycle['instants']} instants flagged"] if flagged else []),
            *([cycle["reason"]] if cycle["reason"] else []),
        ],
    }


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
        yield _parity_picture(text, truth, other, OUTPUTS[name].axis)


@picture("svg")
def _parity_picture(truth: FloatArray, other: FloatArray, label: str) -> Figure:
    figure, axes = fig.panel(fig.SQUARE, x="original", y="surrogate", title=label)
    ends = [min(truth.min(), other.min()), max(truth.max(), other.max())]
    axes.plot(ends, ends, color=fig.GREY, lw=1.0)
    axes.plot(truth, other, "o", color=fig.VERMILLION, ms=5.0, alpha=0.7)
    return figure
