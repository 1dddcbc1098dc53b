"""Chains: order of the integrator, energy, straps, drives, closures, against MuJoCo and by hand."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from mujoco_chains import Tree, at_row, check_reactions, joints_of, motion, needed_forces
from numpy.testing import assert_allclose
from random_chains import random_assembly, random_state

from dynamics.mechanics.chain_parts import (
    GROUND,
    Attachment,
    Chain,
    ChainSegment,
    FreeBase,
    Joint,
    PinClosure,
    PrescribedMotion,
    ViscoelasticLink,
)
from dynamics.mechanics.chains import Assembly, simulate_chains
from dynamics.simulator.equations import SimulationError

G = 9.80665
TIMES = np.linspace(0.0, 2.0, 41)
ROD = ChainSegment("rod", 0.8, 1.5, 1.5 * 0.8**2 / 12.0, [0.4, 0.0])


def test_a_strap_pulls_and_does_not_push():
    rod = ChainSegment("rod", 0.5, 2.0, 0.04, [0.25, 0.0])
    strap = ViscoelasticLink(
        "strap", GROUND, [0.0, 1.0], ("arm", "rod"), [0.5, 0.0], 100.0, 10.0, rest_length=0.6
    )
    assembly = Assembly((Chain("arm", (rod,)),), (strap,))
    at = partial(assembly.evaluate, 0.0)
    up, down = np.pi / 2.0, -np.pi / 2.0
    assert_allclose(at([up], [3.0]).link_forces, 0.0, rtol=0.0, atol=0.0)  # length 0.5: slack
    assert_allclose(at([down], [0.0]).link_forces, [[0.0, 90.0]], rtol=1e-12, atol=1e-12)
    # Taut, but shortening so fast that the damper would push.
    level = at([0.0], [30.0])
    assert np.hypot(0.5, 1.0) > 0.6
    assert_allclose(level.link_forces, 0.0, rtol=0.0, atol=0.0)
    assert_allclose(level.potential, 50.0 * (np.hypot(0.5, 1.0) - 0.6) ** 2, rtol=1e-12)
    assert at([0.0], [-3.0]).link_forces[0, 1] > 50.0
    assert_allclose(at([up], [0.0]).potential, 2.0 * G * 0.25, rtol=1e-12)


def test_energy_of_a_moving_double_pendulum_by_hand():
    segments = tuple(
        ChainSegment(f"{m}", rod, m, 0.0, [rod, 0.0]) for rod, m in ((0.5, 2.0), (0.3, 1.0))
    )
    at = Assembly((Chain("p", segments, [0.2, 1.0]),)).evaluate(
        0.0, [0.0, np.pi / 2.0], [2.0, -1.0]
    )
    # Velocities: 0.5*2 upwards, then 0.3*1 to the right besides.
    assert_allclose(at.kinetic, 0.5 * (2.0 * 1.0 + 1.0 * (1.0 + 0.09)), rtol=1e-14)
    assert_allclose(at.potential, G * (2.0 * 1.0 + 1.0 * 1.3), rtol=1e-14)


def test_a_drive_sees_its_own_chain_and_acts_on_its_joints():
    seen = []

    def drive(time, angles, rates):
        seen.append((time, *angles, *rates))
        return [3.0]

    rods = tuple(Chain(name, (ROD,)) for name in "ab")
    driven = Assembly((rods[0], replace(rods[1], drive=drive)))
    state = 0.5, [0.1, 0.2], [1.0, 2.0]
    gained = driven.accelerations(*state) - Assembly(rods).accelerations(*state)
    assert seen == [(0.5, 0.2, 2.0)]
    assert_allclose(gained, [0.0, 3.0 / (1.5 * 0.8**2 / 3.0)], rtol=1e-12, atol=1e-12)


TIME = np.linspace(0.0, 1.0, 11)


def test_a_quintic_is_exact_with_its_derivatives():
    polynomials = [np.polynomial.Polynomial([1.0, -2.0, 0.5, 3.0, -1.0, 2.0]), None]
    polynomials[1] = np.polynomial.Polynomial([0.3, 1.0])
    motion = PrescribedMotion(TIME, np.column_stack([each(TIME) for each in polynomials]))
    for time in (0.0, 0.137, 0.5, 1.0):
        for order, found in enumerate(motion.at(time)):
            expected = [each.deriv(order)(time) for each in polynomials]
            assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_the_acceleration_converges_at_order_four():
    errors = []
    for rows in (41, 81):
        time = np.linspace(0.0, 1.0, rows)
        motion = PrescribedMotion(time, np.sin(6.0 * time)[:, None])
        instants = np.linspace(0.3, 0.7, 101)
        found = np.array([motion.at(each)[2][0] for each in instants])
        errors.append(np.abs(found + 36.0 * np.sin(6.0 * instants)).max())
    assert_allclose(np.log2(errors[0] / errors[1]), 4.0, rtol=0.0, atol=0.2)
    assert errors[1] < 1e-4


CRANK = ChainSegment("crank", 0.2, 1.0, 0.01, [0.1, 0.0])
COUPLER = ChainSegment("coupler", 0.7, 2.0, 0.05, [0.3, 0.05])
ROCKER = ChainSegment("rocker", 0.5, 1.5, 0.04, [0.2, -0.03])
GROUND_LINK = 0.8


def four_bar(**options):
    chains = (
        Chain("left", (CRANK, COUPLER)),
        Chain("right", (ROCKER,), [GROUND_LINK, 0.0]),
    )
    pin = PinClosure("pin", ("left", "coupler"), [0.7, 0.0], ("right", "rocker"), [0.5, 0.0])
    return Assembly(chains, closures=(pin,), **options)


def bars_at(crank):
    """Angles of coupler and rocker by the intersection of two circles."""
    elbow, pivot = 0.2 * np.exp(1j * crank), complex(GROUND_LINK)
    way = pivot - elbow
    d = abs(way)
    along = (0.7**2 - 0.5**2 + d**2) / (2.0 * d)
    pin = elbow + way / d * (along + 1j * np.sqrt(0.7**2 - along**2))
    return np.angle([pin - elbow, pin - pivot])


def oracle_at(crank):
    """Effective inertia, potential energy, and angles' rates per rate of the crank."""
    angles = np.array([crank, *bars_at(crank)])
    unit = np.exp(1j * angles)
    # Rates from the loop 0.2 i u0 + 0.7 i u1 w1 = 0.5 i u2 w2.
    matrix = np.array([[(0.7 * unit[1]).real, -(0.5 * unit[2]).real],
                       [(0.7 * unit[1]).imag, -(0.5 * unit[2]).imag]])  # fmt: skip
    w = np.array([1.0, *np.linalg.solve(matrix, [-(0.2 * unit[0]).real, -(0.2 * unit[0]).imag])])
    centres = np.array([0.1 * unit[0], 0.2 * unit[0] + (0.3 + 0.05j) * unit[1],
                        GROUND_LINK + (0.2 - 0.03j) * unit[2]])  # fmt: skip
    speeds = np.array([0.1j * unit[0], 0.2j * unit[0] + 1j * (0.3 + 0.05j) * unit[1] * w[1],
                       1j * (0.2 - 0.03j) * unit[2] * w[2]])  # fmt: skip
    mass, inertia = np.array([1.0, 2.0, 1.5]), np.array([0.01, 0.05, 0.04])
    return mass @ np.abs(speeds) ** 2 + inertia @ w**2, G * mass @ centres.imag, w


