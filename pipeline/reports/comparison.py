"""Two finished runs on one page: figures, pressures, cycles, configurations and verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.files import plain, write_document
from pipeline.reports import figures as fig
from pipeline.reports.figures import Picture
from pipeline.reports.inputs import RunFiles, read_run
from pipeline.reports.knee_figures import FIGURES
from pipeline.reports.overview_picture import bounds_of, peak_map, peak_pressure
from pipeline.reports.pages import write_page
from pipeline.reports.report import report_content
from pipeline.reports.units import number
from pipeline.reports.verdict import ascii_line
from pipeline.store.quantities import axis_label, quantity_of
from pipeline.store.workspace_lock import differing_keys, flat_keys

#: The page of a comparison.
PAGE = "compared_runs.html"
#: Names of the two runs on the page and in its document.
LETTERS = ("A", "B")
#: Columns of the cycle that are overlaid, beside the medial share.
_OVERLAID = (
    *("anterior_m", "rotation_rad", "medial_peak_pressure_Pa", "lateral_peak_pressure_Pa"),
    "total_area_m2",
)

Row = dict[str, Any]


def compare_runs(one: Path, other: Path, out: Path) -> Row:
    """Write `compared_runs.html` and `compared_runs.json` of two finished runs to a folder.

    Parameters
    ----------
    one, other : Path
        Run directories, A and B.
    out : Path
        Folder to write; made if it does not exist.

    Returns
    -------
    dict
        Content of `compared_runs.json`: figures in units for people, with B less A, the keys in
        which the configurations differ, both verdicts, and `summary`, lines for the terminal.

    Raises
    ------
    InputError
        If both folders are the same, or `out` is a file.
    ReportError
        If a file of a run is missing or damaged.
    """
    if one.resolve() == other.resolve():
        raise InputError(f"{other}: expected another run than the first, found the same folder")
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out}: expected a folder, found a file; choose another name")
    files = dict(zip(LETTERS, map(read_run, (one, other)), strict=True))
    for folder, each in zip((one, other), files.values(), strict=True):
        if not each.cycles:
            raise InputError(
                f"{folder}: expected a run with a simulated cycle, which a comparison is made of, "
                'found simulation.kind = "none"'
            )
    content = comparison_content(files)
    out.mkdir(parents=True, exist_ok=True)
    write_page(out / PAGE, **content, pictures=_pictures(files))
    write_document(out / "compared_runs.json", content)
    return content


def comparison_content(files: dict[str, RunFiles]) -> Row:
    """Return the content of `compared_runs.json` from the files of the runs A and B."""
    reports = {letter: report_content(each) for letter, each in files.items()}
    knees = [report["knee"] for report in reports.values()]
    rows = [_figure(*figure, *knees) for figure in FIGURES]
    figures = [row for row in rows if (row["A"], row["B"]) != (None, None)]
    content = {
        "runs": {
            letter: {
                "name": report["overview"]["name"],
                "date": report["provenance"]["date"],
                "knee": report["knee"],
                "compared_in_gait": bool(report["gait"]["differences"]),
                "verdict": report["verdict"],
                "not_trusted": report["gait"]["not_trusted"],
                "warnings": [
                    f"{remark['about']}: {remark['text']}"
                    for remark in report["remarks"]
                    if remark["level"] != "note"
                ],
                "original_sha256": report["provenance"]["sha256"].get("original"),
            }
            for letter, report in reports.items()
        },
        "figures": figures,
        "keys": _differing(*(each.config for each in files.values())),
    }
    return dict(plain(content | {"summary": _summary(content)}))


def _figure(key: str, label: str, unit: str, one: Row, other: Row) -> Row:
    """Return a figure of both runs, B less A, and that over A [%]."""
    values = one[key], other[key]
    row: Row = {"key": key, "label": label, "unit": unit} | dict(zip(LETTERS, values, strict=True))
    if None in values:
        return row | {"difference": None, "difference_percent": None}
    difference = values[1] - values[0]
    # A share has no share: its difference is in points already.
    share = 100.0 * difference / abs(values[0]) if values[0] and unit != "%" else None
    return row | {"difference": difference, "difference_percent": share}


def _differing(one: Row, other: Row) -> list[Row]:
    """Return the keys in which two configurations differ, with their values as TOML."""
    before, after = flat_keys(one), flat_keys(other)
    return [
        {"key": key, "A": _written(before, key), "B": _written(after, key)}
        for key in differing_keys(one, other, "run")
    ]


def _written(keys: Row, key: str) -> str:
    if key not in keys:
        return "not given"
    return json.dumps(keys[key], ensure_ascii=False).replace("Infinity", "inf")


def _summary(content: Row) -> list[str]:
    """Return the lines for the terminal, in units of ASCII characters."""
    lines = [
        f"{row['label']} [{row['unit'].replace('²', '2').replace('³', '3').replace('°', 'deg')}]: "
        f"A {number(row['A'])}, B {number(row['B'])}, B - A {number(row['difference'])}"
        for row in content["figures"]
    ]
    lines += [f"{row['key']}: A {row['A']}, B {row['B']}" for row in content["keys"]]
    runs = content["runs"].items()
    lines += [f"verdict {name}: {ascii_line(run['verdict'])}" for name, run in runs]
    told = ((name, run["not_trusted"]) for name, run in runs)
    return [*lines, *(f"gait {name}: {text}" for name, text in told if text)]


def _pictures(files: dict[str, RunFiles]) -> Row:
    """Return the maps of the highest pressure, on one scale, and the overlaid cycles."""
    found = {letter: peak_pressure(each) for letter, each in files.items()}
    known = [each for each in found.values() if each is not None]
    maps = {
        letter: None if each is None else peak_map(each, *bounds_of(known))
        for letter, each in found.items()
    }
    return {"maps": maps, "cycles": list(_cycles(files))}


def _cycles(files: dict[str, RunFiles]) -> Iterator[Picture]:
    """Yield a picture per quantity over the gait cycle with both runs."""
    cycles = {
        f"{letter}: {each.run.name}": next(iter(each.cycles.values()))
        for letter, each in files.items()
    }
    for column in _OVERLAID:
        quantity = quantity_of(column)
        lines = {
            name: (cycle["gait_percent"], quantity.for_people(cycle[column]))
            for name, cycle in cycles.items()
            if np.isfinite(cycle[column]).any()
        }
        if lines:
            text = f"Gait cycle of A and B: {quantity.label}"
            yield fig.cycle_panel(text, lines, axis_label(quantity))
    shares = {name: (cycle["gait_percent"], _share(cycle)) for name, cycle in cycles.items()}
    text = "Gait cycle of A and B: medial share of the load"
    yield fig.cycle_panel(text, shares, "medial share of the load [%]")


def _share(cycle: pd.DataFrame) -> FloatArray:
    """Return the medial part of the axial force (N,) [%]; NaN without force."""
    medial, lateral = (cycle[f"{name}_force_y_N"].to_numpy() for name in ("medial", "lateral"))
    total = medial + lateral
    return np.where(total > 0.0, 100.0 * medial / np.where(total > 0.0, total, 1.0), np.nan)
