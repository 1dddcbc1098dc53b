"""Networks: gradients by differences, small fits, determinism, bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import reference
from reference import cube

from surrogates.families import network, network_training
from surrogates.families.cross_validation import coverage
from surrogates.families.network import NetworkSettings, fit_network
from surrogates.families.network_training import Layers, Training, loss_gradient, random_batches

SMALL = NetworkSettings(hidden=16, networks=1, steps=1000, batch=64, base_degree=1)


def truth(x):
    a, b, c = x.T
    one = np.tanh(4.0 * a + b) + 0.3 * c
    return np.stack([one, 1e3 * np.tanh(3.0 * b - c) * a - 5e3], axis=1)


def test_gradient_of_the_loss():
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(8, 3)), rng.normal(size=(8, 2))
    w = rng.uniform(0.1, 2.0, (8, 2))
    layers = Layers(*(a.astype(np.float64) for a in Layers.random(2, 5, 3, 2, rng)))
    slopes = Layers(*map(np.zeros_like, layers))
    loss_gradient(layers, slopes, z, y, w)

    def loss():
        values = layers.last[0, -1]
        for net, (inner, hidden) in enumerate(zip(layers.inner, layers.hidden, strict=True)):
            above = np.tanh(np.tanh(z @ inner[:3] + inner[3]) @ hidden[:5] + hidden[5])
            values = values + above @ layers.last[0, 5 * net : 5 * net + 5]
        return np.mean((w * (values - y) ** 2).sum(axis=1))

    assert [part.shape for part in layers] == [(2, 4, 5), (2, 6, 5), (1, 11, 2)]
    for part, slope in zip(layers, slopes, strict=True):
        for index in np.ndindex(part.shape):
            kept = part[index]
            part[index] = kept + 1e-6
            more = loss()
            part[index] = kept - 1e-6
            less = loss()
            part[index] = kept
            assert slope[index] == pytest.approx((more - less) / 2e-6, rel=1e-5, abs=1e-8)


def test_learning_rate_rises_and_falls_as_a_cosine():
    training = Training(1000, 1, 0.04, 0.1)
    rates = [training.rate_at(step, 1000) for step in range(1000)]
    assert rates[0] == pytest.approx(0.04 / 300)
    assert rates[500] == pytest.approx(0.04 * (0.1 + 0.9 * 0.5))
    assert rates[999] == pytest.approx(0.004, rel=1e-3)
    assert int(np.argmax(rates)) in range(250, 300)


def test_batches_take_every_row_before_any_again():
    data = [np.arange(10, dtype=np.float32)[:, None], 2 * np.arange(10, dtype=np.float32)[:, None]]
    batches = random_batches(data, 5, np.random.default_rng(0))
    for _ in range(3):
        (a, b), (c, _) = next(batches), next(batches)
        np.testing.assert_array_equal(b, 2 * a)
        assert sorted(np.concatenate([a, c])[:, 0]) == list(range(10))


@pytest.mark.parametrize("networks", [1, 2])
def test_learns_what_its_base_cannot(networks):
    x, where = cube(1500), 0.95 * cube(400, seed=3)
    settings = replace(SMALL, networks=networks, steps=1500)
    regressor, check = fit_network(x, truth(x), settings)
    assert regressor.family == "network"
    assert regressor.hidden.shape == (networks, 16, 16)
    assert regressor.pieces == 8
    error = np.std(reference.evaluate(regressor, where) - truth(where), axis=0)
    assert (error < 0.03 * np.std(truth(where), axis=0)).all()
    assert check.kind == "held back"
    assert len(np.unique(check.rows)) == len(check.residuals) == 75


def test_splines_add_detail_along_the_first_input():
    x, where = cube(3000), 0.95 * cube(400, seed=3)

    def bent(x):
        return truth(x) + 0.1 * np.sin(20.0 * x[:, :1]) * (1.0 + x[:, 1:2]) * [1.0, 1e3]

    errors = []
    for terms, pieces in ((1, 1), (30, 16)):
        settings = replace(SMALL, terms=terms, pieces=pieces)
        regressor = fit_network(x, bent(x), settings).regressor
        errors.append(np.std(reference.evaluate(regressor, where) - bent(where), axis=0))
    assert (errors[1] < 0.3 * errors[0]).all()


@pytest.mark.parametrize(("rows", "tried"), [(209, False), (211, True)])
def test_splines_are_tried_with_enough_samples(rows, tried, monkeypatch):
    calls = []
    beside = network._beside
    monkeypatch.setattr(network, "_beside", lambda *a: (calls.append(1), beside(*a))[1])
    fit_network(cube(rows), truth(cube(rows)), replace(SMALL, steps=50))
    assert bool(calls) == tried


def test_splines_do_not_take_the_place_of_a_better_polynomial():
    x = cube(1000)
    y = x[:, :1] ** 2 * x[:, 1:2] ** 2
    settings = replace(SMALL, steps=50, base_degree=4, degree=1)
    assert not fit_network(x, y, settings).regressor.pieces


def test_check_is_of_what_was_fitted():
    x = cube(300)
    regressor, check = fit_network(x, truth(x), SMALL)
    left = truth(x)[check.rows] - reference.evaluate(regressor, x[check.rows])
    np.testing.assert_allclose(check.residuals, left, atol=1e-8 * np.ptp(truth(x)))
    errors = reference.standard_error(regressor, x[check.rows])
    np.testing.assert_allclose(check.standard_errors, errors, rtol=1e-9)


@pytest.mark.delicate
def test_held_back_rows_are_not_learnt():
    x, y = cube(200), truth(cube(200))
    settings = replace(SMALL, steps=300)
    regressor, check = fit_network(x, y, settings, np.random.default_rng(1))
    # The same outputs in another order keep mean and deviation, which scale the outputs. Training
    # is chaotic: a change of the scale by a thousandth would change the network by per cents.
    y[check.rows] = y[check.rows][::-1]
    other, again = fit_network(x, y, settings, np.random.default_rng(1))
    np.testing.assert_array_equal(check.rows, again.rows)
    found, wanted = (reference.evaluate(each, x) for each in (other, regressor))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.ptp(y))
    assert not np.allclose(check.residuals, again.residuals, rtol=0.05)


def test_intervals_cover_what_they_promise():
    x, where = cube(3000), 0.97 * cube(1000, seed=3)
    regressor, check = fit_network(x, truth(x), replace(SMALL, held_back=0.2))
    np.testing.assert_allclose(coverage(check), 0.95, atol=0.005)
    error = np.abs(reference.evaluate(regressor, where) - truth(where))
    inside = (error < 1.96 * reference.standard_error(regressor, where)).mean(axis=0)
    assert (np.abs(inside - 0.945) < 0.045).all()


def test_weights_say_which_samples_count():
    x = cube(1000)
    y = truth(x)
    bad = x[:, 1] > 0.3
    y[bad] += np.ptp(y, axis=0) * np.random.default_rng(0).normal(size=(int(bad.sum()), 2))
    w = np.where(bad, 1e-4, 1.0)
    regressor, check = fit_network(x, y, SMALL, weights=w)
    assert not bad[check.rows].any()
    off = np.std(reference.evaluate(regressor, x) - truth(x), axis=0, where=~bad[:, None])
    plain = fit_network(x, y, SMALL).regressor
    worse = np.std(reference.evaluate(plain, x) - truth(x), axis=0, where=~bad[:, None])
    assert (off < 0.5 * worse).all()


@pytest.mark.parametrize("rows", [20, 200])
def test_few_samples(rows):
    x = cube(rows)
    y = np.column_stack([truth(x), np.full(rows, 4.5)])
    regressor, check = fit_network(x, y, replace(SMALL, base_degree=4, steps=500))
    assert np.isfinite(regressor.weights).all()
    assert np.isfinite(check.standard_errors).all()
    np.testing.assert_allclose(reference.evaluate(regressor, x)[:, 2], 4.5, atol=1e-6)
    assert 2 * len(regressor.exponents) <= rows
    off = np.std(reference.evaluate(regressor, x)[:, :2] - truth(x), axis=0)
    assert (off < np.std(truth(x), axis=0)).all()


def test_weights_of_outputs_say_which_output_counts():
    x = cube(1000)
    y = np.tanh(9.0 * x[:, :2] * x[:, 1:])
    settings = replace(SMALL, hidden=8, steps=400, terms=1, pieces=1)
    errors = []
    for influence in (1.0, 30.0):
        weights = np.outer(np.ones(1000), [1.0, influence])
        regressor = fit_network(x, y, settings, weights=weights).regressor
        errors.append(np.std(reference.evaluate(regressor, x) - y, axis=0))
    assert errors[1][0] > 1.2 * errors[0][0]
    assert errors[1][1] < 0.8 * errors[0][1]


def test_equal_weights_of_outputs_are_no_weights():
    x = cube(200)
    settings = replace(SMALL, steps=50)
    plain = fit_network(x, truth(x), settings).regressor
    weighed = fit_network(x, truth(x), settings, weights=np.full((200, 2), 3.0)).regressor
    np.testing.assert_allclose(weighed.weights, plain.weights, rtol=1e-3, atol=1e-3)


def test_a_fit_can_be_repeated():
    x = cube(200)
    first, again = (fit_network(x, truth(x), replace(SMALL, steps=50)).regressor for _ in (0, 1))
    np.testing.assert_array_equal(first.weights, again.weights)


def test_steps_are_bounded_by_the_samples(monkeypatch):
    taken = []
    gradient = network_training.loss_gradient
    monkeypatch.setattr(network_training, "_MOST_PASSES", 5)
    counted = lambda *a: (taken.append(1), gradient(*a))  # noqa: E731
    monkeypatch.setattr(network_training, "loss_gradient", counted)
    x = cube(200)
    fit_network(x, truth(x), SMALL)
    assert len(taken) == 5 * 190 // 64
