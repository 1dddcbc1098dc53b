"""Nearest points of a surface against all triangles, one by one."""

import numpy as np
import pytest
import trimesh
from numpy.testing import assert_allclose

from foundation.implant import CondylarImplant
from foundation.surfaces.nearest_points import SurfaceTree


@pytest.fixture(scope="module")
def corners():
    _, insert, _ = CondylarImplant().tessellate(3e-3)
    return np.array(insert.vertices)[np.array(insert.faces)]


@pytest.mark.parametrize("unit", [1.0, 1e3, 1e-3], ids=["m", "mm", "km"])
def test_points_are_the_nearest_of_all_triangles_in_any_unit(corners, unit):
    rng = np.random.default_rng(0)
    middles = corners[rng.integers(len(corners), size=40)].mean(axis=1)
    points = middles + 2e-4 * rng.normal(size=(40, 3))
    found, triangle = SurfaceTree(unit * corners).nearest_points(unit * points, 16)
    for point, place, number in zip(points, found / unit, triangle, strict=True):
        # in mm, where the thresholds of the library are far below the lengths
        feet = trimesh.triangles.closest_point(
            1e3 * corners, np.broadcast_to(1e3 * point, (len(corners), 3))
        )
        away = np.linalg.norm(1e-3 * feet - point, axis=1)
        assert np.linalg.norm(place - point) == pytest.approx(away.min(), abs=1e-12)
        assert away[number] == pytest.approx(away.min(), abs=1e-12)


def test_way_to_a_point_inside_a_triangle_is_along_its_normal(corners):
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    points = corners.mean(axis=1) + 1e-6 * normals
    found, triangle = SurfaceTree(corners).nearest_points(points, 8)
    assert_allclose(found, corners.mean(axis=1), rtol=0, atol=1e-12)
    assert (triangle == np.arange(len(corners))).all()
