"""The examples of CasADi, JAX, bioptim and MJX on the tiny run."""

import importlib.util

import numpy as np
import pytest
from lazily import casadi
from numpy.testing import assert_allclose
from studies import ROOT

import surrogates
from dynamics import KneeSimulator
from foundation.base.pose import Pose, generalised_force

pytestmark = pytest.mark.casadi


def example(name):
    path = ROOT / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"example_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_collocation_finds_the_simulated_cycle(tiny_run):
    assert casadi.Function
    figures = example("collocation_knee").main(tiny_run)
    assert figures["success"]
    assert figures["iterations"] <= 20
    # Accuracy of the mesh; with 100 intervals IPOPT does not converge.
    assert figures["collocation_rad"] < 1e-6
    assert figures["collocation_m"] < 1e-7


@pytest.mark.slow
def test_random_starts_reach_one_optimum(tiny_run):
    assert casadi.Function
    figures = example("optimal_control").main(tiny_run, starts=2)
    assert figures["hits"] == 2
    assert figures["rms_error_deg"] < 3.0


@pytest.mark.slow
def test_model_of_bioptim_has_the_dynamics_of_the_simulator(tiny_run):
    assert casadi.Function
    module = example("bioptim_knee")
    model = module.KneeModel(str(tiny_run / "knee.npz"))
    assert model.nb_q == model.nb_qdot == model.nb_tau == len(model.name_dof) == 6
    again, arguments = model.serialize()
    assert again(**arguments).name == model.name
    knee = surrogates.load(tiny_run / "knee.npz").smoothed()
    simulator = KneeSimulator(neutral=knee.spaces[0].path)
    row = knee.path([0.3])[0] + [0.0, 0.001, 0.02, 1e-3, -2e-5, 1e-4]
    pose, rates = Pose.from_array(row), np.array([1.0, 0.1, 0.2, 0.03, 0.01, 0.02])
    tau = np.array([3.0, 1.0, -2.0, 50.0, -100.0, 20.0])
    force = generalised_force(pose, knee.loads(pose).wrench) + tau
    force[1:] -= simulator.damping * rates[1:]
    away = row - knee.path([0.3])[0]
    force[2] -= simulator.rotation_stiffness * away[2]
    force[3] -= simulator.anterior_stiffness * away[3]
    expected = force / np.concatenate(([module.FLEXION_INERTIA], simulator.inertia))
    found = np.array(model.forward_dynamics()(row, rates, tau)).ravel()
    assert_allclose(found, expected, rtol=1e-7, atol=1e-6)


@pytest.mark.slow
def test_steps_of_mjx_are_differentiable(tiny_run):
    pytest.importorskip("mujoco.mjx", reason="MJX is not installed: pip install mujoco-mjx")
    figures = example("mjx_knee").main(tiny_run, steps=5)
    assert abs(figures["drift"]) < 1e-6
    assert figures["slope"] < 0.0
    assert figures["slope"] == pytest.approx(figures["near"], rel=1e-4)
