"""Section of the report on a table of poses and loads in place of the original model."""

from __future__ import annotations

import re
from typing import Any

from foundation.quantities import QUANTITIES
from pipeline.reports.units import number
from pipeline.store.run_documents import FromModel, RunRecord

#: Errors of the rows: key in `run.json`, key of the report, factor to its unit.
_ERRORS = (
    ("height_m", "height_um", 1e6),
    ("force_x_over_axial", "ap_force_over_axial_percent", 100.0),
    ("force_z_over_axial", "ml_force_over_axial_percent", 100.0),
)


def original_content(run: RunRecord) -> dict[str, Any]:
    """Return the original model of the surrogate: `kind` model, or a table and its content.

    Returns
    -------
    dict
        `kind`; of a table `file`, `rows`, `in_contact` by compartment, `out_of_contact`,
        `no_answer`, `outside_space`, `not_given`, `ignored_columns`, and `errors_found`: standard
        deviations of the errors of the rows by compartment, None where the family finds none.
    """
    content = run.original.content() | {"kind": run.original.kind}
    if not isinstance(run.original, FromModel) and run.original.errors_found is not None:
        content["errors_found"] = {
            name: {key: factor * getattr(errors, stored) for stored, key, factor in _ERRORS}
            for name, errors in run.original.errors_found.items()
        }
    return content


def original_notes(original: dict[str, Any]) -> list[dict[str, str]]:
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
            re.sub(r" [xyz]$", "", QUANTITIES[name].label) for name in original["not_given"]
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


def original_line(original: dict[str, Any]) -> str:
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
