"""Checks of arguments, and counts in messages."""

import numpy as np
import pytest

from foundation.checks import check_number
from foundation.wording import counted


@pytest.mark.parametrize("value", [3, 3.0, np.float64(3.0), np.array(3.0), True + 2])
def test_numbers_of_any_kind_come_back_as_floats(value):
    found = check_number("stiffness", value)
    assert isinstance(found, float)
    assert found == 3.0


@pytest.mark.parametrize("value", ["3", "x", None, [3.0, 4.0], 3j, {}])
def test_what_is_no_number_is_named(value):
    with pytest.raises(ValueError, match="stiffness: expected a number, found"):
        check_number("stiffness", value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_named(value):
    with pytest.raises(ValueError, match="stiffness: expected a finite number, found"):
        check_number("stiffness", value)


def test_bounds_are_named_with_their_unit():
    with pytest.raises(ValueError, match=r"mass: expected > 0 kg and <= 400 kg, found 0\.0"):
        check_number("mass", 0.0, above=0.0, at_most=400.0, unit="kg")
    assert check_number("mass", 400.0, above=0.0, at_most=400.0, unit="kg") == 400.0


@pytest.mark.parametrize(
    ("count", "words", "expected"),
    [
        (0, ("hole",), "0 holes"),
        (1, ("hole",), "1 hole"),
        (2, ("hole",), "2 holes"),
        (1, ("vertex belongs", "vertices belong"), "1 vertex belongs"),
        (3, ("vertex belongs", "vertices belong"), "3 vertices belong"),
    ],
)
def test_counted(count, words, expected):
    assert counted(count, *words) == expected
