"""Statements of Kolesnikov (2004) on dynamics and muscles, by computations of their own."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq

from benchmarks.literature.kolesnikov import complete_system, motion, muscles


def test_the_printed_force_misses_its_own_reactions():
    assert_allclose(np.hypot(0.889, 6.667), 6.726, rtol=0.0, atol=5e-4)
    # Muscle 1 alone bears the moment of 10: its lever about (5, 10) from (6.5, 10) to (5.7, 4).
    lever = abs(np.cross([1.5, 0.0, 0.0], [-0.8, -6.0, 0.0])[2]) / np.hypot(0.8, 6.0)
    assert_allclose(10.0 / lever, 6.726, rtol=0.0, atol=5e-4)


def test_displacements_of_fig_13_by_virtual_work():
    """Muscles 1 and 2 alone: a unit moment gives the turn of a segment."""
    hip = 1.5 * 6.0 / np.hypot(0.8, 6.0)
    line = np.array([10.0, -1.3]) - [5.7, 1.8]
    knee = (0.7 * line[1] - 1.8 * line[0]) / np.linalg.norm(line)
    first, second = 10.0 / hip, 10.0 / abs(knee)
    thigh = -first / (200.0 * hip)
    shank = thigh - second / (180.0 * abs(knee))
    found = complete_system.second_step()
    assert_allclose(found.forces[:2], [first, second], rtol=1e-12)
    assert_allclose(found.bodies, [0, 0, thigh, 10.0 * thigh, 0, shank], rtol=0.0, atol=1e-12)
    assert_allclose(found.bodies, muscles.DISPLACEMENT, rtol=0.0, atol=5e-4)
    # The force of the shank on muscle 2 and the joint.
    pull = second * line / np.linalg.norm(line)
    assert_allclose(-pull, muscles.REACTIONS[2:], rtol=0.0, atol=5e-4)


def test_a_body_in_space_on_a_ball_joint_has_fewer_equations_than_printed():
    """Eq. 37 in space: one body, a ball joint at its origin, five members from the ground."""
    rng = np.random.default_rng(0)
    at, pull = rng.normal(size=(2, 5, 3))
    members = np.vstack([pull.T, np.cross(at, pull).T])
    joint = np.vstack([np.eye(3), np.zeros((3, 3))])
    matrix = np.block(
        [
            [np.eye(5), np.zeros((5, 3)), members.T],
            [np.zeros((3, 8)), joint.T],
            [-members, -joint, np.zeros((6, 6))],
        ]
    )
    assert np.linalg.matrix_rank(matrix) == len(matrix) == 5 + 3 + 6 != 5 + 12


def test_change_of_forces_is_the_sum_of_its_taylor_series():
    rng = np.random.default_rng(1)
    c, s, n = rng.normal(size=(2, 4)), rng.uniform(1.0, 2.0, 4), rng.normal(size=4)
    alpha = rng.uniform(-0.3, 0.3, 4)
    z = np.diag(s) @ c.T @ np.linalg.inv(c @ np.diag(s) @ c.T) @ c
    term, total = alpha * n, np.zeros(4)
    for _ in range(200):
        total += (np.eye(4) - z) @ term
        term = -alpha * (z @ term)
    found = muscles.change_of_forces(c, s, n, alpha)
    assert_allclose(found, total, rtol=0.0, atol=1e-12)
    # The load stays.
    assert_allclose(c @ found, 0.0, rtol=0.0, atol=1e-12)


def test_forces_after_a_change_of_stiffness_by_minimal_energy():
    rng = np.random.default_rng(2)
    c, s, initial = rng.normal(size=(2, 4)), rng.uniform(1.0, 2.0, 4), rng.normal(size=4)
    load = rng.normal(size=2)

    def forces(stiffness):
        """Least Σ N²/(2 S) - N D₀ with C N + P = 0, by Lagrange's multipliers."""
        matrix = np.block([[np.diag(1.0 / stiffness), c.T], [c, np.zeros((2, 2))]])
        return np.linalg.solve(matrix, np.concatenate([initial, -load]))[:4]

    alpha = np.array([-0.5, 0.2, 0.0, 1.0])
    before = forces(s)
    found = before + muscles.change_of_forces(c, s, before, alpha)
    assert_allclose(found, forces(s * (1.0 + alpha)), rtol=0.0, atol=1e-11)


