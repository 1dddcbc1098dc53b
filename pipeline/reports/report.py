"""The report of a run: `report.html` for people, `report.json` for programs.

Both are made from the files of the run directory alone, so that a report can be written again at
any time. The page stands for itself: pictures and style are inside it and nothing is fetched.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from foundation.wording import counted
from pipeline.files import plain, write_document, write_text
from pipeline.reports import tables
from pipeline.reports.combinations import combinations_content, frames_content, wear_content
from pipeline.reports.domain import domain_content
from pipeline.reports.inputs import HEADLINE_COLUMNS, RunFiles, read_run
from pipeline.reports.original import (
    original_content,
    original_line,
    original_notes,
    without_what_is_not_given,
)
from pipeline.reports.page import render
from pipeline.reports.sensitivity import sensitivity_content
from pipeline.reports.units import number

_SHARE, _ANTERIOR, *_PRESSURES = HEADLINE_COLUMNS
_LAYER_KEYS = ("law", "youngs_modulus_MPa", "poissons_ratio", "thickness_mm", "thickness_file")
_MODIFIED_KEYS = ("f", "m", "reference_indentation_mm")


def write_report(folder: Path) -> dict[str, Any]:
    """Write `report.html` and `report.json` of a finished run.

    Parameters
    ----------
    folder : Path
        Run directory.

    Returns
    -------
    dict
        The content of `report.json`: figures with their units in the keys, in units for people,
        and `summary`, a few lines for the terminal.

    Raises
    ------
    ReportError
        If a file of the run is missing or damaged; the message names it and says what to do.
    """
    folder = Path(folder)
    files = read_run(folder)
    content = report_content(files)
    page = render(files, content)
    write_text(folder / "report.html", page)
    write_document(folder / "report.json", content)
    return content


def report_content(files: RunFiles) -> dict[str, Any]:
    """Return the content of `report.json`.

    Parameters
    ----------
    files : RunFiles
        What `read_run` returned.
    """
    original = original_content(files.run)
    validation = without_what_is_not_given(tables.validation_content(files), original)
    height = tables.height_error(files.validation["models"][0])
    sensitivity = sensitivity_content(files.knee, files.predictions, original.get("not_given", ()))
    gait = tables.gait_content(files)
    gait |= _cycle_content(files)
    stages = {**tables.stage_content(files), "path": tables.path_content(files.path)}
    headline = _headline(validation, height, gait) | _sample_counts(files)
    overview = _overview(files) | {"headline": headline}
    overview["original"] = original
    overview["notes"] = original_notes(original) + _notes(stages, validation, gait)
    content = {
        "summary": summary_lines(overview),
        "overview": overview,
        "stages": stages,
        "validation": validation,
        "domain": domain_content(files),
        "sensitivity": sensitivity,
        "gait": gait,
        "provenance": _provenance(files),
    }
    return dict(plain(content))


def _cycle_content(files: RunFiles) -> dict[str, Any]:
    """Return frames, wear and combinations of inputs; None for what the run has not."""
    return {
        "frames": frames_content(files.frames),
        "wear": wear_content(files.wear),
        "combinations": combinations_content(files.combinations),
    }


def _overview(files: RunFiles) -> dict[str, Any]:
    config = files.config
    surrogate = {key: config["surrogate"][key] for key in ("formulation", "family")}
    if files.run["triangles"] is None:
        # Of a table: no surfaces, no springs.
        nothing = dict.fromkeys(("knee", "layer", "femur_layer"))
        return {"name": files.run["name"], **nothing, "surrogate": surrogate}
    knee, contact = config["knee"], config["contact"]
    builtin = knee["source"] == "builtin"
    bodies = {
        body: "built-in condylar implant" if builtin else Path(knee[body]["file"]).name
        for body in ("femur", "tibia")
    }
    return {
        "name": files.run["name"],
        "knee": {
            "source": knee["source"],
            "side": knee["side"],
            **bodies,
            "femur_triangles": files.run["triangles"]["femur"],
            "tibia_triangles": files.run["triangles"]["tibia"],
        },
        "layer": _layer(contact),
        "femur_layer": _layer(contact["femur_layer"]) if "femur_layer" in contact else None,
        "surrogate": surrogate,
    }


def _layer(layer: dict[str, Any]) -> dict[str, Any]:
    keys = _LAYER_KEYS + (_MODIFIED_KEYS if layer["law"] == "modified" else ())
    return _writable({key: layer[key] for key in keys if key in layer})


def _sample_counts(files: RunFiles) -> dict[str, int]:
    total = files.run["counts"]["total"]
    along = total.get("gait", 0)
    return {
        "candidates": total["candidates"],
        "evaluated": total["first"] + total["evaluated"] + along,
        "training_samples": total["training"] + along,
        "held_out_samples": len(files.held_out),
    }


def _headline(
    validation: dict[str, Any], height: dict[str, Any] | None, gait: dict[str, Any]
) -> dict[str, Any]:
    """Return the figures that the page opens with; pressure is that of the worse compartment."""
    shares = {row["column"]: row["rms_over_range_percent"] for row in gait["differences"]}
    if gait["differences"]:
        pressures = [shares[column] for column in _PRESSURES]
    else:
        # Of a table alone: nothing to compare the cycle with.
        shares, pressures = dict.fromkeys((_SHARE, _ANTERIOR)), [None]
    speed = gait["speed"] or dict.fromkeys(("evaluation_ratio", "cycle_ratio"))
    return {
        "worst_load": validation["worst_load"],
        "height_at_load": height,
        "gait_medial_force_rms_over_range_percent": shares[_SHARE],
        "gait_ap_position_rms_over_range_percent": shares[_ANTERIOR],
        "gait_peak_pressure_rms_over_range_percent": (
            None if None in pressures else max(pressures)
        ),
        "evaluation_speed_ratio": speed["evaluation_ratio"],
        "cycle_speed_ratio": speed["cycle_ratio"],
        "wear_difference_percent": (
            gait["wear"] and gait["wear"]["per_million_cycles"]["difference"]["total_percent"]
        ),
        "combinations": _combinations_headline(gait["combinations"]),
    }


def _combinations_headline(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return how many combinations keep all bars, the worst wear, and the ratio of times."""
    if found is None:
        return None
    worst = found["worst"]["wear_percent"]
    wear = {row["name"]: row.get("wear_percent") for row in found["rows"]}
    return {
        "total": len(found["rows"]),
        "within": found["within"],
        "worst_wear_combination": worst,
        "worst_wear_difference_percent": wear.get(worst),
        "median_cycle_ratio": found["median_cycle_ratio"],
    }


