"""Kolesnikov (2004): systems with unilateral links, switching, impact, muscles (dissertation).

Only the formulas of the abstract survive in the scan, and no figure does. A docstring opens with
the place in the document; A, B, X and Y are those of eq. 1: Y = A X + B.
"""

import itertools
import runpy
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from exact_exclusions import TWICE, WITHOUT_END, most_negative_rows
from literature_rows import row_test
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

from dynamics.mechanics import complementarity
from dynamics.mechanics.complementarity import free_terms
from dynamics.mechanics.complementarity import solve_complementarity as by_rows
from dynamics.mechanics.unilateral import solve_structure
from tests.oracles.complementarity import k_matrix, square_wishart, wishart

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "mechanics"
#: The free minimum has two or three negative values; the least of them belongs to a positive X.
TWO_ROWS = np.array([[1.0, -5.0], [-5.0, 29.0]]), np.array([-1.0, 8.0])
THREE_ROWS = (
    np.array([[1.0, -1.0, -1.0], [-1.0, 3.0, 0.0], [-1.0, 0.0, 2.0]]),
    np.array([-1.0, 2.0, 2.0]),
)


@cache
def example(name):
    """Return what an example of `examples/mechanics` defines."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def energy(a, b, x):
    """Return Xᵀ A X / 2 + Xᵀ B, eq. 4."""
    return 0.5 * x @ a @ x + x @ b


def states(a, b):
    """Yield X and Y of all 2ⁿ choices of links that are on (Y = 0, else X = 0)."""
    for choice in itertools.product((False, True), repeat=len(b)):
        on, x = np.flatnonzero(choice), np.zeros(len(b))
        x[on] = np.linalg.solve(a[np.ix_(on, on)], -b[on])
        y = a @ x + b
        y[on] = 0.0
        yield x, y


def all_at_once(a, b, most):
    """Return the sets of links that are on as all negative rows are switched at a time."""
    on, passed = np.zeros(len(b), dtype=bool), []
    for _ in range(most):
        passed.append(tuple(on.tolist()))
        x = np.zeros(len(b))
        x[on] = np.linalg.solve(a[np.ix_(on, on)], -b[on])
        negative = np.where(on, x, a @ x + b) < 0.0
        if not negative.any():
            break
        on = on ^ negative
    return passed


def by_algorithm_2(a, b):
    """Return X of algorithm 2 as printed, and the leading rows; signs of X are not looked at."""
    a, b = a.astype(float), b.astype(float)
    rest, led = list(range(len(b))), []
    while rest and min(b[rest]) < 0.0:
        lead = min(rest, key=lambda row: b[row])
        rest.remove(lead)
        led.append(lead)
        for row in rest:
            factor = a[row, lead] / a[lead, lead]
            a[row] -= factor * a[lead]
            b[row] -= factor * b[lead]
    x = np.zeros(len(b))
    for row in reversed(led):
        x[row] = -(b[row] + a[row] @ x) / a[row, row]
    return x, led


def test_one_state_of_all_is_realised():
    """Introduction; section 2.16: of 2ⁿ states one is realised, that of least energy."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        a, b = wishart(rng, 6), rng.normal(size=6)
        found = [(x, y) for x, y in states(a, b) if x.min() >= 0.0]
        (realised,) = [x for x, y in found if y.min() >= 0.0]
        x = by_rows(a, b).x
        assert_allclose(x, realised, atol=1e-9)
        assert energy(a, b, x) <= min(energy(a, b, each) for each, _ in found) + 1e-9


#: Corner of the unit square and direction [deg] of each of five equal links, with 10 N down in the
#: middle: the printed forces determine the self-stresses, which these links have.
CORNERS = np.array([(1.0, 1.0), (0.0, 1.0), (0.0, 0.0), (1.0, 0.0), (1.0, 1.0)])
LINK_ANGLES = np.radians([60.0, 240.0, 180.0, 0.0, 300.0])
FIVE_LINKS = np.array(
    [
        [3.585, -3.852, 0.832, -0.832, -4.110],
        [12.440, 0.893, 2.887, -2.887, 0.0],
        [12.440, 0.893, 5.774, 0.0, 0.0],
    ]
)


def square():
    """Return C (3, 5) of the links and their load P (3,), eq. 30."""
    pulls = np.array([np.cos(LINK_ANGLES), np.sin(LINK_ANGLES)])
    moments = CORNERS[:, 0] * pulls[1] - CORNERS[:, 1] * pulls[0]
    return np.vstack([pulls, moments]), np.array([0.0, -10.0, -5.0])


