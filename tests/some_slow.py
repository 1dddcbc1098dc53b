"""Parameters of tests of which `make test` runs some and `make test-slow` the others."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def some_slow(values: Iterable[Any], kept: Callable[[Any], bool]) -> list[Any]:
    """Return parameters, those marked `slow` that `kept` refuses."""
    return [v if kept(v) else pytest.param(v, marks=pytest.mark.slow) for v in values]


def slow_rows(rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Return rows for several names, all marked `slow`."""
    return [pytest.param(*row, marks=pytest.mark.slow) for row in rows]


def first_rows(rows: Iterable[tuple[Any, ...]], count: int = 1) -> list[Any]:
    """Return rows for several names, those marked `slow` that come after the first ones."""
    every = list(rows)
    return [*every[:count], *slow_rows(every[count:])]


def first_of(values: Iterable[Any], count: int = 1) -> list[Any]:
    """Return values for one name, those marked `slow` that come after the first ones."""
    return [
        v if k < count else pytest.param(v, marks=pytest.mark.slow) for k, v in enumerate(values)
    ]
