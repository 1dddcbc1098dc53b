"""Search structures of the femoral surface: neighbours, grid, bounding planes (docs/theory.md)."""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt
from scipy.spatial import KDTree

from foundation.base.checks import FloatArray, IntArray
from foundation.core.library import CONSTANTS, CORE, Record, address, addresses
from foundation.surfaces.mesh_topology import half_edges
from foundation.surfaces.smooth_surface import SmoothSurface
from foundation.surfaces.tree import BoxTree, build_tree
from foundation.surfaces.triangle_mesh import TriangleMesh

_FACETS_PER_LEAF = 4
#: Grid cells per facet, bounds of their number, and the margin around the femur as a fraction of
#: its size.
_CELLS_PER_FACET, _FEWEST_CELLS, _MOST_CELLS = 3, 60_000, 2_000_000
_MARGIN = 0.1
#: Distance from the surface up to which the nearest facet of a cell is exact [cells].
_EXACT = 2.0
#: Upper bound of the distance of a facet's points from its corners, middles and centroid, as a
#: fraction of its longest edge (a third for an equilateral triangle, less for slivers).
_COVERED = 0.35
#: Radius within which the bounding planes need be valid, in radii of the largest group of a bed.
PLANE_REACH = 3.5


def femur_patches(
    mesh: TriangleMesh, surface: SmoothSurface, *, curved: bool, reach: float, fade: float = 0.0
) -> Record:
    """Return a femoral surface [m] as the library reads it, planes valid within `reach` [m].

    The overlap of the nodes of a layer fades over the width `fade` [m] along the rim.
    """
    tree = _facet_tree(surface)
    order = tree.order
    control = np.ascontiguousarray(control_points(surface)[order])
    plane_of, points, normals = _planes(mesh, tree)
    low, cell, facet, distance, near = _grid(surface.corners[order], surface.middles[order])
    planes = np.concatenate([points, normals, np.zeros((len(points), 1))], axis=1)
    neighbour, rim = _neighbours(mesh, order), dict[str, Any]()
    if fade:
        first, edges = _rim(surface.corners[order], surface.middles[order], neighbour, fade)
        rim = {"normals": surface.normals[order], "rim_first": first, "rim": edges, "fade": fade}
    femur = Record(
        "femur",
        **searched_patches(surface, tree, curved=curved),
        **rim,
        neighbour=neighbour,
        planes=planes,
        plane_reach=reach,
        grid_low=low,
        grid_cell=cell,
        cells=np.array(facet.shape),
        grid_facet=facet,
        grid_distance=distance,
        grid_plane=plane_of[facet],
        grid_brick=np.where(near, np.cumsum(near).reshape(near.shape) - 1, -1),
        bricks=np.zeros((max(near.sum(), 1), *(3 * (int(CONSTANTS["PARTS"]),))), np.intc),
    )
    rise = np.zeros(len(points))
    CORE.largest_protrusions(
        femur.address, address(control), len(points), address(points), address(normals), reach,
        address(rise),
    )  # fmt: skip
    planes[:, 6] = rise
    CORE.fill_bricks(femur.address, address(femur.bricks))
    return femur


def searched_patches(surface: SmoothSurface, tree: BoxTree, *, curved: bool) -> dict[str, Any]:
    """Return the fields of the struct `femur` that the search of an exit by the tree needs."""
    return {
        "curved": curved, "facets": len(tree.order), "patch": polynomial(surface)[tree.order],
        "boxes": len(tree.next), "low": tree.low, "high": tree.high, "next": tree.next,
        "first": tree.first, "count": tree.count,
    }  # fmt: skip


def facet_order(surface: SmoothSurface) -> IntArray:
    """Return the triangle of each facet of `femur_patches`, (F,)."""
    return _facet_tree(surface).order


def _facet_tree(surface: SmoothSurface) -> BoxTree:
    control = control_points(surface)
    return build_tree(control.min(axis=1), control.max(axis=1), _FACETS_PER_LEAF)


def polynomial(surface: SmoothSurface) -> FloatArray:
    """Return the coefficients of 1, u, v, u², uv, v² of each patch, (F, 6, 3) [m]."""
    c0, c1, c2 = np.moveaxis(surface.corners, 1, 0)
    m0, m1, m2 = np.moveaxis(surface.middles, 1, 0)
    return np.stack(
        [
            c0,
            4.0 * m0 - 3.0 * c0 - c1,
            4.0 * m2 - 3.0 * c0 - c2,
            2.0 * (c0 + c1) - 4.0 * m0,
            4.0 * (c0 + m1 - m0 - m2),
            2.0 * (c0 + c2) - 4.0 * m2,
        ],
        axis=1,
    )


def control_points(surface: SmoothSurface) -> FloatArray:
    """Return the Bezier points of each patch, (F, 6, 3) [m]; their hull contains the patch."""
    ends = surface.corners + np.roll(surface.corners, -1, axis=1)
    return np.concatenate([surface.corners, 2.0 * surface.middles - 0.5 * ends], axis=1)


def _neighbours(mesh: TriangleMesh, order: IntArray) -> NDArray[np.int32]:
    """Return the facet across each edge (c0 c1, c1 c2, c2 c0), -1 at a boundary, (F, 3)."""
    _, _, key = half_edges(mesh.faces[order], len(mesh.vertices))
    by_key = np.argsort(key, kind="stable")
    same = key[by_key][1:] == key[by_key][:-1]
    across = np.full(len(key), -1)
    across[by_key[:-1][same]] = by_key[1:][same] // 3
    across[by_key[1:][same]] = by_key[:-1][same] // 3
    return across.reshape(-1, 3).astype(np.int32)


