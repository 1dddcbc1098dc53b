"""Sagittal motion of tibia and patella."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.walking.knee_mechanism import KneeMechanism, rotated
from dynamics.walking.muscle_tables import load_leg_muscles

# Insertions of the quadriceps in the tibial frame as OpenSim's gait2392 states them for the model
# of Delp et al. (1990): flexion [rad], x, y [m].
GAIT2392_RECTUS = [
    (1.99997, 0.0179938, 0.0237613),
    (1.5708, 0.0275081, 0.0251141),
    (1.45752, 0.0296564, 0.0252795),
    (1.0472, 0.0365695, 0.0249184),
    (0.526391, 0.0450902, 0.0238447),
    (0.349066, 0.048391, 0.0234197),
    (0.174533, 0.0534299, 0.0227644),
    (0.0, 0.0617576, 0.020984),
    (-0.0279253, 0.0633083, 0.0205225),
    (-0.0872665, 0.066994, 0.0191754),
]
GAIT2392_VASTUS_INTERMEDIUS = [
    (1.99997, 0.0106866, 0.0259487),
    (1.0472, 0.0292715, 0.0271363),
    (0.526391, 0.037871, 0.0263073),
    (0.174533, 0.0465287, 0.0260129),
    (-0.0279253, 0.0571717, 0.0250526),
]


@pytest.fixture(scope="module")
def mechanism() -> KneeMechanism:
    return load_leg_muscles().mechanism


@pytest.mark.parametrize(
    ("insertion", "published"),
    [((0.0121, 0.0437), GAIT2392_RECTUS), ((0.0058, 0.0480), GAIT2392_VASTUS_INTERMEDIUS)],
    ids=["rectus_femoris", "vastus_intermedius"],
)
def test_gait2392_moving_points(mechanism, insertion, published) -> None:
    flexion, x, y = np.array(published).T
    arm = rotated(mechanism.patella_angle(flexion), np.broadcast_to(insertion, (len(x), 2)))
    # The published figures have six digits.
    assert_allclose(mechanism.pole(flexion) + arm, np.stack([x, y], axis=1), rtol=0, atol=2e-7)


def test_rotated_is_positive_from_x_to_y() -> None:
    turned = rotated(np.array([np.pi / 2]), np.array([[1.0, 0.5]]))
    assert_allclose(turned, [[-0.5, 1.0]], rtol=0, atol=1e-15)


def test_position_in_the_femur_by_hand(mechanism) -> None:
    flexion, point = np.radians(37.0), np.array([0.01, 0.04])
    tilt = float(mechanism.patella_angle(flexion))
    x = np.cos(tilt) * 0.01 - np.sin(tilt) * 0.04
    y = np.sin(tilt) * 0.01 + np.cos(tilt) * 0.04
    tibial = mechanism.pole(flexion) + np.array([x, y])
    # A flexed tibia turns clockwise, its distal end backwards.
    turn = np.array(
        [[np.cos(flexion), np.sin(flexion)], [-np.sin(flexion), np.cos(flexion)]], dtype=float
    )
    expected = [mechanism.tibia_x(flexion), mechanism.tibia_y(flexion)] + turn @ tibial
    found, _ = mechanism.in_femur(np.array([flexion]), point)
    assert_allclose(found[0], expected, rtol=0, atol=1e-15)


def test_rate_is_the_derivative_of_the_position(mechanism) -> None:
    flexion, step, point = np.radians(np.arange(-8.0, 118.0, 7.0)), 1e-5, np.array([0.01, 0.04])
    _, rate = mechanism.in_femur(flexion, point)
    ahead, _ = mechanism.in_femur(flexion + step, point)
    behind, _ = mechanism.in_femur(flexion - step, point)
    assert_allclose(rate, (ahead - behind) / (2.0 * step), rtol=0, atol=1e-8)


def test_pin_joint_is_the_one_next_to_the_moving_knee(mechanism) -> None:
    leg = load_leg_muscles()
    flexion = np.radians(np.arange(0.0, 71.0, 2.5))

    def distances(knee: np.ndarray, centre: np.ndarray) -> np.ndarray:
        origin = np.stack([mechanism.tibia_x(flexion), mechanism.tibia_y(flexion)], axis=1)
        moved = origin + rotated(-flexion, np.broadcast_to(centre, origin.shape))
        return np.linalg.norm(moved - knee, axis=1)

    best = distances(leg.knee, leg.mechanism_knee)
    assert best.max() < 0.7e-3
    for shift in (np.array([5e-4, 0.0]), np.array([0.0, 5e-4])):
        for sign in (-1.0, 1.0):
            other = distances(leg.knee + sign * shift, leg.mechanism_knee)
            assert np.sum(other**2) > np.sum(best**2)


def test_scaled_lengths_and_kept_angles(mechanism) -> None:
    flexion, twice = np.radians([0.0, 40.0]), mechanism.scaled(2.0)
    for name in ("tibia_x", "tibia_y", "patella_x", "patella_y"):
        assert_allclose(
            getattr(twice, name)(flexion), 2.0 * getattr(mechanism, name)(flexion), 1e-14
        )
    assert_allclose(twice.patella_angle(flexion), mechanism.patella_angle(flexion), rtol=1e-14)
