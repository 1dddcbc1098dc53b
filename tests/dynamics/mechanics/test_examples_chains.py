"""Examples of chains: their numbers against MuJoCo and balances of forces."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from mujoco_chains import at_row, check_reactions, needed_forces
from numpy.testing import assert_allclose
from scipy.integrate import cumulative_simpson
from some_slow import first_of

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "mechanics"
G = 9.80665


def load(name: str) -> dict:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


@pytest.mark.slow
def test_limb_in_orthosis():
    example = load("limb_in_orthosis")
    found, results = example["simulate"](), example["main"]()
    assembly = example["assembly"]()
    for row in (30, 55, 80):
        tree, needed = needed_forces(assembly, at_row(found, row))
        torques = [needed[tree.at(name)] for name in assembly.columns[:2]]
        assert_allclose(found.torques[row, :2], torques, rtol=1e-9, atol=1e-9)
    assert_allclose(results["hip torque"], np.abs(found.torques[:, 0]).max(), rtol=1e-12)
    assert_allclose(results["knee torque"], np.abs(found.torques[:, 1]).max(), rtol=1e-12)
    # Leg and orthosis hang at the hip: force = rate of momentum less weight.
    rate = np.gradient(found.momentum, found.time, axis=0, edge_order=2)
    hip = np.linalg.norm(np.add(rate, [0.0, 13.3 * G]), axis=1)
    assert_allclose(results["force in the leg"], hip[20:].max(), rtol=2e-3)
    # The cuffs alone carry the orthosis, whose weight is 17.7 N.
    cuffs = found.link_forces.sum(axis=1)
    assert_allclose(cuffs[:, 1].mean(), 1.8 * G, rtol=0.1)
    assert 0.0 < results["force in the orthosis"] < results["force of a cuff"] * 4.0
    assert_allclose(np.abs(found.base_forces[:, 1]).max(), 0.0, atol=1e-9)


@pytest.mark.slow
def test_two_legs_on_a_pelvis():
    example = load("two_legs_on_a_pelvis")
    results = example["main"]()
    (found, alone), assembly = example["simulate"](), example["walker"]()
    for row in (10, 30, 50):
        tree, needed = needed_forces(assembly, at_row(found, row))
        torques = [needed[tree.at(name)] for name in assembly.columns]
        assert_allclose(found.torques[row], torques, rtol=1e-9, atol=1e-9)
        check_reactions(tree, at_row(found, row))
    assert_allclose(results["ankle"], np.abs(found.torques[:, 0]).max(), rtol=1e-12)
    # The swing leg turns the ankle by its force at the hip, which the stance leg carries.
    hip = found.joints[:, 3]
    pull = -found.base_forces[:, 1]
    moment = hip[:, 0] * pull[:, 1] - hip[:, 1] * pull[:, 0]
    assert_allclose(found.torques[:, 0], alone.torques[:, 0] - moment, rtol=0.0, atol=1e-8)
    assert results["ankle"] > 1.2 * results["bare"]
    assert max(results["momentum"], results["angular"]) < 1e-10


@pytest.mark.slow
def test_body_in_two_orthoses():
    example = load("three_chains")
    results, found, assembly = example["main"](), example["simulate"](), example["assembly"]()
    # Eight angles are given, the orthoses have eight angles and two bases.
    assert (results["segments"], results["coordinates"]) == (16, 12)
    for row in (5, 20, 35):
        tree, needed = needed_forces(assembly, at_row(found, row))
        torques = [needed[tree.at(name)] for name in assembly.columns]
        assert_allclose(found.torques[row], torques, rtol=1e-9, atol=1e-7)
        check_reactions(tree, at_row(found, row))
    for name, column in example["JOINTS"].items():
        largest = np.abs(found.torques[:, column]).max()
        assert_allclose(results[f"torque of the orthosis, {name}"], largest, rtol=1e-12)
    # The ground alone holds 75 kg of body and 8 kg of orthoses: its impulse is that of the motion.
    assert_allclose(found.base_forces[:, 3:], 0.0, atol=1e-9)
    force = found.base_forces[:, 0] - [0.0, 83.0 * G]
    impulse = cumulative_simpson(force, x=found.time, axis=0)
    assert_allclose(found.momentum[1:] - found.momentum[0], impulse, rtol=0.0, atol=0.05)
    forces = np.linalg.norm(found.joint_forces, axis=-1)
    assert_allclose(results["force in the body"], forces[:, :8].max(), rtol=1e-12)
    assert_allclose(results["force in the orthoses"], forces[:, 8:].max(), rtol=1e-12)
    # What the drives take over is missing at the joints of the body.
    assert results["torque left to the legs"] < 0.3 * results["torque of the legs alone"]


@pytest.mark.parametrize(
    "name", first_of(["limb_in_orthosis", "two_legs_on_a_pelvis", "three_chains"])
)
def test_examples_return_finite_numbers(name, capsys):
    results = load(name)["main"]()
    assert np.isfinite(list(results.values())).all()
    assert len(capsys.readouterr().out.splitlines()) >= 2
