"""Kolesnikov 2004: unilateral systems, two-joint muscles, impact.

The document is the abstract of a dissertation, followed by the contents and the introduction of the
dissertation. Only the formulas of the abstract survive in the text; the figures are lost.
"""

from __future__ import annotations

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
from benchmarks.literature.statements import Paper

__all__ = ["PAPER", "TWICE", "WITHOUT_END"]

PAPER = Paper(
    "kolesnikov",
    "Kolesnikov 2004: unilateral systems",
    (
        conditions.variants,
        structures.first_algorithm,
        *conditions.TWO_LINKS,
        structures.five_links,
        switching.equal_reactions,
        *switching.ALGORITHMS,
        *complete_system.STATEMENTS,
        *motion.STATEMENTS,
        *muscles.STATEMENTS,
        switching.states_passed,
    ),
    picture,
)
