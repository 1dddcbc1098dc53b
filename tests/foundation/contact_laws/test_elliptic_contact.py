"""Hertz's contact of spheres, planes and sockets, and of ellipses: integrals, pressure, limits."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from foundation.contact_laws.hertz import (
    EllipticContact,
    approximate_factors,
    exact_factors,
    relative_radii,
    sphere_stiffness,
)
from foundation.contact_laws.normal import HertzLaw

RATIOS = np.geomspace(1.0, 10.0, 60)
CARTILAGE = (5e6, 0.46)


def test_cubics_lehtoranta2011_table1():
    exact = np.array([exact_factors(q) for q in RATIOS])
    approximate = np.array([approximate_factors(q) for q in RATIOS])
    error = np.abs(approximate / exact - 1.0).max(axis=0)
    # Required: 0.5, 0.5 and 0.1 %; what the docstring states:
    assert_allclose(error, [0.0035, 0.0025, 0.0009], rtol=0.05)
    # F₄ at q = 10, whose c₂ the table prints with the wrong sign.
    assert_allclose(approximate[-1, 2], exact[-1, 2], rtol=1e-4)


def test_circle():
    assert exact_factors(1.0) == pytest.approx((1.0, 1.0, 1.0), rel=1e-14)
    assert approximate_factors(1.0) == (1.0, 1.0, 1.0)
    contact = EllipticContact(0.04, 0.04, 3.2e6)
    stiffness = sphere_stiffness(0.04, None, 3.2e6, 0.0, math.inf, 0.0)
    assert_allclose(contact.stiffness, stiffness, rtol=1e-13)
    a, b = contact.semi_axes(100.0)
    assert_allclose([a, b], (0.75 * 100.0 * 0.04 / 3.2e6) ** (1.0 / 3.0), rtol=1e-13)
    assert_allclose(contact.peak_pressure(100.0), 1.5 * 100.0 / (np.pi * a * b), rtol=1e-13)


def test_factors_are_smooth_at_the_circle():
    # No cancellation: F₄ - 1 goes with -(ln q)/3, since b/a ~ (R"/R')^(2/3) near the circle.
    for step in (1e-3, 1e-6, 1e-9):
        shape = exact_factors(1.0 + step).shape
        assert_allclose((shape - 1.0) / step, -1.0 / 3.0, rtol=2e-3, atol=2e-6)


def displacement(contact, force, x, y):
    """Sum of the displacements of both surfaces at a point, from the pressure alone.

    Boussinesq's p/(π E* r) over the semi-ellipsoid, in polar coordinates about the point: along
    each chord the pressure is a half ellipse, whose area is known.
    """
    a, b = contact.semi_axes(force)
    angle = (np.arange(20000) + 0.5) * np.pi / 20000
    c, s = np.cos(angle), np.sin(angle)
    square = (c / a) ** 2 + (s / b) ** 2
    cross = x * c / a**2 + y * s / b**2
    height = 1.0 - (x / a) ** 2 - (y / b) ** 2 + cross**2 / square
    mean = (height / np.sqrt(square)).mean()
    return float(contact.peak_pressure(force) / (2.0 * contact.modulus) * np.pi * mean)


@pytest.mark.parametrize("radii", [(0.03, 0.03), (0.05, 0.03), (0.4, 0.02), (2.0, 0.02)])
def test_pressure_closes_the_gap_all_over_the_ellipse(radii):
    contact = EllipticContact(*radii, 4e6)
    force = 250.0
    a, b = contact.semi_axes(force)
    approach = contact.approach(force)
    for x, y in ((0.0, 0.0), (0.7 * a, 0.0), (0.0, 0.7 * b), (0.5 * a, -0.5 * b), (a, 0.0)):
        gap = x**2 / (2.0 * radii[0]) + y**2 / (2.0 * radii[1])
        assert_allclose(displacement(contact, force, x, y), approach - gap, rtol=0, atol=1e-9 * a)
    # The pressure carries the force: 2/3 π a b p₀.
    carried = 2.0 / 3.0 * np.pi * a * b * contact.peak_pressure(force)
    assert_allclose(carried, force, rtol=1e-12)


@pytest.mark.parametrize("exact", [True, False])
def test_approach_and_force_are_inverse(exact):
    contact = EllipticContact(0.3, 0.02, 4e6, exact)
    forces = np.array([0.0, 1e-3, 1.0, 2500.0])
    assert_allclose(contact.force(contact.approach(forces)), forces, rtol=1e-13)
    assert contact.force(-1e-3) == 0.0
    depth = 8e-4
    assert_allclose(contact.force(depth), HertzLaw(contact.stiffness).force(depth), rtol=1e-14)


def test_curvatures_against_the_hessian_of_the_gap():
    rng = np.random.default_rng(5)
    for _ in range(50):
        first, second = rng.uniform(5.0, 50.0, 2), rng.uniform(-4.0, 40.0, 2)
        angle = rng.uniform(-7.0, 7.0)
        c, s = np.cos(angle), np.sin(angle)
        turn = np.array([[c, -s], [s, c]])
        hessian = np.diag(first) + turn @ np.diag(second) @ turn.T
        expected = 1.0 / np.linalg.eigvalsh(hessian)
        assert_allclose(relative_radii(first, second, angle), expected, rtol=1e-10)


def test_sphere_on_rigid_plane_is_the_modified_law():
    # The half-space limit of the elastic foundation: 4/3 E/(1 - ν²) √R.
    expected = 4.0 / 3.0 * 5e6 / (1 - 0.46**2) * math.sqrt(0.04)
    assert_allclose(sphere_stiffness(0.04, None, *CARTILAGE, math.inf, 0.3), expected, rtol=1e-14)
    # A very large or very stiff partner tends to it.
    assert_allclose(sphere_stiffness(0.04, 1e9, *CARTILAGE, 1e18, 0.3), expected, rtol=1e-9)


def test_contact_from_curvatures_of_a_condyle_in_a_dish():
    # A condyle of 25 and 40 mm in a dish of 60 and 80 mm.
    curvatures = (1 / 0.025, 1 / 0.04), (-1 / 0.06, -1 / 0.08)
    radii = relative_radii(*curvatures)
    contact = EllipticContact(*radii, 4e6)
    assert_allclose(contact.greater_radius, 1.0 / (25.0 - 12.5), rtol=1e-12)
    assert_allclose(contact.smaller_radius, 1.0 / (40.0 - 1 / 0.06), rtol=1e-12)
    close = EllipticContact(*radii, 4e6, exact=False)
    assert_allclose(close.stiffness, contact.stiffness, rtol=1.5 * 0.0025)
    assert close.stiffness != contact.stiffness
    a, b = contact.semi_axes([10.0, 80.0])
    assert_allclose([a[1] / a[0], b[1] / b[0]], 2.0, rtol=1e-13)
    assert (a > b).all()
