"""The front of error over time, the worst of several errors, and the table of formulations."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.formulations import COLUMNS, front, told, worst_rms


@pytest.mark.parametrize(
    ("errors", "costs", "best"),
    [
        ([1.0, 2.0, 3.0], [1.0, 0.5, 2.0], "ab"),  # c is worse in both
        ([1.0, 1.0, 2.0], [1.0, 1.5, 1.0], "a"),  # b and c are worse in one and equal in the other
        ([3.0, 2.0, 1.0], [1.0, 2.0, 3.0], "abc"),
        ([np.nan, 2.0, 3.0], [0.1, 1.0, 2.0], "b"),
    ],
)
def test_nothing_beats_a_formulation_on_the_front(errors, costs, best):
    named = (dict(zip("abc", values, strict=True)) for values in (errors, costs))
    assert front(*named) == set(best)


def test_worst_rms_is_that_of_the_worst_load():
    assert worst_rms(np.array([[0.03, 0.0], [0.04, 0.01]])) == pytest.approx(100 * 0.05 / 2**0.5)
    assert np.isnan(worst_rms(np.empty((0, 6))))


def test_table_has_a_row_for_a_formulation_without_a_fit():
    row = {"feasible": 0.4, "time": 1.0, "silent": 3.0}
    found = {"energy": {}, "direct": row | {"feasible": 5.52}, "inverted": row}
    *_, first, second, third = told("implant", found).splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in (first, second, third)]
    assert [line[0] for line in cells] == ["**inverted**", "direct", "energy"]
    shown = dict(zip(COLUMNS, cells[1][1:], strict=True))
    assert {key: cell for key, cell in shown.items() if cell} == {
        "feasible": "5.52",
        "time": "1",
        "silent": "3",
    }
    assert set(cells[2][1:]) == {""}
