"""Kolesnikov 2004: unilateral systems, two-joint muscles, impact.

The document is the abstract of a dissertation, followed by the contents and the introduction of the
dissertation. The formulas of the text that survive are those of the abstract; its figures do not.
"""

from __future__ import annotations

from functools import cache

from benchmarks.literature.kolesnikov import (
    complete_system,
    conditions,
    motion,
    muscles,
    structures,
    switching,
)
from benchmarks.literature.kolesnikov.picture import picture
from benchmarks.literature.kolesnikov.problems import TWICE, WITHOUT_END
from benchmarks.literature.statements import Paper, Statement

__all__ = ["PAPER", "TWICE", "WITHOUT_END", "statements"]


@cache
def statements() -> list[Statement]:
    """Return what the document states beside what is found here, in the order of the document."""
    return [
        conditions.variants(),
        structures.first_algorithm(),
        *conditions.two_links(),
        structures.five_links(),
        switching.equal_reactions(),
        *switching.algorithms(),
        *complete_system.statements(),
        *motion.statements(),
        *muscles.statements(),
        switching.states_passed(),
    ]


PAPER = Paper(
    "kolesnikov",
    "Kolesnikov 2004: unilateral systems",
    statements,
    picture,
)