def test_dropping_all_negative_links_fails():
    """Chapter 1: the oldest algorithm misses the solution, and can go round in circles."""
    matrix, load = square()
    kept = matrix[:, FIVE_LINKS[0] > 0.0]  # links 2, 4 and 5 drop out at once
    rest = kept @ np.linalg.lstsq(kept, -load, rcond=None)[0] + load
    assert np.abs(rest).max() == pytest.approx(0.7, abs=0.05)
    a = np.array([[8.0, 8.0, -2.0], [8.0, 9.0, -4.0], [-2.0, -4.0, 5.0]])
    assert (np.linalg.eigvalsh(a) > 0.0).all()
    passed = all_at_once(a, np.array([-1.0, -3.0, 4.0]), 5)
    assert passed[:3] == [(False, False, False), (True, True, False), (False, True, True)]
    assert passed[3:] == passed[:2]


def test_the_problem_is_that_of_least_energy():
    """Eq. 1–4: Y = A X + B, X, Y >= 0, YᵢXᵢ = 0; the slope of the energy is Y."""
    rng, h = np.random.default_rng(3), 1e-4
    for _ in range(20):
        a, b, x = wishart(rng, 5), rng.normal(size=5), rng.normal(size=5)
        rises = [energy(a, b, x + h * e) - energy(a, b, x - h * e) for e in np.eye(5)]
        assert_allclose(np.array(rises) / (2.0 * h), a @ x + b, rtol=0.0, atol=1e-8)
        solution = by_rows(a, b).x
        assert_allclose(solution * (a @ solution + b), 0.0, atol=1e-9)


@cache
def pairs():
    """Return 600 problems of two links: A, B, free minimum, X and Y."""
    rng, found = np.random.default_rng(4), []
    for _ in range(600):
        size = rng.uniform(0.5, 2.0, 2)
        a = np.outer(size, size)
        a[0, 1] = a[1, 0] = rng.uniform(-0.98, 0.98) * a[0, 1]
        b = rng.normal(size=2)
        solution = by_rows(a, b)
        found.append((a, b, np.linalg.solve(a, -b), solution.x, solution.y))
    return found


def first_on():
    """Return the pairs with Y₁ = 0 and Y₂ > 0, as section 2.2 supposes."""
    return [p for p in pairs() if p[3][0] > 0.0 and p[3][1] == 0.0 and p[4][1] > 0.0]


def test_state_of_two_links():
    """Eq. 5–10, 13: X₁ = -B₁/A₁₁, hence B₁ < 0; the coordinates of the free minimum."""
    assert len(first_on()) > 100
    for a, b, free, x, _ in first_on():
        det = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
        formula = a[0, 1] * b[1] - a[1, 1] * b[0], a[1, 0] * b[0] - a[0, 0] * b[1]
        assert b[0] < 0.0
        assert_allclose(np.array(formula) / det, free, rtol=1e-9, atol=1e-9)
        assert x[0] == pytest.approx(-b[0] / a[0, 0])


def test_eq_11_decides_and_eq_12_does_not():
    """Eq. 11, 12: A₂₁B₁/A₁₁ < B₂ decides; B₁ < 0 < B₂ neither suffices nor is needed."""
    a = TWO_ROWS[0]
    assert_allclose(by_rows(a, np.array([-1.0, 1.0])).x, [6.0, 1.0], rtol=1e-9)  # 5 > 1
    other = np.array([[1.0, 0.5], [0.5, 1.0]])
    assert_allclose(by_rows(other, np.array([-1.0, -0.3])).x, [1.0, 0.0], atol=1e-9)
    for a, b, _, x, y in (p for p in pairs() if p[1][0] < 0.0):
        assert (a[1, 0] * b[0] / a[0, 0] < b[1]) == (x[0] > 0.0 and x[1] == 0.0 and y[1] > 0.0)


def test_sign_of_the_second_link():
    """Eq. 14: with link 1 on and 2 off, X₂ < 0 at the free minimum; alone negative, it is off."""
    assert all(free[1] < 0.0 for _, _, free, _, _ in first_on())
    single = [p for p in pairs() if p[2][1] < 0.0 <= p[2][0]]
    assert len(single) > 100
    assert all(x[1] == 0.0 for _, _, _, x, _ in single)


def test_the_coupling_is_negative():
    """Eq. 15: from B₁ < 0 < B₂ and X₁ < 0 follows A₁₂ > 0; in fractions, A₁₂ < 0."""
    met = [
        a12
        for a11, a22, a12, b1, b2 in itertools.product(
            (1, 2, 5), (1, 2, 5), range(-3, 4), (-1, -2), (1, 2, 3)
        )
        if (det := a11 * a22 - a12 * a12) > 0 and Fraction(a12 * b2 - a22 * b1, det) < 0
    ]
    assert len(met) > 5
    assert max(met) < 0


