"""Parameters of tests of which `make test` runs some and `make test-slow` the others."""

import pytest


def some_slow(values, kept):
    """Return parameters, those marked `slow` that `kept` refuses."""
    return [v if kept(v) else pytest.param(v, marks=pytest.mark.slow) for v in values]


def slow_rows(rows):
    """Return rows for several names, all marked `slow`."""
    return [pytest.param(*row, marks=pytest.mark.slow) for row in rows]


def first_rows(rows, count=1):
    """Return rows for several names, those marked `slow` that come after the first ones."""
    every = list(rows)
    return [*every[:count], *slow_rows(every[count:])]


def first_of(values, count=1):
    """Return values for one name, those marked `slow` that come after the first ones."""
    return [
        v if k < count else pytest.param(v, marks=pytest.mark.slow) for k, v in enumerate(values)
    ]
