"""Surface at a distance from another, such as that of cartilage of known thickness on a bone.

Two bones in contact are as far apart as both cartilages are thick together. Each bone is therefore
moved outwards by the thickness of its own cartilage: the surfaces then touch where the cartilages
touch, in every pose, and the curvature is that of the cartilage. Dividing the gap between the bones
of a scan would hold in the pose of that scan alone.
"""

from __future__ import annotations

import numpy as np

from foundation.base.checks import FloatArray, check_number
from foundation.surfaces.averaged_normals import facing_normals
from foundation.surfaces.smoothing import unfolded
from foundation.surfaces.triangle_mesh import TriangleMesh


def moved_outwards(mesh: TriangleMesh, distance: float) -> TriangleMesh:
    """Return a mesh whose vertices are moved along the normals of the surface by a distance [m].

    Vertices of triangles that would fold, as in a sharp groove, stay where they are. All vertices
    belong to triangles. Raises `InputError` if the distance is negative.
    """
    check_number("distance", distance, at_least=0.0, unit="m")
    normals = _vertex_normals(mesh)
    rise = np.full(len(mesh.vertices), distance)
    rise = unfolded(mesh.vertices, normals, mesh.faces, rise)
    return TriangleMesh(mesh.vertices + rise[:, None] * normals, mesh.faces, mesh.name)


def _vertex_normals(mesh: TriangleMesh) -> FloatArray:
    """Return the unit normals (V, 3) [1] of the surface that the triangles stand for."""
    total = np.zeros_like(mesh.vertices)
    weighted = mesh.areas[:, None] * facing_normals(mesh)
    for corner in mesh.faces.T:
        np.add.at(total, corner, weighted)
    size = np.linalg.norm(total, axis=1, keepdims=True)
    unit: FloatArray = total / np.maximum(size, np.finfo(float).tiny)
    return unit
