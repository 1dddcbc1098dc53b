"""Polar profiles: points, normals, curvature, seam, bad samples."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.mechanics.planar_knee.profiles import PROFILE_KINDS, PolarProfile

KINDS = pytest.mark.parametrize("kind", PROFILE_KINDS)
# Half axes of the ellipse [m].
LONG, SHORT = 0.05, 0.035


def ellipse(samples: int, kind: str) -> PolarProfile:
    t = 2.0 * np.pi * np.arange(samples) / samples
    points = np.column_stack((LONG * np.cos(t), SHORT * np.sin(t)))
    return PolarProfile.from_points(points, kind, closed=True)


@KINDS
def test_circle_is_exact(kind):
    circle = PolarProfile.circle(0.04, 24, kind)
    angles = np.linspace(-7.0, 7.0, 41)
    points, normals, curvatures = circle.frames(angles)
    radial = np.column_stack((np.cos(angles), np.sin(angles)))
    assert_allclose(points, 0.04 * radial, rtol=0.0, atol=1e-16)
    assert_allclose(normals, radial, rtol=0.0, atol=1e-14)
    assert_allclose(curvatures, 25.0, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize(
    ("kind", "place", "turn"), [("cubic", 5e-9, 8e-6), ("akima", 5e-7, 2e-3), ("pchip", 4e-6, 8e-3)]
)
def test_ellipse_against_its_equation(kind, place, turn):
    angles = np.linspace(0.0, 2.0 * np.pi, 97)
    points, normals, curvatures = ellipse(120, kind).frames(angles)
    x, y = points.T
    level = np.hypot(x / LONG, y / SHORT)
    assert_allclose(level, 1.0, rtol=0.0, atol=place / SHORT)
    slope = np.column_stack((x / LONG**2, y / SHORT**2))
    truth = slope / np.hypot(*slope.T)[:, None]
    assert_allclose(normals, truth, rtol=0.0, atol=turn)
    if kind == "cubic":
        wanted = (x**2 / LONG**4 + y**2 / SHORT**4) ** -1.5 / (LONG * SHORT) ** 2
        assert_allclose(curvatures, wanted, rtol=2e-3, atol=0.0)


@KINDS
def test_tangent_and_curvature_are_derivatives(kind):
    profile, step = ellipse(40, kind), 1e-6
    for angle in (0.21, 1.3, 2.9, 4.4):
        x, y, t_x, t_y, curvature, speed = profile.frame(angle)
        ahead, behind = profile.frame(angle + step), profile.frame(angle - step)
        slope = (np.array(ahead) - np.array(behind)) / (2.0 * step)
        assert_allclose(slope[:2], np.array([t_x, t_y]) * speed, rtol=1e-7, atol=1e-10)
        # d t / ds = -kappa n with n = (t_y, -t_x).
        wanted = -curvature * speed * np.array([t_y, -t_x])
        assert_allclose(slope[2:4], wanted, rtol=1e-6, atol=1e-7)
        assert t_y * x - t_x * y > 0.0  # outward


@KINDS
def test_seam_of_a_closed_profile_is_nowhere(kind):
    one = ellipse(30, kind)
    shifted = np.roll(one.angle, -11)
    shifted[-11:] += 2.0 * np.pi
    other = PolarProfile(shifted, np.roll(one.radius, -11), kind, closed=True)
    for angle in np.linspace(-1.0, 7.5, 63):
        assert_allclose(one.frame(angle), other.frame(angle), rtol=1e-9, atol=1e-12)
