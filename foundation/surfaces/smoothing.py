"""Smoothing of a scanned surface: local quadratic fits, within a stated deviation.

Around each vertex a quadratic height function is fitted to the vertices within a radius (moving
least squares: Alexa et al. 2003, IEEE Trans Vis Comput Graph 9:3-15), and the vertex moves along
its normal to the fit. A quadratic surface stays as it is, so that curvature does not shrink.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from foundation.base.checks import FloatArray, IntArray, check_number
from foundation.surfaces.smooth_surface import CREASE_ANGLE
from foundation.surfaces.triangle_mesh import TriangleMesh, edge_length
from foundation.surfaces.vertex_normals import angle_weighted_normals, tangents

#: Radius of a fit [m], and least radius over the edge length of the mesh: within 2.2 edges lie
#: about three times as many vertices as a quadratic function has coefficients.
RADIUS, _EDGES = 3e-3, 2.2
#: Largest number of vertices of a fit, and vertices per batch, which bounds the memory.
_MOST, _BATCH = 300, 1024
#: Part of the largest eigenvalue of a fit below which a combination of coefficients is dropped.
_UNDETERMINED = 1e-5
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
    """Return a mesh [m] smoothed by local quadratic fits, `passes` times.

    Vertices at sharp edges are fitted to their own side of the edge. No vertex moves farther than
    `deviation` [m], None for no limit: one that would move by u moves by u/sqrt(1 +
    (u/deviation)²), so that the limit does not make ridges. Vertices of triangles that would fold,
    as slivers at rims do, stay where they are. Raises `InputError` if the deviation is not
    positive.
    """
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
    """Return the vertices in use (W,), the triangles (F, 3) over these vertices, and more.

    Normals (W, 3) [1] of the vertices, and their heights (W,) [m] after repeated fits.
    """
    used, faces = np.unique(mesh.faces, return_inverse=True)
    points, faces = mesh.vertices[used], faces.reshape(-1, 3)
    normals = angle_weighted_normals(points, faces)
    shares = np.zeros(len(points))
    np.add.at(shares, faces, mesh.areas[:, None])
    radius = max(RADIUS, _EDGES * edge_length(mesh))
    rise = np.zeros(len(points))
    for _ in range(passes):
        rise += _rises(points + rise[:, None] * normals, normals, shares, radius)
    return used, faces, normals, rise


def unfolded(
    points: FloatArray, normals: FloatArray, faces: IntArray, rise: FloatArray
) -> FloatArray:
    """Return the heights (V,) [m], zero at triangles that would turn by more than `_TURN`."""
    before, kept = _facing(points[faces]), rise.copy()
    while True:
        after = _facing((points + kept[:, None] * normals)[faces])
        folded = faces[(before * after).sum(axis=1) < _TURN]
        if not kept[folded].any():
            return kept
        kept[folded] = 0.0


def _facing(corners: FloatArray) -> FloatArray:
    """Return the unit normals (F, 3) [1] of triangles of corners (F, 3, 3) [m]."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(normal, axis=1, keepdims=True)
    return np.asarray(normal / np.maximum(size, np.finfo(float).tiny))


def _rises(
    points: FloatArray, normals: FloatArray, shares: FloatArray, radius: float
) -> FloatArray:
    """Return the height (V,) [m] of the fit over each vertex; `shares` (V,) are weights."""
    tree, rise = KDTree(points), np.zeros(len(points))
    count = min(_MOST, len(points))
    for members in np.array_split(np.arange(len(points)), -(-len(points) // _BATCH)):
        found = tree.query(points[members], k=count, distance_upper_bound=radius)
        distance, near = (np.asarray(part) for part in found)
        widest = int(np.isfinite(distance).sum(axis=1).max())
        distance, near = distance[:, :widest], near[:, :widest]
        within = np.isfinite(distance)
        near = np.where(within, near, members[:, None])
        facing = (normals[near] * normals[members, None]).sum(axis=2) > np.cos(CREASE_ANGLE)
        fading = (1.0 - np.where(within, distance / radius, 1.0) ** 2) ** 2
        weights = np.where(within & facing, fading * shares[near], 0.0)
        rise[members] = _fitted_height(points, normals[members], members, near, weights, radius)
    return rise


def _fitted_height(
    points: FloatArray,
    normal: FloatArray,
    members: IntArray,
    near: IntArray,
    weights: FloatArray,
    radius: float,
) -> FloatArray:
    """Return the height (M,) [m] at each vertex of the quadratic fit to its neighbours (M, K)."""
    first, second = tangents(normal)
    away = (points[near] - points[members, None]) / radius
    x, y, height = (np.einsum("mki,mi->mk", away, t) for t in (first, second, normal))
    # The factor makes the norm of the coefficients independent of the tangents' direction.
    terms = [np.ones_like(x), x, y, x * x, np.sqrt(2.0) * x * y, y * y]
    basis = np.stack(terms, axis=2)
    weighted = np.swapaxes(basis * weights[:, :, None], 1, 2)
    values, modes = np.linalg.eigh(weighted @ basis)
    kept = values > _UNDETERMINED * values[:, -1:]
    inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    right = np.einsum("mpk,mk->mp", weighted, height)
    modal = inverse * np.einsum("mpi,mp->mi", modes, right)
    return radius * np.asarray((modes[:, 0] * modal).sum(axis=1))
