"""The papers, in the order of the documentation."""

from __future__ import annotations

from benchmarks.literature import popovic
from benchmarks.literature.statements import Paper

PAPERS: tuple[Paper, ...] = (popovic.PAPER,)
