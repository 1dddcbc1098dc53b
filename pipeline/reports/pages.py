"""Pages of runs, comparisons, studies and walks: templates, their filters, and the glossary."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pipeline.files import content_of, write_text
from pipeline.reports.accuracy import verdict_of_coverage
from pipeline.reports.model_section import signed
from pipeline.reports.units import determination, field, given, head_of, number, shown_name
from pipeline.store.quantities import CATALOGUE
from pipeline.store.run_documents import Part

#: Term -> what the term means, for readers who know knees but not surrogates.
GLOSSARY = {
    "95 % interval": "range that the surrogate states for an answer; it should hold 95 of 100 true "
    "values",
    "AP travel": "distance between the foremost and rearmost position of the femoral origin over "
    "the tibia in the cycle",
    "AP, ML": "anterior-posterior (front to back) and medial-lateral (inner to outer side)",
    "Archard's law": "worn volume = wear factor × force × sliding distance",
    "candidate": "pose and load drawn for the training, not necessarily evaluated",
    "centre of pressure": "point of a compartment at which the resulting contact force acts",
    "compartment": "medial (inner) or lateral (outer) half of the knee joint",
    "cross-shear": "part of the frictional work at a point of the insert that is done across the "
    "direction of the most work: 0 on a line, 0.5 on a circle",
    "cross-validation": "error at training samples that were left out of the fit",
    "family": "kind of function that is fitted: Kriging, polynomial, Poly-Fourier, network, "
    "spline-polynomial",
    "feasible": "within the bounds of forces and pressure that a gait is expected to keep",
    "finite elements": "the elastic layer of the bearing surface, divided into blocks that deform "
    "together",
    "flag": "message that a pose lies outside the trained domain",
    "formulation": "which quantities the surrogate learns, and from which inputs",
    "held-out": "evaluated by the original model, but never shown to the fit of the surrogate",
    "internal rotation": "rotation of the tibia about its long axis, toes inwards",
    "Kriging": "interpolation by a random process (Gaussian process), with a standard error",
    "leave-one-out": "cross-validation in which each sample is left out once",
    "MAE": "mean absolute error",
    "medial share": "part of the axial force over the cycle that the medial compartment bears",
    "node spacing": "distance of neighbouring nodes of the finite elements on the bearing surface",
    "NRMSE": "RMSE over the largest true value, or over the range for positions",
    "original": "the contact model on the meshes, which the surrogate replaces",
    "peak pressure": "highest contact pressure of a compartment at an instant",
    "Q²": "1 − squared errors over squares about the mean: 1 is perfect, 0 no better than the mean",
    "RMS, RMSE": "root of the mean of the squares, of differences and of errors",
    "springs": "elastic foundation (EF): each point of the surface is an independent spring on a "
    "rigid base",
    "surrogate": "fast function fitted to samples of the original contact model",
    "trained domain": "poses and loads that the surrogate has learnt; answers outside are flagged",
}
_TERMS = {name.lower(): text for term, text in GLOSSARY.items() for name in term.split(", ")}


def term(word: str) -> Markup:
    """Return a word with the explanation of its term of the glossary as a tooltip."""
    return Markup('<abbr title="{}">{}</abbr>').format(_TERMS[word.lower()], word)


class Column(NamedTuple):
    """Column of a table: head, key of a record, digits of its numbers, class of its texts."""

    head: str
    key: str
    digits: int = 3
    kind: str = ""

    @classmethod
    def of(cls, given: str | tuple[Any, ...]) -> Column:
        """Return the column of a key, or of a head, a key, and digits or "long"."""
        if isinstance(given, str):
            return cls(head_of(given), given)
        head, key, digits = given if len(given) == 3 else (*given, 3)
        return cls(head, key, kind=digits) if isinstance(digits, str) else cls(head, key, digits)


def _by_part(rows: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Return head and record of the parts of contacts, by contact and part."""
    return [
        (name, {"part": part, **dict(record)})
        for name, parts in rows.items()
        for part, record in parts.items()
    ]


def _sections(page: str) -> list[tuple[str, str]]:
    """Return anchor and title of the sections of a page, from their headings."""
    found = re.findall(r'<section id="(\w+)">\s*<h2[^>]*>(.*?)</h2>', page)
    return [(anchor, Markup(title).striptags()) for anchor, title in found]


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {
    "by_part": _by_part,
    "column": Column.of,
    "coverage": verdict_of_coverage,
    "field": field,
    "given": given,
    "head": head_of,
    "lines": lambda text: Markup("<br>").join(text.split("\n")),
    "named": shown_name,
    "note_words": lambda note: f"{note['where']}: {note['text']}",
    "num": number,
    "q2": determination,
    "quantity": CATALOGUE.__getitem__,
    "sections": _sections,
    "sentence": lambda text: text[:1].upper() + text[1:],
    "signed": signed,
    "term": term,
    "zip": zip,
}
# Figures of typed documents that a script reads.
_ENVIRONMENT.policies["json.dumps_kwargs"] = {"sort_keys": True, "default": content_of}


def write_page(
    path: Path, document: Part | None = None, *, template: str | None = None, **content: Any
) -> None:
    """Write a page from a template, by default that of its name, that reads the content."""
    if document is not None:
        content |= {name: getattr(document, name) for name in type(document).model_fields}
    write_text(path, _ENVIRONMENT.get_template(template or path.name).render(content))
