"""The end of a bone at the joint: directions that may lead there, and the bone cut above it.

Segmented bones come with shafts of any length, open, closed by a plane or whole, and in any
position. Each trait of a shape proposes directions from the shaft to the joint; which of them is
right shows when the bearing surface there is found.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial import KDTree

from foundation.base.checks import FloatArray
from foundation.surfaces.mesh_topology import label_pieces
from foundation.surfaces.surface_shape import principal_axes, selected
from foundation.surfaces.triangle_mesh import TriangleMesh, degenerate_triangles

#: Norm of the mean normal above which the opening of a surface tells a direction.
_OPENING = 0.02
#: Least area of a plane cut, over the area of the body, and widths of the classes of normals [1]
#: and of distances of planes [m] in which a cut is one. A cut is an end: nothing lies beyond it by
#: more than the tolerance [m].
_CUT, _NORMAL_STEP, _PLANE_STEP, _BEYOND = 0.02, 0.05, 1e-3, 1.5e-3
#: Extent along the longest axis over the next one beyond which this axis is surely and possibly
#: that of a shaft, and least extent that is surely [m], above that of a single condyle.
_LONG, _LONGER, _LEAST_LONG = 1.6, 1.05, 0.11
#: Surfaces of both bodies closer than this face each other [m], and least area that does [m²].
_NEAR, _LEAST_NEAR = 12e-3, 100e-6
#: Cosine beyond which two directions are the same, and least cosine of other directions to that of
#: a shaft, an opening or a cut.
_SAME, _NEAR_END = 0.95, 0.5
#: Height of the kept end over its width, and height over which the width is measured [m].
_HEIGHT, _END = 0.75, 30e-3
#: Distances from the joint between which the wall of the shaft tells its direction, and least
#: height of the wall, over the width; largest component of its normals along the shaft; and least
#: cosine between shaft and direction to the joint.
_SHAFT, _LEAST_SHAFT, _LENGTHWISE, _ALONG = (0.6, 1.25), 0.08, 0.5, 0.9
#: Longest edge of a triangle whose centroid stands for the whole triangle [m], and the least part
#: of the mesh's diagonal for this edge, which bounds the number of triangles.
_LONGEST, _PART = 3e-3, 0.02


def joint_directions(mesh: TriangleMesh, other: TriangleMesh | None) -> list[FloatArray]:
    """Return directions (3,) [1] that may point from a body to the joint, likely ones first.

    `other`, the other body of the joint [m], may be in a frame of its own.
    """
    directions: list[FloatArray] = []
    facing = None if other is None else facing_other(mesh, other)
    main = selected(mesh, label_pieces(mesh)[0] == 0)
    ends = [end / np.linalg.norm(end) for end in _ends(main)]
    # A bone does not bear on the wall of its shaft.
    axes = [axis for axis in _axes(main) if not ends or max(axis @ end for end in ends) > _NEAR_END]
    for direction in (*([] if facing is None else [facing]), *ends, *axes):
        if all(direction @ known < _SAME for known in directions):
            directions.append(direction)
    return directions


def facing_other(mesh: TriangleMesh, other: TriangleMesh) -> FloatArray | None:
    """Return the mean normal (3,) [1] of the triangles that face another body close by.

    None if no part of the body does, as with bodies in frames of their own.
    """
    neighbours = KDTree(other.centroids).query(mesh.centroids, distance_upper_bound=_NEAR)
    distance, nearest = np.asarray(neighbours[0]), np.asarray(neighbours[1])
    near = np.isfinite(distance)
    towards = np.zeros_like(mesh.centroids)
    towards[near] = other.centroids[nearest[near]] - mesh.centroids[near]
    ahead = np.einsum("fi,fi->f", towards, mesh.normals) > 0.5 * distance
    near &= ahead
    opposed = np.einsum("fi,fi->f", mesh.normals[near], other.normals[nearest[near]]) < -0.5
    near[near] = opposed
    if mesh.areas[near].sum() < _LEAST_NEAR:
        return None
    mean = mesh.area_vectors[near].sum(axis=0)
    return np.asarray(mean / np.linalg.norm(mean))


def joint_end(mesh: TriangleMesh, direction: FloatArray) -> TriangleMesh:
    """Return the end of a bone [m] in a direction (3,) [1], about as high as wide."""
    along = mesh.centroids @ direction
    depth = along.max() - along
    return selected(mesh, depth < _HEIGHT * _width(mesh, direction))


def shaft_direction(mesh: TriangleMesh, direction: FloatArray) -> FloatArray:
    """Return the direction (3,) [1] of the shaft next to the end of a bone, towards the joint.

    Without a shaft, this is the given `direction` (3,) [1] towards the joint.
    """
    shaft = find_shaft(mesh, direction)
    return direction if shaft is None else shaft


def find_shaft(mesh: TriangleMesh, direction: FloatArray) -> FloatArray | None:
    """Return the direction (3,) [1] of the shaft nearly along `direction` (3,) [1]; None without.

    The normals of a shaft are perpendicular to its axis.
    """
    along = mesh.centroids @ direction
    depth = (along.max() - along) / _width(mesh, direction)
    shaft = (_SHAFT[0] < depth) & (depth < _SHAFT[1])
    shaft &= np.abs(mesh.normals @ direction) < _LENGTHWISE
    if not shaft.any() or np.ptp(depth[shaft]) < _LEAST_SHAFT:
        return None
    normals, areas = mesh.normals[shaft], mesh.areas[shaft]
    axis = np.linalg.eigh((normals.T * areas) @ normals)[1][:, 0]
    axis = axis * np.sign(axis @ direction)
    return axis if axis @ direction > _ALONG else None


def shaft_lean(mesh: TriangleMesh, rotation: FloatArray) -> float:
    """Return by how much the shaft of a femur leans to the right of its frame, a tangent [1].

    The shaft leans to the lateral side, as the knees are closer to each other than the hips
    (measured against the axis of the posterior condyles on 24 bones of a shape model: 0.05 to 0.16,
    mean 0.09). `rotation` (3, 3) has rows anterior, superior and right; 0 without a shaft.
    """
    up = rotation @ -shaft_direction(mesh, -rotation[1])
    return float(up[2] / up[1])


def _width(mesh: TriangleMesh, direction: FloatArray) -> float:
    """Return the width [m] of a body near its end in a direction (3,) [1]."""
    along = mesh.centroids @ direction
    end = mesh.centroids[along > along.max() - _END]
    flat = end - np.outer(end @ direction, direction)
    return 2.0 * float(np.linalg.norm(flat - flat.mean(axis=0), axis=1).max())


def _ends(mesh: TriangleMesh) -> Iterator[FloatArray]:
    """Yield directions (3,) to the ends of a shaft, and away from an opening and from cuts."""
    if is_long(mesh):
        yield from _along(mesh)
        return
    mean = mesh.area_vectors.sum(axis=0) / mesh.areas.sum()
    if np.linalg.norm(mean) > _OPENING:
        yield mean  # the normals of a body with an opening sum up to a vector out of the other end
    yield from (-cut for cut in _cuts(mesh))


def _axes(mesh: TriangleMesh) -> Iterator[FloatArray]:
    """Yield the directions (3,) [1] of the axes of a body, to both ends."""
    axes, extents = _extents(mesh)
    if extents[2] > _LONGER * extents[1]:
        yield from _along(mesh)
    _, tube = np.linalg.eigh((mesh.normals.T * mesh.areas) @ mesh.normals)
    for axis in (tube[:, 0], *axes):
        yield from (axis, -axis)


def _along(mesh: TriangleMesh) -> list[FloatArray]:
    """Return both directions (3,) [1] of the longest axis, first that to the larger end.

    The joint is at the larger end.
    """
    axis = _extents(mesh)[0][2]
    return sorted((axis, -axis), key=lambda end: -joint_end(mesh, end).areas.sum())


def is_long(mesh: TriangleMesh) -> bool:
    """Return whether a body is much longer than wide."""
    _, extents = _extents(mesh)
    return bool(extents[2] > max(_LONG * extents[1], _LEAST_LONG))


def _extents(mesh: TriangleMesh) -> tuple[FloatArray, FloatArray]:
    """Return the principal axes (3, 3) [1] of a body, and the extents (3,) [m] along them."""
    axes, _ = principal_axes(mesh)
    extents = np.ptp(mesh.vertices @ axes.T, axis=0)
    order = np.argsort(extents)
    return axes[order], extents[order]


def _cuts(mesh: TriangleMesh) -> list[FloatArray]:
    """Return the normals (3,) [1] of plane cuts, the largest first."""
    plane = np.einsum("fi,fi->f", mesh.normals, mesh.centroids)
    classes = np.column_stack(
        [np.round(mesh.normals / _NORMAL_STEP), np.round(plane / _PLANE_STEP)]
    ).astype(np.int64)
    _, first, group = np.unique(classes, axis=0, return_index=True, return_inverse=True)
    areas = np.bincount(group.reshape(-1), weights=mesh.areas)
    large = np.flatnonzero(areas > _CUT * mesh.areas.sum())
    ordered = first[large[np.argsort(-areas[large])]]
    ends = [k for k in ordered if (mesh.vertices @ mesh.normals[k]).max() < plane[k] + _BEYOND]
    return list(mesh.normals[ends])


def refined(mesh: TriangleMesh) -> TriangleMesh:
    """Return a mesh [m] whose triangles are divided until no edge is longer than about 3 mm.

    Plane faces of a CAD model are a few large triangles.
    """
    # Imported here, so that trained surrogates do not need a mesh library.
    from trimesh.remesh import subdivide_to_size

    diagonal = float(np.linalg.norm(np.ptp(mesh.vertices, axis=0)))
    longest = max(_LONGEST, _PART * diagonal)
    vertices, faces = subdivide_to_size(mesh.vertices, mesh.faces, longest, max_iter=20)
    return TriangleMesh(vertices, faces[~degenerate_triangles(vertices, faces)], mesh.name)
