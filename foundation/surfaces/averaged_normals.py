"""Normals of the surface that the triangles of a rough mesh stand for."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array

from foundation.base.checks import FloatArray
from foundation.surfaces.triangle_mesh import TriangleMesh, edge_length

#: Median angle between the normals and their averages above which a surface is rough [rad]
#: (measured: below 4 deg on scans, 15 to 30 deg on the steps of a binary segmentation).
_ROUGH = np.radians(10.0)
#: Distance over which normals are averaged [m], and most averages over adjacent triangles.
_AVERAGED, _MOST_AVERAGES = 2.5e-3, 30


def facing_normals(mesh: TriangleMesh) -> FloatArray:
    """Return unit normals (F, 3) [1], averaged over a rough surface: segmentations have steps."""
    averaged = averaged_normals(mesh)
    cosines = np.einsum("fi,fi->f", averaged, mesh.normals)
    rough = float(np.median(cosines)) < np.cos(_ROUGH)
    return averaged if rough else mesh.normals


def averaged_normals(mesh: TriangleMesh) -> FloatArray:
    """Return unit normals (F, 3) [1] averaged over the triangles within about 2.5 mm."""
    count = len(mesh.faces)
    corners = coo_array(
        (np.ones(3 * count), (np.repeat(np.arange(count), 3), mesh.faces.reshape(-1))),
        shape=(count, len(mesh.vertices)),
    ).tocsr()
    gathered = corners.T.tocsr()
    shares = np.asarray(gathered @ mesh.areas)
    rounds = int(np.ceil((_AVERAGED / edge_length(mesh)) ** 2))
    normals: FloatArray = mesh.normals
    for _ in range(min(rounds, _MOST_AVERAGES)):
        at_vertex = np.asarray(gathered @ (mesh.areas[:, None] * normals))
        at_vertex = at_vertex / np.maximum(shares, np.finfo(float).tiny)[:, None]
        normals = np.asarray(corners @ at_vertex)
    size = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.where(size > 0.0, normals / np.where(size > 0.0, size, 1.0), mesh.normals)
