"""Triangulated grids over parametric patches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from foundation.base.checks import FloatArray, IntArray
from foundation.implant.condyle import Condyle
from foundation.implant.dish import Dish
from foundation.surfaces.triangle_mesh import TriangleMesh


def patch(
    shape: Condyle | Dish,
    surface: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]],
    edge_length: float,
    *,
    flip: bool,
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Triangulate a patch over both angles: points [m] and normals (V, 3), triangles (F, 3)."""
    along = grid_values(shape.limits, shape.radii * np.diff(shape.limits), edge_length)
    half = shape.half_angle
    width = np.array([2.0 * half * shape.coronal_radius])
    across = grid_values(np.array([-half, half]), width, edge_length)
    u, v = np.meshgrid(along, across, indexing="ij")
    points, normals = surface(u.reshape(-1), v.reshape(-1))
    return points, normals, grid_faces(len(along), len(across), flip=flip)


def joined_patches(
    name: str, patches: Sequence[tuple[FloatArray, FloatArray, IntArray]]
) -> TriangleMesh:
    """Return one mesh of patches: points (V, 3) [m], normals (V, 3) [1], faces (F, 3) each."""
    starts = np.cumsum([0] + [len(points) for points, _, _ in patches[:-1]])
    points = np.concatenate([p for p, _, _ in patches])
    normals = np.concatenate([n for _, n, _ in patches])
    faces = np.concatenate([f + s for (_, _, f), s in zip(patches, starts, strict=True)])
    return TriangleMesh(points, faces, name, normals)


def grid_values(limits: FloatArray, lengths: FloatArray, edge_length: float) -> FloatArray:
    """Return values (N,) [rad] from limits (K + 1,) [rad], `edge_length` [m] apart at most."""
    parts = [limits[:1]]
    for first, last, length in zip(limits[:-1], limits[1:], lengths, strict=True):
        # Minus a rounding error, so that a length of n edges gives n steps.
        steps = max(1, int(np.ceil(length / edge_length - 1e-9)))
        parts.append(np.linspace(first, last, steps + 1)[1:])
    return np.concatenate(parts)


def grid_faces(rows: int, columns: int, *, flip: bool) -> IntArray:
    """Return triangles (F, 3) of a grid of vertices, row by row, with alternating diagonals."""
    # Normals are along (first direction) x (second direction), opposite with `flip`.
    cell = np.arange((rows - 1) * (columns - 1))
    i, j = cell // (columns - 1), cell % (columns - 1)
    a, b = i * columns + j, (i + 1) * columns + j
    c, d = b + 1, a + 1
    even = ((i + j) % 2 == 0)[:, None]
    first = np.where(even, np.stack([a, b, c], axis=1), np.stack([a, b, d], axis=1))
    second = np.where(even, np.stack([a, c, d], axis=1), np.stack([b, c, d], axis=1))
    faces = np.stack([first, second], axis=1).reshape(-1, 3)
    return faces[:, ::-1].copy() if flip else faces
