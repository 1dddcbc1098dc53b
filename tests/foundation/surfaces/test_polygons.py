"""Triangles of polygons, against areas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from foundation.surfaces.readers.polygons import UnsupportedContent, triangulated


def vectors(points, faces):
    a, b, c = points[faces].swapaxes(0, 1)
    return 0.5 * np.cross(b - a, c - a)


def star(radii, turn):
    """Return a polygon around the origin, turned in space."""
    angle = np.linspace(0.0, 2.0 * np.pi, len(radii), endpoint=False)
    flat = np.array(radii)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return Rotation.from_rotvec(turn).apply(np.column_stack([flat, np.zeros(len(flat))]))


@given(count=st.integers(3, 12), turn=st.tuples(*[st.floats(-3.0, 3.0)] * 3))
def test_triangles_of_a_polygon_cover_the_polygon_once(count, turn):
    points = star(np.ones(count), turn)
    faces = triangulated(points, [count], np.arange(count))
    areas = vectors(points, faces)
    normal = Rotation.from_rotvec(turn).apply([0.0, 0.0, 1.0])
    whole = 0.5 * np.cross(points, np.roll(points, -1, axis=0)).sum(axis=0)
    assert faces.shape == (count - 2, 3)
    assert (areas @ normal > -1e-9 * np.linalg.norm(whole)).all()
    np.testing.assert_allclose(areas.sum(axis=0), whole, atol=1e-9)
    # Each edge of the polygon belongs to one triangle, in its direction.
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]).tolist()
    assert all([k, (k + 1) % count] in edges for k in range(count))


@pytest.mark.parametrize("turn", range(4))
def test_concave_quads_are_split_inside(turn):
    points = np.array([[0, 0, 0], [2, 0, 0], [0.5, 0.5, 0], [0, 2, 0]], dtype=float)
    faces = triangulated(points, [4], np.roll(np.arange(4), turn))
    np.testing.assert_allclose(vectors(points, faces)[:, 2], 0.5)


def test_hollow_polygons_are_refused():
    points = star([1.0, 0.2, 1.0, 0.2, 1.0, 0.2], (0.0, 0.0, 0.0))
    with pytest.raises(UnsupportedContent, match="polygon 1 of 6 corners is not convex: triang"):
        triangulated(points, [6], np.arange(6))
