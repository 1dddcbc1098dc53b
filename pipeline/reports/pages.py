"""Pages: the report of a run, of a study of gait cycles, and of a walk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from foundation.base.quantities import unit_token
from pipeline.files import write_text
from pipeline.reports.glossary import term
from pipeline.reports.units import determination, given, number, shown_name

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters.update(
    num=number, given=given, q2=determination, token=unit_token, named=shown_name, term=term
)
_ENVIRONMENT.filters["sentence"] = lambda text: text[:1].upper() + text[1:]


def write_page(path: Path, *, template: str | None = None, **content: Any) -> None:
    """Write a page from a template in `pipeline/reports/templates`, by default that of its name."""
    write_text(path, _ENVIRONMENT.get_template(template or path.name).render(content))
