"""A smooth surface over the triangles of a mesh: six-node quadratic patches.

Each triangle becomes the patch X(u, v) of quadratic Lagrange polynomials through its corners and
one point per edge, the middle of an arc (docs/theory.md). For nearly parallel normals the point is
that of PN triangles (Vlachos et al. 2001, I3D) and of Phong tessellation with factor 1/2 (Boubekeur
& Alexa 2008, ACM Trans Graph 27:141); unlike in the minimum-norm patch of Nagata (2005, Comput
Aided Geom Des 22:327-347), it stays near the edge where the normals lean to the same side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, IntArray, check_number, frozen
from foundation.surfaces.mesh_topology import half_edges
from foundation.surfaces.triangle_mesh import TriangleMesh
from foundation.surfaces.vertex_normals import cut_at_creases, jet_normals

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
        kept = rise * keep[edge][:, :, None]
        folded = ~_faces_outward(corners, _straight(corners) + kept, mesh.normals)
        folded &= (keep[edge] > 0.0).any(axis=1)
        if not folded.any():
            return kept
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
