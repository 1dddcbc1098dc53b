"""Runnable examples of unilateral systems against figures that were found otherwise."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import nnls

FOLDER = Path(__file__).parents[3] / "examples" / "mechanics"


def example(name: str):
    return runpy.run_path(str(FOLDER / f"{name}.py"))


@pytest.mark.parametrize(
    "name", ["two_joint_muscles", "leg_muscles", "oblique_impact", "two_bodies_at_wall"]
)
def test_first_line_says_how_to_run_it(name):
    first = (FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()[0]
    assert f"`python examples/mechanics/{name}.py`." in first


def test_two_joint_muscles(capsys):
    found = example("two_joint_muscles")["main"]()
    assert "[6.726 5.349 0.    0.    0.   ]" in capsys.readouterr().out
    # By hand: muscle 1 alone balances the hip, muscle 2 the knee.
    line = np.array([0.8, 6.0])
    assert_allclose(found["force 1"], 10.0 / 1.5 * np.hypot(*line) / line[1], rtol=1e-9)
    printed = {"force 2": 5.349, "hip": np.hypot(0.889, 6.667), "knee": np.hypot(4.339, 3.128)}
    for key, value in printed.items():
        assert_allclose(found[key], value, rtol=0.0, atol=7e-4)
    for number in (3, 4, 5):
        assert found[f"force {number}"] == 0.0
    assert_allclose(found["rotation of the thigh"], -0.023, rtol=0.0, atol=5e-4)
    assert_allclose(found["rotation of the shank"], -0.039, rtol=0.0, atol=5e-4)
    assert found["switched"] == 1


def test_contracting_two_joint_muscles_hold_each_other_in_balance():
    module = example("two_joint_muscles")
    found = module["main"]()
    forces = np.array([found[f"contracting {number}"] for number in range(1, 6)])
    muscles = module["structure"]()
    # Least Σ F²/(2 k) - F d without a load: B F = 0, as non-negative least squares.
    k = np.array([200.0, 180.0, 100.0, 100.0, 400.0]) * [0.5, 0.5, 1.0, 1.0, 1.0]
    d = np.array([0.025, 0.025, 0.02, 0.02, 0.02])
    root = np.sqrt(k)
    tall = np.vstack([np.eye(5), 1e5 * muscles.balance * root])
    expected = root * nnls(tall, np.concatenate([root * d, np.zeros(4)]))[0]
    assert_allclose(forces, expected, rtol=1e-4, atol=1e-4)
    assert forces.max() > 1.0


def test_leg_muscles_balance_the_whole_leg():
    module = example("leg_muscles")
    found = module["main"]()
    for calf in ("1", "0.2"):
        # All that acts on the leg from outside: ground, hip, muscles from the pelvis.
        total = np.array([found[f"hip x at {calf}"], found[f"hip y at {calf}"]])
        total += module["GROUND_REACTION"]
        at = np.array(module["FOREFOOT"]) - [0.0, 0.90]
        moment = at[0] * 700.0
        for name, (body, start, _, end, _) in module["MUSCLES"].items():
            force = found[f"{name} at {calf}"]
            assert force >= 0.0
            if body == "ground":
                pull = force * np.subtract(start, end) / np.linalg.norm(np.subtract(start, end))
                total += pull
                arm = np.array(end) - [0.0, 0.90]
                moment += arm[0] * pull[1] - arm[1] * pull[0]
        assert_allclose(total, 0.0, rtol=0.0, atol=1e-6)
        assert_allclose(moment, 0.0, rtol=0.0, atol=1e-6)
    # The calf is not called upon, so that the hamstrings flex the knee and load the hip more.
    assert found["gastrocnemius at 0.2"] < 0.5 * found["gastrocnemius at 1"]
    assert found["hip y at 0.2"] < found["hip y at 1"]


def test_oblique_impact(capsys):
    module = example("oblique_impact")
    found = module["main"]()
    assert "step 0.01 s: largest reaction over weight 6.78" in capsys.readouterr().out
    k, depth, mass = module["STIFFNESS"], module["DOUBLING_DEPTH"], module["MASS"]
    weight = mass * module["GRAVITY"]

    def force(height, speed):
        return -k * height * (1.0 - height / depth) - module["DAMPING"] * speed

    fine = solve_ivp(
        lambda _, s: [s[1], (force(*s) - weight) / mass],
        (0.0, 0.1), [0.0, module["VELOCITY"][1]], rtol=1e-10, atol=1e-12, max_step=1e-4,
    )  # fmt: skip
    peak = force(*fine.y).max() / weight
    assert_allclose(found["converged coefficient"], peak, rtol=3e-3)
    assert found["coefficient"] < peak
    # At rest k U (1 + U / Um) is the weight.
    rest = 0.5 * depth * (np.sqrt(1.0 + 4.0 * weight / (k * depth)) - 1.0)
    assert_allclose(found["indentation at rest"], rest, rtol=1e-4)
    assert_allclose(found["reaction at rest"], 1.0, rtol=1e-4)
    assert found["contacts"] > 1
    # Friction, at most the coefficient times the normal force, stops the body.
    motion = module["impact"]()
    assert_allclose(motion.velocity[-1], 0.0, rtol=0.0, atol=0.05)
    limit = module["FRICTION"] * motion.normal
    assert (np.abs(motion.friction) <= limit * (1.0 + 1e-9) + 1e-9).all()
    impulse = mass * (motion.velocity[:, 0] - module["VELOCITY"][0])
    assert_allclose(np.cumsum(motion.friction) * module["STEP"], impulse[1:], atol=1e-6)


@pytest.mark.slow
def test_two_bodies_at_wall():
    module = example("two_bodies_at_wall")
    found = module["main"]()
    between = module["STIFFNESS"]
    for ratio in module["RATIOS"]:
        wall = ratio * between

        def slope(_, s, wall=wall):
            first, second = between * max(s[0] - s[1], 0.0), wall * max(s[1], 0.0)
            return [s[2], s[3], -first, first - second]

        fine = solve_ivp(
            slope, (0.0, 0.12), [0.0, 0.0, 1.0, 1.0], rtol=1e-9, atol=1e-12, max_step=1e-4
        )
        ends = [found[f"first {ratio:g}"], found[f"second {ratio:g}"]]
        assert_allclose(ends, fine.y[2:, -1], rtol=0.0, atol=0.03)
        assert_allclose(np.sum(np.square(ends)), 2.0, rtol=0.03)
    spread = [found[f"second {ratio:g}"] for ratio in module["RATIOS"]]
    assert max(spread) - min(spread) > 0.3
