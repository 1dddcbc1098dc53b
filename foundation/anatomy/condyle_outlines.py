"""Sagittal outlines of the two condyles of a femur, by their support function.

The support function is the largest extent in each sagittal direction. It is the same for an open
bearing surface and for a closed component, and depends little on the triangles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from foundation.base.checks import FloatArray
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh

#: Directions of the posterior outline, from inferior (0) towards posterior [rad].
POSTERIOR = np.radians(np.arange(20.0, 100.5, 1.0))
#: Strip between the condyles that counts for neither, over the width of the femur.
_BETWEEN = 0.1


class Circles(NamedTuple):
    """Circles of both posterior outlines: sagittal centres (2, 2), radii (2,), misfits (2,) [m]."""

    centres: FloatArray
    radii: FloatArray
    misfits: FloatArray


class Condyles(NamedTuple):
    """Corners of the convex hulls of the left and the right half of a femur, (N, 3) each [m]."""

    left: FloatArray
    right: FloatArray


def find_condyles(mesh: TriangleMesh, right: FloatArray) -> Condyles:
    """Return the two halves of a femur beside mid-width, along the direction `right` (3,) [1].

    Raises `MeshError` if a half has no volume.
    """
    across = mesh.vertices @ right
    middle, width = 0.5 * (across.min() + across.max()), np.ptp(across)
    halves = []
    for sign in (-1.0, 1.0):
        half = mesh.vertices[sign * (across - middle) > _BETWEEN * width]
        try:
            halves.append(half[ConvexHull(half).vertices])
        except (QhullError, ValueError) as error:
            raise MeshError(
                f"{mesh.name}: no two condyles found beside each other; expected a distal femur"
            ) from error
    return Condyles(*halves)


def directions(angles: FloatArray) -> FloatArray:
    """Return sagittal unit vectors (N, 2) at angles [rad] from inferior towards posterior."""
    return np.stack([-np.sin(angles), -np.cos(angles)], axis=1)


def extents(points: FloatArray, rotation: FloatArray, angles: FloatArray) -> FloatArray:
    """Return the largest extent of points (N, 3) in sagittal directions, (A,) [m].

    `rotation` (3, 3) has rows anterior, superior and right in the coordinates of the points.
    """
    largest: FloatArray = (points @ rotation[:2].T @ directions(angles).T).max(axis=0)
    return largest


def fit_circles(condyles: Condyles, rotation: FloatArray) -> Circles:
    """Return the circles [m] whose support functions fit those of the posterior outlines best.

    `rotation` (3, 3) has rows anterior, superior and right in the coordinates of the condyles.
    """
    # The support function of a circle is c . d + r, linear in centre and radius.
    matrix = np.column_stack([directions(POSTERIOR), np.ones(len(POSTERIOR))])
    supports = np.stack([extents(half, rotation, POSTERIOR) for half in condyles], axis=1)
    solution = np.asarray(np.linalg.lstsq(matrix, supports, rcond=None)[0], dtype=np.float64)
    misfits: FloatArray = np.sqrt(np.mean((supports - matrix @ solution) ** 2, axis=0))
    return Circles(solution[:2].T, solution[2], misfits)


def axis_through(condyles: Condyles, rotation: FloatArray, circles: Circles) -> FloatArray:
    """Return the unit vector (3,) [1] from the left to the right centre."""
    middles = [float((half @ rotation[2]).mean()) for half in condyles]
    step = np.append(circles.centres[1] - circles.centres[0], middles[1] - middles[0])
    axis: FloatArray = rotation.T @ (step / np.linalg.norm(step))
    return axis


def relative_outline(
    condyles: Condyles, rotation: FloatArray, circles: Circles, angles: FloatArray
) -> FloatArray:
    """Return the mean outline about the centres, over the mean posterior radius, (A,) [1]."""
    outlines = [
        extents(half, rotation, angles) - directions(angles) @ centre
        for half, centre in zip(condyles, circles.centres, strict=True)
    ]
    ratio: FloatArray = np.mean(outlines, axis=0) / circles.radii.mean()
    return ratio


def directions_away(
    mesh: TriangleMesh, right: FloatArray, centre: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return unit vectors (F, 3) [1] from an axis to the triangles, and the distances (F,) [m].

    The axis has the direction `right` (3,) [1] and runs through `centre` (3,) [m].
    """
    away = mesh.centroids - centre
    away = away - np.outer(away @ right, right)
    distance: FloatArray = np.linalg.norm(away, axis=1)
    return away / np.maximum(distance, np.finfo(float).tiny)[:, None], distance


def outer_triangles(
    mesh: TriangleMesh, right: FloatArray, centre: FloatArray, least: float
) -> NDArray[np.bool_]:
    """Return which triangles of a femur face away from an axis, (F,) bool.

    Arguments as of `directions_away`; `least` is the least component of a normal away from the axis
    [1].
    """
    away, _ = directions_away(mesh, right, centre)
    facing: NDArray[np.bool_] = np.einsum("fi,fi->f", mesh.normals, away) > least
    return facing
