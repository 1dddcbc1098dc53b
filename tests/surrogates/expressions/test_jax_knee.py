"""Functions of JAX against the compiled evaluation and the expressions of CasADi."""

import warnings
from dataclasses import replace

import made
import made_knees
import numpy as np
import pytest
from lazily import casadi as ca
from lazily import jax
from some_slow import first_rows, slow_rows

from foundation.base.errors import InputError
from surrogates.expressions import of_jax
from surrogates.expressions.learners import Learner
from surrogates.formulations.contact_surrogate import ContactSurrogate

pytestmark = [pytest.mark.casadi, pytest.mark.usefixtures("double")]

FEW = [("inverted", "kriging"), ("inverted", "polynomial"), ("direct", "network")]
#: Compilation is what the tests wait for, not the evaluation.
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
#: Formulation, family, width of smoothing, and what a coordinate of the pose is.
NOT_FINITE = [(*FEW[1], 0.0, "nan"), (*FEW[2], 0.005, "inf")]


def pair_of(formulation, family, width=0.0, seed=1):
    part = replace(made_knees.compartment(formulation, family, seed), smoothing=width)
    return ContactSurrogate({"only": part})


def over_poses(function, poses):
    return jax.jit(jax.vmap(function), compiler_options=QUICK)(poses)


def both_ways(knee, poses):
    """Loads and domain (N, 12), and their jacobians (N, 12, 6), by CasADi and by JAX."""
    pose = ca.SX.sym("pose", 6)
    found = [ca.vec(v) for v in knee.casadi()(pose)]
    both = ca.Function("f", [pose], [*found, *(ca.jacobian(v, pose) for v in found)])
    rows = [[np.array(v) for v in both(p)] for p in poses]
    wanted = [np.squeeze(np.array(own)) for own in zip(*rows, strict=True)]
    function = knee.jax()

    def one(at):
        def twice(q):
            value = function(q)
            return value, value

        return jax.jacfwd(twice, has_aux=True)(at)

    slopes, values = over_poses(one, poses)
    return wanted, [np.array(v)[:, 0] for v in (*values, *slopes)]


def assert_close(found, wanted, tolerance):
    size = np.nanmax(np.abs(wanted), axis=0) + 1e-300
    assert (np.isnan(found) == np.isnan(wanted)).all()
    assert np.nanmax(np.abs(found - wanted) / size) < tolerance


@pytest.mark.parametrize(("formulation", "family"), first_rows([FEW[2], FEW[0]]))
def test_values_and_jacobians_as_by_casadi(formulation, family):
    knee = pair_of(formulation, family, 0.005)
    poses = made_knees.poses_about(knee.parts[0], 12)
    for own, other in zip(*both_ways(knee, poses), strict=True):
        peak = np.nanmax(np.abs(own), axis=0) + 1e-300
        assert np.nanmax(np.abs(other - own) / peak) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("family", ["polynomial", "spline"])
