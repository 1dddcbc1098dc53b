"""Two legs on one hip: trees of segments against chains, energy, momentum, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from differences import differences
from numpy.testing import assert_allclose

from dynamics.mechanics.ground import (
    ContactPoint,
    Leg,
    PenaltyGround,
    newton_impact,
    simulate_rigid_strike,
    simulate_strike,
    standing_start,
    striking_leg,
    striking_legs,
)
from dynamics.mechanics.ground.contact import contact_arms
from dynamics.mechanics.segments import Segment
from foundation.base.errors import InputError

RNG = np.random.default_rng(7)
KNEES = {"joint_stiffness": [0.0, 500.0], "joint_damping": [0.0, 12.0]}
REST = np.radians([[0.0, -16.0], [0.0, -7.0]])
ANGLES = np.radians([-10.0, -32.0, 27.0, 20.0])
RATES = [1.2, -0.2, -1.5, -1.0, -1.0, -1.2]


def start() -> tuple:
    legs, points = striking_legs(hip_mass=0.0, joint_rest=REST, **KNEES)
    state = standing_start(legs, points, PenaltyGround(), [0.3, 0.9, *ANGLES], RATES, "stance ball")
    return legs, points, *state


def rerooted(legs: Leg, points: tuple) -> tuple[Leg, list[ContactPoint]]:
    """The same two legs as one chain from the distal end of the stance shank."""
    turned = {
        name: Segment(
            each.mass,
            -np.asarray(each.end),
            np.asarray(each.centre_of_mass) - each.end,
            each.inertia,
        )
        for name, each in legs.segments.items()
        if name.startswith("stance")
    }
    order = ["stance shank", "stance thigh", "swing thigh", "swing shank"]
    chain = Leg(
        {name: turned.get(name, legs.segments[name]) for name in order},
        joint_stiffness=[0.0, 500.0, 0.0, 500.0],
        joint_damping=[0.0, 12.0, 0.0, 12.0],
        joint_rest=[0.0, -REST[0, 1], 0.0, REST[1, 1]],
    )
    moved = [
        ContactPoint(p.name, p.segment, np.asarray(p.position) - legs.segments[p.segment].end)
        if p.segment in turned
        else p
        for p in points
    ]
    return chain, moved


@pytest.mark.slow
def test_a_strike_is_that_of_the_same_segments_as_one_chain():
    legs, points, q, v = start()
    chain, moved = rerooted(legs, points)
    ankle = legs.arms([1], [legs.segments["stance shank"].end])
    order = [0, 1, 3, 2, 4, 5]
    q_chain, v_chain = q[order], v[order]
    q_chain[:2] = legs.positions(q, ankle)[0]
    v_chain[:2] = legs.jacobian(q, ankle)[0] @ v
    assert_allclose(legs.kinetic_energy(q, v), chain.kinetic_energy(q_chain, v_chain), rtol=1e-13)
    tree = simulate_strike(legs, points, PenaltyGround(), q, v, 0.12, samples=121)
    other = simulate_strike(chain, moved, PenaltyGround(), q_chain, v_chain, 0.12, samples=121)
    assert {each.point for each in tree.changes} >= {"stance ball", "swing heel"}
    assert_allclose(tree.position[:, [3, 2, 4, 5]], other.position[:, 2:], rtol=0.0, atol=1e-6)
    assert_allclose(tree.forces, other.forces, rtol=0.0, atol=1e-2)
    assert_allclose(tree.energy, other.energy, rtol=0.0, atol=1e-5)


def test_pinned_legs_do_not_know_of_each_other():
    anchor = [0.1, 0.95]
    springs = {"joint_stiffness": [40.0, 30.0], "joint_damping": [1.0, 2.0]}
    rest = [[0.1, -0.2], [0.3, -0.1]]
    both, points = striking_legs(anchor=anchor, joint_rest=rest, **springs)
    assert both.hip_mass == 0.0
    q, v = RNG.normal(0.0, 0.5, 4), RNG.normal(0.0, 2.0, 4)
    mass, bias = both.equations(q, v)
    places = both.positions(q, contact_arms(both, points))
    for k in range(2):
        part = slice(2 * k, 2 * k + 2)
        leg, own = striking_leg(anchor=anchor, joint_rest=rest[k], **springs)
        m, h = leg.equations(q[part], v[part])
        assert_allclose(mass[part, part], m, rtol=1e-13)
        assert_allclose(bias[part], h, rtol=1e-13)
        mine = leg.positions(q[part], contact_arms(leg, own))
        assert_allclose(places[part], mine, rtol=1e-13)
    assert not mass[:2, 2:].any()


@pytest.mark.parametrize("ankle", ["locked", "hinged"])
def test_lagrange(ankle):
    """h = d(M v)/dt - dT/dq + dV/dq + damping, by central differences of M, T and V."""
    n = 2 if ankle == "locked" else 3
    laws = {"joint_stiffness": np.full(n, 40.0), "joint_rest": np.full((2, n), 0.1)}
    legs, _ = striking_legs(ankle=ankle, joint_damping=np.full(n, 2.0), **laws)
    q, v = RNG.normal(0.0, 0.6, legs.freedoms), RNG.normal(0.0, 2.0, legs.freedoms)
    turning = differences(lambda t: legs.mass_matrix(q + t * v), [0.0])[..., 0]
    kinetic = differences(lambda at: legs.kinetic_energy(at, v), q)
    potential = differences(legs.potential_energy, q)
    damping = np.zeros(legs.freedoms)
    for first in (2, 2 + n):
        joints = 2.0 * np.diff(v[first : first + n], prepend=0.0)
        damping[first : first + n] = joints - np.append(joints[1:], 0.0)
    mass, bias = legs.equations(q, v)
    assert_allclose(mass, legs.mass_matrix(q), rtol=1e-15, atol=1e-15)
    assert_allclose(bias, turning @ v - kinetic + potential + damping, rtol=1e-6, atol=1e-5)
    assert_allclose(legs.joint_dissipation(v), v @ damping, rtol=1e-12, atol=0.0)


@pytest.mark.slow
def test_energy_and_momentum_of_lasting_contact_and_strike():
    legs, points = striking_legs(joint_rest=REST, **KNEES)
    assert_allclose(legs.mass, 75.0, rtol=1e-12)
    ground = PenaltyGround()
    q, v = standing_start(legs, points, ground, [0.0, 0.9, *ANGLES], RATES, "stance ball")
    result = simulate_strike(legs, points, ground, q, v, 0.15, samples=3001)
    assert np.diff(result.energy).max() <= 1e-8
    assert_allclose(result.energy + result.loss, result.energy[0], rtol=0.0, atol=1e-6)
    strike = next(each.time for each in result.changes if each.point == "swing heel")
    assert result.loaded("stance ball")[result.time < strike].all()
    assert (result.loaded("stance ball") & result.loaded("swing heel")).sum() > 100
    centres = legs.arms(range(4), [each.centre_of_mass for each in legs.segments.values()])
    masses = np.array([each.mass for each in legs.segments.values()])
    momentum = np.array(
        [
            masses @ (legs.jacobian(x, centres) @ u) + legs.hip_mass * u[:2]
            for x, u in zip(result.position, result.velocity, strict=True)
        ]
    )
    force = result.reaction - [0.0, result.weight]
    impulse = np.trapezoid(force, result.time, axis=0)
    assert_allclose(momentum[-1] - momentum[0], impulse, rtol=0.0, atol=0.05)


def test_standing_start_bears_the_weight_at_rest():
    legs, points = striking_legs(ankle="hinged", joint_stiffness=[60.0, 400.0, 400.0])
    ground = PenaltyGround(compliance=2e-5)
    wanted = [0.0, 0.9, *np.radians([-8.0, -22.0, 0.6, 25.0, 20.0, 20.0])]
    rates = RNG.normal(0.0, 1.0, 8)
    standing = ["stance heel", "stance ball"]
    q, v = standing_start(legs, points, ground, wanted, rates, standing)
    arms = contact_arms(legs, points)
    rows = legs.jacobian(q, arms)[:2].reshape(4, 8)
    assert_allclose(rows @ v, 0.0, rtol=0.0, atol=1e-12)
    height = legs.positions(q, arms)[:, 1]
    assert_allclose(ground.normal_force(height[:2], np.zeros(2)).sum(), legs.weight, rtol=1e-9)
    # The change of the rates comes from forces at the points alone, and takes energy.
    change = legs.mass_matrix(q) @ (v - rates)
    assert_allclose(rows.T @ np.linalg.lstsq(rows.T, change)[0], change, rtol=0.0, atol=1e-9)
    assert legs.kinetic_energy(q, v) < legs.kinetic_energy(q, rates)
    assert_allclose(q[2:], wanted[2:], rtol=0.0, atol=0.0)


def test_one_point_stops_as_in_a_plastic_impact_that_sticks():
    legs, points, q, _ = start()
    free = np.array([1.2, -0.9, -1.5, -1.0, -1.0, -1.2])
    _, v = standing_start(legs, points, PenaltyGround(), q, free, "stance ball")
    struck = newton_impact(legs, points[1:2], q, free, restitution=0.0, friction=1e6)
    assert struck.before[0, 1] < 0.0
    assert_allclose(struck.velocity, v, rtol=0.0, atol=1e-10)


def test_rigid_model_takes_two_legs():
    legs, points, q, v = start()
    q[1] += 0.01
    found = simulate_rigid_strike(legs, points, q, v, 0.1, restitution=0.0, friction=0.8, steps=400)
    assert found.loaded("stance ball").any()
    assert found.gap.min() > -2e-3


def test_a_trunk_is_a_branch_of_its_own():
    """A third branch on the hip; the kinetic energy is that of the moving masses."""
    legs, _ = striking_legs(hip_mass=0.0)
    trunk = Segment(50.0, [0.0, 0.5], [0.0, 0.3], 2.0)
    whole = Leg(legs.segments | {"trunk": trunk}, parents={**legs.parents, "trunk": None})
    q, v = RNG.normal(0.0, 0.5, 7), RNG.normal(0.0, 1.0, 7)
    speed = v[:2] + 0.3 * v[6] * np.array([-np.cos(q[6]), -np.sin(q[6])])
    own = 0.5 * 50.0 * speed @ speed + 0.5 * 2.0 * v[6] ** 2
    assert_allclose(whole.kinetic_energy(q, v), legs.kinetic_energy(q[:6], v[:6]) + own, rtol=1e-12)


ONE = Segment(1.0, [0.0, -0.4], [0.0, -0.2], 0.01)


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ({"a": None}, r"parents: expected one for each of a, b, found a"),
        ({"a": "b", "b": None}, r"expected a segment before a or None .* found 'b'"),
        ({"a": None, "b": "b"}, r"expected a segment before b"),
        ({"a": None, "b": "c"}, r"expected a segment before b .* found 'c'"),
    ],
)
def test_parents_are_checked(parents, message):
    with pytest.raises(InputError, match=message):
        Leg({"a": ONE, "b": ONE}, parents=parents)


def test_bad_arguments_of_two_legs_are_named():
    with pytest.raises(InputError, match=r"joint_rest: expected shape \(2, 2\)"):
        striking_legs(joint_rest=[0.0, 0.0, 0.0])
    with pytest.raises(InputError, match="ankle: expected one of"):
        striking_legs(ankle="free")
    legs, points = striking_legs()
    state = [0.0, 0.9, *ANGLES], RATES
    with pytest.raises(InputError, match="standing: expected one of"):
        standing_start(legs, points, PenaltyGround(), *state, "stance toe")
    with pytest.raises(
        InputError,
        match=r"expected stance ball above the ground, found stance ball at a height of -",
    ):
        standing_start(legs, points, PenaltyGround(), *state, "swing heel")
    pinned, points = striking_legs(anchor=[0.0, 1.0])
    with pytest.raises(InputError, match="expected a free hip"):
        standing_start(pinned, points, PenaltyGround(), ANGLES, np.zeros(4), "stance ball")
