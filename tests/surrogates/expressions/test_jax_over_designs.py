"""Functions of JAX over pose and design against those of CasADi and of single designs."""

import numpy as np
import pytest
from lazily import casadi as ca
from lazily import jax
from made_designs import designs_of, knee_over_designs, off, poses_of_design
from some_slow import slow_rows
from surrogate_arrays import arrays

from foundation.base.errors import InputError

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


@pytest.mark.parametrize(("formulation", "family"), slow_rows(FEW[1:]))
def test_without_smoothing_as_of_single_designs(formulation, family):
    knee = knee_over_designs(formulation, family)
    at = differentiated(knee.jax())
    for design in designs_of(knee):
        poses = poses_of_design(knee, design, 40)
        loads, _, by_pose, by_design = (np.array(v) for v in at(poses, design))
        wanted, jacobian, _ = arrays(knee.at(design), poses)
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
    assert (knee.at(design).loads(poses).variables[..., 5] > 1.0).sum() > 5
    pose, values = ca.MX.sym("pose", 6), ca.MX.sym("design", 2)
    loads, domain = knee.casadi()(pose, values)
    slopes = ca.jacobian(loads, pose), ca.jacobian(loads, values)
    function = ca.Function("every", [pose, values], [loads.T, domain.T, *slopes])
    rows = [[np.array(v) for v in function(own, design)] for own in poses]
    for found, own in zip(at(poses, design), zip(*rows, strict=True), strict=True):
        assert off(np.array(found), np.reshape(own, found.shape)) < 1e-10


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
