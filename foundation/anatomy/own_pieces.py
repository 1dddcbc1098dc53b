"""Pieces of a file that are the body: further bodies and inner sheets are left out.

A segmented scan may have the patella or the fibula in the file of a body, the other knee, or the
surface of the bone below that of the cartilage. A body is the piece, or the pair of pieces side by
side, that has two condyles or two plateaus; of two surfaces over one another it is the outer one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from foundation.anatomy.bearing_search import FINDERS, FULL, fullness
from foundation.anatomy.femoral_frame import femoral_frame
from foundation.anatomy.tibial_frame import tibial_frame
from foundation.base.checks import FloatArray
from foundation.base.wording import counted
from foundation.surfaces.mesh_topology import label_pieces
from foundation.surfaces.surface_shape import (
    is_closed,
    is_nearly_closed,
    joined,
    principal_axes,
    selected,
)
from foundation.surfaces.tree import SurfaceTree
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh

#: A piece below this part of the area of the largest one is none of its own, and largest number of
#: pieces; a mesh of more is crumbled.
_PIECE, _MOST = 0.02, 12
#: Least and largest width of a body [m], and least width over length of a femur (measured: one
#: condyle 0.4 to 0.6, both 0.96 to 1.6).
_WIDTHS, _TWO_CONDYLES = (50e-3, 120e-3), 0.75
#: Least area of one of two plateaus or condyles over that of the other, least cosine between their
#: axes, largest and least cosine of the line through their middles to the axis of a plateau and of
#: a condyle; largest overlap and gap along that line over the larger of their widths, and largest
#: height over length of a plateau.
_PARTNERS, _PARALLEL, _ACROSS, _ALONG, _OVERLAP, _GAP, _FLAT = 0.35, 0.85, 0.4, 0.75, 0.2, 0.8, 0.6
#: Least area of a body over that of the largest one.
_RIVAL = 0.5
#: Two surfaces lie over one another up to this distance [m] if they do so by this part of both
#: areas; least part of that area in which the same one is the outer one.
_SHEETS, _COVERED, _OUTER = 6e-3, 0.5, 0.8
#: A further piece belongs to the body within this distance [m], if no more than this part of its
#: area faces the body; a piece of a tibia lies no farther than this from the plane of the plateaus
#: [m]. Least thickness of a solid [m].
_NEAR, _FACING, _LEVEL, _THICK = 5e-3, 0.1, 15e-3, 8e-3
#: Least cosine of the line to the nearest point of a surface to its normal over the surface, and of
#: the normals of surfaces that face each other or the same way; and number of pieces of triangles
#: among which the nearest point is sought.
_UPRIGHT, _FACES, _CLOSE = 0.7, 0.5, 8
#: Triangles that stand for a surface, and points that stand for a piece within another one.
_SOME, _INSIDE = 4000, 9


class OwnPieces(NamedTuple):
    """The pieces of a mesh that are the body, and clauses about those that are left out."""

    mesh: TriangleMesh
    left_out: tuple[str, ...] = ()


class _Body(NamedTuple):
    """Numbers of the pieces that may be a body, and its bearing surface."""

    pieces: tuple[int, ...]
    bearing: TriangleMesh


def own_pieces(mesh: TriangleMesh, body: str, near: FloatArray | None = None) -> OwnPieces:
    """Return the pieces of a mesh [m] that are a "femur" or a "tibia", in any position.

    Of several whole bodies, such as both knees, the one closest to the point `near` (3,) [m] is
    taken, by default the largest one. Without a whole body all pieces are kept. Raises `MeshError`
    if two sheets cross each other, so that none is the outer one.
    """
    labels, areas = label_pieces(mesh)
    count = int((areas >= _PIECE * areas[0]).sum())
    if count == 1 or count > _MOST:
        return OwnPieces(mesh)
    parts = [selected(mesh, labels == piece) for piece in range(count)]
    hosts = [_host(parts, piece) for piece in range(count)]
    candidates = [piece for piece in range(count) if hosts[piece] is None]
    reasons: dict[int, str] = {}
    for piece, below in _inner_sheets({k: parts[k] for k in candidates if not is_closed(parts[k])}):
        reasons[piece] = _below(parts[piece], below)
    candidates = [piece for piece in candidates if piece not in reasons]
    chosen = _chosen(_bodies(parts, candidates, body), near) if len(candidates) > 1 else None
    if chosen is not None:
        body_mesh = selected(mesh, np.isin(labels, chosen.pieces))
        for piece in sorted(set(candidates) - set(chosen.pieces)):
            depth = _depth(chosen.bearing, parts[piece])
            if depth is not None and depth > 0.0:
                reasons[piece] = _below(parts[piece], depth)
            elif depth is not None or not _belongs(parts[piece], body_mesh, body):
                reasons[piece] = _further(parts[piece], body_mesh)
    if not reasons:
        return OwnPieces(mesh)
    dropped = [k for k in range(count) if k in reasons or hosts[k] in reasons]
    return OwnPieces(selected(mesh, ~np.isin(labels, dropped)), tuple(reasons.values()))


def _host(parts: list[TriangleMesh], piece: int) -> int | None:
    """Return the closed or nearly closed piece within which a piece lies, such as a cavity."""
    sample = parts[piece].vertices[:: -(-len(parts[piece].vertices) // _INSIDE)]
    for host, other in enumerate(parts[:piece]):
        if is_nearly_closed(other) and (
            np.median([abs(_turns_around(other, point)) for point in sample]) > 0.5
        ):
            return host
    return None


def _turns_around(mesh: TriangleMesh, point: FloatArray) -> float:
    """Return how often a surface goes around a point (3,) [m]: its solid angle over 4 pi."""
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces] - point, 1, 0)
    lengths = [np.linalg.norm(corner, axis=1) for corner in (a, b, c)]
    volume = np.einsum("fi,fi->f", a, np.cross(b, c))
    denominator = lengths[0] * lengths[1] * lengths[2]
    for first, second, length in ((a, b, lengths[2]), (b, c, lengths[0]), (c, a, lengths[1])):
        denominator = denominator + np.einsum("fi,fi->f", first, second) * length
    return float(np.arctan2(volume, denominator).sum() / (2.0 * np.pi))


def _inner_sheets(sheets: dict[int, TriangleMesh]) -> Iterator[tuple[int, float]]:
    """Yield the open pieces that lie below another one, with their depth [m]."""
    dropped: set[int] = set()
    for first, second in combinations(sheets, 2):
        if dropped & {first, second}:
            continue
        depth = _depth(sheets[first], sheets[second])
        if depth is not None:
            inner = second if depth > 0.0 else first
            dropped.add(inner)
            yield inner, abs(depth)


def _depth(first: TriangleMesh, second: TriangleMesh) -> float | None:
    """Return how deep a surface lies below another one [m], negative above; None if beside.

    Raises `MeshError` if the surfaces cross each other.
    """
    over = _places(first, second)
    under = _places(second, first)
    sheets = [
        places.overlapping & places.alike & (np.abs(places.height) < _SHEETS)
        for places in (over, under)
    ]
    if any(
        places.areas[sheet].sum() < _COVERED * places.areas.sum()
        for places, sheet in zip((over, under), sheets, strict=True)
    ):
        return None
    height, areas = over.height[sheets[0]], over.areas[sheets[0]]
    above = float(areas[height > 0.0].sum() / areas.sum())
    depth = float(np.average(height, weights=areas))
    if 1.0 - _OUTER < above < _OUTER:
        x, y, z = 1e3 * first.centroid
        raise MeshError(
            f"{first.name}: two sheets of {len(first.faces):,} and {len(second.faces):,} triangles "
            f"about ({x:.0f}, {y:.0f}, {z:.0f}) mm lie over one another, at most "
            f"{1e3 * np.abs(height).max():.2g} mm apart, and cross each other, so that none is the "
            "outer one; expected one surface: delete one of the sheets in a mesh editor"
        )
    return depth


class _Places(NamedTuple):
    """Where triangles lie over another surface."""

    #: Height (N,) over the nearest triangle of the other surface [m].
    height: FloatArray
    #: Whether the triangle lies over the other surface and not beside it, (N,).
    overlapping: NDArray[np.bool_]
    #: Whether the normal agrees with that of the nearest triangle, (N,).
    alike: NDArray[np.bool_]
    #: Whether both triangles face each other, (N,).
    opposed: NDArray[np.bool_]
    #: Areas (N,) [m²].
    areas: FloatArray


def _places(mesh: TriangleMesh, other: TriangleMesh) -> _Places:
    """Return where some triangles of a mesh lie over another surface [m]."""
    sample = slice(None, None, -(-len(mesh.faces) // _SOME))
    tree = SurfaceTree(other.vertices[other.faces])
    foot, nearest = tree.nearest_points(mesh.centroids[sample], _CLOSE)
    away, normals = mesh.centroids[sample] - foot, other.normals[nearest]
    height = np.einsum("fi,fi->f", away, normals)
    # Beside the other surface, the nearest point is one of its rim.
    overlapping = np.abs(height) > _UPRIGHT * np.linalg.norm(away, axis=1)
    cosines = np.einsum("fi,fi->f", mesh.normals[sample], normals)
    towards = np.einsum("fi,fi->f", away, mesh.normals[sample]) < 0.0
    opposed = overlapping & (cosines < -_FACES) & (height > 0.0) & towards
    return _Places(height, overlapping, cosines > _FACES, opposed, mesh.areas[sample])


def _bodies(parts: list[TriangleMesh], pieces: list[int], body: str) -> list[_Body]:
    """Return the pieces and pairs of pieces that have the bearing surface of a body."""
    partners = _plateaus if body == "tibia" else _condyles
    pairs = [pair for pair in combinations(pieces, 2) if partners(*(parts[k] for k in pair))]
    if len(pairs) == 1 and len(pieces) == 2:
        return []
    paired = {piece for pair in pairs for piece in pair}
    singles = [(piece,) for piece in pieces if piece not in paired]
    bodies = []
    for group in (*pairs, *singles):
        bearing = _bearing(joined([parts[k] for k in group]), body)
        if bearing is not None:
            bodies.append(_Body(group, bearing))
    return bodies


def _chosen(bodies: list[_Body], near: FloatArray | None) -> _Body | None:
    """Return one of several whole bodies: the outer one, that next to a point, or the largest."""
    if not bodies:
        return None
    areas = [float(body.bearing.areas.sum()) for body in bodies]
    rivals = [body for body, area in zip(bodies, areas, strict=True) if area > _RIVAL * max(areas)]
    best = max(rivals, key=lambda body: float(body.bearing.areas.sum()))
    if near is not None:
        best = min(rivals, key=lambda body: float(np.linalg.norm(body.bearing.centroid - near)))
    for other in rivals:
        depth = _depth(best.bearing, other.bearing) if other is not best else None
        if depth is not None and depth < 0.0:
            best = other
    return best


def _bearing(mesh: TriangleMesh, body: str) -> TriangleMesh | None:
    """Return the bearing surface of a mesh that is a whole body by itself, else None."""
    try:
        bearing = FINDERS[body](mesh, None)
        frame = bearing.frame or (femoral_frame if body == "femur" else tibial_frame)(bearing.mesh)
    except MeshError:
        return None
    length, _, width = np.ptp(frame.of(bearing.mesh.vertices), axis=0)
    narrow = body == "femur" and width < _TWO_CONDYLES * length
    return bearing.mesh if _WIDTHS[0] < width < _WIDTHS[1] and not narrow else None


def _plateaus(first: TriangleMesh, second: TriangleMesh) -> bool:
    """Return whether two pieces are flat, level and beside each other."""
    axes, sizes = zip(*(principal_axes(piece) for piece in (first, second)), strict=True)
    flat = all(size[0] < _FLAT * size[1] for size in sizes)
    across, gap = _apart(first, second)
    normal = axes[0][0] + np.sign(axes[0][0] @ axes[1][0]) * axes[1][0]
    level = abs(across @ normal) < _ACROSS * np.linalg.norm(normal)
    return flat and level and gap and abs(float(axes[0][0] @ axes[1][0])) > _PARALLEL


def _condyles(first: TriangleMesh, second: TriangleMesh) -> bool:
    """Return whether two pieces roll about one axis, and lie beside each other along it."""
    axes = [np.linalg.eigh((m.normals.T * m.areas) @ m.normals)[1][:, 0] for m in (first, second)]
    across, gap = _apart(first, second)
    along = all(abs(float(axis @ across)) > _ALONG for axis in axes)
    return along and gap and abs(float(axes[0] @ axes[1])) > _PARALLEL


def _apart(first: TriangleMesh, second: TriangleMesh) -> tuple[FloatArray, bool]:
    """Return the direction (3,) [1] from one piece to another, and whether they are partners.

    Partners have similar areas, do not overlap along the direction, and have a gap between them of
    less than the width.
    """
    step = second.centroid - first.centroid
    across = step / np.linalg.norm(step)
    places = [piece.vertices @ across for piece in (first, second)]
    width = max(float(np.ptp(place)) for place in places)
    gap = float(places[1].min() - places[0].max()) / width
    areas = sorted(float(piece.areas.sum()) for piece in (first, second))
    span = float(np.ptp(np.concatenate(places)))
    similar = areas[0] > _PARTNERS * areas[1]
    return across, similar and -_OVERLAP < gap < _GAP and span < _WIDTHS[1]


def _belongs(piece: TriangleMesh, own: TriangleMesh, body: str) -> bool:
    """Return whether a further piece is a part of the bearing surface beside the body."""
    if _distance(piece, own) > _NEAR or _is_thick(piece):
        return False
    places = _places(piece, own)
    facing = float(places.areas[places.opposed].sum() / places.areas.sum())
    heights = (piece.vertices - own.centroid) @ principal_axes(own)[0][0]
    level = body == "femur" or float(np.abs(heights).max()) < _LEVEL
    return level and facing < _FACING


def _is_thick(piece: TriangleMesh) -> bool:
    """Return whether a piece is a solid such as a patella, and no cartilage."""
    sizes = np.ptp(piece.vertices @ principal_axes(piece)[0].T, axis=0)
    return is_closed(piece) and bool(sizes.min() > _THICK) and fullness(piece) > FULL


def _distance(piece: TriangleMesh, own: TriangleMesh) -> float:
    return float(np.min(KDTree(own.vertices).query(piece.vertices)[0]))


def _below(piece: TriangleMesh, depth: float) -> str:
    return (
        f"two sheets over one another: the inner one, {_words(piece)}, {1e3 * abs(depth):.2g} mm "
        "below the other, is left out, and the outer one used"
    )


def _further(piece: TriangleMesh, own: TriangleMesh) -> str:
    return (
        f"a further body is left out: {_words(piece)}, {1e3 * _distance(piece, own):.1f} mm off "
        "the surface in use"
    )


def _words(piece: TriangleMesh) -> str:
    """Return number of triangles, size and place of a piece in words."""
    low, high = piece.vertices.min(axis=0), piece.vertices.max(axis=0)
    size = " x ".join(f"{1e3 * x:.0f}" for x in high - low)
    place = ", ".join(f"{1e3 * x:.0f}" for x in 0.5 * (low + high))
    return f"{counted(len(piece.faces), 'triangle')}, {size} mm, about ({place}) mm"
