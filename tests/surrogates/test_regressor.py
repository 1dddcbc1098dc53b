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


@pytest.mark.parametrize(
    "call",
    [
        lambda r: r.predict(np.zeros((2, 3))),
        lambda r: r.predict(np.full((2, 4), np.nan)),
        lambda r: r.predict_with_jacobian(np.zeros(3)),
        lambda r: r.hessian(np.zeros((1, 4))),
        lambda r: r.standard_error(np.zeros(4)),
    ],
)
def test_malformed_inputs_are_refused(call):
    with pytest.raises(ValueError, match=r"^[xX]: expected"):
        call(made.MADE["everything"])


def test_hessian_needs_an_output():
    with pytest.raises(ValueError, match="hessian: expected a regressor with an output"):
        made.polynomial(2, 0, 1).hessian([0.0, 0.0])


def test_posterior_of_points_that_coincide():
    regressor = made.kriging(12, 2, 1, nugget=0.0)
    points = regressor.points.copy()
    points[4] = points[7]
    arrays = regressor.to_arrays() | {"points": points}
    with pytest.raises(ValueError, match="points: expected a positive definite"):
        Regressor.from_arrays(arrays).standard_error(np.zeros((1, 2)))


def test_posterior_of_too_many_terms():
    with pytest.raises(ValueError, match="no more terms than the 5 points"):
        made.kriging(5, 2, 1, degree=2).standard_error(np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("weights", np.zeros((10, 3))),
        ("x_scale", np.zeros(4)),
        ("lengths", -np.ones(4)),
        ("kinds", np.array([0, 1, 2, 3])),
        ("shear", np.ones(4)),
        ("variance", -np.ones(10)),
        ("spread", np.zeros((10, 2))),
        ("wave", -1.0),
        ("nugget", np.nan),
        ("exponents", np.array([[1, 0, 0, 0]])),
        ("family", "spline"),
    ],
)
def test_malformed_regressors_are_refused(name, value):
    arrays = made.MADE["everything"].to_arrays() | {name: value}
    with pytest.raises(ValueError, match=f"{name}: expected"):
        Regressor.from_arrays(arrays)
    del arrays[name]
    with pytest.raises(ValueError, match=f"missing .*{name}"):
        Regressor.from_arrays(arrays)


def test_terms_need_their_parents_alone():
    assert polynomial_terms(np.array([[0, 0], [3, 0], [0, 1], [3, 1]])).tolist() == [
        [0, 0, 0],
        [0, 0, 3],
        [0, 1, 1],
        [1, 1, 1],
    ]
    with pytest.raises(ValueError, match="before"):
        polynomial_terms(np.array([[0, 0], [3, 1], [3, 0]]))
