"""Report of a run: `report.html` for people, `report.json` for programs.

Both are made from the files of the run directory alone, so a report can be written again at any
time. The page is self-contained: it includes pictures and style and loads nothing.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import tomli_w

from foundation.wording import counted
from pipeline.files import plain, write_document, write_text
from pipeline.reports import accuracy_pictures as accuracy
from pipeline.reports import pictures, tables
from pipeline.reports.combinations import combinations_content, frames_content, wear_content
from pipeline.reports.domain import domain_content
from pipeline.reports.inputs import HEADLINE_COLUMNS, RunFiles, read_run
from pipeline.reports.knee_frames import frame_pictures
from pipeline.reports.pages import page_template
from pipeline.reports.pressure_view import colour_stops, view_data, view_json
from pipeline.reports.sensitivity import COORDINATES, INPUTS, sensitivity_content
from pipeline.reports.units import largest, number
from pipeline.store.quantities import ERRORS
from pipeline.store.run_documents import FromModel, RunRecord

_LAYER_KEYS = ("law", "youngs_modulus_MPa", "poissons_ratio", "thickness_mm", "thickness_file")
_MODIFIED_KEYS = ("f", "m", "reference_indentation_mm")
#: Errors of the rows: key in `run.json`, key of the report, factor to its unit.
_ERRORS = (
    ("height_m", "height_um", 1e6),
    ("force_x_over_axial", "ap_force_over_axial_percent", 100.0),
    ("force_z_over_axial", "ml_force_over_axial_percent", 100.0),
)

Row = dict[str, Any]


def write_report(folder: Path) -> dict[str, Any]:
    """Write `report.html` and `report.json` of a finished run.

    Parameters
    ----------
    folder : Path
        Run directory.

    Returns
    -------
    dict
        Content of `report.json`: figures in units for people, which the keys name, and `summary`,
        a few lines for the terminal.

    Raises
    ------
    ReportError
        If a file of the run is missing or damaged; the message names the file and the remedy.
    """
    folder = Path(folder)
    files = read_run(folder)
    content = report_content(files)
    page = _render(files, content)
    write_text(folder / "report.html", page)
    write_document(folder / "report.json", content)
    return content


def report_content(files: RunFiles) -> dict[str, Any]:
    """Return the content of `report.json` from the files of a run."""
    original = _original(files.run)
    validation = tables.validation_content(files)
    stages = tables.stage_content(files)
    gait = tables.gait_content(files) | {
        "frames": frames_content(files.frames),
        "wear": wear_content(files.wear),
        "combinations": combinations_content(files.combinations),
    }
    overview = _overview(files) | {
        "headline": _headline(files, validation, gait),
        "original": original,
        "notes": _original_notes(original) + _notes(stages, validation, gait),
    }
    content = {
        "summary": summary_lines(overview),
        "overview": overview,
        "stages": stages,
        "validation": validation,
        "domain": domain_content(files),
        "sensitivity": sensitivity_content(files.knee, files.predictions, files.run.not_given),
        "gait": gait,
        "provenance": _provenance(files),
    }
    return dict(plain(content))


def _overview(files: RunFiles) -> Row:
    config, triangles = files.config, files.run.triangles
    surrogate = {key: config["surrogate"][key] for key in ("formulation", "family")}
    overview: Row = dict.fromkeys(("knee", "layer", "femur_layer"))
    overview |= {"name": files.run.name, "surrogate": surrogate}
    if triangles is None:
        # A table has neither surfaces nor springs.
        return overview
    knee, contact = config["knee"], config["contact"]
    bodies = {
        body: "built-in condylar implant"
        if knee["source"] == "builtin"
        else Path(knee[body]["file"]).name
        for body in ("femur", "tibia")
    }
    return overview | {
        "knee": {
            "source": knee["source"],
            "side": knee["side"],
            **bodies,
            "femur_triangles": triangles.femur,
            "tibia_triangles": triangles.tibia,
        },
        "layer": _layer(contact),
        "femur_layer": _layer(contact["femur_layer"]) if "femur_layer" in contact else None,
    }


def _layer(layer: Row) -> Row:
    keys = _LAYER_KEYS + (_MODIFIED_KEYS if layer["law"] == "modified" else ())
    return _writable({key: layer[key] for key in keys if key in layer})


def _headline(files: RunFiles, validation: Row, gait: Row) -> Row:
    """Return the figures at the top of the page; pressure is that of the worse compartment.

    The gait of a table has nothing to compare with.
    """
    shares = {row["column"]: row["rms_over_range_percent"] for row in gait["differences"]}
    force, anterior, *pressures = (shares.get(column) for column in HEADLINE_COLUMNS)
    speed, wear, total = gait["speed"] or {}, gait["wear"], files.run.counts["total"]
    return {
        "worst_load": validation["worst_load"],
        "height_at_load": tables.height_error(files.validation.models[0]),
        "gait_medial_force_rms_over_range_percent": force,
        "gait_ap_position_rms_over_range_percent": anterior,
        "gait_peak_pressure_rms_over_range_percent": largest(pressures),
        "evaluation_speed_ratio": speed.get("evaluation_ratio"),
        "cycle_speed_ratio": speed.get("cycle_ratio"),
        "wear_difference_percent": (
            wear and wear["per_million_cycles"]["difference"]["total_percent"]
        ),
        "combinations": _combinations_headline(gait["combinations"]),
        "candidates": total.candidates,
        "evaluated": total.first + total.evaluated + total.gait,
        "training_samples": total.training + total.gait,
        "held_out_samples": len(files.held_out),
    }


def _combinations_headline(content: Row | None) -> Row | None:
    """Return the number of combinations that keep all bars, the worst wear, the ratio of times."""
    if content is None:
        return None
    worst = content["worst"]["wear_percent"]
    wear = {row["name"]: row.get("wear_percent") for row in content["rows"]}
    return {
        "total": len(content["rows"]),
        "within": content["within"],
        "worst_wear_combination": worst,
        "worst_wear_difference_percent": wear.get(worst),
        "median_cycle_ratio": content["median_cycle_ratio"],
    }


def _notes(stages: Row, validation: Row, gait: Row) -> list[dict[str, str]]:
    """Return the notes to read before the figures."""
    notes = [(f"gait, {flag['model']}", flag["message"]) for flag in gait["flags"]]
    for failure in (gait["combinations"] or {}).get("failures", []):
        notes.append((f"combination {failure['where']}", failure["text"]))
    total = stages["counts"]["total"]
    failed = total["first_failed"] + total["evaluated_failed"]
    if failed:
        text = f"{failed} of {total['first'] + total['evaluated']} evaluations have no answer"
        notes.append(("training samples", text))
    if validation["failed"]:
        words = ("held-out evaluation has no answer", "held-out evaluations have no answer")
        notes.append(("held-out samples", counted(validation["failed"], *words)))
    if validation["too_narrow"]:
        text = f"too narrow, covering less than 90 %: {', '.join(validation['too_narrow'])}"
        notes.append(("predicted 95 % intervals", text))
    return [{"where": where, "text": text} for where, text in notes]


def summary_lines(overview: dict[str, Any]) -> list[str]:
    """Return the lines for the terminal, in units of ASCII characters."""
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
        *(compared if original["kind"] == "model" else [_original_line(original)]),
        f"samples: {head['candidates']} candidates, {head['evaluated']} evaluated, "
        f"{head['training_samples']} trained on, {head['held_out_samples']} held out",
    ]
    if height is not None:
        lines[0] += f"; height error at given load {number(height['rmse_um'])} um"
    varied = head["combinations"]
    if varied is not None:
        lines.append(
            f"combinations: {varied['within']} of {varied['total']} within all bars; wear at most "
            f"{number(varied['worst_wear_difference_percent'])} % off "
            f"({varied['worst_wear_combination']}), "
            f"{number(varied['median_cycle_ratio'])} times faster in the median"
        )
    if overview["notes"]:
        lines.append(f"notes: {len(overview['notes'])}, see the top of the report")
    return lines


def _provenance(files: RunFiles) -> Row:
    run = files.run
    return {
        "seed": run.seed,
        "held_out_seed": run.held_out_seed,
        "workers": run.workers,
        "python": run.python,
        "packages": run.packages,
        "sha256": run.hashes,
        "stage_s": run.seconds,
        "total_s": sum(run.seconds.values()),
        "configuration": _writable(files.config),
    }


def _writable(value: Any) -> Any:
    """Return a configuration for strict JSON: infinity becomes the word "inf" of TOML."""
    if isinstance(value, dict):
        return {key: _writable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_writable(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _original(run: RunRecord) -> Row:
    """Return the original model of the surrogate: `kind` model, or a table and its content.

    `errors_found` are standard deviations of the errors of the rows of a table, by compartment.
    """
    content = run.original.content() | {"kind": run.original.kind}
    if not isinstance(run.original, FromModel) and run.original.errors_found is not None:
        content["errors_found"] = {
            name: {key: factor * getattr(errors, stored) for stored, key, factor in _ERRORS}
            for name, errors in run.original.errors_found.items()
        }
    return content


def _original_notes(original: Row) -> list[dict[str, str]]:
    """Return the notes of the report on a table."""
    if original["kind"] == "model":
        return []
    notes = [
        "a table of poses and loads took the place of the original model: the gait cycle is that "
        "of the surrogate alone, without a comparison"
    ]
    if original["not_given"]:
        # The three coordinates of the centre of pressure are one entry.
        labels = dict.fromkeys(
            re.sub(r" [xyz]$", "", ERRORS[name].label) for name in original["not_given"]
        )
        notes.append(f"not given: {', '.join(labels)}; not shown, and wear is not computed")
    for key, words in (
        ("out_of_contact", "without contact are not used"),
        ("no_answer", "marked as failed are not used"),
        ("outside_space", "outside [space] are not used"),
    ):
        if original[key]:
            notes.append(f"{number(original[key])} rows of a compartment {words}")
    if original["ignored_columns"]:
        notes.append(f"columns not used: {', '.join(original['ignored_columns'])}")
    return [{"where": original["file"], "text": text} for text in notes]


def _original_line(original: Row) -> str:
    """Return the line of the terminal on a table."""
    text = f"original: table {original['file']}, {original['rows']} rows"
    if original["errors_found"] is None:
        return text
    parts = original["errors_found"].values()
    height, ap, ml = (number(max(part[key] for part in parts)) for _, key, _ in _ERRORS)
    return (
        f"{text}; errors found in them: height {height} um, AP and ML force {ap} % and {ml} % of "
        "the axial force"
    )


def _render(files: RunFiles, content: Row) -> str:
    """Return the page: the content of `report.json`, and pictures from the files of the run."""
    validation = content["validation"]
    scale, frames = frame_pictures(files.frames, content["gait"]["frames"])
    view = view_data(files.frames, files.cycles)
    shown = {
        "path": pictures.path_pictures(files, content["stages"]["space"]),
        "parity": accuracy.parity_pictures(files),
        "residuals": accuracy.residual_pictures(files),
        "learning": accuracy.learning_pictures(validation["learning_curve"]),
        "quantiles": accuracy.quantile_pictures(validation["compartments"]),
        "domain": accuracy.domain_pictures(files),
        "inputs": pictures.input_pictures(files),
        "kinematics": pictures.kinematics_pictures(files),
        "loads": pictures.load_pictures(files),
        "pressure": pictures.pressure_pictures(files),
        "frames": frames,
        "frame_scale": scale,
        "wear": pictures.wear_pictures(files),
        "combinations": pictures.combination_pictures(files),
    }
    return page_template("report.html").render(
        **content,
        pictures=shown,
        view=view,
        view_json=view_json(view),
        view_colours=colour_stops(),
        inputs=INPUTS,
        coordinates=COORDINATES,
        config_text=tomli_w.dumps(files.config),
    )
