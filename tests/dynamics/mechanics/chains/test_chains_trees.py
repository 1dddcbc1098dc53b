"""Trees, free bases, sliding joints and links of all kinds against MuJoCo."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from mujoco_chains import Tree, at_row, check_reactions, joints_of, motion, needed_forces
from numpy.testing import assert_allclose
from random_chains import random_assembly, random_state
from scipy.integrate import solve_ivp
from some_slow import slow_rows

from dynamics.mechanics.chains import (
    GROUND,
    Assembly,
    Attachment,
    Chain,
    ChainSegment,
    FreeBase,
    Joint,
    PrescribedMotion,
    ViscoelasticLink,
    simulate_chains,
)

TIMES = np.linspace(0.0, 2.0, 41)


@pytest.mark.parametrize("seed", range(20))
def test_accelerations_of_free_trees(seed):
    assembly = random_assembly(seed, prescribed=False)
    found = assembly.evaluate(0.0, *random_state(assembly, seed))
    tree = Tree(assembly)
    tree.set(*joints_of(tree, found))
    expected = tree.absolute(tree.data.qacc)
    assert_allclose(found.accelerations, expected, rtol=0.0, atol=1e-10 * np.abs(expected).max())
    slides = [tree.data.qacc[tree.at(name)] for name in assembly.slide_names]
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


def walker(base) -> Assembly:
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


def start_of(assembly, found) -> tuple[np.ndarray, np.ndarray]:
    """Return the free coordinates and rates that a result without prescribed chains starts from."""
    pins = [name not in assembly.slide_names for name in assembly.columns]
    bases = [isinstance(chain.base, FreeBase) for chain in assembly.chains]
    return (
        assembly.free_coordinates(found.angles[0, pins], found.slides[0], found.bases[0, bases]),
        assembly.free_coordinates(
            found.rates[0, pins], found.slide_rates[0], found.base_rates[0, bases]
        ),
    )


def assert_same_motion(assembly, found, step: float = 5e-4, atol: float = 1e-9) -> None:
    """Compare angles, displacements and bases with MuJoCo's own RK4."""
    tree = Tree(assembly, step=step)
    first = assembly.evaluate(0.0, *start_of(assembly, found))
    positions, _ = motion(tree, *joints_of(tree, first), found.time)
    moved = positions - positions[0]
    angles = np.array([tree.absolute(each) for each in moved])
    assert_allclose(found.angles - found.angles[0], angles, rtol=0.0, atol=atol)
    for m, name in enumerate(assembly.slide_names):
        assert_allclose(found.slides[:, m], positions[:, tree.at(name)], rtol=0.0, atol=atol)
    for name in tree.moving:
        chain = [each.name for each in assembly.chains].index(name.split(".")[0])
        for axis in (0, 1):
            expected = positions[:, tree.at(f"{name} {'xy'[axis]}")]
            assert_allclose(found.bases[:, chain, axis], expected, rtol=0.0, atol=atol)


def assert_same_reactions(assembly, found) -> None:
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
    free = isinstance(base, FreeBase)
    start = {"bases": [[0.0, 1.0]], "base_rates": [[0.5, 2.0]]} if free else {}
    angles, rates = [0.1, -1.2, -1.5, -1.9, -2.2], [1.0, 0.0, 2.0, -1.0, 0.5]
    found = simulate_chains(assembly, TIMES, angles, rates, **start)
    assert np.ptp(found.angles, axis=0).min() > 0.1
    assert_same_motion(assembly, found)
    assert_same_reactions(assembly, found)


