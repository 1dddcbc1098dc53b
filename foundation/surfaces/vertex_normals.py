"""Vertex normals of a triangle mesh, estimated from the surrounding triangles.

The mesh is first cut open along its creases, so that the estimates are one-sided there, as at a
boundary. A polynomial height function (a jet) is then fitted around each vertex (Cazals & Pouget
2005, Comput Aided Geom Des 22:121-146). With degree 2 the error is of second order in the edge
length, also on irregular triangles and at boundaries.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from foundation.base.checks import FloatArray, IntArray
from foundation.surfaces.mesh_topology import connected_groups, half_edges
from foundation.surfaces.triangle_mesh import TriangleMesh, edge_length

#: Number of vertices per batch of fits; bounds the memory.
_CHUNK = 4096
#: Fraction of the largest eigenvalue of a fit's normal matrix below which a combination of
#: coefficients counts as undetermined and is set to zero. Determined fits of degree 2 stay above
#: 1e-3, also on rims and in strips of three vertices.
_UNDETERMINED = 1e-5


@dataclass(frozen=True, eq=False)
class CutMesh:
    """Vertices (G, 3) [m], one per smooth side, and triangles (F, 3) of a mesh cut at creases."""

    vertices: FloatArray
    faces: IntArray
    #: Whether the edge from corner k to k + 1 is a crease (F, 3); a boundary is none.
    crease: NDArray[np.bool_]


def cut_at_creases(mesh: TriangleMesh, crease_angle: float) -> CutMesh:
    """Cut a mesh at edges sharper than `crease_angle` [rad] and at non-manifold edges."""
    start, end, key = half_edges(mesh.faces, len(mesh.vertices))
    _, edge, uses = np.unique(key, return_inverse=True, return_counts=True)
    order, last = np.argsort(edge, kind="stable"), np.cumsum(uses) - 1
    first, second = order[last[uses == 2] - 1], order[last[uses == 2]]
    cosine = (mesh.normals[first // 3] * mesh.normals[second // 3]).sum(axis=1)
    smooth = (cosine >= np.cos(crease_angle)) & (start[first] == end[second])
    first, second = first[smooth], second[smooth]
    crease = uses[edge] > 1
    crease[first] = crease[second] = False
    # Across a smooth edge, the corners of both triangles at each end are one vertex.
    ends = np.concatenate([np.stack([first, _next(second)]), np.stack([_next(first), second])], 1)
    group = connected_groups(ends.T, len(key))
    vertices = np.empty((group.max() + 1, 3))
    vertices[group] = mesh.vertices[start]
    return CutMesh(vertices, group.reshape(-1, 3).astype(np.int64), crease.reshape(-1, 3))


def _next(half_edge: IntArray) -> IntArray:
    """Return the next half-edge of the same triangle."""
    return half_edge - half_edge % 3 + (half_edge + 1) % 3


def angle_weighted_normals(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """Return unit normals (V, 3) [1]: means of facet normals weighted by corner angles."""
    # Thürmer & Wüthrich (1998, J Graph Tools 3:43-46): bounded error, even for slivers, of first
    # order on irregular triangles.
    corners = vertices[faces]
    ahead = np.roll(corners, -1, axis=1) - corners
    back = np.roll(corners, 1, axis=1) - corners
    normal = np.cross(ahead, back)
    length = np.linalg.norm(normal, axis=2)
    angle = np.arctan2(length, (ahead * back).sum(axis=2))
    weighted = ((angle / length)[:, :, None] * normal).reshape(-1, 3)
    flat = faces.reshape(-1)
    total = np.stack([np.bincount(flat, part, len(vertices)) for part in weighted.T], axis=1)
    return total / np.linalg.norm(total, axis=1, keepdims=True)


def jet_normals(
    vertices: FloatArray,
    faces: IntArray,
    *,
    degree: int = 2,
    rings: int = 2,
    largest_turn: float = np.pi,
) -> FloatArray:
    """Return unit normals (V, 3) [1] of polynomials fitted to the neighbours of vertices [m]."""
    # Neighbours are `rings` edges away. A normal more than `largest_turn` [rad] from the
    # angle-weighted normal is replaced by it.
    start = angle_weighted_normals(vertices, faces)
    neighbours = _neighbours(len(vertices), faces, rings)
    counts = np.diff(neighbours.indptr)
    normals = np.empty_like(start)
    # Vertices with similar numbers of neighbours in one batch, so that the padding stays small.
    order = np.argsort(counts, kind="stable")
    for members in np.array_split(order, -(-len(order) // _CHUNK)):
        slots = np.arange(counts[members[-1]])
        valid = slots < counts[members, None]
        at = np.where(valid, neighbours.indptr[members, None] + slots, 0)
        others = np.where(valid, neighbours.indices[at], members[:, None])
        normals[members] = _fitted(vertices, start[members], members, others, valid, degree)
    turned = (normals * start).sum(axis=1) < np.cos(largest_turn)
    normals[turned] = start[turned]
    return normals


def _neighbours(size: int, faces: IntArray, rings: int) -> csr_array:
    """Return the vertices within `rings` edges of each vertex, without the vertex itself."""
    start, end = faces.reshape(-1), np.roll(faces, -1, axis=1).reshape(-1)
    ones = np.ones(2 * len(start), dtype=np.int32)
    links = (np.concatenate([start, end]), np.concatenate([end, start]))
    adjacent = coo_array((ones, links), shape=(size, size)).tocsr()
    reached = adjacent
    for _ in range(rings - 1):
        reached = reached @ adjacent + adjacent
        reached.data[:] = 1
    found = reached.tocoo()
    apart = found.row != found.col
    row, column = found.row[apart], found.col[apart]
    return coo_array((found.data[apart], (row, column)), shape=(size, size)).tocsr()


def _fitted(
    vertices: FloatArray,
    normal: FloatArray,
    members: IntArray,
    others: IntArray,
    valid: NDArray[np.bool_],
    degree: int,
) -> FloatArray:
    """Return normals of M vertices from heights over planes (M, 3), weighted by 1/distance²."""
    first, second = tangents(normal)
    away = vertices[others] - vertices[members, None]
    distance = np.linalg.norm(away, axis=2)
    scale = distance.sum(axis=1, keepdims=True) / valid.sum(axis=1, keepdims=True)
    u, v, height = (np.einsum("mki,mi->mk", away, t) / scale for t in (first, second, normal))
    weight = np.where(valid, 1.0 / np.maximum(distance / scale, 1e-3) ** 2, 0.0)
    # Binomial factors make the norm of the coefficients independent of the tangents' direction.
    powers = [(i, k - i) for k in range(1, degree + 1) for i in range(k, -1, -1)]
    basis = np.stack([np.sqrt(comb(i + j, i)) * u**i * v**j for i, j in powers], axis=2)
    weighted = np.swapaxes(basis * weight[:, :, None], 1, 2)
    right = np.einsum("mpk,mk->mp", weighted, height)
    modes, modal = determined_modes(weighted @ basis, right)
    slope = np.einsum("mpi,mi->mp", modes[:, :2], modal)
    fitted = normal - slope[:, :1] * first - slope[:, 1:] * second
    return fitted / np.linalg.norm(fitted, axis=1, keepdims=True)


def determined_modes(matrix: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return modes (M, P, P) [1] and solutions (M, P) of normal equations [any unit]."""
    # Along a combination of coefficients that the points do not determine, the solution is zero.
    values, modes = np.linalg.eigh(matrix)
    kept = values > _UNDETERMINED * values[:, -1:]
    inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    return modes, inverse * np.einsum("mpi,mp->mi", modes, right)


