"""The page of a study: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from foundation.checks import FloatArray
from pipeline.files import write_text
from pipeline.reports.pages import page_template
from pipeline.reports.units import number
from pipeline.store.documents import Shape, read_arrays
from pipeline.store.samples import OK
from pipeline.studies import figures
from pipeline.studies.factors import FACTORS
from pipeline.studies.runs import OUTPUTS, WAVES
from pipeline.studies.summary import KEY_OUTPUTS, QUANTILES

# Inputs that a tornado shows at most.
_MOST_BARS = 12


def write_page(folder: Path, summary: dict[str, Any], table: pd.DataFrame, config: str) -> None:
    """Write `study.html`.

    Parameters
    ----------
    folder : Path
        The study's folder, with `waveforms.npz`.
    summary : dict
        The content of `summary.json`.
    table : DataFrame
        A row per run.
    config : str
        The resolved study as TOML.
    """
    good = table[table["status"] == OK]
    page = page_template("study.html", num=number).render(
        summary=summary,
        factors=[_factor_row(factor) for factor in summary["factors"]],
        outputs=_output_rows(summary),
        quantiles=[f"q{share:g}" for share in QUANTILES],
        tiles=[_tile(name, summary) for name in KEY_OUTPUTS if summary["outputs"][name]],
        pictures={
            "histograms": _histograms(good, summary),
            "bands": _bands(folder / "waveforms.npz"),
            "sensitivity": _tornados(summary["sensitivity"]),
            "convergence": _convergence(summary["convergence"]),
        },
        config_text=config,
    )
    write_text(folder / "study.html", page)


def _output_rows(summary: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {**OUTPUTS[name]._asdict(), "nominal": summary["nominal"][name], **found}
        for name, found in summary["outputs"].items()
        if found is not None
    ]


def _label(name: str) -> str:
    return f"{OUTPUTS[name].label} [{OUTPUTS[name].unit}]"


def _tile(name: str, summary: dict[str, Any]) -> dict[str, Any]:
    found = summary["outputs"][name]
    output = OUTPUTS[name]
    ends = f"{number(found['q2.5'])} to {number(found['q97.5'])}"
    return {"label": output.label, "value": f"{number(found['q50'])} {output.unit}", "note": ends}


def _factor_row(factor: Mapping[str, Any]) -> dict[str, Any]:
    entry = FACTORS[factor["name"]]
    spread = ", ".join(
        f"{key} {factor[key]:g}" for key in ("mean", "sd", "low", "high", "value") if key in factor
    )
    kind = factor["distribution"].replace("_", " ")
    return {"name": factor["name"], "text": entry.text, "kind": kind, "spread": spread}


def _histograms(good: pd.DataFrame, summary: dict[str, Any]) -> list[dict[str, str]]:
    return [
        _shown(
            figures.histogram_panel(good[name], summary["nominal"][name], _label(name)),
            f"distribution of {OUTPUTS[name].label}",
        )
        for name in KEY_OUTPUTS
        if summary["outputs"][name]
    ]


def _bands(path: Path) -> list[dict[str, str]]:
    shapes: dict[str, Shape] = {"gait_percent": ("K",), **dict.fromkeys(WAVES, ("N", "K"))}
    waves = read_arrays(path, shapes, undefined=WAVES)
    percent = waves["gait_percent"]
    shown = []
    for name, (label, unit) in WAVES.items():
        whole: FloatArray = waves[name][np.isfinite(waves[name]).all(axis=1)]
        if len(whole) > 1:
            drawn = figures.band_panel(percent, whole, f"{label} [{unit}]")
            shown.append(_shown(drawn, f"{label} over the cycle"))
    return shown


def _tornados(sensitivity: dict[str, Any]) -> list[dict[str, str]]:
    shown = []
    for name in KEY_OUTPUTS:
        found = sensitivity["outputs"][name]
        if found is None:
            continue
        if sensitivity["measure"] == "sobol":
            drawn = _sobol_tornado(found, OUTPUTS[name].label)
        else:
            known = {key: value for key, value in found.items() if value is not None}
            if not known:
                continue
            names = sorted(known, key=lambda key: -abs(known[key]))[:_MOST_BARS]
            drawn = figures.tornado_panel(
                names, [known[key] for key in names], "rank correlation", OUTPUTS[name].label
            )
        shown.append(_shown(drawn, f"inputs that matter to {OUTPUTS[name].label}"))
    return shown


def _sobol_tornado(found: dict[str, dict[str, float]], title: str) -> str:
    names = sorted(found, key=lambda key: -found[key]["total"])[:_MOST_BARS]
    total, half, first = (
        [found[name][key] for name in names] for key in ("total", "total_half_width", "first")
    )
    return figures.tornado_panel(names, total, "total Sobol index", title, half, first)


def _convergence(curves: dict[str, Any]) -> list[dict[str, str]]:
    return [
        _shown(
            figures.convergence_panel(curve, _label(name)),
            f"mean of {OUTPUTS[name].label} over the number of runs",
        )
        for name, curve in curves.items()
        if len(curve["runs"]) > 1
    ]


def _shown(uri: str, text: str) -> dict[str, str]:
    return {"uri": uri, "text": text}
