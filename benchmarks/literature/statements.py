"""Statements and errors of a paper, as rows of Markdown tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from matplotlib.figure import Figure


class Statement(NamedTuple):
    """A printed figure or claim, and what this project finds.

    Parameters
    ----------
    place : str
        Section, equation, table or figure of the paper.
    printed : str
        The figure or claim as printed, in words of our own.
    ours : str
        What this project computes, with units.
    agrees : bool
        Whether both agree; computed from `ours`, never written by hand.
    remark : str
        Why they do not agree, or what was assumed.
    """

    place: str
    printed: str
    ours: str
    agrees: bool
    remark: str = ""


class Erratum(NamedTuple):
    """An error of a paper.

    Parameters
    ----------
    place : str
        Equation, table or figure of the paper.
    printed, right : str
        What is printed, and what is right.
    shown : str
        How the error shows, with the figures.
    proven : bool
        Whether the computation of `shown` contradicts what is printed and confirms what is right.
    """

    place: str
    printed: str
    right: str
    shown: str
    proven: bool


class Paper(NamedTuple):
    """A paper, with functions that compute its rows and draw its picture.

    Parameters
    ----------
    name : str
        Name of its picture and its key on the command line.
    title : str
        Heading: authors, year, subject.
    statements, errata : callable
        Return the rows.
    picture : callable, optional
        Draws the figure of the documentation.
    """

    name: str
    title: str
    statements: Callable[[], list[Statement]]
    errata: Callable[[], list[Erratum]]
    picture: Callable[[], Figure] | None = None


def section(paper: Paper) -> str:
    """Return heading, picture and tables of a paper as Markdown."""
    parts = [f"## {paper.title}"]
    if paper.picture is not None:
        parts.append(f"![{paper.title}](literature/{paper.name}.png)")
    statements = [
        (s.place, s.printed, s.ours, _verdict(s.agrees, s.remark)) for s in paper.statements()
    ]
    if statements:
        parts.append(_table(("place", "printed", "ours", "verdict"), statements))
    errata = [e[:4] for e in paper.errata()]
    if errata:
        parts.append("### Errors in print")
        parts.append(_table(("place", "printed", "right", "how the error shows"), errata))
    return "\n\n".join(parts) + "\n"


def _verdict(agrees: bool, remark: str) -> str:
    verdict = "agrees" if agrees else "differs"
    return f"{verdict}: {remark}" if remark else verdict


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
