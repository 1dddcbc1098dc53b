"""Surface of a worn tibial layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array
from foundation.base.errors import InputError
from foundation.surfaces.thickness import spring_normals
from foundation.surfaces.triangle_mesh import TriangleMesh


def vertex_depths(tibia: TriangleMesh, depth: ArrayLike) -> FloatArray:
    """Return depths at vertices (V,) [m] of the same volume as triangle depths (F,) [m]."""
    # The mean around each vertex, weighted by area, preserves the integral over the surface.
    depths = check_array("depth", depth, (len(tibia.faces),), at_least=0.0, unit="m")
    corners, count = tibia.faces.reshape(-1), len(tibia.vertices)
    areas = np.bincount(corners, np.repeat(tibia.areas, 3), count)
    worn = np.bincount(corners, np.repeat(tibia.areas * depths, 3), count)
    return np.divide(worn, areas, out=np.zeros(count), where=areas > 0.0)


def lowered_surface(tibia: TriangleMesh, depth: ArrayLike, thickness: FloatArray) -> TriangleMesh:
    """Return a surface with its triangles lowered by `depth` (F,) [m] into a layer (F,) [m]."""
    lowered, normals, depths = vertex_depths(tibia, depth), spring_normals(tibia), np.asarray(depth)
    if (depths >= thickness).any():
        k = int(np.argmax(depths - thickness))
        raise InputError(
            f"depth: expected less than the thickness, found {1e3 * depths[k]:.3g} mm of "
            f"{1e3 * thickness[k]:.3g} mm"
        )
    moved = TriangleMesh(tibia.vertices - lowered[:, None] * normals, tibia.faces, tibia.name)
    if tibia.vertex_normals is None:
        return moved
    # Known normals turn by as much as the normals estimated from the triangles.
    before = replace(tibia, vertex_normals=None)
    turned = normals + spring_normals(moved) - spring_normals(before)
    length = np.linalg.norm(turned, axis=1, keepdims=True)
    return replace(moved, vertex_normals=turned / length)
