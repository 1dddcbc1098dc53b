"""Inequalities between parameters of designs."""

from __future__ import annotations

import numpy as np
import pytest

from foundation.base.errors import InputError
from pipeline.config.inequalities import check_inequality, satisfied

COLUMNS = {"a": np.array([1.0, 2.0, 3.0]), "b": np.array([2.0, 2.0, 2.0])}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b", [True, False, False]),
        ("a <= b", [True, True, False]),
        ("2 * a - 1 > b", [False, True, True]),
        ("a / b >= 1.5", [False, False, True]),
        ("1 < a ** 2 < 9", [False, True, False]),
        ("-(a + b) > -4", [True, False, False]),
        ("1 / (a - 2) > 0", [False, True, True]),
    ],
)
def test_rows_that_satisfy(text, expected):
    assert satisfied(text, COLUMNS).tolist() == expected


def test_an_undefined_value_satisfies_nothing():
    assert not satisfied("(a - a) / (a - a) < 1", COLUMNS).any()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "expected an inequality with"),
        ("a == b", "expected an inequality with"),
        ("a <", "expected an inequality such as"),
        ("a < c", "expected one of a, b, found c"),
        ("1 < 2", "expected at least one of a, b"),
        ("a < 'b'", "expected numbers, names"),
        ("a < True", "expected numbers, names"),
        ("abs(a) < b", r"found abs\(a\)"),
        ("a.real < b", r"found a\.real"),
        ("__import__('os') < b", "expected numbers, names"),
        ("a[0] < b", "expected numbers, names"),
        ("a % b < 1", "expected numbers, names"),
    ],
)
def test_everything_else_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        check_inequality(text, ("a", "b"))
