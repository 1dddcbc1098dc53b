"""Statements of Kolesnikov (2004) on links and algorithms, without the solver of this project."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from exact_exclusions import most_negative_rows
from numpy.testing import assert_allclose
from scipy.optimize import lsq_linear

from benchmarks.literature.kolesnikov import TWICE, WITHOUT_END
from benchmarks.literature.kolesnikov import problems as p
from benchmarks.literature.kolesnikov.structures import LINKS, PRINTED


def least_energy(a, b):
    """X >= 0 of least energy, as bounded least squares on a factor of A."""
    root = np.linalg.cholesky(a).T
    target = np.linalg.solve(root.T, -np.asarray(b, dtype=float))
    return lsq_linear(root, target, (0.0, np.inf), method="bvls", tol=1e-14).x


@pytest.mark.parametrize(
    ("problem", "free", "solution"),
    [
        (p.TWO_ROWS, [-2.75, -0.75], [1.0, 0.0]),
        (p.THREE_ROWS, [-4.0, -2.0, -3.0], [1.0, 0.0, 0.0]),
        (p.EQUAL_REACTIONS, [-1.0, -1.0], [1.0, 0.0]),
        (p.EQUAL_TERMS, [3.0, -1.0], [1.0, 0.0]),
        (TWICE, [11.0, 8.0, -2.0], [9.0, 6.0, 0.0]),
    ],
)
def test_the_free_minimum_does_not_tell_the_links(problem, free, solution):
    a, b = problem
    assert (np.linalg.eigvalsh(a) > 0.0).all()
    assert_allclose(a @ free, -b, rtol=0.0, atol=1e-12)
    assert_allclose(least_energy(a, b), solution, rtol=0.0, atol=1e-7)


def test_eq_11_decides_and_eq_12_does_not():
    a, b = p.TWO_ROWS[0], np.array([-1.0, 1.0])
    # B₁ < 0 < B₂, but 5 > 1: both links are on.
    assert a[1, 0] * b[0] / a[0, 0] == 5.0
    assert_allclose(least_energy(a, b), [6.0, 1.0], rtol=1e-6)
    # A₁₂ > 0 admits B₂ < 0.
    assert_allclose(least_energy(np.array([[1.0, 0.5], [0.5, 1.0]]), [-1.0, -0.3]), [1.0, 0.0])


def test_eq_15_in_fractions():
    """All problems with small whole numbers that meet the conditions have A₁₂ < 0."""
    met = []
    for a11, a22, a12, b1, b2 in itertools.product(
        (1, 2, 5), (1, 2, 5), range(-3, 4), (-1, -2), (1, 2, 3)
    ):
        det = a11 * a22 - a12 * a12
        if det > 0 and Fraction(a12 * b2 - a22 * b1, det) < 0:
            met.append(a12)
    assert len(met) > 5
    assert max(met) < 0


@pytest.mark.parametrize(
    ("problem", "rows"), [(TWICE, [2, 0, 1, 2]), (WITHOUT_END, [3, 0, 1] * 10)]
)
def test_rows_are_chosen_twice(problem, rows):
    a, b = problem
    assert (np.linalg.eigvalsh(a) > 0.0).all()
    assert most_negative_rows(a, b, 30) == rows


def test_algorithm_2_is_gauss_and_ends_below_zero():
    x, led = p.by_algorithm_2(*TWICE)
    assert led == [2, 0, 1]
    assert_allclose(x, np.linalg.solve(*TWICE) * -1.0, rtol=1e-12)
    assert x.min() < -1.0
    # Rows that never lead stay at zero.
    x, led = p.by_algorithm_2(np.array([[2.0, -1.0], [-1.0, 2.0]]), np.array([-2.0, 3.0]))
    assert led == [0]
    assert_allclose(x, [1.0, 0.0])


def test_all_negative_rows_at_once_go_round_in_circles():
    a, b = p.IN_CIRCLES
    assert (np.linalg.eigvalsh(a) > 0.0).all()
    # By hand: {1, 2}, then {2, 3}, then none.
    assert p.all_at_once(a, b, 4) == [
        (False, False, False), (True, True, False), (False, True, True), (False, False, False),
        (True, True, False),
    ]  # fmt: skip
    assert_allclose(np.linalg.solve(a[:2, :2], -b[:2]), [-15.0 / 8.0, 2.0])
    assert_allclose(np.linalg.solve(a[1:, 1:], -b[1:]), [-1.0 / 29.0, -24.0 / 29.0])
    k = np.array([[2.0, -1.0], [-1.0, 2.0]])
    assert p.all_at_once(k, np.array([-1.0, 2.0]), 4) == [(False, False), (True, False)]


def test_forces_of_five_links_by_moments():
    """Step 3 from moments about three points, steps 1 and 2 from self-stresses."""
    sine = np.sqrt(3.0) / 2.0
    # Link 2 alone has a moment about the corner of link 1 beside link 3 and the force of 10.
    forces = np.array([20.0 / 3.0 + 10.0 / np.sqrt(3.0), 20.0 / 3.0 - 10.0 / np.sqrt(3.0)])
    third = 0.5 * (forces[0] - forces[1])
    assert_allclose(sine * (forces[0] - forces[1]), 10.0, rtol=1e-12)
    assert_allclose(sine * forces[1] - third, -10.0 * 0.5, rtol=1e-12)
    last = np.array([*forces, third, 0.0, 0.0])
    assert_allclose(last, PRINTED[-1], rtol=0.0, atol=5e-4)
    stresses = np.array(
        [[0.0, 0.0, 1.0, 1.0, 0.0], [1 + 2 / np.sqrt(3.0), 2 / np.sqrt(3.0), 1.0, 0.0, 1.0]]
    )
    angles = np.deg2rad([degrees for _, degrees in LINKS])
    pulls = np.array([np.cos(angles), np.sin(angles)])
    corners = np.array([at for at, _ in LINKS]).T
    moments = corners[0] * pulls[1] - corners[1] * pulls[0]
    assert_allclose(stresses @ np.vstack([pulls, moments]).T, 0.0, rtol=0.0, atol=1e-12)
    # Equal links: the self-stresses that take part do no work on the elongations.
    for printed, part in zip(PRINTED, (stresses, stresses[:1]), strict=False):
        share = np.linalg.lstsq(part.T, last, rcond=None)[0]
        assert_allclose(last - share @ part, printed, rtol=0.0, atol=5e-4)


def test_a_load_returns_to_no_state_but_a_link_switches_back():
    a, b, load = *(np.array(each) for each in ([[1.0, 2.0], [2.0, 5.0]], [1.0, 0.1])), -np.ones(2)
    states = [
        tuple(int(v > 1e-9) for v in least_energy(a, b + q * load)) for q in (0.05, 1.0, 1.8, 10.0)
    ]
    # None, link 2, both, link 1: link 2 switches on and off.
    assert states == [(0, 0), (0, 1), (1, 1), (1, 0)]
