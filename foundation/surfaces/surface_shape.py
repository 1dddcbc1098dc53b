"""Measures of shape that tell bodies apart; figures were measured on cartilage and implants."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.surfaces.mesh_topology import find_edges, label_pieces
from foundation.surfaces.triangle_mesh import TriangleMesh, compacted, stacked

#: Normals of plateaus are closer than this to the mean normal (cosine).
_UPPER = 0.3
#: Bounds of the strips of eminence and plateaus, from mid-width over the width, and of their length
#: from mid-length over the length.
_EMINENCE, _PLATEAU, _LENGTH = 0.2, 0.4, 0.3
#: Least area of a large piece over the largest, least norm of the mean normal of an open piece,
#: largest cosine between opposite means, and largest overlap of pieces side by side over the width.
_LARGE, _OPEN, _OPPOSED, _BESIDE = 0.2, 0.3, -0.5, 0.2
#: Distance by which a wall within another one may stand out, as at a cut through both [m], and
#: largest number of pieces that may have another piece within.
_WITHIN, _AROUND = 0.5e-3, 20
#: Norm of the mean normal up to which a surface is a body, closed or open at its shaft (measured:
#: bones up to 0.3, open femoral surfaces 0.35 to 0.49, tibial ones 0.78 to 0.95).
BODY = 0.3


def is_closed(mesh: TriangleMesh) -> bool:
    """Return whether a surface has no boundary."""
    return not bool((find_edges(mesh.faces, len(mesh.vertices)).count == 1).any())


def volume(mesh: TriangleMesh) -> float:
    """Return the volume within a closed surface [m³], positive if the normals point outwards."""
    arms = mesh.centroids - mesh.vertices.mean(axis=0)
    return float((arms * mesh.area_vectors).sum() / 3.0)


def is_nearly_closed(mesh: TriangleMesh) -> bool:
    """Return whether a surface has about as much area to each side as to the other."""
    return bool(np.linalg.norm(mesh.area_vectors.sum(axis=0)) < BODY * mesh.areas.sum())


def joined(meshes: Sequence[TriangleMesh]) -> TriangleMesh:
    """Return meshes as one with the name of the first, triangles in their order."""
    if len(meshes) == 1:
        return meshes[0]
    points, faces = stacked([mesh.vertices for mesh in meshes], [mesh.faces for mesh in meshes])
    return TriangleMesh(points, faces, meshes[0].name)


def selected(mesh: TriangleMesh, kept: NDArray[np.bool_]) -> TriangleMesh:
    """Return some triangles (F,) of a mesh, in their order."""
    if kept.all():
        return mesh
    used, faces = compacted(mesh.faces[kept], len(mesh.vertices))
    normals = None if mesh.vertex_normals is None else mesh.vertex_normals[used]
    return TriangleMesh(mesh.vertices[used], faces, mesh.name, normals)


def outwardness(mesh: TriangleMesh) -> float:
    """Return how far normals point away from the middle of a mesh, over its diagonal [1]."""
    # 0.20 to 0.23 for open femora; the sign changes with inverted normals.
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    arms = mesh.centroids - 0.5 * (low + high)
    total = float((arms * mesh.area_vectors).sum() / mesh.areas.sum())
    return total / float(np.linalg.norm(high - low))


def ridge_rise(mesh: TriangleMesh) -> float:
    """Return the rise of a tibia's middle over its plateaus along normals, per width [1]."""
    # 0.03 to 0.05; the sign changes with inverted normals. The axes of the mesh do not matter.
    normal, length, width = principal_axes(mesh)[0]
    mean = mesh.area_vectors.sum(axis=0)
    normal = normal if normal @ mean > 0.0 else -normal
    along, across = _from_middle(mesh, length), _from_middle(mesh, width)
    upper = (mesh.normals @ normal > _UPPER) & (np.abs(along) < _LENGTH)
    inner, outer = np.abs(across) < _EMINENCE, np.abs(across) < _PLATEAU
    middle, plateaus = upper & inner, upper & outer & ~inner
    if not (middle.any() and plateaus.any()):
        return 0.0
    height = mesh.centroids @ normal
    rise = np.median(height[middle]) - np.median(height[plateaus])
    return float(rise / np.ptp(mesh.vertices @ width))


