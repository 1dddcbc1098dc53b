"""Pages of runs, comparisons, studies and walks: templates, their filters, and the glossary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pipeline.files import content_of, write_text
from pipeline.reports.accuracy import model_row, verdict_of_coverage
from pipeline.reports.contact_figures import CONTACT_WORDS
from pipeline.reports.model_section import doubted, signed
from pipeline.reports.units import determination, field, given, number, shown_name
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


def glossary_of(model: str) -> dict[str, str]:
    """Return the terms of a page about a run with a contact model, a key of `contact.model`."""
    others = {term for words in CONTACT_WORDS.values() for term in words.terms}
    others -= {*CONTACT_WORDS[model].terms}
    return {term: text for term, text in GLOSSARY.items() if term not in others}


def term(word: str) -> Markup:
    """Return a word with the explanation of its term of the glossary as a tooltip."""
    return Markup('<abbr title="{}">{}</abbr>').format(_TERMS[word.lower()], word)


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters.update(num=number, given=given, q2=determination, named=shown_name, term=term)
_ENVIRONMENT.filters |= {
    "signed": signed,
    "doubted": doubted,
    "field": field,
}
_ENVIRONMENT.filters["quantity"] = CATALOGUE.__getitem__
_ENVIRONMENT.filters |= {"coverage": verdict_of_coverage, "model_row": model_row}
_ENVIRONMENT.filters["sentence"] = lambda text: text[:1].upper() + text[1:]
_ENVIRONMENT.filters["lines"] = lambda text: Markup("<br>").join(text.split("\n"))
_ENVIRONMENT.filters["zip"] = zip
_ENVIRONMENT.filters["note_words"] = lambda note: f"{note['where']}: {note['text']}"
# Figures of typed documents that a script reads.
_ENVIRONMENT.policies["json.dumps_kwargs"] = {"sort_keys": True, "default": content_of}


def write_page(
    path: Path, document: Part | None = None, *, template: str | None = None, **content: Any
) -> None:
    """Write a page from a template, by default that of its name, that reads the content."""
    if document is not None:
        content |= {name: getattr(document, name) for name in type(document).model_fields}
    write_text(path, _ENVIRONMENT.get_template(template or path.name).render(content))
