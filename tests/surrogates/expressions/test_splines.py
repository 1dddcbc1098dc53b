"""Expressions of spline-polynomials against the kernels and SciPy."""

import made
import numpy as np
import pytest
from lazily import casadi as ca
from lazily import jax
from scipy.interpolate import BSpline

from surrogates.expressions.learners import Learner, spline_values
from surrogates.expressions.of_casadi import CasadiFunctions
from surrogates.expressions.of_jax import JaxFunctions

pytestmark = [pytest.mark.casadi, pytest.mark.usefixtures("double")]


def of_casadi(function, *arguments):
    """Values of expressions of CasADi (a list) at arguments."""
    symbols = [ca.SX.sym(f"x{i}", np.size(a)) for i, a in enumerate(arguments)]
    found = function(CasadiFunctions(), *symbols)
    return [np.squeeze(np.array(v)) for v in ca.Function("f", symbols, found).call(arguments)]


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


@pytest.mark.parametrize("way", [of_casadi, of_jax])
@KNOTS
def test_splines_are_those_of_scipy(way, ends):
    knots, splines, places = knots_of(ends)
    for x in places:
        (found,) = way(lambda f, x: [spline_values(f, knots, x)], x)
        assert_like(found, splines(x))


def test_later_outputs_alone():
    regressor = made.MADE["splines in a shear"]
    x = made.inside(regressor, 1)[0]
    wanted = regressor.predict([x])[0, 2:]
    for way in (of_casadi, of_jax):
        (found,) = way(lambda f, x: [Learner(f, regressor).values(x, slice(2, None))], x)
        assert found == pytest.approx(wanted, rel=1e-12)
