"""Loads with first and second derivatives of smoothed surrogates: kernels, CasADi and JAX.

The exported C is held to the kernels in tests/surrogates/export/test_c_export.py.
"""

from dataclasses import replace

import made_knees
import numpy as np
import pytest
from lazily import casadi as ca
from surrogate_arrays import arrays

from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.training_data import FORMULATIONS

pytestmark = pytest.mark.casadi

FAMILIES = ("kriging", "polynomial", "poly_fourier", "network", "spline", "beside")
EVERY = [(formulation, family) for formulation in FORMULATIONS for family in FAMILIES]
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
#: A small change of each coordinate [rad, m].
SIZES = np.array([0.02, 0.02, 0.05, 2e-3, 1e-4, 1e-3])


def smoothable(formulation, family, width):
    """A pair of one compartment, with correlations that have enough derivatives."""
    part = made_knees.compartment(formulation, family, 1)
    parts = [replace(r, kinds=np.minimum(r.kinds, 1)) for r in part.regressors]
    return ContactSurrogate({"only": replace(part, regressors=tuple(parts)).smoothed(width)})


def by_kernels(pair, poses):
    loads, jacobian, _ = arrays(pair, poses)
    return loads[:, 0], jacobian[:, 0], pair.loads(poses, 2).hessian[:, 0]


def by_casadi(pair, poses):
    pose = ca.SX.sym("pose", 6)
    loads = pair.casadi()(pose)[0]
    slopes = ca.jacobian(loads[:6], pose)
    bends = ca.jacobian(slopes, pose)
    function = ca.Function("all", [pose], [loads, slopes, bends], {"cse": True})
    rows = [[np.array(value) for value in function(pose)] for pose in poses]
    loads, slopes, bends = (np.array(own) for own in zip(*rows, strict=True))
    # columns of the Jacobian one below the other
    return loads[..., 0], slopes, bends.reshape(-1, 6, 6, 6).transpose(0, 2, 1, 3)


def by_jax(pair, poses):
    jax = pytest.importorskip("jax", reason="JAX is not installed (the jax extra)")
    function = pair.jax()

    def wrench(pose):
        return function(pose)[0][0, :6]

    def of(pose):
        slopes = jax.jacfwd(wrench)
        return function(pose)[0][0], slopes(pose), jax.jacfwd(slopes)(pose)

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    found = jax.jit(jax.vmap(of), compiler_options=QUICK)(poses)
    jax.config.update("jax_enable_x64", before)
    return tuple(np.array(value) for value in found)


@pytest.mark.slow
@pytest.mark.parametrize(("formulation", "family"), EVERY)
def test_all_ways_agree_at_a_thousand_poses(formulation, family):
    pair = smoothable(formulation, family, 0.005)
    poses = made_knees.poses_about(pair.parts[0], 1000)
    wanted = by_kernels(pair, poses)
    peak = np.abs(wanted[0]).max(axis=0)
    assert (np.abs(wanted[0][:, :6]).max(axis=1) > 0.0).mean() > 0.3
    for by in (by_casadi, by_jax):
        loads, slopes, bends = (np.abs(a - b) for a, b in zip(by(pair, poses), wanted, strict=True))
        assert (loads / peak).max() < 1e-9
        assert (slopes * SIZES / peak[:6, None]).max() < 1e-9
        assert (bends * SIZES[:, None] * SIZES / peak[:6, None, None]).max() < 1e-8