def inverted_shells(mesh: TriangleMesh) -> NDArray[np.bool_]:
    """Return triangles (F,) of closed pieces with normals inwards, but walls of cavities."""
    labels, areas = label_pieces(mesh)
    edges = find_edges(mesh.faces, len(mesh.vertices))
    piece_of_vertex = np.zeros(len(mesh.vertices), dtype=np.int64)
    piece_of_vertex[mesh.faces] = labels[:, None]
    closed = areas >= _LARGE * areas[0]
    closed[piece_of_vertex[edges.ends[edges.count == 1]]] = False
    inverted = np.zeros(len(areas), dtype=np.bool_)
    if not closed.any():
        return inverted[labels]
    arms = mesh.centroids - mesh.centroids.mean(axis=0)
    volumes = np.bincount(labels, weights=(arms * mesh.area_vectors).sum(axis=1))
    inverted = closed & (volumes < 0.0)
    return inverted[labels] & ~enclosed(mesh, BODY) if inverted.any() else inverted[labels]


def enclosed(mesh: TriangleMesh, most_open: float = 1.0) -> NDArray[np.bool_]:
    """Return triangles (F,) of pieces in a large piece's principal box, its mean normal <= [1]."""
    labels, areas = label_pieces(mesh)
    within = np.zeros(len(areas), dtype=np.bool_)
    for piece in np.flatnonzero(areas[:-1] >= _LARGE * areas[0])[:_AROUND]:
        own = selected(mesh, labels == piece)
        if np.linalg.norm(own.area_vectors.sum(axis=0)) > most_open * own.areas.sum():
            continue
        axes, _ = principal_axes(own)
        box, places = own.vertices @ axes.T, mesh.vertices @ axes.T
        low, high = box.min(axis=0) - _WITHIN, box.max(axis=0) + _WITHIN
        outside = ((places < low) | (places > high)).any(axis=1)[mesh.faces].any(axis=1)
        smaller = np.arange(len(areas)) > piece
        within |= smaller & (np.bincount(labels, weights=outside, minlength=len(areas)) == 0)
    return within[labels]


def opposed_pieces(mesh: TriangleMesh) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Return the triangles (F,) of two pieces side by side that face opposite ways, else None."""
    # The two walls of a shell face opposite ways as well, but lie above each other.
    labels, areas = label_pieces(mesh)
    if (areas >= _LARGE * areas[0]).sum() != 2:
        return None
    pair = labels == 0, labels == 1
    facing = [mesh.area_vectors[piece].sum(axis=0) / mesh.areas[piece].sum() for piece in pair]
    sizes = [float(np.linalg.norm(mean)) for mean in facing]
    if min(sizes) < _OPEN or facing[0] @ facing[1] > _OPPOSED * sizes[0] * sizes[1]:
        return None
    normal = facing[0] / sizes[0] - facing[1] / sizes[1]
    normal /= np.linalg.norm(normal)
    middles = [np.average(mesh.centroids[p], axis=0, weights=mesh.areas[p]) for p in pair]
    apart = middles[1] - middles[0]
    apart -= (apart @ normal) * normal
    places = [mesh.centroids[piece] @ apart for piece in pair]
    overlap = places[0].max() - places[1].min()
    return pair if overlap < _BESIDE * min(np.ptp(place) for place in places) else None


def principal_axes(mesh: TriangleMesh) -> tuple[FloatArray, FloatArray]:
    """Return rows (3, 3) [1], principal axes of area, and deviations (3,) [m], shortest first."""
    arms = mesh.centroids - np.average(mesh.centroids, axis=0, weights=mesh.areas)
    moments, axes = np.linalg.eigh((arms * mesh.areas[:, None]).T @ arms / mesh.areas.sum())
    return axes.T, np.sqrt(np.maximum(moments, 0.0))


def flatness(mesh: TriangleMesh) -> float:
    """Return the shortest extent over the longest [1]: tibiae 0.12 to 0.20, femora 0.26 to 0.61."""
    extents = np.ptp(mesh.vertices @ principal_axes(mesh)[0].T, axis=0)
    return float(extents[0] / extents[2])


def spreads(mesh: TriangleMesh) -> FloatArray:
    """Return root area and standard deviations of the area along its principal axes, (4,) [m]."""
    return np.concatenate([[np.sqrt(mesh.areas.sum())], principal_axes(mesh)[1]])


def _from_middle(mesh: TriangleMesh, axis: FloatArray) -> FloatArray:
    """Return the positions of triangles along an axis from mid-length, over the length, (F,)."""
    ends = mesh.vertices @ axis
    low, high = ends.min(), ends.max()
    places: NDArray[np.float64] = (mesh.centroids @ axis - 0.5 * (low + high)) / (high - low)
    return places
