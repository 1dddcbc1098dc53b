"""Repair of the triangles of an articular surface, within a stated tolerance.

A mesh without faults stays as it is, and so do walls of cavities. trimesh and VTK offer similar
repairs, but merge all close corners, also those of slivers and slits, or fill the rim of an open
surface as a hole. Here a seam is a pair of open edges whose ends coincide within a tolerance, as
rounding leaves them: neither slits, whose sides are farther apart, nor slivers close.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from foundation.base.checks import FloatArray, IntArray, check_in, check_number
from foundation.base.wording import counted
from foundation.surfaces.hole_filling import fill_small_holes
from foundation.surfaces.mesh_checks import BODIES, outer_side
from foundation.surfaces.mesh_topology import (
    connected_groups,
    find_edges,
    is_repeated,
    label_pieces,
    neighbours,
)
from foundation.surfaces.spikes import level_spikes
from foundation.surfaces.surface_shape import (
    BODY,
    enclosed,
    inverted_shells,
    is_closed,
    joined,
    opposed_pieces,
    selected,
)
from foundation.surfaces.triangle_mesh import TriangleMesh, compacted, degenerate_triangles

#: Largest tolerance over the length of a short edge, and the quantile of the edges that is short.
_OF_EDGE, _SHORT = 0.2, 0.05


class Welded(NamedTuple):
    """A mesh of vertices (V, 3) [m] and triangles (F, 3) with welded seams."""

    #: Positions (V, 3) [m]; those of welded corners are their mean.
    vertices: FloatArray
    #: Triangles (F, 3) in their order, with welded corners as one vertex.
    faces: IntArray
    #: Number of open edges that were closed.
    closed: int
    #: Largest distance by which a corner moved [m].
    moved: float
    #: Tolerance that the mesh allows [m].
    tolerance: float


def weld_seams(points: FloatArray, faces: IntArray, largest: float) -> Welded:
    """Weld the seams of triangles (F, 3) over points (V, 3) [m], within a fifth of a short edge."""
    tolerance = tolerance_of(points, faces, largest)
    edges = find_edges(faces, len(points))
    ends = edges.ends[edges.count == 1]
    place, target = _places(points, ends, tolerance), np.arange(len(points))
    closing = _uses(place[ends], len(points)) > 1
    if not closing.any():
        return Welded(points, faces, 0, 0.0, tolerance)
    welded = compacted(ends[closing], len(points))[0]
    target[welded] = place[welded]
    count = np.bincount(target, minlength=len(points))
    sums = np.stack([np.bincount(target, weights=p, minlength=len(points)) for p in points.T], 1)
    vertices, merged = points.copy(), np.flatnonzero(count > 1)
    vertices[merged] = sums[merged] / count[merged, None]
    moved = float(np.linalg.norm(vertices[target[welded]] - points[welded], axis=1).max())
    return Welded(vertices, target[faces], int(closing.sum()), moved, tolerance)


def tolerance_of(points: FloatArray, faces: IntArray, largest: float) -> float:
    """Return the tolerance [m] of triangles (F, 3) over points (V, 3) [m], as of `weld_seams`."""
    corners = points[faces]
    lengths = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    return min(largest, _OF_EDGE * float(np.quantile(lengths, _SHORT)))


def repeated_nearly(points: FloatArray, faces: IntArray, largest: float) -> NDArray[np.bool_]:
    """Return which triangles (F,) repeat an earlier one within `largest` [m]: rims, no seams."""
    tolerance = tolerance_of(points, faces, largest)
    # Few meshes have copies: the middles of the triangles tell in little time.
    if len(KDTree(points[faces].mean(axis=1)).query_pairs(tolerance, output_type="ndarray")) == 0:
        return np.zeros(len(faces), dtype=np.bool_)
    ends = find_edges(faces, len(points)).ends
    return is_repeated(_places(points, ends, tolerance)[faces])


def _uses(ends: IntArray, size: int) -> IntArray:
    """Return how many edges (E, 2) have the same ends, (E,); 0 for an edge that is a point."""
    key = np.minimum(*ends.T) * size + np.maximum(*ends.T)
    _, inverse, uses = np.unique(key, return_inverse=True, return_counts=True)
    return np.where(ends[:, 0] == ends[:, 1], 0, uses[inverse])


def _places(points: FloatArray, ends: IntArray, tolerance: float) -> IntArray:
    """Return the first of edge ends (E, 2) at a place, (V,); ends of one edge are two places."""
    place = np.arange(len(points))
    rim = compacted(ends, len(points))[0]
    if len(rim) == 0:
        return place
    pairs = rim[KDTree(points[rim]).query_pairs(tolerance, output_type="ndarray")]
    size, lengths = len(points), np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)
    short = ends[lengths <= tolerance]
    # Both have the smaller vertex first.
    apart = ~np.isin(pairs @ [size, 1], short @ [size, 1])
    group = connected_groups(pairs[apart], size)
    first = np.full(group.max() + 1, size)
    np.minimum.at(first, group[rim], rim)
    place[rim] = first[group[rim]]
    return place


#: A piece below this part of the area of the largest piece is stray, if all stray pieces are at
#: most the second and the two largest pieces at least the third part of the area; otherwise the
#: mesh is itself crumbled.
_STRAY, _OF_ALL, _WHOLE = 0.02, 0.05, 0.6
#: Pieces of a soup over its triangles.
_SOUP = 0.5


class Repaired(NamedTuple):
    """A repaired mesh [m], the same object if nothing was repaired, and a clause a repair."""

    mesh: TriangleMesh
    repairs: tuple[str, ...] = ()


def repaired(mesh: TriangleMesh, tolerance: float, body: str) -> Repaired:
    """Return a mesh with consistent, connected triangles, and what was repaired.

    In this order: repeated triangles and copies of the surface are removed, seams welded,
    triangles removed that lose their area or are repeated by this,
    stray pieces dropped, the winding of neighbours made consistent, closed pieces and one of two
    condyles or plateaus turned that are inside out, small holes filled
    (`foundation.surfaces.hole_filling`), and spikes levelled (`foundation.surfaces.spikes`). The
    result is the same in every call; normals given with the mesh are dropped if a vertex moves
    or a triangle turns.

    Parameters
    ----------
    mesh : TriangleMesh
        Surface [m], in any position.
    tolerance : float
        Largest distance between two corners that are welded [m]; 0 for no repair at all.
    body : {"femur", "tibia"}
        Body of the surface.
    """
    check_number("tolerance", tolerance, at_least=0.0, unit="m")
    check_in("body", body, BODIES)
    if tolerance == 0.0:
        return Repaired(mesh)
    repairs: list[str] = []
    for step in _STEPS:
        changed, text = step(mesh, tolerance, body)
        if text:
            mesh, repairs = changed, [*repairs, text]
    return Repaired(mesh, tuple(repairs))


_Step = tuple[TriangleMesh, str]


def _turned(mesh: TriangleMesh, inverted: NDArray[np.bool_]) -> TriangleMesh:
    """Return a mesh with the winding of some triangles (F,) reversed."""
    faces = np.where(inverted[:, None], mesh.faces[:, ::-1], mesh.faces)
    return TriangleMesh(mesh.vertices, faces, mesh.name)


def _welded(mesh: TriangleMesh, tolerance: float, body: str) -> _Step:
    del body
    welded = weld_seams(mesh.vertices, mesh.faces, tolerance)
    if welded.closed == 0:
        return mesh, ""
    lost = degenerate_triangles(welded.vertices, welded.faces)
    text = (
        f"{counted(welded.closed, 'open edge')} closed by welding: corners moved by at "
        f"most {1e6 * welded.moved:.2g} um (tolerance {1e6 * welded.tolerance:.2g} um)"
    )
    if lost.any():
        text += f", which left {counted(int(lost.sum()), 'triangle')} without area: removed"
    used, faces = compacted(welded.faces[~lost], len(welded.vertices))
    return TriangleMesh(welded.vertices[used], faces, mesh.name), text


def _without_copies(mesh: TriangleMesh, tolerance: float, body: str) -> _Step:
    del body
    # In a soup of triangles, welding makes copies equal.
    if not 1 < len(label_pieces(mesh)[1]) < _SOUP * len(mesh.faces):
        return mesh, ""
    repeated = repeated_nearly(mesh.vertices, mesh.faces, tolerance)
    if not repeated.any():
        return mesh, ""
    used = tolerance_of(mesh.vertices, mesh.faces, tolerance)
    return selected(mesh, ~repeated), (
        f"{counted(int(repeated.sum()), 'triangle')} removed that repeat others within "
        f"{1e6 * used:.2g} um"
    )


def _without_repeated(mesh: TriangleMesh, tolerance: float, body: str) -> _Step:
    del tolerance, body
    repeated = is_repeated(mesh.faces)
    if not repeated.any():
        return mesh, ""
    return selected(mesh, ~repeated), (
        f"{counted(int(repeated.sum()), 'duplicate triangle')} removed"
    )


def _without_stray(mesh: TriangleMesh, tolerance: float, body: str) -> _Step:
    del tolerance, body
    labels, areas = label_pieces(mesh)
    stray, total = areas < _STRAY * areas[0], areas.sum()
    crumbled = areas[stray].sum() > _OF_ALL * total or areas[:2].sum() < _WHOLE * total
    if not stray.any() or crumbled:
        return mesh, ""
    dropped = stray[labels]
    remaining = selected(mesh, ~dropped)
    lost = mesh.vertices[np.unique(mesh.faces[dropped])]
    away = np.asarray(KDTree(remaining.vertices).query(lost)[0])
    distances = dict.fromkeys(f"{1e3 * distance:.2g}" for distance in (away.min(), away.max()))
    x, y, z = 1e3 * np.average(mesh.centroids[dropped], axis=0, weights=mesh.areas[dropped])
    text = (
        f"{counted(int(dropped.sum()), 'stray triangle')} in "
        f"{counted(int(stray.sum()), 'loose piece')} dropped, {' to '.join(distances)} mm off the "
        f"surface, about ({x:.0f}, {y:.0f}, {z:.0f}) mm"
    )
    return remaining, text


def _wound_alike(mesh: TriangleMesh, tolerance: float, body: str) -> _Step:
    del tolerance
    inverted = _against_majority(mesh)
    if not inverted.any():
        return mesh, ""
    changed = _turned(mesh, inverted)
    # The majority of a piece may be wrong: its shape decides.
    outer = ~enclosed(changed, BODY)
    if outer_side(selected(changed, outer), body) < 0:
        inverted = np.where(outer, ~inverted, inverted)
        changed = _turned(mesh, inverted)
    turned = counted(int(inverted.sum()), "triangle")
    return changed, f"{turned} turned, whose winding disagreed with that of the neighbours"


def _against_majority(mesh: TriangleMesh) -> NDArray[np.bool_]:
    """Return which triangles (F,) are wound against most of their piece by area."""
    # Each triangle is two nodes, as it is and turned, linked to neighbours that agree: a piece with
    # two sides falls into two parts.
    count = len(mesh.faces)
    first, second, agree = neighbours(mesh.faces, len(mesh.vertices))
    if agree.all():
        return np.zeros(count, dtype=np.bool_)
    other = np.where(agree, second, second + count)
    links = np.concatenate(
        [np.stack([first, other], 1), np.stack([first + count, (other + count) % (2 * count)], 1)]
    )
    groups = connected_groups(links, 2 * count)
    as_is, turned = groups[:count], groups[count:]
    area = np.bincount(as_is, weights=mesh.areas, minlength=groups.max() + 1)
    # Equal parts have one side only, such as a Moebius strip. A tie keeps the lower number.
    worse = (area[as_is] < area[turned]) | ((area[as_is] == area[turned]) & (as_is > turned))
    return worse & (as_is != turned)


def _closed_outwards(mesh: TriangleMesh, tolerance: float, body: str) -> _Step:
    del tolerance, body
    inverted = inverted_shells(mesh)
    if not inverted.any():
        return mesh, ""
    outer = ~enclosed(mesh, BODY)
    if inverted[outer].all() or label_pieces(selected(mesh, outer))[1].size != 2:
        pieces = "closed surface was" if inverted[outer].all() else "closed pieces were"
        triangles = counted(int(inverted.sum()), "triangle")
        return _turned(mesh, inverted), f"the {pieces} inside out: {triangles} turned"
    return _turned(mesh, inverted), _turned_piece(mesh, inverted)


def _facing_alike(mesh: TriangleMesh, tolerance: float, body: str) -> _Step:
    del tolerance
    pair = opposed_pieces(mesh)
    if pair is None:
        return mesh, ""
    side = outer_side(_turned(mesh, pair[0]), body)
    if side == 0:
        return mesh, ""
    inverted = pair[0] if side > 0 else pair[1]
    return _turned(mesh, inverted), _turned_piece(mesh, inverted)


def _turned_piece(mesh: TriangleMesh, inverted: NDArray[np.bool_]) -> str:
    """Return which of two pieces side by side was turned, (F,)."""
    x, y, z = 1e3 * np.average(mesh.centroids[inverted], axis=0, weights=mesh.areas[inverted])
    return (
        f"the piece about ({x:.0f}, {y:.0f}, {z:.0f}) mm was inside out: its "
        f"{counted(int(inverted.sum()), 'triangle')} turned, those of the other piece kept"
    )


def _filled(mesh: TriangleMesh, tolerance: float, body: str) -> _Step:
    del tolerance, body
    if is_closed(mesh):
        return mesh, ""
    inner = enclosed(mesh, BODY)
    outer = selected(mesh, ~inner)
    filled = fill_small_holes(outer)
    if filled.holes == 0:
        return mesh, ""
    added = counted(len(filled.mesh.faces) - len(outer.faces), "triangle")
    x, y, z = 1e3 * filled.centre
    whole = joined([filled.mesh, selected(mesh, inner)]) if inner.any() else filled.mesh
    return whole, (
        f"{counted(filled.holes, 'hole')} filled with {added}, the largest "
        f"{1e3 * filled.across:.2g} mm across, about ({x:.0f}, {y:.0f}, {z:.0f}) mm"
    )


def _levelled(mesh: TriangleMesh, tolerance: float, body: str) -> _Step:
    del tolerance, body
    result = level_spikes(mesh)
    if result.spikes == 0:
        return mesh, ""
    x, y, z = 1e3 * result.place
    return result.mesh, (
        f"{counted(result.spikes, 'spike')} levelled, the largest {1e3 * result.height:.2g} mm off "
        f"the surface around, at ({x:.1f}, {y:.1f}, {z:.1f}) mm"
    )


_STEPS = (
    _without_repeated,
    _without_copies,
    _welded,
    _without_repeated,
    _without_stray,
    _wound_alike,
    _closed_outwards,
    _facing_alike,
    _filled,
    _levelled,
)
