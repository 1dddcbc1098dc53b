"""Lehtoranta (2011, Kontaktimallit ihmisen polvinivelen mallinnuksessa, Lappeenranta)."""

from __future__ import annotations

from functools import cache

from benchmarks.literature.lehtoranta import (
    articular,
    dissipation,
    elements,
    foundation_springs,
    hertz,
    introduction,
    knee,
    lin,
    linear,
    song,
    table_2,
)
from benchmarks.literature.statements import Paper, Statement


@cache
def statements() -> list[Statement]:
    """Return the statements, in the order of the thesis."""
    theory = introduction, linear, hertz, dissipation, foundation_springs, elements, lin, song
    return [
        *(each for part in (*theory, knee, articular) for each in part.statements()),
        *lin.gait_statements(),
        *table_2.statements(),
        articular.order(),
    ]


PAPER = Paper("lehtoranta", "Lehtoranta 2011, contact laws for the knee", statements, knee.picture)
