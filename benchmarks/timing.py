"""Timing of small functions, and tables of what was measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np


def seconds(function: Callable[[], object], budget: float = 0.5) -> float:
    """Return the median time of a call, from as many calls as the budget [s] allows."""
    function()  # compiles, fills caches
    times: list[float] = []
    while sum(times) < budget and len(times) < 1000:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table under a title."""
    lines = [f"### {title}", "", "| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