def test_either_of_two_negative_values_can_be_the_smaller():
    """Eq. 16, 17: X₂ < X₁ < 0 where link 1 is on; A = [1 -5; -5 29], B = (-1, 8) has X₁ < X₂."""
    a, b = TWO_ROWS
    free, found = np.linalg.solve(a, -b), by_rows(a, b)
    assert_allclose(free, [-2.75, -0.75], rtol=1e-9)
    assert_allclose([*found.x, *found.y], [1.0, 0.0, 0.0, 3.0], atol=1e-9)
    terms = a[0, 1] * (b[0] - b[1]), -a[0, 0] * b[1], a[1, 1] * b[0]
    assert sum(terms) == pytest.approx(np.linalg.det(a) * (free[1] - free[0]), rel=1e-9)
    assert terms[0] > 0.0  # which the wrong sign of eq. 15 makes negative
    smaller = {bool(p[2][1] < p[2][0]) for p in first_on() if p[2].max() < 0.0}
    assert smaller == {True, False}


def test_the_least_value_does_not_tell_the_link():
    """Eq. 18: the link of the least Xₖ < 0 at the free minimum is off; only one of them is."""
    a, b = THREE_ROWS
    assert (np.linalg.eigvalsh(a) > 0.0).all()
    assert_allclose(np.linalg.solve(a, -b), [-4.0, -2.0, -3.0], rtol=1e-9)
    assert_allclose(by_rows(a, b).x, [1.0, 0.0, 0.0], atol=1e-9)
    rng, on, count = np.random.default_rng(5), 0, 0
    for _ in range(100):
        a, b = square_wishart(rng, 10), rng.normal(size=10)
        free = np.linalg.solve(a, -b)
        if free.min() < 0.0:
            x = by_rows(a, b).x
            count, on = count + 1, on + bool(x[free.argmin()] > 0.0)
            assert (x[free < 0.0] == 0.0).any()
    assert 0.05 < on / count < 0.2


def test_the_least_displacement_does_not_either():
    """Eq. 19, 20: the same with H = A⁻¹, F = -A⁻¹ B fails as eq. 18 does."""
    h, f = TWO_ROWS
    a = np.linalg.inv(h)
    b = -a @ f
    assert np.linalg.solve(h, -f).argmin() == 0
    assert_allclose(by_rows(a, b).y, [1.0, 0.0], atol=1e-6)
    sums = []
    for y in np.random.default_rng(6).normal(size=(5, 2)):
        x = h @ y + f
        sums.append(energy(a, b, x) + energy(h, f, y) - x @ y)
    assert np.ptp(sums) < 1e-6


def test_five_links_step_by_step():
    """Figs. 3, 4: forces of three steps; link 5 drops out first, then link 4."""
    matrix, load = square()
    left = list(range(5))
    for step, drops in zip(FIVE_LINKS, (4, 3, None), strict=True):
        forces = np.zeros(5)
        forces[left] = solve_structure(
            matrix[:, left], np.ones(len(left)), -load, two_sided=np.arange(len(left))
        ).forces
        assert_allclose(forces, step, rtol=0.0, atol=6e-4)
        if drops is None:
            break
        assert forces.argmin() == drops
        left.remove(drops)
    found = solve_structure(matrix, np.ones(5), -load)
    assert list(found.exclusions) == [4, 3]
    assert_allclose(found.forces, FIVE_LINKS[-1], atol=6e-4)
    # Step 3 by moments: links 1 and 2 about each other's corner.
    both = 20.0 / 3.0 + np.array([10.0, -10.0]) / np.sqrt(3.0)
    assert_allclose(both, FIVE_LINKS[-1, :2], rtol=0.0, atol=5e-4)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([[1.0, -2.0], [-2.0, 5.0]], [-1.0, 3.0]),  # both reactions -1 with both links on
        ([[1.0, 2.0], [2.0, 5.0]], [-1.0, -1.0]),  # equal free terms
    ],
)
def test_equal_reactions_can_end_differently(a, b):
    """After figs. 3, 4: links with equal reactions switch at the same time; one ends on here."""
    a, b = np.array(a), np.array(b)
    free = np.linalg.solve(a, -b)
    assert free[0] == pytest.approx(free[1]) or b[0] == b[1]
    assert by_rows(a, b).active.tolist() == [True, False]


