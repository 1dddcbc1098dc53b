"""Segments of the leg from body mass and height."""

import numpy as np
from numpy.testing import assert_allclose

from dynamics.mechanics.ground import HEEL_FRACTION, leg_segments


def test_winter2009_table_4_1():
    _, shank, _ = leg = leg_segments(80.0, 1.80)
    masses = [each.mass for each in leg]
    assert_allclose(masses, [8.0, 3.72, 1.16], rtol=1e-12)
    # Its foot and leg together weigh 0.061 of the body, with their centre of mass at 0.606 of the
    # way from knee to ankle, and its total leg 0.161.
    assert_allclose(sum(masses[1:]) / 80.0, 0.061, rtol=1e-12)
    assert_allclose(sum(masses) / 80.0, 0.161, rtol=1e-12)
    assert_allclose(shank.centre, [0.0, -0.433 * 0.246 * 1.80], rtol=1e-12)
    lengths = np.linalg.norm([each.length for each in leg], axis=1)
    assert_allclose(lengths[:2], [0.441, 0.4428], rtol=1e-12)
    # Its radii about the proximal end: 0.540 of the thigh, 0.528 of the shank, 0.690 of the foot.
    for segment, length, share in zip(leg, lengths, (0.540, 0.528, 0.690), strict=True):
        about_end = segment.inertia + segment.mass * float(np.sum(segment.centre**2))
        radius = np.sqrt(about_end / segment.mass) / length
        assert_allclose(radius, share, rtol=0.0, atol=1.5e-3)


def test_delp1990_points_at_the_height_of_its_model():
    foot = leg_segments(75.0, 1.80)[-1]
    assert_allclose(1.80 * np.array(HEEL_FRACTION), [-0.0488, -0.0420], rtol=0.0, atol=1e-4)
    assert_allclose(foot.length, [0.1300, -0.0440], rtol=0.0, atol=1e-4)


def test_mass_and_inertia_scale_with_mass_and_height():
    one, other = leg_segments(60.0, 1.60), leg_segments(90.0, 1.76)
    assert_allclose(other[2].mass / one[2].mass, 1.5, rtol=1e-12)
    assert_allclose(other[1].inertia / one[1].inertia, 1.5 * 1.1**2, rtol=1e-12)
