"""Removal of triangles with next to no area: needles collapse, caps flip.

A needle has two vertices at nearly the same place, which become one; a cap has a vertex on its
longest edge, which is exchanged for the other diagonal with the neighbour. The surface stays
manifold and moves by less than the height of the flat triangle.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, IntArray
from foundation.surfaces.mesh_topology import find_edges
from foundation.surfaces.triangle_mesh import area_vectors

#: Area over longest edge squared below which a triangle is flat, and shortest over longest edge
#: below which a flat triangle is a needle.
FLAT, _NEEDLE = 1e-6, 0.1
#: Cosine of the largest angle by which a triangle beside a needle may turn.
_TURN = 0.5
#: Largest number of rounds, as a flip may leave a flat neighbour.
_ROUNDS = 10


def without_flat(vertices: FloatArray, faces: IntArray) -> tuple[FloatArray, IntArray]:
    """Return vertices (W, 3) [any unit] and triangles (G, 3) with few or no flat triangles."""
    # The boundary is kept. Flat triangles stay where the surface would fold or lose its
    # manifoldness.
    rim: set[int] | None = None
    for _ in range(_ROUNDS):
        flat = np.flatnonzero(_flatness(vertices, faces) < FLAT)
        if len(flat) == 0:
            break
        if rim is None:
            edges = find_edges(faces, len(vertices))
            rim = set(edges.ends[edges.count == 1].reshape(-1).tolist())
        before = faces
        for corners in faces[flat]:
            faces = _without(vertices, faces, corners, rim)
        if faces is before:
            break
    used, renumbered = np.unique(faces, return_inverse=True)
    return vertices[used], renumbered.reshape(-1, 3)


def _flatness(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """Return the area of each triangle over its longest edge squared, (F,) [1]."""
    corners = vertices[faces]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    areas = np.linalg.norm(area_vectors(vertices, faces), axis=1)
    flatness: FloatArray = areas / np.maximum(longest, np.finfo(float).tiny) ** 2
    return flatness


def _without(vertices: FloatArray, faces: IntArray, corners: IntArray, rim: set[int]) -> IntArray:
    """Return the triangles without one flat triangle (3,), the same array if it must stay."""
    row = np.flatnonzero((faces == corners).all(axis=1))
    if len(row) == 0:  # changed with a neighbour
        return faces
    points = vertices[corners]
    lengths = np.linalg.norm(np.roll(points, -1, axis=0) - points, axis=1)
    if lengths.min() >= _NEEDLE * lengths.max():
        return _flipped(faces, int(row[0]), int(lengths.argmax()))
    at = int(lengths.argmin())
    ends = int(corners[at]), int(corners[(at + 1) % 3])
    for kept, lost in (ends, ends[::-1]):
        changed = faces if lost in rim else _collapsed(vertices, faces, kept, lost)
        if changed is not faces:
            break
    return changed


def _collapsed(vertices: FloatArray, faces: IntArray, kept: int, lost: int) -> IntArray:
    """Return the triangles with one vertex moved onto a neighbour, the same array if they fold."""
    # The link condition (Dey et al. 1999, Publ Inst Math 66:23-45) keeps the surface manifold.
    of_kept, of_lost = (_has(faces, vertex) for vertex in (kept, lost))
    both = of_kept & of_lost
    common = np.intersect1d(faces[of_kept], faces[of_lost])
    if len(common) - 2 != both.sum():
        return faces
    beside = of_lost & ~both
    moved = np.where(faces[beside] == lost, kept, faces[beside])
    shaped = _flatness(vertices, faces[beside]) >= FLAT
    before, after = (area_vectors(vertices, part[shaped]) for part in (faces[beside], moved))
    sizes = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    if ((before * after).sum(axis=1) <= _TURN * sizes).any():
        return faces
    changed = faces.copy()
    changed[beside] = moved
    return np.asarray(changed[~both])


def _flipped(faces: IntArray, row: int, longest: int) -> IntArray:
    """Return the triangles with the longest edge of one exchanged for the other diagonal."""
    a, b, c = np.roll(faces[row], -longest).tolist()
    other = np.flatnonzero(_has(faces, a) & _has(faces, b))
    other = other[other != row]
    if len(other) != 1:
        return faces
    (d,) = set(faces[other[0]].tolist()) - {a, b}
    if (_has(faces, c) & _has(faces, d)).any():
        return faces
    changed = faces.copy()
    changed[row], changed[other[0]] = (a, d, c), (d, b, c)
    return changed


def _has(faces: IntArray, vertex: int) -> NDArray[np.bool_]:
    """Return which triangles (F, 3) have a vertex, (F,)."""
    found: NDArray[np.bool_] = (faces == vertex).any(axis=1)
    return found