def test_an_exclusion_interchanges_two_variables():
    """Eq. 21–28: factors and free terms after an exclusion with the pivot Aᵢᵢ."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        a, b, x, i = wishart(rng, 5), rng.normal(size=5), rng.normal(size=5), int(rng.integers(5))
        y, other = a @ x + b, np.delete(np.arange(5), i)
        row = (y[i] - b[i] - a[i, other] @ x[other]) / a[i, i]
        inner = a[np.ix_(other, other)] - np.outer(a[other, i], a[i, other]) / a[i, i]
        terms = b + a[:, i] * (-b[i] / a[i, i])
        terms[i] = -b[i] / a[i, i]
        assert row == pytest.approx(x[i])
        rest = a[other, i] / a[i, i] * y[i] + inner @ x[other] + terms[other]
        assert_allclose(rest, y[other], atol=1e-9)
        assert_allclose(free_terms(a, b, np.arange(5) == i), terms, atol=1e-9)


def term_falls(a, b):
    """Return whether the free term of a row falls after the row was chosen."""
    active, before, chosen = np.zeros(len(b), dtype=bool), b, []
    for row in by_rows(a, b).exclusions:
        active[row] = not active[row]
        free = free_terms(a, b, active)
        if (free[chosen] < before[chosen] - 1e-9).any():
            return True
        chosen, before = [*chosen, row], free
    return False


def test_free_terms_can_fall():
    """Statement 1, eq. 29: a chosen row's free term only grows; true for K-matrices alone."""
    a, b = (each.astype(float) for each in TWICE)
    sets = ([2], [0, 2], [0, 1, 2])
    terms = [free_terms(a, b, np.isin(range(3), rows))[2] for rows in sets]
    assert_allclose(terms, [2.0, 2.0, -2.0], rtol=1e-9)
    rng = np.random.default_rng(8)
    assert not any(term_falls(k_matrix(rng, 8), rng.normal(size=8)) for _ in range(50))


@pytest.mark.parametrize(
    ("problem", "rows"), [(TWICE, [2, 0, 1, 2]), (WITHOUT_END, [3, 0, 1] * 10)]
)
def test_rows_are_chosen_twice(problem, rows):
    """Statements 2, 3: no row twice, at most n exclusions; true for K-matrices alone."""
    a, b = problem
    assert (np.linalg.eigvalsh(a) > 0.0).all()
    assert most_negative_rows(a, b, 30) == rows
    rng = np.random.default_rng(1)
    for _ in range(30):
        assert len(by_rows(k_matrix(rng, 20), rng.normal(size=20)).exclusions) <= 20


def test_algorithm_2_can_end_below_zero():
    """Algorithm 2: Gauss led by the most negative term solves it; true for K-matrices alone."""
    x, led = by_algorithm_2(*TWICE)
    assert led == [2, 0, 1]
    assert_allclose(x, [11.0, 8.0, -2.0], rtol=1e-9)
    assert_allclose(by_rows(*TWICE).x, [9.0, 6.0, 0.0], atol=1e-9)
    rng = np.random.default_rng(9)
    least = {
        make: [by_algorithm_2(make(rng, 10), rng.normal(size=10))[0].min() for _ in range(100)]
        for make in (square_wishart, k_matrix)
    }
    assert min(least[square_wishart]) < -1e-9 <= min(least[k_matrix])


def test_equalities_are_eliminated_first():
    """Chapter 2, after algorithm 2: equalities first, in any order; the rest is such a problem."""
    rng = np.random.default_rng(10)
    for _ in range(20):
        a, b = wishart(rng, 9), rng.normal(size=9)
        factor = np.linalg.solve(a[:3, :3], a[:3]).T
        rest = by_rows(a[3:, 3:] - factor[3:] @ a[:3, 3:], b[3:] - factor[3:] @ b[:3]).x
        first = -np.linalg.solve(a[:3, :3], b[:3] + a[:3, 3:] @ rest)
        ours = by_rows(a, b, equalities=[0, 1, 2]).x
        assert_allclose(ours, [*first, *rest], rtol=0.0, atol=1e-9)


def test_mixed_method():
    """Eq. 30–33: (S⁻¹ Cᵀ; -C 0) (N; U) = (D₀; P), with the stiffness matrix R = C S Cᵀ."""
    rng = np.random.default_rng(12)
    for _ in range(20):
        c, s, load = rng.normal(size=(3, 6)), rng.uniform(1.0, 4.0, 6), rng.normal(size=3)
        initial = rng.normal(size=6)
        matrix = np.block([[np.diag(1.0 / s), c.T], [-c, np.zeros((3, 3))]])
        forces, shift = np.split(np.linalg.solve(matrix, np.concatenate([initial, load])), [6])
        ours = solve_structure(c, s, -load, pretension=initial, two_sided=np.arange(6))
        assert_allclose(ours.forces, forces, rtol=0.0, atol=1e-8)
        assert_allclose(ours.displacement, shift, rtol=0.0, atol=1e-8)
        assert_allclose(np.linalg.solve(c * s @ c.T, load + c @ (s * initial)), shift, atol=1e-8)


MOMENT = np.array([0.0, 10.0, 0.0, 0.0])  # against 10 on the shank, clockwise
HIP, KNEE = np.array([5.0, 10.0]), np.array([5.0, 0.0])
LEVER = 1.5 * 6.0 / np.hypot(0.8, 6.0)  # of muscle 1 about the hip


def two_joint_muscles():
    """Return the model of fig. 13 and table 1."""
    return example("two_joint_muscles")["structure"]()


def muscle_forces():
    """Return the solution of fig. 13."""
    muscles = two_joint_muscles()
    return solve_structure(muscles.balance, muscles.stiffness, MOMENT)


