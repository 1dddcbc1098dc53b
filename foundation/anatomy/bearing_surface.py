"""Bearing surface of a closed solid: the triangles that face the other body.

Designers have solids: an insert with base and rim, a femoral component with bone cuts and pegs. The
contact model needs the articular side alone, since its springs stand on every tibial triangle.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foundation.anatomy.condyle_outlines import find_condyles, fit_circles, outer_triangles
from foundation.base.checks import FloatArray
from foundation.surfaces.mesh_topology import label_pieces
from foundation.surfaces.surface_shape import is_closed
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh

#: Least component of an outward normal towards the other body (70 deg from facing it).
_FACING = 0.34
#: A piece below this fraction of the largest piece's area is not a part of the bearing surface.
_PIECE = 0.2
_UP = np.array([0.0, 1.0, 0.0])


def tibial_bearing(mesh: TriangleMesh, up: FloatArray = _UP) -> TriangleMesh:
    """Return the triangles of a tibia that face the direction `up` (3,) [1], without loose pieces.

    Raises
    ------
    MeshError
        If no triangle faces up.
    """
    return _largest_pieces(mesh, mesh.normals @ up > _FACING, "faces up")


def femoral_bearing(mesh: TriangleMesh) -> TriangleMesh:
    """Return the triangles of a femur that face away from its flexion axis, without loose pieces.

    Parameters
    ----------
    mesh : TriangleMesh
        Closed component or open surface [m], femoral frame.

    Raises
    ------
    MeshError
        If there are no two condyles, or no triangle faces away from their axis.
    """
    frame = np.eye(3)
    centre = fit_circles(find_condyles(mesh, frame[2]), frame).centres.mean(axis=0)
    facing = outer_triangles(mesh, frame[2], np.append(centre, 0.0), _FACING)
    return _largest_pieces(mesh, facing, "faces away from the flexion axis")


def _largest_pieces(mesh: TriangleMesh, facing: NDArray[np.bool_], what: str) -> TriangleMesh:
    middle = mesh.centroids.mean(axis=0)
    volume = float(np.sum((mesh.centroids - middle) * mesh.area_vectors))
    if is_closed(mesh) and volume <= 0.0:
        raise MeshError(
            f"{mesh.name}: the normals of this closed solid point inwards, expected outwards; the "
            "winding is inverted: flip the normals in a mesh editor"
        )
    if not facing.any():
        raise MeshError(
            f"{mesh.name}: no triangle {what}; expected a bearing surface: check axes and normals"
        )
    part = _selected(mesh, facing)
    pieces, areas = label_pieces(part)
    return _selected(part, (areas >= _PIECE * areas[0])[pieces])


def _selected(mesh: TriangleMesh, kept: NDArray[np.bool_]) -> TriangleMesh:
    """Return some triangles (F,) of a mesh, in their order."""
    if kept.all():
        return mesh
    used, renumbered = np.unique(mesh.faces[kept], return_inverse=True)
    normals = None if mesh.vertex_normals is None else mesh.vertex_normals[used]
    return TriangleMesh(mesh.vertices[used], renumbered.reshape(-1, 3), mesh.name, normals)
