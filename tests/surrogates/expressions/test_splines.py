"""Expressions of spline-polynomials against the kernels and SciPy."""

import core_probe
import made
import numpy as np
import pytest
from lazily import casadi as ca
from lazily import jax
from scipy.interpolate import BSpline
from some_slow import first_of

from surrogates.expressions.of_casadi import CasadiFunctions
from surrogates.expressions.of_jax import JaxFunctions
from surrogates.expressions.splines import four_splines, spline_values

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


@pytest.mark.parametrize("way", [of_sx, of_mx])
@KNOTS
def test_splines_of_casadi_are_those_of_scipy(way, ends):
    knots, splines, places = knots_of(ends)
    for x in places:
        (found,) = way(lambda f, x: [spline_values(f, knots, x)], x)
        assert_like(found, splines(x))


@KNOTS
def test_four_splines_of_jax_and_derivatives_are_those_of_scipy(ends):
    knots, splines, places = knots_of(ends)
    for x in places:
        piece, found = of_jax(lambda f, x: four_splines(f, knots, x, 2), x)
        assert found.shape == (3, 4)
        for order, own in enumerate(found):
            wanted = splines(x, order)
            assert_like(own, wanted[piece : piece + 4])
            assert np.count_nonzero(wanted) == np.count_nonzero(wanted[piece : piece + 4])


def by_kernels(regressor, x):
    """Values, gradient and second derivatives of the first output, and those by the last input."""
    value, jacobian = regressor.predict_with_jacobian(x)
    hessian = regressor.hessian(x)
    line = core_probe.on_line(regressor, x)
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


@pytest.mark.parametrize("name", first_of([NAMES[-1], *NAMES[:-1]]))
def test_jax_gives_the_numbers_of_the_kernels(name):
    regressor = made.MADE[name]

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