def complete_system(members, extra=()):
    """Return the matrix of eq. 37 of fig. 13 with some muscles; `extra` act as reactions.

    Unknowns: forces, reactions of hip and knee, node (2), bodies (2 × force and moment).
    """
    muscles, bodies = two_joint_muscles(), {"thigh": (0, HIP), "shank": (3, KNEE)}
    body, node = np.zeros((6, 5)), np.zeros((2, 5))
    for column, member in enumerate(muscles.members):
        for name, point, pull in (
            (member.start_body, member.start, member.pull),
            (member.end_body, member.end, -member.pull),
        ):
            if name == "node":
                node[:, column] += pull
            elif name in bodies:
                row, joint = bodies[name]
                arm = point - joint
                body[row : row + 3, column] += [*pull, arm[0] * pull[1] - arm[1] * pull[0]]
    joints = np.zeros((6, 4))
    joints[:2, :2] = joints[3:5, 2:] = np.eye(2)
    arm = KNEE - HIP
    joints[:3, 2:] = -np.array([[1.0, 0.0], [0.0, 1.0], [-arm[1], arm[0]]])
    joints = np.hstack([joints, body[:, list(extra)]])
    body, node, stiffness = body[:, members], node[:, members], muscles.stiffness[list(members)]
    m, r = len(members), joints.shape[1]
    matrix = np.block(
        [
            [np.diag(1.0 / stiffness), np.zeros((m, r)), node.T, body.T],
            [np.zeros((r, m + r + 2)), joints.T],
            [-node, np.zeros((2, r + 8))],
            [-body, -joints, np.zeros((6, 8))],
        ]
    )
    right = np.zeros(len(matrix))
    right[-1] = -10.0
    return matrix, right


def second_step():
    """Return forces (4,), reactions (4,), node and bodies of eq. 37 with muscle 5 off: step 2."""
    return np.split(np.linalg.solve(*complete_system([0, 1, 2, 3])), [4, 8, 10])


def test_the_complete_system_determines_forces_and_displacements():
    """Eq. 34–37: 17 equations of full rank; a regular square C(bp) means no motion."""
    matrix, _ = complete_system([0, 1, 2, 3, 4])
    assert np.linalg.matrix_rank(matrix) == len(matrix) == 17
    assert two_joint_muscles().balance.shape == (4, 5)  # statics alone does not
    forces, *_ = second_step()
    assert_allclose(muscle_forces().forces, [*forces, 0.0], rtol=0.0, atol=1e-9)
    held = np.linalg.solve(*complete_system([2, 3, 4], extra=[0, 1]))
    assert_allclose(held[-6:], 0.0, atol=1e-9)


def test_number_of_equations():
    """After eq. 37: m + 12 b + 3 k; in the plane 19, where m + r + 3 b + 2 k = 17 are right."""
    m, r, b, k = 5, 4, 2, 1
    assert len(complete_system(range(m))[0]) == m + r + 3 * b + 2 * k == 17 != m + 6 * b + 2 * k


def central_step(mass, damping, stiffness, load, now, before, step):
    """Return U after a step of eq. 41 and 42; at the instant, and a step before."""
    right = 2.0 * step**2 * load + 2.0 * mass @ (2.0 * now - before)
    right += step * damping @ before - 2.0 * step**2 * stiffness @ now
    return np.linalg.solve(2.0 * mass + step * damping, right)


def oscillator_error(step):
    """Return the error at 1 s of eq. 41 for a damped oscillator at rest at 1 m."""
    times = np.array([-step, 0.0, 1.0])
    before, now, exact = np.exp(-times) * (np.cos(5.0 * times) + np.sin(5.0 * times) / 5.0)
    one, before, now = np.eye(1), np.array([before]), np.array([now])
    for _ in range(round(1.0 / step)):
        before, now = now, central_step(one, 2 * one, 26 * one, np.zeros(1), now, before, step)
    return abs(now[0] - exact)


def test_central_differences():
    """Eq. 38–42: (2 M + τ Λ) U⁺ = 2 τ² P + 2 M (2 U - U⁻) + τ Λ U⁻ - 2 τ² R U; order 2."""
    rng, h = np.random.default_rng(13), 0.1
    for _ in range(20):  # three links on two masses
        c, s, w = rng.normal(size=(2, 3)), rng.uniform(1.0, 2.0, 3), rng.uniform(0.1, 1.0, 3)
        mass, (load, now, before) = np.diag(rng.uniform(1.0, 2.0, 2)), rng.normal(size=(3, 2))
        after = central_step(mass, c * w @ c.T, c * s @ c.T, load, now, before, h)
        rate = (after - before) / (2.0 * h)
        forces = -s * (c.T @ now) - w * (c.T @ rate)
        assert_allclose(mass @ (after - 2.0 * now + before) / h**2, c @ forces + load, atol=1e-9)
    order = np.log2(oscillator_error(0.01) / oscillator_error(0.005))
    assert order == pytest.approx(2.0, abs=0.05)


