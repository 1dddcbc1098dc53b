"""Segments of the leg from body mass and height."""

import numpy as np
from numpy.testing import assert_allclose

from dynamics.mechanics.segments import leg_segments


def test_winter2009_table_4_1():
    leg = leg_segments(80.0, 1.80)
    masses = [leg.thigh.mass, leg.shank.mass, leg.foot.mass]
    assert_allclose(masses, [8.0, 3.72, 1.16], rtol=1e-12)
    # Its foot and leg together weigh 0.061 of the body, with their centre of mass at 0.606 of the
    # way from knee to ankle, and its total leg 0.161.
    assert_allclose(sum(masses[1:]) / 80.0, 0.061, rtol=1e-12)
    assert_allclose(sum(masses) / 80.0, 0.161, rtol=1e-12)
    assert_allclose(leg.shank.centre_of_mass, [0.0, -0.433 * 0.246 * 1.80], rtol=1e-12)
    assert_allclose([leg.thigh.length, leg.shank.length], [0.441, 0.4428], rtol=1e-12)
    # Its radii about the proximal end: 0.540 of the thigh, 0.528 of the shank, 0.690 of the foot.
    for segment, share in ((leg.thigh, 0.540), (leg.shank, 0.528), (leg.foot, 0.690)):
        about_end = segment.inertia + segment.mass * float(np.sum(segment.centre_of_mass**2))
        radius = np.sqrt(about_end / segment.mass) / segment.length
        assert_allclose(radius, share, rtol=0.0, atol=1.5e-3)


def test_delp1990_points_at_the_height_of_its_model():
    leg = leg_segments(75.0, 1.80)
    assert_allclose(leg.heel, [-0.0488, -0.0420], rtol=0.0, atol=1e-4)
    assert_allclose(leg.foot.end, [0.1300, -0.0440], rtol=0.0, atol=1e-4)


def test_mass_and_inertia_scale_with_mass_and_height():
    one, other = leg_segments(60.0, 1.60), leg_segments(90.0, 1.76)
    assert_allclose(other.foot.mass / one.foot.mass, 1.5, rtol=1e-12)
    assert_allclose(other.shank.inertia / one.shank.inertia, 1.5 * 1.1**2, rtol=1e-12)
    assert_allclose(other.heel / one.heel, 1.1, rtol=1e-12)
