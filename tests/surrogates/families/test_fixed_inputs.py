"""Regressors with fixed inputs against the whole regressor, and their packed form."""

import made
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from foundation.base.errors import InputError
from surrogates.families.fixed_inputs import FixedInputs

REGRESSORS = {
    "polynomial": made.polynomial(5, 3, 4),
    "Fourier": made.polynomial(4, 2, 3, wave=1.3),
    "network": made.network(5, 3, 9, nets=2),
    "splines in a shear": made.splines(5, 4, 2, np.linspace(-0.9, 0.9, 9), [1, 2]),
    "networks beside splines": made.networks_beside_splines(5, 2, 7, np.linspace(-0.9, 0.8, 5)),
}


def with_values(inputs, first, values):
    """Inputs (N, d - P) with the fixed ones between the others."""
    rows = np.tile(values, (len(inputs), 1))
    return np.concatenate([inputs[:, :first], rows, inputs[:, first:]], axis=1)


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("first", [1, 2])
def test_fixed_regressor_is_the_whole_one_there(name, first):
    whole = REGRESSORS[name]
    inside = made.inside(whole, 40)
    fixed = FixedInputs(whole, first, 2)
    for values in inside[:3, first : first + 2]:
        own = fixed.at(values)
        rest = np.delete(inside, [first, first + 1], axis=1)
        rows = with_values(rest, first, values)
        assert_allclose(own.predict(rest), whole.predict(rows), rtol=1e-11, atol=1e-11)
        assert_allclose(
            own.standard_error(rest), whole.standard_error(rows), rtol=1e-11, equal_nan=True
        )


@pytest.mark.parametrize("name", REGRESSORS)
def test_fixed_regressor_is_as_good_as_a_new_one(name):
    own = FixedInputs(REGRESSORS[name], 1, 2).at([0.3, -0.2])
    new = type(own).from_arrays(own.to_arrays())
    x = made.inside(new, 5)
    assert_array_equal(own.predict(x), new.predict(x))
    assert_array_equal(own.terms, new.terms)
    assert all(not getattr(own, field).flags.writeable for field in ("weights", "inner_bias"))


def test_unusable_inputs_are_refused():
    whole = REGRESSORS["polynomial"]
    with pytest.raises(InputError, match="first: expected 1 to 3 for 2 of 5 inputs, found 4"):
        FixedInputs(whole, 4, 2)
    with pytest.raises(InputError, match="first: expected 1 to 3"):
        FixedInputs(whole, 0, 2)
    with pytest.raises(InputError, match="found Kriging"):
        FixedInputs(made.kriging(9, 5, 1), 1, 2)
    fixed = FixedInputs(whole, 1, 2)
    with pytest.raises(InputError, match=r"values: expected shape \(2\)"):
        fixed.at([0.1])
    with pytest.raises(InputError, match="values: expected finite numbers"):
        fixed.at([0.1, np.nan])


def test_other_numbers_of_other_shapes_are_refused():
    regressor = REGRESSORS["network"]
    with pytest.raises(InputError, match="weights: expected shape"):
        regressor.with_numbers(weights=regressor.weights[:, :-1])
    with pytest.raises(InputError, match="numbers: expected one of"):
        regressor.with_numbers(x_scale=regressor.x_scale)
    with pytest.raises(InputError, match="weights: expected finite"):
        regressor.with_numbers(weights=np.nan * regressor.weights)
