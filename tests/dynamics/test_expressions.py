"""Expressions of the simulator's forces against the library, in three packages."""

import numpy as np
import pytest
from lazily import casadi
from numpy.testing import assert_allclose
from some_slow import some_slow

from dynamics.expressions import (
    Elementary,
    KneeExpressions,
    ligament_tensions,
)
from dynamics.ligaments import bundles
from dynamics.ligaments.bundle_tables import LENHART_LIGAMENTS, load_ligaments
from dynamics.simulator.knee_simulator import KneeSimulator
from foundation.base.pose import Pose
from surrogates.sampling.space import ReferencePath

SIZE = np.array([1.0, 0.1, 0.2, 0.006, 0.01, 0.004])
# Slack, in the toe and beyond it, of all three laws.
OTHERS = (
    bundles.Ligament("linear", [-0.02, 0.01, -0.03], [0.01, -0.02, -0.02], 0.03, 9e4, "linear"),
    bundles.Ligament("square", [0.005, 0.004, 0.02], [-0.01, -0.015, 0.03], 0.02, 3e7, "quadratic"),
    bundles.Ligament("slack", [0.01, 0.0, 0.01], [0.012, -0.02, 0.015], 0.2, 1e6, "linear"),
)

pytestmark = pytest.mark.casadi


def path():
    rows = np.array([[0.0, 0.0, 0.0, 0.0, 0.0], [0.02, 0.1, -2e-3, 1e-3, 1e-3]] * 2)
    return ReferencePath.through([-0.5, 0.1, 0.6, 1.2], rows)


def simulator(**changes):
    return KneeSimulator(
        **{
            "neutral": path(),
            "anterior_gap": 2e-3,
            "rotation_gap": 0.05,
            "lateral_stiffness": 5e4,
            "adduction_stiffness": 20.0,
            "anterior_offset": 3e-3,
            "ligaments": (*load_ligaments(LENHART_LIGAMENTS), *OTHERS),
            **changes,
        }
    )


@pytest.fixture
def problem(waves):
    """Return a simulation with full dynamics, an offset of the contact and a factor."""
    return simulator().problem(
        *waves().pieces(Pose()), offset=np.array([0.01, 0.02, -0.01, 1e-3, -1e-3, 2e-3]), factor=0.7
    )


def poses(count=20, seed=0):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (count, 6)) * SIZE


def in_numpy(expression):
    return lambda *vectors: np.array(expression(Elementary.of(np), *vectors), dtype=float)


def in_casadi(expression, kind="SX"):

    def evaluate(*vectors):
        symbols = [getattr(casadi, kind).sym("x", len(v)) for v in vectors]
        rows = expression(Elementary.of(casadi), *symbols)
        return np.array(casadi.Function("f", symbols, [casadi.vertcat(*rows)])(*vectors)).ravel()

    return evaluate


def in_jax(expression):
    jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax")

    def evaluate(*vectors):
        with jax.enable_x64(True):
            rows = expression(Elementary.of(jax.numpy), *map(jax.numpy.asarray, vectors))
            return np.array(jax.numpy.stack([jax.numpy.asarray(row, float) for row in rows]))

    return evaluate


PACKAGES = {
    "numpy": in_numpy,
    "SX": in_casadi,
    "MX": lambda expression: in_casadi(expression, "MX"),
    "jax": in_jax,
}


@pytest.mark.parametrize("package", some_slow(PACKAGES, ("numpy", "MX").__contains__))
def test_forces_are_those_of_the_library(package, problem):
    evaluate = PACKAGES[package](
        lambda functions, *vectors: KneeExpressions(functions, problem).forces(*vectors)
    )
    rng = np.random.default_rng(1)
    seen = np.zeros(6)
    for pose in poses(5):
        applied = rng.uniform(-1.0, 1.0, 4) * [2000.0, 200.0, 5.0, 9.0]
        wrench = rng.uniform(-1.0, 1.0, 6) * [200.0, 2000.0, 200.0, 20.0, 5.0, 20.0]
        force, _ = problem.forces(pose, applied, wrench, np.zeros((6, 6)))
        assert_allclose(evaluate(pose, applied, wrench), force, rtol=1e-12, atol=1e-12 * 4e3)
        seen = np.maximum(seen, np.abs(force))
    assert seen.min() > 1.0


