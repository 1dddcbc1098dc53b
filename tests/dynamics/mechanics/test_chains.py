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
from foundation.base.errors import InputError

G = 9.80665
TIMES = np.linspace(0.0, 2.0, 41)
ROD = ChainSegment("rod", 0.8, 1.5, 1.5 * 0.8**2 / 12.0, [0.4, 0.0])


def test_rk4_is_of_order_four():
    rods, joints = (ROD, replace(ROD, name="next")), (Joint(5.0, 0.5), Joint(3.0, 0.3))
    assembly = Assembly((Chain("pair", rods, joints=joints),))
    angles, rates = [-1.4, -1.2], [0.5, -0.7]
    times = [0.0, 0.3]
    exact = simulate_chains(assembly, times, angles, rates, rtol=1e-12, atol=1e-13).angles[-1]
    errors = []
    for step in (1e-2, 5e-3, 2.5e-3):
        found = simulate_chains(assembly, times, angles, rates, method="RK4", step=step).angles[-1]
        errors.append(np.abs(found - exact).max())
    assert_allclose(-np.diff(np.log2(errors)), 4.0, rtol=0.0, atol=0.15)


def test_steps_too_long_for_stability_are_an_error():
    stiff = ViscoelasticLink("stiff", GROUND, [0.5, 0.5], ("a", "rod"), [0.5, 0.0], 1e5, 2e4)
    assembly = Assembly((Chain("a", (ROD,)),), (stiff,))
    with pytest.raises(SimulationError, match=r"RK4 failed before .* beyond all limits"):
        simulate_chains(assembly, TIMES, [-1.4], [0.5], method="RK4", step=0.05)


def test_a_strap_pulls_and_does_not_push():
    rod = ChainSegment("rod", 0.5, 2.0, 0.04, [0.25, 0.0])
    strap = ViscoelasticLink(
        "strap", GROUND, [0.0, 1.0], ("arm", "rod"), [0.5, 0.0], 100.0, 10.0, rest_length=0.6,
        pull_only=True,
    )  # fmt: skip
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


def test_the_velocity_of_a_base_counts_in_dampers_and_kinetic_energy():
    time = np.linspace(0.0, 1.0, 6)
    rod = ChainSegment("rod", 0.5, 2.0, 0.1, [0.25, 0.0])
    still = Chain("still", (rod,))
    moving = Chain("moving", (rod,), base=PrescribedMotion(time, np.outer(time, [3.0, 4.0])))
    ends = ("still", "rod"), [0.1, 0.0], ("moving", "rod"), [0.1, 0.0]
    cuff = ViscoelasticLink("cuff", *ends, 0.0, 10.0, kind="bushing")
    at = Assembly((still, moving), (cuff,)).evaluate(0.5, [0.2, 0.2], [0.0, 0.0])
    assert_allclose(at.link_forces, [[-30.0, -40.0]], rtol=1e-9)
    assert_allclose(at.kinetic, 0.5 * 2.0 * 25.0, rtol=1e-9)


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


def test_a_line_that_loses_its_direction_is_named():
    rods = tuple(Chain(name, (ROD,)) for name in "ab")
    line = ViscoelasticLink("cuff", ("a", "rod"), [0.3, 0.0], ("b", "rod"), [0.3, 0.0], 1e3)
    with pytest.raises(SimulationError, match=r"link cuff: the points of a line coincide"):
        Assembly(rods, (line,)).accelerations(0.2, [0.4, 0.4], [0.0, 0.0])


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
    crank, rate = found.angles[:, 0], found.rates[:, 0]
    assert np.ptp(crank) > 2.0
    bars = np.unwrap([bars_at(each) for each in crank], axis=0)
    assert_allclose(found.angles[:, 1:], bars, rtol=0.0, atol=1e-8)
    inertia, height = np.array([oracle_at(each)[:2] for each in crank]).T
    energy = 0.5 * inertia * rate**2 + height
    assert_allclose(energy, energy[0], rtol=0.0, atol=1e-8)
    assert_allclose(found.energy, energy, rtol=0.0, atol=1e-8)
    assert found.drift.max() < 1e-9


@pytest.mark.parametrize("method", ["RK4", "Radau"])
def test_other_integrators_find_the_same_four_bar(method):
    start = start_of_four_bar(1.0, 6.0)
    times = TIMES[:6]
    expected = simulate_chains(four_bar(), times, *start).angles
    found = simulate_chains(four_bar(), times, *start, method=method, rtol=1e-7, atol=1e-9)
    assert_allclose(found.angles, expected, rtol=0.0, atol=1e-5)


def pinned(seed):
    """A random tree with two pins: one to the ground, one between two of its chains."""
    assembly = random_assembly(seed, prescribed=False)
    segments = {each.name: each.segments[-1].name for each in assembly.chains}
    pins = (
        PinClosure("wall", GROUND, [0.3, 0.4], ("a", segments["a"]), [0.15, 0.0]),
        PinClosure("bridge", ("c", segments["c"]), [0.1, 0.1], ("b", segments["b"]), [0.2, 0.0]),
    )
    links = tuple(each for each in assembly.links if not each.pull_only)
    return replace(assembly, links=links, closures=pins)


SEEDS = [s for s in range(30) if len(pinned(s).coordinate_names) > 7][:8]


def closed_state(seed):
    assembly = pinned(seed)
    state, rates = random_state(assembly, seed)
    return assembly, *assembly.close(0.0, state, rates)