@pytest.mark.slow
def test_an_orthosis_that_hangs_in_four_cuffs_over_two_seconds():
    """A leg swings; its orthosis has a free base, nothing but the cuffs holds it."""
    leg = walker([0.0, 1.0]).chains[1]
    leg = replace(leg, base=[0.0, 1.0])
    bars = tuple(ChainSegment(name, 0.4, 0.8, 0.01, [0.2, 0.01]) for name in ("upper", "lower"))
    orthosis = Chain("orthosis", bars, FreeBase(), (Joint(), Joint(2.0, 0.1)))
    cuffs = tuple(
        ViscoelasticLink(f"cuff {a} {x}", ("left", a), [x, 0.0], ("orthosis", b), [x, 0.0], 2e3,
                         20.0, kind="bushing", rotational_stiffness=1.0, rotational_damping=0.1)
        for a, b in (("thigh", "upper"), ("shank", "lower")) for x in (0.1, 0.3)
    )  # fmt: skip
    assembly = Assembly((leg, orthosis), cuffs)
    start = {"bases": [[0.0, 1.01]], "base_rates": [[0.0, 0.0]]}
    found = simulate_chains(assembly, TIMES, [-0.9, -1.4, -0.9, -1.4], np.zeros(4), **start)
    assert_allclose(found.base_forces[:, 1], 0.0, rtol=0.0, atol=1e-8)
    assert np.abs(found.link_forces).max() > 5.0
    assert_same_motion(assembly, found)
    assert_same_reactions(assembly, found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "times"), [(2, TIMES[:11]), *slow_rows((seed, TIMES) for seed in (2, 5))]
)
def test_random_trees_over_up_to_two_seconds(seed, times):
    assembly = random_assembly(seed, prescribed=False)
    # The strap is left out: where it slackens, MuJoCo's fixed steps lose their order.
    assembly = replace(assembly, links=tuple(each for each in assembly.links if not each.pull_only))
    state, rates = random_state(assembly, seed)
    sliding = np.array([name in assembly.slide_names for name in assembly.coordinate_names[:-2]])
    found = simulate_chains(
        assembly, times, state[:-2][~sliding], rates[:-2][~sliding], rtol=1e-10,
        slides=state[:-2][sliding], slide_rates=rates[:-2][sliding],
        bases=[state[-2:]], base_rates=[rates[-2:]],
    )  # fmt: skip
    assert_same_motion(assembly, found, step=2.5e-4, atol=1e-7)


def partly_prescribed_motion(tree, table, joints, positions, rates, times) -> np.ndarray:
    """Positions of MuJoCo's joints: some follow a table, the others MuJoCo's M, bias and passives.

    The angles of the joints are the differences of the columns of the table.
    """
    rows = [tree.at(name) for name in joints]
    free = np.setdiff1d(np.arange(tree.model.nv), rows)

    def complete(time: float, state: np.ndarray) -> np.ndarray:
        full = np.zeros((3, tree.model.nv))
        full[:, rows] = [np.diff(each, prepend=0.0) for each in table.at(time)]
        full[:2, free] = state.reshape(2, -1)
        return full

    def derivative(time: float, state: np.ndarray) -> np.ndarray:
        at, speed, known = complete(time, state)
        tree.set(at, speed)
        mass = np.zeros((tree.model.nv, tree.model.nv))
        for row, unit in zip(mass, np.eye(tree.model.nv), strict=True):
            mujoco.mj_mulM(tree.model, tree.data, row, unit)
        force = tree.data.qfrc_passive - tree.data.qfrc_bias - mass @ known
        solved = np.linalg.solve(mass[np.ix_(free, free)], force[free])
        return np.concatenate([speed[free], solved])

    start = np.concatenate([positions[free], rates[free]])
    found = solve_ivp(derivative, (times[0], times[-1]), start, "DOP853", times, rtol=1e-10,
                      atol=1e-11)  # fmt: skip
    return np.array([complete(t, y)[0] for t, y in zip(times, found.y.T, strict=True)])


@pytest.mark.slow
def test_a_floating_body_with_one_leg_prescribed_over_two_seconds():
    """The left leg follows a table, measured from the free pelvis; the right leg hangs; a mount."""
    drawn = walker(FreeBase())
    trunk, left, right = drawn.chains
    time = np.linspace(0.0, 2.0, 101)
    waves = [-1.4, -1.8] + 0.5 * np.sin(np.add.outer(5.0 * time, [0.0, 0.7]))
    table = PrescribedMotion(time, waves)
    left = replace(left, base=replace(left.base, relative=True), angles=table)
    mount = ViscoelasticLink(
        "mount", GROUND, [0.0, 1.1], ("trunk", "pelvis"), [0.1, 0.0], 2e3, 50.0, kind="bushing",
        rotational_stiffness=30.0, rest_angle=0.2,
    )  # fmt: skip
    assembly = Assembly((trunk, left, right), (mount,))
    found = simulate_chains(
        assembly, TIMES, [0.1, -1.5, -1.9], [1.0, 2.0, -1.0], bases=[[0.0, 1.0]],
        base_rates=[[0.3, 0.0]],
    )  # fmt: skip
    tree = Tree(assembly)
    start = joints_of(tree, at_row(found, 0))
    joints = ("left.thigh", "left.shank")
    expected = partly_prescribed_motion(tree, table, joints, *start, TIMES)
    angles = np.array([tree.absolute(each) for each in expected])
    assert_allclose(found.angles, angles, rtol=0.0, atol=1e-8)
    places = [expected[:, tree.at(f"trunk.pelvis {axis}")] for axis in "xy"]
    assert_allclose(found.bases[:, 0].T, places, rtol=0.0, atol=1e-8)
    assert_same_reactions(assembly, found)
