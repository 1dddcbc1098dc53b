"""Functions of JAX whose loads the compiled kernels compute, against functions of JAX alone."""

from dataclasses import replace

import made_knees
import numpy as np
import pytest
from lazily import jax
from some_slow import first_rows
from surrogate_arrays import arrays

from foundation.base.errors import InputError
from surrogates.expressions import jax_knee
from surrogates.expressions.jax_knee import with_jacobian

pytestmark = [pytest.mark.casadi, pytest.mark.usefixtures("double")]

#: Compilation is what the tests wait for, not the evaluation.
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
#: Formulation, family, and width of smoothing.
KNEES = [
    ("direct", "polynomial", 0.0),
    ("inverted", "spline", 0.005),
]


@pytest.fixture
def calls(monkeypatch):
    """Shapes of the poses of each call of the host."""
    shapes = []

    def counted(parts, poses, order):
        shapes.append(np.shape(poses))
        return evaluate(parts, poses, order)

    evaluate = jax_knee.host_loads
    monkeypatch.setattr(jax_knee, "host_loads", counted)
    return shapes


def knee_of(formulation, family, width):
    """A knee of two compartments, whose correlations have second derivatives."""
    parts = [made_knees.compartment(formulation, family, seed) for seed in (1, 2)]
    bending = [
        tuple(replace(r, kinds=np.minimum(r.kinds, 1)) for r in part.regressors) for part in parts
    ]
    return made_knees.knee_of(*(
        replace(part, smoothing=width, regressors=own)
        for part, own in zip(parts, bending, strict=True)
    ))  # fmt: skip


def poses_of(knee, count):
    return made_knees.poses_about(knee.parts[0], count)


def over(function, *rows):
    found = jax.jit(jax.vmap(function), compiler_options=QUICK)(*rows)
    return [np.array(own) for own in found]


def assert_close(found, wanted, tolerance=1e-9):
    for own, other in zip(found, wanted, strict=True):
        size = np.nanmax(np.abs(other), axis=0) + 1e-300
        assert own.shape == other.shape
        assert (np.isnan(own) == np.isnan(other)).all()
        assert np.nanmax(np.abs(own - other) / size) < tolerance


def both_and_slopes(function):
    """Function of a pose to loads, domain, and the derivatives of both."""

    def twice(pose):
        found = function(pose)
        return found, found

    def everything(pose):
        slopes, found = jax.jacfwd(twice, has_aux=True)(pose)
        return *found, *slopes

    return everything


@pytest.mark.parametrize(("formulation", "family", "width"), first_rows(KNEES))
def test_loads_domain_and_jacobians_are_those_of_jax(formulation, family, width):
    knee = knee_of(formulation, family, width)
    poses = poses_of(knee, 30)
    found, wanted = (
        over(both_and_slopes(knee.jax(kernels=kernels)), poses) for kernels in (True, False)
    )
    assert (wanted[0][:, :, 1] > 0.0).mean() > 0.3
    assert_close(found, wanted)


def bends_of(knee, kernels, by, poses):
    """Second derivatives (N, C, 6, 6, 6) of the wrench, `by` forward or reverse mode first."""
    function = knee.jax(kernels=kernels, wrench_only=True)
    return over(lambda pose: (jax.jacfwd(by(lambda own: function(own)[0]))(pose),), poses)


@pytest.mark.slow
def test_second_derivatives_are_those_of_the_kernels():
    knee = knee_of("inverted", "spline", 0.005)
    poses = poses_of(knee, 10)
    wanted = [knee.loads(poses, 2).hessian]
    assert np.abs(wanted[0]).max() > 0.0
    for by in (jax.jacfwd, jax.jacrev):
        assert_close(bends_of(knee, True, by, poses), wanted, 1e-14)


@pytest.mark.slow
def test_second_derivatives_of_all_loads_are_those_of_jax():
    knee = knee_of("direct", "polynomial", 0.005)

    def bends(kernels):
        turned = jax.jacfwd(jax.jacfwd(knee.jax(kernels=kernels)))
        return over(lambda pose: (turned(pose)[0],), poses_of(knee, 4))

    assert_close(bends(True), bends(False), 1e-8)


