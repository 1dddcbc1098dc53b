"""The papers, in the order of the documentation."""

from __future__ import annotations

from benchmarks.literature import kolesnikov
from benchmarks.literature.statements import Paper

PAPERS: tuple[Paper, ...] = (kolesnikov.PAPER,)