def test_single_precision_follows_the_pose(family):
    """In single precision within 2e-5 of the peak: rounding of the sums of the made weights."""
    knee = pair_of("direct", family)
    poses = made_knees.poses_about(knee.parts[0], 10)
    function = knee.jax()
    wanted = np.array(over_poses(function, poses)[0])
    single = over_poses(function, poses.astype(np.float32))[0]
    assert single.dtype == np.float32
    assert_close(np.array(single)[:, 0], wanted[:, 0], 2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("sheared", [[], [3]])
def test_correlations_bend_at_a_training_point_as_by_the_kernels(sheared):
    """The second derivative of Matérn 5/2 at zero distance is -1/3 of the squared scale."""
    regressor = made.kriging(9, 6, 2, [1, 0, 1, 0, 1, 1], sheared, seed=3)
    x = regressor.x_offset + regressor.points[4] * regressor.x_scale
    learner = Learner(of_jax.JaxFunctions(np.float64), regressor)

    def first(x):
        return learner.values(x, slice(1))[0]

    (value,), (gradient,) = regressor.predict_with_jacobian([x])
    wanted = regressor.hessian(x)
    assert float(first(x)) == pytest.approx(value[0], rel=1e-9)
    assert np.array(jax.grad(first)(x)) == pytest.approx(gradient[0], rel=1e-9)
    found = np.array(jax.jit(jax.hessian(first), compiler_options=QUICK)(x))
    assert found == pytest.approx(wanted, abs=1e-9 * np.abs(wanted).max())


@pytest.mark.slow
def test_dissipation_needs_the_rate():
    pair = pair_of("direct", "polynomial")
    pose = made_knees.poses_about(pair.parts[0], 2)[0]
    rate = np.array([0.0, 0.0, 0.0, 0.0, -0.05, 0.0])
    still, moved = pair.jax()(pose)[0], pair.jax(2.0)(pose, rate)[0]
    assert np.array(moved)[0, :6] == pytest.approx(1.1 * np.array(still)[0, :6], rel=1e-12)


@pytest.mark.parametrize("shape", [(5,), (7,), (), (2, 6)])
def test_poses_and_rates_of_another_shape_are_refused(shape):
    pair = pair_of("direct", "polynomial")
    with pytest.raises(InputError, match=r"pose: expected shape \(6,\), found .*jax\.vmap"):
        pair.jax()(np.zeros(shape))
    with pytest.raises(InputError, match=r"rate: expected shape \(6,\), found"):
        pair.jax(0.5)(np.zeros(6), np.zeros(shape))
    with pytest.raises(InputError, match=r"pose: expected shape \(6,\), found \(5,\)"):
        pair.jax()((0.0,) * 5)


@pytest.mark.parametrize(
    ("formulation", "family", "width", "bad"),
    [*NOT_FINITE, *slow_rows([(*FEW[0], 0.0, "-inf")])],
)
def test_a_number_that_is_not_finite_gives_no_loads(formulation, family, width, bad):
    pair = pair_of(formulation, family, width)
    poses = np.repeat(made_knees.poses_about(pair.parts[0], 2)[:1], 7, axis=0)
    poses[np.arange(6), np.arange(6)] = float(bad)
    by_casadi = [np.array([np.array(v) for v in column]) for column in
                 zip(*(pair.casadi()(pose) for pose in poses), strict=True)]  # fmt: skip
    for found in (*over_poses(pair.jax(), poses), *by_casadi):
        rows = np.reshape(found, (7, 12))
        assert np.isnan(rows[:6]).all()
        assert np.isfinite(rows[6, :9]).all()


@pytest.mark.slow
def test_a_rate_that_is_not_finite_gives_no_loads():
    pair = pair_of("direct", "polynomial")
    pose, rate = made_knees.poses_about(pair.parts[0], 2)[0], np.zeros(6)
    rate[2] = np.nan
    moving = jax.jit(pair.jax(0.5), compiler_options=QUICK)
    assert np.isnan(np.array(moving(pose, rate)[0])).all()
    assert np.isnan(np.array(pair.casadi(0.5)(pose, rate)[0])).all()


def test_weights_that_cancel_are_told_in_single_precision():
    """The spacing of single precision at 1 is 1.2e-7: weights of 1e6 are rounded to about 0.1."""
    pair = pair_of("inverted", "kriging", 0.005)
    part = pair.parts[0]
    height, ratios, quantities = part.regressors
    large = ratios.weights.copy()
    large[:, len(ratios.exponents) :] = 1e6
    parts = (height, replace(ratios, weights=large), quantities)
    heavy = ContactSurrogate({"only": replace(part, regressors=parts)})
    pose = made_knees.poses_about(part, 2)[0]
    with pytest.warns(UserWarning, match=r"single precision is about .* double precision"):
        jax.eval_shape(heavy.jax(), pose.astype(np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jax.eval_shape(heavy.jax(), pose)
        jax.eval_shape(pair.jax(), pose.astype(np.float32))


def test_a_missing_package_names_the_remedy(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(of_jax.importlib, "import_module", missing)
    with pytest.raises(InputError, match=r'pip install "knee-contact\[jax\]"'):
        pair_of("direct", "polynomial").jax()
