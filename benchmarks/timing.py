"""Clocks of the benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

Result = TypeVar("Result")


def seconds(function: Callable[[], object], budget: float = 0.5) -> float:
    """Return the median time of a call, from as many calls as the budget [s] allows."""
    function()  # compiles, fills caches
    times: list[float] = []
    while sum(times) < budget and len(times) < 1000:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def clocked(
    function: Callable[[], Result], clock: Callable[[], float] = time.process_time
) -> tuple[Result, float]:
    """Return the result of one call and its time [s], by default that of the processor."""
    start = clock()
    result = function()
    return result, clock() - start


def shortest(function: Callable[[], object], times: int, clock: Callable[[], float]) -> float:
    """Return the shortest time of a call [s]: other programs only add to the time."""
    return min(clocked(function, clock)[1] for _ in range(times))
