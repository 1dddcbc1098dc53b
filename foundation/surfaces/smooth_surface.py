"""A smooth surface over the triangles of a mesh: six-node quadratic patches.

Each triangle becomes the patch X(u, v) of quadratic Lagrange polynomials through its corners and
one point per edge, the middle of an arc (docs/theory.md). For nearly parallel normals the point is
that of PN triangles (Vlachos et al. 2001, I3D) and of Phong tessellation with factor 1/2 (Boubekeur
& Alexa 2008, ACM Trans Graph 27:141); unlike in the minimum-norm patch of Nagata (2005, Comput
Aided Geom Des 22:327-347), it stays near the edge where the normals lean to the same side.

To estimate vertex normals, the mesh is first cut open along its creases, so that the estimates are
one-sided there, as at a boundary. A polynomial height function (a jet) is then fitted around each
vertex (Cazals & Pouget 2005, Comput Aided Geom Des 22:121-146). With degree 2 the error is of
second order in the edge length, also on irregular triangles and at boundaries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from foundation.base.checks import FloatArray, IntArray, check_number, frozen
from foundation.surfaces.mesh_topology import connected_groups, half_edges, triangles_around
from foundation.surfaces.triangle_mesh import TriangleMesh, edge_length

#: Number of vertices per batch of fits; bounds the memory.
_CHUNK = 4096
#: Fraction of the largest eigenvalue of a fit's normal matrix below which a combination of
#: coefficients counts as undetermined and is set to zero. Determined fits of degree 2 stay above
#: 1e-3, also on rims and in strips of three vertices.
_UNDETERMINED = 1e-5


@dataclass(frozen=True, eq=False)
class CutMesh:
    """Vertices (G, 3) [m], one per smooth side, and triangles (F, 3) of a mesh cut at creases."""

    vertices: FloatArray
    faces: IntArray
    #: Whether the edge from corner k to k + 1 is a crease (F, 3); a boundary is none.
    crease: NDArray[np.bool_]


def cut_at_creases(mesh: TriangleMesh, crease_angle: float) -> CutMesh:
    """Cut a mesh at edges sharper than `crease_angle` [rad] and at non-manifold edges."""
    start, end, key = half_edges(mesh.faces, len(mesh.vertices))
    _, edge, uses = np.unique(key, return_inverse=True, return_counts=True)
    order, last = np.argsort(edge, kind="stable"), np.cumsum(uses) - 1
    first, second = order[last[uses == 2] - 1], order[last[uses == 2]]
    cosine = (mesh.normals[first // 3] * mesh.normals[second // 3]).sum(axis=1)
    smooth = (cosine >= np.cos(crease_angle)) & (start[first] == end[second])
    first, second = first[smooth], second[smooth]
    crease = uses[edge] > 1
    crease[first] = crease[second] = False
    # Across a smooth edge, the corners of both triangles at each end are one vertex.
    ends = np.concatenate([np.stack([first, _next(second)]), np.stack([_next(first), second])], 1)
    group = connected_groups(ends.T, len(key))
    vertices = np.empty((group.max() + 1, 3))
    vertices[group] = mesh.vertices[start]
    return CutMesh(vertices, group.reshape(-1, 3).astype(np.int64), crease.reshape(-1, 3))


def _next(half_edge: IntArray) -> IntArray:
    """Return the next half-edge of the same triangle."""
    return half_edge - half_edge % 3 + (half_edge + 1) % 3


def angle_weighted_normals(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """Return unit normals (V, 3) [1]: means of facet normals weighted by corner angles."""
    # Thürmer & Wüthrich (1998, J Graph Tools 3:43-46): bounded error, even for slivers, of first
    # order on irregular triangles.
    corners = vertices[faces]
    ahead = np.roll(corners, -1, axis=1) - corners
    back = np.roll(corners, 1, axis=1) - corners
    normal = np.cross(ahead, back)
    length = np.linalg.norm(normal, axis=2)
    angle = np.arctan2(length, (ahead * back).sum(axis=2))
    weighted = ((angle / length)[:, :, None] * normal).reshape(-1, 3)
    flat = faces.reshape(-1)
    total = np.stack([np.bincount(flat, column, len(vertices)) for column in weighted.T], axis=1)
    return total / np.linalg.norm(total, axis=1, keepdims=True)


def jet_normals(
    vertices: FloatArray,
    faces: IntArray,
    *,
    degree: int = 2,
    rings: int = 2,
    largest_turn: float = np.pi,
) -> FloatArray:
    """Return unit normals (V, 3) [1] of polynomials fitted to the neighbours of vertices [m]."""
    # Neighbours are `rings` edges away. A normal more than `largest_turn` [rad] from the
    # angle-weighted normal is replaced by it.
    start = angle_weighted_normals(vertices, faces)
    neighbours = _neighbours(len(vertices), faces, rings)
    counts = np.diff(neighbours.indptr)
    normals = np.empty_like(start)
    # Vertices with similar numbers of neighbours in one batch, so that the padding stays small.
    order = np.argsort(counts, kind="stable")
    for members in np.array_split(order, -(-len(order) // _CHUNK)):
        slots = np.arange(counts[members[-1]])
        valid = slots < counts[members, None]
        index = np.where(valid, neighbours.indptr[members, None] + slots, 0)
        around = np.where(valid, neighbours.indices[index], members[:, None])
        normals[members] = _fitted(vertices, start[members], members, around, valid, degree)
    turned = (normals * start).sum(axis=1) < np.cos(largest_turn)
    normals[turned] = start[turned]
    return normals


def _neighbours(size: int, faces: IntArray, rings: int) -> csr_array:
    """Return the vertices within `rings` edges of each vertex, without the vertex itself."""
    start, end = faces.reshape(-1), np.roll(faces, -1, axis=1).reshape(-1)
    ones = np.ones(2 * len(start), dtype=np.int32)
    links = (np.concatenate([start, end]), np.concatenate([end, start]))
    adjacent = coo_array((ones, links), shape=(size, size)).tocsr()
    reached = adjacent
    for _ in range(rings - 1):
        reached = reached @ adjacent + adjacent
        reached.data[:] = 1
    pairs = reached.tocoo()
    apart = pairs.row != pairs.col
    row, column = pairs.row[apart], pairs.col[apart]
    return coo_array((pairs.data[apart], (row, column)), shape=(size, size)).tocsr()


def _fitted(
    vertices: FloatArray,
    normal: FloatArray,
    members: IntArray,
    others: IntArray,
    valid: NDArray[np.bool_],
    degree: int,
) -> FloatArray:
    """Return normals of M vertices from heights over planes (M, 3), weighted by 1/distance²."""
    first, second = tangents(normal)
    away = vertices[others] - vertices[members, None]
    distance = np.linalg.norm(away, axis=2)
    scale = distance.sum(axis=1, keepdims=True) / valid.sum(axis=1, keepdims=True)
    u, v, height = (np.einsum("mki,mi->mk", away, t) / scale for t in (first, second, normal))
    weight = np.where(valid, 1.0 / np.maximum(distance / scale, 1e-3) ** 2, 0.0)
    # Binomial factors make the norm of the coefficients independent of the tangents' direction.
    powers = [(i, k - i) for k in range(1, degree + 1) for i in range(k, -1, -1)]
    basis = np.stack([np.sqrt(comb(i + j, i)) * u**i * v**j for i, j in powers], axis=2)
    weighted = np.swapaxes(basis * weight[:, :, None], 1, 2)
    right = np.einsum("mpk,mk->mp", weighted, height)
    modes, modal = determined_modes(weighted @ basis, right)
    slope = np.einsum("mpi,mi->mp", modes[:, :2], modal)
    fitted = normal - slope[:, :1] * first - slope[:, 1:] * second
    return fitted / np.linalg.norm(fitted, axis=1, keepdims=True)


def determined_modes(matrix: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return modes (M, P, P) [1] and solutions (M, P) of normal equations [any unit]."""
    # Along a combination of coefficients that the points do not determine, the solution is zero.
    values, modes = np.linalg.eigh(matrix)
    determined = values > _UNDETERMINED * values[:, -1:]
    inverse = np.where(determined, 1.0 / np.where(determined, values, 1.0), 0.0)
    return modes, inverse * np.einsum("mpi,mp->mi", modes, right)