def _notes(
    stages: dict[str, Any], validation: dict[str, Any], gait: dict[str, Any]
) -> list[dict[str, str]]:
    """Return what a reader must know before trusting the figures."""
    notes = []
    for flag in gait["flags"]:
        notes.append({"where": f"gait, {flag['model']}", "text": flag["message"]})
    for failure in (gait["combinations"] or {}).get("failures", []):
        notes.append({"where": f"combination {failure['where']}", "text": failure["text"]})
    total = stages["counts"]["total"]
    failed = total["first_failed"] + total["evaluated_failed"]
    if failed:
        text = f"{failed} of {total['first'] + total['evaluated']} evaluations have no answer"
        notes.append({"where": "training samples", "text": text})
    if validation["failed"]:
        text = counted(
            validation["failed"],
            "held-out evaluation has no answer",
            "held-out evaluations have no answer",
        )
        notes.append({"where": "held-out samples", "text": text})
    if validation["too_narrow"]:
        text = f"too narrow, covering less than 90 %: {', '.join(validation['too_narrow'])}"
        notes.append({"where": "predicted 95 % intervals", "text": text})
    return notes


def summary_lines(overview: dict[str, Any]) -> list[str]:
    """Return the lines that the terminal shows, in units that any terminal has."""
    head, original = overview["headline"], overview["original"]
    worst, height = head["worst_load"], head["height_at_load"]

    def share(name: str) -> str:
        return f"{number(head[f'gait_{name}_rms_over_range_percent'])} %"

    compared = [
        f"gait: RMS difference over range: medial force {share('medial_force')}, "
        f"AP position {share('ap_position')}, peak pressure {share('peak_pressure')}",
        f"speed: {number(head['evaluation_speed_ratio'])} times per evaluation, "
        f"{number(head['cycle_speed_ratio'])} times for the gait cycle",
    ]
    lines = [
        f"accuracy: worst load NRMSE at given pose {number(worst['nrmse_percent'])} % "
        f"({worst['compartment']} {worst['load']})",
        *(compared if original["kind"] == "model" else [original_line(original)]),
        f"samples: {head['candidates']} candidates, {head['evaluated']} evaluated, "
        f"{head['training_samples']} trained on, {head['held_out_samples']} held out",
    ]
    if height is not None:
        lines[0] += f"; height error at given load {number(height['rmse_um'])} um"
    found = head["combinations"]
    if found is not None:
        lines.append(
            f"combinations: {found['within']} of {found['total']} within all bars; wear at most "
            f"{number(found['worst_wear_difference_percent'])} % off "
            f"({found['worst_wear_combination']}), "
            f"{number(found['median_cycle_ratio'])} times faster in the median"
        )
    if overview["notes"]:
        lines.append(f"notes: {len(overview['notes'])}, see the top of the report")
    return lines


def _provenance(files: RunFiles) -> dict[str, Any]:
    run = files.run
    return {
        "seed": run["seed"],
        "held_out_seed": run["held_out_seed"],
        "workers": run["workers"],
        "python": run["python"],
        "packages": run["packages"],
        "sha256": run["hashes"],
        "stage_s": run["seconds"],
        "total_s": sum(run["seconds"].values()),
        "configuration": _writable(files.config),
    }


def _writable(value: Any) -> Any:
    """Return a configuration as strict JSON can hold it: infinity is TOML's word for it."""
    if isinstance(value, dict):
        return {key: _writable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_writable(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
