"""Modes of shape fitted to the surfaces of another knee, whose triangles are its own.

Every vertex of the modes is drawn to the plane of the nearest triangle of the knee, and the weights
are found by least squares, again and again (iterative closest points to planes: Chen & Medioni
1992, Image Vis Comput 10:145-155; with modes, as in Cootes et al. 1995, Comput Vis Image Underst
61:38-59).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation

from foundation.anatomy.shape_modes import Bounds, ShapeModes, distances_left
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.surfaces.smooth_surface import SmoothSurface, angle_weighted_normals, smooth_surface
from foundation.surfaces.tree import SurfaceTree
from foundation.surfaces.triangle_mesh import TriangleMesh

#: Pieces of triangles among which the nearest point is sought.
_NEAR = 8
#: Least cosines between the normals of a vertex and of its place, and between the normal of a place
#: and the way there: a vertex beyond the border of the knee has no place.
_FACING, _ALONG = 0.5, 0.7
#: Distance [m] below which the way to a place has no direction, and distance of the farthest places
#: over the diagonal of the body.
_THERE, _FARTHEST = 1e-6, 0.25
#: Least part of the vertices of a body that have a place.
_LEAST_PLACED = 0.3
#: Change of a weight [1] at which the fit ends, and most iterations.
_CHANGE, _ITERATIONS = 1e-4, 200


class FittedShape(NamedTuple):
    """A knee by the modes, weights (K,) [1], and its surfaces with the triangles of the modes."""

    weights: FloatArray
    #: Surface [m] in the frame of the modes, with corresponding vertices; likewise the tibia.
    femur: TriangleMesh
    tibia: TriangleMesh
    #: Root mean square distance between the knee and its shape by the modes [m].
    rms: float
    #: Largest such distance [m].
    largest: float
    #: Part of the modes' vertices with a place on the knee [1]; the modes place the others.
    placed: float


def fit_vertices(
    modes: ShapeModes, femur: FloatArray, tibia: FloatArray, bounds: Bounds
) -> FittedShape:
    """Return the modes fitted to a corresponding knee.

    The knee has the vertices (V, 3) [m], in the frames of the modes; `bounds` are the least and
    largest weights, numbers or (K,) [1].
    """
    weights, rms, largest = modes.weights_of(femur, tibia, bounds)
    bodies = [
        TriangleMesh(vertices, mesh.faces, mesh.name)
        for vertices, mesh in ((femur, modes.femur), (tibia, modes.tibia))
    ]
    return FittedShape(weights, bodies[0], bodies[1], rms, largest, 1.0)


def fit_surfaces(
    modes: ShapeModes,
    femur: TriangleMesh,
    tibia: TriangleMesh,
    bounds: Bounds,
    *,
    rigid: bool = False,
) -> FittedShape:
    """Return the modes fitted to a knee with triangles of its own.

    The surfaces of the knee [m] may extend beyond those of the modes; `bounds` are the least and
    largest weights, numbers or (K,) [1]. With `rigid`, the knee's bodies lie in frames of their
    own: each is turned and moved too, at first so that the centroids agree. Else the frames are
    those of the modes. Raises `InputError` if fewer than 30 % of the vertices of a body have a
    place on the knee.
    """
    bodies = [
        _Body.of(own, other, rigid=rigid)
        for own, other in zip((modes.femur, modes.tibia), (femur, tibia), strict=True)
    ]
    weights = np.clip(np.zeros(len(modes.modes)), *bounds)
    displacements = np.split(modes.displacements, [len(modes.femur.vertices)], axis=1)
    for _ in range(_ITERATIONS):
        parts = [
            body.equations(points, moved, rigid=rigid)
            for body, points, moved in zip(
                bodies, modes.vertices(weights), displacements, strict=True
            )
        ]
        change, motions = _solved(parts, weights, bounds, rigid=rigid)
        for body, motion in zip(bodies, motions, strict=True):
            body.move(motion)
        weights = weights + change
        if np.abs(change).max() < _CHANGE:
            break
    return _fitted(modes, bodies, weights)


class _Equations(NamedTuple):
    """Distances (M,) [m] of placed vertices, and these by weights (M, K) and motion (M, 6)."""

    distances: FloatArray
    by_weights: FloatArray
    by_motion: FloatArray


@dataclass(eq=False)
class _Body:
    """A surface of the knee to fit, its tree, and its motion into the frame of the modes."""

    mesh: TriangleMesh
    own: TriangleMesh
    tree: SurfaceTree
    smooth: SmoothSurface
    turn: Rotation
    shift: FloatArray

    @classmethod
    def of(cls, own: TriangleMesh, other: TriangleMesh, *, rigid: bool) -> _Body:
        shift = np.zeros(3)
        if rigid:
            shift = own.centroid - other.centroid
        tree = SurfaceTree(other.vertices[other.faces])
        return cls(other, own, tree, smooth_surface(other), Rotation.identity(), shift)

    def places(self, points: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
        """Return places (V, 3) [m] on the knee, its normals (V, 3) there, and which count (V,)."""
        import trimesh  # slow to import

        query = self.turn.inv().apply(points - self.shift)
        flat, triangle = self.tree.nearest_points(query, _NEAR)
        # In mm, as the library compares products of lengths with fixed thresholds.
        weights = trimesh.triangles.points_to_barycentric(
            1e3 * self.tree.corners[triangle], 1e3 * flat
        )
        feet = self.turn.apply(self.smooth.points(triangle, weights)) + self.shift
        normals = self.turn.apply(self.mesh.normals[triangle])
        facing = angle_weighted_normals(points, self.own.faces)
        way = self.turn.apply(flat) + self.shift - points
        far = np.linalg.norm(way, axis=1)
        along = np.abs((way * normals).sum(axis=1)) >= _ALONG * far
        diagonal = np.linalg.norm(np.ptp(points, axis=0))
        near = (far < _FARTHEST * diagonal) & (along | (far < _THERE))
        placed = ((facing * normals).sum(axis=1) > _FACING) & near
        return feet, normals, placed

    def equations(self, points: FloatArray, moved: FloatArray, *, rigid: bool) -> _Equations:
        """Return the equations of the vertices (V, 3) [m], moved by weights (K, V, 3) [m]."""
        feet, normals, placed = self.places(points)
        if placed.mean() < _LEAST_PLACED:
            remedy = "" if rigid else ', or set [knee.shape] align = "rigid"'
            raise InputError(
                f"{self.mesh.name}: expected a surface near that of the modes of shape, found only "
                f"{placed.mean():.0%} of the vertices of the modes beside it; check unit, axes, "
                f"side and frame{remedy}"
            )
        feet, normals, points = feet[placed], normals[placed], points[placed]
        by_motion = np.concatenate([np.cross(feet, normals), normals], axis=1)
        return _Equations(
            (normals * (feet - points)).sum(axis=1),
            np.einsum("kvi,vi->vk", moved[:, placed], normals),
            -by_motion if rigid else np.zeros((len(feet), 0)),
        )

    def move(self, motion: FloatArray) -> None:
        """Turn and move the knee by a small motion (6,) [rad, m], or (0,) for none."""
        if len(motion):
            turn = Rotation.from_rotvec(motion[:3])
            self.turn = turn * self.turn
            self.shift = turn.apply(self.shift) + motion[3:]


def _solved(
    parts: list[_Equations], weights: FloatArray, bounds: Bounds, *, rigid: bool
) -> tuple[FloatArray, list[FloatArray]]:
    """Return the change of the weights (K,) [1] and the motion of each body [rad, m]."""
    count, size = len(weights), 6 if rigid else 0
    rows = []
    for number, part in enumerate(parts):
        motions = [np.zeros_like(part.by_motion) for _ in parts]
        motions[number] = part.by_motion
        rows.append(np.concatenate([part.by_weights, *motions], axis=1))
    free = np.full(len(parts) * size, np.inf)
    low, high = (np.broadcast_to(bound, count) - weights for bound in bounds)
    answer = lsq_linear(
        np.concatenate(rows),
        np.concatenate([part.distances for part in parts]),
        (np.concatenate([low, -free]), np.concatenate([high, free])),
        method="bvls",
    ).x
    return answer[:count], np.split(answer[count:], len(parts))


def _fitted(modes: ShapeModes, bodies: list[_Body], weights: FloatArray) -> FittedShape:
    meshes, left, placed = [], [], []
    for body, points in zip(bodies, modes.vertices(weights), strict=True):
        feet, _, counts = body.places(points)
        vertices = np.where(counts[:, None], feet, points)
        meshes.append(TriangleMesh(vertices, body.own.faces, body.own.name))
        left.append((vertices - points)[counts])
        placed.append(counts)
    rms, largest = distances_left(np.concatenate(left))
    return FittedShape(
        weights, meshes[0], meshes[1], rms, largest, float(np.concatenate(placed).mean())
    )