def test_largest_reaction_of_the_oblique_impact():
    """The first contact by an integrator of high order: more than 8 weights, not 6."""
    weight = 98.1

    def reaction(height, speed):
        return -1e4 * height * (1.0 - height / 0.5) - 100.0 * speed

    found = solve_ivp(
        lambda _, s: [s[1], (reaction(*s) - weight) / 10.0],
        (0.0, 0.1), [0.0, -2.5], rtol=1e-10, atol=1e-12, max_step=1e-4,
    )  # fmt: skip
    exact = reaction(*found.y).max() / weight
    assert 8.1 < exact < 8.2
    coefficients = [
        motion.height_and_reaction(step, 0.15)[1].max() / weight for step in (1e-2, 1e-3, 1e-4)
    ]
    assert_allclose(coefficients[1:], exact, rtol=0.0, atol=0.05)
    assert_allclose(coefficients[2], exact, rtol=0.0, atol=0.005)
    # The printed step is coarse, but does not lead to 6 either.
    assert_allclose(coefficients[0], exact, rtol=0.0, atol=0.6)
    assert coefficients[0] > 6.5


def test_without_damping_the_body_returns_with_its_speed():
    height, reaction = motion.height_and_reaction(1e-4, 0.4, damping=0.0)
    # The impulse turns the momentum round, beside the weight while in contact.
    contact = 1e-4 * np.count_nonzero(reaction[:2000])
    assert_allclose(1e-4 * reaction[:2000].sum(), 50.0 + 98.1 * contact, rtol=2e-3)
    # Half a second of flight at 2.5 m/s.
    assert_allclose(height.max(), 2.5**2 / (2.0 * 9.81), rtol=5e-3)


def intervals(ratio: float) -> list[float]:
    """Times at which body 2 meets or leaves the wall, by matrix exponentials; body 1 follows."""
    free = np.array([[-1.0, 1.0], [1.0, -1.0]])
    pressed = free - np.diag([0.0, ratio])
    step, state, times = 0.01, np.array([0.0, 0.0, 1.0, 1.0]), [0.0]

    def flow(matrix, duration):
        zero, unit = np.zeros((2, 2)), np.eye(2)
        return expm(duration * np.block([[zero, unit], [matrix, zero]]))

    matrix, time = pressed, 0.0
    advance = {id(each): flow(each, step) for each in (free, pressed)}
    while time < 8.0:
        following = advance[id(matrix)] @ state
        inside = matrix is pressed
        if (following[1] < 0.0) if inside else (following[1] > 0.0):
            at = brentq(lambda t, m=matrix, s=state: (flow(m, t) @ s)[1], 1e-9, step)
            state, time = flow(matrix, at) @ state, time + at
            times.append(time)
            matrix = free if inside else pressed
            # Off the crossing, whose sign is that of rounding.
            state, time = flow(matrix, 1e-6) @ state, time + 1e-6
            continue
        state, time = following, time + step
    return times


@pytest.mark.parametrize("ratio", [motion.PRINTED_RATIO, motion.OTHER_RATIO])
def test_intervals_of_contact_of_two_bodies(ratio):
    times = intervals(ratio)
    normal = motion.two_bodies(ratio).normal[:, 0]
    assert 2 * motion.contact_intervals(normal) == len(times)
    last = motion.two_bodies(ratio).time[1:][normal > 0.0][-1]
    assert_allclose(last, times[-1], rtol=0.0, atol=0.03)


def test_two_intervals_begin_between_the_stiffnesses_3_8_and_3_9():
    assert [len(intervals(ratio)) for ratio in (2.0, 3.8, 3.9)] == [2, 2, 4]


def test_central_step_by_hand():
    one = np.eye(1)
    # (2 M + τ Λ) U⁺ = 2 τ² P + 2 M (2 U - U⁻) + τ Λ U⁻ - 2 τ² R U.
    found = motion.central_step(
        2.0 * one, 3.0 * one, 5.0 * one, np.array([7.0]), np.array([0.3]), np.array([0.1]), 0.5
    )
    assert_allclose(found, (0.5 * 7.0 + 4.0 * 0.5 + 1.5 * 0.1 - 0.5 * 5.0 * 0.3) / 5.5, rtol=1e-14)


def test_percentages_of_table_2():
    for model, measured, printed in (
        (6.50, 7.20, 10.8), (6.50, 8.70, 33.8), (1.67, 1.50, 10.2),
    ):  # fmt: skip
        assert_allclose(100.0 * abs(measured - model) / model, printed, rtol=0.0, atol=0.05)
    for measured, printed in ((2.80, 8.4), (3.24, -2.9)):
        for base in (3.06, measured):
            assert abs(100.0 * (3.06 - measured) / base - printed) > 0.05
