"""Poses near contact with the condyles over the plateaus, from the surfaces alone."""

from __future__ import annotations

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.pose import Pose
from foundation.surfaces.mesh_topology import find_edges
from foundation.surfaces.triangle_mesh import TriangleMesh

#: Distance between two AP positions, and size of the cells in which heights are compared [m].
STEP, CELL = 2e-3, 3e-3
#: Part of the length of the tibia at either end that the condyles do not start on.
_END = 0.1
#: Height above the lowest point of the femur that counts as the lowest part of the condyles [m].
_LOWEST = 1e-3
#: The same for the lowest point alone.
_LOWEST_POINT = 0.1e-3


def middle_pose(femur: TriangleMesh, tibia: TriangleMesh) -> Pose:
    """Return the zero pose with the lowest femoral point at the median height of the plateau.

    The centres of both bounding boxes coincide in the other directions; settling finds contact.
    """
    points, plateau = femur.vertices, tibia.vertices
    middle = 0.5 * (
        plateau.min(axis=0) + plateau.max(axis=0) - points.min(axis=0) - points.max(axis=0)
    )
    superior = np.median(plateau[:, 1]) - points[:, 1].min()
    return Pose(anterior=float(middle[0]), superior=float(superior), lateral=float(middle[2]))


def plateau_starts(femur: TriangleMesh, tibia: TriangleMesh, flexion: float) -> list[Pose]:
    """Return poses at a flexion [rad] with the condyles over the plateaus, from back to front.

    The lowest part of the condyles lies at AP positions `STEP` apart along the tibia. The height is
    that of first contact, up to the slope of the surfaces within a `CELL`.
    """
    turned = _points(femur) @ Pose(flexion=flexion).rotation_matrix.T
    plateau = _points(tibia)
    lowest = turned[turned[:, 1] < turned[:, 1].min() + _LOWEST, 0].mean()
    back, front = plateau[:, 0].min(), plateau[:, 0].max()
    margin = _END * (front - back)
    count = max(2, round((front - back - 2.0 * margin) / STEP) + 1)
    lateral = middle_pose(femur, tibia).lateral
    starts = []
    for place in np.linspace(back + margin, front - margin, count):
        anterior = float(place - lowest)
        superior = _contact_height(turned + np.array([anterior, 0.0, lateral]), plateau)
        starts.append(Pose(flexion, 0.0, 0.0, anterior, superior, lateral))
    return starts


def at_end_of_femur(femur: TriangleMesh, flexion: float) -> bool:
    """Return whether the lowest point of a femur at a flexion [rad] lies on the rim of its mesh."""
    edges = find_edges(femur.faces, len(femur.vertices))
    rim = np.unique(edges.ends[edges.count == 1])
    height = femur.vertices @ Pose(flexion=flexion).rotation_matrix[1]
    lowest = np.flatnonzero(height < height.min() + _LOWEST_POINT)
    return bool(np.isin(lowest, rim).any())


def _points(mesh: TriangleMesh) -> FloatArray:
    """Return the vertices and centroids of a mesh, (N, 3) [m]."""
    return np.concatenate([mesh.vertices, mesh.centroids])


def _contact_height(femur: FloatArray, tibia: FloatArray) -> float:
    """Return the rise [m] that brings femoral points (N, 3) [m] onto tibial points (M, 3) [m]."""
    low = np.minimum(femur.min(axis=0), tibia.min(axis=0))
    columns = 1 + int(np.ptp(np.concatenate([femur[:, 2], tibia[:, 2]])) / CELL)
    rows = 1 + int(np.ptp(np.concatenate([femur[:, 0], tibia[:, 0]])) / CELL)
    bottom, top = np.full(rows * columns, np.inf), np.full(rows * columns, -np.inf)
    for points, heights, extreme in ((femur, bottom, np.minimum), (tibia, top, np.maximum)):
        cell = ((points - low) / CELL).astype(np.int64)
        extreme.at(heights, cell[:, 0] * columns + cell[:, 2], points[:, 1])
    # An empty cell gives -inf.
    rise = float((top - bottom).max())
    return rise if np.isfinite(rise) else float(tibia[:, 1].max() - femur[:, 1].min())
