"""Hertz's constants of spheres, planes and sockets."""

from __future__ import annotations

import math

from numpy.testing import assert_allclose

from foundation.contact_laws import effective_radius, sphere_stiffness

CARTILAGE = (5e6, 0.46)
STEEL = (207e9, 0.3)


def test_two_equal_spheres_johnson1985_eq4_23():
    # F = K δ^(3/2) turned over: δ = (9 F² / (16 R E*²))^(1/3).
    stiffness = sphere_stiffness(0.02, 0.03, *CARTILAGE, *STEEL)
    modulus = 1.0 / ((1 - 0.46**2) / 5e6 + (1 - 0.3**2) / 207e9)
    radius = 0.02 * 0.03 / 0.05
    force = 700.0
    approach = (9.0 * force**2 / (16.0 * radius * modulus**2)) ** (1.0 / 3.0)
    assert_allclose(stiffness * approach**1.5, force, rtol=1e-13)


def test_lankarani1994_form():
    sigma = [(1 - nu**2) / modulus for modulus, nu in (CARTILAGE, STEEL)]
    expected = 4.0 / (3.0 * sum(sigma)) * math.sqrt(0.02 * 0.03 / (0.02 + 0.03))
    assert_allclose(sphere_stiffness(0.02, 0.03, *CARTILAGE, *STEEL), expected, rtol=1e-14)


def test_sphere_on_rigid_plane_is_the_modified_law():
    # The half-space limit of the elastic foundation: 4/3 E/(1 - ν²) √R.
    expected = 4.0 / 3.0 * 5e6 / (1 - 0.46**2) * math.sqrt(0.04)
    assert_allclose(sphere_stiffness(0.04, None, *CARTILAGE, math.inf, 0.3), expected, rtol=1e-14)
    # A very large or very stiff partner tends to it.
    assert_allclose(sphere_stiffness(0.04, 1e9, *CARTILAGE, 1e18, 0.3), expected, rtol=1e-9)


def test_socket_is_stiffer_than_plane_than_ball():
    values = [sphere_stiffness(0.03, r, *CARTILAGE, *CARTILAGE) for r in (-0.04, None, 0.04)]
    assert values[0] > values[1] > values[2]
    assert_allclose(effective_radius(0.03, -0.04), 0.12, rtol=1e-14)
    assert_allclose(values[0] / values[1], 2.0, rtol=1e-14)


def test_bodies_may_be_swapped():
    assert_allclose(
        sphere_stiffness(0.02, -0.05, *CARTILAGE, *STEEL),
        sphere_stiffness(-0.05, 0.02, *STEEL, *CARTILAGE),
        rtol=1e-14,
    )
