"""Fits recover exact surfaces; residuals are distances."""

from __future__ import annotations

import fitted
import numpy as np
import pytest
from numpy.polynomial.chebyshev import chebval
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from foundation.contact_laws import exact_factors
from foundation.fitted_surfaces.fits import Ellipsoid, fit_ellipsoid, fit_quadric
from foundation.fitted_surfaces.hertz_factors import LARGEST_RATIO, factor_series, log_shape

AXES = np.array([20e-3, 27e-3, 34e-3])
TURN = Rotation.from_euler("xyz", [0.3, -0.5, 0.2]).as_matrix()
CENTRE = np.array([3e-3, 12e-3, -23e-3])


def patch(count=400, seed=0):
    """Points and outward normals of the lower side of an ellipsoid."""
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(4 * count, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    directions = directions[directions[:, 1] < -0.5][:count]
    normals = directions / AXES
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return CENTRE + directions * AXES @ TURN.T, normals @ TURN.T


def test_an_ellipsoid_is_recovered_from_a_patch():
    points, _ = patch()
    found = fit_ellipsoid(points, np.ones(len(points)))
    assert_allclose(found.semi_axes, np.sort(AXES), rtol=5e-4, atol=0.0)
    assert_allclose(found.centre, CENTRE, rtol=0.0, atol=5e-6)
    assert np.abs(found.distances(points)).max() < 1e-7


def test_targets_are_distances_from_the_ellipsoid():
    points, normals = patch()
    away = 2e-5 * np.sin(300.0 * points[:, 0])
    found = fit_ellipsoid(points + away[:, None] * normals, np.ones(len(points)), away)
    assert_allclose(found.semi_axes, np.sort(AXES), rtol=1e-3, atol=0.0)
    assert_allclose(found.distances(points), 0.0, rtol=0.0, atol=3e-7)


@pytest.mark.parametrize("radius", [-45e-3, 60e-3])
def test_a_sphere_is_a_quadric(radius):
    """Inside (a socket) and outside; the curvature is that of the sphere everywhere."""
    rng = np.random.default_rng(1)
    x, z = rng.uniform(-12e-3, 12e-3, (2, 300))
    y = np.sign(radius) * (np.sqrt(radius**2 - x**2 - z**2) - abs(radius))
    points = np.column_stack([x, y, z])
    found = fit_quadric(points, np.ones(300), [0.1, 1.0, -0.05])
    assert np.abs(found.distances(points)).max() < 1e-12
    (normal,), (curvature,) = found.normals_and_curvatures(points[:1])
    outward = points[0] + np.array([0.0, radius, 0.0])
    assert_allclose(normal, outward / radius, rtol=0.0, atol=1e-9)
    expected = (np.eye(3) - np.outer(normal, normal)) / radius
    assert_allclose(curvature, expected, rtol=0.0, atol=1e-5)


@pytest.mark.parametrize("bend", [(0.0, 0.0), (20.0, -15.0)])
def test_planes_and_saddles_are_quadrics(bend):
    rng = np.random.default_rng(2)
    x, z = rng.uniform(-12e-3, 12e-3, (2, 300))
    points = np.column_stack([x, 0.5 * (bend[0] * x**2 + bend[1] * z**2), z])
    found = fit_quadric(points, np.ones(300), [0.0, 1.0, 0.0])
    assert np.abs(found.distances(points)).max() < 1e-12


def test_roughness_does_not_bend_a_plane_without_bound():
    """b and e stay within the curvature of 15 mm, whatever the points."""
    rng = np.random.default_rng(3)
    x, y, z = rng.uniform(-1.0, 1.0, (3, 60)) * [[10e-3], [20e-6], [10e-3]]
    found = fit_quadric(np.column_stack([x, y, z]), np.ones(60), [0.0, 1.0, 0.0])
    assert np.abs(found.coefficients[6:]).max() <= 1.0 / 15e-3 * (1.0 + 1e-12)
    assert np.abs(found.distances(np.column_stack([x, y, z]))).max() < 40e-6


def test_distances_are_signed_and_of_first_order():
    points, normals = patch(50)
    exact = Ellipsoid(CENTRE, TURN @ np.diag(AXES**-2.0) @ TURN.T)
    quadric = fitted.sphere(-45e-3)
    for away in (1e-6, -1e-6):
        moved = exact.distances(points + away * normals)
        assert_allclose(moved, away, rtol=1e-3, atol=0.0)
        assert_allclose(quadric.distances([[0.0, away, 0.0]]), away, rtol=1e-3, atol=0.0)


def test_series_are_the_factors_of_elliptic_integrals():
    coefficients, least = factor_series()
    for ratio in np.geomspace(1.0, LARGEST_RATIO, 23):
        place = 1.0 - 2.0 * log_shape(float(ratio)) / least
        exact = exact_factors(min(float(ratio), LARGEST_RATIO))
        assert_allclose(chebval(place, coefficients[0]), -1.5 * np.log(exact.approach), atol=1e-13)
        assert_allclose(chebval(place, coefficients[2]), np.log(exact.size), atol=1e-13)


def test_slope_of_the_series():
    coefficients, least = factor_series()
    step = 1e-5
    for x in (-0.3, -2.0, -6.0):
        value = [chebval(1.0 - 2.0 * (x + s) / least, coefficients[0]) for s in (-step, step)]
        slope = (value[1] - value[0]) / (2.0 * step)
        assert_allclose(chebval(1.0 - 2.0 * x / least, coefficients[1]), slope, rtol=1e-8)
