"""Filling of small holes of a surface.

A hole is filled at the spacing of its rim: points of a grid and of the rim are triangulated in the
plane of the hole (Delaunay), and the points of the grid raised to the thin-plate spline through the
vertices around, both of SciPy. trimesh fills each hole, also the rim of an open surface, by a plane
fan. On holes 3.5 mm across in scanned surfaces, the spline misses the surface that was cut out by 2
to 30 um in the median, as much as these surfaces are rough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RBFInterpolator
from scipy.spatial import Delaunay, KDTree

from foundation.base.checks import FloatArray, IntArray
from foundation.surfaces.mesh_topology import (
    Edges,
    boundary_loops,
    find_edges,
    find_holes,
    half_edges,
    label_pieces,
)
from foundation.surfaces.smooth_surface import CREASE_ANGLE, angle_weighted_normals, tangents
from foundation.surfaces.triangle_mesh import TriangleMesh, edge_length

#: A hole is small up to this size across [m], and up to this number of edge lengths.
SMALL, _SMALL_EDGES = 4e-3, 3.0
#: A hole of less than this part of the square of its length is a slit.
_SLIT = 0.05
#: Radius of the spline over the size of the hole, and largest number of its vertices.
_AROUND, _MOST = 1.0, 300
#: Least distance of a point of the grid from the rim, over the edges of the rim.
_CLEAR = 0.6
#: Cosine of the largest angle between a new triangle and the plane of the hole.
_STEEP = 0.5


class Filled(NamedTuple):
    """A mesh with filled holes, the largest one at `centre` (3,) [m]."""

    #: The new triangles come last.
    mesh: TriangleMesh
    #: Number of holes that were filled.
    holes: int = 0
    #: Size of the largest one [m].
    across: float = 0.0
    centre: FloatArray = np.zeros(3)


class _Patch(NamedTuple):
    """New points (P, 3) [m], and triangles (F, 3) over the ring (N,) and these points."""

    points: FloatArray
    faces: IntArray


def fill_small_holes(mesh: TriangleMesh) -> Filled:
    """Fill the holes of a surface [m] that are small, have a simple rim and are no slits."""
    edges = find_edges(mesh.faces, len(mesh.vertices))
    pieces, areas = label_pieces(mesh)
    loops = boundary_loops(mesh, edges, pieces)
    most = max(SMALL, _SMALL_EDGES * edge_length(mesh))
    small = np.flatnonzero(find_holes(loops, areas) & (loops.across <= most))
    if len(small) == 0:
        return Filled(mesh)
    rings = _rings(mesh.faces, edges, loops.label, small)
    tree = KDTree(mesh.vertices)
    normals = angle_weighted_normals(mesh.vertices, mesh.faces)
    vertices, faces, done = mesh.vertices, mesh.faces, []
    for hole, ring in rings.items():
        patch = _patch(mesh.vertices, normals, tree, ring)
        if patch is None:
            continue
        numbers = np.append(ring, len(vertices) + np.arange(len(patch.points)))
        vertices = np.concatenate([vertices, patch.points])
        faces = np.concatenate([faces, numbers[patch.faces]])
        done.append(hole)
    if not done:
        return Filled(mesh)
    largest = done[int(np.argmax(loops.across[done]))]
    return Filled(
        TriangleMesh(vertices, faces, mesh.name),
        len(done),
        float(loops.across[largest]),
        loops.centre[largest],
    )


def _rings(faces: IntArray, edges: Edges, label: IntArray, holes: IntArray) -> dict[int, IntArray]:
    """Return vertices along simple rims, counter-clockwise; label (B,) of each edge."""
    size = int(faces.max()) + 1
    start, end, key = half_edges(faces, size)
    open_keys = edges.ends[edges.count == 1] @ np.array([size, 1])
    index = np.searchsorted(open_keys, key)
    open_edge = open_keys[np.minimum(index, len(open_keys) - 1)] == key
    loop = label[index[open_edge]]
    # A half-edge has the surface to its left; around the hole the order is the opposite one.
    before, after = end[open_edge], start[open_edge]
    rings = {}
    for hole in holes:
        rim = loop == hole
        following = dict(zip(before[rim].tolist(), after[rim].tolist(), strict=True))
        ring = [int(before[rim][0])]
        while following and (vertex := following.pop(ring[-1], None)) not in (None, ring[0]):
            ring.append(vertex)
        if not following and len(ring) == rim.sum():
            rings[int(hole)] = np.array(ring)
    return rings


def _patch(points: FloatArray, normals: FloatArray, tree: KDTree, ring: IntArray) -> _Patch | None:
    """Return the patch over a ring of vertices (N,), or None if no plane shows the ring simply."""
    rim = points[ring]
    normal = normals[ring].mean(axis=0)
    if (size := float(np.linalg.norm(normal))) < _STEEP:
        return None
    normal /= size
    axes = np.stack([*(t[0] for t in tangents(normal[None])), normal])
    if np.linalg.det(axes) < 0.0:
        axes = axes[[1, 0, 2]]
    centre = rim.mean(axis=0)
    flat = (rim - centre) @ axes.T
    (x, y), (u, v) = flat[:, :2].T, np.roll(flat[:, :2], -1, axis=0).T
    if float((x * v - u * y).sum()) < 2.0 * _SLIT * float(np.ptp(flat, axis=0).max()) ** 2:
        return None
    spacing = float(np.linalg.norm(rim - np.roll(rim, 1, axis=0), axis=1).mean())
    inner = _grid_within(flat[:, :2], spacing)
    plane = np.concatenate([flat[:, :2], inner])
    faces = _triangulated(plane, len(ring))
    if faces is None:
        return None
    inner = np.column_stack([inner, _heights(points, normals, tree, ring, centre, axes, inner)])
    new = np.concatenate([flat, inner])[faces]
    facing = np.cross(new[:, 1] - new[:, 0], new[:, 2] - new[:, 0])
    if (facing[:, 2] <= _STEEP * np.linalg.norm(facing, axis=1)).any():
        return None
    return _Patch(centre + inner @ axes, faces)


def _heights(
    points: FloatArray,
    normals: FloatArray,
    tree: KDTree,
    ring: IntArray,
    centre: FloatArray,
    axes: FloatArray,
    inner: FloatArray,
) -> FloatArray:
    """Return heights (P,) [m] of the surface around over points (P, 2) of its plane."""
    if len(inner) == 0:
        return np.zeros(0)
    radius = 2.0 * _AROUND * float(np.linalg.norm(points[ring] - centre, axis=1).max())
    distance, near = tree.query(centre, k=min(_MOST, tree.n), distance_upper_bound=radius)
    near = np.asarray(near)[np.isfinite(distance)]
    near = near[normals[near] @ axes[2] > np.cos(CREASE_ANGLE)]
    around = (points[np.union1d(near, ring)] - centre) @ axes.T / radius
    spline = RBFInterpolator(around[:, :2], around[:, 2], kernel="thin_plate_spline", degree=1)
    heights: FloatArray = radius * spline(inner / radius)
    return heights


def _grid_within(ring: FloatArray, spacing: float) -> FloatArray:
    """Return points (P, 2) of a hexagonal grid within a polygon (N, 2), clear of its rim [m]."""
    low, high = ring.min(axis=0), ring.max(axis=0)
    rows = np.arange(low[1], high[1], np.sqrt(0.75) * spacing)
    columns = np.arange(low[0], high[0] + spacing, spacing)
    x = columns[None, :] + 0.5 * spacing * (np.arange(len(rows))[:, None] % 2)
    grid = np.stack([x, np.broadcast_to(rows[:, None], x.shape)], axis=-1).reshape(-1, 2)
    # The sides of the polygon, finely divided, so that long sides keep points away as well.
    parts = np.linspace(0.0, 1.0, 8, endpoint=False)[:, None, None]
    sides = (ring + parts * (np.roll(ring, -1, axis=0) - ring)).reshape(-1, 2)
    away, _ = KDTree(sides).query(grid)
    return grid[_within(grid, ring) & (away > _CLEAR * spacing)]


def _within(points: FloatArray, ring: FloatArray) -> NDArray[np.bool_]:
    """Return whether points (P, 2) lie within a polygon (N, 2), (P,) bool; even-odd rule."""
    begin, end = ring[None], np.roll(ring, -1, axis=0)[None]
    x, y = points[:, :1], points[:, 1:]
    between = (begin[:, :, 1] > y) != (end[:, :, 1] > y)
    rise = np.where(between, end[:, :, 1] - begin[:, :, 1], 1.0)
    crossing = begin[:, :, 0] + (y - begin[:, :, 1]) / rise * (end[:, :, 0] - begin[:, :, 0])
    inside: NDArray[np.bool_] = (between & (x < crossing)).sum(axis=1) % 2 == 1
    return inside


def _triangulated(plane: FloatArray, rim: int) -> IntArray | None:
    """Return triangles (F, 3) of points (P, 2) that fill the polygon `rim`, or None."""
    if len(plane) == 3:
        triangles = np.array([[0, 1, 2]])
    else:
        triangles = Delaunay(plane).simplices.astype(np.int64)
        triangles = triangles[_within(plane[triangles].mean(axis=1), plane[:rim])]
    a, b, c = (plane[triangles[:, k]] for k in range(3))
    double = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    triangles = np.where((double < 0.0)[:, None], triangles[:, ::-1], triangles)
    start, end, key = half_edges(triangles, len(plane))
    _, edge, uses = np.unique(key, return_inverse=True, return_counts=True)
    outer = uses[edge] == 1
    sides = np.sort(start[outer])
    follow = end[outer][np.argsort(start[outer], kind="stable")]
    fills = len(triangles) > 0 and np.array_equal(sides, np.arange(rim))
    if not (fills and np.array_equal(follow, (np.arange(rim) + 1) % rim)):
        return None
    return triangles
