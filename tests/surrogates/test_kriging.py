"""Kriging: SMT and a naive twin as oracles, identities, persistence, bad input."""

from __future__ import annotations

import importlib.util
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from surrogates.kernels import evaluate
from surrogates.kriging import CORRELATIONS, TRENDS, Kriging, KrigingSettings, fit_kriging
from surrogates.regressor import Regressor, fit_regressor, regressor_from_arrays
from surrogates.training import polynomial_exponents


def _naive():
    spec = importlib.util.spec_from_file_location(
        "surrogates_naive", Path(__file__).with_name("naive.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


naive = _naive()
EVERY = list(product(CORRELATIONS, TRENDS))
THETA = {"squar_exp": [0.6, 0.3, 0.2], "matern52": [0.5, 0.4, 0.3], "matern32": [0.4, 0.2, 0.3]}


def truth(x):
    a, b, c = x.T
    return np.stack([np.sin(a + 0.5 * b) * np.exp(0.4 * c), 1e3 * np.cos(a * b + c) - 5e3], axis=1)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    x = rng.uniform(-1.0, 1.0, (60, 3)) * [1.0, 2.0, 0.5] + [0.0, 3.0, 0.0]
    return x, truth(x), rng.uniform(-0.9, 0.9, (25, 3)) * [1.0, 2.0, 0.5] + [0.0, 3.0, 0.0]


def fit(x, y, correlation="matern52", trend="linear", nugget=1e-8):
    settings = KrigingSettings(correlation=correlation, trend=trend, nugget=nugget)
    return fit_kriging(x, y, settings, lengths=THETA[correlation])


def smt_model(x, y, correlation, trend, nugget):
    smt = pytest.importorskip("smt.surrogate_models")
    model = smt.KRG(
        corr=correlation,
        poly=trend,
        theta0=list(THETA[correlation]),
        nugget=nugget,
        hyper_opt="NoOp",
        n_start=1,
        print_global=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_training_values(x, y)
        model.train()
    return model


@pytest.mark.parametrize(("correlation", "trend"), EVERY)
def test_smt_values_and_errors(data, correlation, trend):
    x, y, where = data
    ours = fit(x, y, correlation, trend)
    for k in range(y.shape[1]):
        oracle = smt_model(x, y[:, [k]], correlation, trend, 1e-8)
        scale = np.abs(y[:, k]).max()
        found = ours.predict(where)[:, k]
        np.testing.assert_allclose(
            found, oracle.predict_values(where)[:, 0], rtol=0, atol=1e-8 * scale
        )
        if trend == "constant":
            # with more trend terms SMT 2.15 solves with the upper half of a lower triangle
            error = ours.standard_error(where)[:, k]
            variance = oracle.predict_variances(where)[:, 0]
            np.testing.assert_allclose(error**2, variance, rtol=1e-7, atol=1e-10 * variance.max())


@pytest.mark.parametrize(("correlation", "trend"), EVERY)
def test_sacks1989_eq9_standard_error(data, correlation, trend):
    x, y, where = data
    model = fit(x, y, correlation, trend)
    exponents = polynomial_exponents(3, TRENDS[trend])

    def correlations(a):
        return np.array(
            [[naive.correlation(correlation, model.theta, p, q) for q in model.points] for p in a]
        )

    def terms(a):
        return np.array([[naive.term(e, p) for e in exponents] for p in a])

    z = (where - model.x_offset) / model.x_scale
    inverse = np.linalg.inv(correlations(model.points) + 1e-8 * np.eye(len(x)))
    r, f, big_f = correlations(z), terms(z), terms(model.points)
    u = big_f.T @ inverse @ r.T - f.T
    middle = np.linalg.solve(big_f.T @ inverse @ big_f, u)
    relative = 1.0 - np.einsum("ij,jk,ik->i", r, inverse, r) + (u * middle).sum(axis=0)
    expected = np.outer(relative, model.variance)
    np.testing.assert_allclose(model.standard_error(where) ** 2, expected, rtol=1e-5, atol=0)


@pytest.mark.parametrize(("correlation", "trend"), [e for e in EVERY if e[1] != "quadratic"])
def test_smt_derivatives(data, correlation, trend):
    x, y, where = data
    ours = fit(x, y[:, [0]], correlation, trend)
    oracle = smt_model(x, y[:, [0]], correlation, trend, 1e-8)
    expected = np.hstack([oracle.predict_derivatives(where, j) for j in range(3)])
    found = np.array([ours.predict_with_jacobian(row)[1][0] for row in where])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize(("correlation", "trend"), EVERY)
def test_naive_twin(data, correlation, trend):
    x, y, where = data
    model = fit(x, y, correlation, trend)
    exponents = polynomial_exponents(3, TRENDS[trend])
    scalings = (model.x_offset, model.x_scale, model.y_offset, model.y_scale)
    sums = (exponents, model.beta, correlation, model.theta, model.points, model.gamma, scalings)
    expected = np.array([naive.predict(*sums, row) for row in where])
    size = np.abs(y).max(axis=0)
    np.testing.assert_allclose(model.predict(where) / size, expected / size, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [255, 256, 257, 600])
def test_blocks_of_points(n):
    rng = np.random.default_rng(n)
    x = rng.uniform(-1, 1, (n, 3))
    model = fit(x, truth(x), "matern32", nugget=1e-6)
    z = (x[:40] - model.x_offset) / model.x_scale
    expected = [
        [naive.correlation("matern32", model.theta, row, point) for point in model.points]
        for row in z
    ]
    beta = np.hstack([np.ones((40, 1)), z]) @ model.beta
    y = model.y_offset + model.y_scale * (beta + np.array(expected) @ model.gamma)
    np.testing.assert_allclose(model.predict(x[:40]), y, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict_with_jacobian(x[0])[0], y[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("correlation", "trend"), EVERY)
def test_jacobian_is_the_derivative(data, correlation, trend):
    x, y, where = data
    model = fit(x, y, correlation, trend)
    for row in where[:5]:
        value, jacobian = model.predict_with_jacobian(row)
        np.testing.assert_allclose(value, model.predict(row[None])[0], rtol=1e-12, atol=1e-12)
        expected = naive.central_differences(lambda p: model.predict(p[None])[0], row)
        size = np.abs(expected).max(axis=1, keepdims=True)
        np.testing.assert_allclose(jacobian / size, expected / size, rtol=0, atol=2e-6)


@pytest.mark.parametrize(("correlation", "trend"), EVERY)
def test_interpolates_at_zero_nugget(data, correlation, trend):
    x, y, _ = data
    model = fit(x[:40], y[:40], correlation, trend, nugget=0.0)
    assert model.nugget == 0.0
    spread = np.ptp(y, axis=0)
    np.testing.assert_allclose(model.predict(x[:40]) / spread, y[:40] / spread, rtol=0, atol=1e-8)
    assert (model.standard_error(x[:40]) / spread).max() < 1e-5
    assert (model.standard_error(x[40:]) / spread).min() > 1e-5


def test_nugget_smooths(data):
    x, y, _ = data
    model = fit(x, y, nugget=1e-2)
    assert np.abs(model.predict(x) - y)[:, 0].max() > 1e-4


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_affine_maps_change_nothing(data, correlation):
    x, y, where = data
    slope, shift = np.array([1e-3, -40.0, 7.0]), np.array([5.0, -3.0, 0.1])
    mapped = fit(x * slope + shift, 1e6 * y + 7.0, correlation)
    expected, size = fit(x, y, correlation).predict(where), np.ptp(y, axis=0)
    found = (mapped.predict(where * slope + shift) - 7.0) / 1e6
    np.testing.assert_allclose(found / size, expected / size, rtol=0, atol=1e-8)


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_scaling_does_not_move_the_search(data, correlation):
    x, y, _ = data
    settings = KrigingSettings(correlation=correlation, likelihood_points=40)
    plain = fit_kriging(x, y, settings, np.random.default_rng(0))
    slope = np.array([2.0**-10, 32.0, 4.0])  # powers of two round nothing
    mapped = fit_kriging(x * slope, 2.0**20 * y, settings, np.random.default_rng(0))
    assert np.array_equal(mapped.theta, plain.theta)
    assert np.array_equal(mapped.gamma, plain.gamma)


@pytest.mark.parametrize(("trend", "degree"), [("constant", 0), ("linear", 1), ("quadratic", 2)])
def test_trend_is_recovered_far_outside(trend, degree):
    rng = np.random.default_rng(1)
    x, far = rng.uniform(-1, 1, (50, 3)), rng.uniform(-10, 10, (20, 3))
    exponents = polynomial_exponents(3, degree)
    weights = rng.normal(size=len(exponents))

    def polynomial(p):
        return (p[:, None, :] ** exponents).prod(axis=2) @ weights[:, None]

    model = fit(x, polynomial(x), "squar_exp", trend)
    np.testing.assert_allclose(model.predict(far), polynomial(far), rtol=1e-8, atol=1e-8)


def test_constant_output(data):
    x, y, where = data
    outputs = np.column_stack([y[:, 0], np.full(len(x), 4.25)])
    model = fit_kriging(x, outputs, rng=np.random.default_rng(0))
    np.testing.assert_allclose(model.predict(where)[:, 1], 4.25, rtol=1e-14, atol=0)
    assert np.abs(model.predict_with_jacobian(where[0])[1][1]).max() < 1e-12
    alone = fit_kriging(x, outputs[:, [1]], rng=np.random.default_rng(0))
    np.testing.assert_allclose(alone.predict(where), 4.25, rtol=1e-14, atol=0)


@pytest.mark.parametrize(("correlation", "trend"), EVERY)
@pytest.mark.parametrize("nugget", [1e-8, 1e-3])
def test_dubrule1983_leave_one_out(data, correlation, trend, nugget):
    x, y, _ = data
    x, y = x[:30], y[:30]
    model = fit(x, y, correlation, trend, nugget)
    expected = np.empty_like(y)
    power = 2 if correlation == "squar_exp" else 1
    for i in range(len(x)):
        rest = np.delete(x, i, axis=0)
        ratio = rest.std(axis=0, ddof=1) / model.x_scale
        settings = KrigingSettings(correlation=correlation, trend=trend, nugget=nugget)
        without = fit_kriging(
            rest, np.delete(y, i, axis=0), settings, lengths=model.theta * ratio**power
        )
        expected[i] = y[i] - without.predict(x[[i]])[0]
    size = np.abs(expected).max(axis=0)
    np.testing.assert_allclose(model.leave_one_out() / size, expected / size, rtol=0, atol=1e-5)


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_search_finds_good_lengths(data, correlation):
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (200, 3))
    where = rng.uniform(-1, 1, (200, 3))
    settings = KrigingSettings(correlation=correlation, likelihood_points=120)
    model = fit_kriging(x, truth(x), settings, np.random.default_rng(0))
    error = np.sqrt(((model.predict(where) - truth(where)) ** 2).mean(axis=0))
    limit = {"squar_exp": 2e-4, "matern52": 4e-3, "matern32": 1.5e-2}[correlation]
    assert (error / np.ptp(truth(where), axis=0)).max() < limit
    # leave-one-out stands for the error at new points
    loo = np.sqrt((model.leave_one_out() ** 2).mean(axis=0))
    assert np.all(loo < 4 * error)
    assert np.all(loo > 0.5 * error)


def test_noise_is_estimated():
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (150, 2))
    smooth = np.sin(2 * x[:, [0]]) + x[:, [1]] ** 2
    y = smooth + rng.normal(scale=0.05, size=smooth.shape)
    settings = KrigingSettings(correlation="squar_exp", estimate_noise=True)
    model = fit_kriging(x, y, settings, np.random.default_rng(0))
    noise = np.sqrt(model.nugget * model.variance[0])
    assert 0.03 < noise < 0.08
    assert np.sqrt(np.mean((model.predict(x) - smooth) ** 2)) < 0.03


def test_same_generator_same_model(data):
    x, y, where = data
    first = fit_kriging(x, y, rng=np.random.default_rng(9)).predict(where)
    assert np.array_equal(first, fit_kriging(x, y, rng=np.random.default_rng(9)).predict(where))


def test_nugget_is_raised_and_reported():
    x = np.linspace(-1, 1, 80)[:, None]
    settings = KrigingSettings(correlation="squar_exp", nugget=1e-16)
    model = fit_kriging(x, np.sin(x), settings, lengths=[0.01])
    assert 1e-16 < model.nugget <= 1e-6
    np.testing.assert_allclose(model.predict(x), np.sin(x), rtol=0, atol=1e-4)


def test_arrays_round_trip(data, tmp_path):
    x, y, where = data
    model = fit(x, y, "matern52", "quadratic")
    np.savez(tmp_path / "model.npz", **model.to_arrays())
    with np.load(tmp_path / "model.npz", allow_pickle=False) as stored:
        loaded = regressor_from_arrays(dict(stored))
    assert isinstance(loaded, Kriging)
    assert isinstance(loaded, Regressor)
    assert np.array_equal(loaded.predict(where), model.predict(where))
    for mine, theirs in zip(
        model.predict_with_jacobian(where[0]), loaded.predict_with_jacobian(where[0]), strict=True
    ):
        assert np.array_equal(mine, theirs)
    assert np.array_equal(loaded.standard_error(where), model.standard_error(where))
    assert np.array_equal(loaded.leave_one_out(), model.leave_one_out())


def test_model_is_a_value(data):
    x, y, where = data
    model = fit(x, y)
    before = model.predict(where)
    x[:] += 0.0
    with pytest.raises(ValueError, match="read-only"):
        model.gamma[0] = 0.0
    model.to_arrays()["gamma"][:] = 0.0
    assert np.array_equal(before, model.predict(where))


def test_kernel_arguments_have_one_signature(data):
    x, y, _ = data
    kriging = fit(x, y).kernel_arguments()
    single = fit(x, y[:, :1]).kernel_arguments()
    surface = fit_regressor("response_surface", x, y).kernel_arguments()
    for other in (single, surface):
        for a, b in zip(kriging, other, strict=True):
            assert type(a) is type(b)
            if isinstance(a, np.ndarray):
                assert (a.dtype, a.ndim) == (b.dtype, b.ndim)
                assert b.flags.c_contiguous
                assert b.flags.writeable
    value, jacobian = np.empty(2), np.empty((2, 3))
    evaluate(x[0], *kriging, value, jacobian)
    np.testing.assert_allclose(value, fit(x, y).predict(x[:1])[0], rtol=1e-12, atol=0)


def _with_nan(a):
    a = a.copy()
    a[3, 0] = np.nan
    return a


@pytest.mark.parametrize(
    ("change", "settings", "named"),
    [
        (lambda x, y: (_with_nan(x), y), {}, r"X: expected finite numbers.*\(3, 0\)"),
        (lambda x, y: (x, _with_nan(y)), {}, r"Y: expected finite numbers.*\(3, 0\)"),
        (lambda x, y: (x, y[:-1]), {}, "Y: expected one row for each of the 60 rows"),
        (lambda x, y: (x[:, 0], y), {}, "X: expected shape"),
        (lambda x, y: (x[:0], y[:0]), {}, "X, Y: expected at least one row"),
        (lambda x, y: (x[:4], y[:4]), {}, "X: expected more than 4 rows for a linear trend"),
        (lambda x, y: (x[:10], y[:10]), {"trend": "quadratic"}, "more than 10 rows for a quadra"),
        (lambda x, y: (x * [1, 1, 0], y), {}, "X: expected columns that determine a linear"),
        (
            lambda x, y: (np.vstack([x, x[:2]]), np.vstack([y, y[:2]])),
            {"nugget": 0.0},
            "X: expected distinct rows with a zero nugget, found 2",
        ),
    ],
)
def test_bad_data(data, change, settings, named):
    x, y, _ = data
    with pytest.raises(ValueError, match=named):
        fit_kriging(*change(x, y), KrigingSettings(**settings), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"correlation": "gauss"}, "correlation: expected one of .*matern52"),
        ({"trend": "cubic"}, "trend: expected one of .*linear"),
        ({"nugget": -1e-9}, "nugget: expected >= 0"),
        ({"likelihood_points": 3}, "likelihood_points: expected >= 10"),
        ({"n_start": 0}, "n_start: expected >= 1"),
    ],
)
def test_bad_settings(settings, named):
    with pytest.raises(ValueError, match=named):
        KrigingSettings(**settings)


