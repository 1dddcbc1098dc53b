"""Edges, pieces and boundary loops of a triangle mesh."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from foundation.base.checks import FloatArray, IntArray
from foundation.surfaces.triangle_mesh import TriangleMesh


@dataclass(frozen=True, eq=False)
class Edges:
    """Unique edges of a mesh.

    Parameters
    ----------
    ends : (E, 2) int64
        Vertices of each edge, smaller index first.
    count : (E,) int64
        Number of triangles at the edge: 1 on the boundary, 2 inside a manifold surface.
    balance : (E,) int64
        Number of triangles that traverse the edge from the smaller vertex index, minus the number
        in the opposite direction: 0 where two neighbours agree on the outer side.
    """

    ends: IntArray
    count: IntArray
    balance: IntArray


def half_edges(faces: IntArray, vertex_count: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return start, end and edge key of the half-edges of triangles (F, 3), (3 F,) each.

    Half-edge 3 f + k runs from corner k of triangle f to the next corner. The half-edges of one
    edge have the same key: one number per edge sorts several times faster than pairs do.
    """
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


def label_pieces(mesh: TriangleMesh) -> tuple[IntArray, FloatArray]:
    """Return the connected piece (F,) of each triangle, and the area (P,) [m²] of each piece.

    Triangles are connected if they share a vertex; pieces are in the order of decreasing area.
    """
    links = np.concatenate([mesh.faces[:, :2], mesh.faces[:, 1:]])
    by_triangle = connected_groups(links, len(mesh.vertices))[mesh.faces[:, 0]]
    _, compact = np.unique(by_triangle, return_inverse=True)
    areas: FloatArray = np.bincount(compact, weights=mesh.areas).astype(np.float64)
    order = np.argsort(-areas, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[compact], areas[order]


@dataclass(frozen=True, eq=False)
class BoundaryLoops:
    """Lengths (L,) and centres (L, 3) [m] of the loops of boundary edges, and their pieces (L,).

    Two loops that share a vertex count as one; the pieces are those of `label_pieces`.
    """

    length: FloatArray
    piece: IntArray
    centre: FloatArray


def boundary_loops(mesh: TriangleMesh, edges: Edges, pieces: IntArray) -> BoundaryLoops:
    """Return the boundary loops of a mesh from its edges and the piece (F,) of each triangle."""
    ends = edges.ends[edges.count == 1]
    if len(ends) == 0:
        return BoundaryLoops(np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros((0, 3)))
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
    return BoundaryLoops(length, piece, centre)


def connected_groups(links: IntArray, size: int) -> NDArray[np.int32]:
    """Return the connected group (size,) of each item, from pairs of linked items (L, 2)."""
    ones = np.ones(len(links), dtype=np.int8)
    graph = coo_array((ones, (links[:, 0], links[:, 1])), shape=(size, size))
    labels: NDArray[np.int32] = connected_components(graph.tocsr(), directed=False)[1]
    return labels