@pytest.mark.parametrize("seed", SEEDS)
def test_pinned_trees_accelerate_and_react_as_in_mujoco(seed):
    """With the forces of the pins MuJoCo needs no others, and the pins stay closed."""
    assembly, state, rates = closed_state(seed)
    assert max(assembly.gaps(0.0, state, rates)) < 1e-11
    found = assembly.evaluate(0.0, state, rates)
    tree, needed = needed_forces(assembly, found)
    largest = np.abs(found.closure_forces).max()
    assert_allclose(needed, 0.0, rtol=0.0, atol=1e-9 * largest + 1e-9)
    check_reactions(tree, found, atol=1e-9 * largest + 1e-8)
    change = assembly.accelerations(0.0, state, rates)
    h = 2e-7
    _, opening = assembly.gaps(0.0, state + h * rates, rates + h * change)
    assert opening / h < 1e-5 * np.abs(change).max()


TABLE = np.linspace(-0.1, 2.1, 221)


def test_the_nearest_closed_state_moves_heavy_segments_least():
    assembly = four_bar()
    angles, _ = start_of_four_bar(1.0, 0.0)
    shifted = np.add(angles, [0.02, -0.01, 0.01])
    closed, rates = assembly.close(0.0, shifted, [1.0, 0.0, 0.0])
    assert assembly.gaps(0.0, shifted, [1.0, 0.0, 0.0])[0] > 1e-3
    assert max(assembly.gaps(0.0, closed, rates)) < 1e-12
    # The change is along M⁻¹ Gᵀ: every motion that keeps the pin does no work on it.
    mass, _, _ = assembly.terms(0.0, closed, rates)
    allowed = oracle_at(closed[0])[2]
    assert_allclose(allowed @ mass @ (closed - shifted), 0.0, rtol=0.0, atol=1e-4)
    assert_allclose(allowed @ mass @ (rates - [1.0, 0.0, 0.0]), 0.0, rtol=0.0, atol=1e-12)


def test_a_wide_open_structure_is_closed():
    """From angles that are radians off, in steps that do not fling the bars around."""
    assembly = four_bar()
    closed, _ = assembly.close(0.0, [1.0, 1.5, 0.2], [0.0] * 3)
    assert max(assembly.gaps(0.0, closed, [0.0] * 3)) < 1e-12
    assert np.abs(closed - [1.0, 1.5, 0.2]).max() < np.pi


def test_an_open_start_is_refused_by_its_gap():
    angles, rates = start_of_four_bar(1.0, 0.0)
    with pytest.raises(InputError, match=r"open by at most 1e-06 m .* found 0.005 m and 0 m/s"):
        simulate_chains(four_bar(), [0.0, 1.0], [*angles[:2], angles[2] + 0.01], rates)
    with pytest.raises(InputError, match=r"found 0.005 m and 0 m/s: .* Assembly.close"):
        four_bar().evaluate(0.0, [*angles[:2], angles[2] + 0.01], rates)
    with pytest.raises(InputError, match=r"found .* m and 0.2 m/s: .* Assembly.close"):
        simulate_chains(four_bar(), [0.0, 1.0], angles, [1.0, 0.0, 0.0])


def test_closures_that_repeat_each_other_are_refused():
    bar = four_bar()
    twice = replace(bar, closures=(bar.closures[0], replace(bar.closures[0], name="again")))
    start = start_of_four_bar(1.0, 0.0)
    with pytest.raises(InputError, match=r"closures: expected independent closures"):
        simulate_chains(twice, [0.0, 1.0], *start)
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
    assert_allclose(moved.accelerations, found.accelerations, rtol=1e-8, atol=1e-7)
    assert_allclose(moved.closure_forces, found.closure_forces, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_accelerations_of_free_trees(seed):
    assembly = random_assembly(seed, prescribed=False)
    found = assembly.evaluate(0.0, *random_state(assembly, seed))
    tree = Tree(assembly)
    tree.set(*joints_of(tree, found))
    expected = tree.absolute(tree.data.qacc)
    assert_allclose(found.accelerations, expected, rtol=0.0, atol=1e-10 * np.abs(expected).max())
    slides = [tree.data.qacc[tree.at(assembly.columns[k])] for k in assembly.tree.slides]
    assert_allclose(found.slide_accelerations, slides, rtol=1e-9, atol=1e-8)


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
    for name, force in zip("ab", (np.zeros(2), None), strict=True):
        index = [c.name for c in assembly.chains].index(name)
        felt = [needed[tree.at(f"{name}.s0 {axis}")] for axis in "xy"]
        assert_allclose(found.base_forces[index], felt, rtol=0.0, atol=1e-10 * scale)
        if force is not None:
            assert_allclose(felt, force, rtol=0.0, atol=1e-9 * scale)
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
    moved = positions - positions[0]
    angles = np.array([tree.absolute(each) for each in moved])
    assert_allclose(found.angles - found.angles[0], angles, rtol=0.0, atol=atol)
    for m, name in enumerate(assembly.columns[k] for k in assembly.tree.slides):
        assert_allclose(found.slides[:, m], positions[:, tree.at(name)], rtol=0.0, atol=atol)
    for name in tree.moving:
        chain = [each.name for each in assembly.chains].index(name.split(".")[0])
        for axis in (0, 1):
            expected = positions[:, tree.at(f"{name} {'xy'[axis]}")]
            assert_allclose(found.bases[:, chain, axis], expected, rtol=0.0, atol=atol)


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
    assert np.ptp(found.angles, axis=0).min() > 0.1
    assert_same_motion(assembly, found, start)
    assert_same_reactions(assembly, found)
