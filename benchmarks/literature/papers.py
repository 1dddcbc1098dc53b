"""The papers, in the order of the documentation."""

from __future__ import annotations

from benchmarks.literature import kaplan, kolesnikov, lehtoranta, machado, popovic
from benchmarks.literature.statements import Paper

PAPERS: tuple[Paper, ...] = (
    machado.PAPER,
    lehtoranta.PAPER,
    popovic.PAPER,
    kolesnikov.PAPER,
    kaplan.PAPER,
)
