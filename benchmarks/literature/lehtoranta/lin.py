"""Section 3.8, surrogates: the concepts, stages, times and figures of Lin et al. (2010)."""

from __future__ import annotations

from benchmarks.literature.statements import Statement


def statements() -> list[Statement]:
    """Return the statements on surrogates, in the order of the document."""
    return []
