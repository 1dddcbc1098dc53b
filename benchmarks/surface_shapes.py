"""Triangulated shapes whose exact surface is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import trimesh
from scipy.spatial import Delaunay

from foundation.base.checks import FloatArray
from foundation.implant import CondylarImplant
from foundation.surfaces import TriangleMesh

Distance = Callable[[FloatArray], FloatArray]


def _random_patch(place, half_u, half_v, edge, seed=1):
    """Return a Delaunay triangulation of jittered points, placed on a surface (extents in m)."""
    rng = np.random.default_rng(seed)
    lines = [np.linspace(-h, h, round(2 * h / edge) + 1) for h in (half_u, half_v)]
    grid = np.stack(np.meshgrid(*lines, indexing="ij"), axis=2)
    grid[1:-1, 1:-1] += 0.3 * edge * rng.uniform(-1.0, 1.0, grid[1:-1, 1:-1].shape)
    flat = grid.reshape(-1, 2)
    faces = Delaunay(flat).simplices
    a, b, c = (flat[faces[:, k]] for k in range(3))
    turn = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    faces = np.where((turn > 0.0)[:, None], faces, faces[:, ::-1])
    return TriangleMesh(place(*flat.T), faces[np.abs(turn) > 1e-3 * edge**2])


def _torus(edge):
    def place(s, t):
        u, v = s / 35e-3, t / 20e-3
        arm = 15e-3 + 20e-3 * np.cos(v)
        return np.stack([arm * np.cos(u), arm * np.sin(u), 20e-3 * np.sin(v)], axis=1)

    def distance(p):
        return np.hypot(np.hypot(p[..., 0], p[..., 1]) - 15e-3, p[..., 2]) - 20e-3

    return _random_patch(place, 30e-3, 16e-3, edge), distance


def _ellipsoid(edge):
    axes = np.array([34e-3, 22e-3, 20e-3])

    def place(s, t):
        u, v = s / 26e-3, t / 22e-3
        return axes * np.stack([np.cos(u) * np.cos(v), np.sin(u) * np.cos(v), np.sin(v)], axis=1)

    def distance(p):
        # The nearest point is p / (1 + t / axes²); Newton's method for t.
        t = np.zeros(p.shape[:-1])
        for _ in range(20):
            q = p / (1.0 + t[..., None] / axes**2)
            slope = -2.0 * (q**2 / axes**2 / (axes**2 + t[..., None])).sum(axis=-1)
            t = t - (((q / axes) ** 2).sum(axis=-1) - 1.0) / slope
        away = np.linalg.norm(p - p / (1.0 + t[..., None] / axes**2), axis=-1)
        return np.sign(t) * away

    return _random_patch(place, 26e-3, 17e-3, edge), distance


def exact_shapes() -> dict[str, tuple[TriangleMesh, Distance]]:
    """Return meshes with the signed distance [m] to the shapes they stand for."""
    implant = CondylarImplant()
    femur, insert, _ = implant.tessellate(0.75e-3)
    dish = implant.medial_dish

    def to_insert(p):
        x, y, z = np.moveaxis(
            p - [0.0, implant.minimum_thickness + dish.sagittal_radius, 0.0], -1, 0
        )
        ring = np.hypot(x, y) - (dish.sagittal_radius - dish.coronal_radius)
        return dish.coronal_radius - np.hypot(ring, np.abs(z) - 0.5 * implant.spacing)

    shapes: dict[str, tuple[TriangleMesh, Distance]] = {}
    for level in (3, 4, 5, 6):
        ball = trimesh.creation.icosphere(subdivisions=level, radius=30e-3)
        mesh = TriangleMesh(ball.vertices, ball.faces)
        shapes[f"sphere, level {level}"] = mesh, lambda p: np.linalg.norm(p, axis=-1) - 30e-3
    shapes["torus, irregular 1.1 mm"] = _torus(1.1e-3)
    shapes["ellipsoid, irregular 1.1 mm"] = _ellipsoid(1.1e-3)
    shapes["built-in femur, 0.75 mm"] = (
        femur,
        lambda p: implant.femur_distance(p.reshape(-1, 3)).reshape(p.shape[:-1]),
    )
    shapes["built-in insert, 0.75 mm"] = insert, to_insert
    return shapes
