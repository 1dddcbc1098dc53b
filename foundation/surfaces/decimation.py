"""Decimation of huge meshes, with a measured largest deviation from the full surface.

Edges collapse in the order of the quadric error of Garland & Heckbert (1997, SIGGRAPH 97:209-216;
library fast-simplification). That error places vertices beside a curved surface, so that plane
facets balance on both sides; the patches of the contact model go through the vertices, which are
therefore moved onto the smooth patches of the full surface. The library bounds no distance: the
deviation of both surfaces is measured, and a mesh that deviates too far, or gets new faults, is
decimated again to more triangles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foundation.base.checks import FloatArray, IntArray, check_number
from foundation.base.wording import counted
from foundation.surfaces.mesh_topology import find_edges
from foundation.surfaces.smooth_surface import CREASE_ANGLE, angle_weighted_normals, arc_rises
from foundation.surfaces.tree import SurfaceTree
from foundation.surfaces.triangle_mesh import TriangleMesh, degenerate_triangles

#: Number of triangles beyond which a mesh counts as huge: contact becomes slower, not more exact.
HUGE = 300_000
#: Number of triangles of the first attempt.
FEWEST = 50_000
#: Aggressiveness of the library, in the order of the attempts: small values collapse the edges more
#: nearly in the order of their errors, but too few edges of a rough surface.
_AGGRESSIVENESS = (3.0, 5.0, 7.0)
#: Number of triangles over the target up to which an attempt is taken [1].
_CLOSE = 1.2
#: Lengths are in mm for the libraries, which compare squared lengths with fixed thresholds.
_MM = 1e3
#: Radius of curvature that the collapses see in planes [mm].
_BEND = 100.0
#: Number of pieces of the nearest centroids among which the nearest point of a surface is sought:
#: for all points, and for the points of the largest distances, a fraction of all points.
_NEAR, _NEARER, _WORST = 6, 64, 0.02
#: Number of points whose distance may already tell that a surface deviates too far.
_SOME = 20_000


@dataclass(frozen=True, eq=False)
class Decimation:
    """A decimated mesh, or the full one."""

    mesh: TriangleMesh
    #: Largest distance between both surfaces [m].
    deviation: float = 0.0
    #: Why the mesh is the full one; "" for a decimated mesh.
    failure: str = ""


def decimate(mesh: TriangleMesh, largest_deviation: float, *, fewest: int = FEWEST) -> Decimation:
    """Decimate a mesh to triangles that deviate at most `largest_deviation` [m] both ways."""
    # Always the same result, with the same boundary. `fewest` triangles are tried first, then at
    # least twice as many; the mesh itself is returned if half of its triangles are not enough, or
    # for a surface without new faults.
    check_number("largest_deviation", largest_deviation, above=0.0, unit="m")
    half, target = len(mesh.faces) // 2, fewest
    failure = f"fewer than {2 * fewest:,} triangles"
    if target > half:
        return Decimation(mesh, failure=failure)
    faults = _faults(mesh.vertices, mesh.faces)
    points = _MM * mesh.vertices
    bent = _bent(points)
    normals, bent_full = angle_weighted_normals(points, mesh.faces), SurfaceTree(bent[mesh.faces])
    while target <= half:
        collapsed, faces = _collapsed(bent, mesh.faces, target)
        vertices = _on_smooth_surface(bent_full, collapsed, points, mesh.faces, normals)
        reached, new_faults = f"{len(faces):,} triangles", _faults(vertices, faces) - faults
        more = 2
        if len(faces) > half:
            failure = f"edges collapse to {reached} only"
        elif new_faults > 0:
            faulty = counted(new_faults, "edge or triangle", "edges or triangles")
            failure = f"with {reached}, {faulty} would be faulty"
        else:
            largest = _MM * largest_deviation
            deviation = _deviation(mesh.faces, points, vertices, faces, largest) / _MM
            if deviation <= largest_deviation:
                return Decimation(TriangleMesh(vertices / _MM, faces, mesh.name), deviation)
            failure = f"{reached} deviate by {1e6 * deviation:.2g} um"
            # Of a smooth surface, the deviation falls with the number of triangles.
            more = 2 ** max(1, int(np.log2(deviation / largest_deviation)))
        target *= more
    return Decimation(mesh, failure=failure)


def coarse_copy(mesh: TriangleMesh, count: int) -> TriangleMesh:
    """Return a mesh [m] of about `count` triangles, for what a body shows as a whole.

    Unlike in `decimate`, the deviation is not measured. A mesh that has fewer triangles, or would
    get faults, is returned itself.
    """
    if len(mesh.faces) <= count:
        return mesh
    vertices, faces = _collapsed(_MM * mesh.vertices, mesh.faces, count, first=1)
    if _faults(vertices, faces) > _faults(_MM * mesh.vertices, mesh.faces):
        return mesh
    return TriangleMesh(vertices / _MM, faces, mesh.name)


def _collapsed(
    points: FloatArray, faces: IntArray, target: int, first: int = 0
) -> tuple[FloatArray, IntArray]:
    """Return vertices (W, 3) [mm] and triangles (G, 3) of a mesh decimated to about a number."""
    import fast_simplification

    for aggressiveness in _AGGRESSIVENESS[first:]:
        # The library takes writable arrays only.
        vertices, triangles = fast_simplification.simplify(
            points.copy(),
            faces.copy(),
            target_count=target,
            agg=aggressiveness,
            preserve_border=True,
        )
        if len(triangles) <= _CLOSE * target:
            break
    return vertices, triangles.astype(np.int64)


def _faults(vertices: FloatArray, faces: IntArray) -> int:
    """Return the number of faulty edges and triangles, which a decimation must not add to."""
    edges = find_edges(faces, len(vertices))
    wrong = (edges.count > 2) | ((edges.count == 2) & (edges.balance != 0))
    return int(wrong.sum() + degenerate_triangles(vertices, faces).sum())


def _deviation(
    full: IntArray, points: FloatArray, vertices: FloatArray, faces: IntArray, most: float
) -> float:
    """Return the largest distance between surfaces both ways [mm], never too small.

    From points (V, 3) of the triangles `full` (F, 3), and back; beyond `most` [mm], of some points.
    """
    coarse = SurfaceTree(vertices[faces])
    some = _largest_distance(coarse, points[:: -(-len(points) // _SOME)])
    if some > most:
        return some
    there = _largest_distance(coarse, points)
    return max(there, _largest_distance(SurfaceTree(points[full]), vertices[faces].mean(axis=1)))


def _largest_distance(surface: SurfaceTree, points: FloatArray) -> float:
    """Return the largest distance of points (N, 3) from a surface."""
    found = np.linalg.norm(surface.nearest_points(points, _NEAR)[0] - points, axis=1)
    order = np.argsort(found, kind="stable")
    first = int((1.0 - _WORST) * len(order))
    worst = points[order[first:]]
    largest = np.linalg.norm(surface.nearest_points(worst, _NEARER)[0] - worst, axis=1).max()
    return float(max(largest, found[order[:first]].max(initial=0.0)))


def _bent(points: FloatArray) -> FloatArray:
    """Return points (V, 3) [mm] of a smooth map that makes planes curved."""
    # Collapses within a plane cost nothing and leave slivers, whose estimated normals are wrong.
    away = points - points.mean(axis=0)
    squares = away**2
    bent: FloatArray = away + (squares.sum(axis=1, keepdims=True) - squares) / (2.0 * _BEND)
    return bent


def _on_smooth_surface(
    bent: SurfaceTree, near: FloatArray, points: FloatArray, faces: IntArray, normals: FloatArray
) -> FloatArray:
    """Return points (N, 3) of the smooth full surface from points (N, 3) near the bent one [mm]."""
    # The place on the facet, raised to the quadratic patch with angle-weighted normals; not beside
    # sharp edges.
    import trimesh

    feet, triangle = bent.nearest_points(near, _NEAR)
    weights = trimesh.triangles.points_to_barycentric(bent.corners[triangle], feet)
    corners, around = points[faces[triangle]], normals[faces[triangle]]
    facet = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    facet /= np.linalg.norm(facet, axis=1, keepdims=True)
    smooth = (around @ facet[:, :, None])[:, :, 0].min(axis=1) > np.cos(0.25 * CREASE_ANGLE)
    rise = arc_rises(corners, around, CREASE_ANGLE)
    pairs = 4.0 * weights * np.roll(weights, -1, axis=1) * smooth[:, None]
    return (weights[:, :, None] * corners + pairs[:, :, None] * rise).sum(axis=1)