def tangents(normals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two orthogonal unit tangents of each normal (N, 3), (N, 3) each [1]."""
    axis = np.eye(3)[np.argmin(np.abs(normals), axis=1)]
    first = np.cross(normals, axis)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return first, np.cross(normals, first)


#: Median angle between the normals and their averages above which a surface is rough [rad]
#: (measured: below 4 deg on scans, 15 to 30 deg on the steps of a binary segmentation).
_ROUGH = np.radians(10.0)
#: Distance over which normals are averaged [m], and most averages over adjacent triangles.
_AVERAGED, _MOST_AVERAGES = 2.5e-3, 30


def facing_normals(mesh: TriangleMesh) -> FloatArray:
    """Return unit normals (F, 3) [1], averaged over a rough surface: segmentations have steps."""
    averaged = averaged_normals(mesh)
    cosines = np.einsum("fi,fi->f", averaged, mesh.normals)
    rough = float(np.median(cosines)) < np.cos(_ROUGH)
    return averaged if rough else mesh.normals


# A bearing surface, its columns and its kind are sought on the same walls.
@lru_cache(maxsize=4)
def averaged_normals(mesh: TriangleMesh) -> FloatArray:
    """Return unit normals (F, 3) [1] averaged over the triangles within about 2.5 mm."""
    gathered = triangles_around(mesh)
    corners = gathered.T.tocsr()
    shares = np.asarray(gathered @ mesh.areas)
    rounds = int(np.ceil((_AVERAGED / edge_length(mesh)) ** 2))
    normals: FloatArray = mesh.normals
    for _ in range(min(rounds, _MOST_AVERAGES)):
        at_vertex = np.asarray(gathered @ (mesh.areas[:, None] * normals))
        at_vertex = at_vertex / np.maximum(shares, np.finfo(float).tiny)[:, None]
        normals = np.asarray(corners @ at_vertex)
    size = np.linalg.norm(normals, axis=1, keepdims=True)
    return frozen(np.where(size > 0.0, normals / np.where(size > 0.0, size, 1.0), mesh.normals))


#: Angle between neighbouring facets above which their edge is a crease [rad]. Measured angles: up
#: to 25 degrees on bearing surfaces of an implant and of scanned cartilage, up to 36 degrees on
#: those of a decimated solid.
CREASE_ANGLE = np.deg2rad(40.0)

#: (u, v) of a patch's nodes: corners, then middles.
NODES = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.0], [0.5, 0.5], [0.0, 0.5]])


@dataclass(frozen=True, eq=False)
class SmoothSurface:
    """Quadratic patches (F, 3, 3) [m] over the triangles of a mesh, in their order."""

    #: Corners c0, c1, c2 of each triangle (F, 3, 3) [m].
    corners: FloatArray
    #: Points (F, 3, 3) of the surface over the edges c0 c1, c1 c2 and c2 c0 [m].
    middles: FloatArray
    #: Unit outward normals (F, 3, 3) at corners [1]; triangles on both sides of a crease differ.
    normals: FloatArray

    def points(self, triangle: IntArray, weights: FloatArray) -> FloatArray:
        """Return points (N, 3) [m] of triangles (N,) at barycentric coordinates (N, 3) [1]."""
        corners, pairs = self.corners[triangle], 4.0 * weights * np.roll(weights, -1, axis=1)
        rise = self.middles[triangle] - _straight(corners)
        return np.asarray((weights[:, :, None] * corners + pairs[:, :, None] * rise).sum(axis=1))


def flat_surface(mesh: TriangleMesh) -> SmoothSurface:
    """Return the plane facets as patches: straight edges, facet normals at the corners."""
    corners = mesh.vertices[mesh.faces]
    normals = np.repeat(mesh.normals[:, None], 3, axis=1)
    return _surface(corners, np.zeros_like(corners), normals)


def smooth_surface(mesh: TriangleMesh, *, crease_angle: float = CREASE_ANGLE) -> SmoothSurface:
    """Return a smooth surface through the vertices of a mesh [m], by its normals or estimated ones.

    Estimated normals are one-sided at creases and boundaries. An edge is a crease if the angle
    between its facets is above `crease_angle` [rad], below a right angle; its middle stays
    straight. Other middles rise at most tan(crease_angle/4)/2 of the edge. Each patch faces the
    outer side of its triangle at its six nodes; otherwise its edges are straightened.
    """
    check_number("crease_angle", crease_angle, above=0.0, below=0.5 * np.pi, unit="rad")
    corners = mesh.vertices[mesh.faces]
    if mesh.vertex_normals is not None:
        lengths = np.linalg.norm(mesh.vertex_normals[mesh.faces], axis=2, keepdims=True)
        normals = mesh.vertex_normals[mesh.faces] / lengths
        rise = arc_rises(corners, normals, crease_angle)
    else:
        cut = cut_at_creases(mesh, crease_angle)
        by_vertex = jet_normals(cut.vertices, cut.faces, largest_turn=0.5 * crease_angle)
        normals = by_vertex[cut.faces]
        rise = arc_rises(corners, normals, crease_angle)
        rise[cut.crease] = 0.0
    return _surface(corners, _unfolded(mesh, corners, rise), normals)


def _surface(corners: FloatArray, rise: FloatArray, normals: FloatArray) -> SmoothSurface:
    middles = _straight(corners) + rise
    return SmoothSurface(*(frozen(np.ascontiguousarray(a)) for a in (corners, middles, normals)))


def _straight(corners: FloatArray) -> FloatArray:
    """Return the middles of straight edges, (F, 3, 3) [m]."""
    return 0.5 * (corners + np.roll(corners, -1, axis=1))


def arc_rises(corners: FloatArray, normals: FloatArray, crease_angle: float) -> FloatArray:
    """Return the rise of the patch over the middle of each straight edge, (F, 3, 3) [m]."""
    # Both directions of an edge give the same bits: differences and products change their signs
    # alone.
    edge = np.roll(corners, -1, axis=1) - corners
    na, nb = normals, np.roll(normals, -1, axis=1)
    lean = (edge * nb).sum(axis=2, keepdims=True) * nb - (edge * na).sum(axis=2, keepdims=True) * na
    # Opposite normals (k = 0) have no arc; the bound below limits the rise there.
    k = np.sqrt(np.maximum(0.5 + 0.5 * (na * nb).sum(axis=2, keepdims=True), 0.01))
    rise = lean / (4.0 * k * (1.0 + k))
    most = 0.5 * np.tan(0.25 * crease_angle) * np.linalg.norm(edge, axis=2, keepdims=True)
    size = np.linalg.norm(rise, axis=2, keepdims=True)
    return rise * (most / np.maximum(size, most))


def _unfolded(mesh: TriangleMesh, corners: FloatArray, rise: FloatArray) -> FloatArray:
    """Return the rises, reduced where a patch would fold over its own facet."""
    _, _, key = half_edges(mesh.faces, len(mesh.vertices))
    edge = np.unique(key, return_inverse=True)[1].reshape(-1, 3)
    keep = np.ones(edge.max() + 1)
    while True:
        reduced = rise * keep[edge][:, :, None]
        folded = ~_faces_outward(corners, _straight(corners) + reduced, mesh.normals)
        folded &= (keep[edge] > 0.0).any(axis=1)
        if not folded.any():
            return reduced
        # Halved, and zero after three halvings: a plane facet is never folded.
        smaller = np.unique(edge[folded])
        keep[smaller] = np.where(keep[smaller] > 0.2, 0.5 * keep[smaller], 0.0)


def _faces_outward(
    corners: FloatArray, middles: FloatArray, facet_normals: FloatArray
) -> NDArray[np.bool_]:
    """Return whether each patch faces the outer side of its facet at its six nodes, (F,)."""
    nodes = np.concatenate([corners, middles], axis=1)
    along_u = np.einsum("pn,fni->fpi", _SHAPE_U, nodes)
    along_v = np.einsum("pn,fni->fpi", _SHAPE_V, nodes)
    outward = np.einsum("fpi,fi->fp", np.cross(along_u, along_v), facet_normals) > 0.0
    return outward.all(axis=1)


def shape_functions(points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return six quadratic shape functions and their u and v slopes, (Q, 6) [1], at (Q, 2) [1]."""
    u, v = points.T
    w, zero = 1.0 - u - v, np.zeros(len(points))
    value = [w * (2 * w - 1), u * (2 * u - 1), v * (2 * v - 1), 4 * u * w, 4 * u * v, 4 * v * w]
    along_u = [1 - 4 * w, 4 * u - 1, zero, 4 * (w - u), 4 * v, -4 * v]
    along_v = [1 - 4 * w, zero, 4 * v - 1, -4 * u, 4 * u, 4 * (w - v)]
    return np.stack(value, axis=1), np.stack(along_u, axis=1), np.stack(along_v, axis=1)


_, _SHAPE_U, _SHAPE_V = shape_functions(NODES)
