"""Counts in messages."""

import pytest

from foundation.wording import counted


@pytest.mark.parametrize(
    ("count", "words", "told"),
    [
        (0, ("hole",), "0 holes"),
        (1, ("hole",), "1 hole"),
        (2, ("hole",), "2 holes"),
        (1, ("vertex belongs", "vertices belong"), "1 vertex belongs"),
        (3, ("vertex belongs", "vertices belong"), "3 vertices belong"),
    ],
)
def test_counted(count, words, told):
    assert counted(count, *words) == told