def start_of_four_bar(crank, rate):
    return [crank, *bars_at(crank)], list(rate * oracle_at(crank)[2])


def test_a_four_bar_moves_as_its_one_coordinate():
    """The angle of the crank has the others, and the energy I(θ) θ'²/2 + V(θ) the rate."""
    found = simulate_chains(four_bar(), TIMES[:21], *start_of_four_bar(1.0, 6.0))
    crank, rate = found.position[:, 0], found.velocity[:, 0]
    assert np.ptp(crank) > 2.0
    bars = np.unwrap([bars_at(each) for each in crank], axis=0)
    assert_allclose(found.position[:, 1:], bars, rtol=0.0, atol=1e-8)
    inertia, height = np.array([oracle_at(each)[:2] for each in crank]).T
    energy = 0.5 * inertia * rate**2 + height
    assert_allclose(energy, energy[0], rtol=0.0, atol=1e-8)
    assert_allclose(found.energy, energy, rtol=0.0, atol=1e-8)


def pins_of(assembly, state, rates):
    """Return gaps of the pins, their rates and their Jacobian."""
    full = assembly.complete(0.0, state, rates)
    terms = assembly.equations(assembly.tree.at(*full[:2]), full)
    return terms.closures.rows()[:3]


def closed_state(seed):
    """Return a random tree in a state with two pins, to the ground and between two chains."""
    assembly = random_assembly(seed, prescribed=False)
    state, rates = random_state(assembly, seed)
    last = {each.name: (each.name, each.segments[-1].name) for each in assembly.chains}
    a, b, c = (assembly.index("", last[name]) for name in "abc")
    pose = assembly.tree.at(state, rates)
    wall, bridge = pose.points(np.array([a, c]), np.array([0.15, 0.1 + 0.1j])).position
    on_b = (bridge - pose.joints.position[b]) / pose.unit[b]
    pins = (
        PinClosure("wall", GROUND, [wall.real, wall.imag], last["a"], [0.15, 0.0]),
        PinClosure("bridge", last["c"], [0.1, 0.1], last["b"], [on_b.real, on_b.imag]),
    )
    assembly = replace(assembly, closures=pins)
    rows = pins_of(assembly, state, rates)[2]
    return assembly, state, rates - np.linalg.pinv(rows) @ (rows @ rates)


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 6, 7, 8])
def test_pinned_trees_accelerate_and_react_as_in_mujoco(seed):
    """With the forces of the pins MuJoCo needs no others, and the pins stay closed."""
    assembly, state, rates = closed_state(seed)
    assert max(np.abs(each).max() for each in pins_of(assembly, state, rates)[:2]) < 1e-12
    found = assembly.evaluate(0.0, state, rates)
    tree, needed = needed_forces(assembly, found)
    largest = np.abs(found.closure_forces).max()
    assert_allclose(needed, 0.0, rtol=0.0, atol=1e-9 * largest + 1e-9)
    check_reactions(tree, found, atol=1e-9 * largest + 1e-8)
    change, h = assembly.accelerations(0.0, state, rates), 2e-7
    opening = pins_of(assembly, state + h * rates, rates + h * change)[1]
    assert np.abs(opening).max() / h < 1e-5 * np.abs(change).max()


