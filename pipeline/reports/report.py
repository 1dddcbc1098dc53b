"""Report of a run: `report.html` for people, `report.json` for programs.

Both are made from the files of the run directory alone, so a report can be written again at any
time. The page is self-contained: it includes pictures and style and loads nothing.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import tomli_w

from foundation.base.wording import counted
from pipeline.config.knee_schema import OWN_KEYS
from pipeline.config.reading import dump_config
from pipeline.config.schema import Config
from pipeline.files import plain, write_document
from pipeline.reports import accuracy_pictures as accuracy
from pipeline.reports import pictures, tables
from pipeline.reports.combinations import combinations_content, frames_content, wear_content
from pipeline.reports.contact_figures import contact_content, contact_pictures
from pipeline.reports.evidence import evidence_of, more_samples, own_errors
from pipeline.reports.glossary import glossary_of
from pipeline.reports.inputs import HEADLINE_COLUMNS, RunFiles, read_run
from pipeline.reports.knee_figures import knee_content, knee_lines, wears
from pipeline.reports.knee_frames import frame_pictures
from pipeline.reports.node_spacing import spacing_content, spacing_lines
from pipeline.reports.overview_picture import peak_picture
from pipeline.reports.pages import write_page
from pipeline.reports.pressure_view import view_data
from pipeline.reports.trained_domain import (
    COORDINATES,
    INPUTS,
    domain_content,
    sensitivity_content,
)
from pipeline.reports.units import ASCII, largest, number
from pipeline.reports.verdict import verdict, verdict_lines
from pipeline.stages.frames import WearOfCycle
from pipeline.store.quantities import ERRORS
from pipeline.store.run_documents import FromModel, RunRecord
from pipeline.store.workspace_lock import flat_keys

_LAYER_KEYS = ("youngs_modulus_MPa", "poissons_ratio", "thickness_mm", "thickness_file")
#: Keys of `run.json` in the report.
_AS_STORED = ("seed", "held_out_seed", "workers", "python", "packages")
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
    write_page(
        folder / "report.html",
        **content,
        pictures=_pictures(files, content),
        view=view_data(files.fields, files.cycles),
        inputs=INPUTS,
        coordinates=COORDINATES,
        glossary=glossary_of(files.config["contact"].get("model", "elastic_foundation")),
        changed_keys=_changed_keys(files.config),
        config_text=tomli_w.dumps(files.config),
    )
    write_document(folder / "report.json", content)
    return content


def report_content(files: RunFiles) -> dict[str, Any]:
    """Return the content of `report.json` from the files of a run."""
    run, original = files.run, _original(files.run)
    validation = tables.validation_content(files)
    stages = tables.stage_content(files)
    gait = _gait_content(files)
    overview = _overview(files) | {
        "headline": _headline(files, validation, gait),
        "original": original,
        "notes": [
            {"where": where, "text": text}
            for where, text in _notes(files, original, stages, validation, gait)
        ],
    }
    knee = knee_content(files)
    domain = domain_content(files)
    evidence = evidence_of(files, validation, gait, domain)
    judged = verdict(evidence, more_samples(files.config["design"]))
    judged["errors"] = own_errors(files, gait, judged)
    simulated = bool(gait["models"])
    lines = [
        *summary_lines(overview, simulated=simulated),
        *spacing_lines(gait["node_spacing"]),
    ]
    content = {
        "summary": [
            *lines,
            *knee_lines(knee),
            *_warnings(run),
            *verdict_lines(judged),
            *([f"gait: {gait['not_trusted']}"] if gait["not_trusted"] else []),
        ],
        "overview": overview,
        "knee": knee,
        "verdict": judged,
        "remarks": [remark.content() for remark in files.run.remarks],
        "stages": stages,
        "validation": validation,
        "domain": domain,
        "sensitivity": sensitivity_content(files.knee, files.predictions, run.not_given),
        "gait": gait,
        "contact": contact_content(files),
        "provenance": {
            "date": run.date,
            **{key: getattr(run, key) for key in _AS_STORED},
            "sha256": run.hashes,
            "stage_s": run.seconds,
            "total_s": sum(run.seconds.values()),
            "configuration": _writable(files.config),
        },
    }
    return dict(plain(content))


def _gait_content(files: RunFiles) -> dict[str, Any]:
    return tables.gait_content(files) | {
        "frames": files.frames and frames_content(files.frames),
        "wear": (worn := _worn(files)) and wear_content(worn),
        "combinations": files.combinations and combinations_content(files.combinations),
        "node_spacing": files.simulation and spacing_content(files.simulation.node_spacing),
    }


def _worn(files: RunFiles) -> WearOfCycle | None:
    """Return the wear of the cycle, None without wear or of a layer that does not wear."""
    return files.wear if wears(files.config["contact"]) else None


def _changed_keys(config: Row) -> list[tuple[str, str]]:
    """Return the keys of a configuration that differ from their defaults, with their values."""
    defaults = flat_keys(tomllib.loads(dump_config(Config())))
    return [
        (key, json.dumps(value, ensure_ascii=False).replace("Infinity", "inf"))
        for key, value in flat_keys(config).items()
        if key not in defaults or defaults[key] != value
    ]


def _overview(files: RunFiles) -> Row:
    config, triangles = files.config, files.run.triangles
    surrogate = {key: config["surrogate"][key] for key in ("formulation", "family")}
    overview = {"name": files.run.name, "surrogate": surrogate}
    if triangles is None:
        # A table has neither surfaces nor layers.
        return overview | dict.fromkeys(("knee", "layer", "femur_layer", "elements"))
    section, contact = config["knee"], config["contact"]
    knee = {"source": section["source"], "side": section["side"]}
    for body in ("femur", "tibia"):
        made = section["source"] == "builtin"
        knee[body] = "built-in condylar implant" if made else Path(section[body]["file"]).name
        knee[f"{body}_triangles"] = getattr(triangles, body)
    femur_layer, elements = (contact.get(key) for key in ("femur_layer", "finite_element"))
    springs = elements is None
    return overview | {
        "knee": knee,
        "layer": _layer(contact, springs=springs),
        "femur_layer": femur_layer and _layer(femur_layer, springs=springs),
        "elements": elements,
    }


def _layer(layer: Row, *, springs: bool) -> Row:
    """Return the keys of a layer; the law and its keys belong to springs."""
    keys = ("law", *_LAYER_KEYS, *OWN_KEYS.get(layer["law"], ())) if springs else _LAYER_KEYS
    return _writable({key: layer[key] for key in keys if key in layer})


def _headline(files: RunFiles, validation: Row, gait: Row) -> Row:
    """Return the figures at the top of the page; pressure is that of the worse compartment.

    The gait of a table has nothing to compare with.
    """
    shares = {row["column"]: row["rms_over_range_percent"] for row in gait["differences"]}
    force, anterior, *pressures = (shares.get(column) for column in HEADLINE_COLUMNS)
    speed, wear, varied = gait["speed"] or {}, gait["wear"], gait["combinations"]
    total = files.run.counts["total"]
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
        "combinations": varied and _combinations_headline(varied, worn=wear is not None),
        "candidates": total.candidates,
        "evaluated": total.first + total.evaluated + total.gait,
        "training_samples": total.training + total.gait,
        "held_out_samples": len(files.held_out),
    }


def _combinations_headline(varied: Row, *, worn: bool) -> Row:
    """Return the number of combinations that keep all bars, the worst wear, the ratio of times."""
    worst = varied["worst"]["wear_percent"] if worn else None
    wear = {row["name"]: row.get("wear_percent") for row in varied["rows"]}
    return {
        "total": len(varied["rows"]),
        "within": varied["within"],
        "worst_wear_combination": worst,
        "worst_wear_difference_percent": wear.get(worst),
        "median_cycle_ratio": varied["median_cycle_ratio"],
    }


def _notes(
    files: RunFiles, original: Row, stages: Row, validation: Row, gait: Row
) -> Iterator[tuple[str, str]]:
    """Yield the notes to read before the figures: where, and the text."""
    for remark in files.run.remarks:
        if remark.level != "note":
            yield remark.about, remark.text
    if original["kind"] == "table":
        for text in _table_notes(original):
            yield original["file"], text
    if gait["not_trusted"]:
        yield "gait, surrogate", gait["not_trusted"]
    for flag in gait["flags"]:
        yield f"gait, {flag['model']}", flag["message"]
    for failure in (gait["combinations"] or {}).get("failures", []):
        yield f"combination {failure['where']}", failure["text"]
    total = stages["counts"]["total"]
    if failed := total["first_failed"] + total["evaluated_failed"]:
        evaluated = total["first"] + total["evaluated"]
        yield "training samples", f"{failed} of {evaluated} evaluations have no answer"
    if validation["failed"]:
        words = ("held-out evaluation has no answer", "held-out evaluations have no answer")
        yield "held-out samples", counted(validation["failed"], *words)
    if validation["too_narrow"]:
        text = f"too narrow, covering less than 90 %: {', '.join(validation['too_narrow'])}"
        yield "predicted 95 % intervals", text


def _table_notes(original: Row) -> Iterator[str]:
    """Yield the notes on a table in the place of the original model."""
    yield (
        "a table of poses and loads took the place of the original model: the gait cycle is that "
        "of the surrogate alone, without a comparison"
    )
    if original["not_given"]:
        # The three coordinates of the centre of pressure are one entry.
        labels = dict.fromkeys(
            re.sub(r" [xyz]$", "", ERRORS[name].label) for name in original["not_given"]
        )
        yield f"not given: {', '.join(labels)}; not shown, and wear is not computed"
    for key, words in (
        ("out_of_contact", "without contact are not used"),
        ("no_answer", "marked as failed are not used"),
        ("outside_space", "outside [space] are not used"),
    ):
        if original[key]:
            yield f"{number(original[key])} rows of a compartment {words}"
    if original["ignored_columns"]:
        yield f"columns not used: {', '.join(original['ignored_columns'])}"


def _warnings(run: RunRecord) -> Iterator[str]:
    """Yield the warnings of the checks for the terminal, in units of ASCII characters."""
    for remark in run.remarks:
        if remark.level != "note":
            text = f"{remark.about}: {remark.text}".translate(ASCII)
            yield f"warning: {text}"


def summary_lines(overview: dict[str, Any], *, simulated: bool = True) -> list[str]:
    """Return the lines for the terminal, in units of ASCII characters.

    `simulated` says whether the run has a gait cycle.
    """
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
    compared = compared if simulated else []
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
        worst = varied["worst_wear_combination"]
        off = number(varied["worst_wear_difference_percent"])
        lines.append(
            f"combinations: {varied['within']} of {varied['total']} within all bars; "
            + ("" if worst is None else f"wear at most {off} % off ({worst}), ")
            + f"{number(varied['median_cycle_ratio'])} times faster in the median"
        )
    if overview["notes"]:
        lines.append(f"notes: {len(overview['notes'])}, see the top of the report")
    return lines


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


def _pictures(files: RunFiles, content: Row) -> dict[str, Any]:
    """Return the pictures of the page by their section."""
    scale, frames = frame_pictures(files.fields, content["gait"]["frames"])
    validation = content["validation"]
    drawn = {
        "path": pictures.path_pictures(files, content["stages"]["space"]),
        "parity": accuracy.parity_pictures(files),
        "residuals": accuracy.residual_pictures(files),
        "learning": accuracy.learning_pictures(
            validation["learning_curve"], both=len(files.compartments) == 2
        ),
        "quantiles": accuracy.quantile_pictures(validation["compartments"]),
        "domain": accuracy.domain_pictures(files),
    }
    shown = {section: list(items) for section, items in {**drawn, **_of_gait(files)}.items()}
    return shown | {"peak": peak_picture(files), "frames": frames, "frame_scale": scale}


def _of_gait(files: RunFiles) -> dict[str, Iterable[Any]]:
    """Return the pictures of the simulated cycle by their section, empty without a cycle."""
    sections = {
        "inputs": pictures.input_pictures,
        "contact": contact_pictures,
        "kinematics": pictures.kinematics_pictures,
        "loads": pictures.load_pictures,
        "pressure": pictures.pressure_pictures,
        "wear": pictures.wear_pictures,
        "combinations": pictures.combination_pictures,
    }
    if _worn(files) is None:
        del sections["wear"]
    return {name: draw(files) if files.cycles else () for name, draw in sections.items()}
