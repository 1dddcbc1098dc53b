"""Expressions of spline-polynomials against the kernels and SciPy."""

import core_probe
import made
import numpy as np
import pytest
from lazily import casadi as ca
from lazily import jax
from scipy.interpolate import BSpline
from some_slow import first_of

from surrogates.expressions.learners import Learner, spline_values
from surrogates.expressions.of_casadi import CasadiFunctions
from surrogates.expressions.of_jax import JaxFunctions

pytestmark = [pytest.mark.casadi, pytest.mark.usefixtures("double")]

NAMES = [name for name in made.MADE if name.startswith("splines")]
every = pytest.mark.parametrize("regressor", [made.MADE[n] for n in NAMES], ids=NAMES)


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


KNOTS = pytest.mark.parametrize("ends", [[-0.4, 0.7], [-1.0, -0.9, 0.1, 0.2, 1.0]])


def knots_of(ends):
    """Knots of splines, the splines by SciPy, and places at, between and beyond the knots."""
    knots = np.r_[[ends[0]] * 3, ends, [ends[-1]] * 3]
    return knots, BSpline(knots, np.eye(len(ends) + 2), 3), [*ends, -1.4, -0.95, 0.3, 2.0]


def assert_like(found, wanted):
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("way", [of_sx, of_mx, of_jax])
@KNOTS
def test_splines_are_those_of_scipy(way, ends):
    knots, splines, places = knots_of(ends)
    for x in places:
        (found,) = way(lambda f, x: [spline_values(f, knots, x)], x)
        assert_like(found, splines(x))


def by_kernels(regressor, x):
    """Values, gradient and second derivatives of the first output, and those by the last input."""
    (value,), (jacobian,) = regressor.predict_with_jacobian([x])
    hessian = regressor.hessian(x)
    line = core_probe.on_line(regressor, x)
    return value, jacobian[0], hessian, np.array([*line, hessian[-1, -1]])


def line_of(f, learner, x):
    """Value and two derivatives of the first output along the last input."""
    last = learner.inputs - 1
    line = learner.line(x[:last])

    def slope(own, *beside):
        return f.with_slope(learner.on_line, own, *beside)[1]

    return f.join([
        *f.with_slope(learner.on_line, x[last], *line),
        f.with_slope(slope, x[last], *line)[1],
    ])  # fmt: skip


def check(found, wanted):
    for own, other in zip(found, wanted, strict=True):
        size = np.abs(other).max()
        assert np.ravel(own) == pytest.approx(np.ravel(other), rel=1e-9, abs=1e-11 * size)


@every
@pytest.mark.parametrize("way", [of_sx, of_mx])
def test_casadi_gives_the_numbers_of_the_kernels(way, regressor):
    def function(f, x):
        learner = Learner(f, regressor)
        values = learner.values(x)
        hessian, gradient = ca.hessian(values[0], x)
        return [values, gradient, hessian, line_of(f, learner, x)]

    for x in 1.3 * made.inside(regressor, 5):
        check(way(function, x), by_kernels(regressor, x))


@pytest.mark.parametrize("name", first_of([NAMES[-1], *NAMES[:-1]]))
def test_jax_gives_the_numbers_of_the_kernels(name):
    regressor = made.MADE[name]

    def function(f, x):
        learner = Learner(f, regressor)
        gradient = jax.jacfwd(lambda x: learner.values(x, slice(1))[0])
        hessian = jax.jacfwd(gradient)(x)
        return [learner.values(x), gradient(x), hessian, line_of(f, learner, x)]

    for x in 1.3 * made.inside(regressor, 3):
        check(of_jax(function, x), by_kernels(regressor, x))


def test_later_outputs_alone():
    regressor = made.MADE["splines in a shear"]
    x = made.inside(regressor, 1)[0]
    wanted = regressor.predict([x])[0, 2:]
    for way in (of_sx, of_jax):
        (found,) = way(lambda f, x: [Learner(f, regressor).values(x, slice(2, None))], x)
        assert found == pytest.approx(wanted, rel=1e-12)
