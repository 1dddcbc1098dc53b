"""The ground force and the foot: how far apart they are, and the force moved onto the foot."""

from dataclasses import replace

import numpy as np
import pytest
from walks import HEIGHT, MASS, walk_tables

from dynamics.walking import (
    fitted_to_foot,
    force_ahead,
    gait_trial,
    inverse_dynamics,
    leg_segments,
    read_motion_table,
)


@pytest.fixture(scope="module")
def stride():
    trial = gait_trial(*walk_tables(), stride=(0.11, 1.21))
    return trial, inverse_dynamics(trial, leg_segments(MASS, HEIGHT))


def moved(trial, forward):
    return replace(
        trial, centre_of_pressure=trial.centre_of_pressure + np.array([forward, 0.0, 0.0])
    )


def test_a_force_under_the_foot_stays(stride):
    trial, leg = stride
    assert force_ahead(moved(trial, -0.01), leg) == 0.0
    assert abs(force_ahead(trial, leg)) < 0.005
    assert fitted_to_foot(trial, leg) == (trial, 0.0)


@pytest.mark.parametrize("forward", [0.08, -0.08])
def test_the_distance_grows_with_a_displacement_and_vanishes_by_the_fit(stride, forward):
    trial, leg = stride
    away = moved(trial, forward)
    one, other = force_ahead(away, leg), force_ahead(moved(trial, forward * 1.5), leg)
    assert np.sign(one) == np.sign(forward)
    assert abs(one) < 0.09
    assert other - one == pytest.approx(0.5 * forward, rel=1e-9)
    fitted, by = fitted_to_foot(away, leg)
    assert by == pytest.approx(-one)
    assert force_ahead(fitted, leg) == pytest.approx(0.0, abs=1e-12)
    assert np.array_equal(fitted.force, trial.force)


def test_small_differences_are_left(stride):
    trial, leg = stride
    away = moved(trial, 0.08)
    nearly = moved(away, 0.004 - force_ahead(away, leg))
    assert force_ahead(nearly, leg) == pytest.approx(0.004)
    assert fitted_to_foot(nearly, leg)[1] == 0.0


def test_the_right_force_of_subject01_is_ahead_of_the_foot(knee_data):
    folder = knee_data / "opensim_core_gait"
    tables = [read_motion_table(folder / f"subject01_walk_{n}.mot") for n in ("IK", "grf")]
    ahead = {}
    for side in ("left", "right"):
        trial = gait_trial(*tables, side, pelvis_z=0.02)
        ahead[side] = force_ahead(trial, inverse_dynamics(trial, leg_segments(72.6, 1.80)))
    assert ahead["left"] == 0.0
    assert ahead["right"] == pytest.approx(0.028, abs=1e-3)
