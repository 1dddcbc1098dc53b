"""Response surface: scikit-learn as oracle, identities, persistence, bad input, no SMT needed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from surrogates.kriging import KrigingSettings
from surrogates.regressor import FAMILIES, Regressor, fit_regressor, regressor_from_arrays
from surrogates.response_surface import (
    ResponseSurface,
    ResponseSurfaceSettings,
    fit_response_surface,
)
from surrogates.training import polynomial_exponents, polynomial_terms

ROOT = Path(__file__).parents[2]


def _naive():
    spec = importlib.util.spec_from_file_location(
        "surrogates_naive", Path(__file__).with_name("naive.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


naive = _naive()


def truth(x):
    a, b, c = x.T
    return np.stack([np.sin(a + 0.5 * b) * np.exp(0.4 * c), 1e3 * np.cos(a * b + c) - 5e3], axis=1)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    x = rng.uniform(-1.0, 1.0, (90, 3)) * [1.0, 2.0, 0.5] + [0.0, 3.0, 0.0]
    return x, truth(x), rng.uniform(-1.0, 1.0, (25, 3)) * [1.0, 2.0, 0.5] + [0.0, 3.0, 0.0]


def fit(x, y, degree=3, ridge=0.0):
    return fit_response_surface(x, y, ResponseSurfaceSettings(degree=degree, ridge=ridge))


@pytest.mark.parametrize("degree", [0, 1, 2, 4])
def test_scikit_learn_least_squares(data, degree):
    linear = pytest.importorskip("sklearn.linear_model")
    features = pytest.importorskip("sklearn.preprocessing").PolynomialFeatures(degree)
    x, y, where = data
    oracle = linear.LinearRegression(fit_intercept=False)
    oracle.fit(features.fit_transform(x), y)
    expected = oracle.predict(features.transform(where))
    size = np.abs(y).max(axis=0)
    found = fit(x, y, degree).predict(where)
    np.testing.assert_allclose(found / size, expected / size, rtol=0, atol=1e-9)


def test_terms_in_scikit_learn_order():
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    for d, degree in ((1, 4), (3, 3), (6, 2)):
        features = preprocessing.PolynomialFeatures(degree).fit(np.zeros((1, d)))
        assert np.array_equal(features.powers_, polynomial_exponents(d, degree))


def test_ridge_minimises_the_penalised_error(data):
    x, y, _ = data
    model = fit(x, y, degree=3, ridge=0.7)
    z = (x - model.x_offset) / model.x_scale
    basis = np.array([[naive.term(e, row) for e in model.exponents] for row in z])
    penalty = 0.7 * np.eye(basis.shape[1])
    penalty[0, 0] = 0.0
    scaled = (y - model.y_offset) / model.y_scale
    expected = np.linalg.solve(basis.T @ basis + penalty, basis.T @ scaled)
    np.testing.assert_allclose(model.coefficients, expected, rtol=1e-8, atol=1e-10)
    inverse = np.linalg.inv(basis.T @ basis + penalty)
    np.testing.assert_allclose(model.factor @ model.factor.T, inverse, rtol=1e-7, atol=1e-11)


@pytest.mark.parametrize("degree", [0, 1, 2, 5])
def test_naive_twin(data, degree):
    x, y, where = data
    model = fit(x, y, degree)
    scalings = (model.x_offset, model.x_scale, model.y_offset, model.y_scale)
    sums = (model.exponents, model.coefficients, "", (), (), (), scalings)
    expected = np.array([naive.predict(*sums, row) for row in where])
    np.testing.assert_allclose(model.predict(where), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(("d", "degree"), [(1, 7), (2, 4), (6, 3)])
def test_exact_polynomial_is_recovered(d, degree):
    rng = np.random.default_rng(d)
    exponents = polynomial_exponents(d, degree)
    weights = rng.normal(size=(len(exponents), 2))

    def polynomial(p):
        return (p[:, None, :] ** exponents).prod(axis=2) @ weights

    x, where = rng.uniform(-1, 1, (3 * len(exponents), d)), rng.uniform(-1, 1, (20, d))
    model = fit(x, polynomial(x), degree)
    np.testing.assert_allclose(model.predict(where), polynomial(where), rtol=1e-9, atol=1e-9)
    assert model.deviation.max() < 1e-10
    # the degree is found among candidates: lower ones cannot, higher ones need not
    chosen = fit(x, polynomial(x), tuple(range(degree + 1)))
    assert chosen.degree == degree


@pytest.mark.parametrize("degree", [0, 1, 2, 5])
def test_jacobian_is_the_derivative(data, degree):
    x, y, where = data
    model = fit(x, y, degree)
    for row in where[:5]:
        value, jacobian = model.predict_with_jacobian(row)
        np.testing.assert_allclose(value, model.predict(row[None])[0], rtol=1e-12, atol=1e-12)
        expected = naive.central_differences(lambda p: model.predict(p[None])[0], row)
        size = np.ptp(y, axis=0)[:, None]
        np.testing.assert_allclose(jacobian / size, expected / size, rtol=0, atol=1e-7)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_affine_maps_change_nothing(data, ridge):
    x, y, where = data
    plain = fit(x, y, (2, 3), ridge)
    slope, shift = np.array([1e-3, -40.0, 7.0]), np.array([5.0, -3.0, 0.1])
    mapped = fit(x * slope + shift, 1e6 * y + 7.0, (2, 3), ridge)
    size = np.ptp(y, axis=0)
    np.testing.assert_allclose(
        (mapped.predict(where * slope + shift) - 7.0) / 1e6 / size,
        plain.predict(where) / size,
        rtol=0,
        atol=1e-9,
    )


def test_constant_output(data):
    x, y, where = data
    model = fit(x, np.column_stack([y[:, 0], np.full(len(x), 4.25)]))
    np.testing.assert_allclose(model.predict(where)[:, 1], 4.25, rtol=1e-13, atol=0)
    assert np.abs(model.predict_with_jacobian(where[0])[1][1]).max() < 1e-12
    assert model.standard_error(where)[:, 1].max() < 1e-12


@pytest.mark.parametrize(("degree", "ridge"), [(1, 0.0), (3, 0.0), (3, 0.3)])
def test_leave_one_out_against_refits(data, degree, ridge):
    x, y, _ = data
    model = fit(x, y, degree, ridge)
    corners = set(x.argmin(axis=0)) | set(x.argmax(axis=0))  # these rows set the scaling
    rows = [i for i in range(len(x)) if i not in corners][:25]
    expected = []
    for i in rows:
        rest_y = np.delete(y, i, axis=0)
        without = fit(np.delete(x, i, axis=0), rest_y, degree, ridge)
        expected.append(y[i] - without.predict(x[[i]])[0])
    size = np.abs(expected).max(axis=0)
    np.testing.assert_allclose(
        model.leave_one_out()[rows] / size, np.array(expected) / size, rtol=0, atol=1e-9
    )


def test_standard_error_by_hand(data):
    x, y, where = data
    model = fit(x, y, 1)
    basis, at = np.column_stack([np.ones(len(x)), x]), np.column_stack([np.ones(len(where)), where])
    left = y - basis @ np.linalg.lstsq(basis, y, rcond=None)[0]
    deviation = np.sqrt((left**2).sum(axis=0) / (len(x) - 4))
    leverage = np.einsum("ij,jk,ik->i", at, np.linalg.inv(basis.T @ basis), at)
    expected = np.sqrt(1.0 + leverage)[:, None] * deviation
    np.testing.assert_allclose(model.standard_error(where), expected, rtol=1e-9, atol=0)


def test_standard_error_covers_noise():
    rng = np.random.default_rng(2)
    x, where = rng.uniform(-1, 1, (400, 2)), rng.uniform(-1, 1, (2000, 2))
    noisy = [p[:, [0]] * p[:, [1]] + rng.normal(scale=0.1, size=(len(p), 1)) for p in (x, where)]
    model = fit(x, noisy[0], 2)
    scores = (noisy[1] - model.predict(where)) / model.standard_error(where)
    assert 0.9 < scores.std() < 1.1


def test_degree_and_ridge_by_leave_one_out(data):
    x, y, _ = data
    model = fit(x, y, (1, 2, 3, 4), (0.0, 1e-4, 1.0))
    errors = {
        (d, r): ((fit(x, y, d, r).leave_one_out() / model.y_scale) ** 2).sum()
        for d in (1, 2, 3, 4)
        for r in (0.0, 1e-4, 1.0)
    }
    assert (model.degree, model.ridge) == min(errors, key=errors.get)
    # a degree that the samples cannot determine is passed over
    assert fit(x, y, (2, 9)).degree == 2


def test_arrays_round_trip(data, tmp_path):
    x, y, where = data
    model = fit(x, y, 3, 0.1)
    np.savez(tmp_path / "model.npz", **model.to_arrays())
    with np.load(tmp_path / "model.npz", allow_pickle=False) as stored:
        loaded = regressor_from_arrays(dict(stored))
    assert isinstance(loaded, ResponseSurface)
    assert isinstance(loaded, Regressor)
    assert np.array_equal(loaded.predict(where), model.predict(where))
    for mine, theirs in zip(
        model.predict_with_jacobian(where[0]), loaded.predict_with_jacobian(where[0]), strict=True
    ):
        assert np.array_equal(mine, theirs)
    assert np.array_equal(loaded.standard_error(where), model.standard_error(where))
    assert np.array_equal(loaded.leave_one_out(), model.leave_one_out())
    assert loaded.ridge == model.ridge


ANSWER = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("smt", "sklearn"):
            raise ImportError(name)

sys.meta_path.insert(0, Refuse())
import numpy as np
from surrogates.regressor import regressor_from_arrays

for package in ("smt", "sklearn"):
    try:
        __import__(package)
    except ImportError:
        continue
    raise SystemExit("the refusal does not work")
with np.load(sys.argv[1], allow_pickle=False) as stored:
    model = regressor_from_arrays(dict(stored))
x = np.load(sys.argv[2])
np.savez(
    sys.argv[3],
    values=model.predict(x),
    jacobian=model.predict_with_jacobian(x[0])[1],
    error=model.standard_error(x),
    residuals=model.leave_one_out(),
)
"""


