"""Functions of JAX over pose and design against those of CasADi and of single designs."""

import numpy as np
import pytest
from lazily import casadi as ca
from lazily import jax
from made_designs import designs_of, fourth_order, knee_over_designs, poses_of_design
from some_slow import slow_rows

from foundation.base.errors import InputError
from surrogates.expressions.jax_knee import in_batches

pytestmark = pytest.mark.usefixtures("double")

FEW = [("inverted", "network"), ("direct", "polynomial"), ("inverted", "spline")]
#: Compilation is what the tests wait for, not the evaluation.
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def differentiated(function):
    """Loads, domain, and Jacobians of the loads by pose and by design, as one function."""

    def every(pose, design):
        both = jax.jacfwd(lambda p, d: function(p, d)[0], argnums=(0, 1))(pose, design)
        return (*function(pose, design), *both)

    return jax.jit(jax.vmap(every, (0, None)), compiler_options=QUICK)


def off(found, wanted):
    assert np.array_equal(np.isnan(found), np.isnan(wanted))
    largest = np.nanmax(np.abs(wanted), axis=(0, 1))
    return np.nanmax(np.abs(found - wanted) / np.where(largest > 0.0, largest, 1.0))


@pytest.mark.parametrize(("formulation", "family"), slow_rows(FEW[1:]))
def test_without_smoothing_as_of_single_designs(formulation, family):
    knee = knee_over_designs(formulation, family)
    at = differentiated(knee.jax())
    for design in designs_of(knee):
        poses = poses_of_design(knee, design, 40)
        loads, _, by_pose, by_design = (np.array(v) for v in at(poses, design))
        wanted, jacobian, _ = knee.at(design).evaluate_batch(poses)
        assert off(loads, wanted) < 1e-12
        assert off(by_pose[:, :, :6], jacobian) < 1e-11
        slopes = knee.loads_and_slopes(poses, design)[1]
        slopes[np.isnan(by_design)] = np.nan  # centres out of contact
        assert off(by_design, slopes) < 1e-10


@pytest.mark.casadi
@pytest.mark.parametrize(("formulation", "family"), slow_rows([("inverted", "polynomial"), *FEW]))
def test_smoothed_as_by_casadi(formulation, family):
    """Beyond the samples too, where the fall depends on the design."""
    knee = knee_over_designs(formulation, family, width=0.05, with_domain=True)
    at, design = differentiated(knee.jax()), designs_of(knee, 1)[0]
    poses = poses_of_design(knee, design, 40)
    assert (knee.at(design).evaluate_batch(poses)[2][..., 5] > 1.0).sum() > 5
    pose, values = ca.MX.sym("pose", 6), ca.MX.sym("design", 2)
    loads, domain = knee.casadi()(pose, values)
    slopes = ca.jacobian(loads, pose), ca.jacobian(loads, values)
    function = ca.Function("every", [pose, values], [loads.T, domain.T, *slopes])
    rows = [[np.array(v) for v in function(own, design)] for own in poses]
    for found, own in zip(at(poses, design), zip(*rows, strict=True), strict=True):
        assert off(np.array(found), np.reshape(own, found.shape)) < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize(("formulation", "family"), FEW[1:2])
def test_second_derivatives(formulation, family):
    """By pose and design, forwards and backwards, differences of a single design's Jacobians."""
    knee = knee_over_designs(formulation, family, width=0.05)
    function, design = knee.jax(), designs_of(knee, 1)[0]
    poses = poses_of_design(knee, design, 8)

    def wrench(pose, values):
        return function(pose, values)[0][:, :6]

    steps = 2e-5 * np.ptp([knee.parameters.low, knee.parameters.high], axis=0)
    wanted = fourth_order(lambda d: knee.at(d).evaluate_batch(poses)[1], design, steps)
    for inner in (jax.jacfwd, jax.jacrev):
        mixed = jax.vmap(jax.jacfwd(inner(wrench), argnums=1), (0, None))
        found = np.array(jax.jit(mixed, compiler_options=QUICK)(poses, design))
        assert off(found, wanted) < 1e-6


@pytest.mark.slow
def test_types_batches_and_dissipation():
    knee = knee_over_designs("direct", "polynomial")
    function, design = knee.jax(), designs_of(knee, 1)[0]
    poses = poses_of_design(knee, design, 6)
    wanted = knee.at(design).evaluate_batch(poses)[0]
    single = jax.eval_shape(function, poses[0].astype(np.float32), design)
    assert [found.dtype for found in single] == [np.float32, np.float32]
    batches = jax.jit(in_batches(function, 4), compiler_options=QUICK)
    assert off(np.array(batches(poses, np.tile(design, (6, 1)))[0]), wanted) < 1e-12
    rate = np.array([0.3, -0.2, 0.1, 0.02, -0.05, 0.01])
    alone = jax.jit(knee.at(design).jax(2.0), compiler_options=QUICK)
    moving = jax.jit(knee.jax(2.0), compiler_options=QUICK)
    still = np.array(alone(poses[0], rate)[0])
    assert np.array(moving(poses[0], rate, design)[0]) == pytest.approx(still, rel=1e-9)


def test_arguments_of_another_shape_are_refused():
    knee = knee_over_designs("direct", "polynomial")
    with pytest.raises(InputError, match=r"design: expected shape \(2,\), found \(3,\)"):
        knee.jax()(np.zeros(6), np.zeros(3))
    with pytest.raises(InputError, match=r"pose: expected shape \(6,\), found \(5,\)"):
        knee.jax()(np.zeros(5), np.zeros(2))
    with pytest.raises(InputError, match=r"rate: expected shape \(6,\), found \(2,\)"):
        knee.jax(0.5)(np.zeros(6), np.zeros(2), np.zeros(2))


def test_a_parameter_that_is_not_finite_gives_no_loads():
    knee = knee_over_designs("direct", "polynomial")
    design = designs_of(knee, 1)[0]
    pose = poses_of_design(knee, design, 2)[0]
    rows = np.array([design, [np.nan, design[1]], [design[0], np.inf]])
    loads = jax.jit(jax.vmap(knee.jax(), (None, 0)), compiler_options=QUICK)(pose, rows)[0]
    assert np.isfinite(loads[0]).all()
    assert np.isnan(loads[1:]).all()
