"""Error figures: scikit-learn as the oracle, special cases, what a surrogate is asked."""

from __future__ import annotations

import manufactured
import numpy as np
import pytest

from foundation.loads import LOAD_COLUMNS
from surrogates.validation import (
    error_figures,
    errors_at_load,
    errors_at_pose,
    predict_at_pose,
)

metrics = pytest.importorskip("sklearn.metrics")


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    truth = rng.normal(20.0, 3.0, 200)
    return truth, truth + rng.normal(0.1, 0.5, 200)


def test_figures_are_those_of_scikit_learn(pair):
    truth, guess = pair
    found = error_figures(truth, guess)
    assert found.rmse == pytest.approx(metrics.root_mean_squared_error(truth, guess), rel=1e-12)
    assert found.mae == pytest.approx(metrics.mean_absolute_error(truth, guess), rel=1e-12)
    assert found.maximum == pytest.approx(metrics.max_error(truth, guess), rel=1e-12)
    assert found.q2 == pytest.approx(metrics.r2_score(truth, guess), rel=1e-12)
    assert found.nrmse == pytest.approx(found.rmse / np.abs(truth).max(), rel=1e-12)
    assert found.points == 200


def test_by_range(pair):
    truth, guess = pair
    found = error_figures(truth, guess, by_range=True)
    assert found.nrmse == pytest.approx(found.rmse / (truth.max() - truth.min()), rel=1e-12)


def test_the_peak_counts_by_its_size():
    found = error_figures([-10.0, 2.0], [-9.0, 2.0])
    assert found.nrmse == pytest.approx(np.sqrt(0.5) / 10.0, rel=1e-14)


def test_a_perfect_prediction():
    found = error_figures([1.0, 2.0], [1.0, 2.0])
    assert (found.rmse, found.mae, found.maximum, found.nrmse, found.q2) == (0, 0, 0, 0, 1)


def test_the_mean_explains_nothing():
    assert error_figures([1.0, 2.0, 6.0], np.full(3, 3.0)).q2 == pytest.approx(0.0, abs=1e-15)


def test_predictions_that_are_nan_are_left_out_and_counted(pair):
    truth, guess = pair
    holes = guess.copy()
    holes[::5] = np.nan
    known = np.isfinite(holes)
    found = error_figures(truth, holes)
    assert found == error_figures(truth[known], guess[known])
    assert found.points == 160


def test_a_constant_truth_has_no_scale():
    found = error_figures(np.zeros(3), [0.0, 0.0, 0.3])
    assert found.nrmse == np.inf
    assert found.q2 == -np.inf
    assert found.maximum == 0.3
    level = error_figures(np.full(3, 5.0), [5.0, 5.0, 5.3])
    assert level.nrmse == pytest.approx(level.rmse / 5.0, rel=1e-14)
    assert error_figures(np.full(3, 5.0), [5.0, 5.0, 5.3], by_range=True).nrmse == np.inf
    same = error_figures(np.full(3, 5.0), np.full(3, 5.0), by_range=True)
    assert (same.nrmse, same.q2) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("truth", "guess", "message"),
    [
        ([1.0], [1.0], "at least 2 known values, found 1"),
        ([1.0, 2.0, 3.0], [1.0, np.nan, np.nan], "at least 2 known values, found 1"),
        ([1.0, 2.0], [1.0], r"prediction: expected shape \(2\)"),
        ([1.0, np.nan], [1.0, 2.0], "truth: expected finite"),
        ([1.0, 2.0], [1.0, np.inf], "prediction: expected finite"),
    ],
)
def test_bad_values_are_refused(truth, guess, message):
    with pytest.raises(ValueError, match=message):
        error_figures(truth, guess)


def test_figures_by_name(pair):
    found = error_figures(*pair)
    names = ["rmse", "mae", "maximum", "nrmse", "q2", "points"]
    assert list(found.to_dict()) == names
    assert found.to_dict()["q2"] == found.q2


def test_prediction_at_poses():
    model = manufactured.inverted()
    poses, _ = manufactured.samples(model.space, 20, 4)
    poses[3, 4] += 0.05
    found = predict_at_pose(model, poses)
    for k, pose in enumerate(poses):
        np.testing.assert_array_equal(found[k], model.evaluate(pose)[0])
    assert np.isnan(found[3, 9:]).all()
    assert predict_at_pose(model, np.zeros((0, 6))).shape == (0, 12)
    with pytest.raises(ValueError, match=r"poses: expected shape \(any, 6\)"):
        predict_at_pose(model, poses[:, :5])


def test_errors_of_a_surrogate_are_those_of_its_answers():
    model = manufactured.inverted("linear_kriging")
    poses, loads = manufactured.samples(model.space, 80, 4)
    figures = errors_at_pose(model, poses, loads)
    assert list(figures) == list(LOAD_COLUMNS)
    guess = predict_at_pose(model, poses)
    for k, name in enumerate(LOAD_COLUMNS):
        expected = error_figures(loads[:, k], guess[:, k], by_range=name.startswith("cop"))
        assert figures[name] == expected
        assert figures[name].rmse > 0.0


def test_errors_at_load_hold_the_height_and_no_axial_force():
    model = manufactured.inverted("linear_kriging")
    poses, loads = manufactured.samples(model.space, 80, 4)
    figures = errors_at_load(model, poses, loads)
    assert list(figures) == ["superior_m", *LOAD_COLUMNS]
    height = model.at_load(poses, loads[:, 1])[0][:, 4]
    assert figures["superior_m"].rmse == pytest.approx(
        metrics.root_mean_squared_error(poses[:, 4], height), rel=1e-12
    )
    assert figures["superior_m"].nrmse == pytest.approx(
        figures["superior_m"].rmse / np.ptp(poses[:, 4]), rel=1e-12
    )
    assert figures["force_y_N"].maximum == 0.0
    assert figures["force_x_N"].rmse > 0.0


def test_an_exact_surrogate_has_no_errors():
    model = manufactured.inverted("response_surface")
    poses, loads = manufactured.samples(model.space, 80, 4)
    for figures in (errors_at_pose(model, poses, loads), errors_at_load(model, poses, loads)):
        for name, found in figures.items():
            assert found.nrmse < 1e-8, name
            assert found.points == 80
