"""Popović's equations, each error shown once more by a computation of its own."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.literature.popovic import constraints, example, links, state_equation
from benchmarks.literature.popovic import three_segments as three


def naive_centres(angles):
    """Walk along the chain from joint to joint, as a planar rotation of every segment."""
    joint, found = np.array(three.BASE, dtype=float), []
    for d, behind, angle in zip(three.BEFORE, three.BEHIND, angles, strict=True):
        axis = np.array([np.cos(angle), np.sin(angle)])
        found.append(joint + d * axis)
        joint = joint + (d + behind) * axis
    return np.array(found)


def naive_mass_matrix(angles):
    """Sum m ∂c/∂θ · ∂c/∂θ and J over the segments, by central differences of the centres."""
    step = 1e-6
    slopes = [
        (naive_centres(angles + step * e) - naive_centres(angles - step * e)) / (2.0 * step)
        for e in np.eye(3)
    ]
    mass = np.diag(three.INERTIAS).astype(float)
    for i, j in np.ndindex(3, 3):
        mass[i, j] += (three.MASSES * (slopes[i] * slopes[j]).sum(axis=1)).sum()
    return mass


def test_a_member_is_pulled_by_its_force():
    statement = links.members()
    assert statement.agrees
    # Of the holder, 40 N/m from (1, 2) to a point 0.3 m along member 1 at (0.5, 0.2).
    point = np.array([0.5, 0.2]) + 0.3 * np.array([np.cos(-0.4), np.sin(-0.4)])
    pull = 40.0 * np.linalg.norm(np.array([1.0, 2.0]) - point)
    assert f"pulled by {pull:.0f} N" in statement.ours


def test_a_link_pulls_in_proportion():
    assert links.pulled(0.0) == 0.0
    assert_allclose(links.pulled(0.03), -0.03 * links.STIFFNESS, rtol=1e-12)


def test_the_printed_diagonal_of_eq_2_makes_momentum():
    ours, printed, right = links.coupling_matrices()
    assert_allclose(ours, right, rtol=0.0, atol=1e-9)
    # Members apart, so that the one swings about the origin and the other one runs away.
    (first, second), time = links.MASSES[:2], 0.1
    swing, run = (np.sqrt(links.STIFFNESS / m) for m in (first, second))
    gained = second * 1.1 * run * np.sinh(run * time) - first * swing * np.sin(swing * time)
    assert_allclose(links.momentum_after(printed, time), gained, rtol=1e-9)
    # No displacement of both together may cost a force.
    assert_allclose(ours @ np.tile([1.0, 0.0, 0.0], 2), 0.0, atol=1e-9)
    assert np.abs(printed @ np.tile([1.0, 0.0, 0.0], 2)).max() == links.STIFFNESS


@pytest.mark.parametrize("pins", range(4))
def test_each_pin_takes_two_freedoms(pins):
    """Rank of the gaps of pins between four loose rods, by differences over 12 coordinates."""

    def gaps(state):
        rows = state.reshape(4, 3)
        ends = rows[:, :2] + 0.2 * np.column_stack([np.cos(rows[:, 2]), np.sin(rows[:, 2])])
        starts = 2.0 * rows[:, :2] - ends
        return (starts[1 : pins + 1] - ends[:pins]).ravel()

    at = np.random.default_rng(0).normal(size=12)
    slopes = np.array([(gaps(at + 1e-6 * e) - gaps(at - 1e-6 * e)) / 2e-6 for e in np.eye(12)])
    rank = np.linalg.matrix_rank(slopes, tol=1e-6) if pins else 0
    assert constraints.pinned(4, pins) == 12 - rank == 12 - 2 * pins


def test_neighbours_of_eq_3_and_4():
    centres = naive_centres(three.ANGLES)
    assert_allclose(three.positions(three.ANGLES)[:6], centres.T.ravel(), rtol=0.0, atol=1e-14)
    printed, right = constraints.joint_residuals()
    axis = np.array([np.cos(three.ANGLES[1]), np.sin(three.ANGLES[1])])
    assert_allclose(printed, [*(-2.0 * three.BEFORE[1] * axis), three.ANGLES[1]], atol=1e-14)
    assert_allclose(right, 0.0, atol=1e-14)
    # The vectors of eq. 3 lead backwards: off by twice the distance of the centres.
    apart = 2e3 * np.linalg.norm(centres[1] - centres[0])
    assert f"off by {apart:.0f} mm" in constraints.neighbours().ours


def test_constraints_have_two_rows_for_each_pin():
    assert constraints.constraint_rows() == (6, 6, 3)


def test_the_constant_of_eq_6_needs_the_inverse():
    """C Δr moves the first centre by -b and the second by +b, where both should move by b."""
    off, close = constraints.eliminated_positions()
    base = np.linalg.norm(three.BASE)
    assert_allclose(off, 2.0 * base, rtol=0.5)  # 0 or 2 b, and b at the third
    assert close < 1e-13
    moved = three.joining() @ np.array([-1.0, 0.0, 0.0])
    assert_allclose(-moved, [1.0, -1.0, 0.0], atol=0.0)
    assert_allclose(off, base * np.abs(-moved - 1.0).max(), rtol=1e-12)


def test_blocks_of_eq_7_and_rates_of_eq_8():
    assert constraints.block_errors()[0] == (9, 9)
    step = 1e-6
    slopes = [
        (naive_centres(three.ANGLES + step * e) - naive_centres(three.ANGLES - step * e)) / step / 2
        for e in np.eye(3)
    ]
    expected = np.array([each.T.ravel() for each in slopes]).T
    assert_allclose(three.rate_matrix(three.ANGLES)[:6], expected, rtol=0.0, atol=1e-9)
    off = constraints.rate_errors()
    printed = expected @ (three.ANGLES - three.RATES)
    assert_allclose(off["wrong rate"], np.abs(printed).max(), rtol=1e-5)
    # The last segment alone: a point on an arm has l (θ'' × - θ'²).
    q, one = three.ANGLES, np.array([0.0, 0.0, 1.0])
    pulled = three.turning_rate(q, one)
    assert_allclose(pulled[[2, 5]], -three.BEFORE[2] * np.array([np.cos(q[2]), np.sin(q[2])]))


def test_forces_of_the_pins_do_no_work_in_a_closed_chain():
    joints, others, inertial = state_equation.forces()
    assert_allclose(joints + others, inertial, rtol=0.0, atol=1e-9)
    assert_allclose(others[3:6], -9.80665 * three.MASSES, rtol=1e-12)
    # The pin of the last segment by Newton's law of that segment alone.
    assert_allclose(joints[[2, 5]], inertial[[2, 5]] - others[[2, 5]], rtol=1e-9)
    assert state_equation.work().verdict == "error in print"
    assert state_equation.eliminated_forces().agrees


def test_the_printed_minus_of_eq_11_makes_one_spring_unstable():
    """λ² + b λ - a = 0 has a positive root for all a, b > 0; λ² + b λ + a = 0 has none."""
    a, b = 9.0, 0.5
    printed, right = -np.array([[0.0, 1.0], [a, b]]), np.array([[0.0, 1.0], [-a, -b]])
    root = -0.5 * b + np.sqrt(0.25 * b**2 + a)
    assert_allclose(np.linalg.eigvals(printed).real.max(), root, rtol=1e-12)
    assert_allclose(np.linalg.eigvals(right).real.max(), -0.5 * b, rtol=1e-12)


@pytest.mark.slow
def test_small_motion_follows_the_right_matrix_alone():
    stiffness, damping, _ = state_equation.small_motion()
    differences = np.eye(3) - np.eye(3, k=-1)
    mass = naive_mass_matrix(np.zeros(3))
    wanted = np.linalg.solve(mass, 20.0 * differences.T @ differences)
    assert_allclose(stiffness, wanted, rtol=0.0, atol=1e-4 * np.abs(wanted).max())
    assert_allclose(damping, wanted / 40.0, rtol=0.0, atol=1e-4 * np.abs(wanted).max())
    assert state_equation.state_form().verdict == "error in print"


def test_mass_and_damping_need_the_rates_on_both_sides():
    found = state_equation.generalised()
    mass = naive_mass_matrix(three.ANGLES)
    rates, places = three.rate_matrix(three.ANGLES), three.place_matrix(three.ANGLES)
    assert_allclose(rates.T @ three.masses() @ rates, mass, rtol=0.0, atol=1e-8)
    wrong = np.abs(rates.T @ three.masses() @ places - mass).max()
    assert_allclose(found["mass"], (wrong, 0.0), rtol=1e-6, atol=1e-12)
    assert found["damping"][0] > 1.0
    assert found["damping"][1] < 1e-12


@pytest.mark.slow
def test_only_the_complete_state_equation_conserves_energy():
    complete, without_constants, without_squares = state_equation.energies()
    assert abs(complete) < 1e-8
    assert abs(without_constants) > 0.1
    assert abs(without_squares) > 0.1
    assert [state_equation.constants().verdict, state_equation.squares().verdict] == [
        "error in print"
    ] * 2


def test_interrupted_chains_have_two_coordinates_more_for_each_part():
    sizes = [len(example.in_parts(7, parts).coordinate_names) for parts in (1, 2, 7)]
    assert sizes == [7, 9, 19]
    assert example.closed_again() < 1e-9
    # Apart from each other the parts move otherwise than together.
    angles, rates = np.array([-1.2, -1.7, -0.9, -1.4]), np.array([1.0, -2.0, 0.5, 1.5])
    whole = example.in_parts(4, 1).accelerations(0.0, angles, rates)
    loose = example.in_parts(4, 2).accelerations(0.0, [*angles, 0.1, -0.8], [*rates, 0.0, 0.0])
    assert np.abs(loose[:4] - whole).max() > 1.0


@pytest.mark.slow
def test_the_example_is_that_of_fig_4():
    statement = example.orthoses()
    assert statement.agrees
    system = example.example()["assembly"]()
    assert sorted(map(sorted, example.trees(system))) == [
        ["stance", "swing", "trunk"], ["stance orthosis"], ["swing orthosis"],
    ]  # fmt: skip
    assert [each.first[1] for each in system.links] == [
        "foot", "shank", "thigh", "pelvis", "trunk", "thigh", "shank", "foot",
    ]  # fmt: skip
