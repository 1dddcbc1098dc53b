"""Placement of the components of a knee in the frames of their bodies.

A placement is a `Pose`: the component as loaded, in the frame of its body, takes the part of the
femur in the tibial frame. The zero pose leaves a component where it is.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from foundation.base.pose import Pose
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.knee_schema import PlacementConfig


def tibial_placement(config: PlacementConfig) -> Pose:
    """Return the placement of the tibial component in the tibial frame [rad, m]."""
    slope, varus, internal = np.radians(
        (config.tibia_slope_deg, config.tibia_varus_deg, config.tibia_rotation_deg)
    )
    moved = (config.tibia_anterior_mm, config.tibia_superior_mm, config.tibia_lateral_mm)
    # A slope turns a component as flexion turns a femur; internal rotation is that of the tibia.
    return Pose(slope, varus, -internal, *(1e-3 * part for part in moved))


def femoral_placement(config: PlacementConfig) -> Pose:
    """Return the placement of the femoral component in the femoral frame [rad, m]."""
    flexion, varus, internal = np.radians(
        (config.femur_flexion_deg, config.femur_varus_deg, config.femur_rotation_deg)
    )
    moved = (config.femur_anterior_mm, config.femur_superior_mm, config.femur_lateral_mm)
    # The component is the distal body, against which the femur extends and abducts.
    return Pose(-flexion, -varus, -internal, *(1e-3 * part for part in moved))


# What is kept for a mesh, such as its coarse copy and its search structures, is found again.
@lru_cache(maxsize=3)
def placed(mesh: TriangleMesh, placement: Pose) -> TriangleMesh:
    """Return a mesh (V, 3) [m] at a placement [rad, m]; the mesh itself at the zero pose."""
    if placement == Pose():
        return mesh
    turn = placement.rotation_matrix.T
    normals = None if mesh.vertex_normals is None else mesh.vertex_normals @ turn
    vertices = mesh.vertices @ turn + placement.translation
    return TriangleMesh(vertices, mesh.faces, mesh.name, normals)


def unplaced(mesh: TriangleMesh, placement: Pose) -> TriangleMesh:
    """Return a mesh (V, 3) [m] back from a placement [rad, m]; the inverse of `placed`."""
    if placement == Pose():
        return mesh
    turn = placement.rotation_matrix
    normals = None if mesh.vertex_normals is None else mesh.vertex_normals @ turn
    vertices = (mesh.vertices - placement.translation) @ turn
    return TriangleMesh(vertices, mesh.faces, mesh.name, normals)