@pytest.mark.parametrize("family", FAMILIES)
def test_answers_without_smt_and_scikit_learn(data, tmp_path, family):
    x, y, where = data
    model = fit_regressor(family, x, y, rng=np.random.default_rng(0))
    files = [tmp_path / name for name in ("model.npz", "x.npy", "out.npz")]
    np.savez(files[0], **model.to_arrays())
    np.save(files[1], where)
    done = subprocess.run(
        [sys.executable, "-c", ANSWER, *map(str, files)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with np.load(files[2]) as found:
        assert np.array_equal(found["values"], model.predict(where))
        assert np.array_equal(found["jacobian"], model.predict_with_jacobian(where[0])[1])
        assert np.array_equal(found["error"], model.standard_error(where))
        assert np.array_equal(found["residuals"], model.leave_one_out())


def test_registry(data):
    x, y, where = data
    surface = fit_regressor("response_surface", x, y, ResponseSurfaceSettings(degree=2))
    assert np.array_equal(surface.predict(where), fit(x, y, 2).predict(where))
    with pytest.raises(ValueError, match=r"family: expected one of .*kriging"):
        fit_regressor("spline", x, y)
    with pytest.raises(ValueError, match="settings: expected ResponseSurfaceSettings"):
        fit_regressor("response_surface", x, y, KrigingSettings())


def test_model_is_a_value(data):
    x, y, where = data
    model = fit(x, y)
    before = model.predict(where)
    with pytest.raises(ValueError, match="read-only"):
        model.coefficients[0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        model.leave_one_out()[0] = 0.0
    model.to_arrays()["coefficients"][:] = 0.0
    assert np.array_equal(before, model.predict(where))


def _with_nan(a):
    a = a.copy()
    a[3, 0] = np.nan
    return a


@pytest.mark.parametrize(
    ("change", "degree", "named"),
    [
        (lambda x, y: (_with_nan(x), y), 2, r"X: expected finite numbers.*\(3, 0\)"),
        (lambda x, y: (x, _with_nan(y)), 2, r"Y: expected finite numbers.*\(3, 0\)"),
        (lambda x, y: (x, y[:-1]), 2, "Y: expected one row for each of the 90 rows"),
        (lambda x, y: (x, y[:, 0]), 2, "Y: expected shape"),
        (lambda x, y: (x[:10], y[:10]), 2, "X: expected more than 10 rows.*degree-2.*found 10"),
        (lambda x, y: (x * [1, 1, 0], y), 1, "found them too alike"),
        (lambda x, y: (x[[0, 1] * 20], y[[0, 1] * 20]), 2, "found them too alike"),
        (
            lambda x, y: (np.vstack([x * [1, 1, 0], [[0, 0, 1]]]), y[np.r_[0:90, 0]]),
            1,
            "found row 90 to fix a degree-1 term alone",
        ),
    ],
)
def test_bad_data(data, change, degree, named):
    x, y, _ = data
    with pytest.raises(ValueError, match=named):
        fit(*change(x, y), degree)


def test_ridge_allows_few_samples(data):
    x, y, where = data
    model = fit(x[:15], y[:15], 3, 1e-3)
    assert np.isfinite(model.predict(where)).all()
    assert np.isfinite(model.standard_error(where)).all()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"degree": -1}, "degree: expected >= 0"),
        ({"degree": 2.5}, "degree: expected whole numbers, found 2.5"),
        ({"degree": 90}, "degree: expected .*<= 20"),
        ({"degree": ()}, "expected at least one value"),
        ({"ridge": -1.0}, "ridge: expected >= 0"),
        ({"ridge": (0.0, np.nan)}, "ridge: expected >= 0"),
    ],
)
def test_bad_settings(settings, named):
    with pytest.raises(ValueError, match=named):
        ResponseSurfaceSettings(**settings)


def test_bad_calls_and_arrays(data):
    x, y, _ = data
    model = fit(x, y)
    with pytest.raises(ValueError, match=r"X: expected shape \(any, 3\)"):
        model.predict(np.zeros((4, 2)))
    with pytest.raises(ValueError, match=r"x: expected shape \(3\)"):
        model.predict_with_jacobian(np.zeros(4))
    with pytest.raises(ValueError, match="X: expected finite"):
        model.standard_error(np.full((1, 3), np.inf))
    arrays = model.to_arrays()
    with pytest.raises(ValueError, match=r"missing \['factor'\]"):
        regressor_from_arrays({k: v for k, v in arrays.items() if k != "factor"})
    with pytest.raises(ValueError, match="coefficients: expected shape"):
        regressor_from_arrays(arrays | {"coefficients": arrays["coefficients"][:-1]})


def test_terms_need_their_parents():
    with pytest.raises(ValueError, match="exponents: expected the term"):
        polynomial_terms(np.array([[0, 0], [1, 1]]))
