"""Checks of arguments, and counts in messages."""

import copy
from dataclasses import dataclass

import numpy as np
import pytest

from foundation.base.checks import (
    check_array,
    check_count,
    check_fields,
    check_number,
    check_numbers,
    check_unique,
)
from foundation.base.errors import BoundsError, InputError
from foundation.base.wording import counted


@pytest.mark.parametrize("value", [3, 3.0, np.float64(3.0), np.array(3.0), True + 2])
def test_numbers_of_any_kind_come_back_as_floats(value):
    found = check_number("stiffness", value)
    assert isinstance(found, float)
    assert found == 3.0


@pytest.mark.parametrize("value", ["3", None, [3.0, 4.0], 3j, np.nan, -np.inf])
def test_what_is_no_finite_number_is_named(value):
    with pytest.raises(ValueError, match=r"stiffness: expected a (finite )?number, found"):
        check_number("stiffness", value)


def test_bounds_are_named_with_their_unit():
    with pytest.raises(ValueError, match=r"mass: expected > 0 kg and <= 400 kg, found 0\.0"):
        check_number("mass", 0.0, above=0.0, at_most=400.0, unit="kg")
    assert check_number("mass", 400.0, above=0.0, at_most=400.0, unit="kg") == 400.0


def test_errors_are_told_under_another_name():
    # A copy is made as for another process.
    bounds = BoundsError("split_z", ((">", 0.0), ("<=", 0.1)), 0.5, "m")
    for error, key, expected in (
        (bounds, "depth", "depth: expected > 0 m and <= 0.1 m, found 0.5"),
        (bounds, "depth_mm", "depth_mm: expected > 0 mm and <= 100 mm, found 500 mm"),
        (InputError("set {name}, or {}", "split_z"), "split_mm", "set split_mm, or {}"),
    ):
        told = copy.copy(error).under(key)
        assert (str(told), told.name) == (expected, key)
    assert str(InputError("set {name}")) == "set {name}"


def test_counted():
    assert [counted(count, "hole") for count in (0, 1, 2)] == ["0 holes", "1 hole", "2 holes"]
    assert counted(3, "vertex belongs", "vertices belong") == "3 vertices belong"


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"at_least": 0.0, "unit": "N"}, r"force: expected >= 0 N, found -1\.0"),
        ({"above": -1.0}, r"force: expected > -1, found -1\.0"),
    ],
)
def test_the_least_number_of_an_array_is_named(bounds, message):
    with pytest.raises(ValueError, match=message):
        check_array("force", [[2.0, -1.0]], **bounds)
    assert check_array("force", [], **bounds).shape == (0,)


@dataclass(frozen=True)
class Line:
    start: np.ndarray
    end: np.ndarray | None = None

    def __post_init__(self):
        check_fields(self, "line ", start=(2,), end=(2,))


def test_fields_are_read_only_copies():
    point = np.zeros(2)
    line = Line(point)
    assert line.end is None
    assert not line.start.flags.writeable
    assert point.flags.writeable
    with pytest.raises(ValueError, match=r"line end: expected shape \(2\), found \(3,\)"):
        Line(point, np.zeros(3))
    with pytest.raises(ValueError, match="line start: expected"):
        Line(None)


@dataclass(frozen=True)
class Rod:
    length: float = 1
    mass: float = 2

    def __post_init__(self):
        check_numbers(self, "rod ", above=0.0, length="m", mass="kg")


def test_number_fields_become_floats():
    assert type(Rod().length) is type(Rod().mass) is float
    with pytest.raises(ValueError, match=r"rod mass: expected > 0 kg, found -1\.0"):
        Rod(mass=-1)


@pytest.mark.parametrize(
    ("value", "message"),
    [(1, "expected >= 2, found 1"), (2.5, "expected a whole number, found 2.5"), ("2", "a number")],
)
def test_counts_are_whole_numbers(value, message):
    assert check_count("steps", 2.0, at_least=2) == 2
    with pytest.raises(ValueError, match=f"steps: .*{message}"):
        check_count("steps", value, at_least=2)


def test_names_are_unique():
    check_unique("links", ())
    check_unique("links", ("a", "b"), some=True)
    with pytest.raises(ValueError, match="links: expected unique names, found a, a"):
        check_unique("links", ("a", "a"))
    with pytest.raises(ValueError, match="links: expected at least one, with unique names, found"):
        check_unique("links", (), some=True)
