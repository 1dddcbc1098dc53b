import made
import numpy as np
import pytest
import reference

from surrogates.compiled.regressor_data import polynomial_terms
from surrogates.families.regressor import Regressor


@pytest.mark.parametrize("regressor", made.MADE.values(), ids=made.MADE)
def test_arrays_give_the_regressor_back(regressor):
    again = Regressor.from_arrays(regressor.to_arrays())
    x = made.inside(regressor, 3)
    assert np.array_equal(again.predict(x), regressor.predict(x))
    for name, values in regressor.to_arrays().items():
        assert np.array_equal(getattr(again, name), values)


def test_predictions():
    regressor = made.MADE["everything"]
    x = made.inside(regressor, 5)
    assert made.off(regressor.predict(x), reference.evaluate(regressor, x)) < 1e-13
    value, jacobian = regressor.predict_with_jacobian(x[2])
    assert made.off(value, regressor.predict(x)[2]) < 1e-14
    assert jacobian.shape == (10, 4)
    assert regressor.hessian(x[2]).shape == (4, 4)
    assert regressor.predict(x[:0]).shape == (0, 10)
    assert regressor.standard_error(x).shape == (5, 10)


def test_terms_need_their_parents_alone():
    found = polynomial_terms(np.array([[0, 0], [3, 0], [0, 1], [3, 1]]))
    assert found.tolist() == [[0, 0, 0], [0, 0, 3], [0, 1, 1], [1, 1, 1]]
