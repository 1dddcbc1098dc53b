"""Parameters of designs, and arrays that depend on them."""

from __future__ import annotations

import numpy as np
import pytest
from differences import differences

from foundation.base.errors import InputError
from surrogates.families.basis import basis_matrix
from surrogates.families.training import polynomial_exponents
from surrogates.parametric.parameters import Parameters
from surrogates.parametric.smooth_array import SmoothArray

PARAMETERS = Parameters(("radius_mm", "slope_deg"), np.array([20.0, -3.0]), np.array([30.0, 9.0]))


def test_a_design_by_name_is_scaled_to_its_ranges():
    np.testing.assert_allclose(PARAMETERS.scaled({"slope_deg": 9.0, "radius_mm": 20.0}), [-1, 1])
    np.testing.assert_allclose(PARAMETERS.scaled([25.0, 0.0]), [0.0, -0.5])
    np.testing.assert_allclose(PARAMETERS.from_unit(np.array([[0.5, 0.25]])), [[25.0, 0.0]])
    assert PARAMETERS.named(np.array([21.0, 1.0])) == {"radius_mm": 21.0, "slope_deg": 1.0}


@pytest.mark.parametrize(
    ("design", "message"),
    [
        ({"radius_mm": 25.0}, "expected values of radius_mm, slope_deg, found radius_mm"),
        ({"radius_mm": 25.0, "slope_deg": 1.0, "varus_deg": 0.0}, "found .*varus_deg"),
        ({"radius_mm": 31.0, "slope_deg": 1.0}, "radius_mm: expected 20 to 30, found 31"),
        ([25.0], r"expected shape \(2\), found \(1,\)"),
        ([25.0, np.nan], "expected finite numbers"),
    ],
)
def test_other_designs_are_refused(design, message):
    with pytest.raises(InputError, match=message):
        PARAMETERS.values(design)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (((), [], []), "at least one"),
        ((("a", "a"), [0, 0], [1, 1]), "unique names"),
        ((("a",), [1.0], [1.0]), "a: expected low < high"),
        ((tuple("abcdefghi"), np.zeros(9), np.ones(9)), "at most 8, found 9"),
    ],
)
def test_other_parameters_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        Parameters(*fields)


def test_the_header_gives_the_parameters_back():
    found = Parameters.from_header(PARAMETERS.to_header())
    assert found.names == PARAMETERS.names
    np.testing.assert_array_equal(found.low, PARAMETERS.low)
    with pytest.raises(InputError, match="expected name, low and high"):
        Parameters.from_header([{"name": "a"}])


def test_a_quadratic_array_is_found_exactly():
    rng = np.random.default_rng(1)
    exponents = polynomial_exponents(3, 2)
    coefficients = rng.normal(size=(len(exponents), 2, 4))
    z = rng.uniform(-1.0, 1.0, (20, 3))
    arrays = np.tensordot(basis_matrix(z, exponents), coefficients, axes=1)
    found = SmoothArray.fit(z, arrays)
    np.testing.assert_allclose(found.coefficients, coefficients, atol=1e-12)
    np.testing.assert_allclose(found.at(z[3]), arrays[3], atol=1e-12)
    slopes = np.moveaxis(differences(found.at, z[3], 1e-4), -1, 0)
    np.testing.assert_allclose(found.slopes(z[3]), slopes, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("designs", "degree"), [(1, 0), (3, 0), (5, 1), (9, 2)])
def test_few_designs_have_a_lower_degree(designs, degree):
    z = np.random.default_rng(0).uniform(-1.0, 1.0, (designs, 2))
    assert SmoothArray.fit(z, z).exponents.sum(axis=1).max() == degree


def test_malformed_arrays_are_refused():
    with pytest.raises(InputError, match="expected 1 arrays"):
        SmoothArray(np.zeros((1, 2), dtype=int), np.ones((2, 3)))
    with pytest.raises(InputError, match=r"expected .* degrees"):
        SmoothArray(np.zeros((1, 2)), np.ones((1, 3)))
    with pytest.raises(InputError, match="missing"):
        SmoothArray.from_arrays({})