def test_stretched_and_slack_bundles_have_the_tension_of_the_library():
    ligaments = simulator().ligaments
    packed = bundles.pack(ligaments)
    everywhere = poses(30, seed=2)
    expected = bundles.ligament_forces(ligaments, everywhere)
    evaluate = in_numpy(lambda functions, pose: ligament_tensions(functions, pose, packed))
    found = np.array([evaluate(pose) for pose in everywhere])
    assert_allclose(found, expected, rtol=1e-12, atol=1e-10)
    assert 0.2 < (expected > 0.0).mean() < 0.95


def test_equations_of_motion_are_those_of_the_library(waves):
    each = simulator(anterior_damping=100.0)
    for motions in ({}, {"rotation": 0.05}):
        cycle = waves(**motions)
        problem = each.problem(*cycle.pieces(Pose()), cycle.prescribed, np.zeros(6))
        knee = KneeExpressions(Elementary.of(np), problem)
        free, rng = len(knee.free), np.random.default_rng(4)
        state, wrench = rng.uniform(-1.0, 1.0, 2 * free) * 1e-3, rng.normal(size=6) * 100.0
        f, _, _ = problem.equations(0.3, state, wrench, np.zeros((6, 6)))
        inputs = knee.inputs([0.3])[0][0]
        force = knee.forces(knee.pose(state, inputs), inputs[6:], wrench)
        assert_allclose(f[:free], state[free:], rtol=0.0)
        assert_allclose(knee.accelerations(force, state[free:]), f[free:], rtol=1e-11)


@pytest.mark.parametrize("kind", ["linear", "quadratic", "toe"])
def test_smoothed_laws_keep_their_tension_away_from_kinks(kind):
    one = bundles.Ligament("one", np.zeros(3), np.zeros(3), 0.04, 5e4, kind)
    packed = bundles.pack([one])

    def tension(length, smoothing):
        pose = [0.0, 0.0, 0.0, 0.0, length, 0.0]
        functions = Elementary.of(np)
        return float(ligament_tensions(functions, pose, packed, smoothing=smoothing)[0])

    # Beyond the width from a kink the laws agree, but for the constant of the toe between kinks.
    assert tension(0.04 * 0.98, 0.01) == 0.0
    for strain in (0.075, 0.2):
        assert_allclose(tension(0.04 * (1.0 + strain), 0.01), tension(0.04 * (1.0 + strain), 0.0))
    within = tension(0.04 * 1.005, 0.01) - tension(0.04 * 1.005, 0.0)
    assert 0.0 < within < {"linear": 4.0, "quadratic": 0.02, "toe": 20.0}[kind]
    lengths = 0.04 * (1.0 + np.linspace(-0.03, 0.1, 2601))
    second = np.diff([tension(x, 0.01) for x in lengths], 2)
    rough = np.diff([tension(x, 0.0) for x in lengths], 2)
    # The second derivative jumps (quadratic, toe) or is a spike (linear) without smoothing only.
    assert np.abs(np.diff(second)).max() < 0.1 * np.abs(np.diff(rough)).max()


def test_forces_of_springs_and_ligaments_have_a_potential(waves):
    problem = simulator(neutral=Pose()).problem(*waves().pieces(Pose()))
    pose = casadi.SX.sym("q", 6)
    knee = KneeExpressions(Elementary.of(casadi), problem, smoothing=0.01)
    force = casadi.vertcat(*knee.forces(pose, [0.0] * 4, [0.0] * 6))
    jacobian = casadi.Function("j", [pose], [casadi.jacobian(force, pose)])
    for row in poses(5, seed=7):
        found = np.array(jacobian(row))
        assert_allclose(found, found.T, atol=1e-11 * np.abs(found).max())
