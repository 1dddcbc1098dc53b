"""Triangle meshes of articular surfaces, and their error and warning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, IntArray, frozen
from foundation.base.errors import InputError
from foundation.base.wording import counted

#: A triangle is degenerate if its area is below this fraction of its longest edge squared. Far
#: below the slivers of real meshes (1e-6), above the rounding of collinear corners. Or below an
#: area whose square is near the least number [m²].
DEGENERATE, _LEAST_AREA = 1e-12, 1e-60
#: Largest size of a coordinate, whose products are far from overflow [any unit].
_FARTHEST = 1e30
#: Tolerance of the length of a unit vertex normal; covers files in single precision.
UNIT_NORMAL = 1e-6


class MeshError(InputError):
    """A mesh cannot be used; the message names the mesh, the finding and a remedy."""


class MeshWarning(UserWarning):
    """A mesh is doubtful; the message names the mesh, the finding and a remedy."""


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """Surface of triangles in the frame of its body.

    Parameters
    ----------
    vertices : (V, 3) float64
        Positions [m], femoral or tibial frame (x anterior, y superior, z lateral).
    faces : (F, 3) int64
        Vertex indices of each triangle, counter-clockwise seen from outside, so that the normals
        point out of the bone or component: femur down, tibia up.
    name : str
        Name of the mesh in messages.
    vertex_normals : (V, 3) float64, optional
        Unit outward normals [1] of the surface that the triangles approximate.

    Attributes
    ----------
    area_vectors : (F, 3) float64
        Outward normal times area of each triangle [m²].

    Raises
    ------
    MeshError
        If there is no triangle, a vertex is not finite or beyond 1e30, an index is out of range, a
        triangle has no area and therefore no normal, or the vertex normals are not unit vectors on
        the outer side of the triangles around them.
    """

    vertices: FloatArray
    faces: IntArray
    name: str = "mesh"
    vertex_normals: FloatArray | None = None
    area_vectors: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        vertices, faces = checked_triangles(self.name, self.vertices, self.faces)
        vectors = area_vectors(vertices, faces)
        flat = np.flatnonzero(degenerate_triangles(vertices, faces, vectors))
        if len(flat):
            raise MeshError(
                f"{self.name}: {counted(len(flat), 'degenerate triangle')} (no area, so no "
                f"normal), the first is number {flat[0]}; remove the degenerate triangles, as "
                "load_mesh does"
            )
        object.__setattr__(self, "vertices", frozen(vertices))
        object.__setattr__(self, "faces", frozen(faces))
        object.__setattr__(self, "area_vectors", frozen(vectors))
        if self.vertex_normals is not None:
            normals = _checked_normals(self.name, self.vertex_normals, vertices, faces)
            object.__setattr__(self, "vertex_normals", frozen(normals))

    def __repr__(self) -> str:
        return f"<TriangleMesh {self.name}: {len(self.vertices)} vertices, {len(self.faces)} faces>"

    @cached_property
    def centroids(self) -> FloatArray:
        """Centroid of each triangle, (F, 3) [m]."""
        return frozen(self.vertices[self.faces].mean(axis=1))

    @cached_property
    def areas(self) -> FloatArray:
        """Area of each triangle, (F,) [m²]."""
        return frozen(np.linalg.norm(self.area_vectors, axis=1))

    @cached_property
    def normals(self) -> FloatArray:
        """Unit outward normal of each triangle, (F, 3) [1]."""
        return frozen(self.area_vectors / self.areas[:, None])

    @cached_property
    def centroid(self) -> FloatArray:
        """Centroid of the surface, (3,) [m]."""
        return frozen(np.average(self.centroids, axis=0, weights=self.areas))

    def mirrored(self) -> TriangleMesh:
        """Return the mirror image in z (left knee <-> right knee), triangles in the same order.

        The winding is reversed, so that the normals still point out of the bone or component.
        """
        flip = np.array([1.0, 1.0, -1.0])
        normals = None if self.vertex_normals is None else self.vertex_normals * flip
        return TriangleMesh(self.vertices * flip, self.faces[:, ::-1], self.name, normals)


def _checked_normals(
    name: str, vertex_normals: ArrayLike, vertices: FloatArray, faces: IntArray
) -> FloatArray:
    """Return a copy of vertex normals (V, 3) that are unit and agree with the triangles."""
    normals = np.array(vertex_normals, dtype=np.float64, order="C")
    if normals.shape != vertices.shape:
        raise MeshError(
            f"{name}: expected vertex normals of shape {vertices.shape}, found {normals.shape}"
        )
    used = np.zeros(len(vertices), dtype=np.bool_)
    used[faces] = True
    # Negated, so that NaN counts as wrong.
    wrong = np.flatnonzero(used & ~(np.abs(np.linalg.norm(normals, axis=1) - 1.0) < UNIT_NORMAL))
    if len(wrong):
        count = counted(
            len(wrong), "vertex normal is not a unit vector", "vertex normals are not unit vectors"
        )
        raise MeshError(
            f"{name}: {count}, the first is number {wrong[0]}, {normals[wrong[0]].tolist()}; "
            "normalise the vertex normals"
        )
    outward = np.einsum("fij,fj->fi", normals[faces], area_vectors(vertices, faces))
    against = np.flatnonzero((outward <= 0.0).any(axis=1))
    if len(against):
        raise MeshError(
            f"{name}: vertex normals point to the inner side of "
            f"{counted(len(against), 'triangle')}, the first is number {against[0]}; the normals "
            "or the winding are inverted, or the normals belong to another mesh"
        )
    return normals


def area_vectors(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """Return outward normal times area (F, 3) [m²] of triangles (F, 3) over vertices (V, 3) [m]."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return 0.5 * np.cross(b - a, c - a)


