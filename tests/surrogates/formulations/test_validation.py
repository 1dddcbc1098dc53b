"""Error figures: scikit-learn as the oracle, special cases, what a surrogate is asked."""

import manufactured
import numpy as np
import pytest

from foundation.base.loads import LOAD_COLUMNS
from surrogates.formulations.validation import (
    AT_LOAD_COLUMNS,
    distance_figures,
    error_figures,
    errors_at_load,
    errors_at_pose,
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
    by_range = error_figures(truth, guess, by_range=True)
    assert by_range.nrmse == pytest.approx(found.rmse / np.ptp(truth), rel=1e-12)
    assert found.points == 200
    names = ["rmse", "mae", "maximum", "nrmse", "q2", "points"]
    assert list(found.to_dict().items()) == [(name, getattr(found, name)) for name in names]


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
    assert error_figures([1.0, 2.0], [1.0, 2.0]).q2 == 1.0  # two values are enough


def test_distances_are_those_between_points():
    truth = np.array([[0.0, 0.0, 0.0], [3.0, 4.0, 0.0], [0.0, 0.0, 12.0], [1.0, 1.0, 1.0]])
    apart = [[0.0, 0.0, 0.0], [0.0, 3.0, 4.0], [0.0, 0.0, -1.0], [np.nan, 0.0, 0.0]]
    guess = truth + np.array(apart)
    found = distance_figures(truth, guess)
    assert found.points == 3
    assert found.maximum == pytest.approx(5.0, rel=1e-14)
    assert found.mae == pytest.approx(2.0, rel=1e-14)
    assert found.rmse == pytest.approx(np.sqrt(26 / 3), rel=1e-14)
    # By the diagonal of the box, 3 x 4 x 12, of the points that are known.
    assert found.nrmse == pytest.approx(found.rmse / 13.0, rel=1e-14)
    about_mean = ((truth[:3] - truth[:3].mean(axis=0)) ** 2).sum()
    assert found.q2 == pytest.approx(1.0 - 26.0 / about_mean, rel=1e-13)


def test_a_surrogate_that_sees_no_contact_has_no_figures_of_the_centre():
    model = manufactured.compartment()
    poses, loads = samples(20)
    figures = errors_at_pose(model, poses + 0.05 * np.eye(6)[4], loads)
    assert figures["cop_x_m"].points == 0
    assert np.isnan(figures["cop_x_m"].rmse)
    assert figures["force_y_N"].points == 20
    assert figures["force_y_N"].maximum == np.abs(loads[:, 1]).max()


def samples(count=60, seed=4, within=0.7):
    true = manufactured.truth()
    found = true.samples(manufactured.draw(count, seed, within))
    return found.poses, found.loads


@pytest.fixture(scope="module")
def model():
    """A surrogate that is near, not exact."""
    return manufactured.compartment("inverted", "kriging")


def test_errors_at_load_hold_the_height_and_no_axial_force(model):
    poses, loads = samples()
    figures = errors_at_load(model, poses, loads)
    assert list(figures) == ["superior_m", *LOAD_COLUMNS, *AT_LOAD_COLUMNS]
    height = model.at_load(poses, loads[:, 1])[0][:, 4]
    assert figures["superior_m"].rmse == pytest.approx(
        metrics.root_mean_squared_error(poses[:, 4], height), rel=1e-12
    )
    assert figures["superior_m"].nrmse == pytest.approx(
        figures["superior_m"].rmse / np.ptp(poses[:, 4]), rel=1e-12
    )
    assert figures["force_y_N"].maximum == 0.0
    assert figures["force_x_N"].rmse > 0.0


def test_errors_at_load_in_the_terms_that_users_judge_by(model):
    poses, loads = samples()
    figures = errors_at_load(model, poses, loads)
    guess = model.at_load(poses, loads[:, 1])[1]
    for name, k in (("force_x_over_axial", 0), ("force_z_over_axial", 2)):
        share = (guess[:, k] - loads[:, k]) / loads[:, 1]
        assert figures[name].rmse == pytest.approx(np.sqrt((share**2).mean()), rel=1e-10)
        assert figures[name].maximum == pytest.approx(np.abs(share).max(), rel=1e-10)
    apart = np.linalg.norm(guess[:, 9:] - loads[:, 9:], axis=1)
    found = figures["cop_distance_m"]
    assert found.rmse == pytest.approx(np.sqrt((apart**2).mean()), rel=1e-10)
    assert found.maximum == pytest.approx(apart.max(), rel=1e-10)
    axes = [figures[f"cop_{axis}_m"].rmse for axis in "xyz"]
    assert found.rmse == pytest.approx(np.linalg.norm(axes), rel=1e-10)