def test_damping_of_the_links_in_their_forces():
    """Eq. 43: - Λ Cᵀ U' as the last term of N misses C N + P = M U''; - w Cᵀ U' meets it."""
    rng = np.random.default_rng(14)
    for _ in range(20):  # as many links as freedoms, so that Λ Cᵀ U' has a size at all
        c, s, w = rng.normal(size=(3, 3)), rng.uniform(1.0, 2.0, 3), rng.uniform(0.1, 1.0, 3)
        damping, (shift, rate, load) = c * w @ c.T, rng.normal(size=(3, 3))
        inertia = load - c * s @ c.T @ shift - damping @ rate
        elastic = -s * (c.T @ shift)
        assert np.abs(c @ (elastic - damping @ c.T @ rate) + load - inertia).max() > 0.04
        assert_allclose(c @ (elastic - w * (c.T @ rate)) + load, inertia, rtol=0.0, atol=1e-9)


def intervals(normal):
    """Return how many times a force begins to act."""
    on = np.concatenate([[False], normal > 0.0])
    return int(np.count_nonzero(on[1:] & ~on[:-1]))


@cache
def oblique_impact(step, end, damping=100.0, depth=0.5):
    """Return height [m] and reaction [N] of the oblique impact by eq. 41 and 43.

    The ground is on while the body presses it in and the reaction is positive.
    """
    mass, one, off = 10.0, np.eye(1), np.zeros((1, 1))
    now, before, heights, reactions = 0.0, 2.5 * step - 0.5 * 9.81 * step**2, [], []
    for _ in range(round(end / step)):
        stiffness = 1e4 * (1.0 + max(-now, 0.0) / depth)
        at = np.array([-98.1]), np.array([now]), np.array([before])
        reaction = 0.0
        if now < 0.0:
            after = central_step(mass * one, damping * one, stiffness * one, *at, step)[0]
            reaction = -stiffness * now - damping * (after - before) / (2.0 * step)
        if reaction <= 0.0:
            after, reaction = central_step(mass * one, off, off, *at, step)[0], 0.0
        heights.append(now)
        reactions.append(reaction)
        before, now = now, after
    return np.array(heights), np.array(reactions)


@cache
def body_on_ground():
    """Return the oblique impact by an integrator that stops at every contact."""
    return example("oblique_impact")["impact"]()


def test_coefficient_of_dynamics():
    """Fig. 12: the largest reaction is 6 weights; 8.2 by any scheme that converges."""
    assert oblique_impact(0.01, 0.15)[1].max() / 98.1 == pytest.approx(8.67, abs=0.01)
    assert oblique_impact(1e-3, 0.15)[1].max() / 98.1 == pytest.approx(8.17, abs=0.05)
    assert oblique_impact(1e-3, 0.15, depth=np.inf)[1].max() / 98.1 > 7.5  # S = S₀
    assert body_on_ground().forces[:, 0, 1].max() / 98.1 == pytest.approx(8.17, abs=0.02)

    def reaction(height, speed):
        return -1e4 * height * (1.0 - height / 0.5) - 100.0 * speed

    found = solve_ivp(
        lambda _, s: [s[1], (reaction(*s) - 98.1) / 10.0],
        (0.0, 0.1), [0.0, -2.5], rtol=1e-8, atol=1e-10, max_step=1e-3,
    )  # fmt: skip
    assert reaction(*found.y).max() / 98.1 == pytest.approx(8.17, abs=0.02)


def test_repeated_impacts():
    """Figs. 9–12: the body bounces; at rest its weight presses it in, and is the reaction."""
    height, reaction = oblique_impact(0.01, 2.5)
    motion = body_on_ground()
    assert intervals(reaction) == example("oblique_impact")["contacts"](motion) == 4
    # S₀ U (1 + U/Um) = M g at rest.
    sunk = 0.25 * (np.sqrt(1.0 + 4.0 * 98.1 / (1e4 * 0.5)) - 1.0)
    assert sunk == pytest.approx(9.62e-3, abs=1e-5)
    assert_allclose([height[-1], motion.position[-1, 2]], -sunk, rtol=2e-3)
    assert_allclose([reaction[-1], motion.forces[-1, 0, 1]], 98.1, rtol=2e-3)


def test_reactions_and_displacements():
    """Fig. 13, table 1: p = (-0.889, -6.667, -4.339, 3.128), U(b) = (0, 0, -0.023, -0.226, …)."""
    _, _, node, bodies = second_step()
    muscles = two_joint_muscles()
    hip, knee = muscles.joint_reactions(muscle_forces().forces)
    printed = [-0.889, -6.667, -4.339, 3.128]
    assert_allclose([*hip, *-knee], printed, rtol=0.0, atol=5.1e-4)
    assert_allclose(bodies, [0, 0, -0.023, -0.226, 0, -0.039], rtol=0.0, atol=5.1e-4)
    assert_allclose(node, 0.0, atol=1e-12)
    # By virtual work; as force per strain the thigh would turn by -0.137.
    assert bodies[2] == pytest.approx(-10.0 / LEVER / (200.0 * LEVER))
    assert bodies[2] * np.hypot(0.8, 6.0) == pytest.approx(-0.137, abs=1e-3)


