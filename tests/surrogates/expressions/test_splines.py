"""Expressions of spline-polynomials against the kernels and SciPy."""

import made
import numpy as np
import pytest
from lazily import casadi as ca
from lazily import jax
from scipy.interpolate import BSpline

from surrogates import compiled
from surrogates.compiled.layout import new_work
from surrogates.expressions.of_casadi import CasadiFunctions
from surrogates.expressions.of_jax import JaxFunctions
from surrogates.expressions.splines import spline_values

pytestmark = pytest.mark.casadi

NAMES = [name for name in made.MADE if name.startswith("splines")]
every = pytest.mark.parametrize("regressor", [made.MADE[n] for n in NAMES], ids=NAMES)


@pytest.fixture(autouse=True)
def double():
    """Switch JAX to double precision for a test."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def of_casadi(kind, function, *arguments):
    """Values of expressions of CasADi (a list) at arguments."""
    symbols = [kind.sym(f"x{i}", np.size(a)) for i, a in enumerate(arguments)]
    found = function(CasadiFunctions(kind), *symbols)
    return [np.squeeze(np.array(v)) for v in ca.Function("f", symbols, found).call(arguments)]


def of_sx(function, *arguments):
    return of_casadi(ca.SX, function, *arguments)


def of_mx(function, *arguments):
    return of_casadi(ca.MX, function, *arguments)


def of_jax(function, *arguments):
    given = [jax.numpy.asarray(a) for a in arguments]
    return [np.array(v) for v in function(JaxFunctions(np.float64), *given)]


ways = pytest.mark.parametrize("way", [of_sx, of_mx, of_jax])


@ways
@pytest.mark.parametrize("ends", [[-0.4, 0.7], [-1.0, -0.9, 0.1, 0.2, 1.0]])
def test_splines_and_derivatives_are_those_of_scipy(way, ends):
    knots = np.r_[[ends[0]] * 3, ends, [ends[-1]] * 3]
    splines = BSpline(knots, np.eye(len(ends) + 2), 3)
    for x in [*ends, -1.4, -0.95, 0.3, 2.0]:
        found = way(lambda f, x: spline_values(f, knots, x, 2), x)
        assert len(found) == 3
        for order, own in enumerate(found):
            wanted = splines(x, order)
            assert own == pytest.approx(wanted, rel=1e-12, abs=1e-12 * np.abs(wanted).max())


def by_kernels(regressor, x):
    """Values, gradient and second derivatives of the first output, and those by the last input."""
    value, jacobian = regressor.predict_with_jacobian(x)
    hessian = regressor.hessian(x)
    line = compiled.on_line_at(x, regressor.arguments, new_work(regressor.workspace_size))
    return value, jacobian[0], hessian, np.array([*line, hessian[-1, -1]])


def line_of(f, learner, x):
    last = learner.inputs - 1
    return f.join(learner.line(x[:last]).at(x[last], bend=True))


def check(found, wanted):
    for own, other in zip(found, wanted, strict=True):
        size = np.abs(other).max()
        assert np.ravel(own) == pytest.approx(np.ravel(other), rel=1e-9, abs=1e-11 * size)


@every
@pytest.mark.parametrize("way", [of_sx, of_mx])
def test_casadi_gives_the_numbers_of_the_kernels(way, regressor):
    def function(f, x):
        learner = f.learner(regressor)
        values = learner.values(x)
        hessian = ca.hessian(values[0], x)[0]
        return [values, learner.gradient(x), hessian, line_of(f, learner, x)]

    for x in 1.3 * made.inside(regressor, 5):
        check(way(function, x), by_kernels(regressor, x))


@every
def test_jax_gives_the_numbers_of_the_kernels(regressor):
    def function(f, x):
        learner = f.learner(regressor)
        hessian = jax.jacfwd(learner.gradient)(x)
        return [learner.values(x), learner.gradient(x), hessian, line_of(f, learner, x)]

    for x in 1.3 * made.inside(regressor, 3):
        check(of_jax(function, x), by_kernels(regressor, x))


def test_later_outputs_alone():
    regressor = made.MADE["splines in a shear"]
    x = made.inside(regressor, 1)[0]
    wanted = regressor.predict([x])[0, 2:]
    for way in (of_sx, of_jax):
        (found,) = way(lambda f, x: [f.learner(regressor).values(x, skip=2)], x)
        assert found == pytest.approx(wanted, rel=1e-12)
