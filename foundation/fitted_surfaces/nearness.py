"""Where the surfaces of a compartment come near each other over poses of the femur."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from foundation.fitted_surfaces.fits import Quadric
from foundation.surfaces.line_hits import LineTracer
from foundation.surfaces.smooth_surface import flat_surface
from foundation.surfaces.triangle_mesh import TriangleMesh

#: Start of the lines beyond the surface, and their length [m].
_BEFORE, _REACH = 30e-3, 60e-3
#: Least vertical component of the normals of bearing surfaces [1].
_UPRIGHT = 0.3
_UP = np.array([0.0, 1.0, 0.0])


class SurfacePart(NamedTuple):
    """Vertices of one surface that come near the other surface, and their weights.

    Parameters
    ----------
    points : (N, 3) float64
        Positions [m], frame of the body.
    weights : (N,) float64
        Area times nearness, summed over the poses [m²].
    normal : (3,) float64
        Mean outward normal, unit, frame of the body [1].
    beyond, beyond_squared : (N,) float64
        Weighted mean over the poses of the signed distance [m], and of its square [m²], of the
        other surface from its fit, at the place opposite the vertex; 0 without a fit.
    """

    points: FloatArray
    weights: FloatArray
    normal: FloatArray
    beyond: FloatArray
    beyond_squared: FloatArray


class Nearness:
    """Vertices of one compartment with their gaps over poses of the femur.

    At each pose the femur is moved along the superior axis until it touches; a vertex of vertical
    gap g then weighs exp(-(g/width)²/2) times its area.

    Parameters
    ----------
    femur, tibia : TriangleMesh
        Articular surfaces [m].
    inside : (F,) bool
        Tibial triangles of the compartment.
    poses : sequence of Pose
        Poses of the femur, within 30 mm of the height of first contact.
    width : float
        Gap at which the weight has fallen to 0.61 [m].

    Raises
    ------
    InputError
        If the surfaces are not above each other at a pose (by the methods).
    """

    def __init__(
        self,
        femur: TriangleMesh,
        tibia: TriangleMesh,
        inside: NDArray[np.bool_],
        poses: Sequence[Pose],
        width: float,
    ) -> None:
        self._above = _Side(femur, np.ones(len(femur.faces), dtype=np.bool_))
        self._below = _Side(tibia, inside)
        self._poses, self._width = poses, width

    def tibia(self) -> SurfacePart:
        """Return the tibial vertices, tibial frame."""
        side = self._below
        chosen = side.normals[:, 1] > _UPRIGHT
        points = side.points[chosen]
        sums = _Sums(len(points))
        for pose in self._poses:
            turn = pose.rotation_matrix
            starts = (points + _BEFORE * _UP - pose.translation) @ turn
            hit, travelled = self._above.exits(starts, -_UP @ turn)
            sums.add(self._weights(pose, np.where(hit, _BEFORE - travelled, np.inf)))
        return sums.part(points, side.normals[chosen], side.areas[chosen])

    def femur(self, plateau: Quadric) -> SurfacePart:
        """Return the femoral vertices, femoral frame, with the distances of a fitted plateau."""
        side = self._above
        sums = _Sums(len(side.points))
        for pose in self._poses:
            turn = pose.rotation_matrix
            facing = np.flatnonzero(side.normals @ turn.T @ _UP < -_UPRIGHT)
            points = side.points[facing] @ turn.T + pose.translation
            hit, travelled = self._below.exits(points - _BEFORE * _UP, _UP)
            weights = self._weights(pose, np.where(hit, _BEFORE - travelled, np.inf))
            opposite = points + np.outer(np.where(hit, travelled - _BEFORE, 0.0), _UP)
            sums.add(weights, plateau.distances(opposite), facing)
        return sums.part(side.points, side.normals, side.areas)

    def _weights(self, pose: Pose, gaps: FloatArray) -> FloatArray:
        least = np.min(gaps, initial=np.inf)
        if not np.isfinite(least):
            raise InputError(
                "poses: expected the femur above the tibia in each compartment, within 30 mm, "
                f"found no tibial triangle below the femur at {pose}"
            )
        relative = (gaps - least) / self._width
        # Beyond 4 widths no weight, which leaves the vertex out.
        return np.where(relative < 4.0, np.exp(-0.5 * np.minimum(relative, 4.0) ** 2), 0.0)


class _Side:
    """One surface: its vertices with areas and normals, and a search along lines."""

    def __init__(self, mesh: TriangleMesh, inside: NDArray[np.bool_]) -> None:
        faces = mesh.faces[inside]
        used, index = np.unique(faces, return_inverse=True)
        index = index.reshape(faces.shape)
        self.points = mesh.vertices[used]
        vectors = np.zeros_like(self.points)
        for corner in range(3):
            np.add.at(vectors, index[:, corner], mesh.area_vectors[inside] / 3.0)
        self.areas = np.linalg.norm(vectors, axis=1)
        self.normals = vectors / np.maximum(self.areas, np.finfo(float).tiny)[:, None]
        part = TriangleMesh(self.points, index, mesh.name)
        self._lines = LineTracer(flat_surface(part), curved=False)

    def exits(
        self, starts: FloatArray, direction: FloatArray
    ) -> tuple[NDArray[np.bool_], FloatArray]:
        """Return whether lines from starts (N, 3) [m] leave the surface, and after how long [m]."""
        found = self._lines.exits(starts, np.tile(direction, (len(starts), 1)), _REACH)
        return found.facet >= 0, found.distance


class _Sums:
    """Sums over poses of weights and of weighted distances."""

    def __init__(self, count: int) -> None:
        self._sums = np.zeros((3, count))

    def add(
        self,
        weights: FloatArray,
        beyond: FloatArray | float = 0.0,
        where: NDArray[np.intp] | slice = slice(None),
    ) -> None:
        """Add the weights of a pose and the distances [m] of the other surface."""
        for row, power in zip(self._sums, range(3), strict=True):
            row[where] += weights * beyond**power

    def part(self, points: FloatArray, normals: FloatArray, areas: FloatArray) -> SurfacePart:
        """Return the vertices of positive weight."""
        near = self._sums[0] > 0.0
        occupied, beyond, squared = self._sums[:, near]
        weights = occupied * areas[near]
        normal = weights @ normals[near]
        return SurfacePart(
            points[near],
            weights,
            normal / np.linalg.norm(normal),
            beyond / occupied,
            squared / occupied,
        )
