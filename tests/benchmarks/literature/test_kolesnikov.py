"""Errors of Kolesnikov (2004), each shown without the solver of this project."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from exact_exclusions import most_negative_rows
from numpy.testing import assert_allclose

from benchmarks.literature.kolesnikov import PAPER, TWICE, TWO_ROWS, WITHOUT_END


def test_the_free_minimum_does_not_tell_the_rows():
    a, b = TWO_ROWS
    # (29 · 1 - 5 · 8) / 4 and (5 · 1 - 1 · 8) / 4.
    free = np.array([(29.0 - 40.0) / 4.0, (5.0 - 8.0) / 4.0])
    assert_allclose(a @ free, -b, rtol=0.0, atol=1e-14)
    assert (free < 0.0).all()
    solutions = []
    for case in itertools.product((False, True), repeat=2):
        rows, x = np.flatnonzero(case), np.zeros(2)
        x[rows] = np.linalg.solve(a[np.ix_(rows, rows)], -b[rows])
        if x.min() >= 0.0 and (a @ x + b).min() >= -1e-12:
            solutions.append(x)
    assert_allclose(solutions, [[1.0, 0.0]], rtol=0.0, atol=1e-14)


def test_the_printed_force_misses_its_own_reactions():
    assert_allclose(np.hypot(0.889, 6.667), 6.726, rtol=0.0, atol=5e-4)
    # Muscle 1 alone bears the moment of 10: its lever about (5, 10) from (6.5, 10) to (5.7, 4).
    lever = abs(np.cross([1.5, 0.0, 0.0], [-0.8, -6.0, 0.0])[2]) / np.hypot(0.8, 6.0)
    assert_allclose(10.0 / lever, 6.726, rtol=0.0, atol=5e-4)


@pytest.mark.parametrize(
    ("problem", "rows"), [(TWICE, [2, 0, 1, 2]), (WITHOUT_END, [3, 0, 1] * 10)]
)
def test_rows_are_chosen_twice(problem, rows):
    a, b = problem
    assert (np.linalg.eigvalsh(a) > 0.0).all()
    assert most_negative_rows(a, b, 30) == rows


@pytest.mark.slow
def test_all_statements_agree():
    assert [s.place for s in PAPER.statements() if not s.agrees] == []
    assert len(PAPER.errata()) == 3
