"""Normals of the surface that the triangles of a rough mesh stand for."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from foundation.base.checks import FloatArray, frozen
from foundation.surfaces.mesh_topology import triangles_around
from foundation.surfaces.triangle_mesh import TriangleMesh, edge_length

#: Median angle between the normals and their averages above which a surface is rough [rad]
#: (measured: below 4 deg on scans, 15 to 30 deg on the steps of a binary segmentation).
_ROUGH = np.radians(10.0)
#: Distance over which normals are averaged [m], and most averages over adjacent triangles.
_AVERAGED, _MOST_AVERAGES = 2.5e-3, 30


def facing_normals(mesh: TriangleMesh) -> FloatArray:
    """Return the unit normals (F, 3) [1] of triangles, averaged if the surface is rough.

    The steps of a binary segmentation face in all directions, the surface that they stand for does
    not.
    """
    averaged = averaged_normals(mesh)
    cosines = np.einsum("fi,fi->f", averaged, mesh.normals)
    rough = float(np.median(cosines)) < np.cos(_ROUGH)
    return averaged if rough else mesh.normals


# A bearing surface, its columns and its kind are sought on the same walls.
@lru_cache(maxsize=4)
def averaged_normals(mesh: TriangleMesh) -> FloatArray:
    """Return unit normals (F, 3) [1] averaged over the triangles within about 2.5 mm."""
    gathered = triangles_around(mesh)
    corners = gathered.T.tocsr()
    shares = np.asarray(gathered @ mesh.areas)
    rounds = int(np.ceil((_AVERAGED / edge_length(mesh)) ** 2))
    normals: FloatArray = mesh.normals
    for _ in range(min(rounds, _MOST_AVERAGES)):
        at_vertex = np.asarray(gathered @ (mesh.areas[:, None] * normals))
        at_vertex = at_vertex / np.maximum(shares, np.finfo(float).tiny)[:, None]
        normals = np.asarray(corners @ at_vertex)
    size = np.linalg.norm(normals, axis=1, keepdims=True)
    return frozen(np.where(size > 0.0, normals / np.where(size > 0.0, size, 1.0), mesh.normals))
