"""Nearest points of a triangulated surface."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from foundation.base.checks import FloatArray, IntArray

#: Longest edge of a piece of a triangle, in median edge lengths of the surface.
_COMMON = 2.0
#: Number of pairs of points and pieces of a block, to bound the memory.
_BLOCK = 200_000


class SurfaceTree:
    """Triangles (F, 3, 3) [any unit] and a search tree of the centroids of their pieces."""

    def __init__(self, corners: FloatArray) -> None:
        self.corners = corners
        # The library compares products of lengths with fixed thresholds: lengths of about 1.
        self._size = float(np.median(_lengths(corners)))
        centroids, self._triangle = _pieces(corners / self._size)
        # Queries far from all centroids take long in a tree of compact nodes.
        self._tree = KDTree(centroids, compact_nodes=False, balanced_tree=False)

    def nearest_points(self, points: FloatArray, near: int) -> tuple[FloatArray, IntArray]:
        """Return nearest points (N, 3) [any unit] and triangles (N,) of `near` pieces."""
        import trimesh

        near = min(near, len(self._triangle))
        corners, found, chosen = self.corners / self._size, [], []
        for block in np.array_split(points / self._size, -(-len(points) * near // _BLOCK)):
            _, index = self._tree.query(block, k=np.arange(1, near + 1), workers=-1)
            triangles = self._triangle[np.asarray(index)]
            feet = trimesh.triangles.closest_point(
                corners[triangles.ravel()], np.repeat(block, near, axis=0)
            ).reshape(-1, near, 3)
            rows = np.arange(len(block))
            best = np.linalg.norm(feet - block[:, None], axis=2).argmin(axis=1)
            found.append(feet[rows, best])
            chosen.append(triangles[rows, best])
        return self._size * np.concatenate(found), np.concatenate(chosen)


def _lengths(corners: FloatArray) -> FloatArray:
    """Return the lengths (F, 3) of the edges of triangles (F, 3, 3) [any unit]."""
    return np.asarray(np.linalg.norm(corners - np.roll(corners, -1, axis=1), axis=2))


def _pieces(corners: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return centroids (P, 3) [any unit] and triangle (P,) of pieces of similar size."""
    # No large triangle then has its centroid far from its points.
    triangle = np.arange(len(corners))
    limit = None
    centroids, owners = [], []
    while len(corners):
        lengths = _lengths(corners)
        limit = _COMMON * np.median(lengths) if limit is None else limit
        long = lengths.max(axis=1) > limit
        centroids.append(corners[~long].mean(axis=1))
        owners.append(triangle[~long])
        # Corners turned so that the longest edge is that from the first to the second one.
        turn = (lengths[long].argmax(axis=1)[:, None] + np.arange(3)) % 3
        a, b, c = np.moveaxis(np.take_along_axis(corners[long], turn[:, :, None], axis=1), 1, 0)
        middle = 0.5 * (a + b)
        corners = np.concatenate([np.stack([a, middle, c], 1), np.stack([middle, b, c], 1)])
        triangle = np.tile(triangle[long], 2)
    return np.concatenate(centroids), np.concatenate(owners)
