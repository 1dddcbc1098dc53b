"""Statements of a document, as rows of a Markdown table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from matplotlib.figure import Figure

HEAD = ("no.", "place", "printed", "computed", "verdict")
#: Verdicts, and their predicates of one and of several statements.
VERDICTS = {
    "agrees": ("agrees", "agree"),
    "differs": ("differs", "differ"),
    "error in print": ("is an error in print", "are errors in print"),
    "undecidable": ("is undecidable", "are undecidable"),
}


class Statement(NamedTuple):
    """A formula, figure or claim of a document, and what this project finds.

    Parameters
    ----------
    place : str
        Section, equation, table or figure of the document.
    printed : str
        The formula, figure or claim as printed, in words of our own.
    ours : str
        What this project computes, with units; of an error in print, how the error shows.
    agrees : bool or None
        Whether both agree by the measure that is printed, also as a NumPy bool; computed from
        `ours`, never written by hand. None if the document does not say enough to decide.
    remark : str
        Why they do not agree, why nothing can be decided, or what the document leaves open.
    right : str
        Of an error in print, what is right.
    """

    place: str
    printed: str
    ours: str
    agrees: bool | None
    remark: str = ""
    right: str = ""

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`."""
        if self.agrees is None:
            return "undecidable"
        if self.agrees:
            return "agrees"
        return "error in print" if self.right else "differs"


def misprint(
    place: str, printed: str, right: str, shown: str, proven: bool, remark: str = ""
) -> Statement:
    """Return an error in print.

    Parameters
    ----------
    place, printed, right, remark : str
        As of a `Statement`.
    shown : str
        How the error shows, with the figures.
    proven : bool
        Whether the computation of `shown` contradicts what is printed and confirms what is right.
    """
    return Statement(place, printed, shown, not proven, remark, right)


def undecidable(place: str, printed: str, why: str, ours: str = "") -> Statement:
    """Return a statement that the document leaves open, for example as its figure is missing."""
    return Statement(place, printed, ours, None, why)


class Paper(NamedTuple):
    """A document, with functions that compute its rows and draw its picture.

    Parameters
    ----------
    name : str
        Its key on the command line.
    title : str
        Heading: authors, year, subject.
    rows : tuple of callables
        Compute the statements, in the order of the document.
    picture : callable, optional
        Draws the figure of the documentation.
    file : str
        File of the figure, in the folder of the documentation; by default in `literature`, with the
        name of the document.
    """

    name: str
    title: str
    rows: tuple[Callable[[], Statement], ...]
    picture: Callable[[], Figure] | None = None
    file: str = ""

    @property
    def image(self) -> str:
        """File of the figure, in the folder of the documentation."""
        return self.file or f"literature/{self.name}.png"

    def statements(self) -> tuple[Statement, ...]:
        """Return the statements in the order of the document; they are computed once."""
        return _computed(self.rows)


@cache
def _computed(rows: tuple[Callable[[], Statement], ...]) -> tuple[Statement, ...]:
    return tuple(row() for row in rows)


def section(paper: Paper) -> str:
    """Return heading, number of verdicts and table of all statements of a document as Markdown."""
    parts = [f"## {paper.title}", f"{tally(paper.statements())}.", _table(HEAD, numbered(paper))]
    return "\n\n".join(parts) + "\n"


def summary(paper: Paper, rows: Sequence[tuple[str, ...]]) -> str:
    """Return heading, picture and tables of a document for the documentation, as Markdown.

    Parameters
    ----------
    paper : Paper
        The document.
    rows : sequence of tuples of str
        All its rows, as of `numbered`. Those that agree are listed without the figures found.
    """
    parts = [f"## {paper.title}"]
    if paper.picture is not None:
        parts.append(f"![{paper.title}]({paper.image})")
    counts = Counter(row[-1].partition(":")[0] for row in rows)
    parts.append(f"{_counted(counts)}.")
    agreed = [row for row in rows if row[-1].startswith("agrees")]
    parts.append(_table(HEAD, [row for row in rows if row not in agreed]))
    parts.append("The following statements agree:")
    brief = [(*row[:3], row[-1].removeprefix("agrees").removeprefix(": ")) for row in agreed]
    parts.append(_table(("no.", "place", "printed", "remark"), brief))
    return "\n\n".join(parts) + "\n"


def numbered(paper: Paper) -> list[tuple[str, ...]]:
    """Return the rows of the table of a document, with the columns of `HEAD`."""
    return [(str(i), *row(each)) for i, each in enumerate(paper.statements(), start=1)]


def row(statement: Statement) -> tuple[str, str, str, str]:
    """Return place, what is printed, what is found, and the verdict with its reason."""
    right = f"correct: {statement.right}" if statement.verdict == "error in print" else ""
    reason = "; ".join(part for part in (right, statement.remark) if part)
    verdict = f"{statement.verdict}: {reason}" if reason else statement.verdict
    return statement.place, statement.printed, statement.ours or "–", verdict


def tally(statements: Sequence[Statement]) -> str:
    """Return how many statements have each verdict, in words."""
    return _counted(Counter(each.verdict for each in statements))


def _counted(counts: Counter[str]) -> str:
    named = (
        f"{counts[name]} {one if counts[name] == 1 else several}"
        for name, (one, several) in VERDICTS.items()
        if counts[name]
    )
    return f"{counts.total()} statements: {', '.join(named)}"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
