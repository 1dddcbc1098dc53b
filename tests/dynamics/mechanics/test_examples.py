"""Examples of mechanics: each runs, and figures of each are those of another computation."""

import runpy
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from some_slow import some_slow

from foundation.base.pose import Pose

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "mechanics"
QUICK = {"limb_in_orthosis", "two_joint_muscles", "leg_muscles", "oblique_impact"}


@cache
def example(name):
    return runpy.run_path(str(FOLDER / f"{name}.py"))


@cache
def results_of(name):
    return example(name)["main"]()


@pytest.mark.parametrize(
    "name", some_slow(sorted(each.stem for each in FOLDER.glob("*.py")), QUICK.__contains__)
)
def test_every_example_runs_and_returns_finite_numbers(name):
    assert np.isfinite(list(results_of(name).values())).all()


def test_the_cuffs_alone_carry_the_orthosis():
    cuffs = example("limb_in_orthosis")["simulate"]().link_forces.sum(axis=1)
    assert_allclose(cuffs[:, 1].mean(), 1.8 * 9.80665, rtol=0.1)


def test_fitted_surfaces():
    found = results_of("fitted_surfaces")
    for side in ("medial", "lateral"):
        given, scaled = (
            found[f"{side}, force, {label}"]
            for label in ("E* of the material", "scaled to the springs")
        )
        assert 5.0 < scaled < given < 90.0


def test_fitted_ellipsoid_on_a_tilted_plateau_has_the_force_of_hertz():
    """A ball on a plane: F = 4/3 E* √R d^(3/2) along the normal (Johnson 1985, 4.23)."""
    module = example("fitted_surfaces")
    rng = np.random.default_rng(1)
    points = rng.normal(size=(60, 3)) - [0.0, 2.0, 0.0]
    ball = 30e-3 * points / np.linalg.norm(points, axis=1)[:, None]
    x, z = rng.uniform(-0.02, 0.02, (2, 40))
    plane = np.column_stack([x, 0.1 * x - 0.2 * z, z])
    contact = module["FittedContact"](
        module["Ellipsoid"].through(ball), module["Plateau"].through(plane)
    )
    normal = np.array([-0.1, 1.0, 0.2]) / np.sqrt(1.05)
    pose = Pose.from_array([0.3, 0.1, 0.2, *(normal * (30e-3 - 0.4e-3))])
    depth, along, _ = contact.meeting(pose)
    assert_allclose(depth, 0.4e-3, rtol=1e-4)
    assert_allclose(along, normal, atol=1e-6)
    force, peak = contact.loads(pose, 1e8)
    assert_allclose(force, 4.0 / 3.0 * 1e8 * np.sqrt(30e-3) * 0.4e-3**1.5, rtol=1e-3)
    assert_allclose(peak, 1.5 * force / (np.pi * 30e-3 * 0.4e-3), rtol=1e-3)


def test_leg_muscles_balance_the_whole_leg():
    module, found = example("leg_muscles"), results_of("leg_muscles")
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


def test_friction_stops_the_body_of_the_oblique_impact():
    module = example("oblique_impact")
    motion = module["impact"]()
    assert_allclose(motion.velocity[-1], 0.0, rtol=0.0, atol=1e-3)
    tangential, normal = motion.forces[:, 0].T
    assert (np.abs(tangential) <= module["FRICTION"] * normal * (1.0 + 1e-9) + 1e-9).all()
    impulse = module["MASS"] * (motion.velocity[-1, 1] - module["VELOCITY"][0])
    assert_allclose(np.trapezoid(tangential, motion.time), impulse, rtol=1e-3)
