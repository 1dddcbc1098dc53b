"""The compiled library against the formulas in NumPy (`tests/reference.py`)."""

import core_probe
import made
import numpy as np
import pytest
import reference
from differences import differences
from scipy.optimize import brentq

from foundation.core.library import CORE, STRUCTS, address, open_library
from surrogates.core import packing

every = pytest.mark.parametrize("regressor", made.MADE.values(), ids=made.MADE)
MANY = made.polynomial(11, 3, 2), made.network(10, 2, 9, nets=2), made.kriging(20, 12, 2)


@every
def test_values_are_those_of_the_formula(regressor):
    x = made.inside(regressor, 20)
    wanted = reference.evaluate(regressor, x)
    for order in range(3):
        assert made.off(regressor.packed.evaluate(x, order)[0], wanted) < 1e-13


@every
def test_derivatives_are_those_of_the_formula(regressor):
    x = made.inside(regressor, 1, seed=2)
    wanted = differences(lambda x: reference.evaluate(regressor, x[None])[0], x[0], 1e-5)
    scale = max(np.abs(wanted).max(), 1.0)
    for order in (1, 2):
        found = regressor.packed.evaluate(x, order)[1][0]
        assert np.abs(found - wanted).max() < 1e-6 * scale


@every
def test_second_derivatives_are_those_of_the_first(regressor):
    x = made.inside(regressor, 1, seed=2)
    bends = regressor.packed.evaluate(x, 2)[2][0]
    wanted = differences(lambda x: regressor.predict_with_jacobian([x])[1][0], x[0], 1e-5)
    assert np.abs(bends - wanted).max() < 1e-6 * max(np.abs(wanted).max(), 1.0)
    assert np.array_equal(bends, bends.swapaxes(1, 2))


@pytest.mark.parametrize("regressor", MANY, ids=["polynomial", "network", "kriging"])
def test_more_inputs_than_a_row_of_eight(regressor):
    x = made.inside(regressor, 3)
    values, slopes, bends = regressor.packed.evaluate(x, 2)
    assert made.off(values, reference.evaluate(regressor, x)) < 1e-13
    for own, slope, bend in zip(x, slopes, bends, strict=True):
        wanted = differences(lambda x: reference.evaluate(regressor, x[None])[0], own, 1e-5)
        assert slope == pytest.approx(wanted, abs=1e-5 * max(np.abs(wanted).max(), 1.0))
        wanted = differences(lambda x: regressor.predict_with_jacobian([x])[1][0], own, 1e-5)
        assert bend == pytest.approx(wanted, abs=1e-5 * max(np.abs(wanted).max(), 1.0))


def test_derivatives_on_the_planes_of_a_point():
    """Where Matern's |u| has its kink, and its first derivative none."""
    regressor = made.kriging(24, 3, 2, [1, 0, 1], [1])
    x = regressor.x_offset + regressor.x_scale * regressor.points[5]
    wanted = differences(lambda x: reference.evaluate(regressor, x[None])[0], x, 1e-5)
    assert made.off(regressor.predict_with_jacobian([x])[1][0], wanted) < 1e-5
    here, near = regressor.packed.evaluate(np.array([x, x + 1e-9]), 2)[2]
    assert made.off(here, near) < 1e-6


def test_splines_at_their_knots_and_beyond():
    """At a knot, to the last digit before it, and where the cubics of the ends go on."""
    regressor = made.MADE["splines of unequal knots"]
    ends = regressor.knots[3:-3]
    along = np.concatenate([ends, np.nextafter(ends, -9.0), [-4.0, 3.0]])
    z = np.column_stack([along + 0.37 * 0.3, np.full(len(along), 0.3), np.zeros(len(along))])
    x = regressor.x_offset + regressor.x_scale * z
    wanted = reference.evaluate(regressor, x)
    for order in range(2):
        found = regressor.packed.evaluate(x, order)[0]
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)
    far = np.array([[np.nan, 0.0, 0.0], [-1e40, 0.0, 0.0], [1e40, 0.0, 0.0]])  # no whole numbers
    values = regressor.packed.evaluate(far, 1)[0]
    assert np.isnan(values[0]).all()
    assert np.isfinite(values[1:]).all()


@every
def test_line_is_the_output_along_the_last_input(regressor):
    for x in made.inside(regressor, 2):
        (value,), (jacobian,) = regressor.predict_with_jacobian([x])
        found, slope = core_probe.on_line(regressor, x)
        assert abs(found - value[0]) < 1e-12 * max(1.0, abs(value[0]))
        assert abs(slope - jacobian[0, -1]) < 1e-12 * max(1.0, np.abs(jacobian[0]).max())


def falling(seed=0):
    """A height that falls with the last input, not quite evenly."""
    regressor = made.kriging(60, 3, 1, [1, 0, 0], [1], degree=1, seed=seed)
    weights = 0.02 * regressor.weights
    weights[0, 3] = -1.0
    arrays = regressor.to_arrays() | {"weights": weights, "x_offset": np.zeros(3)}
    return type(regressor).from_arrays(arrays | {"x_scale": np.ones(3)})


