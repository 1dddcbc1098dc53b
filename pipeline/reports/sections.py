"""Pages of studies: sections of texts, tiles, tables and charts, which one template renders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.reports.figures import Picture
from pipeline.reports.pages import write_page
from pipeline.store.verdict_document import Judgement


class Block(NamedTuple):
    """A macro of `templates/parts.html` with its arguments."""

    macro: str
    arguments: tuple[Any, ...]


class Section(NamedTuple):
    """A section of a page."""

    title: str
    blocks: Iterable[Block]

    @property
    def anchor(self) -> str:
        """Anchor of the section in links."""
        return self.title.lower().replace(" ", "-")


class Page(NamedTuple):
    """A page: its heading, what its window is called, what the page is, and its sections."""

    name: str
    subject: str
    kind: str
    sections: Sequence[Section]
    #: Warnings before all sections.
    first: Sequence[str] = ()

    def write(self, path: Path, configuration: str) -> None:
        """Write the page, with the configuration of the study in its last section."""
        write_page(
            path, template="sections.html", name=self.name, subject=self.subject, kind=self.kind,
            parts=self.sections, first=self.first, config_text=configuration,
            sections=[(each.anchor, each.title) for each in self.sections],
        )  # fmt: skip


def text(words: str, kind: str = "") -> Block:
    """Return a paragraph; `kind` is a class of the style, such as "note"."""
    return Block("paragraph", (words, kind))


def heading(words: str) -> Block:
    """Return a heading within a section."""
    return Block("heading", (words,))


def tiles(rows: Iterable[tuple[str, str, str]]) -> Block:
    """Return tiles, each of what is shown, its value with the unit, and further words."""
    return Block("tiles_of", (list(rows),))


def charts(items: Iterable[Picture], kind: str = "") -> Block:
    """Return charts and pictures; `kind` is the class of their grid, such as "broad"."""
    return Block("pictures_of", (list(items), kind))


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]], digits: int = 3) -> Block:
    """Return a table; the first cell of a row is its head, numbers have significant digits."""
    return Block("table_of", (heads, [list(row) for row in rows], digits))


def notes(title: str, items: Iterable[str]) -> Block:
    """Return a box of warnings, nothing without items."""
    return Block("notes", (title, list(items)))


def verdict(found: Judgement | None) -> Block:
    """Return the verdict on a contact model, nothing without one."""
    return Block("judgement_box", (found,))
