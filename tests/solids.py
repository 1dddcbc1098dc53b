"""Closed solids with a known bearing surface."""

from __future__ import annotations

import numpy as np

from foundation.surfaces.triangle_mesh import TriangleMesh


def closed_insert(rows: int = 40, columns: int = 64) -> tuple[TriangleMesh, int]:
    """Return a closed insert with two dishes (y up, z right), and the number of its top triangles.

    The top triangles come first.
    """
    x, z = np.meshgrid(
        np.linspace(-24e-3, 24e-3, rows), np.linspace(-38e-3, 38e-3, columns), indexing="ij"
    )
    height = 9e-3 + x**2 / 0.09 + (np.abs(z) - 20e-3) ** 2 / 0.08
    top = np.stack([x, height, z], axis=-1).reshape(-1, 3)
    base = top * [1.0, 0.0, 1.0]
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    a, b, c, d = corner, corner + 1, corner + columns, corner + columns + 1
    upper = np.concatenate([np.stack([a, b, c], 1), np.stack([b, d, c], 1)])
    lower = upper[:, ::-1] + len(top)
    grid = np.arange(len(top)).reshape(rows, columns)
    rim = np.concatenate([grid[0], grid[1:, -1], grid[-1, -2::-1], grid[-2:0:-1, 0]])
    ahead = np.roll(rim, -1)
    wall = np.concatenate(
        [
            np.stack([rim, rim + len(top), ahead], 1),
            np.stack([ahead, rim + len(top), ahead + len(top)], 1),
        ]
    )
    faces = np.concatenate([upper, lower, wall])
    return TriangleMesh(np.concatenate([top, base]), faces, "insert"), len(upper)
