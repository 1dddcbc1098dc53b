"""Smoothing of a scanned surface: local quadratic fits, within a stated deviation.

Around each vertex a quadratic height function is fitted to the vertices within a radius (moving
least squares: Alexa et al. 2003, IEEE Trans Vis Comput Graph 9:3-15), and the vertex moves along
its normal to the fit. A quadratic surface stays as it is, so that curvature does not shrink.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

# Each bone moves outwards by its own cartilage: the surfaces then touch where the cartilages do, in
# every pose. Dividing the gap of a scan would hold in the pose of that scan alone.
import numpy as np
from scipy.spatial import KDTree

from foundation.base.checks import FloatArray, IntArray, check_number
from foundation.core.library import CORE, address, addresses
from foundation.surfaces.smooth_surface import (
    CREASE_ANGLE,
    angle_weighted_normals,
    determined_modes,
    facing_normals,
    tangents,
)
from foundation.surfaces.triangle_mesh import TriangleMesh, compacted, edge_length

#: Radius of a fit [m], and least radius over the edge length of the mesh: within 2.2 edges lie
#: about three times as many vertices as a quadratic function has coefficients.
RADIUS, _EDGES = 3e-3, 2.2
#: Largest radius over the edge length, for about 300 vertices a fit, and vertices per batch: both
#: bound the memory.
_MOST_EDGES, _BATCH = 9.0, 4096
#: Cosine of the largest angle between the normals of a vertex and of a point of its fit.
_FACING = float(np.cos(CREASE_ANGLE))
#: Cosine of the largest angle by which a triangle may turn.
_TURN = 0.5


class Smoothed(NamedTuple):
    """A smoothed mesh with the same triangles, and how far vertices moved."""

    mesh: TriangleMesh
    #: Largest distance between a vertex and its former place [m].
    largest: float
    #: Root mean square of these distances [m].
    rms: float


def smoothed(mesh: TriangleMesh, deviation: float | None, *, passes: int = 3) -> Smoothed:
    """Return a mesh smoothed by local quadratic fits, `passes` times, within `deviation` [m]."""
    # Vertices at sharp edges are fitted to their own side. A move u becomes u/sqrt(1 +
    # (u/deviation)²), so that the limit makes no ridges. Vertices of triangles that would fold
    # stay.
    if deviation is not None:
        check_number("deviation", deviation, above=0.0, unit="m")
    used, faces, normals, rise = _fitted(mesh, passes)
    if deviation is not None:
        rise = rise / np.sqrt(1.0 + (rise / deviation) ** 2)
    rise = unfolded(mesh.vertices[used], normals, faces, rise)
    vertices = mesh.vertices.copy()
    vertices[used] += rise[:, None] * normals
    moved = TriangleMesh(vertices, mesh.faces, mesh.name)
    return Smoothed(moved, float(np.abs(rise).max()), float(np.sqrt(np.mean(rise**2))))


# Several deviations are tried in turn, and the patches of each are fitted in between.
@lru_cache(maxsize=12)
def _fitted(mesh: TriangleMesh, passes: int) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Return used vertices (W,), triangles (F, 3), normals (W, 3), heights (W,) [m] of fits."""
    used, faces = compacted(mesh.faces, len(mesh.vertices))
    points = mesh.vertices[used]
    normals = angle_weighted_normals(points, faces)
    shares = np.zeros(len(points))
    np.add.at(shares, faces, mesh.areas[:, None])
    edge = edge_length(mesh)
    radius = min(max(RADIUS, _EDGES * edge), _MOST_EDGES * edge)
    rise = np.zeros(len(points))
    for _ in range(passes):
        rise += _rises(points + rise[:, None] * normals, normals, shares, radius)
    return used, faces, normals, rise


def unfolded(
    points: FloatArray, normals: FloatArray, faces: IntArray, rise: FloatArray
) -> FloatArray:
    """Return the heights (V,) [m], zero at triangles that would turn by more than `_TURN`."""
    before, heights = _facing(points[faces]), rise.copy()
    while True:
        after = _facing((points + heights[:, None] * normals)[faces])
        folded = faces[(before * after).sum(axis=1) < _TURN]
        if not heights[folded].any():
            return heights
        heights[folded] = 0.0


def _facing(corners: FloatArray) -> FloatArray:
    """Return the unit normals (F, 3) [1] of triangles of corners (F, 3, 3) [m]."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(normal, axis=1, keepdims=True)
    return np.asarray(normal / np.maximum(size, np.finfo(float).tiny))


def _rises(
    points: FloatArray, normals: FloatArray, shares: FloatArray, radius: float
) -> FloatArray:
    """Return the height (V,) [m] of the fit over each vertex; `shares` (V,) are weights."""
    tree, tangent = KDTree(points), tangents(normals)
    arrays = [np.ascontiguousarray(array) for array in (points, normals, *tangent, shares)]
    sums = np.zeros((len(points), 6, 7))
    # The tree's order keeps the vertices of a batch together.
    for members in np.array_split(tree.indices, -(-len(points) // _BATCH)):
        pairs = KDTree(points[members]).sparse_distance_matrix(tree, radius, output_type="ndarray")
        vertex, near = members[pairs["i"]].astype(np.intc), pairs["j"].astype(np.intc)
        CORE.local_fit_sums(
            len(pairs), *addresses(vertex, near, *arrays), radius, _FACING, address(sums)
        )
    modes, modal = determined_modes(sums[:, :, :6], sums[:, :, 6])
    return radius * np.asarray((modes[:, 0] * modal).sum(axis=1))


def moved_outwards(mesh: TriangleMesh, distance: float) -> TriangleMesh:
    """Return a mesh with vertices moved along normals by a distance [m] unless one folds."""
    check_number("distance", distance, at_least=0.0, unit="m")
    normals = _vertex_normals(mesh)
    rise = np.full(len(mesh.vertices), distance)
    rise = unfolded(mesh.vertices, normals, mesh.faces, rise)
    return TriangleMesh(mesh.vertices + rise[:, None] * normals, mesh.faces, mesh.name)


def _vertex_normals(mesh: TriangleMesh) -> FloatArray:
    """Return the unit normals (V, 3) [1] of the surface that the triangles stand for."""
    total = np.zeros_like(mesh.vertices)
    weighted = mesh.areas[:, None] * facing_normals(mesh)
    for corner in mesh.faces.T:
        np.add.at(total, corner, weighted)
    size = np.linalg.norm(total, axis=1, keepdims=True)
    unit: FloatArray = total / np.maximum(size, np.finfo(float).tiny)
    return unit