def test_repeated_rows_with_nugget(data):
    x, y, where = data
    model = fit(np.vstack([x, x[:2]]), np.vstack([y, y[:2]]))
    size = np.ptp(y, axis=0)
    np.testing.assert_allclose(
        model.predict(where) / size, fit(x, y).predict(where) / size, rtol=0, atol=1e-2
    )


def test_bad_calls(data):
    x, y, _ = data
    model = fit(x, y)
    with pytest.raises(ValueError, match="rng: expected a numpy Generator"):
        fit_kriging(x, y)
    with pytest.raises(ValueError, match=r"lengths: expected shape \(3\)"):
        fit_kriging(x, y, lengths=[1.0])
    with pytest.raises(ValueError, match="lengths: expected numbers of at least 0"):
        fit_kriging(x, y, lengths=[1.0, -1.0, 1.0])
    with pytest.raises(ValueError, match=r"X: expected shape \(any, 3\)"):
        model.predict(np.zeros((4, 2)))
    with pytest.raises(ValueError, match=r"x: expected shape \(3\)"):
        model.predict_with_jacobian(np.zeros(4))
    with pytest.raises(ValueError, match="X: expected finite"):
        model.standard_error(np.full((1, 3), np.nan))


def test_bad_arrays(data):
    x, y, _ = data
    arrays = fit(x, y).to_arrays()
    with pytest.raises(ValueError, match=r"missing \['gamma'\]"):
        regressor_from_arrays({k: v for k, v in arrays.items() if k != "gamma"})
    with pytest.raises(ValueError, match="gamma: expected shape"):
        regressor_from_arrays(arrays | {"gamma": arrays["gamma"][:-1]})
    with pytest.raises(ValueError, match="x_scale: expected positive"):
        regressor_from_arrays(arrays | {"x_scale": 0.0 * arrays["x_scale"]})
    with pytest.raises(ValueError, match="family: expected one of"):
        regressor_from_arrays(arrays | {"family": np.array("spline")})
    with pytest.raises(ValueError, match="under 'family', found none"):
        regressor_from_arrays({})