def degenerate_triangles(
    vertices: FloatArray, faces: IntArray, vectors: FloatArray | None = None
) -> NDArray[np.bool_]:
    """Return which triangles (F, 3) over vertices (V, 3) [m] have no area, (F,) bool.

    `vectors` are their area vectors (F, 3) [m²], if known.
    """
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    squared = [np.einsum("fi,fi->f", edge, edge) for edge in (b - a, c - b, a - c)]
    areas = np.linalg.norm(area_vectors(vertices, faces) if vectors is None else vectors, axis=1)
    return np.less_equal(areas, np.maximum(DEGENERATE * np.maximum.reduce(squared), _LEAST_AREA))


def compacted(faces: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Return which of `size` vertices triangles (F, 3) use, and the triangles over these alone.

    Several times faster than `np.unique`.
    """
    used = np.zeros(size, dtype=np.bool_)
    used[faces] = True
    return np.flatnonzero(used), (np.cumsum(used) - 1)[faces]


def checked_triangles(
    name: str, vertices: ArrayLike, faces: ArrayLike
) -> tuple[FloatArray, IntArray]:
    """Return copies of vertices (V, 3) [m] and faces (F, 3), or raise `MeshError` with the name."""
    points = np.array(vertices, dtype=np.float64, order="C")
    indices = np.array(faces, order="C")
    if indices.size == 0 or points.size == 0:
        raise MeshError(
            f"{name}: no triangles; expected a triangulated surface, not points or lines; "
            "export a triangle mesh"
        )
    if points.ndim != 2 or points.shape[1] != 3:
        raise MeshError(f"{name}: expected vertices of shape (V, 3), found {points.shape}")
    if indices.ndim != 2 or indices.shape[1] != 3 or indices.dtype.kind not in "iu":
        raise MeshError(
            f"{name}: expected faces of shape (F, 3) and integer type, found {indices.shape} "
            f"{indices.dtype}"
        )
    # Negated, so that NaN counts as bad.
    bad = np.flatnonzero(~(np.abs(points) <= _FARTHEST).all(axis=1))
    if len(bad):
        raise MeshError(
            f"{name}: {len(bad)} of {len(points)} vertices are NaN, infinite or beyond "
            f"{_FARTHEST:g}, the first is number {bad[0]}; export the file again"
        )
    if indices.min() < 0 or indices.max() >= len(points):
        raise MeshError(
            f"{name}: found vertex indices {indices.min()} to {indices.max()}, expected 0 to "
            f"{len(points) - 1}; the file is damaged: export it again"
        )
    return points, indices.astype(np.int64)


def edge_length(mesh: TriangleMesh) -> float:
    """Return the median edge length of a mesh [m]."""
    corners = mesh.vertices[mesh.faces]
    return float(np.median(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)))


def stacked(points: Sequence[FloatArray], faces: Sequence[IntArray]) -> tuple[FloatArray, IntArray]:
    """Return vertices (V, 3) [any unit] and triangles (F, 3) of several surfaces in order."""
    starts = np.cumsum([0, *(len(array) for array in points[:-1])])
    moved = [array + start for array, start in zip(faces, starts, strict=True)]
    return np.concatenate(points), np.concatenate(moved)
