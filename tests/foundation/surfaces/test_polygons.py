"""Triangles of polygons, strips and volume cells, against areas and volumes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from foundation.surfaces.mesh_topology import find_edges
from foundation.surfaces.readers.polygons import of_strips, triangulated
from foundation.surfaces.readers.vtk_cells import surface_of_cells


def vectors(points, faces):
    a, b, c = points[faces].swapaxes(0, 1)
    return 0.5 * np.cross(b - a, c - a)


def star(radii, turn):
    """Return a polygon around the origin, concave where the radii vary, turned in space."""
    angle = np.linspace(0.0, 2.0 * np.pi, len(radii), endpoint=False)
    flat = np.array(radii)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return Rotation.from_rotvec(turn).apply(np.column_stack([flat, np.zeros(len(flat))]))


@given(
    radii=st.lists(st.floats(0.2, 5.0), min_size=3, max_size=12),
    turn=st.tuples(*[st.floats(-3.0, 3.0)] * 3),
)
def test_triangles_of_a_polygon_cover_the_polygon_once(radii, turn):
    points = star(radii, turn)
    count = len(points)
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


def test_strips_keep_their_winding():
    np.testing.assert_array_equal(
        of_strips([5, 2, 3], [4, 5, 6, 7, 8, 0, 1, 1, 2, 3]),
        [[4, 5, 6], [5, 7, 6], [6, 7, 8], [1, 2, 3]],
    )


# ---- volume cells --------------------------------------------------------------------------------

CUBE = np.array(
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]],
    dtype=float,
)
TET = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
EDGES = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))
MIDDLES = 0.5 * np.array([TET[a] + TET[b] for a, b in EDGES])
#: Points, type in VTK, volume and number of triangles of the boundary of a cell.
CELLS = {
    "tetrahedron": (TET, 10, 1 / 6, 4),
    "voxel": (CUBE[[0, 1, 3, 2, 4, 5, 7, 6]], 11, 1.0, 12),
    "hexahedron": (CUBE, 12, 1.0, 12),
    "wedge": (CUBE[[0, 3, 1, 4, 7, 5]], 13, 0.5, 8),
    "pyramid": (CUBE[[0, 1, 2, 3, 4]], 14, 1 / 3, 6),
    "quadratic tetrahedron": (np.concatenate([TET, MIDDLES]), 24, 1 / 6, 16),
}


def surface(points, kind, corners=None):
    corners = np.arange(len(points)) if corners is None else corners
    count = {12: 8}.get(kind, len(points))
    cells = len(corners) // count
    return surface_of_cells(points, np.full(cells, kind), np.full(cells, count), corners)


def volume(points, faces):
    return float(np.sum(points[faces].mean(axis=1) * vectors(points, faces)) / 3.0)


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("name", CELLS)
def test_boundary_of_a_cell_is_closed_and_faces_outward(name, mirrored):
    points, kind, size, count = CELLS[name]
    points = points * ([-1.0, 1.0, 1.0] if mirrored else 1.0)
    found = surface(points, kind)
    assert len(found.faces) == count
    assert (find_edges(found.faces, len(points)).balance == 0).all()
    np.testing.assert_allclose(volume(points, found.faces), size, rtol=1e-12)
    assert found.remarks == ("the boundary of 1 volume cell is read",)


def test_faces_between_volume_cells_are_left_out():
    both = np.concatenate([CUBE, CUBE + np.array([0.0, 0.0, 1.0])])
    points, corners = np.unique(both, axis=0, return_inverse=True)
    found = surface(points, 12, corners.reshape(-1))
    assert len(found.faces) == 20
    np.testing.assert_allclose(volume(points, found.faces), 2.0)


def test_polygons_that_are_faces_of_volume_cells_are_not_read_twice():
    """As in files of meshers, which write the boundary beside the volume."""
    middle = np.concatenate([TET, [[0.1, 0.1, 0.1], [5.0, 5.0, 5.0]]])
    tets = [[0, 1, 2, 4], [0, 1, 3, 4], [0, 2, 3, 4], [1, 2, 3, 4]]
    triangles = [[1, 0, 3], [0, 1, 4], [0, 1, 5]]  # on the boundary, inside, and apart
    corners = np.concatenate([np.ravel(tets), np.ravel(triangles)])
    kinds, sizes = np.repeat([10, 5], [4, 3]), np.repeat([4, 3], [4, 3])
    found = surface_of_cells(middle, kinds, sizes, corners)
    assert len(found.faces) == 5
    assert len(found.points) == 5  # without the middle
    assert found.points[found.faces[0]].max() == 5.0
    assert found.remarks == (
        "the boundary of 4 volume cells is read",
        "2 polygons on faces of volume cells left out",
    )


def test_quadratic_triangles_become_four():
    points = np.concatenate([TET[:3], 0.5 * (TET[:3] + np.roll(TET[:3], -1, axis=0))])
    np.testing.assert_allclose(vectors(points, surface(points, 22).faces)[:, 2], 0.125)