def tangents(normals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two orthogonal unit tangents of each normal (N, 3), (N, 3) each [1]."""
    axis = np.eye(3)[np.argmin(np.abs(normals), axis=1)]
    first = np.cross(normals, axis)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return first, np.cross(normals, first)


#: Median angle between the normals and their averages above which a surface is rough [rad]
#: (measured: below 4 deg on scans, 15 to 30 deg on the steps of a binary segmentation).
_ROUGH = np.radians(10.0)
#: Distance over which normals are averaged [m], and most averages over adjacent triangles.
_AVERAGED, _MOST_AVERAGES = 2.5e-3, 30


def facing_normals(mesh: TriangleMesh) -> FloatArray:
    """Return unit normals (F, 3) [1], averaged over a rough surface: segmentations have steps."""
    averaged = averaged_normals(mesh)
    cosines = np.einsum("fi,fi->f", averaged, mesh.normals)
    rough = float(np.median(cosines)) < np.cos(_ROUGH)
    return averaged if rough else mesh.normals


def averaged_normals(mesh: TriangleMesh) -> FloatArray:
    """Return unit normals (F, 3) [1] averaged over the triangles within about 2.5 mm."""
    count = len(mesh.faces)
    corners = coo_array(
        (np.ones(3 * count), (np.repeat(np.arange(count), 3), mesh.faces.reshape(-1))),
        shape=(count, len(mesh.vertices)),
    ).tocsr()
    gathered = corners.T.tocsr()
    shares = np.asarray(gathered @ mesh.areas)
    rounds = int(np.ceil((_AVERAGED / edge_length(mesh)) ** 2))
    normals: FloatArray = mesh.normals
    for _ in range(min(rounds, _MOST_AVERAGES)):
        at_vertex = np.asarray(gathered @ (mesh.areas[:, None] * normals))
        at_vertex = at_vertex / np.maximum(shares, np.finfo(float).tiny)[:, None]
        normals = np.asarray(corners @ at_vertex)
    size = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.where(size > 0.0, normals / np.where(size > 0.0, size, 1.0), mesh.normals)