def test_a_batch_is_one_call_of_the_host(calls):
    knee = knee_of("direct", "polynomial", 0.005)
    poses = poses_of(knee, 12)
    function = knee.jax(kernels=True, wrench_only=True)
    value, slopes = over(with_jacobian(lambda pose: function(pose)[0]), poses)
    assert calls == [(12, 6)]
    loads, jacobian, _ = arrays(knee, poses)
    assert np.array_equal(value, loads[:, :, :6])
    assert slopes == pytest.approx(jacobian, rel=1e-14)
    _, turned = over(jax.value_and_grad(lambda pose: function(pose)[0][:, 1].sum()), poses)
    assert calls[1:] == [(12, 6)]
    assert turned == pytest.approx(jacobian[:, :, 1].sum(axis=1), rel=1e-14)

    def in_fours(poses):
        return jax.lax.map(lambda pose: function(pose)[0], poses, batch_size=4)

    again = jax.jit(in_fours, compiler_options=QUICK)(poses)
    assert calls[2:] == [(4, 6)] * 3
    assert np.array_equal(again, value)


def test_two_nested_batches_are_one_call(calls):
    knee = knee_of("direct", "polynomial", 0.005)
    poses = poses_of(knee, 6)
    function = knee.jax(kernels=True, wrench_only=True)
    wanted = knee.loads(poses).values[:, :, :6]
    nested = jax.vmap(jax.vmap(lambda pose: function(pose)[0]))
    found = jax.jit(nested, compiler_options=QUICK)(poses.reshape(2, 3, 6))
    assert calls == [(2, 3, 6)]
    assert np.array_equal(np.reshape(found, (6, 2, 6)), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("wrench_only", [True, False])
def test_a_moving_contact_dissipates_as_that_of_jax(wrench_only):
    knee = knee_of("direct", "polynomial", 0.005)
    poses = poses_of(knee, 10)
    rates = np.random.default_rng(0).normal(size=poses.shape) * 0.1

    def moved(kernels):
        function = knee.jax(2.0, kernels, wrench_only)

        def both(pose, rate):
            return with_jacobian(lambda own: function(own, rate)[0])(pose)

        return over(both, poses, rates)

    found, wanted = moved(True), moved(False)
    still = knee.loads(poses).values[:, :, :6]
    assert np.abs(found[0][:, :, :6] - still).max() > 0.01 * np.abs(still).max()
    assert_close(found, wanted)


def test_single_precision_is_that_of_rounded_poses():
    knee = knee_of("inverted", "kriging", 0.005)
    poses = poses_of(knee, 10).astype(np.float32)
    function = knee.jax(kernels=True, wrench_only=True)
    value, slopes = over(with_jacobian(lambda pose: function(pose)[0]), poses)
    assert value.dtype == slopes.dtype == np.float32
    loads, jacobian, _ = arrays(knee, poses.astype(np.float64))
    assert np.array_equal(value, loads[:, :, :6].astype(np.float32))
    assert slopes == pytest.approx(jacobian, rel=1e-6)


def test_the_number_of_threads_does_not_change_the_loads():
    knee = knee_of("inverted", "spline", 0.005)
    poses = poses_of(knee, 401)
    found = [knee.packed.loads(poses, 2, threads)[1][1:] for threads in (1, 2, 3)]
    for own in found[1:]:
        for part, wanted in zip(own, found[0], strict=True):
            assert np.array_equal(part, wanted, equal_nan=True)


def test_no_poses_and_poses_that_are_not_finite():
    knee = knee_of("inverted", "spline", 0.005)
    packed = knee.packed
    none = jax_knee.host_loads(packed, np.empty((0, 6)), 2)
    assert [found.shape[1:] for found in none] == [(2, 12), (2, 6, 6), (2, 6, 6, 6)]
    assert {len(found) for found in none} == {0}
    poses = np.repeat(poses_of(knee, 1), 4, axis=0)
    poses[[0, 1, 2], [0, 3, 5]] = np.nan, np.inf, -np.inf
    for found in jax_knee.host_loads(packed, poses, 2):
        assert np.isnan(found[:3]).all()
        assert np.isfinite(found[3, ..., :6]).all()


@pytest.mark.parametrize("shape", [(5,), (2, 6)])
def test_poses_of_another_shape_are_refused(shape):
    function = knee_of("direct", "polynomial", 0.0).jax(kernels=True)
    with pytest.raises(InputError, match=r"pose: expected shape \(6,\), found .*jax\.vmap"):
        function(np.zeros(shape))


def test_whole_numbers_are_refused():
    function = knee_of("direct", "polynomial", 0.0).jax(kernels=True)
    with pytest.raises(ValueError, match="not inexact"):
        function(np.zeros(6, dtype=np.int64))


@pytest.mark.slow
def test_third_derivatives_are_refused():
    knee = knee_of("direct", "polynomial", 0.005)
    function = knee.jax(kernels=True, wrench_only=True)
    third = jax.jacfwd(jax.jacfwd(jax.jacfwd(lambda pose: function(pose)[0][0, 1])))
    with pytest.raises(InputError, match=r"third derivatives, .* use knee\.jax\(\)"):
        jax.eval_shape(third, poses_of(knee, 1)[0])
