"""Two finished runs on one page: figures, pressures, cycles, configurations and verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foundation.base.errors import InputError
from pipeline.advice import in_folder
from pipeline.files import write_document
from pipeline.reports.charts import cycle_chart
from pipeline.reports.contact_figures import medial_share
from pipeline.reports.figures import Picture
from pipeline.reports.gait_section import FIGURES
from pipeline.reports.inputs import RunFiles, read_run
from pipeline.reports.pages import write_page
from pipeline.reports.pictures import bounds_of, peak_map, peak_pressure
from pipeline.reports.report import Report, report_of
from pipeline.reports.units import ASCII, number
from pipeline.reports.verdict import ascii_line
from pipeline.store.job import differing_keys, flat_keys
from pipeline.store.quantities import axis_label, quantity_of
from pipeline.store.run_documents import Part

#: The page of a comparison.
PAGE = "compared_runs.html"
#: Keys of the two runs in the document.
LETTERS = ("A", "B")
#: Columns of the cycle that are overlaid, beside the medial share.
_OVERLAID = (
    *("anterior_m", "rotation_rad", "medial_peak_pressure_Pa", "lateral_peak_pressure_Pa"),
    "total_area_m2",
)


def compare_runs(one: Path, other: Path, out: Path, labels: Sequence[str] = ()) -> Comparison:
    """Write `compared_runs.html` and `.json` of two runs, named `labels`; return the latter."""
    by_folder = folder_labels(one, other)
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out}: expected a folder, found a file; choose another name")
    labels = labels or by_folder
    if len(labels) != 2 or len(set(labels)) != 2 or "" in labels:
        raise InputError(
            "--label: expected none or two different names, one for each run, found "
            f"{', '.join(map(repr, labels))}"
        )
    folders = dict(zip(LETTERS, (one, other), strict=True))
    files = dict(zip(LETTERS, map(read_run, (one, other)), strict=True))
    for folder, each in zip((one, other), files.values(), strict=True):
        if not each.cycles:
            raise InputError(
                f"{folder}: expected a run with a simulated cycle, which a comparison is made of, "
                'found simulation.kind = "none"'
            )
    named = dict(zip(LETTERS, labels, strict=True))
    comparison = comparison_of(files, named)
    commands = {
        letter: in_folder(run["verdict"].next.command, folders[letter])
        for letter, run in comparison.runs.items()
    }
    pictures = _pictures(files, named)
    write_page(out / PAGE, comparison, pictures=pictures, commands=commands)
    write_document(out / "compared_runs.json", comparison)
    return comparison


def folder_labels(one: Path, other: Path) -> tuple[str, str]:
    """Return the ends of the paths of two folders, as long as they need to differ."""
    parts = one.resolve().parts, other.resolve().parts
    for count in range(1, max(map(len, parts)) + 1):
        first, second = ("/".join(each[-count:]) for each in parts)
        if first != second:
            return first, second
    raise InputError(f"{other}: expected another run than the first, found the same folder")


class Comparison(Part):
    """`compared_runs.json`: figures in units for people, differing keys, and both verdicts."""

    runs: dict[str, dict[str, Any]]
    figures: list[dict[str, Any]]
    keys: list[dict[str, str]]
    summary: list[str]


def comparison_of(files: dict[str, RunFiles], labels: Mapping[str, str]) -> Comparison:
    """Return the comparison of the runs A and B from their files and labels."""
    runs = {letter: _run(labels[letter], report_of(each)) for letter, each in files.items()}
    knees = [run["knee"] for run in runs.values()]
    figures = [
        row
        for row in (_figure(*figure, *knees) for figure in FIGURES)
        if (row["A"], row["B"]) != (None, None)
    ]
    keys = _differing(*(each.config for each in files.values()))
    lines = list(_summary(runs, figures, keys))
    return Comparison(runs=runs, figures=figures, keys=keys, summary=lines)


def _run(label: str, report: Report) -> dict[str, Any]:
    """Return a run of a comparison: `label` names it on the page, `name` is its own name."""
    return {
        "label": label,
        "name": report.overview.name,
        "date": report.provenance.date,
        "knee": report.knee,
        "compared_in_gait": bool(report.gait.differences),
        "verdict": report.verdict,
        "not_trusted": report.gait.not_trusted,
        "warnings": [r.words for r in report.remarks if r.level != "note"],
        "original_sha256": report.provenance.sha256.get("original"),
    }


def _figure(
    key: str, label: str, unit: str, one: Mapping[str, Any], other: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a figure of both runs, B less A, and that over A [%], but for shares."""
    before, after = one[key], other[key]
    difference = share = None
    if before is not None and after is not None:
        difference = after - before
        share = 100.0 * difference / abs(before) if before and unit != "%" else None
    figure = {"key": key, "label": label, "unit": unit, "A": before, "B": after}
    return figure | {"difference": difference, "difference_percent": share}


