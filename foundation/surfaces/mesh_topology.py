"""Edges, pieces and boundary loops of a triangle mesh."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from foundation.base.checks import FloatArray, IntArray, frozen
from foundation.surfaces.triangle_mesh import TriangleMesh

#: A boundary loop is a hole below these fractions of the longest loop, and of the rim of a disc of
#: the same area.
HOLE_OF_RIM, HOLE_OF_DISC = 0.5, 0.25


@dataclass(frozen=True, eq=False)
class Edges:
    """Unique edges of a mesh, with ends (E, 2)."""

    #: Vertices of each edge (E, 2), smaller index first.
    ends: IntArray
    #: Number of triangles (E,) at the edge: 1 on the boundary, 2 inside a manifold surface.
    count: IntArray
    #: Triangles (E,) that traverse the edge upwards less downwards in index; 0 where two agree.
    balance: IntArray


def half_edges(faces: IntArray, vertex_count: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return start, end and edge key (3 F,) of the half-edges of triangles (F, 3)."""
    # Half-edge 3 f + k leaves corner k of triangle f. One number per edge sorts faster than pairs.
    start, end = faces.reshape(-1), np.roll(faces, -1, axis=1).reshape(-1)
    return start, end, np.minimum(start, end) * vertex_count + np.maximum(start, end)


def find_edges(faces: IntArray, vertex_count: int) -> Edges:
    """Return the edges of triangles (F, 3) over `vertex_count` vertices."""
    start, end, key = half_edges(faces, vertex_count)
    keys, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
    direction = np.where(start <= end, 1.0, -1.0)
    balance = np.bincount(inverse, weights=direction, minlength=len(keys))
    ends = np.stack([keys // vertex_count, keys % vertex_count], axis=1)
    return Edges(ends, count, balance.astype(np.int64))


def triangles_around(mesh: TriangleMesh) -> csr_array:
    """Return which triangles have a vertex, (V, F), as ones."""
    count = len(mesh.faces)
    coords = (mesh.faces.reshape(-1), np.repeat(np.arange(count), 3))
    return coo_array((np.ones(3 * count), coords), shape=(len(mesh.vertices), count)).tocsr()


def neighbours(faces: IntArray, vertex_count: int) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
    """Return two triangles (E,) at each edge of just two, and whether their windings agree (E,)."""
    start, _, key = half_edges(faces, vertex_count)
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.diff(key[order], prepend=-1))
    pairs = begins[np.diff(begins, append=len(order)) == 2]
    first, second = order[pairs], order[pairs + 1]
    return first // 3, second // 3, start[first] != start[second]


def is_repeated(faces: IntArray) -> NDArray[np.bool_]:
    """Return which triangles (F, 3) have the corners of an earlier triangle, (F,)."""
    corners = np.sort(faces, axis=1)
    # Several times faster than `np.unique` of rows; stable, so that the first triangle comes first.
    order = np.lexsort(corners.T[::-1])
    ordered = corners[order]
    repeated = np.zeros(len(faces), dtype=np.bool_)
    repeated[order[1:]] = (ordered[1:] == ordered[:-1]).all(axis=1)
    return repeated


# The checks and searches ask for the pieces of the same few meshes again and again.
@lru_cache(maxsize=6)
def label_pieces(mesh: TriangleMesh) -> tuple[IntArray, FloatArray]:
    """Return the connected piece (F,) of each triangle, and areas (P,) [m²], the largest first."""
    links = np.concatenate([mesh.faces[:, :2], mesh.faces[:, 1:]])
    by_triangle = connected_groups(links, len(mesh.vertices))[mesh.faces[:, 0]]
    _, compact = np.unique(by_triangle, return_inverse=True)
    areas: FloatArray = np.bincount(compact, weights=mesh.areas).astype(np.float64)
    order = np.argsort(-areas, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return frozen(rank[compact]), frozen(areas[order])


@dataclass(frozen=True, eq=False)
class BoundaryLoops:
    """Loops (L,) [m] of boundary edges (B,); two loops that share a vertex count as one."""

    length: FloatArray
    #: Twice the largest distance of a vertex from the centre (L,) [m].
    across: FloatArray
    #: Piece of each loop (L,), as of `label_pieces`.
    piece: IntArray
    #: Mean of the middles of the edges (L, 3) [m].
    centre: FloatArray
    #: Loop of each boundary edge (B,), in the order of `Edges`.
    label: IntArray


def boundary_loops(mesh: TriangleMesh, edges: Edges, pieces: IntArray) -> BoundaryLoops:
    """Return the boundary loops of a mesh from its edges and the piece (F,) of each triangle."""
    ends = edges.ends[edges.count == 1]
    if len(ends) == 0:
        none = np.zeros(0, dtype=np.int64)
        return BoundaryLoops(np.zeros(0), np.zeros(0), none, np.zeros((0, 3)), none)
    _, loop = np.unique(connected_groups(ends, len(mesh.vertices))[ends[:, 0]], return_inverse=True)
    count = int(loop.max()) + 1
    lengths = np.linalg.norm(mesh.vertices[ends[:, 0]] - mesh.vertices[ends[:, 1]], axis=1)
    middle = mesh.vertices[ends].mean(axis=1)
    size = np.bincount(loop)
    centre = np.stack([np.bincount(loop, weights=c) / size for c in middle.T], axis=1)
    piece_of_vertex = np.zeros(len(mesh.vertices), dtype=np.int64)
    piece_of_vertex[mesh.faces.reshape(-1)] = np.repeat(pieces, 3)
    piece = np.zeros(count, dtype=np.int64)
    piece[loop] = piece_of_vertex[ends[:, 0]]
    length: FloatArray = np.bincount(loop, weights=lengths).astype(np.float64)
    across = np.zeros(count)
    away = np.linalg.norm(mesh.vertices[ends] - centre[loop][:, None], axis=2).max(axis=1)
    np.maximum.at(across, loop, 2.0 * away)
    return BoundaryLoops(length, across, piece, centre, loop)


def find_holes(loops: BoundaryLoops, areas: FloatArray) -> NDArray[np.bool_]:
    """Return which loops are holes, (L,); the others are rims of pieces of areas (P,) [m²]."""
    rim = np.zeros(len(areas))
    np.maximum.at(rim, loops.piece, loops.length)
    disc_rim = np.sqrt(4.0 * np.pi * areas)
    shortest = np.maximum(HOLE_OF_RIM * rim, HOLE_OF_DISC * disc_rim)
    is_hole: NDArray[np.bool_] = loops.length < shortest[loops.piece]
    return is_hole


def connected_groups(links: IntArray, size: int) -> NDArray[np.int32]:
    """Return the connected group (size,) of each item, from pairs of linked items (L, 2)."""
    ones = np.ones(len(links), dtype=np.int8)
    graph = coo_array((ones, (links[:, 0], links[:, 1])), shape=(size, size))
    labels: NDArray[np.int32] = connected_components(graph.tocsr(), directed=False)[1]
    return labels