def test_linear_relations_suffice():
    """Sections 4.1.8 and 4.1.9: geometric nonlinearity is superfluous; 0.4 % of fig. 13."""
    muscles = two_joint_muscles()

    def moved(body, point, q):
        def turned(arm, angle):
            cos, sin = np.cos(angle), np.sin(angle)
            return np.array([cos * arm[0] - sin * arm[1], sin * arm[0] + cos * arm[1]])

        if body == "shank":
            return HIP + turned(KNEE - HIP, q[0]) + turned(point - KNEE, q[1])
        shift = q[2:] if body == "node" else np.zeros(2)
        return HIP + turned(point - HIP, q[0]) if body == "thigh" else point + shift

    def forces(q):
        found = []
        for each, stiffness in zip(muscles.members, muscles.stiffness, strict=True):
            now = moved(each.end_body, each.end, q) - moved(each.start_body, each.start, q)
            longer = np.linalg.norm(now) - np.linalg.norm(each.end - each.start)
            found.append(max(stiffness * longer, 0.0))
        return np.array(found)

    least = minimize(
        lambda q: 0.5 * (forces(q) ** 2 / muscles.stiffness).sum() + 10.0 * q[1],
        [-0.02, -0.04, 0.0, 0.0],
    )
    linear = muscle_forces().forces
    assert np.abs(forces(least.x) / linear.max() - linear / linear.max()).max() < 0.004
    assert forces(least.x)[0] == pytest.approx(6.747, abs=2e-3)


def leg_on_its_forefoot():
    """Return our planar leg with eight muscles, and its forces under the ground reaction."""
    module = example("leg_muscles")
    leg = module["leg"]()
    external = leg.generalised_force("foot", module["FOREFOOT"], module["GROUND_REACTION"])
    return leg, solve_structure(leg.balance, leg.stiffness, -external)


@pytest.mark.parametrize(
    ("compliant", "power", "off"), [(True, 2, 0.0), (False, 2, 260.0), (False, 3, 315.0)]
)
def test_criteria_of_optimality(compliant, power, off):
    """Sections 4.1.5–4.1.7, conclusions 9 and 10: criteria of optimality are inadequate.

    The complete system is itself the least of Σ N²/S; other powers are off by 18 and 21 % of the
    largest force of our leg.
    """
    leg, found = leg_on_its_forefoot()
    weight = 1e5 / leg.stiffness if compliant else np.ones(8)
    load = leg.balance @ found.forces
    least = minimize(
        lambda n: (weight * n**power).sum() / 1e3**power,
        found.forces + 1.0,
        jac=lambda n: weight * power * n ** (power - 1) / 1e3**power,
        bounds=[(0.0, None)] * 8,
        constraints={"type": "eq", "fun": lambda n: (leg.balance @ n - load) / 100.0,
                     "jac": lambda n: leg.balance / 100.0},
        method="SLSQP", options={"ftol": 1e-13, "maxiter": 500},
    ).x  # fmt: skip
    assert np.abs(least - found.forces).max() == pytest.approx(off, abs=1.0)


def change_of_forces(c, s, forces, change):
    """Return ΔN = (I - Z) α (I + Z α)⁻¹ N with Z = S Cᵀ R⁻¹ C, which follows from eq. 30 to 32."""
    unit, z = np.eye(s.size), s[:, None] * c.T @ np.linalg.solve(c * s @ c.T, c)
    return (unit - z) @ (change * np.linalg.solve(unit + z * change, forces))


def test_activation():
    """Eq. 44, 45: ΔN is a fractional-linear function of the activations, and exact."""
    rng, off = np.random.default_rng(15), 0.0
    for _ in range(20):
        c, s, load = rng.normal(size=(3, 6)), rng.uniform(1.0, 4.0, 6), rng.normal(size=3)
        initial, activation = rng.uniform(0.2, 1.0, 6), rng.uniform(0.3, 1.0, 6)
        bars = {"two_sided": np.arange(6)}
        before = solve_structure(c, s, load, pretension=initial, **bars).forces
        formula = before + change_of_forces(c, s, before, activation - 1.0)
        bars["activation"] = activation
        kept = solve_structure(c, s, load, pretension=initial, **bars).forces
        assert_allclose(kept, formula, rtol=0.0, atol=1e-9)
        scaled = solve_structure(c, s, load, contraction=initial, **bars).forces
        off = max(off, np.abs(scaled - formula).max())
    assert off > 0.1  # D₀ is not scaled as well
    matrix, load = square()
    first = solve_structure(matrix, np.ones(5), -load, two_sided=np.arange(5)).forces
    second = first + change_of_forces(matrix, np.ones(5), first, np.array([0, 0, 0, 0, -1.0]))
    assert_allclose(second, FIVE_LINKS[1], rtol=0.0, atol=6e-4)  # α = -1 switches link 5 off


