"""Tension-only structures: the two-joint muscles of the source, least energy, infeasible loads."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize, nnls

from dynamics.mechanics.unilateral import (
    InfeasibleLoadError,
    Member,
    PinnedSegment,
    PlanarStructure,
    solve_structure,
)


def kolesnikov2004_muscles() -> PlanarStructure:
    """Thigh on (5, 10), shank on (5, 0); muscles 3, 4 and 5 meet in a free node."""
    node = (3.8, 2.5)
    return PlanarStructure(
        [PinnedSegment("thigh", (5.0, 10.0)), PinnedSegment("shank", (5.0, 0.0), "thigh")],
        [
            Member("ground", (6.5, 10.0), "thigh", (5.7, 4.0), 200.0),
            Member("thigh", (5.7, 1.8), "shank", (10.0, -1.3), 180.0),
            Member("ground", (3.0, 10.0), "node", node, 100.0),
            Member("ground", (6.0, 10.0), "node", node, 100.0),
            Member("node", node, "shank", (3.5, 0.0), 400.0),
        ],
        ["node"],
    )


def test_kolesnikov2004_two_joint_muscles():
    """The moment of 10 acts clockwise on the shank; stiffness is force per elongation.

    Both are inferred: of the readings tried they alone give the printed figures.

    The printed 6.728 does not fit the printed reactions of the same joint, whose resultant is
    (0.889² + 6.667²)^½ = 6.726, nor its moment of 10; all other figures fit in every digit.
    """
    muscles = kolesnikov2004_muscles()
    solution = solve_structure(muscles.balance, muscles.stiffness, [0.0, 10.0, 0.0, 0.0])
    assert_allclose(solution.forces[0], 6.728, rtol=0.0, atol=2.5e-3)
    assert_allclose(solution.forces[0], 10.0 / 1.5 * np.hypot(0.8, 6.0) / 6.0, rtol=1e-12)
    assert_allclose(solution.forces[1], 5.349, rtol=0.0, atol=5e-4)
    assert_array_equal(solution.forces[2:], 0.0)
    reactions = np.abs(muscles.joint_reactions(solution.forces))
    assert_allclose(reactions, [[0.889, 6.667], [4.339, 3.128]], rtol=0.0, atol=5e-4)
    assert_allclose(solution.displacement[:2], [-0.023, -0.039], rtol=0.0, atol=5e-4)
    # Hooke holds for the taut ones, the slack ones have not grown.
    elongations = -muscles.balance.T @ solution.displacement
    assert_allclose(solution.elongations, elongations, rtol=0.0, atol=1e-14)
    assert_allclose(solution.forces[:2], [200.0, 180.0] * elongations[:2], rtol=1e-9)
    assert (elongations[2:] <= 0.0).all()


def test_kolesnikov2004_muscles_bear_the_opposite_moment_through_the_node():
    muscles = kolesnikov2004_muscles()
    load = [0.0, -10.0, 0.0, 0.0]
    solution = solve_structure(muscles.balance, muscles.stiffness, load)
    assert_array_equal(solution.taut, [False, True, True, True, True])
    assert_allclose(muscles.balance @ solution.forces, load, rtol=0.0, atol=1e-12)
    # Without the muscle at the front of the knee nothing holds the thigh back.
    keep = [0, 2, 3, 4]
    with pytest.raises(InfeasibleLoadError, match=r"found \[0.0, -10.0, 0.0, 0.0\]; "):
        solve_structure(muscles.balance[:, keep], muscles.stiffness[keep], load)


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


def test_least_energy_against_a_general_optimiser():
    rng = np.random.default_rng(2)
    for _ in range(5):
        balance, load = rng.normal(size=(3, 8)), np.zeros(3)
        load = balance @ rng.uniform(0.0, 1.0, 8)
        stiffness = rng.uniform(0.5, 5.0, 8)
        found = minimize(
            lambda f, k=stiffness: (f @ (f / k) / 2.0, f / k),
            nnls(balance, load)[0],
            jac=True,
            method="SLSQP",
            bounds=[(0.0, None)] * 8,
            constraints={"type": "eq", "fun": lambda f, b=balance, q=load: b @ f - q},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        forces = solve_structure(balance, stiffness, load).forces
        assert_allclose(forces, found.x, rtol=0.0, atol=1e-5)
        assert forces @ (forces / stiffness) / 2.0 <= found.fun * (1.0 + 1e-9)


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


def test_stiffness_of_all_and_size_of_the_load():
    balance, stiffness, load = random_structure(np.random.default_rng(4))
    plain = solve_structure(balance, stiffness, load)
    assert_allclose(
        solve_structure(balance, 1e3 * stiffness, load).forces, plain.forces, rtol=1e-9, atol=1e-9
    )
    assert_allclose(
        solve_structure(balance, stiffness, 1e3 * load).forces,
        1e3 * plain.forces,
        rtol=1e-9,
        atol=1e-6,
    )


def test_no_load_and_a_freedom_that_nothing_holds():
    balance = np.array([[1.0, -1.0], [0.0, 0.0]])
    rest = solve_structure(balance, [1.0, 1.0], [0.0, 0.0])
    assert_array_equal(rest.forces, 0.0)
    assert_array_equal(rest.displacement, 0.0)
    assert_allclose(solve_structure(balance, [1.0, 1.0], [2.0, 0.0]).forces, [2.0, 0.0], rtol=1e-12)
    with pytest.raises(InfeasibleLoadError, match=r"; \[0.0, 3.0\] remains"):
        solve_structure(balance, [1.0, 1.0], [2.0, 3.0])


def test_a_load_on_an_edge_of_what_is_feasible():
    rng = np.random.default_rng(5)
    for _ in range(200):
        balance = np.abs(rng.normal(size=(3, 5)))
        load = 7.0 * balance[:, 0]
        assert_allclose(
            balance @ solve_structure(balance, np.ones(5), load).forces, load, rtol=1e-9, atol=1e-9
        )


def test_forces_are_continuous_in_the_load():
    balance, stiffness, _ = random_structure(np.random.default_rng(6))
    balance = np.hstack([balance, -balance])  # everything is feasible
    stiffness = np.hstack([stiffness, stiffness])
    angles = np.linspace(0.0, 2.0 * np.pi, 400)
    ends = np.random.default_rng(7).normal(size=(2, len(balance)))
    loads = np.cos(angles)[:, None] * ends[0] + np.sin(angles)[:, None] * ends[1]
    forces = np.array([solve_structure(balance, stiffness, load).forces for load in loads])
    jump = np.abs(np.diff(forces, axis=0)).max()
    assert jump < 0.05 * np.abs(forces).max()
