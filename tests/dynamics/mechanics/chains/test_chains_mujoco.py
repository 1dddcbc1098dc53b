"""Two linked chains against MuJoCo, an independent engine: accelerations, motion and torques."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from mujoco_chains import Tree, at_row, check_reactions, joints_of, motion, needed_forces
from numpy.testing import assert_allclose

from dynamics.mechanics.chains import PrescribedMotion, simulate_chains

TIMES = np.linspace(0.0, 2.0, 41)


def mujoco_motion(assembly, angles, rates, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Return absolute angles and rates at TIMES by MuJoCo's own Runge-Kutta method."""
    tree = Tree(assembly, step=step)
    start = joints_of(tree, assembly.evaluate(0.0, angles, rates))
    found = motion(tree, *start, TIMES)
    return tuple(np.array([tree.absolute(row) for row in each]) for each in found)


@pytest.mark.parametrize("total", range(2, 17))
def test_accelerations(total, random_chains):
    assembly, angles, rates = random_chains(total)
    tree = Tree(assembly)
    tree.set(*joints_of(tree, assembly.evaluate(0.0, angles, 10.0 * rates)))
    expected = tree.absolute(tree.data.qacc)
    found = assembly.accelerations(0.0, angles, 10.0 * rates)
    assert_allclose(found, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize("total", range(2, 17))
def test_motion_over_two_seconds(total, random_chains):
    assembly, angles, rates = random_chains(total)
    expected, expected_rates = mujoco_motion(assembly, angles, rates, 2e-4)
    found = simulate_chains(assembly, TIMES, angles, rates)
    assert np.ptp(found.angles, axis=0).max() > 0.5
    assert_allclose(found.angles, expected, rtol=0.0, atol=1e-7)
    assert_allclose(found.rates, expected_rates, rtol=0.0, atol=1e-6)


@pytest.mark.slow
def test_undamped_motion_of_sixteen_segments(random_chains):
    chains = random_chains(16, damping=0.0)
    (coarse, _), (fine, _) = (mujoco_motion(*chains, step) for step in (2e-4, 1e-4))
    assert_allclose(coarse, fine, rtol=0.0, atol=1e-6)  # the oracle has converged
    found = simulate_chains(chains[0], TIMES, *chains[1:])
    assert_allclose(found.angles, fine, rtol=0.0, atol=1e-6)


def test_fixed_steps_of_the_same_method_give_the_same_motion(random_chains):
    assembly, angles, rates = random_chains(4)
    expected, _ = mujoco_motion(assembly, angles, rates, 1e-3)
    found = simulate_chains(assembly, TIMES[:11], angles, rates, method="RK4", step=1e-3)
    assert_allclose(found.angles, expected[:11], rtol=0.0, atol=1e-12)


def test_driving_torques_and_reactions(random_chains):
    drawn, angles, rates = random_chains(9)
    time = np.linspace(0.0, 1.0, 41)
    values = -1.4 + 0.5 * np.sin(np.add.outer(5.0 * time, np.arange(5.0)))
    limb = replace(drawn.chains[0], angles=PrescribedMotion(time, values))
    assembly = replace(drawn, chains=(limb, drawn.chains[1]))
    found = simulate_chains(assembly, np.linspace(0.0, 1.0, 6), angles[5:], rates[5:])
    for i in range(len(found.time)):
        at = at_row(found, i)
        tree, needed = needed_forces(assembly, at)
        torques = [needed[tree.at(name)] for name in assembly.columns]
        assert_allclose(at.torques, torques, rtol=0.0, atol=1e-10 * np.abs(needed).max())
        check_reactions(tree, at)
        # Link forces as those of MuJoCo's tendons and bushings: no others move the free chain.
        tree = Tree(assembly)
        tree.set(*joints_of(tree, at))
        with_links = tree.data.qfrc_passive.copy()
        bare = Tree(assembly, links=False)
        bare.set(*joints_of(bare, at))
        bare.push_members(at.link_forces, at.link_torques, at.closure_forces)
        pushed = bare.data.qfrc_passive.copy()
        for body in range(1, bare.model.nbody):
            wrench, place = bare.data.xfrc_applied[body], bare.data.xipos[body]
            mujoco.mj_applyFT(bare.model, bare.data, wrench[:3], wrench[3:], place, body, pushed)
        assert_allclose(pushed, with_links, rtol=0.0, atol=1e-9 * np.abs(with_links).max() + 1e-9)
    assert np.abs(found.torques[:, :5]).max() > 10.0