def _rim(
    corners: FloatArray, middles: FloatArray, neighbour: NDArray[np.int32], width: float
) -> tuple[IntArray, FloatArray]:
    """Return first edge of the rim (F + 1,), and ends (E, 2, 3) [m], within a width of facets."""
    facet, edge = np.nonzero(neighbour < 0)
    first, second = corners[facet, edge], corners[facet, (edge + 1) % 3]
    # Edges of patches are curved: two straight parts each.
    middle = middles[facet, edge]
    ends = np.concatenate([np.stack(part, axis=1) for part in ((first, middle), (middle, second))])
    centre, midpoints = corners.mean(axis=1), ends.mean(axis=1)
    half = 0.5 * np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    # Patches bulge over their edges by less than half of their radius.
    radius = 1.5 * np.linalg.norm(corners - centre[:, None], axis=2).max(axis=1)
    tree = KDTree(midpoints) if len(midpoints) else None
    reach = width + radius + half.max(initial=0.0)
    near = tree.query_ball_point(centre, reach) if tree else [[] for _ in centre]
    count = np.array([len(edges) for edges in near])
    edges_near = np.fromiter(chain.from_iterable(near), np.int64, count.sum())
    return np.concatenate([[0], np.cumsum(count)]), ends[edges_near]


def _planes(mesh: TriangleMesh, tree: BoxTree) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the plane index of each facet, and point and normal of the plane of each leaf."""
    leaves = np.flatnonzero(tree.count)
    plane_of = np.repeat(np.arange(len(leaves)), tree.count[leaves])
    centroids, vectors = mesh.centroids[tree.order], mesh.area_vectors[tree.order]
    points = np.add.reduceat(centroids, tree.first[leaves]) / tree.count[leaves, None]
    normals = np.add.reduceat(vectors, tree.first[leaves])
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    # Area vectors of facets back to back cancel; any unit vector gives a bounding plane.
    unit = np.where(length > 0.0, normals / np.where(length > 0.0, length, 1.0), (0.0, -1.0, 0.0))
    return plane_of, points, unit


def _grid(
    corners: FloatArray, middles: FloatArray
) -> tuple[FloatArray, float, IntArray, FloatArray, NDArray[np.bool_]]:
    """Return the grid's origin and cell width; each cell's near facet, bound, whether close."""
    samples = np.concatenate([corners, middles, middles.mean(axis=1, keepdims=True)], axis=1)
    low, high = samples.min(axis=(0, 1)), samples.max(axis=(0, 1))
    margin = _MARGIN * float((high - low).max())
    low, size = low - margin, high - low + 2.0 * margin
    cells = np.clip(_CELLS_PER_FACET * len(corners), _FEWEST_CELLS, _MOST_CELLS)
    cell = float((size.prod() / cells) ** (1.0 / 3.0))
    counts = np.ceil(size / cell).astype(np.int64)
    points = samples.reshape(-1, 3)
    distance, nearest = _nearest(points, low, cell, counts)
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max()
    bound = np.maximum(distance - 0.5 * np.sqrt(3.0) * cell - _COVERED * longest, 0.0)
    return low, cell, nearest // samples.shape[1], bound, np.less(distance, cell)


def _nearest(
    points: FloatArray, low: FloatArray, cell: float, counts: IntArray
) -> tuple[FloatArray, IntArray]:
    """Return each cell's distance [m] to its nearest point, far away a bound, and the index."""
    # A tree answers for a centre far away many times slower than for one nearby.
    cell_of_point = np.floor((points - low) / cell).astype(np.int64)
    point_in_cell = np.full(tuple(counts), -1)
    point_in_cell[tuple(cell_of_point.T)] = np.arange(len(points))
    steps, occupied = distance_transform_edt(point_in_cell < 0, return_indices=True)
    distance, nearest = cell * (steps - 0.5 * np.sqrt(3.0)), point_in_cell[tuple(occupied)]
    close = steps <= _EXACT
    centres = low + cell * (np.argwhere(close) + 0.5)
    tree = KDTree(points, compact_nodes=False, balanced_tree=False)
    distance[close], nearest[close] = tree.query(centres)
    return distance, nearest


_LINE_LEAF = 4


class LineHits(NamedTuple):
    """Where lines (N,) leave a surface, at distances [m] from their starts."""

    #: Distances (N,) [m]; without an exit, the reach of the search.
    distance: FloatArray
    #: Triangle through which each line leaves, -1 for none.
    facet: IntArray
    #: Barycentric coordinates (N, 3) on the triangle [1].
    weights: FloatArray


class LineTracer:
    """Search of exits through a surface; `curved` is False for plane facets."""

    def __init__(self, surface: SmoothSurface, *, curved: bool) -> None:
        control = control_points(surface)
        tree = build_tree(control.min(axis=1), control.max(axis=1), _LINE_LEAF)
        self._order = tree.order
        self._patches = Record("femur", **searched_patches(surface, tree, curved=curved))

    def exits(self, starts: FloatArray, directions: FloatArray, reach: float) -> LineHits:
        """Return first exits, along the outward normal, from starts (N, 3) within `reach` [m]."""
        count = len(starts)
        distance, facet, place = np.empty(count), np.empty(count, np.intc), np.empty((count, 2))
        lines = (np.ascontiguousarray(starts), np.ascontiguousarray(directions))
        CORE.line_exits(
            self._patches.address, reach, count, *addresses(*lines, distance, facet, place)
        )
        weights = np.column_stack([1.0 - place.sum(axis=1), place])
        return LineHits(distance, np.where(facet >= 0, self._order[facet], -1), weights)
