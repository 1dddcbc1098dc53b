"""Functions of JAX: of a knee, and over designs."""

from dataclasses import replace

import made
import made_knees
import numpy as np
import pytest
from lazily import jax
from some_slow import slow_rows

from foundation.base.errors import InputError
from surrogates.expressions import of_jax
from surrogates.expressions.learners import Learner
from surrogates.formulations.contact_surrogate import ContactSurrogate

pytestmark = [pytest.mark.casadi, pytest.mark.usefixtures("double")]

#: Compilation is what the tests wait for, not the evaluation.
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def pair_of(formulation, family, width=0.0, seed=1):
    part = replace(made_knees.compartment(formulation, family, seed), smoothing=width)
    return ContactSurrogate({"only": part})


def over_poses(function, poses):
    return jax.jit(jax.vmap(function), compiler_options=QUICK)(poses)


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
    wanted = regressor.packed.evaluate(x[None], 2)[2][0, 0]
    assert float(first(x)) == pytest.approx(value[0], rel=1e-9)
    assert np.array(jax.grad(first)(x)) == pytest.approx(gradient[0], rel=1e-9)
    found = np.array(jax.jit(jax.hessian(first), compiler_options=QUICK)(x))
    assert found == pytest.approx(wanted, abs=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("shape", [(5,), (7,), (), (2, 6)])
def test_poses_of_another_shape_are_refused(shape):
    pair = pair_of("direct", "polynomial")
    with pytest.raises(InputError, match=r"pose: expected shape \(6,\), found .*jax\.vmap"):
        pair.jax()(np.zeros(shape))


@pytest.mark.parametrize(
    ("formulation", "family", "width", "bad"),
    [
        ("inverted", "polynomial", 0.0, "nan"),
        ("direct", "network", 0.005, "inf"),
        *slow_rows([("inverted", "kriging", 0.0, "-inf")]),
    ],
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


def knee_of(formulation, family, width):
    """A knee of two compartments."""
    parts = [made_knees.compartment(formulation, family, seed) for seed in (1, 2)]
    return made_knees.knee_of(*(replace(part, smoothing=width) for part in parts))


def poses_near(knee, count):
    return made_knees.poses_about(knee.parts[0], count)


def test_the_number_of_threads_does_not_change_the_loads():
    knee = knee_of("inverted", "spline", 0.005)
    poses = poses_near(knee, 401)
    found = [knee.packed.loads(poses, 2, threads)[1][1:] for threads in (1, 2, 3)]
    for own in found[1:]:
        for part, wanted in zip(own, found[0], strict=True):
            assert np.array_equal(part, wanted, equal_nan=True)