def _differing(one: dict[str, Any], other: dict[str, Any]) -> list[dict[str, str]]:
    """Return the keys in which two configurations differ, with their values as TOML."""
    before, after = flat_keys(one), flat_keys(other)
    return [
        {"key": key, "A": _written(before, key), "B": _written(after, key)}
        for key in differing_keys(one, other, "run")
    ]


def _written(keys: dict[str, Any], key: str) -> str:
    if key not in keys:
        return "not given"
    return json.dumps(keys[key], ensure_ascii=False).replace("Infinity", "inf")


def _summary(
    runs: Mapping[str, Mapping[str, Any]],
    figures: Sequence[Mapping[str, Any]],
    keys: Sequence[Mapping[str, str]],
) -> Iterator[str]:
    """Yield the lines for the terminal, in units of ASCII characters."""
    a, b = (run["label"] for run in runs.values())
    for row in figures:
        unit = row["unit"].replace("°", "deg").translate(ASCII)
        one, other, difference = (number(row[key]) for key in ("A", "B", "difference"))
        yield f"{row['label']} [{unit}]: {a} {one}, {b} {other}, difference {difference}"
    for key in keys:
        yield f"{key['key']}: {a} {key['A']}, {b} {key['B']}"
    for run in runs.values():
        yield f"verdict of {run['label']}: {ascii_line(run['verdict'])}"
    for run in runs.values():
        if run["not_trusted"]:
            yield f"gait of {run['label']}: {run['not_trusted']}"


def _pictures(files: dict[str, RunFiles], labels: Mapping[str, str]) -> dict[str, Any]:
    """Return the maps of the highest pressure, on one scale, and the overlaid cycles."""
    found = {letter: peak_pressure(each) for letter, each in files.items()}
    known = [each for each in found.values() if each is not None]
    maps = {
        letter: None if each is None else peak_map(each, *bounds_of(known))
        for letter, each in found.items()
    }
    return {"maps": maps, "cycles": list(_cycles(files, labels))}


def _cycles(files: dict[str, RunFiles], labels: Mapping[str, str]) -> Iterator[Picture]:
    """Yield a picture per quantity over the gait cycle with both runs."""
    cycles = {labels[letter]: next(iter(each.cycles.values())) for letter, each in files.items()}
    both = " and ".join(labels.values())
    for column in _OVERLAID:
        quantity = quantity_of(column)
        lines = {
            name: (cycle["gait_percent"], quantity.for_people(cycle[column]))
            for name, cycle in cycles.items()
            if np.isfinite(cycle[column]).any()
        }
        if lines:
            text = f"Gait cycle of {both}: {quantity.label}"
            yield cycle_chart(f"cycle-{column}", text, lines, axis_label(quantity))
    shares = {name: (cycle["gait_percent"], medial_share(cycle)) for name, cycle in cycles.items()}
    text = f"Gait cycle of {both}: medial share of the load"
    yield cycle_chart("medial-share", text, shares, "medial share of the load [%]")
