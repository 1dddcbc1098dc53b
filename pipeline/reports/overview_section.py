"""Sections of the report on the knee and headline figures, and on the stages of the run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from foundation.base.wording import counted
from pipeline.config.contact_schema import DEFAULT_MODEL, OWN_KEYS
from pipeline.reports.accuracy import Accuracy
from pipeline.reports.gait_section import Gait
from pipeline.reports.inputs import HEADLINE_COLUMNS, RunFiles
from pipeline.reports.model_section import model_of
from pipeline.reports.units import ASCII, kind_of, largest, number
from pipeline.store.quantities import CATALOGUE, to_display
from pipeline.store.run_documents import Counts, FromTable, Part, RunRecord
from pipeline.store.samples import FAILED

_LAYER_KEYS = ("youngs_modulus_MPa", "poissons_ratio", "thickness_mm", "thickness_file")


class Overview(Part):
    """The knee, the contact model or table (`original`), headline figures and notes."""

    name: str
    surrogate: dict[str, str]
    knee: dict[str, str | int] | None
    layer: dict[str, Any] | None
    femur_layer: dict[str, Any] | None
    settings: dict[str, Any] | None
    headline: dict[str, Any]
    original: dict[str, Any]
    notes: list[dict[str, str]]


def overview_of(files: RunFiles, stages: Stages, accuracy: Accuracy, gait: Gait) -> Overview:
    """Return the section at the top of the report of a run."""
    config, contact = files.config, files.config["contact"]
    modelled = files.run.triangles is not None
    model = model_of(contact)
    femur_layer, settings = (
        (contact.get(key) if modelled else None) for key in ("femur_layer", model)
    )
    springs = model == DEFAULT_MODEL
    return Overview(
        name=files.run.name,
        surrogate={key: config["surrogate"][key] for key in ("formulation", "family")},
        knee=_knee(files),
        layer=_layer(contact, springs=springs) if modelled else None,
        femur_layer=femur_layer and _layer(femur_layer, springs=springs),
        settings=settings,
        headline=_headline(files, gait),
        original=_original(files.run),
        notes=list(_notes(files, stages, accuracy, gait)),
    )


def _knee(files: RunFiles) -> dict[str, str | int] | None:
    """Return the bodies of the knee with their triangles, None of a table."""
    section, triangles = files.config["knee"], files.run.triangles
    if triangles is None:
        return None
    knee: dict[str, str | int] = {"source": section["source"], "side": section["side"]}
    for body in ("femur", "tibia"):
        made = section["source"] == "builtin"
        knee[body] = "built-in condylar implant" if made else _names(section[body]["file"])
        knee[f"{body}_triangles"] = getattr(triangles, body)
    return knee


def _layer(layer: dict[str, Any], *, springs: bool) -> dict[str, Any]:
    """Return the keys of a layer; the law and its keys belong to springs."""
    keys = ("law", *_LAYER_KEYS, *OWN_KEYS.get(layer["law"], ())) if springs else _LAYER_KEYS
    return dict(writable({key: layer[key] for key in keys if key in layer}))


def writable(value: Any) -> Any:
    """Return a configuration for strict JSON: infinity becomes the word "inf" of TOML."""
    if isinstance(value, dict):
        return {key: writable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [writable(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _original(run: RunRecord) -> dict[str, Any]:
    """Return the original model of the surrogate, errors of a table in units for people."""
    return dict(to_display(run.original.content()) | {"kind": run.original.kind})


def _names(files: str | list[str]) -> str:
    """Return the name of a mesh file, or the names of several ones."""
    return ", ".join(Path(file).name for file in ([files] if isinstance(files, str) else files))


def _headline(files: RunFiles, gait: Gait) -> dict[str, Any]:
    """Return the figures at the top of the page; the pressure is that of the worse compartment."""
    shares = gait.rms_over_range_percent
    force, anterior, *pressures = (shares.get(column) for column in HEADLINE_COLUMNS)
    speed, wear, varied = gait.speed, gait.wear, gait.combinations
    total = files.run.counts["total"]
    return {
        "gait_medial_force_rms_over_range_percent": force,
        "gait_ap_position_rms_over_range_percent": anterior,
        "gait_peak_pressure_rms_over_range_percent": largest(pressures),
        "evaluation_speed_ratio": None if speed is None else speed["evaluation_ratio"],
        "cycle_speed_ratio": None if speed is None else speed["cycle_ratio"],
        "wear_difference_percent": (
            None if wear is None else wear["per_million_cycles"]["difference"]["total_percent"]
        ),
        "combinations": (
            None if varied is None else _combinations_headline(varied, worn=wear is not None)
        ),
        "candidates": total.candidates,
        "evaluated": total.first + total.evaluated + total.gait,
        "training_samples": total.training + total.gait,
        "held_out_samples": len(files.held_out),
    }


def _combinations_headline(varied: dict[str, Any], *, worn: bool) -> dict[str, Any]:
    """Return the number of combinations, the worst wear if it is shown, the ratio of times."""
    wear = {row["name"]: row["wear_percent"] for row in varied["rows"] if worn}
    known = {name: abs(value) for name, value in wear.items() if value is not None}
    worst = max(known, key=lambda name: known[name], default=None)
    return {
        "total": varied["total"],
        "worst_wear_combination": worst,
        "worst_wear_difference_percent": None if worst is None else wear[worst],
        "median_cycle_ratio": varied["median_cycle_ratio"],
    }


# ---- Notes and lines -----------------------------------------------------------------------------


def _notes(
    files: RunFiles, stages: Stages, accuracy: Accuracy, gait: Gait
) -> Iterator[dict[str, str]]:
    """Yield the notes to read before the figures."""
    original = files.run.original
    for remark in files.run.remarks:
        if remark.level != "note":
            yield {"where": remark.about, "text": remark.text}
    if isinstance(original, FromTable):
        for text in _table_notes(original):
            yield {"where": original.file, "text": text}
    if gait.not_trusted:
        yield {"where": "gait, surrogate", "text": gait.not_trusted}
    for flag in gait.flags:
        yield {"where": f"gait, {flag['model']}", "text": flag["message"]}
    for failure in gait.combinations["failures"] if gait.combinations else ():
        yield {"where": f"combination {failure['where']}", "text": failure["text"]}
    total = stages.counts["total"]
    if failed := total.first_failed + total.evaluated_failed:
        evaluated = total.first + total.evaluated
        text = f"{failed} of {evaluated} evaluations have no answer"
        yield {"where": "training samples", "text": text}
    if accuracy.failed:
        words = ("held-out evaluation has no answer", "held-out evaluations have no answer")
        yield {"where": "held-out samples", "text": counted(accuracy.failed, *words)}
    if accuracy.too_narrow:
        text = f"too narrow, covering less than 90 %: {', '.join(accuracy.too_narrow)}"
        yield {"where": "predicted 95 % intervals", "text": text}


def _table_notes(table: FromTable) -> Iterator[str]:
    """Yield the notes on a table in the place of the original model."""
    yield (
        "a table of poses and loads took the place of the original model: the gait cycle is that "
        "of the surrogate alone, without a comparison"
    )
    if table.not_given:
        # The three coordinates of the centre of pressure are one entry.
        labels = dict.fromkeys(
            re.sub(r" [xyz]$", "", CATALOGUE[name].label) for name in table.not_given
        )
        yield f"not given: {', '.join(labels)}; not shown, and wear is not computed"
    for count, words in (
        (table.out_of_contact, "without contact are not used"),
        (table.no_answer, "marked as failed are not used"),
        (table.outside_space, "outside [space] are not used"),
    ):
        if count:
            yield f"{number(count)} rows of a compartment {words}"
    if table.ignored_columns:
        yield f"columns not used: {', '.join(table.ignored_columns)}"


def warning_lines(run: RunRecord) -> Iterator[str]:
    """Yield the warnings of the checks for the terminal, in units of ASCII characters."""
    for remark in run.remarks:
        if remark.level != "note":
            yield f"warning: {remark.words.translate(ASCII)}"


#: Keys of [design] that the report shows, and keys of [space] by their keys in the report.
_SAMPLING = ("rounds", "budget", "infill", "follow", "wanted_error_percent")
_SPACE = {
    "flexion_deg": "flexion_range_deg",
    **{f"{key}_deg": f"{key}_half_width_deg" for key in ("adduction", "rotation")},
    **{f"{key}_mm": f"{key}_half_width_mm" for key in ("anterior", "lateral")},
    "load_N": "compartment_load_range_N",
}


class Stages(Part):
    """Samples through the stages."""

    counts: dict[str, Counts]
    drop_reasons: list[dict[str, Any]]
    failure_reasons: list[dict[str, Any]]
    sampling: dict[str, Any]
    space: dict[str, Any]


def stages_of(files: RunFiles) -> Stages:
    """Return the section on stages a to h of the report of a run."""
    tables = {"b: first": files.first, "f: kept": files.kept, "held-out": files.held_out}
    dropped = files.screened.loc[files.screened["screening"] == "dropped", "drop_reason"]
    design, feasibility, space = (files.config[k] for k in ("design", "feasibility", "space"))
    return Stages(
        counts=files.run.counts,
        drop_reasons=_by_kind(dropped),
        failure_reasons=[
            {"stage": stage, **row}
            for stage, table in tables.items()
            for row in _by_kind(table.loc[table["status"] == FAILED, "reason"])
        ],
        sampling={
            **{key: design[key] for key in _SAMPLING},
            **to_display(
                {f"{key}_share": feasibility[key] for key in ("margin", "outside_weight")}
            ),
        },
        space={shown: space[key] for key, shown in _SPACE.items()},
    )


def _by_kind(reasons: Iterable[str]) -> list[dict[str, Any]]:
    """Return the kinds of reasons by count, the most frequent first, with an example."""
    kinds: dict[str, list[str]] = {}
    for reason in map(str, reasons):
        kinds.setdefault(kind_of(reason), []).append(reason)
    return [
        {"kind": kind, "count": len(texts), "example": texts[0]}
        for kind, texts in sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
