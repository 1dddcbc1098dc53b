"""Page of a study: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from foundation.checks import FloatArray
from pipeline.files import write_text
from pipeline.reports.pages import page_template
from pipeline.reports.pictures import Picture
from pipeline.reports.units import number
from pipeline.store.documents import Shape, read_arrays
from pipeline.store.samples import OK
from pipeline.studies import figures
from pipeline.studies.factors import FACTORS
from pipeline.studies.outputs import KEY_OUTPUTS, OUTPUTS, WAVES
from pipeline.studies.summary import QUANTILES

#: Largest number of inputs of a tornado plot.
_MOST_BARS = 12


def write_page(folder: Path, summary: dict[str, Any], table: pd.DataFrame, config: str) -> None:
    """Write `study.html`.

    Parameters
    ----------
    folder : Path
        Folder of the study, with `waveforms.npz`.
    summary : dict
        The content of `summary.json`.
    table : DataFrame
        A row per run.
    config : str
        The resolved study as TOML.
    """
    outputs = {name: row for name, row in summary["outputs"].items() if row is not None}
    nominal = summary["nominal"]
    pictures = {
        "histograms": [
            Picture(
                figures.histogram_panel(
                    table.loc[table["status"] == OK, name], nominal[name], _label(name)
                ),
                f"distribution of {OUTPUTS[name].label}",
            )
            for name in KEY_OUTPUTS
            if name in outputs
        ],
        "bands": list(_bands(folder / "waveforms.npz")),
        "sensitivity": list(_tornados(summary["sensitivity"])),
        "convergence": [
            Picture(
                figures.convergence_panel(curve, _label(name)),
                f"mean of {OUTPUTS[name].label} over the number of runs",
            )
            for name, curve in summary["convergence"].items()
            if len(curve["runs"]) > 1
        ],
    }
    page = page_template("study.html", num=number).render(
        summary=summary,
        factors=[_factor_row(factor) for factor in summary["factors"]],
        outputs=[
            {**OUTPUTS[name]._asdict(), "nominal": nominal[name], **row}
            for name, row in outputs.items()
        ],
        quantiles=[f"q{share:g}" for share in QUANTILES],
        tiles=[_tile(name, outputs[name]) for name in KEY_OUTPUTS if name in outputs],
        pictures=pictures,
        config_text=config,
    )
    write_text(folder / "study.html", page)


def _label(name: str) -> str:
    return f"{OUTPUTS[name].label} [{OUTPUTS[name].unit}]"


def _tile(name: str, spread: Mapping[str, float]) -> dict[str, Any]:
    """Return the median of an output, with its 95 % interval as the note."""
    label, unit = OUTPUTS[name]
    interval = f"{number(spread['q2.5'])} to {number(spread['q97.5'])}"
    return {"label": label, "value": f"{number(spread['q50'])} {unit}", "note": interval}


def _factor_row(factor: Mapping[str, Any]) -> dict[str, Any]:
    """Return description and distribution of an input."""
    return {
        "name": factor["name"],
        "text": FACTORS[factor["name"]].text,
        "kind": factor["distribution"].replace("_", " "),
        "spread": ", ".join(
            f"{key} {factor[key]:g}"
            for key in ("mean", "sd", "low", "high", "value")
            if key in factor
        ),
    }


def _bands(path: Path) -> Iterator[Picture]:
    """Yield the waveforms over the cycle."""
    shapes: dict[str, Shape] = {"gait_percent": ("K",), **dict.fromkeys(WAVES, ("N", "K"))}
    waves = read_arrays(path, shapes, undefined=WAVES)
    for name, wave in WAVES.items():
        complete: FloatArray = waves[name][np.isfinite(waves[name]).all(axis=1)]
        if len(complete) > 1:
            label = f"{wave.label} [{wave.unit}]"
            uri = figures.band_panel(waves["gait_percent"], complete, label)
            yield Picture(uri, f"{wave.label} over the cycle")


def _tornados(sensitivity: dict[str, Any]) -> Iterator[Picture]:
    """Yield the influence of the inputs on the outputs."""
    for name in KEY_OUTPUTS:
        title, measure = OUTPUTS[name].label, sensitivity["outputs"][name] or {}
        measure = {key: value for key, value in measure.items() if value is not None}
        if not measure:
            continue
        if sensitivity["measure"] == "sobol":
            names = sorted(measure, key=lambda key: -measure[key]["total"])[:_MOST_BARS]
            total, half, first = (
                [measure[key][index] for key in names]
                for index in ("total", "total_half_width", "first")
            )
            uri = figures.tornado_panel(names, total, "total Sobol index", title, half, first)
        else:
            names = sorted(measure, key=lambda key: -abs(measure[key]))[:_MOST_BARS]
            values = [measure[key] for key in names]
            uri = figures.tornado_panel(names, values, "rank correlation", title)
        yield Picture(uri, f"inputs that matter to {title}")
