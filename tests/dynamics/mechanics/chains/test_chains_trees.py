"""Trees, free bases, sliding joints and links of all kinds against MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest
from mujoco_chains import Tree, at_row, check_reactions, joints_of, motion, needed_forces
from numpy.testing import assert_allclose
from random_chains import random_assembly, random_state

from dynamics.mechanics.chains import (
    Assembly,
    Attachment,
    Chain,
    ChainSegment,
    FreeBase,
    Joint,
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