@pytest.mark.parametrize("last", [-0.99999, -0.4, 0.0, 0.7, 0.999999])
def test_root_on_the_line_is_brents(last):
    regressor = falling()

    def height(s):
        return float(reference.evaluate(regressor, np.array([[0.3, -0.2, s]]))[0, 0])

    target = height(last)
    wanted = brentq(lambda s: height(s) - target, -1.0, 1.0, xtol=1e-15)
    found, s = core_probe.root(regressor, [0.3, -0.2, np.nan], target)
    assert found
    assert abs(s - wanted) < 1e-12


def test_no_root_from_first_touch_on_and_the_tangent_beyond():
    regressor, x = falling(), np.array([0.1, 0.2, -1.0])
    touch, slope = core_probe.on_line(regressor, x)
    for target in (touch, touch + 1.0, np.nan):
        assert core_probe.root(regressor, x, target) == (False, -1.0)
    found, s = core_probe.root(regressor, x, touch - 1e-9)
    assert found
    assert s + 1.0 == pytest.approx(-1e-9 / slope, rel=1e-4)
    end, slope = core_probe.on_line(regressor, [0.1, 0.2, 1.0])
    for drop in (0.0, 1e-6, 0.5):
        found, s = core_probe.root(regressor, x, end - drop)
        assert found
        assert s == pytest.approx(1.0 - drop / slope, abs=1e-12)


def cubic(weights):
    """Legendre polynomials of one input."""
    regressor = made.polynomial(1, 1, len(weights) - 1)
    arrays = regressor.to_arrays() | {
        "weights": np.array([weights]), "x_offset": [0.0], "x_scale": [1.0],
        "y_offset": [0.0], "y_scale": [1.0],
    }  # fmt: skip
    return type(regressor).from_arrays(arrays)


def test_rising_end_is_passed_along_the_chord():
    touch, end = 1.5, 0.5
    found, s = core_probe.root(cubic([0.0, -0.5, 1.0]), [0.0], -1.0)
    assert found
    assert s == pytest.approx(1.0 + (-1.0 - end) / ((end - touch) / 2.0))


@every
def test_standard_error_is_that_of_the_formula(regressor):
    x = made.inside(regressor, 8)
    errors = regressor.standard_error(x)
    if not len(regressor.points) and not regressor.spread.size:
        assert np.isnan(errors).all()
        return
    assert errors == pytest.approx(reference.standard_error(regressor, x), rel=1e-7, abs=1e-12)


def test_model_of_the_error_stays_as_it_is_out_of_bounds():
    surface = made.polynomial(2, 2, 2)
    far, edge = surface.x_offset + 9 * surface.x_scale, surface.x_offset + surface.x_scale
    assert np.array_equal(surface.standard_error([far]), surface.standard_error([edge]))


@every
def test_scratch_memory_is_enough_and_its_content_does_not_matter(regressor):
    packed, x = regressor.packed, made.inside(regressor, 2)
    d, k = regressor.inputs, regressor.outputs
    wanted = packed.evaluate(x, 2)
    for fill in (7.0, np.nan):
        memory = np.full(packed.scratch + 64, fill)
        memory[packed.scratch :] = 7.0
        found = [np.empty((2, k, *[d] * each)) for each in range(3)]
        places = [address(each) for each in found]
        CORE.fill_regressor(packed.address, 2, address(x), 2, *places, address(memory))
        assert (memory[packed.scratch :] == 7.0).all()
        for own, other in zip(found, wanted, strict=True):
            assert np.array_equal(own, other)


@pytest.mark.parametrize("build", core_probe.BUILDS[:-1])
@every
def test_builds_agree(regressor, build, monkeypatch):
    x = made.inside(regressor, 10)
    wanted = regressor.packed.evaluate(x, 2)
    monkeypatch.setattr(packing, "CORE", open_library(build))
    for order, own in enumerate(regressor.packed.evaluate(x, 2)):
        assert np.abs(own - wanted[order]).max() <= 1e-12 * max(np.abs(wanted[order]).max(), 1.0)


def test_structs_are_as_large_as_the_librarys():
    structs = [name for name, kind in STRUCTS.items() if hasattr(kind, "_fields_")]
    assert len(structs) > 15
    for name in structs:
        assert core_probe.size_of(name) == core_probe.size_in_python(name)


def test_exponential_and_tangent():
    rng = np.random.default_rng(0)
    v = np.concatenate([rng.uniform(0, s, 8000) for s in (1e-9, 0.5, 3.0, 40.0, 708.0)])
    v[:8] = 0.0, 1e-300, 745.0, 746.0, 1e9, np.log(2.0) / 2, 19.9, 709.0
    decayed, bent = core_probe.functions(v)
    assert decayed == pytest.approx(np.exp(-v), rel=2e-15, abs=1e-320)
    assert bent == pytest.approx(np.tanh(v), rel=2e-15, abs=0.0)
    assert core_probe.functions(-v)[1] == pytest.approx(np.tanh(-v), rel=2e-15, abs=0.0)
