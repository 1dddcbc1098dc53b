"""Surfaces of condyles fitted to points of a sphere and of a torus."""

from __future__ import annotations

import numpy as np
import pytest
from some_slow import first_of

from foundation.base.errors import InputError
from surrogates.fields.condyle_surface import CondyleSurface, cylinder_coordinates
from surrogates.fields.skin import Skin

CENTRE = np.array([3e-3, -2e-3, 20e-3])


def torus(count, seed, wide=0.8):
    """Points of a torus around an axis along z: radii of 30 mm and 20 mm."""
    rng = np.random.default_rng(seed)
    theta, phi = rng.uniform(-wide, wide, count), rng.uniform(-0.3, 0.3, count)
    rho = 10e-3 + 20e-3 * np.cos(phi)
    arms = np.column_stack([rho * np.sin(theta), -rho * np.cos(theta), 20e-3 * np.sin(phi)])
    return CENTRE + arms


def rise(surface, point):
    """Signed depth of a point of the femur below its surface, by the compiled kernel."""
    # The femoral frame is the tibial one; the normal is that towards the axis.
    normal = np.array([CENTRE[0] - point[0], CENTRE[1] - point[1], 0.0])
    bed = np.array([[*point, *(normal / np.linalg.norm(normal)), 1e-6]])
    depth, _ = Skin(bed, surface).indentations(np.eye(3), np.zeros(3))
    return depth[0]


@pytest.mark.parametrize("spacing", first_of([1e-3, 2e-3]))
def test_a_torus_is_found_to_the_order_of_cubic_splines(spacing):
    surface, residuals = CondyleSurface.fit(torus(8000, 0), spacing)
    assert np.abs(residuals).max() < 2e3 * spacing**4 * 30.0
    for point in torus(20, 1, wide=0.6):
        inward = CENTRE - point
        inward[2] = 0.0
        inward *= 0.1e-3 / np.linalg.norm(inward)
        assert rise(surface, point + inward) == pytest.approx(0.1e-3, abs=0.5e-6)


def test_without_points_there_is_no_contact():
    points = torus(8000, 0)
    surface, _ = CondyleSurface.fit(points[points[:, 0] < CENTRE[0]], 1e-3)
    far = CENTRE + np.array([15e-3, -20e-3, 0.0])
    assert rise(surface, far) <= 0.0
    assert rise(surface, CENTRE + np.array([-15e-3, -20e-3, 0.0])) > 1e-3


def test_a_point_beside_the_condyle_does_not_count():
    points = torus(4000, 0)
    foreign = points.copy()
    foreign[::1000] += [0.0, 3e-3, 0.0]
    fits = [CondyleSurface.fit(each, 1.5e-3)[0] for each in (points, foreign)]
    for point in torus(20, 1, wide=0.6):
        within = point + 1e-3 * (CENTRE - point) / np.linalg.norm(CENTRE - point)
        found = [rise(fit, within) for fit in fits]
        assert found[1] == pytest.approx(found[0], abs=2e-6)


def test_arrays_give_the_same_surface():
    surface, _ = CondyleSurface.fit(torus(2000, 0), 2e-3)
    again = CondyleSurface.from_arrays(surface.to_arrays())
    assert np.array_equal(again.coefficients, surface.coefficients)
    assert np.array_equal(again.known, surface.known)


def test_the_middle_of_the_points_is_at_t_zero():
    surface, _ = CondyleSurface.fit(torus(4000, 0), 2e-3)
    t, z, _ = cylinder_coordinates(torus(4000, 2), surface.frame)
    assert abs(t.mean()) < 0.5e-3
    assert abs(z.mean()) < 0.3e-3


def test_refusals():
    with pytest.raises(InputError, match="expected at least 16"):
        CondyleSurface.fit(torus(15, 0), 1e-3)
    with pytest.raises(InputError, match="larger spacing"):
        CondyleSurface.fit(torus(100, 0), 1e-5)
    arrays = CondyleSurface.fit(torus(2000, 0), 2e-3)[0].to_arrays()
    with pytest.raises(InputError, match="missing"):
        CondyleSurface.from_arrays({k: a for k, a in arrays.items() if k != "known"})
    with pytest.raises(InputError, match="known"):
        CondyleSurface.from_arrays(arrays | {"known": arrays["known"][1:]})