def test_table_3_active_muscles():
    """Table 3: which of 27 muscles are active; marks are lost (not judged); ours has four of 8."""
    taut = leg_on_its_forefoot()[1].taut
    names = [n for n, on in zip(example("leg_muscles")["MUSCLES"], taut, strict=True) if on]
    assert names == ["gluteus maximus", "hamstrings", "gastrocnemius", "soleus"]


def test_a_growing_load_returns_to_no_state():
    """Introduction of the dissertation, on chapter 2: no state is passed twice."""
    rng = np.random.default_rng(11)
    for _ in range(5):
        a, b, load = square_wishart(rng, 6), rng.uniform(0.1, 1.0, 6), rng.normal(size=6)
        found = [tuple(by_rows(a, b + p * load).active) for p in np.geomspace(0.01, 100.0, 100)]
        passed = [s for s, _ in itertools.groupby(found)]
        assert len(set(passed)) == len(passed)
    # A single link can switch back: none, link 2, both, link 1.
    a, b = np.array([[1.0, 2.0], [2.0, 5.0]]), np.array([1.0, 0.1])
    found = [by_rows(a, b - q).active.tolist() for q in (0.05, 1.0, 1.8, 10.0)]
    assert found == [[False, False], [False, True], [True, True], [True, False]]


@pytest.mark.parametrize("make", [wishart, k_matrix])
def test_steps_are_as_many_as_those_of_lemke(make, monkeypatch):
    """Introduction and appendix 1: faster than Lemke's method; as many steps, within 10 %."""
    pivots, pivot = [], complementarity._pivot
    monkeypatch.setattr(complementarity, "_pivot", lambda *each: pivots.append(pivot(*each)))
    rng, steps = np.random.default_rng(120), 0
    for _ in range(3):
        a, b = make(rng, 60), rng.normal(size=60)
        steps += len(by_rows(a, b).exclusions)
        complementarity.lemke(a, b)
    assert 0.9 * len(pivots) < steps < len(pivots)


def hip_reaction():
    """Return the hip reaction of our leg over the ground reaction."""
    leg, found = leg_on_its_forefoot()
    return np.hypot(*leg.joint_reactions(found.forces, [("foot", (0.0, 700.0))])[0]) / 700.0


def percent(model, *measured):
    """Return differences over the model [%]."""
    return [100.0 * (model - each) / model for each in measured]


# fmt: off
#: Place and claim, what is computed, the value, and how far off it may be.
ROWS = [
    ("Figs. 5–8: one (a) and two (b) contacts; S₂ = 2 S₁ has one, 5 S₁ two (not judged)",
     lambda: [example("two_bodies_at_wall")["contacts"](ratio) for ratio in (2.0, 5.0)],
     [(1, 4.57), (2, 3.78)], (0, 0.01)),
    ("Section 3.4.1: also for landing without rebound; no data are printed (not judged)",
     lambda: [intervals(oblique_impact(2e-3, 1.5, d)[1]) for d in (100.0, 400.0)], (4, 1), 0),
    ("Fig. 13, table 1 (muscle 1): 6.728; its own reactions and its lever give 6.726",
     lambda: [muscle_forces().forces[0], np.hypot(0.889, 6.667), 10.0 / LEVER], 6.726, 5e-4),
    ("Fig. 13, table 1 (muscles 2 to 5): 5.349, 0, 0, 0 at step 2; muscle 5 becomes slack",
     lambda: [*muscle_forces().forces[1:], muscle_forces().exclusions[0]],
     (5.349, 0, 0, 0, 4), 5.1e-4),
    ("Chapter 4, decomposition: forces of the muscles first, then reactions of the joints",
     lambda: two_joint_muscles().joint_reactions(muscle_forces().forces).ravel(),
     second_step()[1], 1e-9),
    ("Table 2 (walking): 3.06 against 2.80 to 3.24, +8.4 to -2.9 %; it is +8.5 and -5.9 %",
     lambda: percent(3.06, 2.80, 3.24), (8.5, -5.9), 0.05),
    ("Table 2 (stumbling): 6.50 against 7.20 to 8.70, 10.8 to 33.8 %; raising 10.2 %",
     lambda: [*percent(6.50, 7.20, 8.70), *percent(1.67, 1.50)], (-10.8, -33.8, 10.2), 0.05),
    ("Table 2 (model): 1.67 to 6.50 body weights, without data (not judged); our leg has 2.73",
     hip_reaction, 2.73, 0.01),
]
# fmt: on


test_row = row_test(ROWS)
