"""The worst of several errors, and the table of formulations."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.formulations import COLUMNS, told, worst_rms


def test_worst_rms_is_that_of_the_worst_load():
    assert worst_rms(np.array([[0.03, 0.0], [0.04, 0.01]])) == pytest.approx(0.05 / 2**0.5)
    assert np.isnan(worst_rms(np.empty((0, 6))))


def test_table_has_a_row_for_a_formulation_without_a_fit():
    row = {"feasible": 4e-3, "height": 1.5e-6, "time": 1.0, "silent": 3.0}
    found = {"unfitted": {}, "direct": row | {"feasible": 5.52e-2}, "inverted": row}
    *_, first, second, third = str(told("implant", found)).splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in (first, second, third)]
    assert [line[0] for line in cells] == ["inverted", "direct", "unfitted"]
    shown = dict(zip(COLUMNS, cells[1][1:], strict=True))
    assert {key: cell for key, cell in shown.items() if cell} == {
        "feasible": "5.52", "height": "1.50", "time": "1.00", "silent": "3",
    }  # fmt: skip
    assert set(cells[2][1:]) == {""}
