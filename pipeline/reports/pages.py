"""Pages of runs, comparisons, studies and walks: templates that share style, charts and parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pipeline.files import content_of, write_text
from pipeline.reports.elastic_layer import signed
from pipeline.reports.glossary import term
from pipeline.reports.units import determination, given, number, shown_name
from pipeline.store.run_documents import Part

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters.update(num=number, given=given, q2=determination, named=shown_name, term=term)
_ENVIRONMENT.filters["signed"] = signed
_ENVIRONMENT.filters["sentence"] = lambda text: text[:1].upper() + text[1:]
_ENVIRONMENT.filters["lines"] = lambda text: Markup("<br>").join(text.split("\n"))
_ENVIRONMENT.filters["zip"] = zip
# Figures of typed documents that a script reads.
_ENVIRONMENT.policies["json.dumps_kwargs"] = {"sort_keys": True, "default": content_of}


def write_page(
    path: Path, document: Part | None = None, *, template: str | None = None, **content: Any
) -> None:
    """Write a page from a template in `pipeline/reports/templates`, by default that of its name.

    The template reads the fields of a typed document, and the other content.
    """
    if document is not None:
        content |= {name: getattr(document, name) for name in type(document).model_fields}
    write_text(path, _ENVIRONMENT.get_template(template or path.name).render(content))
