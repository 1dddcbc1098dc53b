"""What the report says of a table of poses and loads that took the place of the original model."""

from __future__ import annotations

import re
from typing import Any

from pipeline.reports.units import QUANTITIES, number

#: Errors found in the rows: key in `run.json`, key of the report, factor to its unit.
_ERRORS = (
    ("height_m", "height_um", 1e6),
    ("force_x_over_axial", "ap_force_over_axial_percent", 100.0),
    ("force_z_over_axial", "ml_force_over_axial_percent", 100.0),
)


def original_content(run: dict[str, Any]) -> dict[str, Any]:
    """Return what the surrogate was made of: `kind` model, or table with what it holds.

    Parameters
    ----------
    run : dict
        Content of `run.json`; without `original` it is that of a model.

    Returns
    -------
    dict
        `kind`; of a table `file`, `rows`, `in_contact` by compartment, `out_of_contact`,
        `no_answer`, `outside_space`, `not_given`, `ignored_columns`, and `errors_found`: standard
        deviations of the rows' errors by compartment, None where the family finds none.
    """
    told = dict(run.get("original", {"kind": "model"}))
    if told["kind"] == "table" and told["errors_found"] is not None:
        told["errors_found"] = {
            name: {key: factor * found[stored] for stored, key, factor in _ERRORS}
            for name, found in told["errors_found"].items()
        }
    return told


def without_what_is_not_given(
    validation: dict[str, Any], original: dict[str, Any]
) -> dict[str, Any]:
    """Return the report's validation without the quantities that a table has not."""
    hidden = {QUANTITIES[name].key for name in original.get("not_given", [])}
    if not hidden:
        return validation
    if "cop_x" in hidden:
        hidden.add("cop_distance")
    parts = {}
    for name, part in validation["compartments"].items():
        tables = {
            key: part[key] and {k: row for k, row in part[key].items() if k not in hidden}
            for key in ("at_pose", "at_pose_all", "at_load")
        }
        crossed = [row for row in part["cross_validation"] if row["key"] not in hidden]
        parts[name] = {**part, **tables, "cross_validation": crossed}
    judged = validation["judged_at_load"]
    if judged is not None and "cop_distance" in hidden:
        judged = [row for row in judged if not row["label"].startswith("centre of pressure")]
    return {
        **validation,
        "compartments": parts,
        "coverage": [row for row in validation["coverage"] if row["key"] not in hidden],
        "judged_at_load": judged,
    }


def original_notes(original: dict[str, Any]) -> list[dict[str, str]]:
    """Return what a reader must know of a table."""
    if original["kind"] == "model":
        return []
    told = [
        "a table of poses and loads took the place of the original model: the gait cycle is the "
        "surrogate's alone, with nothing to compare it with"
    ]
    if original["not_given"]:
        # A centre of pressure is one thing, whatever its axes.
        labels = dict.fromkeys(
            re.sub(r" [xyz]$", "", QUANTITIES[name].label) for name in original["not_given"]
        )
        told.append(f"not given: {', '.join(labels)}; not shown, and no wear follows")
    for key, words in (
        ("out_of_contact", "without contact are not used"),
        ("no_answer", "marked as failed are not used"),
        ("outside_space", "outside [space] are not used"),
    ):
        if original[key]:
            told.append(f"{number(original[key])} rows of a compartment {words}")
    if original["ignored_columns"]:
        told.append(f"columns not used: {', '.join(original['ignored_columns'])}")
    return [{"where": original["file"], "text": text} for text in told]


def original_line(original: dict[str, Any]) -> str:
    """Return the line of the terminal on a table."""
    text = f"original: table {original['file']}, {original['rows']} rows"
    found = original["errors_found"]
    if found is None:
        return text
    worst = {key: max(part[key] for part in found.values()) for _, key, _ in _ERRORS}
    return (
        f"{text}; errors found in them: height {number(worst['height_um'])} um, AP and ML force "
        f"{number(worst['ap_force_over_axial_percent'])} % and "
        f"{number(worst['ml_force_over_axial_percent'])} % of the axial one"
    )
