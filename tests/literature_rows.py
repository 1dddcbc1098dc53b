"""Statements of the literature: a test of rows, and simulations that statements share."""

from functools import cache, wraps
from inspect import signature

import numpy as np
import pytest


def row_test(rows):
    """Return a test of rows: place and claim, what is computed, the value, how far off it may be.

    The place, up to the colon, names the row in the output of pytest.
    """

    @pytest.mark.parametrize(
        ("found", "value", "within"),
        [row[1:] for row in rows],
        ids=[row[0].split(":")[0] for row in rows],
    )
    def test_row(found, value, within):
        off = np.abs(np.subtract(found(), value, dtype=float))
        assert (off <= within).all(), f"{found()}, not {value}"

    return test_row


def shared(function):
    """Return a function that keeps its results by all arguments, stated or by default."""
    kept, parameters = cache(function), signature(function)

    @wraps(function)
    def found(*args, **kwargs):
        bound = parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        return kept(*bound.args, **bound.kwargs)

    return found
