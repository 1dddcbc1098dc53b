"""Structures of tension-only members against closed forms."""

import numpy as np
import pytest
from differences import differences
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls

from dynamics.mechanics.unilateral import (
    InfeasibleLoadError,
    Member,
    PinnedSegment,
    PlanarStructure,
    solve_structure,
)


def test_one_member_and_two_beside_each_other():
    one = solve_structure([[0.04]], [1e4], [20.0])
    assert_allclose(one.forces, [500.0], rtol=1e-14)
    # 500 N stretch it by 0.05 m: an external -20 N m turns the joint by -0.05 / 0.04.
    assert_allclose(one.displacement, [-1.25], rtol=1e-12)
    two = solve_structure([[0.04, 0.02]], [1e4, 3e4], [20.0])
    # In proportion to stiffness times lever.
    assert_allclose(two.forces, 20.0 * np.array([400.0, 600.0]) / 28.0, rtol=1e-12)
    antagonist = solve_structure([[0.04, -0.02]], [1e4, 3e4], [20.0])
    assert_array_equal(antagonist.taut, [True, False])
    assert antagonist.elongations[1] < 0.0


def random_structure(rng):
    m, n = rng.integers(1, 6), rng.integers(1, 14)
    balance = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-2.0, 0.0, (m, 1))
    balance[rng.random((m, n)) < 0.3] = 0.0
    stiffness = 10.0 ** rng.uniform(2.0, 6.0, n)
    load = 100.0 * balance @ (rng.uniform(size=n) * (rng.random(n) < 0.5))
    return balance, stiffness, load


def check_optimal(balance, stiffness, load, solution):
    """Balance, Hooke and slackness: together they are necessary and sufficient."""
    forces, root = solution.forces, np.sqrt(stiffness)
    scale = max(1e-12, (np.abs(balance) @ forces).max())
    assert_allclose(balance @ forces, load, rtol=0.0, atol=1e-9 * scale)
    assert (forces >= 0.0).all()
    scaled = root * solution.elongations
    most = max(1e-12, np.abs(scaled).max())
    assert_allclose(
        (forces / root)[solution.taut], scaled[solution.taut], rtol=0.0, atol=1e-8 * most
    )
    assert scaled[~solution.taut].max(initial=0.0) < 1e-7 * most


def test_balance_hooke_and_slackness_of_random_structures():
    rng = np.random.default_rng(1)
    for _ in range(500):
        problem = random_structure(rng)
        check_optimal(*problem, solve_structure(*problem))


def test_feasible_loads_are_those_of_non_negative_least_squares():
    rng = np.random.default_rng(3)
    refused = 0
    for _ in range(600):
        balance, stiffness, _ = random_structure(rng)
        load = rng.normal(size=len(balance)) * (np.abs(balance).max(axis=1) + 1e-3)
        rest = np.linalg.norm(load - balance @ nnls(balance, load)[0])
        try:
            solution = solve_structure(balance, stiffness, load)
        except InfeasibleLoadError:
            refused += 1
            assert rest > 1e-9 * np.linalg.norm(load)
        else:
            assert rest < 1e-8 * np.linalg.norm(load)
            check_optimal(balance, stiffness, load, solution)
    assert 100 < refused < 500


def test_no_load_and_a_freedom_that_nothing_holds():
    balance = np.array([[1.0, -1.0], [0.0, 0.0]])
    rest = solve_structure(balance, [1.0, 1.0], [0.0, 0.0])
    assert_array_equal(rest.forces, 0.0)
    assert_array_equal(rest.displacement, 0.0)
    assert_allclose(solve_structure(balance, [1.0, 1.0], [2.0, 0.0]).forces, [2.0, 0.0], rtol=1e-12)
    with pytest.raises(InfeasibleLoadError, match=r"; \[0.0, 3.0\] remains"):
        solve_structure(balance, [1.0, 1.0], [2.0, 3.0])


# ---- bars, contraction, pretension, activation ----


