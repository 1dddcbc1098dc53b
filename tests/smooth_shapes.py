"""Curved, creased and irregular surfaces with a known smooth shape, as triangle meshes."""

import numpy as np
import trimesh
from shapes import swept

from foundation.surfaces.mesh import TriangleMesh

#: Radius of the sphere [m].
RADIUS = 30e-3


def sphere(level):
    ball = trimesh.creation.icosphere(subdivisions=level, radius=RADIUS)
    return TriangleMesh(ball.vertices, ball.faces, "sphere")


def torus(edge, seed=0):
    """Patch of a torus (circles of 20 about a circle of 15 mm), cells of random corners."""
    rng = np.random.default_rng(seed)
    mesh = swept(lambda x, z: 0.0 * x, 17e-3, round(40e-3 / edge), round(34e-3 / edge), 20e-3)
    x, _, z = mesh.vertices.T
    inside = (np.abs(x) < 20e-3 - 1e-9) & (np.abs(z) < 17e-3 - 1e-9)
    moved = 0.3 * edge * inside * rng.uniform(-1.0, 1.0, (2, len(x)))
    u, v = (x + moved[0]) / 35e-3, (z + moved[1]) / 20e-3
    arm = 15e-3 + 20e-3 * np.cos(v)
    # The outside of the torus, facing down as the grid does.
    vertices = np.column_stack([arm * np.sin(u), -arm * np.cos(u), 20e-3 * np.sin(v)])
    return TriangleMesh(vertices, mesh.faces, "torus")


def torus_distance(points):
    """Return the signed distance to the torus [m]."""
    ring = np.hypot(points[..., 0], points[..., 1]) - 15e-3
    return np.hypot(ring, points[..., 2]) - 20e-3


def grid(profile, cells=12):
    """Surface y = profile(x, z) facing down, 24 mm square."""
    return swept(profile, 12e-3, cells, cells, 12e-3)


def two_planes(degrees):
    """Roof of two planes that meet at the given angle along z."""
    return grid(lambda x, z: np.abs(x) * np.tan(0.5 * np.deg2rad(degrees)))


def strip():
    """Return the torus' outermost row of triangles, too few for a full fit."""
    whole = torus(2e-3)
    row = (whole.vertices[:, 2] < -12e-3)[whole.faces].all(axis=1)
    used, faces = np.unique(whole.faces[row], return_inverse=True)
    return TriangleMesh(whole.vertices[used], faces.reshape(-1, 3), "strip")
