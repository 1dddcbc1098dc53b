"""Walls of a body: the outer one of two, and the whole of a thin layer's outer wall.

A cartilage shell has an inner wall on the bone; a bone may have the wall of its medullary cavity in
the same file. Place, normals and curvature tell the walls apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import KDTree

from foundation.base.checks import FloatArray
from foundation.surfaces.mesh_topology import label_pieces, neighbours
from foundation.surfaces.smooth_surface import averaged_normals, facing_normals
from foundation.surfaces.surface_shape import enclosed, is_closed, selected, volume
from foundation.surfaces.tree import SurfaceTree
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh

#: Least component of an outward normal towards the other body (70 deg from facing it).
FACING = 0.34
#: A piece below this fraction of the largest piece's area is loose.
_PIECE = 0.2
#: Median distance of the walls of a cartilage shell at most [m]. Cartilage is 1 to 4 mm thick, an
#: insert 6 mm or more.
SHELL_THICKNESS = 5e-3
#: Number of triangles of a wall whose distance is measured at most.
_SOME = 2000
#: A normal with more than this component towards the other body, or away from it, is that of the
#: outer or inner wall [1]. A steeper triangle belongs to the outer wall if the surface turns on the
#: way there by less than this angle [rad], and by less than this part of the turn on the way to the
#: inner wall: the rim turns by 90 deg to either side.
_CLEARLY, _TURN, _NEARER = 0.6, np.radians(75.0), 0.6
#: Cosine between the outward normal of the outer wall and the inward one of the inner wall below it
#: up to which no column of cartilage carries a spring (73 deg), and number of pieces of the inner
#: wall among which the nearest point is sought. Sound peaks of two knees differ by 0.2 % at 0.2.
_COLUMN, _NEAR = 0.3, 10
#: Component of an outward normal towards mid-width above which a triangle lies behind the crest of
#: its plateau, and the condyle stands on the other side (37 deg). Sound peaks of six knees change
#: by 0.2 % at most, at 0.5 by 4 %.
_BEHIND = 0.6
#: Cosine between a normal and that of the surface it stands for (46 deg), below which a triangle is
#: the riser of a voxel, or a shard (0 to 0.9 % of the area of segmentations in smoothed steps).
_RISER = 0.7


def large_pieces(mesh: TriangleMesh, part: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
    """Return the triangles (F,) of a part (F,) of a mesh that lie in no loose piece.

    A piece is loose below a fifth of the area of the largest one. The part is all by default.
    """
    large = np.ones(len(mesh.faces), dtype=np.bool_) if part is None else part.copy()
    pieces, areas = label_pieces(selected(mesh, large))
    large[large] = (areas >= _PIECE * areas[0])[pieces]
    return large


def outer_walls(mesh: TriangleMesh) -> TriangleMesh:
    """Return a body [m] without loose pieces, and without pieces within a larger piece.

    The wall of a medullary cavity lies within that of the bone, whatever its winding.
    """
    large = selected(mesh, large_pieces(mesh))
    return selected(large, ~enclosed(large))


def wall_distance(mesh: TriangleMesh, wall: TriangleMesh, opposite: NDArray[np.bool_]) -> float:
    """Return the median distance [m] from a wall of a mesh to the triangles `opposite` (F,).

    Infinite beyond 10 mm.
    """
    if not opposite.any():
        return float("inf")
    # Some triangles suffice for a median; a search beyond the limit of a shell would take long.
    sample = wall.centroids[:: -(-len(wall.faces) // _SOME)]
    tree = KDTree(mesh.centroids[opposite])
    return float(np.median(tree.query(sample, distance_upper_bound=2.0 * SHELL_THICKNESS)[0]))


def shell_thickness(mesh: TriangleMesh) -> float | None:
    """Return the mean thickness of a closed shell [m], its volume over half its area; else None."""
    if not is_closed(mesh):
        return None
    thickness = 2.0 * volume(mesh) / float(mesh.areas.sum())
    return thickness if 0.0 < thickness < SHELL_THICKNESS else None


def outer_wall_of_shell(
    mesh: TriangleMesh, normals: FloatArray, wall: NDArray[np.bool_], facing: FloatArray
) -> NDArray[np.bool_]:
    """Return the outer wall (F,) of a shell up to its rim; of a thick body the wall itself.

    The closed body has unit normals (F, 3) [1]; `wall` (F,) are the triangles that face the other
    body, and `facing` (F,) the components of the normals towards it [1].
    """
    inner = facing < -_CLEARLY
    if wall_distance(mesh, selected(mesh, wall), facing < -FACING) > SHELL_THICKNESS:
        return wall
    seeds = wall & (facing > _CLEARLY)
    if not (seeds.any() and inner.any()):
        return wall
    first, second, _ = neighbours(mesh.faces, len(mesh.vertices))
    cosines = np.einsum("ei,ei->e", normals[first], normals[second])
    # A zero would be no edge of the graph.
    turns = np.arccos(np.clip(cosines, -1.0, 1.0)) + 1e-6
    graph = coo_array((turns, (first, second)), shape=2 * (len(mesh.faces),)).tocsr()
    to_outer, to_inner = (
        dijkstra(graph, directed=False, indices=np.flatnonzero(sources), min_only=True)
        for sources in (seeds, inner)
    )
    return seeds | (~inner & (to_outer < _TURN) & (to_outer < _NEARER * to_inner))


def on_columns(mesh: TriangleMesh, wall: TriangleMesh) -> NDArray[np.bool_]:
    """Return which triangles (F,) of the outer wall of a tibia [m] stand on its inner wall.

    A spring is a column of cartilage between both walls, parallel as on a slope. At the rounded
    edge of a shell, the nearest point of the inner wall faces elsewhere, and behind the crest
    beside the notch, the triangles face away from the condyle: the line of a spring would run
    sideways through the condyle. All triangles stand on a thick body, and on an open surface.
    Raises `MeshError` if none stands on the inner wall.
    """
    normals = facing_normals(mesh)
    inner = normals[:, 1] < -FACING
    if wall_distance(mesh, wall, inner) > SHELL_THICKNESS:
        return np.ones(len(wall.faces), dtype=np.bool_)
    below = SurfaceTree(mesh.vertices[mesh.faces[inner]])
    _, nearest = below.nearest_points(wall.centroids, _NEAR)
    outward = facing_normals(wall)
    cosines = -np.einsum("fi,fi->f", outward, normals[inner][nearest])
    across = wall.vertices[:, 2]
    towards_notch = np.sign(0.5 * (across.min() + across.max()) - wall.centroids[:, 2])
    behind = towards_notch * outward[:, 2] > _BEHIND
    columns: NDArray[np.bool_] = (cosines > _COLUMN) & ~behind
    if not columns.any():
        raise MeshError(
            f"{mesh.name}: no triangle of the outer wall stands on the inner wall of this shell; "
            "expected two walls about parallel: check both in a mesh editor"
        )
    return columns


def without_risers(mesh: TriangleMesh) -> TriangleMesh:
    """Return a bearing surface [m] without risers of voxels and shards, which face elsewhere.

    A spring runs along the normal of its own triangle, and not of the surface it stands for.
    """
    cosines = np.einsum("fi,fi->f", averaged_normals(mesh), mesh.normals)
    return selected(mesh, large_pieces(mesh, cosines > _RISER))