def springs_against_stop(rng, two_sided):
    """Random members, loads and offsets; the load is one that the members can balance."""
    n_dof, m = int(rng.integers(1, 5)), int(rng.integers(2, 10))
    balance, stiffness = rng.normal(size=(n_dof, m)), 10.0 ** rng.uniform(1.0, 4.0, m)
    bars = rng.random(m) < (0.3 if two_sided else 0.0)
    forces = np.where(bars, rng.normal(size=m), rng.uniform(0.0, 1.0, m) * (rng.random(m) < 0.6))
    offset = rng.normal(size=m) * 0.5 / stiffness
    return balance, stiffness, balance @ forces, offset, bars


@pytest.mark.parametrize("two_sided", [False, True])
def test_law_of_every_member_with_bars_and_pretension(two_sided):
    rng = np.random.default_rng(9)
    for _ in range(300):
        balance, stiffness, load, offset, bars = springs_against_stop(rng, two_sided)
        solution = solve_structure(balance, stiffness, load, pretension=offset, two_sided=bars)
        stretch = stiffness * (solution.elongations + offset)
        expected = np.where(bars, stretch, np.maximum(stretch, 0.0))
        scale = max(np.abs(solution.forces).max(), (stiffness * np.abs(offset)).max())
        assert_allclose(solution.forces, expected, rtol=0.0, atol=1e-6 * scale)
        assert_allclose(balance @ solution.forces, load, rtol=0.0, atol=1e-8 * scale)
        assert_allclose(solution.elongations, -balance.T @ solution.displacement, atol=1e-12)


BASE, ELBOW, FREE = np.array([0.2, 0.1]), np.array([0.5, -0.4]), np.array([0.3, -0.2])


def arm():
    """Two segments, a node, and members between all of them."""
    segments = [PinnedSegment("upper", BASE), PinnedSegment("lower", ELBOW, "upper")]
    members = [
        Member("ground", [0.0, 0.3], "upper", [0.4, -0.1], 100.0),
        Member("upper", [0.3, 0.0], "lower", [0.7, -0.6], 200.0),
        Member("ground", [0.1, 0.2], "lower", [0.6, -0.5], 300.0),
        Member("lower", [0.8, -0.4], "node", FREE, 400.0),
        Member("node", FREE, "ground", [0.0, -0.5], 500.0),
    ]
    return PlanarStructure(segments, members, ["node"])


def moved(body, point, freedoms):
    """Where a point of a body is after finite rotations and shifts."""

    def turn(angle, at, about):
        c, s = np.cos(angle), np.sin(angle)
        return about + np.array([[c, -s], [s, c]]) @ (at - about)

    if body == "ground":
        return np.asarray(point)
    if body == "node":
        return np.asarray(point) + freedoms[2:]
    if body == "upper":
        return turn(freedoms[0], point, BASE)
    return turn(freedoms[1], point, ELBOW) + turn(freedoms[0], ELBOW, BASE) - ELBOW


def naive_lengths(structure, freedoms):
    ends = ((m.end_body, m.end, m.start_body, m.start) for m in structure.members)
    spans = [moved(*end[:2], freedoms) - moved(*end[2:], freedoms) for end in ends]
    return np.linalg.norm(spans, axis=1)


def test_balance_is_minus_the_derivative_of_the_lengths():
    structure = arm()
    slopes = differences(lambda freedoms: naive_lengths(structure, freedoms), np.zeros(4))
    assert_allclose(structure.balance, -slopes.T, rtol=0.0, atol=1e-9)
    assert not structure.two_sided.any()
    assert_allclose(structure.stiffness, [100.0, 200.0, 300.0, 400.0, 500.0], rtol=0.0)


def test_reactions_balance_every_segment():
    structure, weight = arm(), np.array([3.0, -20.0])
    tension = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    upper, lower = structure.joint_reactions(tension, [("lower", weight)])
    first, second, third, fourth, _ = (
        f * member.pull for f, member in zip(tension, structure.members, strict=True)
    )
    # At the end of a member the pull is the opposite of that at its start.
    assert_allclose(lower + weight - second - third + fourth, 0.0, rtol=0.0, atol=1e-13)
    assert_allclose(upper - lower - first + second, 0.0, rtol=0.0, atol=1e-13)
