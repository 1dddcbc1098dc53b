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
    sections = (
        introduction,
        linear,
        hertz,
        dissipation,
        foundation_springs,
        elements,
        lin,
        song,
        knee,
        articular,
        table_2,
    )
    return [*(each for part in sections for each in part.statements()), articular.order()]


PAPER = Paper("lehtoranta", "Lehtoranta 2011, contact laws for the knee", statements, knee.picture)
