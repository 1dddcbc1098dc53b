"""Bearing surface of a closed body in its frame: the triangles that face the other body.

Designers have solids, an insert with base and rim or a femoral component with bone cuts and pegs;
segmented scans give cartilage as closed shells, and whole bones. The contact model needs the
articular side alone, since its springs stand on every tibial triangle.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from foundation.anatomy.condyle_outlines import directions_away, find_condyles, fit_circles
from foundation.anatomy.walls import FACING, large_pieces, outer_wall_of_shell, outer_walls
from foundation.base.checks import FloatArray
from foundation.surfaces.mesh_topology import label_pieces
from foundation.surfaces.smooth_surface import facing_normals
from foundation.surfaces.surface_shape import selected
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh

#: The bearing surface of a femur lies within this distance of the flexion axis [m], and between
#: these angles of inferior, towards posterior [rad] (measured on cartilage and implants: 47 mm,
#: -130 and 140 deg). Further away are shaft, cut and head of a bone.
_REACH, _SECTOR = 55e-3, np.radians([-135.0, 150.0])
#: Height of the end of a femur that contains its condyles [m].
_CONDYLES = 80e-3
#: The bearing surface of a tibia lies within this depth below its highest point [m] (measured: 10
#: to 16 mm). Further down are fibula, tuberosity and malleolus.
_DEPTH = 25e-3
#: Norm of the mean normal above which a surface is open (0 for a closed body; measured: a bone open
#: at its shaft up to 0.15, an open femoral surface 0.35 or more).
_OPEN = 0.25
_UP = np.array([0.0, 1.0, 0.0])


def tibial_bearing(mesh: TriangleMesh, up: FloatArray = _UP) -> TriangleMesh:
    """Return the triangles of a tibia that face the direction `up` (3,) [1], without loose pieces.

    Raises `MeshError` if no triangle faces up.
    """
    mesh = outer_walls(mesh)
    height = mesh.centroids @ up
    high = height > height.max() - _DEPTH
    return _bearing(mesh, np.broadcast_to(up, mesh.normals.shape), high, "faces up")


def femoral_bearing(mesh: TriangleMesh) -> TriangleMesh:
    """Return the triangles of a femur that face away from its flexion axis, without loose pieces.

    `mesh` is a closed component, shell, bone or open surface [m], femoral frame. Raises `MeshError`
    if there are no two condyles, or no triangle faces away from their axis.
    """
    mesh, frame = outer_walls(mesh), np.eye(3)
    height = mesh.centroids[:, 1]
    # A long shaft would stand out beyond the posterior outlines.
    condyles = find_condyles(selected(mesh, height < height.min() + _CONDYLES), frame[2])
    centre = fit_circles(condyles, frame).centres.mean(axis=0)
    return bearing_about(mesh, frame, np.append(centre, 0.0))


def bearing_about(mesh: TriangleMesh, rotation: FloatArray, centre: FloatArray) -> TriangleMesh:
    """Return the triangles of a femur that face away from an axis, without loose pieces.

    The rows of `rotation` (3, 3) are anterior, superior and right in the coordinates of the mesh
    [1], which may have any position; right is the axis, and `centre` (3,) a point of it [m].
    """
    away, distance = directions_away(mesh, rotation[2], centre)
    angle = np.arctan2(-away @ rotation[0], -away @ rotation[1])
    near = (distance < _REACH) & (_SECTOR[0] < angle) & (angle < _SECTOR[1])
    return _bearing(mesh, away, near, "faces away from the flexion axis")


def _bearing(
    mesh: TriangleMesh, outward: FloatArray, near: NDArray[np.bool_], what: str
) -> TriangleMesh:
    """Return the wall of a mesh that faces `outward` (F, 3) [1], where it is `near` (F,)."""
    normals = facing_normals(mesh)
    facing = np.einsum("fi,fi->f", normals, outward)
    wall = near & (facing > FACING)
    if not wall.any():
        raise MeshError(
            f"{mesh.name}: no triangle {what}; expected a bearing surface: check axes and normals"
        )
    large = large_pieces(mesh, wall)
    _check_outwards(mesh, large)
    shell = near & outer_wall_of_shell(mesh, normals, large, facing)
    return selected(mesh, large_pieces(mesh, shell))


def _check_outwards(mesh: TriangleMesh, wall: NDArray[np.bool_]) -> None:
    """Raise `MeshError` if the normals of the closed piece with a wall (F,) point inwards."""
    pieces, _ = label_pieces(mesh)
    solid = np.isin(pieces, np.unique(pieces[wall]))
    vectors, centroids = mesh.area_vectors[solid], mesh.centroids[solid]
    if np.linalg.norm(vectors.sum(axis=0)) > _OPEN * mesh.areas[solid].sum():
        return
    if float(np.sum((centroids - centroids.mean(axis=0)) * vectors)) <= 0.0:
        raise MeshError(
            f"{mesh.name}: the normals of this closed solid point inwards, expected outwards; the "
            "winding is inverted: flip the normals in a mesh editor"
        )


#: Functions that return the bearing surface of a body in its frame.
BEARINGS: dict[str, Callable[[TriangleMesh], TriangleMesh]] = {
    "femur": femoral_bearing,
    "tibia": tibial_bearing,
}
