"""Templates of the pages: the report of a run and that of a study of gait cycles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

_TEMPLATES = Path(__file__).parent / "templates"


def page_template(name: str, **filters: Callable[..., Any]) -> Template:
    """Return a template of `pipeline/reports/templates`, with the filters that it uses."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters
    return environment.get_template(name)
