"""Removal of flat triangles: needles collapse, caps flip, and the surface stays what it was."""

import numpy as np
import pytest
import shapes
from numpy.testing import assert_array_equal

from foundation.surfaces.flat_triangles import without_flat
from foundation.surfaces.mesh_topology import find_edges
from foundation.surfaces.triangle_mesh import TriangleMesh

PLATE = shapes.plate(1.0, 6)


def assert_same_plate(vertices, faces):
    """Check manifoldness, area and outer side of a plate without flat triangles."""
    mesh = TriangleMesh(vertices, faces)
    edges = find_edges(faces, len(vertices))
    assert edges.count.max() == 2
    assert not edges.balance[edges.count == 2].any()
    assert (edges.count == 1).sum() == 24
    assert mesh.areas.sum() == pytest.approx(1.0, abs=1e-6)
    assert (mesh.normals[:, 1] > 0.9).all()
    assert mesh.areas.min() > 1e-4


def split(mesh, edge_part):
    """Return a mesh with a triangle inside split at a point near one of its edges."""
    inside = int(np.argmin(np.linalg.norm(mesh.centroids, axis=1)))
    a, b, c = mesh.faces[inside]
    corners = mesh.vertices[[a, b, c]]
    point = edge_part @ corners
    new = len(mesh.vertices)
    rest = np.delete(mesh.faces, inside, axis=0)
    faces = np.concatenate([rest, [[a, b, new], [b, c, new], [c, a, new]]])
    return np.concatenate([mesh.vertices, [point]]), faces


def test_sound_triangles_stay():
    vertices, faces = without_flat(PLATE.vertices, PLATE.faces)
    assert_array_equal(vertices, PLATE.vertices)
    assert_array_equal(faces, PLATE.faces)


@pytest.mark.parametrize(
    "place", [[1.0 - 2e-7, 1e-7, 1e-7], [0.5 - 5e-8, 0.5 - 5e-8, 1e-7], [0.2, 1e-9, 0.8 - 1e-9]]
)
def test_points_at_corners_and_on_edges_leave_no_flat_triangle(place):
    vertices, faces = split(PLATE, np.array(place))
    assert_same_plate(*without_flat(vertices, faces))


def test_a_needle_between_two_vertices_of_the_rim_stays():
    """The boundary keeps its vertices."""
    vertices = np.array([[0, 0, 0], [1e-8, 0, 0], [0.0, 0, -1], [-1, 0, 0]])
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    kept, found = without_flat(vertices, faces)
    assert_array_equal(kept, vertices)
    assert_array_equal(found, faces)
