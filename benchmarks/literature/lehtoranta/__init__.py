"""Lehtoranta (2011, Kontaktimallit ihmisen polvinivelen mallinnuksessa, Lappeenranta)."""

from __future__ import annotations

from itertools import chain

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
from benchmarks.literature.statements import Paper

_PARTS = (introduction, linear, hertz, dissipation, foundation_springs, elements, lin, song, knee)

PAPER = Paper(
    "lehtoranta",
    "Lehtoranta 2011, contact laws for the knee",
    (
        *chain.from_iterable(part.STATEMENTS for part in _PARTS),
        *articular.STATEMENTS,
        *lin.GAIT_STATEMENTS,
        *table_2.STATEMENTS,
        articular.order,
    ),
    knee.picture,
)
