"""Candidates for a smooth surface over triangles, and distances to them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial import cKDTree

from foundation.base.checks import FloatArray
from foundation.surfaces import TriangleMesh
from foundation.surfaces.smooth_surface import (
    CREASE_ANGLE,
    SmoothSurface,
    flat_surface,
    smooth_surface,
)
from foundation.surfaces.vertex_normals import angle_weighted_normals, cut_at_creases, jet_normals

Surfaces = dict[str, Callable[[TriangleMesh], SmoothSurface]]


def _accumulated(faces, weighted, count):
    flat = faces.reshape(-1)
    total = np.stack([np.bincount(flat, w, count) for w in weighted.reshape(-1, 3).T], axis=1)
    return total / np.linalg.norm(total, axis=1, keepdims=True)


def area_weighted_normals(vertices, faces):
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return _accumulated(faces, np.repeat(np.cross(b - a, c - a), 3, axis=0), len(vertices))


def max_normals(vertices, faces):
    """Weights of Max (1999, J Graph Tools 4:1-6), exact on spheres."""
    corners = vertices[faces]
    ahead, back = np.roll(corners, -1, axis=1) - corners, np.roll(corners, 1, axis=1) - corners
    weight = 1.0 / ((ahead**2).sum(axis=2) * (back**2).sum(axis=2))
    return _accumulated(faces, weight[:, :, None] * np.cross(ahead, back), len(vertices))


def hermite(na, nb, sa, sb):
    """Mid-edge point of PN triangles and of Phong tessellation with factor 1/2, the same point."""
    return (sb * nb - sa * na) / 8.0


def arc(na, nb, sa, sb):
    k = np.sqrt(0.5 + 0.5 * (na * nb).sum(axis=2, keepdims=True))
    return (sb * nb - sa * na) / (4.0 * k * (1.0 + k))


def nagata(na, nb, sa, sb):
    """Minimum-norm curve of Nagata (2005), straight where the normals are parallel."""
    c = (na * nb).sum(axis=2, keepdims=True)
    bent = 1.0 - c * c > 1e-12
    scale = np.where(bent, 0.25 / np.where(bent, 1.0 - c * c, 1.0), 0.0)
    return -scale * ((sa + c * sb) * na - (sb + c * sa) * nb)


def _surface(mesh, middle, estimate):
    """Return the surface of a candidate, without bounds; creases as in `smooth_surface`."""
    corners = mesh.vertices[mesh.faces]
    cut = cut_at_creases(mesh, CREASE_ANGLE)
    normals = estimate(cut.vertices, cut.faces)[cut.faces]
    edge, following = np.roll(corners, -1, axis=1) - corners, np.roll(normals, -1, axis=1)
    lean = [(edge * n).sum(axis=2, keepdims=True) for n in (normals, following)]
    rise = np.where(cut.crease[:, :, None], 0.0, middle(normals, following, *lean))
    return SmoothSurface(corners, corners + 0.5 * edge + rise, normals)


def _jet(degree, rings):
    return lambda vertices, faces: jet_normals(vertices, faces, degree=degree, rings=rings)


def candidates() -> Surfaces:
    """Return the surfaces compared, by name; the last one is the project's."""
    jet = _jet(2, 2)
    return {
        "flat facets": flat_surface,
        "area-weighted normals, arc": lambda m: _surface(m, arc, area_weighted_normals),
        "angle-weighted normals, arc": lambda m: _surface(m, arc, angle_weighted_normals),
        "Max's normals, arc": lambda m: _surface(m, arc, max_normals),
        "Max's normals, Nagata": lambda m: _surface(m, nagata, max_normals),
        "jets of degree 2, 1 ring, arc": lambda m: _surface(m, arc, _jet(2, 1)),
        "jets of degree 3, 2 rings, arc": lambda m: _surface(m, arc, _jet(3, 2)),
        "jets of degree 3, 3 rings, arc": lambda m: _surface(m, arc, _jet(3, 3)),
        "jets of degree 2, 2 rings, Nagata": lambda m: _surface(m, nagata, jet),
        "jets of degree 2, 2 rings, PN": lambda m: _surface(m, hermite, jet),
        "`smooth_surface`": lambda m: smooth_surface(_bare(m)),
    }


def _bare(mesh):
    """Return the mesh without the normals it carries."""
    return TriangleMesh(mesh.vertices, mesh.faces, mesh.name)


def _shape(u, v):
    w = 1.0 - u - v
    six = [w * (2 * w - 1), u * (2 * u - 1), v * (2 * v - 1), 4 * w * u, 4 * u * v, 4 * w * v]
    return np.stack(six, axis=-1)


def _shape_derivatives(u, v):
    w, zero = 1.0 - u - v, 0.0 * u
    along_u = [1 - 4 * w, 4 * u - 1, zero, 4 * (w - u), 4 * v, -4 * v]
    along_v = [1 - 4 * w, zero, 4 * v - 1, -4 * u, 4 * u, 4 * (w - v)]
    return np.stack(along_u, axis=-1), np.stack(along_v, axis=-1)


def points_of(surface: SmoothSurface, cells: int) -> FloatArray:
    """Return points all over each patch, at the centroids of its `cells`² equal parts."""
    grid = [(i, j) for i in range(cells) for j in range(cells - i)]
    upright = np.array([((i + 1 / 3) / cells, (j + 1 / 3) / cells) for i, j in grid])
    turned = [(i + 2 / 3, j + 2 / 3) for i, j in grid if i + j < cells - 1]
    u, v = np.concatenate([upright, np.reshape(turned, (-1, 2)) / cells]).T
    nodes = np.concatenate([surface.corners, surface.middles], axis=1)
    return np.einsum("pn,fni->fpi", _shape(u, v), nodes)


def distance_to(surface: SmoothSurface, points, directions, tries: int = 10) -> FloatArray:
    """Return the signed distance along the directions to a surface, NaN where there is none.

    Newton's method on the patches of the nearest triangles.
    """
    _, near = cKDTree(surface.corners.mean(axis=1)).query(points, k=tries)
    nodes = np.concatenate([surface.corners, surface.middles], axis=1)
    found = np.full(len(points), np.nan)
    for choice in near.T:
        at = np.tile([1 / 3, 1 / 3, 0.0], (len(points), 1))
        for _ in range(10):
            gap = points + at[:, 2:] * directions - _at(nodes[choice], _shape(*at[:, :2].T))
            along = [_at(nodes[choice], d) for d in _shape_derivatives(*at[:, :2].T)]
            matrix = np.stack([*along, -directions], axis=2)
            singular = np.abs(np.linalg.det(matrix)) < 1e-22
            matrix[singular], gap[singular] = np.eye(3), 0.0
            step = np.linalg.solve(matrix, gap[:, :, None])[:, :, 0]
            at += np.clip(step, [-0.5, -0.5, -1e-2], [0.5, 0.5, 1e-2])
        gap = points + at[:, 2:] * directions - _at(nodes[choice], _shape(*at[:, :2].T))
        hit = (np.linalg.norm(gap, axis=1) < 1e-10) & (at[:, :2].min(axis=1) > -1e-6)
        hit &= (at[:, :2].sum(axis=1) < 1.0 + 1e-6) & ~(np.abs(at[:, 2]) >= np.abs(found))
        found[hit] = at[hit, 2]
    return found


def _at(nodes, shape):
    return np.einsum("fn,fni->fi", shape, nodes)