TABLE = np.linspace(-0.1, 2.1, 221)


def test_closures_that_repeat_each_other_are_refused():
    bar = four_bar()
    twice = replace(bar, closures=(bar.closures[0], replace(bar.closures[0], name="again")))
    start = start_of_four_bar(1.0, 0.0)
    with pytest.raises(SimulationError, match=r"closures: expected independent closures"):
        twice.evaluate(0.0, *start)


def test_joints_drive_the_closed_structure_as_prescribed_ones_need():
    """The torque found for a prescribed crank, as a drive, moves the free one alike."""
    joint = Joint(2.0, 0.1, 0.4)
    turning = PrescribedMotion(TABLE, 1.0 + 3.0 * np.sin(TABLE)[:, None])
    right, pin = four_bar().chains[1], four_bar().closures[0]
    pin = replace(pin, first=("left", "coupler"))
    motor = Chain("motor", (CRANK,), angles=turning, joints=(joint,))
    left = Chain("left", (COUPLER,), Attachment("motor", "crank", [0.2, 0.0]))
    given = Assembly((motor, left, right), closures=(pin,))
    angles, rates = start_of_four_bar(1.0, 3.0)
    found = given.evaluate(0.0, angles[1:], rates[1:])
    driven = replace(motor, angles=None, drive=lambda t, a, r: found.torques[:1])
    moved = Assembly((driven, left, right), closures=(pin,)).evaluate(0.0, angles, rates)
    assert abs(found.torques[0]) > 0.5
    assert_allclose(moved.acceleration, found.acceleration, rtol=1e-8, atol=1e-7)
    assert_allclose(moved.closure_forces, found.closure_forces, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_accelerations_of_free_trees(seed):
    assembly = random_assembly(seed, prescribed=False)
    found = assembly.evaluate(0.0, *random_state(assembly, seed))
    tree = Tree(assembly)
    tree.set(*joints_of(tree, found))
    expected = tree.unpack(tree.data.qacc)
    assert_allclose(found.acceleration, expected, rtol=0.0, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(20))
def test_torques_and_reactions_of_trees_free_and_prescribed(seed):
    """MuJoCo's inverse dynamics needs our torques at prescribed joints, and none at free ones."""
    assembly = random_assembly(seed, prescribed=True)
    time = 0.7
    state = random_state(assembly, seed)
    found = assembly.evaluate(time, *state)
    tree, needed = needed_forces(assembly, found)
    scale = np.abs(needed).max()
    torques = [needed[tree.at(name)] for name in assembly.columns]
    assert_allclose(found.torques, torques, rtol=0.0, atol=1e-10 * scale)
    check_reactions(tree, found)


def walker(base):
    """Two legs on one pelvis, with passive joints."""
    pelvis = ChainSegment("pelvis", 0.12, 12.0, 0.1, [0.08, 0.01])
    thigh = ChainSegment("thigh", 0.42, 8.0, 0.12, [0.18, 0.01])
    shank = ChainSegment("shank", 0.43, 3.5, 0.06, [0.19, -0.01])
    legs = [
        Chain(name, (thigh, shank), Attachment("trunk", "pelvis", [x, -0.05]),
              (Joint(20.0, 1.0, -1.5), Joint(10.0, 0.5, -0.2)))
        for name, x in (("left", 0.02), ("right", -0.02))
    ]  # fmt: skip
    return Assembly((Chain("trunk", (pelvis,), base, (Joint(),)), *legs))


def assert_same_motion(assembly, found, start, step=5e-4, atol=1e-9):
    """Compare angles, displacements and bases with MuJoCo's own RK4."""
    tree = Tree(assembly, step=step)
    first = assembly.evaluate(0.0, *start)
    positions, _ = motion(tree, *joints_of(tree, first), found.time)
    moved = np.array([tree.unpack(each) for each in positions - positions[0]])
    assert_allclose(found.position - found.position[0], moved, rtol=0.0, atol=atol)


def assert_same_reactions(assembly, found):
    """Compare torques, and forces and moments at all joints, at some instants."""
    for row in (0, 7, 23, 40):
        at = at_row(found, row)
        tree, needed = needed_forces(assembly, at)
        torques = [needed[tree.at(name)] for name in assembly.columns]
        assert_allclose(at.torques, torques, rtol=0.0, atol=1e-9)
        check_reactions(tree, at)
    assert np.abs(found.joint_forces).max() > 10.0


@pytest.mark.parametrize("base", [FreeBase(), [0.0, 1.0]], ids=["free", "fixed"])
def test_two_legs_on_one_pelvis_over_two_seconds(base):
    assembly = walker(base)
    at, rates = ([0.0, 1.0], [0.5, 2.0]) if isinstance(base, FreeBase) else ([], [])
    start = [0.1, -1.2, -1.5, -1.9, -2.2, *at], [1.0, 0.0, 2.0, -1.0, 0.5, *rates]
    found = simulate_chains(assembly, TIMES, *start)
    assert np.ptp(found.position, axis=0).min() > 0.1
    assert_same_motion(assembly, found, start)
    assert_same_reactions(assembly, found)
