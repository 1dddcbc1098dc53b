"""Templates of the pages: the report of a run, of a study of gait cycles, and of a walk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from foundation.quantities import unit_token
from pipeline.reports.units import determination, given, number, shown_name

_TEMPLATES = Path(__file__).parent / "templates"
_FILTERS: dict[str, Callable[..., Any]] = {
    **{"num": number, "given": given, "q2": determination},
    **{"token": unit_token, "named": shown_name},
}


def page_template(name: str, **filters: Callable[..., Any]) -> Template:
    """Return a template of `pipeline/reports/templates` with common filters and `filters`."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= _FILTERS | filters
    return environment.get_template(name)
