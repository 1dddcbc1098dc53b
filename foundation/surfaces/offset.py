"""Surface at a distance from another, such as that of cartilage of known thickness on a bone."""
# Each bone moves outwards by its own cartilage: the surfaces then touch where the cartilages do, in
# every pose. Dividing the gap of a scan would hold in the pose of that scan alone.

from __future__ import annotations

import numpy as np

from foundation.base.checks import FloatArray, check_number
from foundation.surfaces.averaged_normals import facing_normals
from foundation.surfaces.smoothing import unfolded
from foundation.surfaces.triangle_mesh import TriangleMesh


def moved_outwards(mesh: TriangleMesh, distance: float) -> TriangleMesh:
    """Return a mesh with vertices moved along normals by a distance [m] unless one folds."""
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
